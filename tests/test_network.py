"""The training loop on a network that is not PiNet: softmax regression on one row of numbers a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.errors import DataError, DivergedError, UsageError
from minipinet.evaluation import score_network
from minipinet.network import Network, Params
from minipinet.pinet_network import pinet_network
from minipinet.readout import (
    CrossEntropyCache,
    DenseCache,
    dense_backward,
    dense_forward,
    softmax_cross_entropy_backward,
    softmax_cross_entropy_forward,
)
from minipinet.settings import Settings
from minipinet.train import TrainState, chosen_params, fit, fit_network
from tests.small_data import same_bits, without_seconds
from tests.small_training import ALL, DATA, QUOTIENT, SMALL

G = 40
RNG = np.random.default_rng(0)
Y = np.arange(G) % 2
M = RNG.standard_normal((G, 3)) + 2.0 * Y[:, None]
INDEX = np.arange(30)
SETTINGS = Settings(epochs=20, batch_size=8, lr=0.05, dtype="float64")


class LinearParams(NamedTuple):
    W_D: Array
    b_D: Array | None


class LinearCache(NamedTuple):
    dense: DenseCache
    cross_entropy: CrossEntropyCache


def loss_forward(params: LinearParams, batch: Array, y: Array) -> tuple[Array, LinearCache]:
    logits, dense = dense_forward(batch, *params)
    loss, cross_entropy = softmax_cross_entropy_forward(logits, y)
    return loss, LinearCache(dense, cross_entropy)


def loss_backward(dloss: float, cache: LinearCache) -> LinearParams:
    _, dW_D, db_D = dense_backward(softmax_cross_entropy_backward(dloss, cache.cross_entropy), cache.dense)
    return LinearParams(dW_D, db_D)


def linear(*, noise: float = 0.0, bias: bool = True, seen: list[Any] | None = None) -> Network:
    """Return softmax regression; in training each batch gets some noise, drawn from the generator of the epoch."""

    def batches(index: Array, batch_size: int, rng: np.random.Generator | None) -> Iterator[Array]:
        for at in range(0, len(index), batch_size):
            rows = index[at : at + batch_size]
            if seen is not None:
                seen.append((rng and rng.bit_generator.state["state"]["state"], rows.tolist()))
            yield M[rows] if rng is None else M[rows] + noise * rng.standard_normal((len(rows), 3))

    def init(rng: np.random.Generator) -> Params:
        return LinearParams(rng.standard_normal((3, 2)) / 10, np.zeros(2) if bias else None)

    return Network(
        G, 2, init, batches, loss_forward, loss_backward, lambda params, batch: dense_forward(batch, *params)[0]
    )


def test_it_learns_and_its_records_have_no_p_and_q() -> None:
    state = fit_network(linear(), Y, INDEX, SETTINGS)
    assert type(state.params) is type(state.adam.m) is LinearParams
    assert [record.epoch for record in state.history] == list(range(1, 21))
    assert state.history[-1].loss < 0.5 * state.history[0].loss
    assert {(record.p, record.q) for record in state.history} == {((), ())}
    predictions = score_network(linear(), state.params, np.arange(30, G)).argmax(axis=1)
    assert np.mean(predictions == Y[30:]) > 0.8


def test_a_parameter_may_be_absent() -> None:
    state = fit_network(linear(bias=False), Y, INDEX, SETTINGS)
    assert state.params.b_D is state.adam.v.b_D is None
    assert state.history[-1].loss < state.history[0].loss


def test_what_is_drawn_for_a_batch_comes_from_the_state_and_is_not_drawn_to_score() -> None:
    seen: list[Any] = []
    network, states = linear(noise=1.0, seen=seen), list[TrainState]()
    held = np.arange(30, G)
    whole = fit_network(network, Y, INDEX, SETTINGS, validation_index=held, on_epoch=states.append)
    scored = [rows for state, rows in seen if state is None]
    assert scored == [held.tolist()]
    assert sorted(g for state, rows in seen[:5] if state is not None for g in rows) == INDEX.tolist()
    assert len({state for state, _ in seen}) == len(seen) == 1 + 20 * 4  # never the same draw twice
    for state in states[::7]:
        resumed = fit_network(network, Y, INDEX, SETTINGS, validation_index=held, state=state)
        assert same_bits(resumed.params, whole.params)
        assert without_seconds(resumed.history) == without_seconds(whole.history)
    quiet = fit_network(linear(), Y, INDEX, SETTINGS, validation_index=held)
    assert not same_bits(quiet.params, whole.params)


def test_patience_keeps_the_best_epoch_of_any_network() -> None:
    settings = replace(SETTINGS, epochs=500, lr=1.0, validation=0.25, patience=3)
    wrong = np.where(np.arange(G) == G - 1, 1 - Y, Y)
    state = fit_network(linear(), wrong, INDEX, settings, validation_index=np.arange(30, G))
    losses = [record.validation_loss for record in state.history]
    params, epoch = chosen_params(state)
    assert epoch == int(np.argmin(np.array(losses, float))) + 1 == state.epoch - 3
    assert isinstance(params, LinearParams)


def test_pinet_is_one_network_among_others() -> None:
    through = fit_network(pinet_network(QUOTIENT, SMALL, 2), DATA.y, ALL, SMALL)
    direct = fit(QUOTIENT, DATA.y, ALL, SMALL, C=2)
    assert same_bits((through.params, through.adam), (direct.params, direct.adam))
    assert without_seconds(through.history) == without_seconds(direct.history)


def test_wrong_graphs_and_classes_are_refused() -> None:
    network, params = linear(), LinearParams(np.zeros((3, 2)), None)
    with pytest.raises(UsageError, match="index: expected numbers from 0 to 39"):
        fit_network(network, Y, np.array([40]), SETTINGS)
    with pytest.raises(UsageError, match="y: expected 40 whole numbers"):
        fit_network(network, Y[:-1], INDEX, SETTINGS)
    with pytest.raises(UsageError, match="y: expected classes 0 to 1, got 0 to 2"):
        fit_network(network, 2 * Y, INDEX, SETTINGS)
    with pytest.raises(UsageError, match="y: expected graphs of at least 2 classes"):
        fit_network(network, Y, INDEX[::2], SETTINGS)
    with pytest.raises(UsageError, match="validation_index: expected"):
        fit_network(network, Y, INDEX, SETTINGS, validation_index=np.array([-1]))
    with pytest.raises(UsageError, match="index: expected"):
        score_network(network, params, np.array([], int))
    with pytest.raises(UsageError, match="batch_size: expected"):
        score_network(network, params, INDEX, batch_size=0)


def test_what_is_not_finite_is_named() -> None:
    with pytest.raises(DivergedError, match=r"epoch 1: .*no longer finite"):
        fit_network(linear(), Y, INDEX, replace(SETTINGS, lr=1e308))
    with pytest.raises(DataError, match="graph 7: its scores are not finite"):
        score_network(linear(), LinearParams(np.full((3, 2), np.inf), None), np.array([7, 3]))
