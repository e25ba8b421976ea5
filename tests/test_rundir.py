"""Run folders: what they hold, and that nothing in them is written over."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._files import sole_writer, write_json
from minipinet.checkpoint import save_checkpoint
from minipinet.crossval import cross_validate
from minipinet.errors import DataError, DivergedError, MinipinetError, UsageError
from minipinet.predictor import PiNet
from minipinet.runs import train_part, train_pinet
from minipinet.settings import Settings
from minipinet.splits import stratified_folds
from minipinet.train import TrainState
from tests.cli_calls import TINY, call
from tests.small_data import ROOT, command, environment, files, same_bits
from tests.small_runs import DATA, FOLD_FILES, SMALL, run, same_run, stamps, strict


def test_case_111_the_record_holds_all_that_decides_the_numbers(tmp_path: Path) -> None:
    result = cross_validate(DATA, SMALL, folds=3, run_dir=tmp_path / "run")
    record = strict((tmp_path / "run" / "run.json").read_text())
    assert Settings.from_json(record["settings"]) == SMALL
    assert set(record["settings"]) == set(SMALL.to_json())  # all of them, defaults too
    assert record["settings"]["seed"] == 0
    assert record["settings"]["device"] == "cpu"
    assert record["data"]["digest"] == DATA.digest
    assert record["data"]["classes"] == ["dense", "sparse"]
    assert set(record["versions"]) == {"python", "minipinet", "numpy", "scipy", "numba", "scikit-learn"}
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
    (tmp_path / "run" / "best").mkdir()
    (tmp_path / "run" / "best" / "model.safetensors").write_text("mine")
    run(tmp_path / "run", overwrite=True)
    run(tmp_path / "fresh")
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "run" / "best" / "model.safetensors").read_text() == "mine"
    (tmp_path / "run" / "best" / "model.safetensors").unlink()
    (tmp_path / "run" / "best").rmdir()
    (tmp_path / "run" / "notes.txt").unlink()
    (tmp_path / "run" / "fold-04" / "figure.png").unlink()
    (tmp_path / "run" / "fold-04").rmdir()
    assert same_run(tmp_path / "run", tmp_path / "fresh")


FLAGS: list[dict[str, Any]] = [{}, {"resume": True}, {"overwrite": True}]


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return what is below a folder: the bytes of each file, None for a folder."""
    return {name: (folder / name).read_bytes() if (folder / name).is_file() else None for name in files(folder)}


@pytest.mark.parametrize("flags", FLAGS)
def test_a_folder_of_something_else_is_never_touched(flags: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "thesis.tex").write_text("years of work")
    for name in (".movie.mkv.partial", "sub/.movie.mkv.partial", ".run.json.7.partial", "model.safetensors"):
        (tmp_path / name).write_text("precious")
    before = contents(tmp_path)
    with pytest.raises(UsageError, match="not empty and holds no run"):
        run(tmp_path, **flags)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("record", ['{"tool": "other"}', '{"format": "other 1"}', "not JSON", "[]", ""])
@pytest.mark.parametrize("flags", FLAGS)
def test_the_run_of_another_program_is_never_touched(flags: dict[str, Any], record: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(record)
    for name in FOLD_FILES:
        (tmp_path / name).write_text("theirs")
    before = contents(tmp_path)
    with pytest.raises(DataError, match=f"^{tmp_path / 'run.json'}: "):
        run(tmp_path, **flags)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("flags", FLAGS[1:])
def test_only_the_temporary_files_of_runs_are_removed(flags: dict[str, Any], tmp_path: Path) -> None:
    run(tmp_path)
    ours = [".run.json.12.partial", "fold-01/.model.safetensors.3.partial", "fold-02/.log.jsonl.3.partial"]
    theirs = [".run.json.partial", ".run.json.1.partial.bak", ".movie.mkv.1.partial", "fold-01/.x.1.partial"]
    theirs += ["sub/.run.json.1.partial", "fold-01/sub/.run.json.1.partial", "fold-1/.run.json.1.partial"]
    for name in (*ours, *theirs):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    run(tmp_path, **flags)
    assert [name for name in (*ours, *theirs) if (tmp_path / name).exists()] == theirs


def test_a_run_killed_while_it_wrote_its_record_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("")
    (tmp_path / ".run.json.77.partial").write_text("{")
    run(tmp_path)
    assert ".run.json.77.partial" not in files(tmp_path)


@pytest.mark.parametrize("run_dir", ["", 5, 5.0, b"run", "a\0b", "a\ud800b", ["run"], True])
@pytest.mark.parametrize("flags", FLAGS)
def test_what_is_no_path_is_refused(flags: dict[str, Any], run_dir: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^run_dir: expected the path of a folder, got "):
        cross_validate(DATA, SMALL, folds=3, run_dir=run_dir, **flags)
    with pytest.raises(UsageError, match=r"^run_dir: expected the path of a folder, got "):
        train_pinet(DATA, SMALL, run_dir=run_dir, **flags)


@pytest.mark.parametrize("flag", ["--quiet", "--resume", "--overwrite"])
def test_an_empty_name_on_the_command_line_is_not_the_folder_one_is_in(
    flag: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = call(capsys, "train", *TINY, "--run-dir", "", flag)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "expected the path of a folder, got ''" in err
    assert files(tmp_path) == []


def test_a_path_that_can_be_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "run", tmp_path / ("x" * 300)):
        with pytest.raises(MinipinetError, match=f"^{path}: cannot be used as a run folder: "):
            run(path)
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(MinipinetError, match=f"^{tmp_path / 'link'}: cannot be made: "):
        run(tmp_path / "link")


@pytest.mark.parametrize("name", ["fold-00", "fold-00/checkpoint.safetensors", "fold-01/model.safetensors"])
def test_files_and_folders_in_each_others_place_are_one_sentence(name: str, tmp_path: Path) -> None:
    run(tmp_path)
    place = tmp_path / name
    if place.is_dir():
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
        place.write_text("")
    else:
        place.unlink()
        place.mkdir()
    for flags in FLAGS[1:]:
        with pytest.raises(MinipinetError, match=f"^{place}: "):
            run(tmp_path, **flags)


@pytest.mark.parametrize("error", [MemoryError(), DivergedError("loss"), RuntimeError("a bug"), UsageError("no")])
@pytest.mark.parametrize("there", [False, True])
def test_a_run_that_kept_nothing_goes_again(
    error: Exception, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    folder = tmp_path / "a" / "run"
    if there:
        folder.mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr("minipinet.runs.training", failing)
        for flags in FLAGS:
            with pytest.raises(type(error)):
                run(folder, **flags)
            assert files(tmp_path) == (["a", "a/run"] if there else ["a"])
    run(folder)
    before = contents(folder)
    with monkeypatch.context() as patch:
        patch.setattr("minipinet.runs.training", failing)
        with pytest.raises(type(error)):
            run(folder, resume=True)
    assert contents(folder) == before


@pytest.mark.parametrize("where", [("--run-dir", "run"), ()])
def test_a_model_that_no_memory_holds_is_one_line_and_no_folder(
    where: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--epochs", 1, "--folds", 2, "--jobs", 1, "--hidden", 2**20, "--out", 2**20, "--quiet", *where]
    status, out, err = call(capsys, "train", *words)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("minipinet: error: not enough memory (Unable to allocate ")
    assert files(tmp_path) == []


def test_an_interrupted_run_stays_to_go_on_with(tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def fail(*_: object) -> None:
        raise RuntimeError

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_epoch=stop)
    assert "run.json" in files(tmp_path)
    with pytest.raises(RuntimeError):  # nor does a run go that was there before
        run(tmp_path, on_epoch=fail, resume=True)
    assert "run.json" in files(tmp_path)


def test_divergence_keeps_the_folds_that_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverging(part: Any, *rest: Any) -> Any:
        if rest[0].name == "fold-01":
            raise DivergedError("training diverged in epoch 1")
        return train_part(part, *rest)

    monkeypatch.setattr("minipinet.fold.train_part", diverging)
    with pytest.raises(DivergedError, match="fold 1: training diverged in epoch 1"):
        run(tmp_path)
    assert files(tmp_path) == [".lock", "fold-00", *(f"fold-00/{name}" for name in FOLD_FILES), "run.json"]
    assert strict((tmp_path / "run.json").read_text())["results"] is None
    with pytest.raises(UsageError, match="holds a run already"):
        run(tmp_path)


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
    for flags in FLAGS:
        with pytest.raises(UsageError, match="another process is writing this run"):
            run(tmp_path, **flags)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    run(tmp_path)


def test_a_file_system_without_locks_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*args: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with sole_writer(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(MinipinetError, match=f"{tmp_path}: cannot be written"):
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
