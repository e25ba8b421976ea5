"""Every readable pair and one epoch of the readable network on a strict stand-in for a card."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from minipinet._array import csr, to_card, xp_of
from minipinet._tree import named_leaves
from minipinet.baselines.gcn_layers import kipf_quotient
from minipinet.baselines.gcn_network import gcn_loss_backward, gcn_loss_forward, init_gcn
from minipinet.batch import make_batch
from minipinet.datasets import load_dataset
from minipinet.evaluation import evaluate
from minipinet.model import loss_backward, loss_forward
from minipinet.optim import adam_init, adam_step
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.verify.pairs import Pair, example_union
from tests import tolerances
from tests.device_counts import count_operations, count_uploads, count_waits
from tests.device_pairs import EPOCH, SCORES, UPLOADS, WAITS, epoch, moved, readable_pairs, run_here, run_on_card
from tests.device_stand_in import Device, brought_back, host_leaves, use_stand_in
from tests.small_data import same_bits
from tests.small_pairs import generator
from tests.tolerances import tree_error


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


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
    "numbers of a list": lambda x, xp: x[[0, 1]],
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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", range(len(readable_pairs())), ids=[pair.name for pair in readable_pairs()])
def test_case_105_every_readable_pair_stays_on_the_card_and_is_the_same(
    k: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = readable_pairs(dtype)[k]
    there, waits, uploads = moved(pair), count_waits(monkeypatch), count_uploads(monkeypatch)
    (out, grads), (expected, expected_grads) = run_on_card(there), run_here(pair)
    assert (waits, uploads) == (WAITS.get(pair.name, []), UPLOADS.get(pair.name, []))
    assert all(v is None or v.dtype == dtype for _, v in named_leaves((out, grads)))
    allowed = tolerances.FORMS_FLOAT64 if dtype == "float64" else tolerances.FORMS_FLOAT32
    assert tree_error(out, expected) < allowed
    assert tree_error(grads, expected_grads) < allowed


@pytest.mark.parametrize("places", [None, 5])
def test_the_gcn_baselines_stay_on_the_card_and_are_the_same(
    places: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    quotient = kipf_quotient(example_union(generator()), merge=places is None)
    batch, y = make_batch(quotient, range(6), "float64"), np.arange(6) % 2
    params = init_gcn(generator(), d=3, C=2, places=places, hidden=4, out=3, bias=True, dtype="float64")
    forward = partial(gcn_loss_forward, batch=batch, y=y, places=places, l2=0.1)
    pair = Pair("gcn", forward, gcn_loss_backward, {"params": params}, ())
    there, uploads = moved(pair), count_uploads(monkeypatch)
    assert tree_error(run_on_card(there), run_here(pair)) < tolerances.FORMS_FLOAT64
    assert uploads == []


# Training by the readable network, and scoring


def test_the_readable_step_is_some_230_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/gpu.md reckons with."""
    data, params = load_dataset("MUTAG"), to_card(init_params(generator(), 7, 2))
    batch, y = to_card((make_batch(refine(data.graphs), range(50)), data.y[:50]))
    counted = count_operations(monkeypatch)
    loss_backward(1.0, loss_forward(params, batch, y)[1])
    assert 220 < len(counted) < 240


def test_an_epoch_of_the_readable_network_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    start, uploads = init_params(generator(), 7, 2, hidden=6, out=4, dtype="float64"), count_uploads(monkeypatch)
    (params, adam), (there, adam_there) = epoch(start, lambda x: x), epoch(start, to_card)
    assert len(uploads) == EPOCH
    assert adam_there.step == adam.step == 3
    assert tree_error(params, start) > 1e-2
    for found, expected in ((there, params), (adam_there.m, adam.m), (adam_there.v, adam.v)):
        assert tree_error(brought_back(found), expected) < tolerances.FORMS_FLOAT64


@pytest.mark.parametrize(("kind", "pq"), [("learned", None), ("fixed", ((1.0, 0.0),) * 4)])
def test_scores_of_the_readable_network_are_the_same(kind: str, pq: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, uploads = load_dataset("MUTAG")[::9], count_uploads(monkeypatch)
    params = init_params(generator(), 7, 2, hidden=6, out=4, learned_pq=pq is None, dtype="float64")
    scored = [
        evaluate(params, pq, refine(data.graphs), data.y, range(20), batch_size=8, device=device)
        for device in ("cpu", "cuda")
    ]
    assert len(uploads) == SCORES[kind]
    assert uploads.count("(4, 2)") == (0 if pq is None else 3)
    assert host_leaves(scored[1][:3]) == ["[0]", "[1]", "[2]"]
    assert tree_error(scored[1].logits, scored[0].logits) < tolerances.FORMS_FLOAT64


def test_a_step_of_adam_stays_on_the_card() -> None:
    params = init_params(np.random.default_rng(0), 3, 2, hidden=4, out=2)
    moved = to_card(params)
    after, state = adam_step(moved, moved, adam_init(moved))
    expected, expected_state = adam_step(params, params, adam_init(params))
    assert tree_error(brought_back(after), expected) == 0
    assert tree_error(brought_back(state.v), expected_state.v) == 0
