"""PiNetClassifier: graphs of every kind, bad input, chance, early stopping, the pooled representation."""

from __future__ import annotations

import random
import warnings
from dataclasses import fields
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import minipinet
from minipinet import reference
from minipinet.datasets import load_dataset
from minipinet.errors import DataError, DivergedError, Notice, UsageError
from minipinet.estimator import PiNetClassifier
from minipinet.graphs import Graph, as_graph
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_data import same_bits, two_kinds
from tests.small_estimator import LABELS, MOLECULES, PAIRS, classifier
from tests.strategies import graph_lists
from tests.tolerances import FORMS_FLOAT64, ORACLE_FLOAT32, ORACLE_FLOAT64, relative_error

GRAPHS = [as_graph(A, X) for A, X in PAIRS]


def test_it_is_an_attribute_of_the_package() -> None:
    assert minipinet.PiNetClassifier is PiNetClassifier


def test_the_constructor_has_every_setting_with_its_default_and_only_stores() -> None:
    params = PiNetClassifier().get_params()
    for field in fields(Settings):
        if field.name != "seed":
            assert params[field.name] == field.default, field.name
    odd = {name: object() for name in params}
    stored = PiNetClassifier(**odd)  # type: ignore[arg-type]
    assert all(getattr(stored, name) is value for name, value in odd.items())
    assert vars(stored) == odd


def test_training_is_that_of_the_package() -> None:
    data = two_kinds(12)
    expected = train_pinet(data, Settings(epochs=5, hidden=6, out=4, seed=3, validation=0.25, patience=2))
    clf = PiNetClassifier(epochs=5, hidden=6, out=4, random_state=3, validation=0.25, patience=2)
    assert clf.fit(list(data), data.labels) is clf
    assert same_bits(clf.model_.params, expected.model.params)
    assert (clf.n_iter_, clf.best_epoch_, len(clf.history_)) == (expected.state.epoch, expected.epoch, clf.n_iter_)
    assert clf.model_.classes == tuple(clf.classes_.tolist()) == ("dense", "sparse")


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


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b", "c"], "U"),
        (np.array(["a", "bcd", "c"], dtype=object), "O"),
        ([0, 7, -3], "i"),
        (np.array([0, 200, 3], np.uint8), "u"),
        ([1.0, 2.0, 4.0], "f"),
        ([True, False, True], "b"),
    ],
)
def test_classes_of_any_kind_come_back_as_they_were(values: Any, kind: str) -> None:
    y = np.asarray(values)[np.arange(12) % 3]
    clf = classifier(epochs=1).fit(GRAPHS, y.tolist() if kind == "U" else y)
    assert clf.classes_.dtype.kind == kind
    assert clf.classes_.tolist() == sorted(set(y.tolist()))
    found = clf.predict(GRAPHS)
    assert found.dtype == clf.classes_.dtype
    assert found.tolist() == clf.classes_[clf.predict_proba(GRAPHS).argmax(axis=1)].tolist()
    assert found.tolist() == clf.model_.predict(GRAPHS).tolist()
    assert clf.score(GRAPHS, y) == np.mean(found == y)


def test_it_learns() -> None:
    data = load_dataset("MUTAG")
    odd, even = [list(data[k::2]) for k in (1, 0)]
    clf = PiNetClassifier(epochs=60, hidden=16, out=8, lr=0.01, random_state=0).fit(odd, data.labels[1::2])
    assert clf.score(even, data.labels[::2]) > 0.72 > 65 / 94  # the larger class


@settings(max_examples=15)
@given(graphs=graph_lists(), C=st.sampled_from([2, 3]), bias=st.booleans(), pq=st.sampled_from(["learned", (1, 0.5)]))
def test_transform_is_the_pooled_matrix_and_what_the_readout_sees(
    graphs: list[Graph], C: int, bias: bool, pq: Any
) -> None:
    clf = classifier(epochs=2, bias=bias, dtype="float64", pq=pq).fit(graphs, np.arange(len(graphs)) % C)
    pooled, params, pairs = clf.transform(graphs), clf.model_.params, clf.model_.settings.pairs
    assert pooled.shape == (len(graphs), 9)
    for row, graph in zip(pooled, graphs, strict=True):
        A = graph.A.toarray()
        P = reference.z_A(A, graph.X, params, pairs) @ reference.z_X(A, graph.X, params, pairs)
        assert relative_error(row, P.ravel()) < ORACLE_FLOAT64
    with warnings.catch_warnings(action="ignore", category=Notice):  # the graph without nodes
        probabilities = clf.predict_proba(graphs)
    scores = pooled @ params.W_D + (0 if params.b_D is None else params.b_D)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert relative_error(probabilities, odds / odds.sum(axis=1, keepdims=True)) < FORMS_FLOAT64


def test_transform_has_named_columns_and_does_not_depend_on_the_company() -> None:
    clf = classifier().fit(GRAPHS, LABELS)
    pooled = clf.transform(GRAPHS)
    assert pooled.dtype == np.float32
    assert list(clf.get_feature_names_out()) == [f"P_{a}_{x}" for a in range(3) for x in range(3)]
    assert same_bits(clf.transform(GRAPHS[3:4])[0], pooled[3])
    assert same_bits(clf.predict_proba(GRAPHS[3:4])[0], clf.predict_proba(GRAPHS)[3])
    assert same_bits(classifier().fit_transform(GRAPHS, LABELS), pooled)


def test_a_number_repeats_the_model_and_a_generator_gives_one_after_the_other() -> None:
    def weights(random_state: Any) -> Any:
        return classifier(random_state=random_state, epochs=1).fit(GRAPHS, LABELS).model_.params

    assert same_bits(weights(5), weights(np.int64(5)))
    assert not same_bits(weights(5), weights(6))
    assert not same_bits(weights(None), weights(None))
    for make in (np.random.RandomState, np.random.default_rng):
        source = make(0)
        first, second = weights(source), weights(source)
        assert same_bits(first, weights(make(0)))
        assert not same_bits(first, second)


@pytest.mark.parametrize("random_state", [None, 0])
def test_the_global_random_state_is_neither_read_nor_changed(random_state: int | None) -> None:
    np.random.seed(0)  # noqa: NPY002
    before, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    first = classifier(random_state=random_state, validation=0.25).fit(GRAPHS, LABELS)
    assert same_bits(tuple(before), tuple(np.random.get_state()))  # noqa: NPY002
    assert random.getstate() == plain
    np.random.seed(0)  # noqa: NPY002
    second = classifier(random_state=random_state, validation=0.25).fit(GRAPHS, LABELS)
    assert same_bits(first.model_.params, second.model_.params) == (random_state == 0)


def test_early_stopping_keeps_the_best_epoch() -> None:
    clf = classifier(epochs=400, validation=0.25, patience=3, lr=0.1).fit(GRAPHS * 2, LABELS * 2)
    losses = [record.validation_loss for record in clf.history_]
    assert clf.n_iter_ == len(losses) == clf.best_epoch_ + 3 < 400
    assert losses[clf.best_epoch_ - 1] == min(losses, key=lambda loss: loss or 0)


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
    clf = classifier(weight="bond").fit(weighted, LABELS)
    assert not same_bits(clf.predict_proba(weighted), clf.predict_proba(PAIRS))
    with pytest.warns(Notice, match=r"X: \d+ weights other than 1 set to 1 \(weight='weight' keeps them\)$") as seen:
        classifier().fit(weighted, LABELS)
    assert len(seen) == 1
    arcs = [(np.triu(A), X) for A, X in PAIRS]
    directed = classifier(directed=True).fit(arcs, LABELS)
    assert not same_bits(directed.predict_proba(arcs), directed.predict_proba(PAIRS))
    with pytest.warns(Notice, match="entries added or raised to make A symmetric"):
        mirrored = classifier().fit(arcs, LABELS)
    assert same_bits(mirrored.predict_proba(PAIRS), classifier().fit(PAIRS, LABELS).predict_proba(PAIRS))
    bare = nx.path_graph(3)
    with pytest.raises(DataError, match="graph 0: node 0 has no attribute 'atom'"):
        classifier(node_label="atom").fit(MOLECULES, LABELS).predict([bare])
    stand_in = classifier(node_label="atom", default={"atom": "C"}).fit(MOLECULES, LABELS)
    nx.set_node_attributes(with_labels := bare.copy(), "C", "atom")
    assert same_bits(stand_in.predict_proba([bare]), stand_in.predict_proba([with_labels]))


A, X1 = np.eye(2), np.ones((2, 1))


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
        (GRAPHS, LABELS, {"weight": "w"}, "weight: expected only with networkx graphs"),
        (GRAPHS, LABELS, {"default": 0}, "default: expected only with networkx graphs, got 0"),
        (PAIRS, LABELS, {"features": "degree"}, "features: expected only with networkx graphs, got 'degree' with a .A"),
        (PAIRS, LABELS, {"directed": 2}, "directed: expected True or False, got 2"),
        (MOLECULES, LABELS, {"node_label": "colour"}, "graph 0: node 0 has no attribute 'colour', only 'atom'"),
        (MOLECULES, LABELS, {"node_label": "atom", "features": "both"}, "features: 'both' needs node attributes"),
        (GRAPHS, LABELS, {"epochs": 0}, "epochs: expected a whole number of at least 1, got 0"),
        (GRAPHS, LABELS, {"device": "cuda"}, "device: expected 'cpu', got 'cuda'"),
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
        with pytest.raises(UsageError, match="X: expected graphs of 2 features a node, as in training, got 1"):
            method([(A, X1)])
        with pytest.raises(UsageError, match="X: expected at least one graph, got none"):
            method([])
    with pytest.warns(Notice, match="1 of 2 graphs has no node"):
        clf.predict([GRAPHS[0], as_graph(np.zeros((0, 0)), np.zeros((0, 2)))])
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


def test_a_second_fit_forgets_the_first() -> None:
    clf = classifier().fit(GRAPHS, LABELS)
    other = classifier(node_label="atom").fit(MOLECULES, LABELS)
    clf.set_params(node_label="atom").fit(MOLECULES, LABELS)
    assert same_bits(clf.model_.params, other.model_.params)
    assert not hasattr(clone(clf), "model_")


def test_rows_of_probabilities_add_up_to_one() -> None:
    probabilities = classifier().fit(GRAPHS, LABELS).predict_proba(GRAPHS)
    assert relative_error(probabilities.sum(axis=1), np.ones(12)) < ORACLE_FLOAT32


@pytest.mark.parametrize("y", [[1, "a"] * 4, [True, "a"] * 4, (1.5, "a") * 4])
def test_classes_of_several_kinds_are_refused_in_a_list_too(y: Any) -> None:
    graphs = [nx.path_graph(3), nx.cycle_graph(4)] * 4
    with pytest.raises(UsageError, match=r"^y: expected numbers or strings, one kind only"):
        PiNetClassifier(epochs=1, hidden=2, out=2).fit(graphs, y)
