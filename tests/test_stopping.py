"""When training stops: early, on a validation part; at once, when something is no longer finite."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import minipinet.pinet_network
import minipinet.train
from minipinet._tree import named_leaves
from minipinet.errors import DivergedError, UsageError
from minipinet.evaluation import Evaluation, evaluate
from minipinet.fast.training import loss_backward, loss_forward
from minipinet.train import TrainState, chosen_params, fit, is_finished
from tests.small_data import same_bits
from tests.small_training import ALL, DATA, QUOTIENT, SMALL, train


def test_the_validation_part_is_scored_and_never_trained_on() -> None:
    held, rest = ALL[:6], ALL[6:]
    with_validation = train(replace(SMALL, validation=0.1), rest, validation_index=held)
    without = train(SMALL, rest)
    assert same_bits(with_validation.params, without.params)
    scored = evaluate(with_validation.params, None, QUOTIENT, DATA.y, held)
    assert with_validation.history[-1].validation_loss == scored.loss
    assert with_validation.history[-1].validation_accuracy == scored.accuracy
    assert chosen_params(with_validation) == (with_validation.params, 3)


def test_early_stopping_keeps_the_best_epoch() -> None:
    # One held-out graph has the wrong label: the surer the network, the greater the loss, which falls and then climbs.
    y = DATA.y.copy()
    y[0] = 1 - y[0]
    settings = replace(SMALL, epochs=200, lr=0.1, validation=0.1, patience=4)
    states: list[TrainState] = []
    state = fit(QUOTIENT, y, ALL[8:], settings, C=2, validation_index=ALL[:8], on_epoch=states.append)
    losses = [record.validation_loss for record in state.history]
    best = int(np.argmin(np.array(losses, dtype=float)))
    assert state.epoch == len(losses) == best + 1 + 4 < 200
    params, epoch = chosen_params(state)
    assert epoch == best + 1
    assert same_bits(params, states[best].params)
    assert not same_bits(params, state.params)
    assert evaluate(params, None, QUOTIENT, y, ALL[:8]).loss == min(loss for loss in losses if loss is not None)
    assert is_finished(state, settings)
    assert not is_finished(states[-2], settings)


def scored(loss: float) -> Evaluation:
    nothing = np.empty(0)
    return Evaluation(nothing, nothing, nothing, loss, 0.0)


def test_the_best_epoch_is_the_earliest_lowest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = [0.9, 0.7, 0.7, 0.70001, 0.69999, 0.8, 0.69999, 0.71, 0.72, 0.6]
    for patience, best, last in ((2, 2, 4), (3, 5, 8), (4, 5, 9), (5, 10, 10), (99, 10, 10)):
        remaining = iter(losses)
        monkeypatch.setattr(minipinet.train, "score_batches", lambda *args, it=remaining: scored(next(it)))
        settings = replace(SMALL, epochs=10, validation=0.2, patience=patience)
        state = train(settings, validation_index=ALL[:6])
        assert (chosen_params(state)[1], state.epoch) == (best, last)


def test_early_stopping_goes_on_from_a_break() -> None:
    settings = replace(SMALL, epochs=200, lr=0.1, validation=0.1, patience=4)
    states: list[TrainState] = []
    whole = train(settings, ALL[8:], validation_index=ALL[:8], on_epoch=states.append)
    resumed = train(settings, ALL[8:], validation_index=ALL[:8], state=states[len(states) // 2])
    assert same_bits(resumed.params, whole.params)
    assert same_bits(chosen_params(resumed), chosen_params(whole))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_divergence_stops_with_the_epoch_and_no_warning(dtype: str) -> None:
    seen: list[int] = []
    settings = replace(SMALL, lr=1e30 if dtype == "float32" else 1e160, dtype=dtype, epochs=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DivergedError, match=r"epoch 1: .*no longer finite.*lr") as stop:
            train(settings, on_epoch=lambda state: seen.append(state.epoch))
    assert seen == []
    assert "\n" not in str(stop.value)


def test_divergence_in_a_later_epoch_is_named_and_earlier_epochs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0

    def poisoned(dloss: float, cache: Any) -> Any:
        nonlocal steps
        steps += 1
        grads = loss_backward(dloss, cache)
        return grads._replace(W_X1=grads.W_X1 * np.float32("nan")) if steps == 12 else grads

    monkeypatch.setattr(minipinet.pinet_network, "loss_backward", poisoned)
    seen: list[TrainState] = []
    with pytest.raises(DivergedError, match="epoch 3: W_X1"):  # four batches an epoch: the last of the third
        train(SMALL, on_epoch=seen.append)
    assert [state.epoch for state in seen] == [1, 2]
    assert all(np.isfinite(values).all() for _, values in named_leaves(seen[-1].params) if values is not None)


def test_an_infinite_loss_is_divergence_though_all_weights_are_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    def beyond(*args: Any) -> Any:
        minimised, cache = loss_forward(*args)
        infinite = np.full_like(cache.cross_entropy.log_probabilities, -np.inf)
        return minimised, cache._replace(cross_entropy=cache.cross_entropy._replace(log_probabilities=infinite))

    monkeypatch.setattr(minipinet.pinet_network, "loss_forward", beyond)
    with pytest.raises(DivergedError, match="epoch 1: the loss is no longer finite"):
        train(SMALL)


def test_an_infinite_validation_loss_is_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minipinet.train, "score_batches", lambda *args: scored(float("inf")))
    with pytest.raises(DivergedError, match="epoch 1: the validation loss is no longer finite"):
        train(SMALL, validation_index=ALL[:6])


def test_patience_without_graphs_to_validate_on_is_refused() -> None:
    with pytest.raises(UsageError, match="validation_index"):
        train(replace(SMALL, validation=0.1, patience=2))
