"""Folds at once that diverge or are killed: their run folders, and how they go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minipinet.errors import DataError, DivergedError
from minipinet.evaluation import evaluate
from minipinet.settings import Settings
from minipinet.train import TrainState
from tests.kernels_on_host import use_host_card
from tests.small_data import files
from tests.small_folds import SMALL, STOPPING, card, run, side_by_side
from tests.test_crossval import same_results

__all__ = ["card", "side_by_side"]  # fixtures

ALL_FILES = ["checkpoint.safetensors", "log.jsonl", "model.safetensors"]


def diverging_in(fold: int, epoch: int) -> Callable[[int, TrainState], None]:
    """Return an `on_epoch` after which a fold's training has diverged."""

    def on_epoch(number: int, state: TrainState) -> None:
        if (number, state.epoch) == (fold, epoch):
            raise DivergedError(f"training diverged in epoch {epoch}: the loss is no longer finite")

    return on_epoch


def test_one_fold_that_diverges_is_named_and_takes_no_files_of_others(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")
    with pytest.raises(DivergedError, match="fold 1: training diverged in epoch 2"):
        run(tmp_path / "run", on_epoch=diverging_in(1, 2))
    kept = [f"fold-{k:02d}/{name}" for k in (0, 2) for name in ALL_FILES]
    assert set(kept) < set(files(tmp_path / "run"))
    for name in (file for file in kept if file.endswith("model.safetensors")):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (tmp_path / "run" / "fold-01" / "model.safetensors").exists()
    assert same_results(run(tmp_path / "run", resume=True), whole)


def test_test_scores_that_are_not_finite_hide_no_divergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(tmp_path / "whole")
    tested_first = whole.folds[0].test_index[0]

    def scores(params: Any, pairs: Any, quotient: Any, y: Any, index: Any, device: str) -> Any:
        if tested_first in index:
            raise DataError(f"graph {tested_first}: its scores are not finite")
        return evaluate(params, pairs, quotient, y, index, device=device)

    monkeypatch.setattr("minipinet.fold.evaluate", scores)
    with pytest.raises(DivergedError, match=r"^fold 1: training diverged in epoch 4"):
        run(tmp_path / "run", on_epoch=diverging_in(1, 4))
    models = [f"fold-{k:02d}/model.safetensors" for k in (0, 2)]
    assert [name for name in files(tmp_path / "run") if name.endswith("model.safetensors")] == models
    for name in models:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    for at_once in (3, 1):
        with pytest.raises(DataError, match=f"^fold 0: graph {tested_first}: its scores are not finite"):
            run(tmp_path / "run", at_once, resume=True)
    monkeypatch.undo()
    use_host_card(monkeypatch)
    assert same_results(run(tmp_path / "run", resume=True), whole)


def test_a_loss_that_is_not_finite_diverges_in_every_fold(tmp_path: Path) -> None:
    with pytest.raises(DivergedError, match="fold 0: training diverged in epoch 1: "):
        run(tmp_path / "run", settings=replace(SMALL, lr=1e30))
    assert files(tmp_path) == [], "a run that kept nothing goes again"


def killed_in(fold: int, epoch: int) -> Callable[[int, TrainState], None]:
    """Return an `on_epoch` in which a user presses Ctrl-C."""

    def on_epoch(number: int, state: TrainState) -> None:
        if (number, state.epoch) == (fold, epoch):
            raise KeyboardInterrupt

    return on_epoch


@pytest.mark.parametrize(("settings", "fold", "epoch"), [(SMALL, 1, 1), (SMALL, 1, 3), (STOPPING, 2, 6)])
@pytest.mark.parametrize("again", [3, 2, 1])
def test_a_run_that_was_killed_goes_on_to_the_same_result(
    settings: Settings, fold: int, epoch: int, again: int, tmp_path: Path
) -> None:
    whole = run(settings=settings)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, settings=settings, on_epoch=killed_in(fold, epoch))
    epochs: dict[int, list[int]] = {}
    resumed = run(
        tmp_path, again, settings, resume=True, on_epoch=lambda k, state: epochs.setdefault(k, []).append(state.epoch)
    )
    assert same_results(resumed, whole)
    # A fold before it had this epoch kept, if it got so far, and itself had not.
    first = {k: numbers[0] for k, numbers in epochs.items()}
    assert first == ({0: epoch + 1, 1: epoch, 2: epoch} if settings is SMALL else {2: epoch})
    assert {entry.name for entry in (tmp_path / f"fold-{fold:02d}").iterdir()} == set(ALL_FILES)


def test_a_finished_run_needs_no_place_on_a_card(tmp_path: Path, side_by_side: list[int]) -> None:
    whole = run(tmp_path)
    side_by_side.clear()
    assert same_results(run(tmp_path, resume=True), whole)
    assert side_by_side == []


def test_folds_that_are_done_leave_the_others_on_the_card(tmp_path: Path, side_by_side: list[int]) -> None:
    whole = run(tmp_path)
    for name in ALL_FILES:
        (tmp_path / "fold-01" / name).unlink()
    side_by_side.clear()
    assert same_results(run(tmp_path, resume=True), whole)
    assert side_by_side == [1]
