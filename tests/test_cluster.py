"""Cells on a Dask cluster: the same rows, whatever becomes of its workers; each misuse in one sentence."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minipinet.errors import Notice, UsageError
from minipinet.experiments import schedule
from minipinet.experiments.records import Cell, Row
from minipinet.experiments.schedule import Failure, run_cells
from tests.small_data import ROOT, command, environment
from tests.test_schedule import CELLS, content


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("undisturbed") / "s"
    run_cells(CELLS, path)
    return content(path)


@contextmanager
def cluster(folder: Path, workers: int, threads: int = 1) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Run a Dask scheduler and workers, each a process of its own, on this machine."""
    distributed = pytest.importorskip("distributed")
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *words: str) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", f"distributed.cli.{program}", *words]
        with (folder / f"log-{len(started)}").open("w") as log:
            started.append(subprocess.Popen(line, cwd=ROOT, env=environment(), text=True, stdout=log, stderr=log))
        return started[-1]

    try:
        file = folder / "scheduler.json"
        start("dask_scheduler", "--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        while not file.exists():
            assert started[0].poll() is None
            time.sleep(0.05)
        options = ["--nthreads", str(threads), "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
        found = [start("dask_worker", "--scheduler-file", str(file), *options) for _ in range(workers)]
        address = json.loads(file.read_text())["address"]
        with distributed.Client(address, set_as_default=False) as client:
            if workers:
                client.wait_for_workers(workers, timeout=60)
        yield address, found or started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait(timeout=30)


def waits_for_the_kill(cell: Cell, data_dir: str | None) -> Row | Failure:
    """Run a cell in a worker; that of fold 2 tells which process has it, and waits until a process has been killed."""
    folder = Path(os.environ["MINIPINET_TEST_MARK"])
    if cell.fold == 2:
        with (folder / "begun").open("a") as begun:
            print(os.getpid(), file=begun, flush=True)
        wait_for((folder / "killed").exists)
    return schedule.attempt(cell, data_dir)


def wait_for(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.filterwarnings("default")
def test_a_cluster_that_loses_a_worker_in_the_middle_of_a_cell_gives_the_same_store(
    tmp_path: Path, undisturbed: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    done, begun = [], tmp_path / "begun"
    monkeypatch.setenv("MINIPINET_TEST_MARK", str(tmp_path))
    with cluster(tmp_path, workers=2) as (address, workers):
        monkeypatch.setattr(schedule, "attempt", waits_for_the_kill)

        def kill(count: int, _: Row | Failure) -> None:
            done.append(count)
            if count == 1:
                wait_for(lambda: begun.exists() and begun.read_text().endswith("\n"))
                (victim,) = [worker for worker in workers if worker.pid == int(begun.read_text())]
                victim.kill()
                victim.wait(timeout=30)
                (tmp_path / "killed").touch()

        assert run_cells(CELLS, tmp_path / "s", scheduler=address, on_cell=kill) == (0, 6, 0, [])
        assert sorted(worker.poll() is None for worker in workers) == [False, True]
        lost, again = begun.read_text().split()
        assert {int(lost), int(again)} == {worker.pid for worker in workers}
    assert done == [1, 2, 3, 4, 5, 6]
    assert content(tmp_path / "s") == undisturbed


@pytest.mark.filterwarnings("default")
def test_a_relative_folder_of_data_is_that_of_the_driver_and_a_worker_says_that_it_lacks_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    shutil.copy(ROOT / "minipinet" / "datasets" / "data" / "MUTAG.zip", data)
    monkeypatch.chdir(tmp_path)  # a worker begins elsewhere
    with cluster(tmp_path, workers=1) as (address, _):
        assert run_cells(CELLS[:1], "s", data_dir="data", scheduler=address) == (0, 1, 0, [])
        text = re.escape(f"data_dir: expected a folder of data sets, got '{tmp_path}/none' (No such file or directory)")
        with pytest.raises(UsageError, match=rf"^{text} \(on a worker, at tcp://127\.0\.0\.1:\d+\)$"):
            run_cells(CELLS[:1], "t", data_dir="none", scheduler=address)
        shutil.copytree(data, "bad")
        Path("bad", "MUTAG.zip").write_bytes(b"PK\x03\x04 no archive")
        (failure,) = run_cells(CELLS[:1], "u", data_dir="bad", scheduler=address).failures
        assert failure.reason.endswith(" (on a worker)")


@pytest.mark.filterwarnings("default")
def test_workers_of_several_threads_are_refused(tmp_path: Path) -> None:
    with cluster(tmp_path, workers=1, threads=2) as (address, _):
        with pytest.raises(UsageError, match=r"^scheduler: expected workers of one thread .*, got one of 2$"):
            run_cells(CELLS[:1], tmp_path / "s", scheduler=address)
        assert content(tmp_path / "s") == []


@pytest.mark.filterwarnings("default")
def test_a_cluster_without_workers_is_waited_for_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minipinet.experiments.cluster._SILENCE", 0.2)
    with cluster(tmp_path, workers=0) as (address, started):

        def start_one() -> None:
            line = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
            line += ["--no-dashboard", "--local-directory", str(tmp_path)]
            with (tmp_path / "log-worker").open("w") as log:
                started.append(subprocess.Popen(line, cwd=ROOT, env=environment(), text=True, stdout=log, stderr=log))

        later = threading.Timer(3, start_one)
        later.start()
        with pytest.warns(Notice, match=f"^waiting for workers at {address}$"):
            assert run_cells(CELLS[:1], tmp_path / "s", scheduler=address) == (0, 1, 0, [])
        later.join()


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:1", "nonsense://x", "nonsense", "", "tcp://127.0.0.1:x", "tcp://127.0.0.1:99999", "tls://a:1"],
)
def test_no_scheduler_is_one_sentence_and_makes_no_store(address: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    process = subprocess.run(  # another process, since what a client prints when it goes comes after all else
        command(NO_SCHEDULER, tmp_path / "s", address), cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert process.returncode == 0
    assert re.fullmatch(
        rf"scheduler: there is no Dask scheduler at {re.escape(repr(address))} \(.+\)\n", process.stderr
    ), process.stderr
    assert list(tmp_path.iterdir()) == []


NO_SCHEDULER = """
import sys
from minipinet.errors import UsageError
from minipinet.experiments import cluster
from minipinet.experiments.schedule import run_cells
from tests.test_schedule import CELLS
if __name__ == "__main__":
    cluster._PATIENCE = 1
    try:
        run_cells(CELLS, sys.argv[1], scheduler=sys.argv[2])
    except UsageError as error:
        print(error, file=sys.stderr)
"""


def test_dask_is_asked_for_by_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with warnings.catch_warnings(), pytest.raises(UsageError, match=r"pip install 'minipinet\[cluster\]'"):
        run_cells(CELLS, tmp_path / "s", scheduler="tcp://127.0.0.1:1")
