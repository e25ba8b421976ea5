"""PiNetClassifier: graphs of every kind and how they are read, notices, and bad input."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from minipinet.errors import DataError, DivergedError, Notice, UsageError
from minipinet.estimator import PiNetClassifier
from minipinet.graphs import as_graph
from tests.small_data import same_bits
from tests.small_estimator import LABELS, MOLECULES, PAIRS, classifier

GRAPHS = [as_graph(A, X) for A, X in PAIRS]
A, X1 = np.eye(2), np.ones((2, 1))


def test_matrices_of_any_container_graphs_and_networkx_give_one_model() -> None:
    forms: list[Any] = [
        GRAPHS,
        tuple(GRAPHS),
        np.array([*GRAPHS, None], dtype=object)[:-1],
        PAIRS,
        [(scipy.sparse.coo_matrix(A), scipy.sparse.csr_array(X)) for A, X in PAIRS],
        [(A.tolist(), X.tolist()) for A, X in PAIRS],
    ]
    expected = classifier().fit(GRAPHS, LABELS).predict_proba(GRAPHS)
    assert expected.shape == (12, 3)
    for form in forms:
        clf = classifier().fit(form, LABELS)
        assert same_bits(clf.predict_proba(form), expected)
        assert clf.n_features_in_ == 2
    # Two graphs in a tuple are not taken for a pair of a matrix and features.
    assert classifier().fit((GRAPHS[0], GRAPHS[1]), ["a", "b"]).predict((GRAPHS[0], GRAPHS[1])).shape == (2,)
    # networkx: the labels as features, one column for each.
    clf = classifier(node_label="atom").fit(MOLECULES, LABELS)
    pairs = [(nx.to_numpy_array(G), clf.model_.encoder.encode([G.nodes[v]["atom"] for v in G], None, np.ones(len(G))))
             for G in MOLECULES]  # fmt: skip
    assert same_bits(classifier().fit(pairs, LABELS).predict_proba(pairs), clf.predict_proba(MOLECULES))


def test_features_left_out_are_one_feature() -> None:
    alone = [(A, None) for A, _ in PAIRS]
    ones = [(A, np.ones(len(A))) for A, _ in PAIRS]
    clf = classifier().fit(alone, LABELS)
    assert clf.n_features_in_ == 1
    assert same_bits(clf.predict_proba(alone), clf.predict_proba(ones))


def test_the_vocabulary_is_that_of_the_training_graphs() -> None:
    clf = classifier(node_label="atom").fit(MOLECULES, LABELS)
    assert clf.model_.encoder.vocabularies == (("C", "O"),)
    strange, known = MOLECULES[0].copy(), MOLECULES[0].copy()
    strange.nodes[0]["atom"] = "Xe"
    with pytest.warns(Notice, match=r"1 node has an unknown node label: 'Xe' \(known: 'C', 'O'\)"):
        found = clf.predict_proba([strange])
    X = clf.model_.encoder.encode([known.nodes[v]["atom"] for v in known], None, np.ones(len(known)))
    X[0] = 0
    assert same_bits(found, clf.predict_proba([(nx.to_numpy_array(known), X)]))


def test_options_of_reading_are_those_of_training() -> None:
    weighted = [(A * 2.5, X) for A, X in PAIRS]
    clf = classifier(weight=True).fit(weighted, LABELS)
    assert not same_bits(clf.predict_proba(weighted), clf.predict_proba(PAIRS))
    with pytest.warns(Notice, match=r"X: \d+ edges with weight .* taken as 1 \(weight=True keeps it\)$") as seen:
        classifier().fit(weighted, LABELS)
    assert len(seen) == 1
    arcs = [(np.triu(A), X) for A, X in PAIRS]
    directed = classifier(directed=True).fit(arcs, LABELS)
    assert not same_bits(directed.predict_proba(arcs), directed.predict_proba(PAIRS))
    with pytest.warns(Notice, match="entries of A added or raised to make it symmetric"):
        mirrored = classifier().fit(arcs, LABELS)
    assert same_bits(mirrored.predict_proba(PAIRS), classifier().fit(PAIRS, LABELS).predict_proba(PAIRS))
    bare = nx.path_graph(3)
    with pytest.raises(DataError, match="graph 0: node 0 has no attribute 'atom'"):
        classifier(node_label="atom").fit(MOLECULES, LABELS).predict([bare])
    stand_in = classifier(node_label="atom", default={"atom": "C"}).fit(MOLECULES, LABELS)
    nx.set_node_attributes(with_labels := bare.copy(), "C", "atom")
    assert same_bits(stand_in.predict_proba([bare]), stand_in.predict_proba([with_labels]))


def test_an_entry_that_is_repeated_is_told_as_such() -> None:
    rows, cols, N = [0, 0, 0, 1, 2, 1, 2], [1, 1, 2, 0, 0, 2, 1], 3  # 0, 1 twice; 1, 2 only as stored zeros
    weights, X = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0], np.arange(6.0).reshape(3, 2)
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(np.array(rows)[order], np.arange(N + 1))
    twice = scipy.sparse.csr_matrix((np.array(weights)[order], np.array(cols)[order], indptr), shape=(N, N))
    once = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    with pytest.warns(Notice) as seen:
        clf = classifier().fit([(twice, X), (np.eye(3), X)], ["a", "b"])
    assert [str(notice.message) for notice in seen] == ["X: 1 repeated edge counted once (weight=True adds weights up)"]
    same = classifier().fit([(once, X), (np.eye(3), X)], ["a", "b"])
    assert same_bits(clf.predict_proba([(once, X)]), same.predict_proba([(once, X)]))
    added = np.array([[0, 2, 1], [2, 0, 0], [1, 0, 0]])
    with pytest.warns(Notice, match=r"^X: 1 entry of A added or raised to make it symmetric"):
        clf = classifier(weight=True).fit([(twice, X), (np.eye(3), X)], ["a", "b"])
    same = classifier(weight=True).fit([(added, X), (np.eye(3), X)], ["a", "b"])
    assert same_bits(clf.predict_proba([(added, X)]), same.predict_proba([(added, X)]))


@pytest.mark.parametrize(
    ("graphs", "y", "params", "message"),
    [
        (GRAPHS[0], ["a"], {}, r"X: expected a sequence of graphs, got one Graph; \[graph\] is a sequence of one"),
        (nx.path_graph(3), ["a"], {}, "got one networkx graph"),
        (PAIRS[0], ["a"], {}, r"got one \(A, X\) pair"),
        (7, ["a"], {}, "X: expected a sequence of graphs, got int"),
        (np.array(7), ["a"], {}, "X: expected a sequence of graphs, got ndarray"),
        ([], [], {}, "X: expected at least one graph, got none"),
        ((), [], {}, "X: expected at least one graph, got none"),
        (np.ones((3, 4)), [0, 1, 0], {}, "got ndarray as graph 0"),
        ([(A, X1, "a")], ["a"], {}, "got tuple as graph 0"),
        (["CCO"], ["a"], {}, "got str as graph 0"),
        ([PAIRS[0], GRAPHS[0]], "ab", {}, r"of one kind, got a \(A, X\) pair as graph 0, a Graph as graph 1"),
        ([(A, X1), (A[:1], X1)], ["a", "b"], {}, "X: graph 1: A: expected a square matrix"),
        ([(A, X1), (-A, X1)], ["a", "b"], {}, r"X: graph 1: A: expected finite weights .* = -1.0"),
        ([(A, X1), (A, X1 * np.nan)], ["a", "b"], {}, r"X: graph 1: X: expected finite features, got X\[0, 0\] = nan"),
        (
            [(A, X1), (np.full((2, 2), 1e308), X1)],
            ["a", "b"],
            {"weight": True},
            "X: graph 1: weights: those of node 0 add up to more than float64 can hold",
        ),
        ([(A, X1), (A, [1, 2, 3])], ["a", "b"], {}, "X: graph 1: X: expected 2 rows, one for each node"),
        ([(A, X1), (A, A)], ["a", "b"], {}, "graph 1 has 2 features a node, graph 0 has 1"),
        (GRAPHS, LABELS[:5], {}, "y: expected 12 classes, one for each graph, got 5"),
        (GRAPHS, None, {}, "y: fit requires y to be passed"),
        (GRAPHS, ["a"] * 12, {}, "y: expected graphs of at least 2 classes"),
        (GRAPHS, [None, *LABELS[1:]], {}, "y: expected numbers or strings"),
        (GRAPHS, [np.nan, *range(11)], {}, "y: expected finite numbers or strings, got nan"),
        (GRAPHS, np.linspace(0, 1, 12), {}, "Unknown label type: continuous"),
        (
            GRAPHS,
            LABELS,
            {"node_label": "atom"},
            "node_label: expected only with networkx graphs, got .atom.",
        ),
        (
            GRAPHS,
            LABELS,
            {"weight": "w"},
            r"weight: expected only with networkx graphs or .* pairs, got 'w' with a Graph",
        ),
        (
            PAIRS,
            LABELS,
            {"weight": "w"},
            r"weight: expected True \(keep the entries of A\) or None with .* pairs, got 'w'",
        ),
        (MOLECULES, LABELS, {"weight": True}, "weight: expected the name of an edge attribute or None, got True"),
        (GRAPHS, LABELS, {"directed": True}, r"directed: expected only with networkx graphs or \(A, X\) pairs"),
        (GRAPHS, LABELS, {"default": 0}, "default: expected only with networkx graphs, got 0"),
        (PAIRS, LABELS, {"features": "degree"}, "features: expected only with networkx graphs, got 'degree' with a .A"),
        (PAIRS, LABELS, {"directed": 2}, "directed: expected True or False, got 2"),
        (MOLECULES, LABELS, {"node_label": "colour"}, "graph 0: node 0 has no attribute 'colour', only 'atom'"),
        (MOLECULES, LABELS, {"node_label": "atom", "features": "both"}, "features: 'both' needs node attributes"),
        (GRAPHS, LABELS, {"epochs": 0}, "epochs: expected a whole number of at least 1, got 0"),
        (GRAPHS, LABELS, {"device": "gpu"}, "device: expected 'cpu', 'cuda' or 'auto', got 'gpu'"),
        (GRAPHS, LABELS, {"patience": 3}, "patience: early stopping needs a validation part"),
        (GRAPHS, LABELS, {"validation": 0.05}, "validation: 0.05 of 12 training graphs cannot be held out"),
        (GRAPHS, LABELS, {"random_state": -1}, "random_state: expected a whole number of at least 0, got -1"),
        (GRAPHS, LABELS, {"random_state": "0"}, "random_state: expected an int, a RandomState, a Generator or None"),
        (GRAPHS, LABELS, {"random_state": np.random}, "random_state: expected an int, a RandomState"),
    ],
)
def test_bad_input_is_one_sentence_that_names_it(graphs: Any, y: Any, params: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        classifier(**params).fit(graphs, y)
    assert isinstance(caught.value, UsageError | DataError) or message.startswith("Unknown")
    assert "\n" not in str(caught.value)


def test_bad_input_after_training() -> None:
    clf = classifier().fit(GRAPHS, LABELS)
    for method in (clf.predict, clf.predict_proba, clf.transform):
        with pytest.raises(UsageError, match="X: expected 2 features a node, as in training, got 1"):
            method([(A, X1)])
        with pytest.raises(UsageError, match="X: expected at least one graph, got none"):
            method([])
    for wrong, found in [(None, "NoneType"), ([GRAPHS[0]], "list"), (A, "ndarray")]:
        with pytest.raises(UsageError, match=rf"^graph: expected a Graph, a networkx graph or .* pair, got {found}$"):
            clf.attention(wrong)
    with pytest.raises(UsageError, match="graph: expected 2 features a node, as in training, got 1"):
        clf.attention((A, X1))
    with pytest.raises(UsageError, match=r"^X: this model was fitted on graphs that were no networkx graphs, got netw"):
        clf.predict(MOLECULES)
    pairs = classifier().fit(PAIRS, LABELS)
    for method in (pairs.predict, pairs.predict_proba, pairs.transform):
        with pytest.raises(UsageError, match=r"^X: this model was fitted on \(A, X\) pairs, got networkx graphs$"):
            method(MOLECULES)
    with pytest.raises(UsageError, match=r"^graph: this model was fitted on \(A, X\) pairs, got networkx graphs$"):
        pairs.attention(MOLECULES[0])
    with pytest.raises(UsageError, match="graph: graph 0: A: expected a square matrix"):
        clf.attention((A[:1], X1))
    with pytest.raises(DivergedError, match="try an lr below"):
        classifier(lr=1e30, epochs=3).fit(GRAPHS, LABELS)


def test_the_callers_objects_are_not_changed() -> None:
    pairs = [(scipy.sparse.csr_array(A), X.copy()) for A, X in PAIRS]
    y = np.array(LABELS)
    for array in (y, *(part for A, X in pairs for part in (A.data, A.indices, A.indptr, X))):
        array.flags.writeable = False
    molecules = [G.copy() for G in MOLECULES]
    classifier().fit(pairs, y).transform(pairs)
    classifier(node_label="atom").fit(molecules, y).predict(molecules)
    for G, H in zip(molecules, MOLECULES, strict=True):
        assert nx.utils.graphs_equal(G, H)


@pytest.mark.parametrize("y", [[1, "a"] * 4, [True, "a"] * 4, (1.5, "a") * 4])
def test_classes_of_several_kinds_are_refused_in_a_list_too(y: Any) -> None:
    graphs = [nx.path_graph(3), nx.cycle_graph(4)] * 4
    with pytest.raises(UsageError, match=r"^y: expected numbers or strings, one kind only"):
        PiNetClassifier(epochs=1, hidden=2, out=2).fit(graphs, y)


def test_graphs_without_nodes_are_counted_in_training_and_after() -> None:
    empty = as_graph(np.zeros((0, 0)), np.zeros((0, 2)))
    with pytest.warns(Notice, match="^1 of 13 graphs has no node: its scores say nothing$") as seen:
        clf = classifier().fit([*GRAPHS, empty], [*LABELS, "a"])
    assert len(seen) == 1
    for method in (clf.predict, clf.predict_proba, clf.transform):
        with pytest.warns(Notice, match="^2 of 3 graphs have no node: their scores say nothing$") as seen:
            method([empty, GRAPHS[0], empty])
        assert len(seen) == 1
    with pytest.warns(Notice, match="^1 of 1 graph has no node"):
        clf.attention(empty)


def test_a_fitted_model_reads_graphs_as_in_training_whatever_its_parameters_are_now() -> None:
    arcs = [(np.triu(A) * 2.5, X) for A, X in PAIRS]
    clf = classifier(weight=True, directed=True).fit(arcs, LABELS)
    expected = clf.predict_proba(arcs)
    clf.set_params(weight=None, directed=False)
    assert same_bits(clf.predict_proba(arcs), expected)
    molecules = [G.copy() for G in MOLECULES]
    for G in molecules:
        nx.set_edge_attributes(G, 2.5, "bond")
    clf = classifier(node_label="atom", weight="bond").fit(molecules, LABELS)
    expected = clf.predict_proba(molecules)
    clf.set_params(node_label=None, features="degree", weight=None, merge=False)
    assert same_bits(clf.predict_proba(molecules), expected)
    # A stand-in is no part of the model: it can be given, or changed, later.
    del molecules[0].nodes[0]["atom"]
    assert clf.set_params(default={"atom": "C"}).predict(molecules[:1]).shape == (1,)
