"""Trainings that go on epoch by epoch: who is asked, what each is sent, and one that diverges beside others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
import threadpoolctl

from minipinet.errors import CardError, DataError, DivergedError
from minipinet.lockstep import Ask, Outcome, Trained, Training, alone, together
from minipinet.optim import AdamState
from minipinet.pinet_network import pinet_network
from minipinet.train import TrainState, fit, training
from tests.small_data import same_bits, without_seconds
from tests.small_training import ALL, DATA, QUOTIENT, SMALL

NO_ADAM = AdamState(0, None, None)


def counted(
    name: str, epochs: int, seen: list[Any], fails_in: int = 0, error: type[Exception] = DivergedError
) -> Training[str]:
    """Ask for so many epochs; fail in one of them."""
    for epoch in range(1, epochs + 1):
        outcome = yield Ask(name, NO_ADAM, np.array([epoch]), lambda: (None, NO_ADAM, 0.0, 0))
        seen.append((name, epoch, outcome.loss, outcome.seconds))
        if epoch == fails_in:
            raise error(f"{name} diverged")
    return name


def trained(asks: Mapping[int, Ask], rounds: list[list[str]]) -> dict[int, Trained]:
    rounds.append([ask.params for ask in asks.values()])
    return {k: (None, NO_ADAM, float(ask.order[0]), 0) for k, ask in asks.items()}


def test_a_training_that_has_ended_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(step=6)
    monkeypatch.setattr("minipinet.lockstep.time.perf_counter", lambda: next(clock))
    seen: list[Any] = []
    rounds: list[list[str]] = []
    trainings = [counted(name, epochs, seen) for name, epochs in (("a", 2), ("b", 0), ("c", 3))]
    assert list(together(trainings, lambda asks: trained(asks, rounds))) == ["b", "a", "c"]
    assert rounds == [["a", "c"], ["a", "c"], ["c"]]
    assert [(name, epoch, loss) for name, epoch, loss, _ in seen] == [
        ("a", 1, 1), ("c", 1, 1), ("a", 2, 2), ("c", 2, 2), ("c", 3, 3),
    ]  # fmt: skip
    assert [seconds for *_, seconds in seen] == [3, 3, 3, 3, 6], "each its share of six seconds"


def test_one_that_diverges_stops_no_other_and_is_told_at_the_end() -> None:
    seen: list[Any] = []
    trainings = [counted("a", 2, seen), counted("b", 4, seen, 2), counted("c", 3, seen), counted("d", 3, seen, 1)]
    results = together(trainings, lambda asks: trained(asks, []))
    assert [next(results), next(results)] == ["a", "c"]
    with pytest.raises(DivergedError, match="b diverged"):
        next(results)
    assert ("c", 3) in [entry[:2] for entry in seen]


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ({"a": DataError, "b": DivergedError, "d": DivergedError}, "b"),
        ({"a": DivergedError, "b": DataError}, "a"),
        ({"b": DataError, "d": DataError}, "b"),
    ],
)
def test_a_divergence_is_told_before_scores_that_are_not_finite(errors: dict[str, type[Exception]], told: str) -> None:
    seen: list[Any] = []
    trainings = [
        counted(name, 3, seen, fails_in=number * (name in errors), error=errors.get(name, DivergedError))
        for name, number in zip("abcd", (1, 3, 1, 2), strict=True)
    ]
    results = together(trainings, lambda asks: trained(asks, []))
    finished = [next(results) for _ in range(4 - len(errors))]
    assert finished == [name for name in "abcd" if name not in errors]
    with pytest.raises(errors[told], match=f"^{told} diverged"):
        next(results)


def test_another_error_ends_all_at_once() -> None:
    def broken(asks: Mapping[int, Ask]) -> dict[int, Trained]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(together([counted("a", 1, [])], broken))


def test_trainings_in_lockstep_have_the_bits_of_each_alone() -> None:
    settings = [replace(SMALL, seed=seed, epochs=epochs) for seed, epochs in ((0, 3), (1, 2), (2, 4))]

    def started(one: Any) -> Training[TrainState]:
        return training(pinet_network(QUOTIENT, one, 2), DATA.y, ALL, one, None, None, None)

    def here(asks: Mapping[int, Ask]) -> dict[int, Trained]:
        return {k: ask.here() for k, ask in asks.items()}

    for state in together([started(one) for one in settings], here):
        expected = fit(QUOTIENT, DATA.y, ALL, settings[[3, 2, 4].index(state.epoch)], C=2)
        assert same_bits((state.params, state.adam), (expected.params, expected.adam))
        assert without_seconds(state.history) == without_seconds(expected.history)


def test_seconds_are_ones_own_and_the_share_of_the_epoch() -> None:
    steps = training(pinet_network(QUOTIENT, SMALL, 2), DATA.y, ALL, SMALL, None, None, None)
    ask = next(steps)
    states: list[TrainState] = []
    for _ in range(SMALL.epochs):
        try:
            ask = steps.send(Outcome(*ask.here(), 1000.0))
        except StopIteration as end:
            states.append(end.value)
    assert all(1000 < record.seconds < 1060 for record in states[0].history)


def test_one_thread_computes() -> None:
    def look() -> Training[set[int]]:
        yield Ask(None, NO_ADAM, ALL, lambda: (None, NO_ADAM, 0.0, 0))
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}

    assert alone(look()) == {1}


def test_what_came_to_its_end_is_handed_out_before_a_card_that_failed_is_told() -> None:
    def scored_on_a_card_that_fails() -> Training[str]:
        yield Ask(None, NO_ADAM, ALL, lambda: (None, NO_ADAM, 0.0, 0))
        raise CardError("the card is gone")

    def ends() -> Training[str]:
        yield Ask(None, NO_ADAM, ALL, lambda: (None, NO_ADAM, 0.0, 0))
        return "ended"

    def goes_on() -> Training[str]:
        while len(told) < 9:
            outcome = yield Ask(None, NO_ADAM, ALL, lambda: (None, NO_ADAM, 0.0, 0))
            told.append(outcome)
        return "too far"

    told: list[Any] = []
    results: list[str] = []
    with pytest.raises(CardError, match=r"^the card is gone$"):
        results.extend(
            together(
                [scored_on_a_card_that_fails(), ends(), goes_on()],
                lambda asks: dict.fromkeys(asks, (None, NO_ADAM, 0.0, 0)),
            )
        )
    assert (results, len(told)) == (["ended"], 1)
