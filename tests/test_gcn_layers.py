"""Kipf's matrix, summing and padding: values in closed form, dense matrices, gradients by the checker."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from minipinet._array import Array
from minipinet.baselines.gcn_layers import (
    kipf_quotient,
    pad_backward,
    pad_forward,
    sum_pool_backward,
    sum_pool_forward,
)
from minipinet.batch import GraphBatch, make_batch
from minipinet.graphs import as_graph
from minipinet.pool import Pool, make_pool
from minipinet.propagation import message_passing_backward, message_passing_forward, propagate_forward
from minipinet.union import DisjointUnion, disjoint_union
from minipinet.verify import verify_pair
from minipinet.verify.pairs import example_union
from tests import strategies
from tests.tolerances import CLOSED_FORM, ENTRY_FLOAT32, ENTRY_FLOAT64, ORACLE_FLOAT64, relative_error


def kipf_batch(union: DisjointUnion, dtype: str = "float64", *, merge: bool = False) -> GraphBatch:
    return make_batch(kipf_quotient(union, merge), np.arange(len(union.ptr) - 1), dtype)


def kipf_of(A: Any, dtype: str = "float64", **options: Any) -> Array:
    """Return Kipf's matrix as the layer has it, by sending the identity through."""
    N = len(A)
    batch = kipf_batch(disjoint_union([as_graph(A, np.eye(N), **options)]), dtype)
    return propagate_forward(batch.X, 0.0, 1.0, batch.steps[0])[0]


def dense_kipf(A: Array) -> Array:
    A = A - np.diag(np.diag(A)) + np.eye(len(A))
    root = A.sum(axis=1) ** -0.5
    return root[:, None] * A * root


@pytest.mark.parametrize(("dtype", "allowed"), [("float64", ENTRY_FLOAT64), ("float32", ENTRY_FLOAT32)])
def test_case_044_the_matrix_is_kipfs_and_not_that_of_p_0_and_q_1(dtype: str, allowed: float) -> None:
    third, root = 1 / 3, 1 / np.sqrt(6)
    H = kipf_of(strategies.path(3), dtype)
    assert H.dtype == dtype
    assert relative_error(H, np.array([[0.5, root, 0], [root, third, root], [0, root, 0.5]])) < allowed


def test_case_040_a_loop_is_not_counted_twice() -> None:
    triangle = np.ones((3, 3)) - np.eye(3)
    with_loop = triangle.copy()
    with_loop[0, 0] = 1.0
    assert np.array_equal(kipf_of(with_loop), kipf_of(triangle))
    assert relative_error(kipf_of(triangle), np.full((3, 3), 1 / 3)) < ENTRY_FLOAT64
    heavy = triangle.copy()
    heavy[0, 0] = 2.5
    assert np.array_equal(kipf_of(heavy, weighted=True), kipf_of(triangle))


def test_case_037_a_lone_node_keeps_its_state() -> None:
    A = np.zeros((3, 3))
    A[0, 1] = A[1, 0] = 1.0
    assert kipf_of(A)[2].tolist() == [0.0, 0.0, 1.0]
    assert kipf_of(np.zeros((1, 1))).tolist() == [[1.0]]


@given(strategies.unions())
def test_it_is_the_dense_matrix_for_any_graph_and_in_both_forms(union: DisjointUnion) -> None:
    A = union.A.toarray()
    expected = dense_kipf(A) @ union.X
    for merge in (True, False):
        quotient = kipf_quotient(union, merge)
        batch = make_batch(quotient, np.arange(len(union.ptr) - 1), "float64")
        H, _ = propagate_forward(batch.X, 0.0, 1.0, batch.steps[0])
        # of each graph the sum over its nodes after a second, equal layer
        twice, _ = propagate_forward(H, 0.0, 1.0, batch.steps[1])
        graph = np.repeat(np.arange(batch.B), np.diff(union.ptr))
        sums = np.zeros((batch.B, union.X.shape[1]))
        np.add.at(sums, graph, dense_kipf(A) @ expected)
        assert relative_error(sum_pool_forward(twice, batch.pool)[0], sums) < ORACLE_FLOAT64
    assert np.array_equal(union.A.toarray(), A)


def small_pool(*, counts: bool = True) -> tuple[Pool, Array]:
    """Return a pool of five graphs over seven states, one graph without nodes, one twice, and the states."""
    ptr, state = np.array([0, 3, 3, 5, 8, 9]), np.array([0, 1, 2, 3, 4, 0, 1, 2, 6])
    count = np.arange(1.0, 10.0)[:, None] if counts else np.ones((9, 1))
    return make_pool(ptr, state, count, 7), np.random.default_rng(0).standard_normal((7, 4))


def test_a_sum_is_a_sum_weighted_by_counts() -> None:
    pool, Z = small_pool()
    S, _ = sum_pool_forward(Z, pool)
    assert relative_error(S, pool.counts.toarray() @ Z) < ORACLE_FLOAT64
    assert not S[1].any()
    # not a mean: a graph beside its copy has twice the row
    edge = as_graph([[0, 1], [1, 0]], [[1.0], [3.0]])
    two = as_graph(strategies.beside(strategies.path(2), strategies.path(2)), [[1.0], [3.0], [1.0], [3.0]])
    batch = kipf_batch(disjoint_union([edge, two]), merge=True)
    H, _ = propagate_forward(batch.X, 0.0, 1.0, batch.steps[0])
    S, _ = sum_pool_forward(propagate_forward(H, 0.0, 1.0, batch.steps[1])[0], batch.pool)
    assert relative_error(S, np.array([[4.0], [8.0]])) < CLOSED_FORM


@pytest.mark.parametrize("places", [1, 2, 3, 5])
def test_nodes_stand_side_by_side_and_zeros_after_them(places: int) -> None:
    pool, Z = small_pool(counts=False)
    S, _ = pad_forward(Z, pool, places)
    rows = [[0, 1, 2], [], [3, 4], [0, 1, 2], [6]]
    for g, states in enumerate(rows):
        kept = Z[states[:places]].ravel()
        assert S[g].tolist() == [*kept, *np.zeros(places * 4 - len(kept))]


def test_the_order_of_the_rows_is_that_of_the_nodes_in_every_batch() -> None:
    graphs = [as_graph(strategies.path(N), np.arange(10.0 * N, 11.0 * N)) for N in (3, 1, 4)]
    quotient = kipf_quotient(disjoint_union(graphs), merge=False)
    for index in ([0, 1, 2], [2, 0, 2, 1], [2]):
        batch = make_batch(quotient, index, "float64")
        S, _ = pad_forward(batch.X, batch.pool, 5)  # one state a node at every level, in one order
        for row, g in zip(S, index, strict=True):
            assert row.tolist() == [*graphs[g].X[:, 0], *np.zeros(5 - graphs[g].N)]


def pair_of(places: int | None) -> tuple[Any, Any, Pool, Array]:
    """Return the forward and backward of summing (None) or padding, a pool, and states to look at them at."""
    pool, Z = small_pool(counts=places is None)
    if places is None:
        return sum_pool_forward, sum_pool_backward, pool, Z
    return partial(pad_forward, places=places), pad_backward, pool, Z


@pytest.mark.gradient
@pytest.mark.parametrize("places", [None, 2, 5])
def test_gradients_of_sum_and_pad(places: int | None) -> None:
    forward, backward, pool, Z = pair_of(places)
    methods = ("linear", "adjoint", "central", "complex", "taylor")
    found = verify_pair(partial(forward, pool=pool), backward, {"Z": Z}, rng=np.random.default_rng(1), methods=methods)
    assert found.ok, str(found)


@pytest.mark.gradient
@pytest.mark.parametrize("places", [None, 2])
def test_a_ten_thousandth_too_much_is_caught(places: int | None) -> None:
    forward, backward, pool, Z = pair_of(places)
    found = verify_pair(
        partial(forward, pool=pool),
        lambda dS, cache: 1.0001 * backward(dS, cache),
        {"Z": Z},
        rng=np.random.default_rng(1),
    )
    assert not found.ok


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("places", [None, 2])
def test_sum_and_pad_keep_the_dtype(places: int | None, dtype: str) -> None:
    forward, backward, pool, Z = pair_of(places)
    S, cache = forward(Z.astype(dtype), pool=pool._replace(counts=pool.counts.astype(dtype)))
    assert (S.dtype, backward(S, cache).dtype) == (dtype, dtype)


@pytest.mark.gradient
@pytest.mark.parametrize("merge", [True, False])
def test_the_gradient_of_the_matrix_on_directed_graphs_with_loops(merge: bool) -> None:
    rng = np.random.default_rng(2)
    batch = kipf_batch(example_union(rng), merge=merge)
    step = batch.steps[0]
    forward = partial(message_passing_forward, step=step)
    inputs: dict[str, Any] = {"M": rng.standard_normal((step.A.shape[1], 3)), "W": rng.standard_normal((3, 2))}
    inputs |= {"b": np.ones(2), "p": np.float64(0.0), "q": np.float64(1.0)}
    methods = ("linear", "adjoint", "complex")
    found = verify_pair(forward, message_passing_backward, inputs, rng=rng, methods=methods)
    assert found.ok, str(found)
