"""Features from labels, attributes and degrees, and the same columns again for new graphs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minipinet.datasets import FeatureEncoder, fit_encoder
from minipinet.errors import DataError, Notice, UsageError

LABELS = [[3, "x"], [1, "y"], [3, "x"]]
NONE = "no node has a known node label: got "


@pytest.mark.parametrize(
    ("kind", "X"),
    [
        ("labels", [[0, 1], [1, 0], [0, 1]]),
        ("attributes", [[0.5], [-1], [2]]),
        ("both", [[0, 1, 0.5], [1, 0, -1], [0, 1, 2]]),
        ("constant", [[1], [1], [1]]),
        ("degree", [[1, 0], [0, 1], [1, 0]]),
    ],
)
def test_kinds(kind: str, X: list[list[float]]) -> None:
    labels, attributes, deg = [3, 1, 3], [0.5, -1, 2], [1, 2, 1]
    encoder = fit_encoder(kind, labels, attributes, deg)
    encoded = encoder.encode(labels, attributes, deg)
    assert encoded.tolist() == X
    assert encoded.dtype == np.float64
    assert encoded.flags.c_contiguous
    assert encoder.num_features == len(X[0])


@pytest.mark.parametrize(
    "encoder",
    [
        fit_encoder("labels", [[3, 5], [1, 5]], None, [0, 0]),
        fit_encoder("labels", ["C", "Ö"], None, [0, 0]),
        fit_encoder("labels", [True, False], None, [0, 0]),
        fit_encoder("labels", [0.5, 2], None, [0, 0]),
        fit_encoder("both", np.array([3, 1]), np.ones((2, 4)), np.zeros(2)),
        fit_encoder("degree", None, None, [0, 3]),
        fit_encoder("constant", None, None, [0, 3]),
    ],
)
def test_json_and_back(encoder: FeatureEncoder) -> None:
    text = json.dumps(encoder.to_json(), allow_nan=False)
    assert FeatureEncoder.from_json(json.loads(text)) == encoder


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"kind": "labels"},
        {"kind": "one-hot", "vocabularies": [], "num_attributes": 0},
        {"kind": ["labels"], "vocabularies": [], "num_attributes": 0},
        {"kind": "labels", "vocabularies": 3, "num_attributes": 0},
        {"kind": "labels", "vocabularies": [[1, "a"]], "num_attributes": 0},
        {"kind": "labels", "vocabularies": [[None]], "num_attributes": 0},
        {"kind": "labels", "vocabularies": [[1]], "num_attributes": "many"},
    ],
)
def test_json_that_is_no_encoder(record: Any) -> None:
    with pytest.raises(DataError, match="encoder: expected kind, vocabularies and num_attributes"):
        FeatureEncoder.from_json(record)


@pytest.mark.parametrize(
    ("vocabulary", "labels", "X", "named"),
    [
        ((1, 3), [1, 2, 3], [[1, 0], [0, 0], [0, 1]], "1 node has an unknown node label: 2 (known: 1, 3); its "),
        (("C", "O"), ["Xx", "C", "O"], [[0, 0], [1, 0], [0, 1]], "1 node has .*: 'Xx' (known: 'C', 'O'); its "),
        ((1, 3), [9, 9, 0, 3], [[0, 0], [0, 0], [0, 0], [0, 1]], "3 nodes have .*: 0, 9 (known: 1, 3); their "),
        (
            (1, 3),
            ["1", "3", "1"],
            [[0, 0], [0, 0], [0, 0]],
            NONE + "'1', '3' (known: 1, 3; 1 is a number, but '1' is text);",
        ),
        (
            ("1", "3"),
            [1, 3, 1],
            [[0, 0], [0, 0], [0, 0]],
            NONE + "1, 3 (known: '1', '3'; '1' is text, but 1 is a number);",
        ),
        ((), [1, 1, 1], [[], [], []], NONE + "1 (known: none);"),
        ((0.5, 1), ["x", "1"], [[0, 0]] * 2, NONE + "'1', 'x' (known: 0.5, 1; 1 is a number, but '1' is text);"),
        (("0",), [0, 0.5], [[0]] * 2, NONE + "0.0, 0.5 (known: '0'; '0' is text, but 0.0 is a number);"),
        ((5,), list(range(10, 20)), [[0]] * 10, NONE + "10, 11, 12, 13, 14, 15, 16, 17, 18, 19 (known: 5);"),
        ((5,), list(range(10, 21)), [[0]] * 11, NONE + "10, 11, 12, 13, 14, 15, 16, 17, 18, 19, ... (known: 5);"),
        (tuple(range(11)), [99], [[0] * 11], NONE + "99 (known: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...);"),
        ((0.5, 1), [1, 0.5, 0.25], [[0, 1], [1, 0], [0, 0]], "1 node has .*: 0.25 (known: 0.5, 1);"),
    ],
)
def test_case_121_values_not_seen_before(vocabulary: Any, labels: Any, X: Any, named: str) -> None:
    encoder = FeatureEncoder("labels", (vocabulary,))
    with pytest.warns(Notice, match="^" + named.replace("(", r"\(").replace(")", r"\)")) as notices:
        encoded = encoder.encode(labels, None, np.zeros(len(labels)))
    assert encoded.tolist() == X
    assert len(notices) == 1


def test_where_no_node_is_known_the_note_says_what_the_scores_are_worth() -> None:
    encoder = fit_encoder("labels", ["C", "O"], None, [0, 0])
    with pytest.warns(Notice, match="; the features, and so the scores, say nothing about it$"):
        encoder.encode(["N", "N"], None, [0, 0])
    with pytest.warns(Notice, match="; their features leave it out$"):
        encoder.encode(["N", "N", "C"], None, [0, 0, 0])
    text = encoder.encode_quietly(["N", "C"], None, [0, 0])[1][0]
    assert "encoder" not in text
    assert "one-hot" not in text


def test_columns_of_different_kinds() -> None:
    encoder = fit_encoder("labels", LABELS, None, [0] * 3)
    assert encoder.vocabularies == ((1, 3), ("x", "y"))
    assert FeatureEncoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder
    assert encoder.encode(LABELS, None, [0] * 3).tolist() == [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]
    with pytest.warns(Notice, match=r"no node has a known node label \(column 1\): got '3'"):  # text is no number
        assert encoder.encode([["3", "x"]], None, [0]).tolist() == [[0, 0, 1, 0]]


def test_degrees_not_seen_before() -> None:
    with pytest.warns(Notice, match=r"^1 node has an unknown degree: 7 \(known: 1, 2\); its features leave it out$"):
        assert FeatureEncoder("degree", ((1, 2),)).encode(None, None, [2, 7]).tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    "labels",
    [[1, 0], [1.0, -0.0], [True, False], np.array([1, 0], np.int8), np.array([[1], [0]]), np.array([1, 0], object)],
)
def test_equal_numbers_are_one_label(labels: Any) -> None:
    assert FeatureEncoder("labels", ((0, 1),)).encode(labels, None, [0, 0]).tolist() == [[0, 1], [1, 0]]
    assert fit_encoder("labels", labels, None, [0, 0]).vocabularies == ((0, 1),)


def test_a_vocabulary_in_any_order() -> None:
    encoder = FeatureEncoder("labels", (("O", "C", "N"),))
    assert encoder.encode(["C", "N", "O"], None, [0] * 3).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("labels", None, None, [0]), "'labels' needs node labels"),
        (("both", [1], None, [0]), "'both' needs node attributes"),
        (("both", None, [1], [0]), "'both' needs node labels"),
        (("labels", [1, 2], None, [0]), r"node_labels: expected shape \(1, k\), got \(2, 1\)"),
        (("labels", [1, "a"], None, [0, 0]), "node_labels: expected numbers or strings, one kind only, got int, str"),
        (("labels", [["a", 1], ["b", "c"]], None, [0, 0]), "node_labels: .*one kind only, got int, str"),
        (("labels", [[1], [1, 2]], None, [0, 0]), "node_labels: expected numbers or strings, .*got list"),
        (("labels", 3, None, [0]), r"node_labels: expected shape \(1, k\), got \(\)"),
        (("labels", [1, None], None, [0, 0]), "node_labels: .*got NoneType, int"),
        (("labels", [1, np.nan], None, [0, 0]), "node_labels: expected finite numbers or strings, got nan"),
        (("attributes", None, [1, 2, 3], [0]), "X: expected 1 row,"),
        (("attributes", None, ["a"], [0]), "X: expected real numbers"),
        (("one-hot", None, None, [0]), "features: expected one of 'labels'"),
        ((["labels"], None, None, [0]), "features: expected one of 'labels'"),
    ],
)
def test_what_cannot_be_fitted(arguments: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fit_encoder(*arguments)


def test_other_columns_than_in_training() -> None:
    encoder = fit_encoder("both", [[1, 2]], [[0.5, 0.5]], [0])
    with pytest.raises(UsageError, match="node_labels: expected 2 columns a node, as in the training data, got 1"):
        encoder.encode([[1]], [[0.5, 0.5]], [0])
    with pytest.raises(UsageError, match="attributes: expected 2 columns a node, as in the training data, got 3"):
        encoder.encode([[1, 2]], [[0.5, 0.5, 0.5]], [0])


def test_no_nodes() -> None:
    encoder = FeatureEncoder("labels", ((0, 1),))
    assert encoder.encode(np.zeros((0, 1)), None, []).shape == (0, 2)


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.integers(-3, 3)))
def test_one_hot_can_be_read_back(labels: np.ndarray[Any, Any]) -> None:
    before = labels.copy()
    encoder = fit_encoder("labels", labels, None, np.zeros(len(labels)))
    X = encoder.encode(labels, None, np.zeros(len(labels)))
    assert np.array_equal(labels, before)
    assert np.array_equal(X.sum(axis=1), np.full(len(labels), labels.shape[1]))
    first = 0
    for column, vocabulary in zip(labels.T, encoder.vocabularies, strict=True):
        block = X[:, first : first + len(vocabulary)]
        assert [vocabulary[place] for place in block.argmax(axis=1)] == column.tolist()
        first += len(vocabulary)
