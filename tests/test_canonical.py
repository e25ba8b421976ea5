"""The canonical order of a graph's nodes: one form for isomorphic graphs, different ones for others."""

from __future__ import annotations

import sys
from itertools import combinations, permutations
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from minipinet._array import Array
from minipinet.baselines.canonical import canonical_order
from minipinet.errors import UsageError
from minipinet.graphs import Graph, as_graph, permute_nodes

pytest.importorskip("pynauty", reason="pynauty is in minipinet[kernels]")

C, O, N = 6, 8, 7  # noqa: E741 - the elements


def form(graph: Graph) -> tuple[Any, ...]:
    """Return what the graph looks like in its canonical order, colours first."""
    order = canonical_order(graph.A, graph.X)
    return graph.X[order].tolist(), graph.A[order][:, order].toarray().tolist()


def molecule(graph: networkx.Graph, colours: Any) -> Graph:
    return as_graph(networkx.to_numpy_array(graph), np.asarray(colours, float))


def test_case_094_the_same_molecule_has_one_form_and_another_has_another() -> None:
    path = networkx.path_graph(3)
    assert form(molecule(path, [C, O, O])) == form(molecule(path, [O, O, C]))
    assert form(molecule(path, [C, O, O])) != form(molecule(path, [O, C, O]))
    assert form(molecule(path, [C, O, O])) != form(molecule(path, [O, C, C]))
    star = networkx.star_graph(3)
    assert form(molecule(star, [C, O, O, N])) == form(molecule(star, [C, N, O, O]))
    assert form(molecule(star, [C, O, O, N])) != form(molecule(star, [N, O, O, C]))


def test_case_094_the_values_of_the_colours_matter_and_their_sizes_do_not_do_instead() -> None:
    pair = networkx.path_graph(2)
    assert form(molecule(pair, [0, 5])) != form(molecule(pair, [0, 1]))
    assert form(molecule(pair, [0, 5])) == form(molecule(pair, [5, 0]))
    path = networkx.path_graph(4)
    assert form(molecule(path, [1, 0, 0, 1])) != form(molecule(path, [0, 1, 1, 0]))


def test_colours_come_in_the_order_of_their_values() -> None:
    graph = molecule(networkx.cycle_graph(5), [3, -1, 10, 3, 2])
    assert graph.X[canonical_order(graph.A, graph.X), 0].tolist() == [-1, 2, 3, 3, 10]
    rows = np.array([[1, 9], [0, 9], [1, 0], [0, 0], [1, 5]])
    assert rows[canonical_order(graph.A, rows)].tolist() == [[0, 0], [0, 9], [1, 0], [1, 5], [1, 9]]


def test_all_graphs_of_up_to_five_nodes_have_one_form_a_class() -> None:
    """The atlas lists each graph once: no two forms are equal, and no renumbering makes a new one."""
    atlas = [graph for graph in networkx.graph_atlas_g() if 0 < len(graph) <= 5]
    graphs = [molecule(graph, np.zeros(len(graph))) for graph in atlas]
    forms = [form(graph) for graph in graphs]
    assert len(forms) == 1 + 2 + 4 + 11 + 34
    assert all(a != b for a, b in combinations(forms, 2))
    for graph, expected in zip(graphs, forms, strict=True):
        for permutation in list(permutations(range(graph.N)))[::7]:
            assert form(permute_nodes(graph, permutation)) == expected


@st.composite
def coloured_graphs(draw: st.DrawFn) -> tuple[Graph, Array]:
    """Draw a graph, directed or not, with loops and few colours, and a permutation of its nodes."""
    n = draw(st.integers(1, 8))
    bits = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    A = np.array(bits, float).reshape(n, n)
    A = A if draw(st.booleans()) else np.maximum(A, A.T)
    colours = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return as_graph(A, np.array(colours, float), directed=True), np.array(draw(st.permutations(range(n))))


@given(coloured_graphs())
def test_a_renumbered_graph_has_the_same_form(drawn: tuple[Graph, Array]) -> None:
    graph, permutation = drawn
    assert form(permute_nodes(graph, permutation)) == form(graph)


def test_the_direction_of_an_edge_counts() -> None:
    there = as_graph([[0, 1], [0, 0]], [1.0, 2.0], directed=True)
    back = as_graph([[0, 0], [1, 0]], [1.0, 2.0], directed=True)
    assert form(there) != form(back)


def test_a_graph_without_nodes_has_an_order_without_nodes() -> None:
    assert canonical_order(csr_array((0, 0)), np.zeros((0, 3))).shape == (0,)


def test_another_number_of_colours_is_refused() -> None:
    with pytest.raises(UsageError, match=r"colours: expected shape \(2,\) or \(2, k\), got \(3,\)"):
        canonical_order(as_graph([[0, 1], [1, 0]]).A, [1, 2, 3])


def test_without_pynauty_one_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynauty", None)
    with pytest.raises(UsageError, match=r"pip install 'minipinet\[kernels\]'"):
        canonical_order(as_graph([[0]]).A, [1])
