"""Faults planted into the readable network, seen on a strict stand-in for a card: copies, waits, what CuPy has not."""

from __future__ import annotations

import pytest

from minipinet._array import to_card
from minipinet.params import init_params
from minipinet.verify.planted import PlantedBug
from tests.device_counts import count_uploads, count_waits
from tests.device_pairs import EPOCH, UPLOADS, WAITS, epoch, moved, run_here, run_on_card
from tests.device_stand_in import use_stand_in
from tests.planted import copy_with, planted
from tests.small_pairs import generator


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


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
    module = copy_with(bug)["minipinet.verify.pairs"]
    caught = []
    for pair in module.layer_pairs(generator()) + module.model_pairs(generator()):
        run_here(pair)  # on the host nothing is wrong
        try:
            run_on_card(moved(pair))
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
    module, waits, caught = copy_with(bug)["minipinet.verify.pairs"], count_waits(monkeypatch), []
    for pair in module.layer_pairs(generator()):
        waits.clear()
        run_on_card(moved(pair))
        caught += [pair.name] * (waits != WAITS.get(pair.name, []))
    assert bool(caught) == (bug is not None)


MOVED = [
    planted(
        "readout", "dense_forward", "Z = matmul_rows(M, W)",
        "import numpy\nZ = matmul_rows(M, W) + xp_of(M).asarray(numpy.zeros(W.shape[1], W.dtype))",
    ),
    planted(
        "attention", "column_softmax_backward", "dL = Z_A * dZ_A",
        "import numpy\ndL = xp_of(Z_A).asarray(numpy.ones(1, Z_A.dtype)) * Z_A * dZ_A",
    ),
    planted(
        "optim", "adam_step", "m = beta1 * m + (1 - beta1) * g",
        "import numpy\nm = beta1 * m + xp_of(g).asarray(numpy.full(g.size, 1 - beta1)) * g",
    ),
]  # fmt: skip


@pytest.mark.parametrize("bug", [None, *MOVED], ids=lambda bug: bug.function if bug else "none")
def test_planted_uploads_are_caught(bug: PlantedBug | None, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, uploads, caught = copy_with(bug), count_uploads(monkeypatch), []
    module = copy["minipinet.verify.pairs"]
    for pair in module.layer_pairs(generator()) + module.model_pairs(generator()):
        there = moved(pair)
        uploads.clear()
        run_on_card(there)
        caught += [pair.name] * (uploads != UPLOADS.get(pair.name, []))
    uploads.clear()
    epoch(init_params(generator(), 7, 2, dtype="float64"), to_card, copy["minipinet.optim"].adam_step)
    caught += ["an epoch"] * (len(uploads) != EPOCH)
    assert bool(caught) == (bug is not None)
