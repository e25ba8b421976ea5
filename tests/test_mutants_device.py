"""The mathematics asks for every array function at the library of the arrays it is given, never at NumPy by habit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet._array import Array, repeat, to_card, to_host
from minipinet.attention_readout import (
    FUSED_RANGE,
    attention_readout_backward,
    attention_readout_forward,
    stepwise_backward,
    stepwise_forward,
)
from minipinet.batch import GraphBatch, make_batch
from minipinet.graphs import as_graph
from minipinet.model import loss_backward, loss_forward
from minipinet.params import PiNetParams
from minipinet.pool import make_pool, max_by_graph, take_pool
from minipinet.quotient import refine
from minipinet.union import disjoint_union
from minipinet.verify.pairs import example_batch, example_params, example_union
from tests import strategies, tolerances
from tests.device_stand_in import Device, brought_back, use_stand_in
from tests.tolerances import tree_error


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


def batch_and_params(C: int) -> tuple[GraphBatch, PiNetParams]:
    rng = np.random.default_rng(0)
    return example_batch(example_union(rng)), example_params(rng, C, bias=True, learned_pq=True)


@pytest.mark.parametrize("C", [2, 3])
def test_loss_and_gradient_stay_on_the_device_and_are_the_same(C: int) -> None:
    batch, params = batch_and_params(C)
    y = np.arange(batch.B) % C
    expected_loss, expected_cache = loss_forward(params, batch, y, l2=0.1)
    loss, cache = loss_forward(to_card(params), to_card(batch), to_card(y), l2=0.1)
    assert isinstance(loss, Device)
    assert abs(loss.host - expected_loss) < tolerances.CLOSED_FORM
    expected = loss_backward(1.0, expected_cache)
    assert tree_error(brought_back(loss_backward(1.0, cache)), expected) < tolerances.FORMS_FLOAT64


def test_both_ways_through_the_readout_stay_on_the_device() -> None:
    graphs = [as_graph(strategies.path(n), np.arange(n)[:, None]) for n in (3, 4, 0, 2)]
    pool = make_batch(refine(disjoint_union(graphs), merge=False), [0, 1, 2, 3], "float64").pool
    rng = np.random.default_rng(0)
    H, Z_X, W_D, b_D = (rng.standard_normal(shape) for shape in ((9, 3), (9, 2), (6, 2), (2,)))
    H[pool.state[pool.graph == 1]] += FUSED_RANGE + 5
    pairs: list[tuple[Any, Any]] = [
        (attention_readout_forward, attention_readout_backward),
        (stepwise_forward, stepwise_backward),
    ]
    for forward, backward in pairs:
        expected, expected_cache = forward(H, Z_X, W_D, b_D, pool)
        logits, cache = forward(*map(to_card, (H, Z_X, W_D, b_D)), to_card(pool))
        assert tree_error(brought_back(logits), expected) < tolerances.FORMS_FLOAT64
        grads = brought_back(backward(to_card(np.ones((4, 2))), cache))
        assert tree_error(grads, backward(np.ones((4, 2)), expected_cache)) < tolerances.FORMS_FLOAT64


def test_pools_stay_on_the_device() -> None:
    batch, _ = batch_and_params(2)
    order: Array = np.array([2, 0])
    taken, expected = take_pool(to_card(batch.pool), to_card(order)), take_pool(batch.pool, order)
    assert (brought_back(taken).counts != expected.counts).nnz == 0
    assert all((a == b).all() for a, b in zip(brought_back(taken)[:4], expected[:4], strict=True))


def test_what_cupy_has_not_is_the_same_there() -> None:
    counts = np.array([2, 0, 1, 3, 0])
    for some in (counts, counts[:0]):
        assert (
            brought_back(repeat(*to_card((np.arange(len(some)), some)))).tolist()
            == np.repeat(np.arange(len(some)), some).tolist()
        )
    pool = make_pool(np.append(0, counts.cumsum()), np.arange(6), np.ones((6, 1)), 6)
    x = -np.arange(12.0).reshape(6, 2)
    greatest = brought_back(max_by_graph(to_card(x), to_card(pool)))
    assert greatest.tolist() == max_by_graph(x, pool).tolist() == [[0, -1], [0, 0], [-4, -5], [-6, -7], [0, 0]]


def test_numbers_come_back_as_numbers() -> None:
    found = to_host({"number": to_card(np.float32(2)), "array": to_card(np.ones(1)), "other": None})
    assert [type(leaf) for leaf in found.values()] == [np.ndarray, np.float32, type(None)]
