"""The message-passing matrix of eq. 3 by its values: lone nodes, limits, loops, exponents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet._array import Array
from minipinet.batch import make_batch
from minipinet.graphs import as_graph
from minipinet.params import init_params, pq_values
from minipinet.propagation import PropagateGrads, propagate_backward, propagate_forward, scaling_forward
from minipinet.quotient import refine
from minipinet.union import disjoint_union
from tests import strategies, tolerances
from tests.tolerances import relative_error

R = np.sqrt(0.5)
PATH = strategies.path(3)
EDGE_AND_LONE = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
LONE = np.zeros((1, 1))


def matrix(A: Array, p: float, q: float, dtype: str = "float64") -> Array:
    """Return A~ as the fast path has it: what it makes of the unit matrix."""
    return propagated(A, p, q, dtype)[0]


def propagated(A: Array, p: float, q: float, dtype: str = "float64") -> tuple[Array, PropagateGrads]:
    """Return A~ and the gradients for a cotangent of ones."""
    union = disjoint_union([as_graph(A, np.eye(len(A)), weighted=True, directed=True)])
    batch = make_batch(refine(union, merge=False), [0], dtype)
    scalar = np.dtype(dtype).type
    H, cache = propagate_forward(batch.X, scalar(p), scalar(q), batch.steps[0])
    return H, propagate_backward(np.ones_like(H), cache)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("q", [0.0, 1.0, 0.3])
def test_case_037_a_lone_node_at_p_0_has_zero_row_and_column(q: float, dtype: str) -> None:
    A_t, grads = propagated(EDGE_AND_LONE, 0.0, q, dtype)
    assert A_t.tolist() == np.array([[q, 1, 0], [1, q, 0], [0, 0, 0]], dtype).tolist()
    assert all(np.isfinite(g).all() for g in grads)
    assert grads.dM[2].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("p", [0.0, 1e-12, 1e-6, 0.5, 1.0])
@pytest.mark.parametrize("merge", [True, False])
def test_case_037_graphs_without_edges_and_nodes(p: float, merge: bool) -> None:
    graphs = [as_graph(np.zeros((N, N)), np.ones((N, 2))) for N in (0, 1, 3, 0)]
    batch = make_batch(refine(disjoint_union(graphs), merge=merge), range(4), "float64")
    H, cache = propagate_forward(batch.X, np.float64(p), np.float64(1), batch.steps[0])
    assert np.isfinite(H).all()
    assert relative_error(H, np.full_like(H, 1 / p if p else 0.0)) < tolerances.ENTRY_FLOAT64
    assert all(np.isfinite(g).all() for g in propagate_backward(np.ones_like(H), cache))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", [1e-1, 1e-3, 1e-6])
def test_case_039_the_diagonal_of_a_lone_node_is_q_over_p(p: float, dtype: str) -> None:
    A_t, grads = propagated(LONE, p, 1.0, dtype)
    allowed = 4 * (tolerances.ENTRY_FLOAT64 if dtype == "float64" else tolerances.ENTRY_FLOAT32)
    assert relative_error(A_t, [[1 / p]]) < allowed
    assert relative_error(grads.dp, -1 / p**2) < allowed
    assert relative_error(grads.dq, 1 / p) < allowed


def test_case_039_at_p_0_it_is_exactly_0_and_so_are_the_gradients() -> None:
    A_t, grads = propagated(LONE, 0.0, 1.0)
    assert A_t.tolist() == [[0.0]]
    assert [float(np.sum(g)) for g in grads] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("raw", [-7.5, -20.0, -1e4, 7.5, 1e4])
def test_case_039_learned_p_and_q_stay_in_the_unit_interval(raw: float, dtype: str) -> None:
    params = init_params(np.random.default_rng(0), 2, 2, hidden=3, out=2, dtype=dtype)
    filled = np.full(4, raw, dtype)
    pq = pq_values(params._replace(p_raw=filled, q_raw=filled))
    assert pq.dtype == dtype
    assert ((pq >= 0) & (pq <= 1)).all()
    if -20 <= raw < 0:
        # 20 000 of Adam's steps of 1e-3 in one direction; float32 can still tell p from 0.
        assert (pq > 0).all()


@pytest.mark.data
@pytest.mark.slow
def test_case_039_training_nci1_from_p_near_0_stays_finite(data_dir: Path) -> None:
    from minipinet.datasets import load_dataset
    from minipinet.settings import Settings
    from minipinet.train import fit, start

    dataset = load_dataset("NCI1", data_dir=data_dir, progress=False)
    assert (dataset.graphs.A.sum(axis=1) == 0).any()
    settings = Settings(epochs=1, hidden=16, out=8)
    state = start(settings, dataset.num_features, dataset.num_classes)
    near_0 = np.full(4, np.log(0.01 / 0.99) / 4, np.float32)
    state = state._replace(params=state.params._replace(p_raw=near_0))
    index = np.arange(len(dataset))
    state = fit(refine(dataset.graphs), dataset.y, index, settings, C=dataset.num_classes, state=state)
    assert np.isfinite(state.history[-1].loss)
    assert all(np.isfinite(w).all() for w in state.params if w is not None)
    p_raw = state.params.p_raw
    assert p_raw is not None
    assert not np.array_equal(p_raw, near_0)


@pytest.mark.parametrize("loop", [1.0, 2.5])
def test_case_040_a_loop_stays_counts_once_in_the_degree_and_q_adds_on_top(loop: float) -> None:
    triangle = np.ones((3, 3)) - np.eye(3)
    triangle[0, 0] = loop
    assert matrix(triangle, 1.0, 1.0).tolist() == (triangle + np.eye(3)).tolist()
    deg = np.array([2 + loop, 2, 2])
    expected = (triangle + np.eye(3)) / np.sqrt(np.outer(deg, deg))
    assert relative_error(matrix(triangle, 0.0, 1.0), expected) < tolerances.ENTRY_FLOAT64
    assert relative_error(np.diag(matrix(triangle, 0.0, 0.0)), [loop / (2 + loop), 0, 0]) < tolerances.ENTRY_FLOAT64


@pytest.mark.parametrize(
    ("dtype", "allowed"), [("float64", tolerances.ENTRY_FLOAT64), ("float32", tolerances.ENTRY_FLOAT32)]
)
def test_case_041_no_small_number_is_added_to_degrees(dtype: str, allowed: float) -> None:
    A_t = matrix(PATH, 0.0, 0.0, dtype)
    assert A_t.dtype == dtype
    assert np.abs(A_t - np.array([[0, R, 0], [R, 0, R], [0, R, 0]])).max() < allowed
    for k in (1.0, 2.0, 3.0, 1e-8, 1e8):  # whatever the degree, only 0 is special
        s, _ = scaling_forward(np.array([k, 0.0], dtype), np.dtype(dtype).type(0))
        assert relative_error(s, np.array([k**-0.5, 0.0])) < allowed


@pytest.mark.parametrize(
    ("pq", "expected"),
    [
        ((0, 0), [[0, R, 0], [R, 0, R], [0, R, 0]]),
        ((0, 1), [[1, R, 0], [R, 0.5, R], [0, R, 1]]),
        ((1, 0), [[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
        ((1, 1), [[1, 1, 0], [1, 1, 1], [0, 1, 1]]),
    ],
)
def test_case_042_the_four_matrices_of_table_1(pq: tuple[int, int], expected: list[list[float]]) -> None:
    A_t = matrix(PATH, *pq)
    assert relative_error(A_t, expected) < tolerances.ENTRY_FLOAT64
    if pq[0] == 1:
        assert A_t.tolist() == expected  # without normalisation not even a rounding


def test_case_042_the_exponent_is_one_half() -> None:
    # A star of 16 leaves: with deg^(-1/4) its entries would be 1/2, with deg^(-1/2) they are 1/4.
    star = np.zeros((17, 17))
    star[0, 1:] = star[1:, 0] = 1
    assert relative_error(matrix(star, 0.0, 0.0), star / 4) < tolerances.ENTRY_FLOAT64


def test_case_044_degrees_do_not_count_q_unlike_the_gcn_matrix() -> None:
    expected = np.array([[1, R, 0], [R, 0.5, R], [0, R, 1]])
    assert relative_error(matrix(PATH, 0.0, 1.0), expected) < tolerances.ENTRY_FLOAT64
    gcn = np.array([[0.5, 0.4082, 0], [0.4082, 0.3333, 0.4082], [0, 0.4082, 0.5]])
    assert relative_error(matrix(PATH, 0.0, 1.0), gcn) > 0.4


@given(st.just(0.0) | st.floats(1e-6, 1), st.floats(0, 1))
def test_between_the_corners_on_an_edge_and_a_lone_node(p: float, q: float) -> None:
    # deg = 1 makes p + (1-p) deg = 1 for every p: the edge never changes.
    A_t = matrix(EDGE_AND_LONE, p, q)
    assert relative_error(A_t[:2, :2], [[q, 1], [1, q]]) < tolerances.ENTRY_FLOAT64
    assert relative_error(A_t[2, 2], q / p if p else 0.0) < 4 * tolerances.ENTRY_FLOAT64
    assert not A_t[2, :2].any()
    assert not A_t[:2, 2].any()


def test_direction_row_i_takes_in_what_column_j_sends() -> None:
    A = np.array([[0.0, 2.0], [0.0, 0.0]])
    assert matrix(A, 1.0, 0.0).tolist() == [[0.0, 2.0], [0.0, 0.0]]
    _, grads = propagated(A, 1.0, 0.0)
    assert grads.dM.tolist() == [[0.0, 0.0], [2.0, 2.0]]
