"""Work in several processes: Ctrl-C is for the one that waits, and the next call finds nothing in its way."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import pytest
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend

from minipinet._loky import IDLE, Processes
from minipinet._processes import run_tasks
from minipinet.crossval import cross_validate
from minipinet.errors import DivergedError, MinipinetError
from minipinet.fold import FoldResult
from tests.cli_calls import finish, start
from tests.small_data import ROOT, command, environment
from tests.small_runs import DATA, SMALL
from tests.thinned import thinned


def blocks_interrupts() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def end_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def end_process(pid: int, number: int) -> None:
    # Not os.getppid(): whoever comes second would end the process that takes orphans.
    os.kill(pid, number)
    time.sleep(1)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_processes_never_see_an_interrupt_and_the_caller_still_does() -> None:
    assert list(run_tasks(blocks_interrupts, [()] * 2, jobs=2)) == [True, True]
    assert not blocks_interrupts()


def test_an_interrupt_while_the_processes_start_is_kept_for_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Interrupted(joblib.Parallel):  # type: ignore[misc]
        def __call__(self, tasks: object) -> object:
            os.kill(os.getpid(), signal.SIGINT)
            started.append(super().__call__(tasks))
            return started[-1]

    with monkeypatch.context() as patch:
        patch.setattr(joblib, "Parallel", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(run_tasks(sleep, [(30.0,)] * 2, jobs=2))
    assert started == [[0, 0]], "the processes were not begun, or more was"
    assert not blocks_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert list(run_tasks(pow, [(2, 3)], jobs=2)) == [8]


def test_other_threads_than_the_main_one_can_have_processes_too() -> None:
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: list(run_tasks(blocks_interrupts, [()], jobs=2))).result() == [True]


def test_closing_ends_what_is_still_at_work_without_a_word() -> None:
    began = time.monotonic()
    with closing(run_tasks(sleep, [(0.0,), (30.0,), (30.0,)], jobs=2)) as results:
        assert next(results) == 0.0
    gc.collect()
    assert time.monotonic() - began < 20


def test_closing_waits_until_what_was_submitted_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # joblib's thread submits the next task after each result, and is slow to go on.
    submit = LokyBackend.submit
    failed: list[object] = []

    def submit_slowly(backend: LokyBackend, function: object, callback: Callable[[object], None]) -> object:
        def call_back(future: object) -> None:
            callback(future)
            time.sleep(0.5)

        return submit(backend, function, call_back)

    monkeypatch.setattr(LokyBackend, "submit", submit_slowly)
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with closing(run_tasks(sleep, [(0.0,)] + [(30.0,)] * 11, jobs=2)) as results:
        assert next(results) == 0.0
    assert failed == []


def test_what_is_submitted_while_the_processes_are_ended_is_not_missed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    taken, late = threading.Event(), threading.Event()

    class Late(Processes):
        def batch_completed(self, *batch: object) -> None:
            if self.parallel.return_generator:
                taken.wait(60)  # until the result that came before is with the caller

        def submit(self, func: Any, callback: Any = None) -> Future[Any]:
            if taken.is_set():
                late.set()
                time.sleep(0.5)
            return super().submit(func, callback)

    monkeypatch.setattr("minipinet._loky.Processes", Late)
    with closing(run_tasks(sleep, [(0.0,)] + [(30.0,)] * 11, jobs=2)) as results:
        assert next(results) == 0.0
        taken.set()
        assert late.wait(60)
    assert caplog.records == []


def test_a_process_ended_from_outside_is_one_sentence() -> None:
    with pytest.raises(MinipinetError, match=r"^jobs: one of the processes was ended from outside"):
        list(run_tasks(end_oneself, [()] * 2, jobs=2))
    assert list(run_tasks(pow, [(2, 3)], jobs=2)) == [8]


def test_a_call_after_a_broken_off_one_is_like_any_other() -> None:
    def stop(_: FoldResult) -> None:
        raise KeyboardInterrupt

    expected = cross_validate(DATA, SMALL, folds=3).summary["confusion_matrix"]
    kept = []
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt) as interrupted:
            cross_validate(DATA, SMALL, folds=3, jobs=2, on_fold=stop)
        kept.append(interrupted)  # and with it the traceback, as a caller in an interactive session does
        assert cross_validate(DATA, SMALL, folds=3, jobs=2).summary["confusion_matrix"] == expected
        with pytest.raises(DivergedError):
            cross_validate(DATA, replace(SMALL, lr=1e30), folds=3, jobs=2)
        assert cross_validate(DATA, SMALL, folds=3, jobs=2).summary["confusion_matrix"] == expected


ORPHANS = """
import os, sys
from minipinet._processes import run_tasks
from tests.test_processes import end_process
if __name__ == "__main__":
    list(run_tasks(end_process, [(os.getpid(), int(sys.argv[1]))] * int(sys.argv[2]), jobs=3))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("tasks", [1, 3])
def test_no_process_outlives_the_one_that_was_killed(number: int, tasks: int) -> None:
    words = command(ORPHANS, int(number), tasks)
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stderr=subprocess.PIPE) as process:
        process.communicate(timeout=60)  # standard error ends when the last process that has it does
        assert process.returncode == -number


@pytest.mark.parametrize("delay", thinned([0.0, 0.2, 0.4, 0.6]))
def test_no_process_outlives_a_run_that_was_killed_as_it_began(tmp_path: Path, delay: float) -> None:
    words = ["train", "--folds", "4", "--jobs", "4", "--epochs", "100000", "--quiet", "--run-dir", "run"]
    process = start(*words, cwd=tmp_path)
    wait_for(tmp_path / "run" / "run.json", process)
    time.sleep(delay)
    process.send_signal(signal.SIGTERM)
    assert finish(process).status == -signal.SIGTERM


def test_no_more_processes_than_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def spy(function: object, tasks: object, jobs: int) -> object:
        asked.append(jobs)
        return run_tasks(function, tasks, 1)  # type: ignore[arg-type]

    monkeypatch.setattr("minipinet.crossval.run_tasks", spy)
    for jobs in (1, 2, 3, 100):
        cross_validate(DATA, SMALL, folds=3, jobs=jobs)
    assert asked == [1, 2, 3, 3]


@pytest.mark.parametrize("delay", thinned([0.1, 0.0, 0.5, 0.25]))
def test_ctrl_c_while_the_processes_start_is_one_line(tmp_path: Path, delay: float) -> None:
    words = ["train", "--folds", "4", "--jobs", "4", "--epochs", "100000", "--quiet", "--run-dir", "run"]
    process = start(*words, cwd=tmp_path)
    wait_for(tmp_path / "run" / "run.json", process)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    outcome = finish(process)
    assert (outcome.status, outcome.out) == (130, "")
    assert outcome.err.startswith("minipinet: interrupted; go on with: ")
    assert outcome.err.count("\n") == 1


def test_where_joblib_starts_no_processes_that_is_said() -> None:
    code = "from minipinet._processes import run_tasks; print(list(run_tasks(pow, [(2, 3), (3, 2)], 2)))"
    one_process = environment() | {"JOBLIB_MULTIPROCESSING": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=one_process, capture_output=True, text=True, check=True)
    assert done.stdout == "[8, 9]\n"
    assert "Notice: jobs: joblib can start no processes here" in done.stderr


def test_processes_that_were_never_begun_are_not_ended() -> None:
    """However long ago the package was imported: what cannot start processes has none."""
    code = """
import time
from joblib.externals.loky import reusable_executor
from minipinet import _loky, _processes
_loky.time.monotonic = lambda now=time.monotonic: now() + 2 * _loky.IDLE
print(list(_processes.run_tasks(pow, [(2, 3), (3, 2)], 2)), reusable_executor._executor)
"""
    one_process = environment() | {"JOBLIB_MULTIPROCESSING": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=one_process, capture_output=True, text=True, check=True)
    assert done.stdout == "[8, 9] None\n"


def test_processes_that_are_about_to_end_by_themselves_are_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where warnings are errors a task that comes as they end would be waited for for ever."""

    def processes_of_a_call() -> object:
        assert list(run_tasks(int, [()] * 2, 2)) == [0, 0]
        return get_reusable_executor(reuse=True)

    first = processes_of_a_call()
    assert processes_of_a_call() is first
    monkeypatch.setattr(Processes, "_idle_since", time.monotonic() - IDLE / 2 - 1)
    assert processes_of_a_call() is not first
