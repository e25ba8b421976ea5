"""Several folds at once on a card, by the kernels compiled for the host: each fold as it is alone, and run folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minipinet._array
from minipinet.crossval import CrossValidation, cross_validate
from minipinet.cuda.folds import FoldsOnCard
from minipinet.cuda.step import make_batch
from minipinet.cuda.training import Card
from minipinet.datasets import load_dataset
from minipinet.errors import DataError, DivergedError, Notice, UsageError
from minipinet.evaluation import evaluate
from minipinet.lockstep import Ask
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import TrainState, start
from tests.cli_calls import call, figures
from tests.kernels_on_host import use_host_card
from tests.small_data import files, same_bits, two_kinds
from tests.test_crossval import same_results

#: Sixteen or seventeen graphs to train on: two batches in one fold, three in another.
DATA = two_kinds(25)
ALL = np.arange(25)
SMALL = Settings(epochs=4, batch_size=8, hidden=6, out=4, lr=1e-2, device="cuda")
STOPPING = replace(SMALL, epochs=40, lr=0.2, validation=0.2, patience=2)  # 4, 3 and 10 epochs
ALL_FILES = ["checkpoint.safetensors", "log.jsonl", "model.safetensors"]


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that fills with the number of folds that are on each card."""
    numbers: list[int] = []
    made = Card.__init__

    def spy(self: Card, launch: Any, tables: Any, likes: Any, *rest: Any, **options: Any) -> None:
        numbers.append(len(likes))
        made(self, launch, tables, likes, *rest, **options)

    monkeypatch.setattr(Card, "__init__", spy)
    return numbers


def run(folder: Path | None = None, at_once: int = 3, settings: Settings = SMALL, **options: Any) -> CrossValidation:
    return cross_validate(
        DATA, settings, 3, folds_at_once=at_once, run_dir=folder, checkpoint_seconds=0, **options
    )  # fmt: skip


@pytest.mark.parametrize("settings", [SMALL, STOPPING, replace(SMALL, dtype="float64", bias=True, l2=1e-3)])
@pytest.mark.parametrize(("at_once", "numbers"), [(3, [3]), (2, [2, 1]), (100, [3])])
def test_each_fold_has_the_bits_that_it_has_alone(
    settings: Settings, at_once: int, numbers: list[int], side_by_side: list[int]
) -> None:
    alone = run(at_once=1, settings=settings)
    assert side_by_side == [1, 1, 1]
    side_by_side.clear()
    assert same_results(run(at_once=at_once, settings=settings), alone)
    assert side_by_side == numbers
    assert {-(-len(fold.train_index) // 8) for fold in alone.folds} == ({2} if settings is STOPPING else {2, 3})
    lengths = {len(fold.history) for fold in alone.folds}
    assert len(lengths) > 1 if settings is STOPPING else lengths == {4}


def test_folds_whose_training_graphs_have_other_labels_are_beside_each_other(side_by_side: list[int]) -> None:
    data, settings = load_dataset("MUTAG"), replace(SMALL, epochs=2, batch_size=50)
    together, alone = (cross_validate(data, settings, 10, folds_at_once=at_once) for at_once in (10, 1))
    assert side_by_side == [10] + [1] * 10
    assert {fold.model.encoder.num_features for fold in together.folds} == {6, 7}
    assert same_results(together, alone)


def test_a_fold_that_has_ended_idles(monkeypatch: pytest.MonkeyPatch) -> None:
    idle: list[int] = []

    def spy(launch: Any, shape: Any, table: Any, buffers: Any) -> None:
        make_batch(launch, shape, table, buffers)
        idle.append(int((buffers.order[:, 0] < 0).sum()))

    monkeypatch.setattr("minipinet.cuda.training.make_batch", spy)
    result = run(settings=STOPPING)
    lengths = sorted(len(fold.history) for fold in result.folds)
    steps = 2 * lengths[-1]
    assert idle[1:] == [sum(length <= epoch for length in lengths) for epoch in range(lengths[-1]) for _ in range(2)]
    assert len(idle) == 1 + steps, "one run before the step is captured"


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

    def scores(params: Any, pairs: Any, quotient: Any, y: Any, index: Any) -> Any:
        if tested_first in index:
            raise DataError(f"graph {tested_first}: its scores are not finite")
        return evaluate(params, pairs, quotient, y, index)

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


def test_states_are_those_of_a_training_alone() -> None:
    seen: list[dict[tuple[int, int], TrainState]] = [{}, {}]
    for kept, at_once in zip(seen, (3, 1), strict=True):
        run(at_once=at_once, on_epoch=lambda fold, state, kept=kept: kept.update({(fold, state.epoch): state}))
    together, alone = seen
    assert list(together) == [(fold, epoch) for epoch in (1, 2, 3, 4) for fold in (0, 1, 2)]
    for key, state in alone.items():
        assert same_bits((together[key].params, together[key].adam), (state.params, state.adam))
        assert together[key].rng.bit_generator.state == state.rng.bit_generator.state


def test_other_weights_than_the_last_are_taken_to_the_card() -> None:
    quotient, settings = refine(DATA.graphs), replace(SMALL, batch_size=10)
    starts = [start(replace(settings, seed=seed), 2, 2) for seed in (0, 1, 2)]
    asks = [Ask(state.params, state.adam, ALL[5 * k :], lambda: None) for k, state in enumerate(starts)]  # type: ignore[arg-type, return-value]

    def fresh() -> FoldsOnCard:
        return FoldsOnCard([quotient] * 2, DATA.y, settings)

    folds = fresh()
    first = folds({0: asks[0], 1: asks[1]})
    assert same_bits(folds({1: asks[2]})[1], fresh()({0: asks[0], 1: asks[2]})[1])
    # The fold that idled has what it had, when another's weights were taken there.
    params, adam, *_ = first[0]
    on = asks[0]._replace(params=params, adam=adam)
    assert same_bits(folds({0: on})[0], fresh()({0: on, 1: asks[1]})[0])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"folds_at_once": 0}, "folds_at_once: expected a whole number of at least 1, got 0"),
        ({"folds_at_once": 2.0}, "folds_at_once: expected a whole number"),
        ({"folds_at_once": 2, "jobs": 2}, "jobs: expected 1 where a card trains several folds at once, got 2"),
    ],
)
def test_wrong_numbers_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=f"^{reason}"):
        cross_validate(DATA, SMALL, 3, **options)


def test_the_cpu_is_refused_and_auto_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"^folds_at_once: expected 1 on the CPU .*, got 2$"):
        run(at_once=2, settings=replace(SMALL, device="cpu"))
    monkeypatch.setattr(minipinet._array, "card_problem", lambda: "there is none")
    with pytest.warns(Notice, match="'auto' comes to 'cpu': there is none"):
        fallen = run(settings=replace(SMALL, device="auto"))
    assert same_results(fallen, run(at_once=1, settings=replace(SMALL, device="cpu")))


WORDS = ["train", "--folds", "3", "--epochs", "2", "--hidden", "4", "--out", "2"]


def test_the_command_trains_folds_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, side_by_side: list[int]
) -> None:
    on_card = [*WORDS, "--device", "cuda", "--json"]
    one = call(capsys, *on_card, "--run-dir", tmp_path / "one", "--jobs", "1")
    side_by_side.clear()
    three = call(capsys, *on_card, "--run-dir", tmp_path / "three", "--folds-at-once", "3")
    assert side_by_side == [3]
    assert figures(three.json) == figures(one.json)
    shown = three.err.splitlines()
    assert shown[0].startswith("1 of 6 epochs: fold 0, loss ")
    assert shown[-1].startswith("6 of 6 epochs: fold 2, loss ")
    assert [line.split()[0] for line in shown] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--folds-at-once 3", "expected 1 on the CPU (a card is device 'cuda' or 'auto'), got 3"),
        ("--folds-at-once 3 --device cpu", "expected 1 on the CPU (a card is device 'cuda' or 'auto'), got 3"),
        ("--folds-at-once 0 --device cuda", "expected a whole number of at least 1, got 0"),
        ("--folds-at-once 3 --device cuda --folds 0", "expected 1 with --folds 0, which has no folds, got 3"),
        ("--folds-at-once many", "expected a whole number of at least 1, got 'many'"),
    ],
)
def test_bad_use_is_one_line(
    words: str, reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = call(capsys, *WORDS, *words.split())
    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"minipinet: error: --folds-at-once: {reason}\n")
    assert files(tmp_path) == []


def test_jobs_beside_folds_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, *WORDS, "--folds-at-once", "3", "--device", "auto", "--jobs", "2")
    assert (outcome.status, outcome.err) == (
        2, "minipinet: error: --jobs: expected 1 where a card trains several folds at once, got 2\n",
    )  # fmt: skip


def test_auto_without_a_card_trains_fold_after_fold(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minipinet._array, "card_problem", lambda: "there is none")
    words = ["--device", "auto", "--folds-at-once", "3", "--jobs", "1", "--json", "--quiet"]
    outcome = call(capsys, *WORDS, *words, "--run-dir", tmp_path / "auto")
    assert (outcome.status, outcome.err) == (0, "note: device: 'auto' comes to 'cpu': there is none\n")
    cpu = call(capsys, *WORDS, "--jobs", "1", "--json", "--run-dir", tmp_path / "cpu")
    assert figures(outcome.json) == figures(cpu.json)
