"""networkx and SciPy: graphs out and in again, the same as by every other door."""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from minipinet.conversions import from_networkx, networkx_union
from minipinet.datasets import Dataset, dataset_from_graphs, dataset_from_networkx
from minipinet.errors import UsageError
from minipinet.graphs import Graph, as_graph
from minipinet.interop.grakel import to_grakel
from minipinet.interop.networkx import to_networkx
from minipinet.interop.onnx import onnx_inputs
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.union import disjoint_union
from tests.small_doors import logits, mutag, mutag_model, odd_graphs, same_graphs
from tests.strategies import graph_lists


def test_mutag_goes_out_and_comes_back() -> None:
    graphs = to_networkx(mutag())
    assert (
        dataset_from_networkx(graphs, [G.graph["label"] for G in graphs], node_label="label").digest == mutag().digest
    )
    np.testing.assert_array_equal(logits(mutag_model(), graphs), logits(mutag_model(), mutag()))
    assert {type(G) for G in graphs} == {nx.Graph}
    assert type(graphs[0].nodes[0]["label"]) is int


def again(graphs: list[nx.Graph]) -> list[Graph]:
    return [from_networkx(G, node_attributes="x", weight="weight", directed=True) for G in graphs]


def test_odd_graphs_go_out_and_come_back() -> None:
    graphs = [graph for graph in odd_graphs() if graph.N]
    others = to_networkx(graphs)
    assert same_graphs(again(others), graphs)
    assert [G.is_directed() for G in others] == [False, False, False, False, True]
    assert [len(G) for G in to_networkx(odd_graphs())] == [graph.N for graph in odd_graphs()]
    assert to_networkx(mutag()[:0]) == []


@given(graphs=graph_lists())
def test_graphs_of_every_kind_go_out_and_come_back(graphs: list[Graph]) -> None:
    graphs = [graph for graph in graphs if graph.N]
    assert same_graphs(again(to_networkx(graphs)), graphs)
    assert same_graphs(again(to_networkx(disjoint_union(graphs))), graphs)


def test_ids_of_nodes_stay() -> None:
    G = nx.Graph([("b", "a"), ("a", 3)])
    (H,) = to_networkx([from_networkx(G)])
    assert list(H) == ["b", "a", 3]
    assert nx.utils.edges_equal(H.edges, G.edges)


def test_names_are_those_that_the_data_were_read_with() -> None:
    G = nx.path_graph(2)
    nx.set_node_attributes(G, {0: {"atom": "C", "ring": 1, "mass": 12.0}, 1: {"atom": "O", "ring": 0, "mass": 16.0}})
    nx.set_edge_attributes(G, 2, "bond")
    data = dataset_from_networkx([G], [0], node_label=["atom", "ring"], node_attributes="mass", weight="bond")
    (H,) = to_networkx(data)
    assert H.nodes[1] == {"atom": "O", "ring": 0, "mass": 16.0}
    assert H.edges[0, 1] == {"bond": 2.0}
    back = dataset_from_networkx([H], [0], node_label=["atom", "ring"], node_attributes="mass", weight="bond")
    assert back.digest == data.digest


@pytest.mark.parametrize(
    "names",
    [
        {"node_attributes": "xy"},
        {"node_attributes": ["a", "b"]},
        {"node_label": "atom", "node_attributes": ["b", "a"], "features": "both"},
        {"node_label": ["atom", "a"], "weight": "w"},
        {"node_label": "atom", "node_attributes": "xy", "weight": "one", "features": "both"},
    ],
)
@pytest.mark.parametrize("directed", [False, True])
def test_a_model_reads_what_went_out(names: dict[str, Any], directed: bool) -> None:
    graphs = [nx.path_graph(n, nx.DiGraph if directed else nx.Graph) for n in range(2, 6)]
    for G in graphs:
        for i in G:
            G.nodes[i].update(atom="CNO"[i % 3], a=i / 3, b=2.0 - i, xy=[i / 7, 1.0])
        for i, j in G.edges:
            G.edges[i, j].update(w=i + 0.5, one=1)
    data = dataset_from_networkx(graphs, list("abab"), directed=directed, **names)
    model = train_pinet(data, Settings(epochs=1, hidden=4, out=3)).model
    with warnings.catch_warnings(action="error"):
        out = to_networkx(data)
        np.testing.assert_array_equal(model.logits(out), model.logits(data))
        np.testing.assert_array_equal(model.logits(graphs), model.logits(data))


def test_names_that_do_not_tell_the_columns_apart_are_one() -> None:
    G = nx.path_graph(2)
    nx.set_node_attributes(G, {0: {"a": 1.0, "xy": [2, 3]}, 1: {"a": 4, "xy": [5, 6]}})
    data = dataset_from_networkx([G, G], [0, 1], node_attributes=["a", "xy"])
    (H, _) = to_networkx(data)
    assert H.nodes[1] == {"attributes": [4.0, 5.0, 6.0]}
    model = train_pinet(data, Settings(epochs=1, hidden=4, out=3)).model
    np.testing.assert_array_equal(model.logits([H, H], node_attributes="attributes"), model.logits(data))


def test_labels_of_another_source_get_names() -> None:
    labels = np.array([[1, 2], [3, 4]])
    data = dataset_from_graphs([as_graph([[0, 1], [1, 0]])], ["a"])
    two = Dataset(data.name, data.graphs, data.y, data.classes, data.encoder, node_labels=labels)
    (G,) = to_networkx(two)
    assert (G.nodes[1], G.graph) == ({"label_0": 3, "label_1": 4}, {"label": "a"})


def test_nothing_is_shared() -> None:
    graph = as_graph([[0, 2], [2, 0]], [[1.0], [2.0]], weighted=True)
    (G,) = to_networkx([graph])
    G.nodes[0]["x"][0] = 9.0
    G.edges[0, 1]["weight"] = 9.0
    assert (graph.X.max(), graph.A.data.max()) == (2, 2)


@pytest.mark.parametrize("door", [to_networkx, to_grakel, onnx_inputs])
@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        (3, "a Dataset or a list of graphs, got int"),
        ("MUTAG", "a Dataset or a list of graphs, got str"),
        (nx.Graph(), "a Dataset or a list of graphs, got networkx.classes.graph.Graph"),
        (as_graph([[0]]), "a Dataset or a list of graphs, got one Graph: put it in a list"),
        ([nx.Graph()], "a list of minipinet.graphs.Graph, got networkx.classes.graph.Graph as graph 0"),
        (
            [as_graph([[0]]), nx.DiGraph()],
            "a list of minipinet.graphs.Graph, got networkx.classes.digraph.DiGraph as g",
        ),
        ([], "at least one graph, got none"),
    ],
)
def test_what_is_no_graph_does_not_go_out(door: Any, graphs: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"^graphs: expected {message}"):
        door(graphs)


def test_graphs_of_ours_are_no_networkx_graphs() -> None:
    graph = as_graph([[0]])
    with pytest.raises(UsageError, match=r"^G: expected a networkx graph, got minipinet.graphs.Graph; networkx_union"):
        from_networkx(graph)
    with pytest.raises(UsageError, match=r"^graphs: expected networkx graphs, got minipinet.graphs.Graph as graph 1"):
        networkx_union([nx.Graph(), graph])
    with pytest.raises(UsageError, match=r"^encoder: expected a FeatureEncoder, as a data set or model has, got 3"):
        from_networkx(nx.path_graph(2), encoder=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("nodes", [3, [0, 1], (0,), (0, 0), (0, None), (0, [])])
def test_ids_that_are_none(nodes: Any) -> None:
    graph = as_graph([[0, 1], [1, 0]])
    with pytest.raises(UsageError, match=r"^nodes: expected a tuple of 2 different node ids or none, got "):
        Graph(graph.A, graph.X, nodes)


def test_mutag_through_scipy() -> None:
    """A Graph holds a SciPy array, and `as_graph` takes one: no door is needed."""
    for form in (sp.coo_matrix, sp.csc_array, sp.lil_array):
        graphs = [as_graph(form(graph.A), sp.csr_matrix(graph.X)) for graph in mutag()]
        assert same_graphs(graphs, list(mutag()))
        np.testing.assert_array_equal(logits(mutag_model(), graphs), logits(mutag_model(), mutag()))


def test_what_scipy_gives_is_not_changed() -> None:
    A = sp.csr_array(([1.0, 1.0, 0.0], [1, 0, 0], [0, 1, 3]), shape=(2, 2))
    before = [part.copy() for part in (A.data, A.indices, A.indptr)]
    with warnings.catch_warnings(action="error"):
        assert as_graph(A).A.nnz == 2
    for part, was in zip((A.data, A.indices, A.indptr), before, strict=True):
        np.testing.assert_array_equal(part, was)
