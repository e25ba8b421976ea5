"""``minipinet train``: where a run is kept, and how a stopped one goes on to the same results."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minipinet.cli import train
from tests.cli_calls import TINY, call, figures, finish, start

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINIPINET_DATA", raising=False)


def test_the_run_folder_is_new_each_time_and_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda form: "20010203-040506")
    folders = [call(capsys, "train", *TINY, "--folds", folds, "--json").json["run_dir"] for folds in (2, 0, 2)]
    stem = "runs/MUTAG-20010203-040506"
    assert folders == [stem, f"{stem}-2", f"{stem}-3"]
    assert [(Path(folder) / "run.json").exists() for folder in folders] == [True] * 3


def test_a_run_that_never_began_leaves_no_folder(capsys: Capture) -> None:
    assert call(capsys, "train", "--folds", 64).status == 2
    assert not Path("runs").exists()
    Path("runs").mkdir()
    assert call(capsys, "train", "--folds", 64).status == 2
    assert list(Path("runs").iterdir()) == [], "a folder that was there stays"


@pytest.mark.parametrize("make", [lambda: Path("runs").write_text(""), lambda: Path("runs").symlink_to("nowhere")])
def test_a_place_for_runs_that_is_no_folder_is_status_1(capsys: Capture, make: Callable[[], object]) -> None:
    make()
    status, out, err = call(capsys, "train", *TINY, "--folds", 2)
    assert (status, out) == (1, "")
    assert err == "minipinet: error: runs: File exists\n"


def test_case_108_a_folder_in_use_is_refused_and_stays_as_it_is(capsys: Capture) -> None:
    assert call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "run").status == 0
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    for words in (["--folds", "2"], ["--folds", "0"], ["--folds", "2", "--seed", "1", "--resume"]):
        status, out, err = call(capsys, "train", *TINY, "--run-dir", "run", *words)
        assert (status, out) == (2, "")
        assert err.startswith("minipinet: error: run: ")
    assert {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()} == before
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("not a run")
    for words in ([], ["--resume"], ["--overwrite"]):
        status, _, err = call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "mine", *words)
        assert status == 2
        assert "mine: is not empty" in err
    assert [path.name for path in Path("mine").iterdir() if path.name != ".lock"] == ["notes.txt"]


def test_overwrite_puts_a_new_run_in_the_place_of_the_old(capsys: Capture) -> None:
    old = call(capsys, "train", *TINY, "--folds", 3, "--run-dir", "run", "--json").json
    new = call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "run", "--overwrite", "--json").json
    assert (len(old["splits"]), len(new["splits"])) == (3, 2)
    assert sorted(path.name for path in Path("run").glob("fold-*")) == ["fold-00", "fold-01"]


def interrupted_after(calls: int) -> Callable[..., Any]:
    """Return a stand-in for the progress bar at whose n-th move the user presses Ctrl-C."""

    @contextlib.contextmanager
    def stand_in(*_: object, **__: object) -> Iterator[Callable[[int, str], None]]:
        left = calls

        def move(*_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt

        yield move

    return stand_in


@pytest.mark.parametrize("words", [["--folds", "3"], ["--folds", "0"], ["--folds", "3", "--run-dir", "a run"]])
def test_case_107_an_interrupted_run_goes_on_to_the_same_results(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    straight = call(capsys, "train", *TINY, *words[:2], "--json", "--run-dir", "straight").json
    with monkeypatch.context() as patch:
        # Fold by fold each epoch and each fold moves the bar: this is in the second fold, or epoch.
        patch.setattr(train, "progress", interrupted_after(3 if words[1] == "3" else 1))
        status, out, err = call(capsys, "train", *TINY, *words, "--json")
    assert (status, out) == (130, "")
    told, command = err.rstrip("\n").split("; go on with: ")
    assert told == "minipinet: interrupted"
    run_dir = words[3] if len(words) > 2 else next(Path("runs").iterdir())
    assert shlex.split(command) == [
        *("minipinet", "train", *TINY, *words, "--json"),
        *([] if len(words) > 2 else ["--run-dir", str(run_dir)]),
        "--resume",
    ]
    finished = sorted(Path(run_dir).rglob("model.safetensors"))
    assert len(finished) == (1 if words[1] == "3" else 0)
    written = [path.stat().st_mtime_ns for path in finished]
    resumed = call(capsys, *shlex.split(command)[1:]).json
    assert figures(resumed) == figures(straight)
    assert resumed["run_dir"] == str(run_dir)
    assert [path.stat().st_mtime_ns for path in finished] == written


def test_a_resumed_overwriting_run_is_not_overwritten_again(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "run")
    with monkeypatch.context() as patch:
        patch.setattr(train, "progress", interrupted_after(3))
        err = call(capsys, "train", *TINY, "--folds", 3, "--run-dir", "run", "--overwrite").err
    command = err.rstrip("\n").split("go on with: ")[1]
    assert shlex.split(command) == ["minipinet", "train", *TINY, "--folds", "3", "--run-dir", "run", "--resume"]
    assert call(capsys, *shlex.split(command)[1:]).status == 0


@pytest.mark.parametrize(
    ("called", "program"),
    [
        ("{venv}/bin/minipinet", "'{venv}/bin/minipinet'"),  # as scripts/train calls it
        ("{path}/minipinet", "minipinet"),
        ("{venv}/minipinet/__main__.py", "'{python}' -m minipinet"),
        ("pytest", "minipinet"),
    ],
)
def test_the_command_to_go_on_with_can_be_pasted(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, called: str, program: str
) -> None:
    places = {"venv": str(tmp_path / "my venv"), "path": str(tmp_path / "path"), "python": str(tmp_path / "a python")}
    for folder in ("path", "my venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "minipinet").write_text("#!/bin/sh\n")
        (tmp_path / folder / "minipinet").chmod(0o755)
    monkeypatch.setenv("PATH", places["path"])
    monkeypatch.setattr(sys, "executable", places["python"])
    monkeypatch.setattr(sys, "argv", [called.format(**places)])
    monkeypatch.setattr(train, "progress", interrupted_after(0))
    err = call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "run").err
    assert err.rstrip("\n").split("go on with: ")[1].startswith(f"{program.format(**places)} train --epochs 2 ")
    if program == "minipinet" and called != "pytest":
        monkeypatch.setenv("PATH", "")
        err = call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "other").err
        assert f"go on with: {places['path']}/minipinet train " in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--folds", "3"], "folds was 2 and is now 3"),
        (["--seed", "1"], "settings.seed was 0 and is now 1"),
        (["--features", "degree"], 'data.encoder.kind was "labels" and is now "degree"'),
    ],
)
def test_a_refused_resume_says_which_setting_is_another_and_lists_no_graphs(
    capsys: Capture, words: list[str], told: str
) -> None:
    call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "run")
    err = call(capsys, "train", *TINY, "--folds", 2, *words, "--run-dir", "run", "--resume").err
    assert "the run in it differs: " in err
    assert told in err
    assert "..." not in err
    assert "split" not in err


def test_a_refused_resume_with_no_more_than_another_split_says_so(capsys: Capture) -> None:
    words = ["train", *TINY, "--folds", 2, "--run-dir", "run"]
    call(capsys, *words)
    record = json.loads(Path("run/run.json").read_text())
    record["splits"].reverse()
    Path("run/run.json").write_text(json.dumps(record))
    err = call(capsys, *words, "--resume").err
    assert err == "minipinet: error: run: cannot be resumed, the run in it differs: splits: not the same\n"


def test_resuming_a_finished_run_only_reports_it(capsys: Capture) -> None:
    words = ["train", *TINY, "--folds", "2", "--run-dir", "run"]
    first = call(capsys, *words).out
    assert call(capsys, *words, "--resume", "--quiet") == (0, first, "")


def test_resuming_where_nothing_was_begun_begins_and_says_so(capsys: Capture) -> None:
    status, _, err = call(capsys, "train", *TINY, "--folds", 2, "--run-dir", "run", "--resume", "--quiet")
    assert (status, err) == (0, "note: run: there is no run to go on with, so this one begins\n")


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_on_a_terminal_ends_every_process_with_one_line(jobs: int) -> None:
    words = ["--folds", "2", "--epochs", "100000", "--hidden", "4", "--out", "2", "--quiet"]
    process = start("train", *words, "--run-dir", "run", "--jobs", jobs, cwd=Path.cwd())
    deadline = time.monotonic() + 60
    while not list(Path("run").glob("fold-*")):
        assert process.poll() is None, finish(process)
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    status, out, err = finish(process)
    assert (status, out) == (130, "")
    command = [sys.executable, "-m", "minipinet", "train", *words, "--run-dir", "run", "--jobs", str(jobs), "--resume"]
    assert err == f"minipinet: interrupted; go on with: {shlex.join(command)}\n"
    while True:  # until no process of its group is left
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
