"""Run folders: what they hold, that they are not written over, and that a killed run goes on to the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._files import sole_writer, write_json
from minipinet.checkpoint import load_checkpoint, save_checkpoint
from minipinet.crossval import cross_validate
from minipinet.datasets import load_dataset
from minipinet.errors import DataError, DivergedError, MinipinetError, Notice, UsageError
from minipinet.predictor import PiNet
from minipinet.runs import now_and_then, train_pinet
from minipinet.settings import Settings
from minipinet.splits import stratified_folds
from minipinet.train import TrainState
from tests.small_data import ROOT, command, environment, files, python, same_bits, two_kinds, without_seconds

SMALL = Settings(epochs=4, batch_size=7, hidden=6, out=4, lr=1e-2)
DATA = two_kinds(24)
FOLD_FILES = ["checkpoint.safetensors", "log.jsonl", "model.safetensors"]


def strict(text: str) -> Any:
    """Parse JSON, refusing the words that are not JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def run(folder: Path, settings: Settings = SMALL, **options: Any) -> None:
    cross_validate(DATA, settings, folds=3, run_dir=folder, **options)


def stamps(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in files(folder) if (folder / name).is_file()}


def same_run(a: Path, b: Path) -> bool:
    """Return whether two run folders hold the same files with the same bits, seconds apart."""
    if files(a) != files(b):
        return False
    for name in files(a):
        if name.endswith("model.safetensors") and (a / name).read_bytes() != (b / name).read_bytes():
            return False
        if name.endswith("checkpoint.safetensors"):
            first, second = (load_checkpoint(folder / name) for folder in (a, b))
            s, t = first.state, second.state
            if not same_bits((s.params, s.adam, s.best), (t.params, t.adam, t.best)):
                return False
            if (first.settings, first.extra, s.epoch) != (second.settings, second.extra, t.epoch):
                return False
            if s.rng.bit_generator.state != t.rng.bit_generator.state:
                return False
            if without_seconds(s.history) != without_seconds(t.history):
                return False
    return True


def test_case_111_the_record_holds_all_that_decides_the_numbers(tmp_path: Path) -> None:
    result = cross_validate(DATA, SMALL, folds=3, run_dir=tmp_path / "run")
    record = strict((tmp_path / "run" / "run.json").read_text())
    assert Settings.from_json(record["settings"]) == SMALL
    assert set(record["settings"]) == set(SMALL.to_json())  # all of them, defaults too
    assert record["settings"]["seed"] == 0
    assert record["settings"]["device"] == "cpu"
    assert record["data"]["digest"] == DATA.digest
    assert record["data"]["classes"] == ["dense", "sparse"]
    assert set(record["versions"]) == {"python", "minipinet", "numpy", "scipy", "scikit-learn"}
    assert record["versions"]["numpy"] == np.__version__
    assert record["machine"]
    assert record["command"]
    for (train, test), split in zip(stratified_folds(DATA.labels, 3, 0), record["splits"], strict=True):
        assert split == {"train": train.tolist(), "test": test.tolist()}
    assert record["results"]["summary"] == result.summary
    for fold, kept in zip(result.folds, record["results"]["folds"], strict=True):
        assert kept["predictions"] == fold.predictions.tolist()
        assert kept["accuracy"] == fold.accuracy
    # The record is enough to do it again.
    again = cross_validate(DATA, Settings.from_json(record["settings"]), record["folds"])
    assert again.summary["confusion_matrix"] == record["results"]["summary"]["confusion_matrix"]


def test_the_folder_holds_a_checkpoint_a_model_and_a_log_for_each_fold(tmp_path: Path) -> None:
    result = cross_validate(DATA, replace(SMALL, validation=0.2), folds=3, run_dir=tmp_path)
    folds = [f"fold-0{k}" for k in range(3)]
    assert files(tmp_path) == sorted([".lock", "run.json", *folds, *(f"{f}/{n}" for f in folds for n in FOLD_FILES)])
    for name, fold in zip(folds, result.folds, strict=True):
        log = [strict(line) for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        assert log == [json.loads(json.dumps(record._asdict())) for record in fold.history]
        assert log[0]["validation_loss"] > 0
        assert same_bits(PiNet.load(tmp_path / name / "model.safetensors").params, fold.model.params)
    assert strict((tmp_path / "run.json").read_text())["splits"][0]["validation"]


def test_case_106_json_has_no_nan_and_no_numpy(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": np.float32("nan"), "b": [np.int64(3), float("inf")], "c": np.ones((1, 2))})
    assert strict((tmp_path / "x.json").read_text()) == {"a": None, "b": [3, None], "c": [[1.0, 1.0]]}


def test_case_108_a_rerun_refuses_to_overwrite(tmp_path: Path) -> None:
    run(tmp_path)
    before = stamps(tmp_path)
    with pytest.raises(UsageError, match="holds a run already; resume it, overwrite it"):
        run(tmp_path)
    assert stamps(tmp_path) == before
    with pytest.raises(UsageError, match="at most one"):
        run(tmp_path, resume=True, overwrite=True)


def test_overwrite_begins_anew_and_touches_nothing_else(tmp_path: Path) -> None:
    run(tmp_path / "run", replace(SMALL, seed=1))
    cross_validate(DATA, SMALL, folds=5, run_dir=tmp_path / "run", overwrite=True)
    (tmp_path / "run" / "notes.txt").write_text("mine")
    (tmp_path / "run" / "fold-04" / "figure.png").write_text("mine")
    run(tmp_path / "run", overwrite=True)
    run(tmp_path / "fresh")
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    (tmp_path / "run" / "notes.txt").unlink()
    (tmp_path / "run" / "fold-04" / "figure.png").unlink()
    (tmp_path / "run" / "fold-04").rmdir()
    assert same_run(tmp_path / "run", tmp_path / "fresh")


@pytest.mark.parametrize("flags", [{}, {"resume": True}, {"overwrite": True}])
def test_a_folder_of_something_else_is_never_used(flags: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="not empty and holds no run"):
        run(tmp_path, **flags)
    assert [name for name in files(tmp_path) if name != ".lock"] == ["thesis.tex"]


def test_a_path_that_can_be_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(MinipinetError, match=f"{path}: cannot be made"):
            run(path)


def test_resume_of_a_finished_run_changes_nothing_but_gives_the_results(tmp_path: Path) -> None:
    first = cross_validate(DATA, SMALL, folds=3, run_dir=tmp_path)
    before = stamps(tmp_path)
    again = cross_validate(DATA, SMALL, folds=3, run_dir=tmp_path, resume=True)
    after = stamps(tmp_path)
    del before["run.json"], after["run.json"]
    assert after == before
    assert again.summary == first.summary  # the seconds are those of then
    assert [fold.history for fold in again.folds] == [fold.history for fold in first.folds]


def test_resume_of_nothing_begins(tmp_path: Path) -> None:
    run(tmp_path / "a", resume=True)
    run(tmp_path / "b")
    assert same_run(tmp_path / "a", tmp_path / "b")


RUN = """
import sys
from dataclasses import replace
from tests.test_rundir import DATA, SMALL, cross_validate
if __name__ == "__main__":
    settings = replace(SMALL, epochs=int(sys.argv[2]))
    cross_validate(DATA, settings, folds=3, run_dir=sys.argv[1], jobs=int(sys.argv[3]),
                   checkpoint_seconds=0.0, resume="resume" in sys.argv)
"""


def killed_at(path: Path, *args: object) -> None:
    """Begin a run in a process of its own and kill it, without a warning, as soon as `path` exists."""
    process = subprocess.Popen(command(RUN, *args), cwd=ROOT, env=environment(), stderr=subprocess.PIPE)
    while not path.exists():
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_goes_on_to_the_same_bits(jobs: int, tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    # With one job the first fold is finished by then and the second one begun; with two, both are under way.
    killed_at(killed / "fold-01" / "checkpoint.safetensors", killed, 25, jobs)
    if jobs == 1:
        assert sorted(p.name for p in (killed / "fold-00").iterdir()) == FOLD_FILES
    assert load_checkpoint(killed / "fold-01" / "checkpoint.safetensors").state.epoch < 25
    assert strict((killed / "run.json").read_text())["results"] is None
    finished = stamps(killed / "fold-00")
    python(RUN, killed, 25, jobs, "resume")
    if jobs == 1:
        assert stamps(killed / "fold-00") == finished
    cross_validate(DATA, replace(SMALL, epochs=25), folds=3, run_dir=whole)
    assert same_run(killed, whole)
    results = [strict((folder / "run.json").read_text())["results"] for folder in (killed, whole)]
    assert results[0]["summary"]["confusion_matrix"] == results[1]["summary"]["confusion_matrix"]


def test_workers_end_with_the_process_that_was_killed(tmp_path: Path) -> None:
    killed_at(tmp_path / "fold-01" / "checkpoint.safetensors", tmp_path, 1_000_000, 2)
    deadline = time.monotonic() + 30
    while True:
        before = stamps(tmp_path)
        time.sleep(0.5)
        if stamps(tmp_path) == before:
            break
        assert time.monotonic() < deadline, "a worker goes on writing although nobody waits for it"


def test_what_a_killed_write_left_is_removed(tmp_path: Path) -> None:
    run(tmp_path)
    left = [tmp_path / ".run.json.123.partial", tmp_path / "fold-01" / ".checkpoint.safetensors.9.partial"]
    for path in left:
        path.write_text("half")
    run(tmp_path, resume=True)
    assert not any(path.exists() for path in left)


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"settings": replace(SMALL, epochs=9)}, "settings.epochs was 4 and is now 9"),
    ({"settings": replace(SMALL, lr=0.5, bias=True)}, "settings.bias was false and is now true; settings.lr was 0.01"),
    ({"settings": replace(SMALL, pq=(1, 0))}, r'settings.pq was "learned" and is now \[\[1.0, 0.0\]'),
    ({"settings": replace(SMALL, seed=1)}, "settings.seed was 0 and is now 1"),
    ({"folds": 4}, "folds was 3 and is now 4"),
    ({"dataset": two_kinds(24, seed=1)}, "data.digest was"),
    ({"dataset": replace(DATA, classes=(1, 2))}, "data.classes was"),
    ({"dataset": DATA[:12]}, "data.digest was .*data.graphs was 24 and is now 12"),
]


@pytest.mark.parametrize(("change", "named"), CHANGES)
def test_resume_with_something_else_is_refused_by_name(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    run(tmp_path)
    before = stamps(tmp_path)
    arguments = {"dataset": DATA, "settings": SMALL, "folds": 3, "run_dir": tmp_path, "resume": True, **change}
    with pytest.raises(UsageError, match=f"{tmp_path}: cannot be resumed.*{named}"):
        cross_validate(**arguments)
    assert stamps(tmp_path) == before


def test_resume_with_other_features_is_refused(tmp_path: Path) -> None:
    settings = replace(SMALL, epochs=1, batch_size=200)
    cross_validate(load_dataset("MUTAG"), settings, folds=2, run_dir=tmp_path)
    with pytest.raises(UsageError, match=r"data\.encoder\.kind was"):
        cross_validate(load_dataset("MUTAG", features="degree"), settings, folds=2, run_dir=tmp_path, resume=True)


def test_resume_across_kinds_of_run_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(UsageError, match='kind was "cross-validation" and is now "train"'):
        train_pinet(DATA, SMALL, run_dir=tmp_path, resume=True)


def test_other_versions_are_told(tmp_path: Path) -> None:
    run(tmp_path)
    record = strict((tmp_path / "run.json").read_text())
    record["versions"]["numpy"] = "1.0"
    write_json(tmp_path / "run.json", record)
    with pytest.warns(Notice, match='numpy was "1.0" and is now'):
        run(tmp_path, resume=True)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "other"}', "\x00"])
def test_a_spoilt_record_is_named(content: str, tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(DataError, match=r"run.json: "):
        run(tmp_path, resume=True)


def test_a_spoilt_checkpoint_is_named(tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "fold-01" / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DataError, match=f"{path}: "):
        run(tmp_path, resume=True)


def test_the_checkpoint_of_another_fold_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "fold-01" / "checkpoint.safetensors"
    path.write_bytes((tmp_path / "fold-00" / "checkpoint.safetensors").read_bytes())
    with pytest.raises(UsageError, match=f"{path}: is the checkpoint of another run"):
        run(tmp_path, resume=True)


def test_divergence_leaves_whole_files_and_no_model(tmp_path: Path) -> None:
    with pytest.raises(DivergedError, match="fold 0: training diverged in epoch 1"):
        run(tmp_path, replace(SMALL, lr=1e30))
    assert [name for name in files(tmp_path) if not name.startswith("fold")] == [".lock", "run.json"]
    assert "fold-00/model.safetensors" not in files(tmp_path)
    assert strict((tmp_path / "run.json").read_text())["results"] is None


HOLD = """
import sys, time
from pathlib import Path
from minipinet._files import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_processes_do_not_write_one_run_and_a_killed_one_does_not_block(tmp_path: Path) -> None:
    holder = subprocess.Popen(command(HOLD, tmp_path), cwd=ROOT, env=environment(), stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    choices: list[dict[str, Any]] = [{}, {"resume": True}, {"overwrite": True}]
    for flags in choices:
        with pytest.raises(UsageError, match="another process is writing this run"):
            run(tmp_path, **flags)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    run(tmp_path)


def test_the_lock_is_let_go_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), sole_writer(tmp_path):
        raise ZeroDivisionError
    with sole_writer(tmp_path):
        pass


def test_train_pinet_keeps_a_run_too(tmp_path: Path) -> None:
    settings = replace(SMALL, validation=0.25)
    states: list[TrainState] = []
    trained = train_pinet(DATA, settings, run_dir=tmp_path / "a", on_epoch=states.append)
    assert files(tmp_path / "a") == sorted([".lock", "run.json", *FOLD_FILES])
    record = strict((tmp_path / "a" / "run.json").read_text())
    assert len(record["split"]["validation"]) == 6
    assert record["results"]["last_epoch"]["epoch"] == trained.epoch == 4
    with pytest.raises(UsageError, match="holds a run already"):
        train_pinet(DATA, settings, run_dir=tmp_path / "a")
    # As if it had been killed after the second epoch.
    save_checkpoint(tmp_path / "a" / "checkpoint.safetensors", states[1], settings, {"data": DATA.digest})
    (tmp_path / "a" / "model.safetensors").unlink()
    again = train_pinet(DATA, settings, run_dir=tmp_path / "a", resume=True)
    assert same_bits(again.model.params, trained.model.params)
    assert same_bits(train_pinet(DATA, settings).model.params, trained.model.params)
    train_pinet(DATA, settings, run_dir=tmp_path / "a", overwrite=True)
    train_pinet(DATA, settings, run_dir=tmp_path / "b")
    assert same_run(tmp_path / "a", tmp_path / "b")


def test_checkpoints_are_spaced_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    saved: list[float] = []

    def save(state: Any) -> None:
        nonlocal now
        saved.append(now)
        now += 0.25  # a slow disk

    hook = now_and_then(save, 5.0)
    state: Any = None
    for _ in range(400):
        now += 0.1
        hook(state)
    assert 105.0 <= saved[0] < 105.2
    assert np.diff(saved).min() >= 50 * 0.25
    every = now_and_then(save, 0.0)
    before = len(saved)
    for _ in range(3):
        every(state)
    assert len(saved) == before + 3


def test_the_run_is_the_same_however_often_it_is_saved(tmp_path: Path) -> None:
    run(tmp_path / "often", checkpoint_seconds=0.0)
    run(tmp_path / "once", checkpoint_seconds=1000.0)
    assert same_run(tmp_path / "often", tmp_path / "once")


def test_case_108_a_full_disk_stops_the_run_and_it_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = 0

    def full(number: int) -> None:
        nonlocal states
        states += 1
        if states == 8:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(MinipinetError, match="cannot be written: No space left on device"):
            run(tmp_path / "full", checkpoint_seconds=0.0)
    assert not any(name.endswith(".partial") for name in files(tmp_path / "full"))
    run(tmp_path / "full", resume=True)
    run(tmp_path / "whole")
    assert same_run(tmp_path / "full", tmp_path / "whole")
