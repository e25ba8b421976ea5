"""Every readable pair and one epoch of the readable network on a strict stand-in for a card."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from minipinet._array import csr, to_card, xp_of
from minipinet._tree import named_leaves, with_leaves
from minipinet.baselines.gcn_layers import kipf_quotient
from minipinet.baselines.gcn_network import gcn_loss_backward, gcn_loss_forward, init_gcn
from minipinet.batch import make_batch, make_batches
from minipinet.datasets import load_dataset
from minipinet.evaluation import evaluate
from minipinet.model import loss_backward, loss_forward
from minipinet.optim import AdamState, adam_init, adam_step
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import refine
from minipinet.verify.card import bound_on_card
from minipinet.verify.pairs import Pair, example_union, layer_pairs, model_pairs
from minipinet.verify.planted import PlantedBug, plant
from tests import tolerances
from tests.device_counts import count_operations, count_waits
from tests.device_stand_in import Device, brought_back, host_leaves, use_stand_in
from tests.small_data import same_bits
from tests.small_pairs import generator
from tests.tolerances import tree_error


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


def readable_pairs(dtype: str = "float64") -> list[Pair]:
    return layer_pairs(generator(), dtype) + model_pairs(generator(), dtype)


def run_on_card(pair: Pair) -> tuple[Any, Any]:
    """Return what a pair gives on the card, of which nothing may be on the host: its out and its gradients."""
    out, cache = bound_on_card(pair.forward)(**to_card(dict(pair.inputs)))
    assert host_leaves(cache) == []
    dout = to_card(with_leaves(out, iter([np.ones(v.shape, v.dtype) for _, v in named_leaves(out)])))
    return brought_back(out), brought_back(pair.backward(dout, cache))


def run_here(pair: Pair) -> tuple[Any, Any]:
    out, cache = pair.forward(**pair.inputs)
    dout = with_leaves(out, iter([np.ones(np.shape(v), v.dtype) for _, v in named_leaves(out)]))
    return out, pair.backward(dout, cache)


# The stand-in


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "a ufunc of NumPy": lambda x, xp: np.exp(x),
    "a function of NumPy": lambda x, xp: np.zeros_like(x),
    "a dtype from NumPy": lambda x, xp: np.result_type(x, x),
    "an implicit copy": lambda x, xp: np.asarray(x),
    "a host array on the right": lambda x, xp: x + np.ones(3),
    "a host array on the left": lambda x, xp: np.ones(3) + x,
    "a host number": lambda x, xp: x * np.float64(2),
    "a host index": lambda x, xp: x[np.arange(2)],
    "a host array in a call": lambda x, xp: xp.maximum(x, np.ones(3)),
    "an implicit number": lambda x, xp: float(x[0]),
    "an implicit number of mathematics": lambda x, xp: np.sqrt(x[0]),
    "counts in repeat": lambda x, xp: xp.repeat(x, xp.arange(3)),
    "maximum.reduceat": lambda x, xp: xp.maximum.reduceat(x, xp.arange(2)),
    "maximum.reduce": lambda x, xp: xp.maximum.reduce(x),
    "maximum.at of complex numbers": lambda x, xp: xp.maximum.at(1j * x, xp.arange(3), x),
    "max with initial": lambda x, xp: x.max(initial=0),
    "a function that is not there": lambda x, xp: xp.lib.stride_tricks,
    "a method that is not there": lambda x, xp: x.byteswap(),
    "csr_array": lambda x, xp: sys.modules["cupyx.scipy.sparse"].csr_array,
    "whole numbers in a matrix": lambda x, xp: csr(xp.arange(1), xp.arange(1), xp.arange(2), (1, 1)),
    "a host array beside a matrix": lambda x, xp: csr(x, xp.arange(3), xp.arange(4), (3, 3)) @ np.ones((3, 1)),
    "columns out of order": lambda x, xp: csr(x[:2], xp.arange(2)[::-1], 2 * xp.arange(2), (1, 2)) @ x[:2, None],
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_stand_in_refuses_what_a_card_refuses(what: str) -> None:
    x: Any = Device(np.ones(3))
    assert xp_of(x) is sys.modules["cupy"]
    with pytest.raises((TypeError, ValueError, AttributeError, NotImplementedError, AssertionError)):
        REFUSED[what](x, xp_of(x))


def test_the_stand_in_computes() -> None:
    x: Any = Device(np.ones(3))
    xp = xp_of(x)
    assert brought_back(2 * x + x[0]).tolist() == [3.0, 3.0, 3.0]
    assert brought_back(csr(x, xp.arange(3), xp.arange(4), (3, 3)) @ x[:, None]).tolist() == [[1.0]] * 3
    assert bool(x.all())
    assert brought_back(x.sum()).shape == ()
    assert same_bits(to_card({"x": x})["x"].host, x.host)


# The pairs

#: What a pair asks a card for, forwards and backwards: a way to take (bool), a size (int), where graphs start (tolist).
WAITS = {
    "pool": ["tolist"] * 2,
    "readout.stepwise": ["tolist"] * 2,
    "readout.partly_fused": ["bool"] * 3 + ["int"] * 6 + ["tolist"] * 2,
    "pinet": ["bool"] + ["tolist"] * 2,
    "pinet.fixed_pq": ["bool"] * 3,
    "loss": ["bool"] * 3,
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", range(len(readable_pairs())), ids=[pair.name for pair in readable_pairs()])
def test_case_105_every_readable_pair_stays_on_the_card_and_is_the_same(
    k: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, waits = readable_pairs(dtype)[k], count_waits(monkeypatch)
    (out, grads), (expected, expected_grads) = run_on_card(pair), run_here(pair)
    assert waits == WAITS.get(pair.name, [])
    assert all(v is None or v.dtype == dtype for _, v in named_leaves((out, grads)))
    allowed = tolerances.FORMS_FLOAT64 if dtype == "float64" else tolerances.FORMS_FLOAT32
    assert tree_error(out, expected) < allowed
    assert tree_error(grads, expected_grads) < allowed


@pytest.mark.parametrize("places", [None, 5])
def test_the_gcn_baselines_stay_on_the_card_and_are_the_same(places: int | None) -> None:
    quotient = kipf_quotient(example_union(generator()), merge=places is None)
    batch, y = make_batch(quotient, range(6), "float64"), np.arange(6) % 2
    params = init_gcn(generator(), d=3, C=2, places=places, hidden=4, out=3, bias=True, dtype="float64")
    forward = partial(gcn_loss_forward, batch=batch, y=y, places=places, l2=0.1)
    pair = Pair("gcn", forward, gcn_loss_backward, {"params": params}, ())
    assert tree_error(run_on_card(pair), run_here(pair)) < tolerances.FORMS_FLOAT64


# Planted faults: implicit copies, and what CuPy has not.


def planted(module: str, function: str, line: str, bug: str) -> PlantedBug:
    return PlantedBug(bug, "device", f"minipinet.{module}", function, line, bug, "a habit from NumPy")


PLANTED = [
    planted(
        "attention", "column_softmax_forward", "L = H[pool.state]", "import numpy\nL = numpy.asarray(H)[pool.state]"
    ),
    planted("propagation", "scaling_forward", "xp = xp_of(deg)", "import numpy as xp"),
    planted(
        "propagation", "relu_forward", "return xp_of(H).maximum(H, 0), H > 0",
        "import numpy\nreturn numpy.maximum(H, 0), H > 0",
    ),
    planted(
        "propagation", "propagate_backward", "dq = xp.vdot(dV, U[step.own])", "dq = float(xp.vdot(dV, U[step.own]))"
    ),
    planted(
        "readout", "softmax_cross_entropy_forward", "loss = -log_probabilities[xp_of(Z).arange(len(y)), y].mean()",
        "import numpy\nloss = -log_probabilities[numpy.arange(len(y)), y].mean()",
    ),
    planted(
        "attention", "pool_forward", "P = xp.empty((len(pool.ptr) - 1, Z_A.shape[1], Z_X.shape[1]), Y.dtype)",
        "import numpy\nP = numpy.empty((len(pool.ptr) - 1, Z_A.shape[1], Z_X.shape[1]), Y.dtype)",
    ),
    planted(
        "model", "pinet_forward", "p, q = xp_of(params.W_D).asarray(pq_values(params, pq)).T",
        "p, q = pq_values(params, pq).T",
    ),
    planted(
        "pool", "max_by_graph", "return segment_maxima(x, pool.ptr, pool.graph)",
        "return xp_of(x).maximum.reduceat(x, pool.ptr[:-1], axis=0)",
    ),
    planted(
        "pool", "make_pool", "return Pool(ptr, repeat(xp.arange(B), xp.diff(ptr)), state, count, counts)",
        "return Pool(ptr, xp.repeat(xp.arange(B), xp.diff(ptr)), state, count, counts)",
    ),
    planted(
        "attention_readout", "attention_readout_forward", "elif (abs(H) <= FUSED_RANGE).all():",
        "elif abs(H).max(initial=0) <= FUSED_RANGE:",
    ),
]  # fmt: skip


@pytest.mark.parametrize("bug", [None, *PLANTED], ids=lambda bug: bug.function if bug else "none")
def test_planted_copies_to_the_host_are_caught(bug: PlantedBug | None) -> None:
    module = plant(bug)["minipinet.verify.pairs"]
    caught = []
    for pair in module.layer_pairs(generator()) + module.model_pairs(generator()):
        run_here(pair)  # on the host nothing is wrong
        try:
            run_on_card(pair)
        except (TypeError, ValueError, AttributeError, NotImplementedError, AssertionError):
            caught.append(pair.name)
    assert bool(caught) == (bug is not None)


ASKED = [
    planted("attention", "column_softmax_forward", "L = H[pool.state]", "L = H[pool.state]\nassert (L == L).all()"),
    planted(
        "propagation",
        "propagate_backward",
        "dq = xp.vdot(dV, U[step.own])",
        "dq = xp.vdot(dV, U[step.own])\nint(dq)",
    ),
    planted("readout", "dense_backward", "dW = M.T @ dZ", "dW = M.T @ dZ\ndb is not None and db.tolist()"),
    planted(
        "propagation",
        "relu_forward",
        "return xp_of(H).maximum(H, 0), H > 0",
        "return xp_of(H).maximum(H, 0), xp_of(H).asarray(xp_of(H).asnumpy(H > 0))",
    ),
]


@pytest.mark.parametrize("bug", [None, *ASKED], ids=lambda bug: bug.function if bug else "none")
def test_planted_waits_for_the_card_are_caught(bug: PlantedBug | None, monkeypatch: pytest.MonkeyPatch) -> None:
    module, waits, caught = plant(bug)["minipinet.verify.pairs"], count_waits(monkeypatch), []
    for pair in module.layer_pairs(generator()):
        waits.clear()
        run_on_card(pair)
        caught += [pair.name] * (waits != WAITS.get(pair.name, []))
    assert bool(caught) == (bug is not None)


# Training by the readable network, and scoring


def epoch(params: PiNetParams, move: Callable[[Any], Any]) -> tuple[PiNetParams, AdamState]:
    """Take Adam's step for each batch of an epoch, where `move` leads."""
    data, params = load_dataset("MUTAG")[::9], move(params)
    adam = adam_init(params)
    for batch, y in zip(
        make_batches(refine(data.graphs), range(len(data)), 8, "float64"), np.split(data.y, [8, 16]), strict=True
    ):
        _, cache = loss_forward(params, move(batch), move(y), l2=0.01)
        params, adam = adam_step(params, loss_backward(1.0, cache), adam, lr=0.01)
    return params, adam


def test_the_readable_step_is_some_230_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/gpu.md reckons with."""
    data, params = load_dataset("MUTAG"), to_card(init_params(generator(), 7, 2))
    batch, y = to_card((make_batch(refine(data.graphs), range(50)), data.y[:50]))
    counted = count_operations(monkeypatch)
    loss_backward(1.0, loss_forward(params, batch, y)[1])
    assert 220 < len(counted) < 240


def test_an_epoch_of_the_readable_network_and_its_scores() -> None:
    data, start = load_dataset("MUTAG")[::9], init_params(generator(), 7, 2, hidden=6, out=4, dtype="float64")
    (params, adam), (there, adam_there) = epoch(start, lambda x: x), epoch(start, to_card)
    assert adam_there.step == adam.step == 3
    assert tree_error(params, start) > 1e-2
    for found, expected in ((there, params), (adam_there.m, adam.m), (adam_there.v, adam.v)):
        assert tree_error(brought_back(found), expected) < tolerances.FORMS_FLOAT64
    scored = [evaluate(params, None, refine(data.graphs), data.y, range(20), device=d) for d in ("cpu", "cuda")]
    assert host_leaves(scored[1][:3]) == ["[0]", "[1]", "[2]"]
    assert tree_error(scored[1].logits, scored[0].logits) < tolerances.FORMS_FLOAT64


def test_a_step_of_adam_stays_on_the_card() -> None:
    params = init_params(np.random.default_rng(0), 3, 2, hidden=4, out=2)
    moved = to_card(params)
    after, state = adam_step(moved, moved, adam_init(moved))
    expected, expected_state = adam_step(params, params, adam_init(params))
    assert tree_error(brought_back(after), expected) == 0
    assert tree_error(brought_back(state.v), expected_state.v) == 0
