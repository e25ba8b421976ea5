"""Receptive fields: known ones by hand, and the same ones however the nodes are numbered."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet._array import Array
from minipinet.baselines.receptive_fields import LABELLINGS, assemble_fields, betweenness, rank_nodes, receptive_fields
from minipinet.datasets import load_dataset
from minipinet.errors import UsageError
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.union import disjoint_union
from tests import tolerances

pytest.importorskip("pynauty", reason="pynauty is in minipinet[kernels]")


def graph_of(graph: networkx.Graph, X: object = None) -> Graph:
    return as_graph(networkx.to_numpy_array(graph), X)


def features(graphs: list[Graph], labelling: str, width: int, size: int) -> Array:
    """Return what the network reads: the feature rows of each field, zeros where there is no node."""
    union = disjoint_union(graphs)
    X = np.vstack([union.X, np.zeros((1, union.X.shape[1]))])
    return X[receptive_fields(union, labelling, width, size)]


def test_a_path_by_hand() -> None:
    """The middle of 0-1-2-3-4 is on most shortest paths; a field goes ring by ring; what is not there is padded."""
    graph = graph_of(networkx.path_graph(5), [10, 11, 12, 13, 14])
    assert betweenness(graph.A).tolist() == [0, 3, 4, 3, 0]
    # Of the tied nodes 1 and 3 the one with the smaller feature comes first, and so of 0 and 4.
    assert rank_nodes(graph.A, graph.X, "betweenness").tolist() == [2, 1, 3, 0, 4]
    fields = features([graph], "betweenness", 6, 4)[0, :, :, 0]
    assert fields.tolist() == [
        [12, 11, 13, 10],
        [11, 12, 10, 13],
        [13, 12, 14, 11],
        [10, 11, 12, 13],
        [14, 13, 12, 11],
        [0, 0, 0, 0],
    ]


def test_a_field_ends_where_its_component_ends() -> None:
    graph = graph_of(networkx.disjoint_union(networkx.path_graph(2), networkx.empty_graph(1)), [1, 2, 3])
    assert features([graph], "nauty", 3, 3)[0, :, :, 0].tolist() == [[1, 2, 0], [2, 1, 0], [3, 0, 0]]


def test_smaller_fields_are_the_beginning_of_larger_ones() -> None:
    union = load_dataset("MUTAG")[:20].graphs
    for labelling in LABELLINGS:
        large = receptive_fields(union, labelling, 30, 12)
        assert np.array_equal(receptive_fields(union, labelling, 15, 4), large[:, :15, :4])


def test_loops_change_nothing_and_no_node_is_twice_in_a_field() -> None:
    graph = networkx.random_regular_graph(3, 10, seed=0)
    plain = graph_of(graph)
    order = rank_nodes(plain.A, plain.X, "nauty")
    fields = assemble_fields(plain.A, order, 10, 10)
    assert all(sorted(field) == list(range(10)) for field in fields.tolist())
    graph.add_edge(0, 0)
    assert np.array_equal(assemble_fields(graph_of(graph).A, order, 10, 10), fields)


def test_edges_count_in_both_directions() -> None:
    one_way = as_graph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [1, 2, 3], directed=True)
    both = as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [1, 2, 3])
    for labelling in LABELLINGS:
        assert np.array_equal(features([one_way], labelling, 3, 3), features([both], labelling, 3, 3))


def test_graphs_without_nodes_or_edges_are_ordinary_members() -> None:
    empty = as_graph(np.zeros((0, 0)), np.zeros((0, 1)))
    dots = as_graph(np.zeros((2, 2)), [2, 1])
    for labelling in LABELLINGS:
        assert features([empty, dots], labelling, 3, 2)[..., 0].tolist() == [
            [[0, 0], [0, 0], [0, 0]],
            [[1, 0], [2, 0], [0, 0]],
        ]


def test_betweenness_is_that_of_networkx_and_rounding_makes_no_difference_of_a_tie() -> None:
    graph = networkx.random_regular_graph(3, 14, seed=1)
    expected = list(networkx.betweenness_centrality(graph, normalized=False).values())
    assert tolerances.relative_error(betweenness(graph_of(graph).A), expected) < tolerances.CLOSED_FORM
    # In a vertex-transitive graph all nodes are equal, whatever the sums of thirds come to: the features decide alone.
    petersen = graph_of(networkx.petersen_graph(), np.arange(10.0)[::-1])
    circulant = graph_of(networkx.circulant_graph(12, [1, 3, 4]), np.arange(12.0)[::-1])
    for symmetric in (petersen, circulant):
        order = rank_nodes(symmetric.A, symmetric.X, "betweenness")
        assert order.tolist() == list(range(symmetric.N))[::-1]


@st.composite
def tied_graphs(draw: st.DrawFn) -> tuple[Graph, Array]:
    """Draw a graph with few labels and many ties, and a permutation of its nodes."""
    n = draw(st.integers(1, 9))
    bits = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    upper = np.triu(np.array(bits, float).reshape(n, n), 1)
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return as_graph(upper + upper.T, np.eye(2)[labels]), np.array(draw(st.permutations(range(n))))


@pytest.mark.invariance
@pytest.mark.parametrize("labelling", LABELLINGS)
@given(drawn=tied_graphs())
def test_case_097_with_canonical_ties_the_fields_do_not_depend_on_the_numbering(
    labelling: str, drawn: tuple[Graph, Array]
) -> None:
    graph, permutation = drawn
    first, second = (features([g], labelling, 6, 4) for g in (graph, permute_nodes(graph, permutation)))
    assert np.array_equal(first, second)


@pytest.mark.invariance
@pytest.mark.parametrize("labelling", LABELLINGS)
def test_case_055_the_fields_of_molecules_do_not_depend_on_the_numbering(labelling: str) -> None:
    rng = np.random.default_rng(0)
    graphs = list(load_dataset("MUTAG")[::2])
    expected = features(graphs, labelling, 20, 10)
    for _ in range(3):
        renumbered = [permute_nodes(graph, rng.permutation(graph.N)) for graph in graphs]
        assert np.array_equal(features(renumbered, labelling, 20, 10), expected)


@pytest.mark.invariance
def test_without_canonical_ties_the_fields_do_depend_on_the_numbering() -> None:
    """Ranked by centrality and label alone, tied nodes in the order of their numbers: the negative control."""
    rng = np.random.default_rng(0)

    def read(graph: Graph) -> Array:
        levels = betweenness(graph.A).round(9)
        order = np.lexsort((*graph.X.T[::-1], -levels))
        X = np.vstack([graph.X, np.zeros((1, graph.d))])
        return X[assemble_fields(graph.A, order, 20, 10)]

    graphs = list(load_dataset("MUTAG"))
    changed = [not np.array_equal(read(g), read(permute_nodes(g, rng.permutation(g.N)))) for g in graphs]
    assert np.mean(changed) > 0.2


def test_an_unknown_labelling_is_named() -> None:
    graph = as_graph([[0]])
    with pytest.raises(UsageError, match="labelling: expected one of 'betweenness', 'nauty', got 'degree'"):
        rank_nodes(graph.A, graph.X, "degree")
