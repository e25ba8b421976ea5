"""Several folds at once on a card, by the kernels compiled for the host: each fold as it is alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import minipinet._card
from minipinet.crossval import cross_validate
from minipinet.cuda.folds import FoldsOnCard
from minipinet.cuda.step import make_batch
from minipinet.datasets import load_dataset
from minipinet.errors import Notice, UsageError
from minipinet.lockstep import Ask
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import TrainState, start
from tests.small_data import same_bits
from tests.small_folds import ALL, DATA, SMALL, STOPPING, card, run, side_by_side
from tests.test_crossval import same_results

__all__ = ["card", "side_by_side"]  # fixtures


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
    monkeypatch.setattr(minipinet._card, "card_problem", lambda: "there is none")
    with pytest.warns(Notice, match="'auto' comes to 'cpu': there is none"):
        fallen = run(settings=replace(SMALL, device="auto"))
    assert same_results(fallen, run(at_once=1, settings=replace(SMALL, device="cpu")))
