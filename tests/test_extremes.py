"""Numbers too large for the dtype, indices and dtypes that are none, and graphs without a single feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet.batch import make_batch, make_batches
from minipinet.errors import DataError, UsageError
from minipinet.evaluation import evaluate, score
from minipinet.graphs import as_graph
from minipinet.initializers import INITIALIZERS
from minipinet.matmul import matmul_rows
from minipinet.model import loss_backward, loss_forward
from minipinet.params import gate_backward, gate_forward, init_params, pq_values
from minipinet.quotient import refine
from minipinet.union import disjoint_union

EDGE = [[0.0, 1.0], [1.0, 0.0]]
QUOTIENT = refine(disjoint_union([as_graph(EDGE)] * 3))


@pytest.mark.parametrize("value", [1e39, -1e39])
def test_a_feature_beyond_float32_is_refused_by_its_value(value: float) -> None:
    quotient = refine(disjoint_union([as_graph(EDGE, [[value], [1.0]])]))
    with pytest.raises(DataError, match=r"a feature is -?1e\+39, more than float32 holds"):
        make_batch(quotient, [0], "float32")
    assert make_batch(quotient, [0], "float64").X.max() == max(value, 1.0)


def test_a_weight_beyond_float32_is_refused_by_its_value() -> None:
    quotient = refine(disjoint_union([as_graph(np.multiply(EDGE, 1e39), weighted=True)]))
    with pytest.raises(DataError, match=r"^an edge weight is 1e\+39, more than float32 holds"):
        make_batch(quotient, [0], "float32")
    assert make_batch(quotient, [0], "float64").steps[0].A.max() == 1e39


def test_weights_that_are_too_large_together_are_refused_by_their_sum() -> None:
    star = np.array([[0.0, 3e38, 3e38], [3e38, 0.0, 0.0], [3e38, 0.0, 0.0]])
    graph = as_graph(star, [[0.0], [1.0], [2.0]], weighted=True)  # leaves of two colours, so no entry is the sum
    with pytest.raises(DataError, match=r"^the sum of a node's edge weights is 6e\+38, more than float32 holds"):
        make_batch(refine(disjoint_union([graph])), [0], "float32")


@pytest.mark.parametrize("C", [2, 3])
def test_scores_that_are_not_finite_name_the_graph(C: int) -> None:
    params = init_params(np.random.default_rng(0), 1, C, hidden=3, out=2)
    quotient = refine(disjoint_union([as_graph(EDGE), as_graph(EDGE, [[1e38], [3e38]])]))
    for call in (
        lambda: score(params, None, quotient, [0, 1]),
        lambda: evaluate(params, None, quotient, [0, 1], [0, 1]),
    ):
        with pytest.raises(DataError, match="graph 1: its scores are not finite in float32"):
            call()
    assert np.isfinite(score(params, None, quotient, [0])).all()


@pytest.mark.parametrize("index", [[0.7, 1.2], [True, False, True], "01", [[0, 1]], None, 1, [], [3], [-1], [2**63]])
def test_an_index_that_is_no_row_of_graph_numbers_is_refused(index: Any) -> None:
    with pytest.raises(UsageError, match="index: expected at least one graph number from 0 to 2"):
        make_batch(QUOTIENT, index)


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64", "float16", None, "x"])
def test_a_dtype_that_is_no_float_is_refused(dtype: Any) -> None:
    with pytest.raises(UsageError, match="dtype: expected 'float32' or 'float64'"):
        make_batch(QUOTIENT, [0], dtype)


@pytest.mark.parametrize("batch_size", [0, -1, None, 2.0, float("nan"), True])
def test_a_batch_size_that_is_no_size_is_refused(batch_size: Any) -> None:
    with pytest.raises(UsageError, match="batch_size: expected a whole number of at least 1"):
        next(make_batches(QUOTIENT, [0, 1], batch_size))
    assert [batch.B for batch in make_batches(QUOTIENT, [0, 1], 2**70)] == [2]


@pytest.mark.parametrize("pq", [None, (1.0, 0.0), np.full((4, 2), 5.0), np.full((4, 2), np.nan), np.zeros((2, 4))])
def test_fixed_p_and_q_are_a_table_in_the_unit_interval(pq: Any) -> None:
    params = init_params(np.random.default_rng(0), 1, 2, hidden=3, out=2, learned_pq=False)
    with pytest.raises(UsageError, match=r"pq: expected a \(4, 2\) table"):
        pq_values(params, pq)


def test_fixed_p_and_q_are_not_ignored_where_they_are_learned() -> None:
    with pytest.raises(UsageError, match="pq: expected None"):
        pq_values(init_params(np.random.default_rng(0), 1, 2, hidden=3, out=2), np.zeros((4, 2)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("raw", [10.0, 1e4, -10.0, -1e4])
def test_case_039_learned_p_never_reaches_the_ends_and_can_come_back(raw: float, dtype: str) -> None:
    p, cache = gate_forward(np.array([raw], dtype))
    assert p.dtype == dtype
    assert 0 < p[0] < 1
    assert 0 < 1 - p[0] < 1
    assert gate_backward(np.ones(1, dtype), cache)[0] > 0


@pytest.mark.parametrize("init", sorted(INITIALIZERS))
@pytest.mark.parametrize("nodes", [0, 20])
def test_graphs_without_features_train(init: str, nodes: int) -> None:
    assert matmul_rows(np.zeros((nodes, 0)), np.zeros((0, 3))).tolist() == [[0.0] * 3] * nodes
    params = init_params(np.random.default_rng(0), 0, 2, hidden=3, out=2, init=init)
    union = disjoint_union([as_graph(np.zeros((nodes, nodes)))] * 2)._replace(X=np.zeros((2 * nodes, 0)))
    loss, cache = loss_forward(params, make_batch(refine(union), [0, 1]), np.array([0, 1]))
    assert float(loss) == pytest.approx(np.log(2))
    assert all(np.isfinite(g).all() for g in loss_backward(1.0, cache) if g is not None)
