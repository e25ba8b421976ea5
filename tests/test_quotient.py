"""Quotient batches: colours against a brute-force refinement, exactness under hash collisions, and selection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from minipinet import colours
from minipinet._array import Array
from minipinet.batch import GraphBatch, make_batch, make_batches
from minipinet.errors import UsageError
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.model import pinet_forward
from minipinet.params import init_params
from minipinet.quotient import Quotient, refine
from minipinet.union import DisjointUnion, disjoint_union
from tests import strategies


def brute_force(union: DisjointUnion) -> list[list[object]]:
    """Refine by dictionaries: a node's colour is its own colour and the total weight it gives to each colour."""
    A, deg = union.A.toarray(), union.A.toarray().sum(axis=1)
    colour: list[object] = [(tuple(x), s) for x, s in zip(union.X.tolist(), deg.tolist(), strict=True)]
    levels = [colour]
    for _ in range(2):
        fresh: list[object] = []
        for i, own in enumerate(colour):
            total: dict[object, float] = {}
            for j in np.flatnonzero(A[i]):
                total[colour[j]] = total.get(colour[j], 0.0) + A[i, j]
            fresh.append((own, frozenset(total.items())))
        levels.append(colour := fresh)
    return levels


def same_partition(a: list[object], b: list[object]) -> bool:
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def sizes(quotient: Quotient) -> list[int]:
    return [len(quotient.X), *(level.A.shape[0] for level in quotient.levels)]


def arrays(batch: GraphBatch) -> list[Array]:
    """Return every array of a batch."""
    steps = [(s.A.toarray(), s.A_T.toarray(), s.A.data, s.own, s.at_own, s.deg) for s in batch.steps]
    pool = batch.pool
    return [batch.X, *(a for s in steps for a in s), *pool[:4], pool.counts.toarray()]


def same(a: GraphBatch, b: GraphBatch) -> bool:
    pairs = list(zip(arrays(a), arrays(b), strict=True))
    return all(x.dtype == y.dtype and x.shape == y.shape and bool((x == y).all()) for x, y in pairs)


@given(strategies.unions())
def test_colours_are_those_of_brute_force(union: DisjointUnion) -> None:
    quotient = refine(union)
    expected = brute_force(union)
    # Weights are float32 numbers with few bits, so that a sum in any order is exact and nothing stays apart.
    assert sizes(quotient) == [len(set(level)) for level in expected]
    assert same_partition(quotient.colour.tolist(), expected[2])


@pytest.mark.parametrize("mix", [lambda h: h * np.uint64(0), lambda h: h & np.uint64(1)])
@given(union=strategies.unions())
def test_a_hash_collision_merges_nothing(union: DisjointUnion, mix: object) -> None:
    expected = brute_force(union)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(colours, "_mix", mix)
        quotient = refine(union)
    assert sizes(quotient) == [len(set(level)) for level in expected]
    assert same_partition(quotient.colour.tolist(), expected[2])


@given(strategies.unions())
def test_without_merging_every_node_is_its_own_colour(union: DisjointUnion) -> None:
    quotient = refine(union, merge=False)
    N = len(union.X)
    assert sizes(quotient) == [N, N, N]
    assert quotient.colour.tolist() == list(range(N))
    for level in quotient.levels:
        assert (level.A.toarray() == union.A.toarray()).all()
        assert level.own.tolist() == list(range(N))


@given(strategies.unions(), st.booleans())
def test_counts_add_up_to_the_nodes(union: DisjointUnion, merge: bool) -> None:
    quotient = refine(union, merge=merge)
    assert quotient.counts.sum(axis=1).tolist() == np.diff(union.ptr).tolist()
    batch = make_batch(quotient, np.arange(len(union.ptr) - 1))
    assert batch.B == len(union.ptr) - 1
    assert batch.pool.counts.sum(axis=1).tolist() == np.diff(union.ptr).tolist()


@given(strategies.unions(), st.booleans(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_many_batches_at_once_are_the_batches_one_by_one(
    union: DisjointUnion, merge: bool, batch_size: int, random: object
) -> None:
    quotient = refine(union, merge=merge)
    G = len(union.ptr) - 1
    index = np.array([*range(G), *range(0, G, 2)])
    index = index[np.argsort([random.random() for _ in index])]  # type: ignore[attr-defined]
    whole = list(make_batches(quotient, index, batch_size, "float64"))
    pieces = [index[i : i + batch_size] for i in range(0, len(index), batch_size)]
    assert len(whole) == len(pieces)
    for batch, piece in zip(whole, pieces, strict=True):
        assert same(batch, make_batch(quotient, piece, "float64"))


@pytest.mark.parametrize("together", [1, 7, 10**9])
def test_batches_do_not_depend_on_how_many_are_selected_together(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    graphs = [as_graph(np.triu(rng.random((n, n)) < 0.4, 1), np.eye(3)[rng.integers(0, 3, n)], directed=True)
              for n in (5, 0, 3, 8, 1, 4, 6)]  # fmt: skip
    quotient = refine(disjoint_union(graphs))
    index = [3, 1, 1, 0, 6, 5, 4, 2, 3]
    expected = [make_batch(quotient, index[i : i + 2]) for i in range(0, len(index), 2)]
    monkeypatch.setattr("minipinet.batch.TOGETHER", together)
    assert all(same(a, b) for a, b in zip(make_batches(quotient, index, 2), expected, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_batch_has_one_dtype(dtype: str) -> None:
    batch = make_batch(refine(disjoint_union([as_graph(np.ones((3, 3)) - np.eye(3))])), [0], dtype)
    floats = [batch.X, batch.pool.count, batch.pool.counts.data]
    floats += [a for step in batch.steps for a in (step.A.data, step.A_T.data, step.deg)]
    assert {a.dtype.name for a in floats} == {dtype}


def test_the_matrices_of_a_batch_have_indices_of_32_bits() -> None:
    batch = make_batch(refine(disjoint_union([as_graph(strategies.path(n)) for n in (2, 3, 4)])), [2, 0])
    for matrix in (*(step.A for step in batch.steps), *(step.A_T for step in batch.steps), batch.pool.counts):
        assert {matrix.indptr.dtype, matrix.indices.dtype} == {np.dtype(np.int32)}
        assert len(matrix.data) == len(matrix.indices) == matrix.indptr[-1]


def test_one_number_may_occur_twice_and_order_is_kept() -> None:
    graphs = [as_graph(strategies.path(n)) for n in (2, 3, 4)]
    batch = make_batch(refine(disjoint_union(graphs)), [2, 0, 2])
    assert batch.pool.counts.sum(axis=1).tolist() == [4, 2, 4]


@pytest.mark.parametrize(("index", "came"), [([], r"\[\]"), ([3], r"\[3\]"), ([0, -1], r"\[0, -1\]")])
def test_an_index_out_of_range_is_named(index: list[int], came: str) -> None:
    quotient = refine(disjoint_union([as_graph(strategies.path(3))] * 3))
    with pytest.raises(UsageError, match=rf"index: expected at least one graph number from 0 to 2, got {came}"):
        make_batch(quotient, index)


def test_only_the_colours_a_batch_needs_are_in_it() -> None:
    # 40 graphs with features of their own, so that no colour is shared.
    graphs = [as_graph(strategies.path(3), np.full((3, 1), float(k))) for k in range(40)]
    batch = make_batch(refine(disjoint_union(graphs)), [7])
    assert batch.X.tolist() == [[7.0], [7.0]]
    assert [step.A.shape for step in batch.steps] == [(2, 2), (2, 2)]


@given(strategies.unions(), st.data())
def test_a_score_keeps_its_bits_whatever_the_order_of_nodes_and_graphs(
    union: DisjointUnion, data: st.DataObject
) -> None:
    # Sums over colours are taken in an order given by content, so even the ordinary path has the same bits here.
    # (Weights and features are float32 numbers: degrees and colours' weights are exact in any order of addition.)
    graphs = [as_graph(union.A[i:j, i:j], union.X[i:j], weighted=True, directed=True)
              for i, j in zip(union.ptr[:-1], union.ptr[1:], strict=True)]  # fmt: skip
    orders = [data.draw(strategies.permutations(graph.N)) for graph in graphs]
    place = data.draw(strategies.permutations(len(graphs)))
    moved: list[Graph] = [graphs[0]] * len(graphs)
    for graph, order, k in zip(graphs, orders, place.tolist(), strict=True):
        moved[k] = permute_nodes(graph, order)
    for C in (2, 3):
        params = init_params(np.random.default_rng(0), 2, C, hidden=5, out=4, dtype="float64")
        with threadpool_limits(1):
            together, _ = pinet_forward(params, make_batch(refine(disjoint_union(moved)), place, "float64"))
            for graph, score in zip(graphs, together, strict=True):
                alone, _ = pinet_forward(params, make_batch(refine(disjoint_union([graph])), [0], "float64"))
                assert (alone[0] == score).all()


def test_equal_numbers_are_one_feature_and_weights_tell_apart() -> None:
    X: NDArray[np.float64] = np.array([[0.0], [-0.0], [0.0], [0.0]])
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = 2.0
    A[2, 3] = A[3, 2] = 0.5
    quotient = refine(disjoint_union([as_graph(A, X, weighted=True)]))
    assert quotient.colour[0] == quotient.colour[1] != quotient.colour[2] == quotient.colour[3]


def test_direction_counts_along_the_arc_that_brings_the_state() -> None:
    # 0 <- 1 and 2 <- 3: node 0 hears a node labelled 1, node 2 one labelled 0.
    A = np.zeros((4, 4))
    A[0, 1] = A[2, 3] = 1.0
    quotient = refine(disjoint_union([as_graph(A, [[0.0], [1.0], [0.0], [0.0]], directed=True)]))
    assert len(set(quotient.colour.tolist())) == 4
    assert quotient.levels[0].A.shape[0] == 4


def test_what_two_layers_cannot_see_is_one_colour() -> None:
    # Two triangles and a hexagon: every node has two neighbours, so all nine are one colour.
    union = disjoint_union([as_graph(strategies.cycle(3)), as_graph(strategies.cycle(6))])
    assert sizes(refine(union)) == [1, 1, 1]
