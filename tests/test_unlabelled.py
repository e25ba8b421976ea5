"""TU files without graph labels: graphs to be labelled."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.datasets import FeatureEncoder, load_dataset, load_graphs
from minipinet.errors import DataError, Notice, UsageError
from minipinet.union import DisjointUnion
from tests.tu_files import toy_zip, write_folder

Changes = dict[str, str | bytes | None]
ENCODER = FeatureEncoder("labels", ((0, 1, 2),))
NO_LABELS: Changes = {"graph_labels": None}


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., DisjointUnion]:
    """Return a function that loads the toy set without graph labels, and with changed files."""

    def load(changes: Changes | None = None, encoder: FeatureEncoder = ENCODER, **options: Any) -> DisjointUnion:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            return load_graphs(write_folder(Path(folder), {**NO_LABELS, **(changes or {})}), encoder, **options)

    return load


def assert_same(one: DisjointUnion, other: DisjointUnion) -> None:
    assert one.A.shape == other.A.shape
    assert (one.A != other.A).nnz == 0
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.ptr, other.ptr)


def test_the_graphs_are_those_of_the_labelled_set(toy: Callable[..., DisjointUnion], tmp_path: Path) -> None:
    labelled = load_dataset(write_folder(tmp_path / "with")).graphs
    assert_same(toy(), labelled)
    assert_same(toy({"graph_labels": "1\n-1\n"}), labelled)
    (tmp_path / "TOY.zip").write_bytes(toy_zip(NO_LABELS))
    assert_same(load_graphs("toy", ENCODER, data_dir=tmp_path), labelled)
    assert_same(load_graphs("MUTAG", load_dataset("MUTAG").encoder), load_dataset("MUTAG").graphs)


def test_the_largest_number_says_how_many_there_are(toy: Callable[..., DisjointUnion]) -> None:
    with pytest.warns(Notice, match=r"TOY_graph_indicator.txt: 2 of 4 graphs have no node") as notices:
        assert toy({"graph_indicator": "2\n2\n2\n4\n4\n"}).ptr.tolist() == [0, 0, 3, 3, 5]
    assert (len(notices), notices[0].filename) == (1, __file__)
    with pytest.warns(Notice, match=r"TOY_graph_labels.txt: 1 of 3 graphs has no node"):
        assert toy({"graph_labels": "0\n0\n0\n"}).ptr.tolist() == [0, 3, 5, 5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph_indicator": "", "A": "", "node_labels": ""}, "expected one line for each node, got none"),
        (
            {"graph_indicator": "1\n1\n1\n2\n1007\n"},
            "line 5: expected graph numbers up to 1006, since 3 of the graphs have nodes, got 1007 .*",
        ),
        (
            {"graph_indicator": "10000000\n" * 5},
            "line 1: expected graph numbers up to 1002, since 1 of the graphs has nodes, got 10000000 .*",
        ),
        ({"graph_indicator": "1\n1\n0\n2\n2\n"}, "line 3: expected a graph number, 1 or more, got 0"),
        ({"graph_indicator": None}, "no such file, and the TU format needs it"),
    ],
)
def test_numbers_of_graphs_that_cannot_be(toy: Callable[..., DisjointUnion], changes: Changes, message: str) -> None:
    with pytest.raises(DataError, match=f"TOY_graph_indicator.txt(:|,) {message}$"):
        toy(changes)


def test_case_005_targets_matter_only_where_classes_are_needed(
    toy: Callable[..., DisjointUnion], tmp_path: Path
) -> None:
    targets: Changes = {"graph_attributes": "0.5\n1.5\n"}
    assert_same(toy(targets), toy())
    with pytest.raises(DataError, match=r"no class labels here, only TOY_graph_attributes.txt"):
        load_dataset(write_folder(tmp_path / "a", {**NO_LABELS, **targets}))
    with pytest.raises(DataError, match=r"TOY_graph_labels.txt: no such file, and the TU format needs it"):
        load_dataset(write_folder(tmp_path / "b", NO_LABELS))


def test_case_121_features_are_the_encoders(toy: Callable[..., DisjointUnion]) -> None:
    with pytest.warns(Notice, match=r"1 node has an unknown node label: 2 \(known: 0, 1, 7\)") as notices:
        graphs = toy(encoder=FeatureEncoder("labels", ((0, 1, 7),)))
    assert graphs.X.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert (len(notices), notices[0].filename) == (1, __file__)
    assert toy(encoder=FeatureEncoder("degree", ((1, 2),))).X[1].tolist() == [0, 1]
    assert toy({"node_labels": None}, FeatureEncoder("constant")).X.tolist() == [[1]] * 5
    with pytest.raises(UsageError, match="'labels' needs node labels, and there are none"):
        toy({"node_labels": None})


def test_options_are_those_of_data_sets(toy: Callable[..., DisjointUnion]) -> None:
    assert toy({"A": "1, 2\n"}, directed=True).A.toarray()[:2, :2].tolist() == [[0, 1], [0, 0]]
    with pytest.warns(Notice, match="repeat an earlier one: counted as weights"):
        assert toy({"A": "1, 2\n2, 1\n1, 2\n2, 1\n"}, keep_repeats=True).A.data.tolist() == [2, 2]
    with pytest.warns(Notice, match="to make it symmetric"):
        assert toy({"A": "1, 2\n"}).A.nnz == 2


def test_a_folder_with_a_known_name_is_not_held_against_the_collection(tmp_path: Path) -> None:
    """What is known of the collection's sets counts their labels in."""
    write_folder(tmp_path / "PTC_MR", NO_LABELS, name="PTC_MR")
    with warnings.catch_warnings(action="error"):
        load_graphs("ptc-mr", ENCODER, data_dir=tmp_path)
    write_folder(tmp_path / "PTC_FM", name="PTC_FM")
    with pytest.warns(Notice, match="the content is not the ptc-fm known here"):
        load_graphs("ptc-fm", ENCODER, data_dir=tmp_path)


def test_a_gap_in_the_numbers_may_be_as_wide_as_a_thousand(toy: Callable[..., DisjointUnion]) -> None:
    with pytest.warns(Notice, match="1003 of 1006 graphs have no node"):
        assert toy({"graph_indicator": "1\n1\n1\n2\n1006\n", "A": "1, 2\n2, 1\n"}).ptr.size == 1007
