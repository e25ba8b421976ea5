"""Data sets of networkx graphs: one call from graphs and classes to something a model is trained on."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from minipinet.conversions import networkx_union
from minipinet.datasets import FeatureEncoder, dataset_from_networkx, load_dataset, refit_encoder
from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import as_graph
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_data import same_bits

TINY = Settings(epochs=1, hidden=4, out=2)


def chain(atoms: Any, **attributes: Any) -> nx.Graph:
    """Return a chain of atoms with their "atom" and other node attributes."""
    G = nx.path_graph(len(atoms))
    for name, values in {"atom": atoms, **attributes}.items():
        nx.set_node_attributes(G, dict(enumerate(values)), name)
    return G


WATER, METHANE, EMPTY = chain("HOH"), chain("HC"), nx.Graph()


@pytest.mark.parametrize(
    ("labels", "classes", "y"),
    [
        (["wet", "dry", "dry"], ("dry", "wet"), [1, 0, 0]),
        ([7, -1, 7], (-1, 7), [1, 0, 1]),
        ([True, False, False], (False, True), [1, 0, 0]),
        (np.array([[2.0], [1.0], [2.0]]), (1, 2), [1, 0, 1]),
    ],
)
def test_classes_of_any_kind(labels: Any, classes: tuple[Any, ...], y: list[int]) -> None:
    data = dataset_from_networkx([WATER, METHANE, EMPTY], labels, node_label="atom")
    assert (data.classes, data.y.tolist(), data.name) == (classes, y, "networkx")
    assert data.graphs.ptr.tolist() == [0, 3, 5, 5]
    assert data.encoder == FeatureEncoder("labels", (("C", "H", "O"),))
    assert data.graphs.X.tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert data.graphs.A.toarray()[:3, :3].tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_case_028_the_same_set_through_files_and_networkx() -> None:
    mutag = load_dataset("MUTAG")
    assert mutag.node_labels is not None
    graphs = []
    for g, graph in enumerate(mutag):
        G = nx.Graph()
        labels = mutag.node_labels[mutag.graphs.ptr[g] : mutag.graphs.ptr[g + 1], 0]
        G.add_nodes_from((f"atom {i}", {"type": label}) for i, label in enumerate(labels))
        G.add_edges_from((f"atom {i}", f"atom {j}") for i, j in zip(*graph.A.nonzero(), strict=True))
        graphs.append(G)
    data = dataset_from_networkx((G for G in graphs), mutag.labels, node_label="type", name="MUTAG")
    assert data.digest == mutag.digest
    assert repr(data) == repr(mutag)
    np.testing.assert_array_equal(data.graphs.X, mutag.graphs.X)


@pytest.mark.parametrize(
    ("options", "kind", "first"),
    [
        ({}, "constant", [1]),
        ({"features": "degree"}, "degree", [1, 0]),
        ({"node_label": "atom"}, "labels", [1, 0]),
        ({"node_attributes": ["charge", "place"]}, "attributes", [0.5, 1, 2]),
        ({"node_label": "atom", "node_attributes": "charge"}, "both", [1, 0, 0.5]),
        ({"node_label": "atom", "node_attributes": "charge", "features": "labels"}, "labels", [1, 0]),
        ({"node_label": ["atom", "charge"]}, "labels", [1, 0, 1, 0]),
    ],
)
def test_features_are_what_is_named(options: dict[str, Any], kind: str, first: list[float]) -> None:
    G = chain("HOH", charge=[0.5, 1, 0.5], place=[(1, 2), (3, 4), (5, 6)])
    with warnings.catch_warnings(action="ignore" if not options else "error"):
        data = dataset_from_networkx([G], [0], **options)
    assert data.encoder.kind == kind
    assert data.graphs.X[0].tolist() == first
    assert (data.attributes is None) == ("node_attributes" not in options)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("labels", "'labels' needs node labels, and there are none"),
        ("both", "'both' needs node attributes, and there are none|'both' needs node labels, and there are none"),
        ("one-hot", "features: expected one of 'labels'"),
    ],
)
def test_features_that_nothing_is_named_for(features: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dataset_from_networkx([WATER], [0], features=features)


def test_case_121_a_model_trained_on_them_labels_more_of_them() -> None:
    data = dataset_from_networkx([WATER, METHANE, WATER, METHANE], ["wet", "dry"] * 2, node_label="atom")
    model = train_pinet(data, TINY).model
    with pytest.warns(Notice, match="^1 of 2 graphs has no node: its scores say nothing$"):
        assert set(model.predict([WATER, EMPTY])) <= {"wet", "dry"}
    assert same_bits(model.logits([WATER, METHANE]), model.logits(data[:2]))
    with pytest.warns(Notice, match=r"1 node has an unknown node label: 'Xe' \(known: 'C', 'H', 'O'\)") as notices:
        logits = model.logits([chain(["H", "Xe", "H"])])
    assert len(notices) == 1
    X = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    assert same_bits(logits, model.logits([as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], X)]))


def test_node_data_that_is_not_used_is_named_with_what_uses_it() -> None:
    graphs = [chain("HOH", charge=[0, 1, 0]), nx.path_graph(2), chain("H")]
    with pytest.warns(Notice) as notices:
        data = dataset_from_networkx(graphs, [0, 1, 1])
    assert tuple(str(notice.message) for notice in notices) == data.notices
    assert data.notices == (
        "the nodes carry data that is not used: 'atom', 'charge'; every node has the one feature 1 (name types, such "
        "as an atom's, in node_label= and numbers in node_attributes=; or say features='constant')",
    )
    with warnings.catch_warnings(action="error"):  # what was asked for needs no notice
        assert dataset_from_networkx(graphs, [0, 1, 1], features="constant").notices == ()
        assert dataset_from_networkx(graphs, [0, 1, 1], features="degree").notices == ()
        assert dataset_from_networkx([nx.path_graph(2)], [0]).notices == ()


def test_notices_come_once_for_the_whole_set() -> None:
    graphs = [nx.DiGraph([(0, 1), (1, 2)]), nx.DiGraph([(0, 1)]), nx.MultiGraph([(0, 1), (0, 1)])]
    with pytest.warns(Notice) as notices:
        data = dataset_from_networkx(graphs, [0, 1, 1])
    assert tuple(str(notice.message) for notice in notices) == data.notices
    assert len(data.notices) == 2
    assert {notice.filename for notice in notices} == {__file__}
    assert data.notices[1].startswith("3 arcs joined both ways")


def test_weights_direction_and_defaults_are_passed_on() -> None:
    G = nx.DiGraph()
    G.add_edge(0, 1, bond=2.0)
    G.add_edge(1, 2)
    options: dict[str, Any] = {"weight": "bond", "directed": True, "node_attributes": "charge"}
    options["default"] = {"bond": 3.0, "charge": 9}
    data = dataset_from_networkx([G], [0], **options)
    expected = networkx_union([G], **options)
    assert data.graphs.A.toarray().tolist() == expected.A.toarray().tolist() == [[0, 2, 0], [0, 0, 3], [0, 0, 0]]
    assert data.graphs.X.tolist() == expected.X.tolist() == [[9], [9], [9]]


@pytest.mark.parametrize("options", [{"node_label": "atom"}, {"node_attributes": "atom"}])
def test_a_missing_attribute_is_named_with_its_graph_and_node(options: dict[str, Any]) -> None:
    bare = chain([1, 2])
    del bare.nodes[1]["atom"]
    with pytest.raises(DataError, match="graph 2: node 1 has no attribute 'atom'"):
        dataset_from_networkx([chain([3]), EMPTY, bare], [0, 1, 0], **options)


@pytest.mark.parametrize(
    ("graphs", "labels", "message"),
    [
        ([WATER, METHANE], [0], "labels: expected 2, one for each graph, got 1"),
        ([WATER], [0, 1], "labels: expected 1, one for each graph, got 2"),
        ([WATER], [0.5], "labels: expected classes, got 0.5"),
        ([WATER, METHANE], [0, "a"], "labels: expected numbers or strings, one kind only"),
        ([], [], "graphs: expected at least one graph"),
        (WATER, [0], "graphs: expected a sequence of networkx graphs, got one networkx.classes.graph.Graph"),
        ([as_graph([[0]])], [0], "graphs: expected networkx graphs, got minipinet.graphs.Graph as graph 0"),
        ([WATER, chain([8])], [0, 1], "node_label: expected numbers or strings, one kind only, got int, str"),
    ],
)
def test_what_makes_no_data_set(graphs: Any, labels: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dataset_from_networkx(graphs, labels, node_label="atom")


def test_a_column_of_strings_beside_one_of_numbers() -> None:
    graphs = [chain("HOH", charge=[1, -2, 1]), chain("OH", charge=[-1, 1])]
    data = dataset_from_networkx(graphs, ["a", "b"], node_label=["atom", "charge"])
    assert data.encoder.vocabularies == (("H", "O"), (-2, -1, 1))
    assert data.graphs.X[1].tolist() == [0, 1, 1, 0, 0]
    assert FeatureEncoder.from_json(json.loads(json.dumps(data.encoder.to_json()))) == data.encoder
    assert data[[1]].graphs.X.tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1]]
    with pytest.warns(Notice, match=r"1 node has an unknown node label \(column 2\): -1 "):
        assert refit_encoder(data, [0]).encoder.vocabularies == (("H", "O"), (-2, 1))
    model = train_pinet(data, TINY).model
    with warnings.catch_warnings(action="error"):
        logits = model.logits(graphs)
    assert same_bits(logits, model.logits(data))
    with pytest.warns(Notice, match=r"no node has a known node label \(column 2\): got 5 "):
        model.predict([chain("O", charge=[5])])


def test_the_digest_tells_labels_of_different_kinds_apart() -> None:
    def digest(charge: Any) -> str:
        return dataset_from_networkx([chain("OH", charge=charge)], [0], node_label=["atom", "charge"]).digest

    assert len({digest([-1, 1]), digest([-1, 2]), digest(["-1", "1"])}) == 3
    assert digest([-1, 1]) == digest([-1.0, np.int8(1)])
    data = dataset_from_networkx([WATER], [0], node_label="atom")
    assert data.node_labels is not None
    assert replace(data, node_labels=data.node_labels[::-1]).digest == data.digest
    assert replace(data, node_labels=data.node_labels[[1, 0, 2]]).digest != data.digest
