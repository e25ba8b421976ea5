"""Checkpoints: whole on disk or not at all, the same bits after a break, and no way in for foreign files."""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from minipinet._files import remove_partials, write_whole
from minipinet.checkpoint import load_checkpoint, save_checkpoint
from minipinet.errors import DataError, MinipinetError
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import TrainState, fit
from tests.forms import use_form
from tests.small_data import files, python, same_bits, two_kinds, without_seconds

SETTINGS = Settings(epochs=10, batch_size=7, hidden=6, out=4, lr=1e-2, bias=True)
DATA = two_kinds(24)
QUOTIENT = refine(DATA.graphs)


def train(settings: Settings = SETTINGS, state: TrainState | None = None) -> TrainState:
    held_out = np.arange(6) if settings.validation else None
    return fit(QUOTIENT, DATA.y, np.arange(6, 24), settings, C=2, state=state, validation_index=held_out)


def same_state(a: TrainState, b: TrainState) -> bool:
    return (
        same_bits((a.params, a.adam, a.best), (b.params, b.adam, b.best))
        and a.epoch == b.epoch
        and a.rng.bit_generator.state == b.rng.bit_generator.state
        and without_seconds(a.history) == without_seconds(b.history)
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "c.safetensors"
    save_checkpoint(path, train(), SETTINGS, {"fold": 3})
    return path


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        replace(SETTINGS, pq=(1, 0), bias=False, dtype="float64"),
        replace(SETTINGS, validation=0.2, patience=2, lr=0.1, epochs=30),
    ],
)
def test_a_checkpoint_gives_everything_back(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_form("numpy", monkeypatch)  # what is saved is what there is, whoever computed it
    state = train(settings)
    assert (state.best is None) == (settings.patience is None)
    extra = {"fold": 3, "data": "abc", "nothing": None}
    save_checkpoint(tmp_path / "c", state, settings, extra)
    loaded = load_checkpoint(tmp_path / "c")
    assert same_state(loaded.state, state)
    assert loaded.state.history == state.history  # the seconds too
    assert loaded.settings == settings
    assert loaded.extra == extra
    assert loaded.state.rng.random() == state.rng.random()


CONTINUE = """
import sys
from dataclasses import replace
from tests.test_checkpoint import save_checkpoint, load_checkpoint, train
checkpoint = load_checkpoint(sys.argv[1])
settings = replace(checkpoint.settings, epochs=20)
save_checkpoint(sys.argv[2], train(settings, checkpoint.state), settings)
"""


@pytest.mark.parametrize(
    "settings", [SETTINGS, replace(SETTINGS, validation=0.2, patience=9), replace(SETTINGS, dtype="float64", pq=(1, 1))]
)
def test_case_107_twenty_epochs_equal_ten_a_new_process_and_ten(settings: Settings, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "ten", train(settings), settings)
    python(CONTINUE, tmp_path / "ten", tmp_path / "twenty")
    resumed = load_checkpoint(tmp_path / "twenty").state
    assert resumed.epoch == 20
    assert same_state(resumed, train(replace(settings, epochs=20)))


def test_one_state_is_one_file(tmp_path: Path) -> None:
    state = train()
    for name in ("a", "b"):
        save_checkpoint(tmp_path / name, state, SETTINGS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_case_108_a_full_disk_leaves_the_old_file_whole(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(saved.read_bytes())
    state = train()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(MinipinetError, match=f"{path}: cannot be written"):
            save_checkpoint(path, state, SETTINGS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == saved.read_bytes()
    assert files(tmp_path) == ["c"]


KILLED = """
import os, signal, sys
import minipinet._files
from tests.test_checkpoint import SETTINGS, save_checkpoint, train
state = train()
os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
save_checkpoint(sys.argv[1], state, SETTINGS)
"""


def test_case_108_a_kill_during_the_save_leaves_the_old_file_whole(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(saved.read_bytes())
    assert python(KILLED, path, check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == saved.read_bytes()
    assert len(files(tmp_path)) == 2  # what a killed process cannot remove,
    remove_partials(tmp_path, ["c"])  # the next run does
    assert files(tmp_path) == ["c"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_whatever_interrupts_a_write_leaves_nothing_behind(
    fault: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(number: int) -> None:
        raise fault

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((KeyboardInterrupt, MinipinetError)):
        write_whole(tmp_path / "new", b"content")
    assert files(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "such" / "folder", tmp_path):
        with pytest.raises(MinipinetError, match="cannot be written"):
            write_whole(path, b"content")
    assert files(tmp_path) == []


def test_a_link_stays_a_link_and_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "plain").stat().st_mode


def refused(path: Path) -> str:
    with pytest.raises(DataError) as error:
        load_checkpoint(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("keep", [0, 1, 8, 100, 0.5, 0.99, -1])
def test_a_cut_file_is_refused(saved: Path, tmp_path: Path, keep: float) -> None:
    content = saved.read_bytes()
    length = int(keep * len(content)) if isinstance(keep, float) else keep
    (tmp_path / "c").write_bytes(content[:length])
    refused(tmp_path / "c")


@given(st.data())
def test_any_changed_byte_is_noticed(saved: Path, tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    content = bytearray(saved.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(128, 255))  # never one blank for another
    path = tmp_path_factory.mktemp("changed") / "c"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        load_checkpoint(path)
    assert str(error.value).startswith(f"{path}: ")


def test_foreign_files_are_refused(saved: Path, tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "absent")
    refused(tmp_path)
    for name, content in {"text": b"hello", "html": b"<html>" * 1000, "zeros": bytes(10_000)}.items():
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name)
    arrays = {"weight": np.ones(3, np.float32)}
    for metadata in (None, {"format": "pt"}, {"minipinet model": "{}"}):
        safetensors.numpy.save_file(arrays, tmp_path / "other", metadata=metadata)
        assert "expected a minipinet checkpoint" in refused(tmp_path / "other")


class _Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["BOMB"],)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    (tmp_path / "c").write_bytes(pickle.dumps(_Bomb()))
    np.save(tmp_path / "c.npy", np.array([_Bomb()], dtype=object), allow_pickle=True)
    refused(tmp_path / "c")
    refused(tmp_path / "c.npy")
    assert not (tmp_path / "exploded").exists()


def edited(saved: Path, path: Path, edit: Any) -> None:
    """Write the checkpoint with another content but a right checksum, as a careless program might."""
    from minipinet.checkpoint import _digest

    with safetensors.safe_open(saved, framework="numpy") as file:
        description = json.loads(file.metadata()["minipinet checkpoint"].partition(" ")[2])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    edit(description, arrays)
    text = json.dumps(description)
    metadata = {"minipinet checkpoint": f"{_digest(arrays, text)} {text}"}
    safetensors.numpy.save_file(arrays, path, metadata=metadata)


EDITS: dict[str, Any] = {
    "no settings": lambda d, a: d.pop("settings"),
    "no generator": lambda d, a: d.pop("generator"),
    "unknown setting": lambda d, a: d["settings"].update(momentum=1),
    "wrong setting": lambda d, a: d["settings"].update(epochs=0),
    "other width": lambda d, a: d["settings"].update(hidden=5),
    "huge width": lambda d, a: d["settings"].update(hidden=10**12),
    "other dtype": lambda d, a: d["settings"].update(dtype="float64"),
    "no bias asked": lambda d, a: d["settings"].update(bias=False),
    "fixed pq asked": lambda d, a: d["settings"].update(pq=[[1, 0]] * 4),
    "other generator": lambda d, a: d["generator"].update(bit_generator="MT19937"),
    "generator out of range": lambda d, a: d["generator"]["state"].update(state=2**200),
    "generator a list": lambda d, a: d.update(generator=[]),
    "history short": lambda d, a: d["history"][0].pop(),
    "history no list": lambda d, a: d.update(history=3),
    "epoch a word": lambda d, a: d.update(epoch="ten"),
    "best without weights": lambda d, a: d.update(best={"epoch": 1, "loss": 0.1}),
    "a weight less": lambda d, a: a.pop("params.W_A1"),
    "a moment less": lambda d, a: a.pop("adam_v.W_D"),
    "a weight of another shape": lambda d, a: a.update({"params.W_X1": np.zeros((6, 5), np.float32)}),
    "a scalar weight": lambda d, a: a.update({"params.W_A0": np.zeros((), np.float32)}),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_description_that_does_not_fit_is_refused(name: str, saved: Path, tmp_path: Path) -> None:
    edited(saved, tmp_path / "same", lambda d, a: None)
    assert same_state(load_checkpoint(tmp_path / "same").state, load_checkpoint(saved).state)
    edited(saved, tmp_path / "c", EDITS[name])
    assert "not a minipinet checkpoint, or not a whole one" in refused(tmp_path / "c")
