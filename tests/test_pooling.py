"""Batching, column softmax and pooling: each graph for itself, in whatever company."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from minipinet._array import Array
from minipinet.attention import column_softmax_forward, pool_backward, pool_forward
from minipinet.batch import GraphBatch, make_batch
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.model import loss_backward, loss_forward, pinet_backward, pinet_forward
from minipinet.params import PiNetParams, init_params
from minipinet.pool import sum_by_graph
from minipinet.quotient import Quotient, refine
from minipinet.union import DisjointUnion, disjoint_union
from tests import strategies, tolerances
from tests.tolerances import relative_error, tree_error


@pytest.fixture(autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Bitwise statements are made for one BLAS thread, as everywhere in this package."""
    with threadpool_limits(limits=1):
        yield


def weights(d: int, C: int = 3, dtype: str = "float64", hidden: int = 7, out: int = 5) -> PiNetParams:
    """Draw weights with biases that are not zero."""
    rng = np.random.default_rng(11)
    params = init_params(rng, d, C, hidden=hidden, out=out, bias=True, dtype=dtype)
    return PiNetParams(*(w if w is None else rng.standard_normal(w.shape).astype(dtype) / 2 for w in params))


def batch_of(graphs: list[Graph], merge: bool = True, dtype: str = "float64") -> GraphBatch:
    return make_batch(refine(disjoint_union(graphs), merge=merge), np.arange(len(graphs)), dtype)


def scores(graphs: list[Graph], merge: bool = True, C: int = 3) -> Array:
    return pinet_forward(weights(graphs[0].d, C), batch_of(graphs, merge))[0]


def random_graph(N: int, seed: int = 0, d: int = 3) -> Graph:
    rng = np.random.default_rng(seed)
    return as_graph(np.triu(rng.random((N, N)) < 0.5, 1) * 1.0, rng.standard_normal((N, d)), directed=True)


def empty(d: int = 3) -> Graph:
    return as_graph(np.zeros((0, 0)), np.zeros((0, d)))


# 45: a row of scores for every graph, in order.


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("sizes", [[2, 0], [0], [1, 0, 0], [0, 0, 3], [0, 1, 0, 2, 0]])
def test_case_045_empty_graphs_have_their_row(sizes: list[int], C: int, merge: bool) -> None:
    graphs = [random_graph(N, seed=N) for N in sizes]
    params = weights(3, C)
    batch = batch_of(graphs, merge)
    logits, cache = pinet_forward(params, batch)
    assert batch.B == len(sizes)
    assert logits.shape == (len(sizes), C)
    assert np.isfinite(logits).all()
    for g, graph in enumerate(graphs):
        if graph.N == 0:  # zeros before the last layer, so its bias alone is left
            assert (logits[g] == params.b_D).all()
        else:
            assert relative_error(logits[g], scores([graph], merge, C)[0]) < tolerances.FORMS_FLOAT64
    # An empty graph moves nothing but the last bias.
    dlogits = np.array([[1.0] * C if N == 0 else [0.0] * C for N in sizes])
    grads = pinet_backward(dlogits, cache)
    assert (dlogits.sum(axis=0) == grads.dparams.b_D).all()
    assert not any(np.any(g) for name, g in grads.dparams._asdict().items() if name != "b_D")
    assert not grads.dX.any()


@pytest.mark.parametrize("merge", [True, False])
def test_case_045_the_pooled_matrix_of_an_empty_graph_is_zero(merge: bool) -> None:
    pool = batch_of([random_graph(2), empty(), random_graph(1)], merge).pool
    n = pool.counts.shape[1]
    rng = np.random.default_rng(0)
    Z_A, _ = column_softmax_forward(rng.standard_normal((n, 2)), pool)
    P, cache = pool_forward(Z_A, rng.standard_normal((n, 3)), pool)
    assert P.shape == (3, 2, 3)
    assert not P[1].any()
    assert P[0].any()
    assert P[2].any()
    dP = np.zeros_like(P)
    dP[1] = 1.0
    assert not any(g.any() for g in pool_backward(dP, cache))


# 47: attention sums to 1 over the nodes of each graph.


@given(strategies.unions(), st.booleans(), st.sampled_from([1.0, 30.0, 1000.0]))
def test_case_047_attention_columns_sum_to_one_inside_each_graph(
    union: DisjointUnion, merge: bool, size: float
) -> None:
    pool = make_batch(refine(union, merge=merge), np.arange(len(union.ptr) - 1), "float64").pool
    H = size * np.random.default_rng(0).standard_normal((pool.counts.shape[1], 3))
    Z_A, _ = column_softmax_forward(H, pool)
    sums = sum_by_graph(Z_A, pool)
    filled = np.diff(union.ptr) > 0
    assert (Z_A >= 0).all()
    assert np.abs(sums[filled] - 1).max() < 10 * tolerances.CLOSED_FORM
    assert not sums[~filled].any()


def test_case_047_attention_is_the_softmax_over_nodes_not_features_and_not_the_batch() -> None:
    graphs = [random_graph(3, 0), random_graph(5, 1), random_graph(5, 2)]
    pool = batch_of(graphs, merge=False).pool
    H = np.random.default_rng(0).standard_normal((13, 2))
    Z_A, _ = column_softmax_forward(H, pool)
    for i, j in ((0, 3), (3, 8), (8, 13)):
        e = np.exp(H[i:j])
        assert relative_error(Z_A[i:j], e / e.sum(axis=0)) < tolerances.CLOSED_FORM
    assert np.abs(Z_A.sum(axis=1) - 1).min() > 1e-3


@pytest.mark.invariance
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("C", [2, 3])
def test_case_047_permuting_one_graph_leaves_all_scores_and_each_graph_scores_as_if_alone(C: int, merge: bool) -> None:
    graphs = [random_graph(3, 0), random_graph(5, 1), random_graph(5, 2)]
    together = scores(graphs, merge, C)
    permuted = [graphs[0], permute_nodes(graphs[1], [3, 0, 4, 1, 2]), graphs[2]]
    assert relative_error(scores(permuted, merge, C), together) < tolerances.FORMS_FLOAT64
    for g, graph in enumerate(graphs):
        assert relative_error(scores([graph], merge, C)[0], together[g]) < tolerances.FORMS_FLOAT64


# 48: bit for bit the same scores and the same share of the gradient in any batch.


def companies(G: int) -> list[list[int]]:
    """Return batches of graph 0: alone, with each other graph before and after it, with itself, with all."""
    pairs = [[0, g] for g in range(1, G)] + [[g, 0] for g in range(1, G)]
    return [[0], [0, 0], *pairs, list(range(G)), list(range(G))[::-1]]


def assert_alone_in_any_company(quotient: Quotient, params: PiNetParams, dtype: str) -> None:
    alone = None
    dlogits = np.random.default_rng(0).standard_normal((1, params.W_D.shape[1])).astype(dtype)
    allowed = tolerances.FORMS_FLOAT64 if dtype == "float64" else tolerances.FORMS_FLOAT32
    for index in companies(quotient.counts.shape[0]):
        logits, cache = pinet_forward(params, make_batch(quotient, index, dtype))
        at = index.index(0)
        share = pinet_backward(np.where(np.arange(len(index))[:, None] == at, dlogits, 0).astype(dtype), cache)
        if alone is None:
            alone = logits[0], share.dparams
        assert logits[at].tobytes() == alone[0].tobytes(), index
        assert tree_error(share.dparams, alone[1]) < allowed, index


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_case_048_a_graph_scores_the_same_bits_beside_small_and_large_ones(C: int, dtype: str, merge: bool) -> None:
    graphs = [random_graph(17), random_graph(28, 1), random_graph(200, 2), random_graph(1, 3), empty()]
    params = weights(3, C, dtype, hidden=100, out=64)
    assert_alone_in_any_company(refine(disjoint_union(graphs), merge=merge), params, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(strategies.unions(), st.sampled_from([2, 3]), st.booleans())
def test_case_048_any_graph_in_any_company(dtype: str, union: DisjointUnion, C: int, merge: bool) -> None:
    quotient = refine(union, merge=merge)
    params = weights(2, C, dtype)
    G = len(union.ptr) - 1
    together, _ = pinet_forward(params, make_batch(quotient, np.arange(G), dtype))
    for g in range(G):
        alone, _ = pinet_forward(params, make_batch(quotient, [g], dtype))
        assert alone[0].tobytes() == together[g].tobytes()


@pytest.mark.parametrize("C", [2, 3])
def test_case_048_bits_stay_when_the_neighbours_attention_is_extreme(C: int) -> None:
    calm, wild = random_graph(6), random_graph(6, 1)
    wild = Graph(wild.A, 300.0 * wild.X)
    quotient = refine(disjoint_union([calm, wild, calm]))
    params = weights(3, C, "float32")
    alone, _ = pinet_forward(params, make_batch(quotient, [0]))
    for index in ([0, 1], [1, 0], [0, 1, 2]):
        logits, _ = pinet_forward(params, make_batch(quotient, index))
        assert logits[index.index(0)].tobytes() == alone[0].tobytes()
        assert np.isfinite(logits).all()


@pytest.mark.data
@pytest.mark.parametrize("merge", [True, False])
def test_case_048_mutag_graph_0_beside_a_graph_of_620_nodes(data_dir: Path, merge: bool) -> None:
    from minipinet.datasets import load_dataset

    mutag = load_dataset("MUTAG", data_dir=data_dir, progress=False)
    sizes = np.diff(mutag.graphs.ptr)
    partner = mutag[int(np.flatnonzero(sizes == 28)[0])]
    big = as_graph(strategies.cycle(620), np.eye(mutag.num_features)[np.arange(620) % mutag.num_features])
    quotient = refine(disjoint_union([mutag[0], partner, big]), merge=merge)
    for dtype in ("float64", "float32"):
        assert_alone_in_any_company(quotient, weights(mutag.num_features, 2, dtype), dtype)


# 50: batches of one, and a mean over graphs.


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_case_050_a_batch_of_one_graph_of_one_node(dtype: str) -> None:
    params = weights(3, dtype=dtype)
    for graph in (random_graph(1), random_graph(4), empty()):
        batch = batch_of([graph], dtype=dtype)
        loss, cache = loss_forward(params, batch, np.array([2]))
        logits = cache.cross_entropy.log_probabilities
        assert logits.shape == (1, 3)
        assert np.isfinite(loss)
        assert all(np.isfinite(g).all() for g in loss_backward(1.0, cache) if g is not None)


@pytest.mark.parametrize("batch_size", [5, 10, 11, 1])
def test_case_050_the_mean_over_all_graphs_is_the_graph_weighted_mean_over_batches(batch_size: int) -> None:
    graphs = [random_graph(1 + g % 4, seed=g) for g in range(11)]
    quotient = refine(disjoint_union(graphs))
    y = np.arange(11) % 3
    params = weights(3)

    def loss_and_gradient(index: Array) -> tuple[float, PiNetParams]:
        loss, cache = loss_forward(params, make_batch(quotient, index, "float64"), y[index])
        return float(loss), loss_backward(1.0, cache)

    loss, gradient = loss_and_gradient(np.arange(11))
    parts = [np.arange(11)[at : at + batch_size] for at in range(0, 11, batch_size)]
    losses, gradients = zip(*map(loss_and_gradient, parts), strict=True)
    share = [len(part) / 11 for part in parts]
    assert relative_error(np.dot(share, losses), loss) < tolerances.FORMS_FLOAT64
    summed = [
        None if leaves[0] is None else sum(s * g for s, g in zip(share, leaves, strict=True))
        for leaves in zip(*gradients, strict=True)
    ]
    assert tree_error(PiNetParams(*summed), gradient) < tolerances.FORMS_FLOAT64
