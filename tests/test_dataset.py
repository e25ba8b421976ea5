"""The data-set object: slices, subsets, classes of any kind, digests."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet.datasets import Dataset, dataset_from_graphs, index_classes, load_dataset, refit_encoder
from minipinet.errors import Notice, UsageError
from minipinet.graphs import Graph, as_graph
from tests.tu_files import write_folder

#: Five graphs of 3, 1, 2, 0 and 2 nodes with node labels 10..17, attributes 0..7, classes 7, 5, 7, 9, 5.
FIVE: dict[str, str | bytes | None] = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n5, 6\n6, 5\n7, 7\n",
    "graph_indicator": "1\n1\n1\n2\n3\n3\n5\n5\n",
    "graph_labels": "7\n5\n7\n9\n5\n",
    "node_labels": "".join(f"{label}\n" for label in range(10, 18)),
    "node_attributes": "".join(f"{value}\n" for value in range(8)),
}


@pytest.fixture
def five(tmp_path: Path) -> Dataset:
    with pytest.warns(Notice, match="1 of 5 graphs has no node"):
        return load_dataset(write_folder(tmp_path / "five", FIVE))


def nodes_of(dataset: Dataset) -> list[int]:
    assert dataset.node_labels is not None
    assert dataset.attributes is not None
    assert np.array_equal(dataset.attributes[:, 0] + 10, dataset.node_labels[:, 0])
    assert np.array_equal(dataset.graphs.X.argmax(axis=1) + 10, dataset.node_labels[:, 0])
    labels: list[int] = dataset.node_labels[:, 0].tolist()
    return labels


def test_case_119_one_graph(five: Dataset) -> None:
    assert isinstance(five[0], Graph)
    assert five[0].A.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert five[-1].A.toarray().tolist() == [[1, 0], [0, 0]]
    assert five[np.int64(1)].X.tolist() == [[0, 0, 0, 1, 0, 0, 0, 0]]
    assert five[3].N == 0
    assert [graph.N for graph in five] == [3, 1, 2, 0, 2]


@pytest.mark.parametrize(
    ("index", "nodes", "labels"),
    [
        (slice(2, 5), [14, 15, 16, 17], [7, 9, 5]),
        (slice(None), list(range(10, 18)), [7, 5, 7, 9, 5]),
        (slice(None, None, -1), [16, 17, 14, 15, 13, 10, 11, 12], [5, 9, 7, 5, 7]),
        ([1, 4], [13, 16, 17], [5, 5]),
        ([4, 1, 1], [16, 17, 13, 13], [5, 5, 5]),
        ([-1], [16, 17], [5]),
        (np.array([0]), [10, 11, 12], [7]),
        ([True, False, False, True, False], [10, 11, 12], [7, 9]),
        (np.array([False, True, False, False, False]), [13], [5]),
        (range(1, 3), [13, 14, 15], [5, 7]),
        ([], [], []),
        (slice(0), [], []),
        (np.zeros(5, dtype=bool), [], []),
    ],
)
def test_case_119_subsets(five: Dataset, index: Any, nodes: list[int], labels: list[int]) -> None:
    part = five[index]
    assert isinstance(part, Dataset)
    assert nodes_of(part) == nodes
    assert part.labels.tolist() == labels
    assert len(part) == len(labels)
    # What belongs to the whole set stays.
    assert (part.classes, part.encoder, part.name, part.notices) == (five.classes, five.encoder, "TOY", five.notices)
    assert (part.num_classes, part.num_features) == (3, 8)
    assert repr(part).startswith(
        f"Dataset(TOY: {len(labels)} graph{'s' * (len(labels) != 1)}, 3 classes (5: {labels.count(5)}, 7: "
    )


def test_case_119_a_subset_of_a_subset(five: Dataset) -> None:
    assert nodes_of(five[1:][[0, -1]]) == [13, 16, 17]


@pytest.mark.parametrize("index", [5, -6, [5], [0, -6], [True, False], [0.5], "a", None, (1, 2), [[1, 2]], 1.0])
def test_case_119_what_is_no_index(five: Dataset, index: Any) -> None:
    with pytest.raises(UsageError, match="expected"):
        five[index]


def test_case_119_counts_are_plain(five: Dataset) -> None:
    for count in (len(five), five.num_classes, five.num_features):
        assert type(count) is int


def test_case_106_what_results_hold_is_strict_json(five: Dataset) -> None:
    record = {
        "classes": five.classes,
        "counts": [len(five), five.num_classes, five.num_features],
        "encoder": five.encoder.to_json(),
        "notices": five.notices,
        "digest": five.digest,
    }
    assert json.loads(json.dumps(record, allow_nan=False))["classes"] == [5, 7, 9]


def test_a_data_set_goes_to_other_processes(five: Dataset) -> None:
    again = pickle.loads(pickle.dumps(five))
    assert again.digest == five.digest
    assert again.encoder == five.encoder


# Case 82: nothing of the test part in the training features


def test_case_082_label_only_in_the_test_part(tmp_path: Path) -> None:
    plain: dict[str, str | bytes | None] = {"node_labels": "0\n1\n0\n1\n0\n"}
    odd: dict[str, str | bytes | None] = {"node_labels": "0\n1\n0\n99\n0\n"}
    without = refit_encoder(load_dataset(write_folder(tmp_path / "a", plain)), [0])
    with pytest.warns(Notice, match=r"1 node has an unknown node label: 99 \(known: 0, 1\)"):
        with_99 = refit_encoder(load_dataset(write_folder(tmp_path / "b", odd)), [0])
    assert np.array_equal(with_99[:1].graphs.X, without[:1].graphs.X)
    assert with_99.encoder == without.encoder
    assert with_99.graphs.X[3].tolist() == [0, 0]
    assert with_99[1].X.tolist() == [[0, 0], [1, 0]]


def test_case_082_one_set_encoded_as_another(tmp_path: Path) -> None:
    train = load_dataset(write_folder(tmp_path / "a"))
    with pytest.warns(Notice, match=r"3 nodes have an unknown node label: 7, 8 \(known: 0, 1, 2\)"):
        test = load_dataset(
            write_folder(tmp_path / "b", {"node_labels": "7\n7\n2\n8\n0\n"}), encoder=train.encoder, features="degree"
        )
    assert test.encoder == train.encoder
    assert test.graphs.X.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert len(test.notices) == 1


def test_refitting_changes_nothing_but_the_columns(five: Dataset) -> None:
    with pytest.warns(Notice, match="3 nodes"):
        part = refit_encoder(five, slice(1, 5))
    assert part.encoder.vocabularies == (tuple(range(13, 18)),)
    assert part.digest == five.digest
    assert np.array_equal(five.graphs.X[:, 3:], part.graphs.X)


# Classes


@pytest.mark.parametrize(
    ("labels", "classes", "y"),
    [
        ([1, -1, 1], (-1, 1), [1, 0, 1]),
        ([0, 5], (0, 5), [0, 1]),
        ([3, 3], (3,), [0, 0]),
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ([True, False], (False, True), [1, 0]),
        (np.array([[2], [1]]), (1, 2), [1, 0]),
        (np.array([2.0, 1.0]), (1, 2), [1, 0]),
        ([1, 1.0, True], (1,), [0, 0, 0]),
        (np.array(["x", "yy"], dtype=object), ("x", "yy"), [0, 1]),
        (np.array([7, 3], dtype=np.uint8), (3, 7), [1, 0]),
        ((np.int32(4), 2), (2, 4), [1, 0]),
        ([0.0, -0.0], (0,), [0, 0]),
        ([True, 0, 2], (0, 1, 2), [1, 0, 2]),
    ],
)
def test_case_006_classes_of_any_kind(labels: Any, classes: tuple[Any, ...], y: list[int]) -> None:
    index, found = index_classes(labels)
    assert found == classes
    assert [type(value) for value in found] == [type(value) for value in classes]
    assert index.tolist() == y
    assert index.dtype == np.int64


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, "a"], "one kind only, got int, str"),
        ([1, None], "got NoneType, int"),
        ([0.5, 1], "expected classes, got 0.5: real-valued targets are for regression"),
        ([float("nan"), 1], "expected finite numbers or strings, got nan"),
        (np.array([1, np.inf]), "expected finite numbers or strings, got inf"),
        (np.array([1 + 2j]), "got dtype complex128"),
        ([[1, 2], [3, 4]], r"expected shape \(B,\) with at least one label, got \(2, 2\)"),
        ([], r"got \(0,\)"),
        (3, r"got \(\)"),
    ],
)
def test_what_is_no_class(labels: Any, message: str) -> None:
    with pytest.raises(UsageError, match="labels: .*" + message):
        index_classes(labels)


def test_data_set_of_graphs_in_memory() -> None:
    graphs = [as_graph([[0, 1], [1, 0]], X=[[1, 2], [3, 4]]), as_graph([[0]], X=[[5, 6]])]
    dataset = dataset_from_graphs(graphs, ["edge", "dot"], name="two")
    assert repr(dataset) == "Dataset(two: 2 graphs, 2 classes (dot: 1, edge: 1), 2 features from attributes)"
    assert dataset.graphs.X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert dataset.labels.tolist() == ["edge", "dot"]
    assert dataset[[1]].attributes is not None
    assert np.array_equal(refit_encoder(dataset, [0]).graphs.X, dataset.graphs.X)
    assert dataset.digest != dataset[[1, 0]].digest
    for labels in ([1], [1, 2, 3]):
        with pytest.raises(UsageError, match=rf"labels: expected 2, one for each graph, got {len(labels)}"):
            dataset_from_graphs(graphs, labels)


# Digests


@pytest.mark.parametrize(
    "changes",
    [
        {"A": "1, 2\n2, 1\n4, 5\n5, 4\n"},
        {"graph_indicator": "1\n1\n1\n1\n2\n", "A": "1, 2\n2, 1\n2, 3\n3, 2\n"},
        {"graph_labels": "-1\n1\n"},
        {"graph_labels": "2\n-1\n"},
        {"node_labels": "0\n1\n2\n1\n0\n"},
        {"node_labels": "0\n1\n3\n0\n1\n"},
        {"node_labels": None},
        {"node_labels": "0,0\n1,0\n2,0\n0,0\n1,0\n"},
        {"node_attributes": "1\n2\n3\n4\n5\n"},
    ],
)
@pytest.mark.filterwarnings("ignore::minipinet.errors.Notice")
def test_digest_sees_every_part(tmp_path: Path, changes: dict[str, str | bytes | None]) -> None:
    toy = load_dataset(write_folder(tmp_path / "toy"))
    assert load_dataset(write_folder(tmp_path / "changed", changes)).digest != toy.digest


def test_digest_does_not_see_how_it_is_written(tmp_path: Path) -> None:
    toy = load_dataset(write_folder(tmp_path / "toy"))
    written = {
        "A": "5,4\r\n4,5\r\n3,2\r\n2,3\r\n2,1\r\n1,2",
        "graph_labels": "1.0\n-1.0\n\n",
        "edge_labels": "1\n" * 6,
        "graph_attributes": "0.5\n0.5\n",
    }
    other = load_dataset(write_folder(tmp_path / "OTHER", {**written}, name="OTHER"), features="degree")
    assert other.digest == toy.digest
    assert len(toy.digest) == 64


def test_digest_of_negative_zero(tmp_path: Path) -> None:
    digests = {
        load_dataset(write_folder(tmp_path / zero, {"node_attributes": f"{zero}\n" * 5})).digest
        for zero in ("0", "-0.0")
    }
    assert len(digests) == 1


@pytest.mark.data
def test_embedded_mutag_is_the_collections(data_dir: Path) -> None:
    ours, theirs = load_dataset("MUTAG"), load_dataset(data_dir / "MUTAG.zip")
    assert ours.digest == theirs.digest
    assert np.array_equal(ours.graphs.X, theirs.graphs.X)
    assert (ours.graphs.A != theirs.graphs.A).nnz == 0


def test_embedded_mutag_comes_with_its_source_and_licence() -> None:
    text = (Path(load_dataset.__code__.co_filename).parent / "data" / "MUTAG.txt").read_text()
    for part in ("GraKeL", "Debnath", "Kriege", "Morris", "Licence", "Redistribution and use in source and binary"):
        assert part in text


def test_loading_imports_only_what_it_needs() -> None:
    """MUTAG is there in a fraction of a second because the large imports wait until they are needed."""
    code = (
        "import sys; from minipinet.datasets import load_dataset; load_dataset('MUTAG');"
        "print([name for name in ('networkx', 'tqdm', 'urllib.request', 'http.client', 'pandas', 'sklearn')"
        " if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


@given(st.data())
def test_any_subset_is_the_graphs_one_by_one(data: st.DataObject) -> None:
    dataset = load_dataset("MUTAG")
    index = data.draw(st.lists(st.integers(-188, 187), max_size=6))
    part = dataset[index]
    assert len(part) == len(index)
    for graph, g in zip(part, index, strict=True):
        assert np.array_equal(graph.X, dataset[g].X)
        assert (graph.A != dataset[g].A).nnz == 0
    assert part.labels.tolist() == [dataset.labels[g] for g in index]
    sizes = [dataset[g].N for g in index]
    assert np.diff(part.graphs.ptr).tolist() == sizes


@pytest.mark.parametrize("change", [lambda ds: ds.y.__setitem__(0, 1), lambda ds: ds.graphs.X.fill(0)])
def test_subsets_do_not_share_memory(five: Dataset, change: Callable[[Dataset], None]) -> None:
    digest, X = five.digest, five.graphs.X.copy()
    change(five[[0, 1]])
    assert five.digest == digest
    assert np.array_equal(five.graphs.X, X)
