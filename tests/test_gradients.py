"""Every backward pass against its own forward: differences, complex steps and Taylor remainders."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from minipinet._array import Array
from minipinet.attention import column_softmax_backward, column_softmax_forward
from minipinet.batch import GraphBatch
from minipinet.graphs import as_graph
from minipinet.model import PiNetCache, pinet_backward, pinet_forward
from minipinet.params import PiNetParams, pq_values
from minipinet.propagation import (
    Step,
    message_passing_backward,
    message_passing_forward,
    propagate_backward,
    propagate_forward,
    relu_backward,
    relu_forward,
)
from minipinet.readout import softmax_cross_entropy_backward, softmax_cross_entropy_forward
from minipinet.union import DisjointUnion, disjoint_union
from minipinet.verify import Report, check_pair
from minipinet.verify.fast_pairs import fast_pairs
from minipinet.verify.pairs import Pair, example_batch, example_params, example_union, layer_pairs, model_pairs
from tests import strategies, tolerances
from tests.seeds import shifted
from tests.thinned import examples, thinned

pytestmark = pytest.mark.gradient

ALLOWED = {
    "central": tolerances.GRADIENT_CENTRAL,
    "complex": tolerances.GRADIENT_COMPLEX,
    "taylor": tolerances.TAYLOR_RATE,
}
INSIDE = [(0.3, 0.7), (0.999, 0.001)]
CORNERS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]


def rng_of(seed: int) -> np.random.Generator:
    """Return a generator for this number in this run."""
    return np.random.default_rng(shifted(seed))


def check(pair: Pair, method: str, seed: int = 0) -> Report:
    report = check_pair(
        pair.forward,
        pair.backward,
        pair.inputs,
        rng=rng_of(seed),
        method=method,
        name=pair.name,
        tolerance=ALLOWED[method],
    )
    report.raise_if_failed()
    return report


def project_pairs(seed: int) -> list[Pair]:
    return layer_pairs(rng_of(seed)) + model_pairs(rng_of(seed)) + fast_pairs(rng_of(seed))


@pytest.mark.parametrize("seed", thinned(range(10, 14)))
@pytest.mark.parametrize("k", range(len(project_pairs(0))), ids=[pair.name for pair in project_pairs(0)])
def test_every_pair_of_the_project_by_every_method_that_suits_it(k: int, seed: int) -> None:
    pair = project_pairs(seed)[k]
    for method in pair.methods:
        check(pair, method, seed)


def on_step(step: Step, F: tuple[int, int] | None, p: float, q: float, bias: bool = True) -> Pair:
    """Return propagation (F None) or message passing of widths F on a step, at one (p, q)."""
    rng = rng_of(1)
    n_in, pq = step.A.shape[1], {"p": np.float64(p), "q": np.float64(q)}
    if F is None:
        M = rng.standard_normal((n_in, 2))
        return Pair("propagate", partial(propagate_forward, step=step), propagate_backward, {"M": M, **pq}, ())
    b = rng.standard_normal(F[1]) if bias else None
    inputs: dict[str, Any] = {"M": rng.standard_normal((n_in, F[0])), "W": rng.standard_normal(F), "b": b, **pq}
    return Pair("message_passing", partial(message_passing_forward, step=step), message_passing_backward, inputs, ())


def fix(pair: Pair, *names: str) -> Pair:
    """Return `pair` with some inputs bound, so that they are not differentiated."""
    bound = {name: pair.inputs[name] for name in names}
    rest = {name: x for name, x in pair.inputs.items() if name not in names}
    return pair._replace(forward=partial(pair.forward, **bound), inputs=rest)


@pytest.mark.parametrize("method", ["central", "complex"])
@pytest.mark.parametrize("F", [None, (2, 3), (3, 2)])
@pytest.mark.parametrize("pq", INSIDE)
@settings(max_examples=examples(5))
@given(union=strategies.unions())
def test_message_passing_inside_the_square(
    union: DisjointUnion, pq: tuple[float, float], F: tuple[int, int] | None, method: str
) -> None:
    for merge in (True, False):
        for step in example_batch(union, merge=merge).steps:
            check(on_step(step, F, *pq), method)


NO_LONE_NODES = ("loops", "weights", "ties", "large")


@pytest.mark.parametrize("F", [None, (2, 3), (3, 2)])
@pytest.mark.parametrize("pq", CORNERS)
@settings(max_examples=examples(5))
@given(union=strategies.unions(), joined=strategies.unions(NO_LONE_NODES))
def test_message_passing_at_the_corners(
    union: DisjointUnion, joined: DisjointUnion, pq: tuple[float, float], F: tuple[int, int] | None
) -> None:
    # With lone nodes A~ jumps at p = 0, so p itself is differentiated there only without them, or at p = 1.
    for step in example_batch(union).steps:
        check(fix(on_step(step, F, *pq), "p") if pq[0] == 0 else on_step(step, F, *pq), "central")
        check(fix(on_step(step, F, *pq), "p", "q"), "complex")
    joined = disjoint_union([as_graph(joined.A[joined.A.sum(axis=1) > 0][:, joined.A.sum(axis=1) > 0], weighted=True)])
    for step in example_batch(joined).steps:
        check(on_step(step, F, *pq), "central")
        check(on_step(step, F, *pq), "complex")


def test_without_bias_its_gradient_is_none() -> None:
    step = example_batch(example_union(rng_of(0))).steps[0]
    for F in ((2, 3), (3, 2)):
        pair = on_step(step, F, 0.3, 0.7, bias=False)
        check(pair, "complex")
        out, cache = pair.forward(**pair.inputs)
        assert pair.backward(out, cache).db is None


def test_at_p_0_a_lone_node_adds_nothing_to_dp() -> None:
    two = as_graph([[0, 1], [1, 0]])
    lone = as_graph([[0]])
    gradients = []
    for graphs in ([two], [two, lone], [lone, lone]):
        pair = on_step(example_batch(disjoint_union(graphs), merge=False).steps[0], None, 0.0, 1.0)
        out, cache = pair.forward(**pair.inputs)
        n = out.shape[0]
        gradients.append(pair.backward(np.ones((n, 2)), cache))
    alone, joined, only = gradients
    assert all(np.isfinite(g).all() for grads in gradients for g in grads)
    assert not only.dM.any()
    assert only.dp == 0
    assert only.dq == 0
    assert not joined.dM[2].any()
    assert joined.dM.shape == (3, 2)
    assert alone.dM.shape == (2, 2)


# The whole network.


def network(params: PiNetParams, batch: GraphBatch, pq: Array | None = None) -> Pair:
    def forward(params: PiNetParams, X: Array) -> tuple[Array, PiNetCache]:
        return pinet_forward(params, batch._replace(X=X), pq)

    return Pair("pinet", forward, pinet_backward, {"params": params, "X": batch.X}, ())


def at_pq(params: PiNetParams, p: float, q: float) -> PiNetParams:
    """Return `params` with p and q of every layer where they are asked to be."""
    raw = [np.full(4, np.log(x / (1 - x)) / 4) for x in (p, q)]  # p = sigmoid(4 p_raw)
    return params._replace(p_raw=raw[0], q_raw=raw[1])


def off_kinks(params: PiNetParams, batch: GraphBatch) -> PiNetParams:
    """Return `params` with biases that put the 0 of each ReLU into the widest gap between its inputs.

    A Taylor step may be no longer than the way to the nearest kink. Among hundreds of pre-activations one is often so
    near 0 that R(h) is mere rounding at every step short enough, and the rate of rounding means nothing.
    """
    (p, q), (first, second) = pq_values(params).T, batch.steps

    def bias(M: Array, W: Array, k: int, step: Step) -> Array:
        H = np.sort(message_passing_forward(M, W, None, p[k], q[k], step)[0], axis=0)
        below = np.diff(H, axis=0).argmax(axis=0), np.arange(H.shape[1])
        return -(H[below] + H[1:][below]) / 2

    b_A0, b_X0 = (bias(batch.X, W, k, first) for W, k in ((params.W_A0, 0), (params.W_X0, 2)))
    R_X0, _ = relu_forward(message_passing_forward(batch.X, params.W_X0, b_X0, p[2], q[2], first)[0])
    return params._replace(b_A0=b_A0, b_X0=b_X0, b_X1=bias(R_X0, params.W_X1, 3, second))


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", thinned(range(4)))
def test_whole_network_by_taylor_remainder(seed: int, directed: bool, merge: bool, C: int) -> None:
    rng = rng_of(seed)
    batch = example_batch(example_union(rng, directed=directed), merge=merge)
    params = off_kinks(example_params(rng, C, bias=True, learned_pq=True), batch)
    report = check(network(params, batch), "taylor", seed)
    assert report.rate > tolerances.TAYLOR_RATE


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("pq", INSIDE)
def test_case_069_p_and_q_of_every_layer_have_their_full_gradient(pq: tuple[float, float], C: int) -> None:
    rng = rng_of(5)
    union = example_union(rng)
    assert (union.A.sum(axis=1) == 0).any()  # lone nodes
    batch = example_batch(union)
    params = at_pq(example_params(rng, C, bias=True, learned_pq=True), *pq)
    assert np.allclose(pq_values(params), np.tile(pq, (4, 1)), rtol=0, atol=tolerances.CLOSED_FORM)
    report = check(network(params, batch), "central")
    raw = [e for e in report.entries if e.name in ("params.p_raw", "params.q_raw")]
    assert len(raw) == 8
    assert all(abs(e.analytic) > 1e-6 for e in raw)
    check(network(params, batch), "taylor")


FORMS = ((True, 3), (True, 2), (False, 2), (False, 3))


@pytest.mark.parametrize(("pq", "bias", "C"), thinned((pq, *form) for pq in (*INSIDE, *CORNERS) for form in FORMS))
def test_whole_network_at_fixed_p_and_q(pq: tuple[float, float], bias: bool, C: int) -> None:
    rng = rng_of(6)
    pair = network(
        example_params(rng, C, bias=bias, learned_pq=False), example_batch(example_union(rng)), np.tile(pq, (4, 1))
    )
    for method in ALLOWED:
        check(pair, method)


@pytest.mark.parametrize("graphs", [1, 2, 3])
def test_batches_of_empty_and_lone_graphs(graphs: int) -> None:
    rng = rng_of(7)
    sizes = {1: [0], 2: [1, 0], 3: [0, 1, 1]}[graphs]
    union = disjoint_union([as_graph(np.zeros((N, N)), rng.standard_normal((N, 3))) for N in sizes])
    for C in (2, 3):
        check(network(example_params(rng, C, bias=True, learned_pq=True), example_batch(union)), "central")


# Softmax and cross-entropy, written out.


def test_case_066_softmax_backward_is_the_full_jacobian() -> None:
    pool = example_batch(disjoint_union([as_graph(strategies.path(3), np.arange(3.0))]), merge=False).pool
    H = np.array([[0.3], [-1.2], [0.9]])
    Z_A, cache = column_softmax_forward(H, pool)
    dH = column_softmax_backward(np.array([[1.0], [0.0], [0.0]]), cache)
    expected = (np.diag(Z_A[:, 0]) - np.outer(Z_A[:, 0], Z_A[:, 0]))[0]
    assert tolerances.relative_error(dH[:, 0], expected) < tolerances.CLOSED_FORM
    assert abs(dH.sum()) < tolerances.CLOSED_FORM
    assert np.count_nonzero(dH) == 3
    check(Pair("", partial(column_softmax_forward, pool=pool), column_softmax_backward, {"H": H}, ()), "central")


def test_case_066_cross_entropy_backward_rows_sum_to_zero_and_are_not_doubled() -> None:
    Z, y = np.array([[0.2, -0.4, 1.1], [3.0, 0.0, -2.0]]), np.array([2, 1])
    _, cache = softmax_cross_entropy_forward(Z, y)
    dZ = softmax_cross_entropy_backward(np.float64(1), cache)
    softmax = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    expected = (softmax - np.eye(3)[y]) / 2  # the mean over two graphs
    assert tolerances.relative_error(dZ, expected) < tolerances.CLOSED_FORM
    assert np.abs(dZ.sum(axis=1)).max() < tolerances.CLOSED_FORM
    forward = partial(softmax_cross_entropy_forward, y=y)
    for method in ("central", "complex"):
        check(Pair("", forward, softmax_cross_entropy_backward, {"Z": Z}, ()), method)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_relu_takes_0_for_its_derivative_at_0(dtype: str) -> None:
    H = np.array([[0.0, -0.0, 1e-30, -1e-30, 2.0, -2.0]], dtype)
    Z, mask = relu_forward(H)
    assert Z.tolist() == [[0.0, 0.0, H[0, 2], 0.0, 2.0, 0.0]]
    assert relu_backward(np.ones_like(H), mask).tolist() == [[0.0, 0.0, 1.0, 0.0, 1.0, 0.0]]
