"""GraKeL's format in and out, and GraKeL itself where it is installed."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from minipinet.conversions import from_networkx
from minipinet.datasets import dataset_from_networkx
from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import as_graph
from minipinet.interop.grakel import from_grakel, to_grakel
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.union import disjoint_union
from tests.small_data import python
from tests.small_doors import logits, mutag, mutag_model, odd_graphs, same_graphs

#: A path of three nodes in every form that GraKeL knows.
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
PAIRS = [(0, 1), (1, 0), (1, 2), (2, 1)]
FORMS: dict[str, Any] = {
    "set of pairs": set(PAIRS),
    "frozenset of pairs": frozenset(PAIRS),
    "list of pairs": PAIRS,
    "lists of two": [list(pair) for pair in PAIRS],
    "triples": [(*pair, 1.0) for pair in PAIRS],
    "pairs to weights": dict.fromkeys(PAIRS, 1.0),
    "neighbours": {0: [1], 1: [0, 2], 2: [1]},
    "neighbours with weights": {0: {1: 1.0}, 1: {0: 1.0, 2: 1.0}, 2: {1: 1.0}},
    "dense": PATH,
    "nested lists": PATH.tolist(),
    "sparse": sp.csr_array(PATH),
}
LABELS = {0: "C", 1: "O", 2: "C"}


def test_mutag_goes_out_and_comes_back() -> None:
    graphs = from_grakel(to_grakel(mutag()))
    again = dataset_from_networkx(graphs, mutag().labels, node_label="label")
    assert again.digest == mutag().digest
    np.testing.assert_array_equal(logits(mutag_model(), graphs), logits(mutag_model(), mutag()))


def test_odd_graphs_go_out_and_come_back() -> None:
    graphs = odd_graphs()
    others = from_grakel(to_grakel(graphs))
    read = [from_networkx(G, node_attributes="label", weight="weight", directed=True) for G in others if len(G)]
    assert same_graphs(read, [graph for graph in graphs if graph.N])
    assert [len(G) for G in others] == [graph.N for graph in graphs]
    assert to_grakel(disjoint_union(graphs)) == to_grakel(graphs)


@pytest.mark.parametrize("names", [{"node_label": "atom"}, {"node_attributes": ["a", "b"]}])
@pytest.mark.parametrize("weight", [None, "w", "one"])
def test_a_model_reads_what_went_out_under_the_names_of_the_format(names: dict[str, Any], weight: str | None) -> None:
    graphs = [nx.path_graph(n) for n in range(2, 6)]
    for G in graphs:
        for i in G:
            G.nodes[i].update(atom="CNO"[i % 3], a=i / 3, b=2.0 - i)
        for i, j in G.edges:
            G.edges[i, j].update(w=i + 0.5, one=1)
    data = dataset_from_networkx(graphs, list("abab"), weight=weight, **names)
    model = train_pinet(data, Settings(epochs=1, hidden=4, out=3)).model
    read: dict[str, Any] = {**dict.fromkeys(names, "label"), **({"weight": "weight"} if weight else {})}
    with warnings.catch_warnings(action="error"):
        np.testing.assert_array_equal(model.logits(from_grakel(to_grakel(data)), **read), model.logits(data))


def test_lists_that_are_as_many_as_long_are_a_matrix_and_tuples_are_edges() -> None:
    triples = [[0, 1, 2], [1, 0, 2], [1, 2, 3]]
    (matrix,), (edges,) = from_grakel([[triples]]), from_grakel([[[tuple(triple) for triple in triples]]])
    assert nx.to_numpy_array(matrix).tolist() == triples
    assert list(edges.edges(data="weight")) == [(0, 1, 2), (1, 0, 2), (1, 2, 3)]
    pairs = np.array(PAIRS)
    with pytest.raises(DataError, match=r"got ndarray of shape \(4, 2\); edges go in as tuples, not as an array$"):
        from_grakel([[pairs]])
    (back,) = from_grakel([[[tuple(pair) for pair in pairs.tolist()]]])
    assert set(back.edges) == set(PAIRS)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_graph(form: str) -> None:
    given = copy.deepcopy(FORMS[form])
    (G,) = from_grakel([[given, LABELS, {}]])
    assert list(G) == [0, 1, 2]
    assert dict(G.nodes(data="label")) == LABELS
    assert nx.to_numpy_array(G).tolist() == PATH.tolist()
    (bare,) = from_grakel([(given,)])
    assert set(bare.edges) == set(PAIRS)
    assert repr(given) == repr(FORMS[form])


def test_weights_and_labels_of_edges() -> None:
    (G,) = from_grakel([({("a", "b"): 2.0, ("b", "a"): 2.0}, {"c": 5, "a": 6, "b": 5}, {("a", "b"): "double"})])
    assert list(G.nodes(data="label")) == [("c", 5), ("a", 6), ("b", 5)]
    assert G.edges["a", "b"] == {"weight": 2.0, "label": "double"}
    with pytest.warns(Notice, match="2 edges with a weight other than 1 taken as 1"):
        assert dataset_from_networkx([G], [0], node_label="label")[0].deg.tolist() == [0, 1, 1]
    assert dataset_from_networkx([G], [0], node_label="label", weight="weight")[0].deg.tolist() == [0, 2, 2]


def test_one_way_and_unlabelled() -> None:
    graphs = from_grakel([[{(0, 1)}, {0: 1}], [[], {0: 1, 1: 1}], [np.zeros((0, 0)), None]])
    assert [len(G) for G in graphs] == [2, 2, 0]
    with pytest.raises(DataError, match="graph 0: node 1 has no attribute 'label'"):
        dataset_from_networkx(graphs, [0, 1, 0], node_label="label")
    with pytest.warns(Notice, match="1 arc joined both ways"):
        dataset_from_networkx(graphs, [0, 1, 0], node_label="label", default=1)


def test_nodes_of_a_set_come_in_one_order() -> None:
    code = (
        "from minipinet.interop.grakel import from_grakel\n"
        "print(*map(list, from_grakel([[{('b', 'a'), ('a', 3), (3, 'c')}]])))"
    )
    assert len({python(code).stdout for _ in range(4)}) == 1


def test_several_labels_and_none() -> None:
    G = nx.Graph()
    G.add_node(0, a=1, b="x")
    data = dataset_from_networkx([G], [0], node_label=["a", "b"])
    assert to_grakel(data) == [[set(), {0: (1, "x")}, {}]]
    assert to_grakel([as_graph([[0]], [[0.5, 2.0]])]) == [[set(), {0: (0.5, 2.0)}, {}]]
    assert to_grakel([as_graph([[2.0]], weighted=True)]) == [[{(0, 0): 2.0}, {0: (1.0,)}, {}]]
    assert to_grakel(mutag()[:0]) == []


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        (3, UsageError, "graphs: expected a sequence of graphs, got int"),
        ([], UsageError, "graphs: expected at least one graph, got none"),
        ("text", UsageError, "graphs: expected a sequence of graphs, got str"),
        ([[{(None, 1)}]], DataError, r"graphs: graph 0: .* got something else \(None is no node\)"),
        ([[PAIRS, {None: "C"}]], DataError, "graphs: graph 0: node label for None, which is no node"),
        ([[[{0, 1}]]], DataError, r"graphs: graph 0: .* \(\{0, 1\} is no edge\)"),
        ({0: 1}, UsageError, "graphs: expected a sequence of graphs, got dict"),
        ([[PAIRS], PATH], UsageError, r"graphs: graph 1: expected \[graph, node_labels, edge_labels\], .* got ndarray"),
        ([[PAIRS], [PAIRS, {}, {}, {}]], UsageError, "graphs: graph 1: expected"),
        (
            [[PAIRS], [PAIRS, ["C", "O"]]],
            DataError,
            "graphs: graph 1: expected node labels as a mapping or None, got l",
        ),
        ([[PAIRS, {}, [1]]], DataError, "graphs: graph 0: expected edge labels as a mapping or None, got list"),
        ([[PAIRS, {}, {(0, 2): 1}]], DataError, r"graphs: graph 0: edge label for \(0, 2\), which is no edge of it"),
        ([[PAIRS, {}, {0: 1}]], DataError, "graphs: graph 0: edge label for 0, which is no edge of it"),
        ([[PATH, {7: "C"}]], DataError, "graphs: graph 0: node labels for 7, but the matrix has 3 nodes, from 0"),
        ([[PATH[:2]]], DataError, "graphs: graph 0: matrix: expected a square matrix, got ndarray of shape"),
        ([[-PATH]], DataError, r"graphs: graph 0: matrix: expected finite weights .* matrix\[0, 1\] = -1"),
        ([[np.array([["a"]])]], DataError, "graphs: graph 0: matrix: expected real numbers, got dtype <U1"),
        ([[5]], DataError, "graphs: graph 0: expected a square matrix, pairs or .* got int"),
        ([["text"]], DataError, "graphs: graph 0: expected a square matrix, pairs or .* got str"),
        ([[{(0, 1, 2, 3)}]], DataError, r"graphs: graph 0: .* got something else \(\(0, 1, 2, 3\) is no edge\)"),
        ([[["ab"]]], DataError, r"graphs: graph 0: .* \('ab' is no edge\)"),
        ([[{(0, 1), 5}]], DataError, "graphs: graph 0: expected .* got something else"),
        ([[{0: 1.0}]], DataError, r"graphs: graph 0: .* \(0 is no pair of nodes\)"),
        ([[[({}, 1)]]], DataError, "graphs: graph 0: expected .* got something else"),
    ],
)
def test_graphs_that_are_none(graphs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_grakel(graphs)


def test_what_is_no_graph_does_not_go_out() -> None:
    with pytest.raises(UsageError, match="graphs: expected a Dataset or a list of graphs, got int"):
        to_grakel(3)


def test_a_kernel_takes_it() -> None:
    pytest.importorskip("grakel", reason="grakel is in minipinet[kernels]")
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    part = mutag()[:12]
    with warnings.catch_warnings(action="ignore"):
        K = WeisfeilerLehman(n_iter=1, base_graph_kernel=VertexHistogram).fit_transform(to_grakel(part))
    counts = np.array([graph.X.sum(axis=0) for graph in part])
    # At depth 0 the kernel counts pairs of equal labels; a refinement adds the pairs whose neighbours agree too.
    assert (K >= counts @ counts.T).all()
    assert (K <= 2 * counts @ counts.T).all()
