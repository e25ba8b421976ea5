"""Labels of any kind: none is ever taken for another one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet.conversions import from_networkx
from minipinet.datasets import dataset_from_graphs, dataset_from_networkx, index_classes, refit_encoder
from minipinet.datasets.encoder import FeatureEncoder, fit_encoder
from minipinet.datasets.values import as_values
from minipinet.errors import DataError, UsageError
from minipinet.graphs import as_graph

RANGE = r"expected numbers from -2\^63 to 2\^63 - 1, got "
MASKED = "expected labels without masked entries"
#: What no label can be, and what is said of it.
REFUSED = [
    ([2**63, 1, 1, 0], RANGE + "9223372036854775808"),
    ([-(2**63) - 1, 1, 1, 0], RANGE + "-9223372036854775809"),
    ([9999999999999999999, 1, 1, 0], RANGE + "9999999999999999999"),
    ([2**64, 1, 1, 0], RANGE + "18446744073709551616"),
    (np.array([2**64, 1, 1, 0]), RANGE + "18446744073709551616"),
    (np.array([2**64 - 1, 1, 1, 0], np.uint64), RANGE + "18446744073709551615"),
    ([np.uint64(2**63), 1, 1, 0], RANGE + "9223372036854775808"),
    ([1e300, 1e301, 0, 0], RANGE + r"1e\+300"),
    (np.array([1e300, 1e301, 0, 0]), RANGE + r"1e\+300"),
    ([10**400, 1, 1, 0], RANGE + "10000"),
    ([-np.inf, 1, 1, 0], "expected finite numbers or strings, got -inf"),
    (np.array([1, np.nan, 1, 0], np.float16), "expected finite numbers or strings, got nan"),
    (np.ma.array([1, 0, 1, 0], mask=[True, False, False, False]), MASKED),
    (np.ma.array(["a", "b", "a", "b"], mask=[False, False, False, True]), MASKED),
    ([np.ma.masked, 1, 1, 0], MASKED),
    (list(np.ma.array([[1], [0], [1], [0]], mask=[[True], [False], [False], [False]])), MASKED),
    (["a", "a\0", "b", "b"], r"expected strings that do not end in a NUL character, got 'a\\x00'"),
    (np.array(["a", "a\0", "b", "b"], object), "expected strings that do not end in a NUL"),
    ([2**53 + 1, 0.5, 1, 1], "expected numbers that float64 holds exactly, got 9007199254740993"),
    ([Fraction(1, 3), 1, 1, 0], "expected numbers that float64 holds exactly, got Fraction"),
    (np.array([1 + 2j] * 4), "expected numbers or strings, got dtype complex128"),
    ([b"a", b"b", b"a", b"b"], "expected numbers or strings, one kind only, got bytes"),
]


@pytest.mark.parametrize(("labels", "message"), REFUSED)
def test_a_label_that_cannot_be_kept_is_refused(labels: Any, message: str) -> None:
    graphs = [as_graph([[0]])] * 4
    with pytest.raises(UsageError, match="^labels: " + message):
        dataset_from_graphs(graphs, labels)
    with pytest.raises(UsageError, match="^node_labels: " + message):
        fit_encoder("labels", labels, None, [0] * 4)
    with pytest.raises(UsageError, match="^node_labels: " + message):
        FeatureEncoder("labels", ((0, 1),)).encode(labels, None, [0] * 4)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([2**63 - 1, 2**63 - 2, -(2**63)], (-(2**63), 2**63 - 2, 2**63 - 1)),
        ([2**53 + 1, 2.0**53], (2**53, 2**53 + 1)),
        ([np.int64(2**53 + 1), 2.0**53], (2**53, 2**53 + 1)),
        (np.array([2**63 - 1, 0], np.uint64), (0, 2**63 - 1)),
        (np.array([1, 0], np.float16), (0, 1)),
        (np.array([1, 0], np.longdouble), (0, 1)),
        (np.ma.array([1, 0], mask=[False, False]), (0, 1)),
        ([Fraction(2), np.True_], (1, 2)),
        ([np.True_, False], (False, True)),
        (["\0a", "a"], ("\0a", "a")),
        (["", " ", "\ud800"], ("", " ", "\ud800")),
    ],
)
def test_labels_at_the_edge_are_kept(labels: Any, classes: tuple[Any, ...]) -> None:
    y, found = index_classes(labels)
    assert found == classes
    assert [type(value) for value in found] == [type(value) for value in classes]
    assert [found[index] for index in y] == list(labels)


def test_labels_keep_their_fractions() -> None:
    assert as_values([Fraction(1, 2), 1], "x").tolist() == [0.5, 1.0]
    assert as_values(np.array([0.1], np.float32), "x").tolist() == [float(np.float32(0.1))]
    with pytest.raises(UsageError, match="x: expected numbers that float64 holds exactly"):
        as_values(np.array([np.longdouble(1) / 3]), "x")


def test_a_saved_vocabulary_out_of_range_is_refused() -> None:
    record = {"kind": "labels", "vocabularies": [[0, 2**63]], "num_attributes": 0}
    with pytest.raises(DataError, match=f"^encoder: .*{RANGE}"):
        FeatureEncoder.from_json(record)


@given(st.lists(st.one_of(st.integers(), st.floats(), st.booleans()), min_size=1, max_size=5))
def test_no_two_numbers_become_one_label(values: list[Any]) -> None:
    try:
        held = as_values(values, "x").tolist()
    except UsageError:
        return
    assert held == values


def test_a_column_of_fractions_does_not_round_the_one_beside_it() -> None:
    G = nx.Graph()
    G.add_nodes_from([(0, {"serial": 2**60 + 1, "charge": 0.5}), (1, {"serial": 2**60 + 2, "charge": 1})])
    dataset = dataset_from_networkx([G, G], [0, 1], node_label=["serial", "charge"])
    assert dataset.encoder.vocabularies == ((2**60 + 1, 2**60 + 2), (0.5, 1.0))
    assert refit_encoder(dataset, [0]).encoder == dataset.encoder


@pytest.mark.parametrize("label", [9999999999999999999, -(2**63) - 1])
def test_a_networkx_label_out_of_range_is_refused(label: int) -> None:
    G = nx.Graph()
    G.add_nodes_from([(0, {"label": 1}), (1, {"label": label})])
    with pytest.raises(UsageError, match=f"^node_label: {RANGE}{label}"):
        dataset_from_networkx([G], [0], node_label="label")
    with pytest.raises(UsageError, match=f"^node_labels: {RANGE}{label}"):
        from_networkx(G, node_label="label", encoder=FeatureEncoder("labels", ((1,),)))
