"""PiNetClassifier: training, classes of every kind, chance, early stopping, the pooled representation."""

from __future__ import annotations

import random
import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import minipinet
from minipinet import reference
from minipinet.datasets import load_dataset
from minipinet.errors import Notice
from minipinet.estimator import PiNetClassifier
from minipinet.graphs import Graph, as_graph
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_data import same_bits, two_kinds
from tests.small_estimator import LABELS, MOLECULES, PAIRS, classifier
from tests.strategies import graph_lists
from tests.thinned import examples
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


@settings(max_examples=examples(15))
@given(graphs=graph_lists(), C=st.sampled_from([2, 3]), bias=st.booleans(), pq=st.sampled_from(["learned", (1, 0.5)]))
def test_transform_is_the_pooled_matrix_and_what_the_readout_sees(
    graphs: list[Graph], C: int, bias: bool, pq: Any
) -> None:
    with warnings.catch_warnings(action="ignore", category=Notice):  # the graph without nodes
        clf = classifier(epochs=2, bias=bias, dtype="float64", pq=pq).fit(graphs, np.arange(len(graphs)) % C)
        pooled, probabilities = clf.transform(graphs), clf.predict_proba(graphs)
    params, pairs = clf.model_.params, clf.model_.settings.pairs
    assert pooled.shape == (len(graphs), 9)
    for row, graph in zip(pooled, graphs, strict=True):
        A = graph.A.toarray()
        P = reference.z_A(A, graph.X, params, pairs) @ reference.z_X(A, graph.X, params, pairs)
        assert relative_error(row, P.ravel()) < ORACLE_FLOAT64
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


def test_a_second_fit_forgets_the_first() -> None:
    clf = classifier().fit(GRAPHS, LABELS)
    other = classifier(node_label="atom").fit(MOLECULES, LABELS)
    clf.set_params(node_label="atom").fit(MOLECULES, LABELS)
    assert same_bits(clf.model_.params, other.model_.params)
    assert not hasattr(clone(clf), "model_")


def test_rows_of_probabilities_add_up_to_one() -> None:
    probabilities = classifier().fit(GRAPHS, LABELS).predict_proba(GRAPHS)
    assert relative_error(probabilities.sum(axis=1), np.ones(12)) < ORACLE_FLOAT32
