"""A run that was killed or stopped goes on to the same bits; anything else in its place is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._files import write_json
from minipinet.checkpoint import load_checkpoint
from minipinet.crossval import cross_validate
from minipinet.datasets import load_dataset
from minipinet.errors import DataError, MinipinetError, Notice, UsageError
from minipinet.runs import now_and_then, train_pinet
from tests.small_data import ROOT, command, environment, files, python, two_kinds
from tests.small_runs import DATA, FOLD_FILES, SMALL, run, same_run, stamps, strict


def test_resume_of_a_finished_run_changes_nothing_but_gives_the_results(tmp_path: Path) -> None:
    first = cross_validate(DATA, SMALL, folds=3, run_dir=tmp_path)
    before = stamps(tmp_path)
    again = cross_validate(DATA, SMALL, folds=3, run_dir=tmp_path, resume=True)
    after = stamps(tmp_path)
    del before["run.json"], after["run.json"]
    assert after == before
    assert again.summary == first.summary  # the seconds are those of then
    assert [fold.history for fold in again.folds] == [fold.history for fold in first.folds]


def damaged(content: bytes) -> list[bytes | None]:
    """Return forms of a file that was lost, emptied, cut or changed by a byte at either end."""
    return [None, b"", content[:-1], bytes([content[0] ^ 1]) + content[1:], content[:-1] + bytes([content[-1] ^ 1])]


@pytest.mark.parametrize("name", ["model.safetensors", "log.jsonl"])
@pytest.mark.parametrize("way", range(5))
def test_resume_of_a_finished_run_makes_good_what_was_lost(name: str, way: int, tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "fold-01" / name
    before, content = stamps(tmp_path), path.read_bytes()
    changed = damaged(content)[way]
    path.unlink()
    if changed is not None:
        path.write_bytes(changed)
    run(tmp_path, resume=True)
    assert path.read_bytes() == content
    after = stamps(tmp_path)
    for other in ("run.json", f"fold-01/{name}"):
        del before[other], after[other]
    assert after == before


def test_resume_puts_the_right_model_in_the_place_of_another_folds(tmp_path: Path) -> None:
    run(tmp_path)
    models = [tmp_path / f"fold-0{fold}" / "model.safetensors" for fold in range(2)]
    content = models[1].read_bytes()
    models[1].write_bytes(models[0].read_bytes())
    run(tmp_path, resume=True)
    assert models[1].read_bytes() == content != models[0].read_bytes()


def test_a_kill_between_the_last_checkpoint_and_the_model_is_made_good(tmp_path: Path) -> None:
    run(tmp_path / "a")
    run(tmp_path / "b")
    (tmp_path / "a" / "fold-01" / "model.safetensors").unlink()
    run(tmp_path / "a", resume=True)
    assert same_run(tmp_path / "a", tmp_path / "b")


def test_resume_of_nothing_begins(tmp_path: Path) -> None:
    run(tmp_path / "a", resume=True)
    run(tmp_path / "b")
    assert same_run(tmp_path / "a", tmp_path / "b")


RUN = """
import sys
from dataclasses import replace
from tests.test_resume import DATA, SMALL, cross_validate
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
    ({"dataset": two_kinds(24, seed=1)}, "data.digest: not the same"),
    ({"dataset": replace(DATA, classes=(1, 2))}, "data.classes was"),
    ({"dataset": DATA[:12]}, "data.digest: not the same.*data.graphs was 24 and is now 12"),
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
