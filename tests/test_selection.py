"""The compiled selection of batches against that in NumPy: the same graphs, states in an order of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from minipinet._array import Array
from minipinet.batch import SelectedRows
from minipinet.datasets import load_dataset
from minipinet.errors import DataError
from minipinet.fast.batch import FastBatch
from minipinet.fast.training import make_fast_batches
from minipinet.graphs import as_graph, permute_nodes
from minipinet.quotient import Quotient, refine
from minipinet.union import DisjointUnion, disjoint_union, graph_at
from tests import strategies
from tests.forms import use_form
from tests.thinned import examples


def matrices(rows: SelectedRows) -> tuple[Array, Array]:
    """Return A, dense, and the matrix that takes each row's own column."""
    n_out, n_in = len(rows.at_own), len(rows.deg)
    A, own = np.zeros((n_out, n_in)), np.zeros((n_out, n_in))
    np.add.at(A, (np.repeat(np.arange(n_out), np.diff(rows.indptr)), rows.indices), rows.data)
    own[np.arange(n_out), rows.indices[rows.at_own]] = 1
    return A, own


def graph_by_graph(batch: FastBatch) -> list[Array]:
    """Return what no order of the states shows in: each graph's sums of features along every way through the layers."""
    X, (first, second), (ptr, state, count), kind = batch
    K, n = len(ptr) - 1, len(second.at_own)
    counts = np.zeros((K, n))
    np.add.at(counts, (np.repeat(np.arange(K), np.diff(ptr)), state), count)
    ways = [counts @ B @ A @ X for B in matrices(second) for A in matrices(first)]
    degrees = [counts @ B @ second.deg for B in matrices(second)]
    degrees += [counts @ B @ A @ first.deg for B in matrices(second) for A in matrices(first)]
    return [x[kind] for x in ways + degrees]


def leaves(batch: FastBatch) -> list[Array]:
    X, layers, entries, kind = batch
    return [X, *layers[0], *layers[1], *entries, kind]


def check_selection(quotient: Quotient, index: Array, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in ("float32", "float64"):
        found = []
        for form in ("numpy", "numba"):
            use_form(form, monkeypatch)
            found.append(list(make_fast_batches(quotient, index, size, dtype)))
        for plain, compiled in zip(*found, strict=True):
            for a, b in zip(leaves(plain), leaves(compiled), strict=True):
                assert a.shape == b.shape
                assert a.dtype == b.dtype
                assert b.dtype == dtype or b.dtype.kind != "f"
            for a, b in zip(graph_by_graph(plain), graph_by_graph(compiled), strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


def test_states_come_in_the_order_of_the_graphs_that_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the numbers of nodes, and whatever other graphs there are: sums over states keep their order."""
    use_form("numba", monkeypatch)
    data, rng = load_dataset("MUTAG")[:30], np.random.default_rng(0)
    graphs = [graph_at(data.graphs, g) for g in range(30)]
    moved = [permute_nodes(graph, rng.permutation(graph.N)) for graph in graphs]
    expected = list(make_fast_batches(refine(disjoint_union(graphs[10:20])), range(10), 4))
    found = list(make_fast_batches(refine(disjoint_union(moved)), range(10, 20), 4))
    for a, b in zip(expected, found, strict=True):
        assert [x.tolist() for x in leaves(a)] == [x.tolist() for x in leaves(b)]
    state = expected[0].entries.state
    assert (np.maximum.accumulate(state)[1:] - np.maximum.accumulate(state)[:-1] <= 1).all()


@settings(max_examples=examples(15))
@given(union=strategies.unions())
def test_batches_are_the_same(union: DisjointUnion) -> None:
    rng, G = np.random.default_rng(0), len(union.ptr) - 1
    with pytest.MonkeyPatch.context() as monkeypatch:
        for merge in (True, False):
            check_selection(refine(union, merge), rng.integers(0, G, 2 * G), 3, monkeypatch)


def test_real_batches_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    check_selection(refine(load_dataset("MUTAG").graphs), np.random.default_rng(0).permutation(188), 50, monkeypatch)


@pytest.mark.parametrize("graph", [([[0, 1], [1, 0]], [[1e300], [1]]), ([[0, 1e300], [1e300, 0]], [[1], [1]])])
def test_what_a_dtype_does_not_hold_is_said_by_either(graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    quotient = refine(disjoint_union([as_graph([[0]], [[1.0]]), as_graph(*graph, weighted=True)]))
    said = []
    for form in ("numpy", "numba"):
        use_form(form, monkeypatch)
        with pytest.raises(DataError) as error:
            list(make_fast_batches(quotient, [0, 1], 1))
        said.append(str(error.value))
    assert said[0] == said[1]


def test_cutting_leaves_zeros_where_it_looked_states_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table of zeros serves all data sets of a thread, as large as the largest, whatever was cut between."""
    use_form("numba", monkeypatch)
    selection = pytest.importorskip("minipinet.fast.compiled.selection")
    large, small = refine(load_dataset("MUTAG").graphs), refine(load_dataset("MUTAG")[:3].graphs)
    one, other = make_fast_batches(large, range(150), 50), make_fast_batches(small, range(3), 1)
    found = [next(one), next(other), next(one), next(other), next(one)]
    assert not selection._scratch.zeros.any()
    again = [*make_fast_batches(large, range(150), 50)]
    for a, b in zip(found[::2], again, strict=True):
        assert [x.tolist() for x in leaves(a)] == [x.tolist() for x in leaves(b)]
    before = selection._scratch.zeros
    next(make_fast_batches(small, range(3), 1))
    assert selection._scratch.zeros is before
