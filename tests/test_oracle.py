"""The fast path against the oracle, a dense transcription of the paper's equations that shares no code with it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minipinet import reference
from minipinet._array import Array
from minipinet._tree import named_leaves, with_leaves
from minipinet.batch import GraphBatch, make_batch
from minipinet.graphs import as_graph
from minipinet.model import loss_backward, loss_forward, pinet_backward, pinet_forward
from minipinet.params import LAYERS, PiNetParams, init_params
from minipinet.propagation import propagate_backward, propagate_forward
from minipinet.quotient import refine
from minipinet.union import DisjointUnion, disjoint_union
from tests import strategies, tolerances
from tests.thinned import examples
from tests.tolerances import relative_error, tree_error

CORNERS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
PQ_PAIRS = [*CORNERS, (0.3, 0.7), (0.999, 0.001)]

#: The oracle is slow: few examples, each of which holds a graph of every kind.
few = settings(max_examples=examples(15))

#: Fixed (p, q) in every layer, one table a corner and one with four different rows; None: learned.
TABLES: list[Array | None] = [None, *(np.tile(pair, (4, 1)) for pair in PQ_PAIRS), np.array(PQ_PAIRS[1:5])]


def dense(union: DisjointUnion) -> list[tuple[Array, Array]]:
    """Return every graph as the oracle takes it."""
    A = union.A.toarray()
    return [(A[i:j, i:j], union.X[i:j]) for i, j in zip(union.ptr[:-1], union.ptr[1:], strict=True)]


def batch_of(union: DisjointUnion, *, merge: bool, dtype: str = "float64") -> GraphBatch:
    return make_batch(refine(union, merge=merge), np.arange(len(union.ptr) - 1), dtype)


def colours(union: DisjointUnion, batch: GraphBatch, *, merge: bool) -> tuple[Array, Array, Array]:
    """Return each node's row in the batch's tables of states before the first layer, after it, and after the second."""
    last = refine(union, merge=merge).colour
    between = batch.steps[1].own[last]
    return batch.steps[0].own[between], between, last


def weights(seed: int, *, d: int = 2, C: int = 3, bias: bool, learned: bool, dtype: str = "float64") -> PiNetParams:
    """Draw weights with biases and p, q away from their start, float32 numbers in either dtype."""
    rng = np.random.default_rng(seed)
    params = init_params(rng, d, C, hidden=4, out=3, bias=bias, learned_pq=learned, dtype="float64")
    drawn = (w if w is None else (rng.standard_normal(w.shape) / 2).astype(np.float32) for w in params)
    return PiNetParams(*(w if w is None else w.astype(dtype) for w in drawn))


def to_float64(params: PiNetParams) -> PiNetParams:
    return PiNetParams(*(w if w is None else w.astype(np.float64) for w in params))


def oracle_logits(union: DisjointUnion, params: PiNetParams, pq: Array | None, C: int) -> Array:
    rows = [reference.logits(A, X, params, pq) for A, X in dense(union)]
    return np.array(rows).reshape(-1, C)


def oracle_gradient(union: DisjointUnion, y: Array, params: PiNetParams, pq: Array | None, l2: float) -> PiNetParams:
    """Differentiate the oracle's loss by the complex step, one weight at a time: no backward pass is involved."""
    h, graphs = 1e-30, dense(union)
    leaves = [leaf for _, leaf in named_leaves(params)]

    def derivative(k: int, at: tuple[int, ...]) -> float:
        moved = leaves[k].astype(complex)
        moved[at] += 1j * h
        tree = with_leaves(params, iter([*leaves[:k], moved, *leaves[k + 1 :]]))
        return float(reference.loss(graphs, y, tree, pq, l2).imag / h)

    grads: list[Array] = []
    for k, leaf in enumerate(leaves):
        grads.append(None if leaf is None else np.zeros(leaf.shape))
        if leaf is not None:
            for at in np.ndindex(leaf.shape):
                grads[k][at] = derivative(k, at)
    return PiNetParams(*grads)


@few
@given(strategies.unions(), st.sampled_from(PQ_PAIRS), st.booleans())
def test_propagation_is_a_tilde(union: DisjointUnion, pq: tuple[float, float], merge: bool) -> None:
    p, q = pq
    batch = batch_of(union, merge=merge)
    H, _ = propagate_forward(batch.X, np.float64(p), np.float64(q), batch.steps[0])
    expected = np.concatenate([reference.A_tilde(A, p, q) @ X for A, X in dense(union)])
    assert relative_error(H[colours(union, batch, merge=merge)[1]], expected) < tolerances.ORACLE_FLOAT64


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("C", [2, 3])
@few
@given(strategies.unions(), st.sampled_from(range(len(TABLES))), st.booleans(), st.integers(0, 9))
def test_logits(merge: bool, C: int, union: DisjointUnion, table: int, bias: bool, seed: int) -> None:
    pq = TABLES[table]
    params = weights(seed, C=C, bias=bias, learned=pq is None)
    expected = oracle_logits(union, params, pq, C)
    logits, _ = pinet_forward(params, batch_of(union, merge=merge), pq)
    assert logits.dtype == np.float64
    assert relative_error(logits, expected) < tolerances.ORACLE_FLOAT64


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("C", [2, 3])
@few
@given(strategies.unions(), st.sampled_from(range(len(TABLES))), st.booleans(), st.integers(0, 9))
def test_logits_in_single_precision(
    merge: bool, C: int, union: DisjointUnion, table: int, bias: bool, seed: int
) -> None:
    pq = TABLES[table]
    params = weights(seed, C=C, bias=bias, learned=pq is None, dtype="float32")
    expected = oracle_logits(union, to_float64(params), pq, C)
    logits, _ = pinet_forward(params, batch_of(union, merge=merge, dtype="float32"), pq)
    assert logits.dtype == np.float32
    assert relative_error(logits, expected) < tolerances.ORACLE_FLOAT32


@pytest.mark.parametrize("l2", [0.0, 0.25])
@few
@given(strategies.unions(), st.sampled_from(range(len(TABLES))), st.integers(0, 9))
def test_loss(l2: float, union: DisjointUnion, table: int, seed: int) -> None:
    pq = TABLES[table]
    params = weights(seed, bias=True, learned=pq is None)
    y = np.arange(len(union.ptr) - 1) % 3
    loss, _ = loss_forward(params, batch_of(union, merge=True), y, pq, l2)
    assert relative_error(loss, reference.loss(dense(union), y, params, pq, l2)) < tolerances.ORACLE_FLOAT64


def small_union(seed: int) -> DisjointUnion:
    """Return few graphs with all that matters: weights, directions, loops, lone nodes, equal nodes, one node, none."""
    rng = np.random.default_rng(seed)
    A = rng.integers(1, 8, (5, 5)) / 4 * (rng.random((5, 5)) < 0.5)
    A[0, 0], A[4], A[:, 4] = 1.0, 0.0, 0.0
    graphs = [as_graph(A, rng.standard_normal((5, 2)), weighted=True, directed=True)]
    graphs += [as_graph(np.zeros((N, N)), np.ones((N, 2))) for N in (0, 1)]
    return disjoint_union([*graphs, as_graph(strategies.cycle(4), np.ones((4, 2))), graphs[0]])


@pytest.mark.gradient
@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("table", range(len(TABLES)))
def test_gradient_of_the_loss_is_that_of_the_oracle(table: int, C: int) -> None:
    pq, union = TABLES[table], small_union(table)
    params = weights(table, C=C, bias=True, learned=pq is None)
    y = np.array([0, 1, C - 1, 0, 1])
    expected = oracle_gradient(union, y, params, pq, 0.25)
    for merge in (True, False):
        _, cache = loss_forward(params, batch_of(union, merge=merge), y, pq, 0.25)
        assert tree_error(loss_backward(1.0, cache), expected) < tolerances.ORACLE_FLOAT64


@pytest.mark.gradient
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@few
@given(strategies.unions(), st.sampled_from(range(len(TABLES))), st.sampled_from([2, 3]), st.integers(0, 9))
def test_both_forms_give_the_same_gradients(dtype: str, union: DisjointUnion, table: int, C: int, seed: int) -> None:
    pq = TABLES[table]
    params = weights(seed, C=C, bias=True, learned=pq is None, dtype=dtype)
    dlogits = np.random.default_rng(seed).standard_normal((len(union.ptr) - 1, C)).astype(dtype)
    grads = []
    for merge in (True, False):
        batch = batch_of(union, merge=merge, dtype=dtype)
        _, cache = pinet_forward(params, batch, pq)
        grads.append(pinet_backward(dlogits, cache).dparams)
    allowed = tolerances.FORMS_FLOAT64 if dtype == "float64" else tolerances.FORMS_FLOAT32
    assert tree_error(grads[0], grads[1], floor=1) < allowed


@few
@given(strategies.unions(), st.integers(0, 9))
def test_gradient_of_features_adds_up_over_the_nodes_of_a_colour(union: DisjointUnion, seed: int) -> None:
    params = weights(seed, bias=True, learned=True)
    dlogits = np.random.default_rng(seed).standard_normal((len(union.ptr) - 1, 3))
    quotient, plain = batch_of(union, merge=True), batch_of(union, merge=False)
    dX, dX_plain = (pinet_backward(dlogits, pinet_forward(params, b)[1]).dX for b in (quotient, plain))
    expected = np.zeros_like(dX)
    np.add.at(expected, colours(union, quotient, merge=True)[0], dX_plain)
    assert relative_error(dX, expected) < tolerances.FORMS_FLOAT64


# The oracle itself, against what can be worked out by hand.

PATH = strategies.path(3)
R = 1 / np.sqrt(2)


@pytest.mark.parametrize(
    ("pq", "expected"),
    [
        ((1, 0), PATH),
        ((1, 1), PATH + np.eye(3)),
        ((0, 0), [[0, R, 0], [R, 0, R], [0, R, 0]]),
        ((0, 1), [[1, R, 0], [R, 0.5, R], [0, R, 1]]),
    ],
)
def test_oracle_has_the_four_matrices_of_the_papers_table(pq: tuple[int, int], expected: Any) -> None:
    assert relative_error(reference.A_tilde(PATH, *pq), np.array(expected)) < tolerances.ENTRY_FLOAT64


def test_oracle_sums_attention_to_one_over_the_nodes_and_scores_to_one_over_the_classes() -> None:
    params = weights(0, bias=True, learned=True)
    for A, X in dense(small_union(0)):
        attention = reference.z_A(A, X, params)
        assert attention.shape == (3, len(A))
        assert np.allclose(attention.sum(axis=1), 1.0 if len(A) else 0.0, rtol=0, atol=tolerances.CLOSED_FORM)
        assert abs(reference.z(A, X, params).sum() - 1) < tolerances.CLOSED_FORM
        assert (reference.z_X(A, X, params) >= 0).all()


def test_oracle_does_not_see_the_order_of_nodes() -> None:
    params = weights(1, bias=True, learned=True)
    A, X = dense(small_union(1))[0]
    order = np.array([3, 0, 4, 1, 2])
    assert (
        relative_error(reference.logits(A[np.ix_(order, order)], X[order], params), reference.logits(A, X, params))
        < tolerances.ORACLE_FLOAT64
    )


def test_oracle_takes_a_mapping_and_refuses_weights_without_p_and_q() -> None:
    params = weights(2, bias=False, learned=False)
    A, X = dense(small_union(2))[0]
    table = TABLES[-1]
    mapping = {name: w for name, w in params._asdict().items() if w is not None}
    assert np.array_equal(reference.z(A, X, mapping, table), reference.z(A, X, params, table))
    with pytest.raises(ValueError, match="pq: expected"):
        reference.z(A, X, mapping)
    assert reference.LAYERS == LAYERS


def test_oracle_and_fast_path_do_not_import_each_other() -> None:
    code = """
import sys
import minipinet.reference
loaded = {m for m in sys.modules if m.startswith("minipinet")}
ours = {"minipinet", "minipinet._array", "minipinet._tree", "minipinet.reference"}
assert loaded == ours, loaded
for name in list(loaded):
    del sys.modules[name]
import minipinet.model, minipinet.optim, minipinet.train
assert "minipinet.reference" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_lone_node_at_p_0_gets_nothing_and_gives_no_derivative() -> None:
    union = disjoint_union([as_graph(np.zeros((1, 1)), [[2.0]])])
    step = batch_of(union, merge=True).steps[0]
    H, cache = propagate_forward(np.array([[2.0]]), np.float64(0), np.float64(1), step)
    assert H.tolist() == [[0.0]]
    assert [np.asarray(g).ravel().tolist() for g in propagate_backward(np.ones((1, 1)), cache)] == [[0.0], [0.0], [0.0]]
