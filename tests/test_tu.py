"""The TU reader: every case of people who met odd files, their neighbours, and a naive reader as oracle."""

from __future__ import annotations

import os
import struct
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet.datasets import Dataset, load_dataset
from minipinet.datasets.archive import unzip
from minipinet.datasets.catalogue import DIGESTS
from minipinet.datasets.tables import read_table
from minipinet.errors import DataError, Notice, UsageError
from tests.tu_files import TOY, toy_files, toy_zip, write_folder, zip_bytes

Changes = dict[str, str | bytes | None]


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., Dataset]:
    """Return a function that loads the toy set with changed files."""

    def load(changes: Changes | None = None, **options: Any) -> Dataset:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            return load_dataset(write_folder(Path(folder), changes), **options)

    return load


def dense(dataset: Dataset) -> list[list[float]]:
    matrix: list[list[float]] = dataset.graphs.A.toarray().tolist()
    return matrix


def same(one: Dataset, other: Dataset) -> bool:
    return one.digest == other.digest and np.array_equal(one.graphs.X, other.graphs.X)


# What is in the files


@pytest.mark.parametrize(
    ("features", "width", "first"),
    [
        ("labels", 3, [1, 0, 0]),
        ("attributes", 1, [0.5]),
        ("both", 4, [1, 0, 0, 0.5]),
        ("constant", 1, [1]),
        ("degree", 2, [1, 0]),
    ],
)
def test_case_001_labels_and_attributes_apart(
    toy: Callable[..., Dataset], features: str, width: int, first: list[float]
) -> None:
    dataset = toy({"node_attributes": "0.5\n1.5\n-2\n3e0\n4\n"}, features=features)
    assert dataset.num_features == width
    assert dataset.graphs.X[0].tolist() == first
    assert f"{width} feature{'s' * (width > 1)} from {features}" in repr(dataset)


def test_case_001_labels_are_the_default(toy: Callable[..., Dataset]) -> None:
    dataset = toy({"node_attributes": "0.5\n1.5\n-2\n3e0\n4\n"})
    assert dataset.num_features == 3
    assert dataset.graphs.X.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert dataset.attributes is not None
    assert dataset.attributes[:, 0].tolist() == [0.5, 1.5, -2, 3, 4]


@pytest.mark.parametrize("features", ["attributes", "both"])
def test_case_001_asking_for_what_is_not_there(toy: Callable[..., Dataset], features: str) -> None:
    with pytest.raises(UsageError, match=f"'{features}' needs node attributes"):
        toy(features=features)


def test_case_001_unknown_features(toy: Callable[..., Dataset]) -> None:
    with pytest.raises(UsageError, match=r"expected one of 'labels', .*got 'one-hot'"):
        toy(features="one-hot")


def test_case_002_no_node_labels(toy: Callable[..., Dataset]) -> None:
    with pytest.warns(Notice, match="no node labels, so every node has the one feature 1"):
        dataset = toy({"node_labels": None})
    assert dataset.graphs.X.tolist() == [[1]] * 5
    assert len(dataset.notices) == 1
    assert toy({"node_labels": None}, features="degree").graphs.X.tolist() == [[1, 0], [0, 1], [1, 0], [1, 0], [1, 0]]
    assert toy({"node_labels": None}, features="constant").notices == ()
    with pytest.warns(Notice, match="or 'attributes' is another choice"):
        toy({"node_labels": None, "node_attributes": "1\n" * 5})


def test_case_004_two_label_columns(toy: Callable[..., Dataset]) -> None:
    dataset = toy({"node_labels": "0, 5\n1, 2\n0, 2\n0, 7\n1, 5\n"})
    assert dataset.encoder.vocabularies == ((0, 1), (2, 5, 7))
    assert dataset.graphs.X.tolist() == [
        [1, 0, 0, 1, 0],
        [0, 1, 1, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 0, 0, 0, 1],
        [0, 1, 0, 1, 0],
    ]


@pytest.mark.parametrize(
    ("lines", "line"),
    [("0\n1, 2, 3\n0\n0\n0\n", 2), ("0, 1\n1\n0, 1\n0, 1\n0, 1\n", 2), ("1, 2\n1, 2\n1, 2\n1, 2\n1, 2,\n", 5)],
)
def test_case_004_ragged_lines(toy: Callable[..., Dataset], lines: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"TOY_node_labels.txt, line {line}: expected . values? as in line 1, got \d"):
        toy({"node_labels": lines})


def test_case_005_real_targets_are_no_classes(toy: Callable[..., Dataset]) -> None:
    with pytest.raises(DataError, match=r"no class labels here, only TOY_graph_attributes.txt") as error:
        toy({"graph_labels": None, "graph_attributes": "0.5\n1.5\n"})
    assert "\n" not in str(error.value)
    assert len(toy({"graph_attributes": "0.5\n1.5\n"})) == 2  # beside class labels they do no harm
    with pytest.raises(DataError, match=r"TOY_graph_labels.txt, line 2: expected a whole number, got '1.5'"):
        toy({"graph_labels": "0\n1.5\n"})


@pytest.mark.parametrize(
    ("lines", "classes", "y"),
    [
        ("1\n-1\n", (-1, 1), [1, 0]),
        ("2\n1\n", (1, 2), [1, 0]),
        ("0\n5\n", (0, 5), [0, 1]),
        ("3\n3\n", (3,), [0, 0]),
        ("1.0\n-1.0\n", (-1, 1), [1, 0]),
        ("9007199254740991\n-7\n", (-7, 2**53 - 1), [1, 0]),
    ],
)
def test_case_006_classes_in_sorted_order(
    toy: Callable[..., Dataset], lines: str, classes: tuple[int, ...], y: list[int]
) -> None:
    dataset = toy({"graph_labels": lines})
    assert dataset.classes == classes
    assert all(type(value) is int for value in dataset.classes)
    assert dataset.y.tolist() == y
    assert dataset.y.dtype == np.int64
    assert dataset.labels.tolist() == [float(value) for value in lines.split()]
    assert dataset.num_classes == len(classes)


@pytest.mark.parametrize("label", ["9007199254740992", "-9007199254740993", "1e300"])
def test_case_006_labels_too_big_to_be_exact(toy: Callable[..., Dataset], label: str) -> None:
    with pytest.raises(DataError, match=r"TOY_graph_labels.txt, line 2: expected a whole number"):
        toy({"graph_labels": f"1\n{label}\n"})


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("1, 2\n1, 5\n", r"line 2: the edge 1, 5 joins node 1 of graph 1 and node 5 of graph 2"),
        ("1, 2\n2, 1\n4, 3\n", r"line 3: the edge 4, 3 joins node 4 of graph 2 and node 3 of graph 1"),
        ("0, 1\n", r"line 1: expected node numbers from 1 to 5 .*got the edge 0, 1"),
        ("1, 2\n5, 6\n", r"line 2: expected node numbers from 1 to 5 .*got the edge 5, 6"),
        ("1, 2\n-1, 2\n", r"line 2: expected node numbers from 1 to 5 .*got the edge -1, 2"),
    ],
)
def test_case_008_edges_to_where_there_is_nothing(toy: Callable[..., Dataset], edges: str, message: str) -> None:
    with pytest.raises(DataError, match="TOY_A.txt, " + message):
        toy({"A": edges})


def test_case_010_nodes_not_grouped_by_graph(toy: Callable[..., Dataset]) -> None:
    # Graph 1: nodes 1, 3, 5, a path 3-1-5; graph 2: nodes 2, 4, an edge.
    mixed = toy(
        {
            "graph_indicator": "1\n2\n1\n2\n1\n",
            "A": "1, 3\n3, 1\n1, 5\n5, 1\n2, 4\n4, 2\n",
            "node_labels": "10\n20\n30\n40\n50\n",
            "node_attributes": "1\n2\n3\n4\n5\n",
        }
    )
    grouped = toy(
        {
            "graph_indicator": "1\n1\n1\n2\n2\n",
            "A": "1, 2\n2, 1\n1, 3\n3, 1\n4, 5\n5, 4\n",
            "node_labels": "10\n30\n50\n20\n40\n",
            "node_attributes": "1\n3\n5\n2\n4\n",
        }
    )
    assert same(mixed, grouped)
    assert mixed.graphs.ptr.tolist() == [0, 3, 5]
    assert toy({"graph_indicator": "2\n2\n2\n1\n1\n"}).graphs.ptr.tolist() == [0, 2, 5]  # graphs in the other order


@pytest.mark.parametrize(
    ("role", "content", "message"),
    [
        ("graph_labels", "1\n", r"TOY_graph_labels.txt: expected 2 lines .*TOY_graph_indicator.txt\), found 1"),
        ("node_labels", "0\n" * 6, r"TOY_node_labels.txt: expected 5 lines, as in TOY_graph_indicator.txt, found 6"),
        ("node_labels", "0\n" * 4, r"TOY_node_labels.txt: expected 5 lines, .*found 4"),
        ("node_labels", "", r"TOY_node_labels.txt: expected 5 lines, .*found 0"),
        ("node_attributes", "0.5\n" * 4, r"TOY_node_attributes.txt: expected 5 lines, .*found 4"),
        ("edge_labels", "0\n" * 5, r"TOY_edge_labels.txt: expected 6 lines, as in TOY_A.txt, found 5"),
        ("edge_attributes", "0\n" * 7, r"TOY_edge_attributes.txt: expected 6 lines, as in TOY_A.txt, found 7"),
        ("graph_indicator", "1\n1\n1\n2\n", r"TOY_A.txt, line 5: expected node numbers from 1 to 4"),
        ("graph_indicator", "1\n1\n0\n2\n2\n", r"TOY_graph_indicator.txt, line 3: expected a graph number, 1 or more"),
        ("graph_labels", "", r"TOY_graph_labels.txt: expected one line for each graph, got none"),
    ],
)
def test_case_011_lengths_that_do_not_agree(toy: Callable[..., Dataset], role: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        toy({role: content})


def test_case_011_a_label_without_nodes_is_an_empty_graph(toy: Callable[..., Dataset]) -> None:
    with pytest.warns(Notice, match="1 of 3 graphs has no node"):
        last = toy({"graph_labels": "1\n-1\n1\n"})
    assert last.graphs.ptr.tolist() == [0, 3, 5, 5]
    assert last[2].N == 0
    with pytest.warns(Notice, match="1 of 3 graphs has no node"):
        gap = toy({"graph_labels": "1\n-1\n1\n", "graph_indicator": "1\n1\n1\n3\n3\n"})
    assert gap.graphs.ptr.tolist() == [0, 3, 3, 5]
    with pytest.warns(Notice, match="2 of 2 graphs have no node"), pytest.warns(Notice, match="makes no column"):
        nothing = toy({"graph_indicator": "", "A": "", "node_labels": ""})
    assert (len(nothing), nothing.graphs.X.shape, nothing.graphs.A.shape) == (2, (0, 1), (0, 0))


def test_case_012_one_line_in_each_file(toy: Callable[..., Dataset]) -> None:
    dataset = toy(
        {"A": "1, 1", "graph_indicator": "1", "graph_labels": "4", "node_labels": "7", "node_attributes": "2, 3"},
        features="both",
    )
    assert dataset.graphs.X.tolist() == [[1, 2, 3]]
    assert dense(dataset) == [[1]]
    assert (dataset.y.shape, dataset.graphs.ptr.tolist(), dataset.classes) == ((1,), [0, 1], (4,))


def test_case_012_no_edges_at_all(toy: Callable[..., Dataset]) -> None:
    dataset = toy({"A": ""})
    assert dataset.graphs.A.shape == (5, 5)
    assert dataset.graphs.A.nnz == 0


# How the files are written


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: content.replace(b"\n", b"\r"),
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content + b"\n\n",
        lambda content: content + b"  \t\r\n \r\n",
        lambda content: content.rstrip(b"\n"),
        lambda content: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n") + b"\r\n\r\n",
        lambda content: content.replace(b", ", b",").replace(b"\n", b" \n"),
        lambda content: content.decode().encode("utf-16"),
    ],
    ids=["crlf", "cr", "bom", "blank-lines", "blank-ends", "no-end", "windows", "spaces", "utf16"],
)
def test_case_014_line_ends_and_marks(tmp_path: Path, rewrite: Callable[[bytes], bytes]) -> None:
    clean = load_dataset("MUTAG")
    with zipfile.ZipFile(Path(load_dataset.__code__.co_filename).parent / "data" / "MUTAG.zip") as archive:
        for name in archive.namelist():
            (tmp_path / Path(name).name).write_bytes(rewrite(archive.read(name)))
    assert same(load_dataset(tmp_path), clean)


@pytest.mark.parametrize(
    ("content", "line"), [("1\n\n1\n", 2), ("\n1\n1\n", 1), ("1\n1\n \t\n1\n", 3), ("1\r\n\r\n1\r\n", 2)]
)
def test_case_014_blank_line_inside(content: str, line: int) -> None:
    with pytest.raises(DataError, match=f"x.txt, line {line}: expected values, got a blank line"):
        read_table(content.encode(), "x.txt")


@pytest.mark.parametrize("line", ["12, 345", "12,345", "12 ,\t345  ", "\t12,345", "12.0,345", "+12, 0345", "12,345\v"])
def test_case_015_separators(line: str) -> None:
    assert read_table(f"{line}\n100, 7\n".encode(), "x_A.txt", columns=2).tolist() == [[12, 345], [100, 7]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("12 345", "expected 2 values, got 1 .'12 345'."),
        ("12;345", "expected 2 values, got 1"),
        ("12,,345", "expected 2 values, got 3"),
        ("12,", "expected a whole number, got ''"),
        ("12, 3 45", "expected a whole number, got '3 45'"),
        ("12, x", "expected a whole number, got 'x'"),
        ("12, 0x1F", "expected a whole number, got '0x1F'"),
        ("12, 1_0", "expected a whole number, got '1_0'"),
        ("12, 3.5", "expected a whole number, got '3.5'"),
        ("12, nan", "expected a whole number, got 'nan'"),
        ('12, "3"', "expected a whole number"),
        ("12, 3 # three", "expected a whole number"),
        ("12, 3\x00", "expected a whole number"),
    ],
)
def test_case_015_lines_that_are_no_edges(line: str, message: str) -> None:
    with pytest.raises(DataError, match="x_A.txt, line 3: " + message):
        read_table(f"1, 2\n2, 1\n{line}\n3, 1\n".encode(), "x_A.txt", columns=2)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "NaN", "", "one"])
def test_attributes_must_be_finite(toy: Callable[..., Dataset], value: str) -> None:
    with pytest.raises(DataError, match=r"TOY_node_attributes.txt, line 2: expected a finite number, got"):
        toy({"node_attributes": f"1, 1\n1, {value}\n1, 1\n1, 1\n1, 1\n"})


def test_bytes_that_are_no_text_are_named(toy: Callable[..., Dataset]) -> None:
    with pytest.raises(DataError, match=r"TOY_graph_labels.txt, line 1: expected a whole number"):
        toy({"graph_labels": b"\xff\x00\x81\n1\n"})


# Folders and zips


def test_case_017_half_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "TOY.zip"
    whole = toy_zip()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=f"{path}: .*(cut short or damaged|empty file)"):
            load_dataset(path)
        assert [file.name for file in tmp_path.iterdir()] == ["TOY.zip"]
    path.write_bytes(whole)
    assert len(load_dataset(path)) == 2


def test_case_017_any_flipped_byte_is_one_error_or_no_change(tmp_path: Path) -> None:
    whole = toy_zip({"node_labels": None})  # needed files only: an optional one may be lost with its name
    path = tmp_path / "TOY.zip"
    path.write_bytes(whole)
    digest = load_dataset(path, features="constant").digest
    errors = []
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            assert load_dataset(path, features="constant").digest == digest
        except DataError as error:
            errors.append(str(error))
    assert len(errors) > len(whole) / 2
    assert all(str(path) in error for error in errors)


def test_case_017_a_web_page_called_zip(tmp_path: Path) -> None:
    path = tmp_path / "MUTAG.zip"
    path.write_bytes(b"\n<!DOCTYPE html><html><title>404</title></html>")
    with pytest.raises(DataError, match=f"{path}: expected a zip, got a web page"):
        load_dataset(path)
    path.write_bytes(b"MUTAG")
    with pytest.raises(DataError, match=f"{path}: expected a zip, got something else"):
        load_dataset(path)


def test_case_017_what_cannot_be_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "TOY")
    (folder / "TOY_A.txt").unlink()
    (folder / "TOY_A.txt").symlink_to(folder / "gone")
    with pytest.raises(DataError, match=r"TOY_A.txt: cannot be read: No such file or directory"):
        load_dataset(folder)
    if os.geteuid() != 0:  # root reads everything
        (folder / "TOY_A.txt").unlink()
        write_folder(folder)
        (folder / "TOY_A.txt").chmod(0)
        with pytest.raises(DataError, match=r"TOY_A.txt: cannot be read: Permission denied"):
            load_dataset(folder)


@pytest.mark.parametrize("evil", ["../../x_A.txt", "TOY/../../x_A.txt", "..\\..\\x_A.txt", "../TOY_A.txt"])
def test_case_018_members_that_step_outside(tmp_path: Path, evil: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    path = inner / "TOY.zip"
    path.write_bytes(zip_bytes({**toy_files(), evil: b"1, 1\n"}))
    assert load_dataset(path).graphs.A.nnz == 6
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


def test_case_018_absolute_members_are_only_names(tmp_path: Path) -> None:
    path = tmp_path / "TOY.zip"
    path.write_bytes(zip_bytes({f"/tmp/{name}": content for name, content in toy_files().items()}))
    assert len(load_dataset(path)) == 2
    assert not Path("/tmp/TOY_A.txt").exists()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda name: name,
        lambda name: f"TOY/{name}",
        lambda name: f"TOY//{name}",
        lambda name: f"./TOY/{name}",
        lambda name: f"TOY\\{name}",
        lambda name: f"deep/er/{name}",
    ],
)
def test_layouts_of_a_zip(tmp_path: Path, wrap: Callable[[str], str]) -> None:
    members = {wrap(name): content for name, content in toy_files().items()}
    extra = {wrap("README.txt~"): b"", wrap("TOY_A.txt~"): b"no", "__MACOSX/TOY/._TOY_A.txt": b"no", "TOY/": b""}
    path = tmp_path / "any-name.zip"
    path.write_bytes(zip_bytes({**extra, **members}))
    dataset = load_dataset(str(path))
    assert dataset.name == "TOY"
    assert same(dataset, load_dataset(write_folder(tmp_path / "folder")))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "one NAME_A.txt; got none"),
        ({"TOY/README.txt": b""}, "one NAME_A.txt; got none"),
        ({**toy_files(), **toy_files(name="ELSE")}, "got ELSE_A.txt, TOY_A.txt"),
        ({**toy_files(), **{f"raw/{n}": c for n, c in toy_files().items()}}, "got TOY_A.txt, TOY_A.txt"),
        ({**toy_files(), "./TOY_A.txt": b""}, "holds TOY_A.txt twice"),
        (toy_files({"graph_indicator": None}), "TOY_graph_indicator.txt: no such file, and the TU format needs it"),
        (toy_files({"graph_labels": None}), "TOY_graph_labels.txt: no such file, and the TU format needs it"),
    ],
)
def test_zips_that_hold_no_one_data_set(members: dict[str, bytes], message: str) -> None:
    from minipinet.datasets.tu import parse_tu

    with pytest.raises(DataError, match=f"^/x.zip.*{message}"):
        parse_tu(unzip(zip_bytes(members), "/x.zip"))


def test_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    members = toy_files({"node_labels": b"0\n" * 10**6})
    with pytest.raises(DataError, match=r"/x.zip: expected at most 100000 bytes of unpacked files, got 20000\d\d"):
        unzip(zip_bytes(members), "/x.zip", max_bytes=10**5)
    # A header that understates the size does not get past the limit either.
    raw = bytearray(zip_bytes({name: members[name] for name in sorted(members)}))
    for place in range(len(raw)):
        if raw[place : place + 4] == struct.pack("<I", 2 * 10**6):
            raw[place : place + 4] = struct.pack("<I", 10)
    with pytest.raises(DataError, match=r"/x.zip: the zip is cut short or damaged"):
        unzip(bytes(raw), "/x.zip", max_bytes=10**5)


def test_encrypted_zip(tmp_path: Path) -> None:
    raw = bytearray(toy_zip())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = raw.find(signature)
        while place >= 0:
            raw[place + offset] |= 1
            place = raw.find(signature, place + 4)
    with pytest.raises(DataError, match=r"/x.zip: the zip is encrypted"):
        unzip(bytes(raw), "/x.zip")


@pytest.mark.parametrize("packed", [False, True])
def test_case_019_a_changed_file_is_seen(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "TOY.zip" if packed else tmp_path / "TOY"

    def write(changes: Changes | None = None) -> None:
        if packed:
            path.write_bytes(toy_zip(changes))
        else:
            write_folder(path, changes)

    write()
    before = load_dataset(path)
    write({"graph_labels": "1\n1\n"})
    after = load_dataset(path)
    assert before.labels.tolist() == [1, -1]
    assert after.labels.tolist() == [1, 1]
    assert before.digest != after.digest
    write()
    assert same(load_dataset(path), before)
    assert load_dataset(path, features="degree").num_features == 2
    assert load_dataset(path).num_features == 3


# Edges


def test_case_020_repeats(toy: Callable[..., Dataset]) -> None:
    edges = "1, 2\n1, 2\n1, 2\n2, 1\n2, 1\n"
    with pytest.warns(Notice, match="3 of 5 lines of the edge list repeat an earlier one: dropped"):
        plain = toy({"A": edges})
    assert dense(plain)[0][:2] == [0, 1]
    assert dense(plain)[1][:2] == [1, 0]
    with pytest.warns(Notice) as notices:
        counted = toy({"A": edges}, keep_repeats=True)
    assert any("3 of 5 lines" in str(notice.message) and "counted" in str(notice.message) for notice in notices)
    assert dense(counted)[0][1] == 3
    assert dense(counted)[1][0] == 3  # symmetric: the larger of the two counts
    with pytest.warns(Notice):
        arcs = toy({"A": edges}, keep_repeats=True, directed=True)
    assert (dense(arcs)[0][1], dense(arcs)[1][0]) == (3, 2)
    assert toy().notices == ()  # both directions of an edge are no repeat


def test_case_020_a_loop_counts_once(toy: Callable[..., Dataset]) -> None:
    dataset = toy({"A": "1, 1\n1, 2\n2, 1\n"})
    assert dense(dataset)[0][:2] == [1, 1]
    assert dataset.notices == ()
    with pytest.warns(Notice, match="1 of 4 lines"):
        assert dense(toy({"A": "1, 1\n1, 1\n1, 2\n2, 1\n"}))[0][0] == 1


def test_case_021_edges_in_one_direction(toy: Callable[..., Dataset]) -> None:
    with pytest.warns(Notice, match="2 entries of A added or raised to make it symmetric"):
        one = toy({"A": "1, 2\n3, 2\n"})
    both = toy({"A": "1, 2\n2, 1\n2, 3\n3, 2\n"})
    assert same(one, both)
    assert one.graphs.A.sum(axis=1).tolist() == [1, 2, 1, 0, 0]
    kept = toy({"A": "1, 2\n3, 2\n"}, directed=True)
    assert dense(kept)[:3] == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    assert kept.notices == ()
    assert kept.digest != one.digest


# Against the data itself, and against a naive reader

FACTS: dict[str, tuple[int, dict[int, int], int, float, int, int | None, int]] = {
    # graphs, class counts, largest, mean nodes, features, attributes, isolated nodes
    "MUTAG": (188, {-1: 63, 1: 125}, 28, 17.93, 7, None, 0),
    "NCI1": (4110, {0: 2053, 1: 2057}, 111, 29.87, 37, None, 428),
    "NCI109": (4127, {0: 2048, 1: 2079}, 111, 29.68, 38, None, 474),
    "PROTEINS": (1113, {1: 663, 2: 450}, 620, 39.06, 3, 1, 5),
    "PTC_FM": (349, {-1: 206, 1: 143}, 64, 14.11, 18, None, 0),
    "PTC_FR": (351, {-1: 230, 1: 121}, 64, 14.56, 19, None, 0),
    "PTC_MM": (336, {-1: 207, 1: 129}, 64, 13.97, 20, None, 0),
    "PTC_MR": (344, {-1: 192, 1: 152}, 64, 14.29, 18, None, 0),
    "ENZYMES": (600, dict.fromkeys(range(1, 7), 100), 126, 32.63, 3, 18, 106),
    "IMDB-BINARY": (1000, {0: 500, 1: 500}, 136, 19.77, 1, None, 0),
}


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::minipinet.errors.Notice")
@pytest.mark.parametrize("name", FACTS)
def test_the_ten_sets(data_dir: Path, name: str) -> None:
    graphs, classes, largest, mean, d, a, isolated = FACTS[name]
    dataset = load_dataset(data_dir / f"{name}.zip")
    sizes = np.diff(dataset.graphs.ptr)
    assert (len(dataset), sizes.max(), round(sizes.mean(), 2)) == (graphs, largest, mean)
    assert dict(zip(*np.unique(dataset.labels, return_counts=True), strict=True)) == classes
    assert dataset.num_features == d
    assert (None if dataset.attributes is None else dataset.attributes.shape[1]) == a
    deg = dataset.graphs.A.sum(axis=1)
    assert np.count_nonzero(deg == 0) == isolated
    assert (dataset.graphs.A != dataset.graphs.A.T).nnz == 0
    assert set(dataset.graphs.A.data) == {1.0}
    assert np.array_equal(dataset.graphs.X.sum(axis=1), np.ones(sizes.sum()))
    assert dataset.digest == DIGESTS[name]
    assert load_dataset(name, data_dir=data_dir, features="degree").digest == DIGESTS[name]


@pytest.mark.data
def test_case_020_imdb_lists_every_edge_twice(data_dir: Path) -> None:
    with pytest.warns(Notice, match="193062 of 386124 lines"):
        dataset = load_dataset(data_dir / "IMDB-BINARY.zip", features="degree")
    assert dataset.graphs.A.nnz == 193062
    with pytest.warns(Notice):
        counted = load_dataset(data_dir / "IMDB-BINARY.zip", features="constant", keep_repeats=True)
    assert set(counted.graphs.A.data) == {2.0}


@pytest.mark.data
def test_nci1_loads_within_seconds(data_dir: Path) -> None:
    start = time.perf_counter()
    load_dataset(data_dir / "NCI1.zip")
    assert time.perf_counter() - start < 5


@st.composite
def tu_sets(draw: st.DrawFn) -> tuple[Changes, dict[str, Any]]:
    """Draw files in a careless hand, and what they mean according to a naive reader."""
    B = draw(st.integers(1, 4))
    graph = draw(st.lists(st.integers(1, B), min_size=1, max_size=12))
    labels = [(draw(st.integers(-3, 3)), draw(st.integers(0, 1))) for _ in graph]
    inside = [(i, j) for i, g in enumerate(graph) for j, h in enumerate(graph) if g == h]
    arcs = draw(st.lists(st.sampled_from(inside), max_size=20))
    values = draw(st.lists(st.integers(-2, 5), min_size=B, max_size=B))
    comma = st.sampled_from([",", ", ", " ,\t", ",  "])
    end = draw(st.sampled_from(["\n", "\r\n", " \n"]))
    tail = draw(st.sampled_from(["", end, end * 3]))
    files: Changes = {
        "A": end.join(f"{i + 1}{draw(comma)}{j + 1}" for i, j in arcs) + tail,
        "graph_indicator": end.join(map(str, graph)) + tail,
        "graph_labels": end.join(map(str, values)) + tail,
        "node_labels": end.join(f"{a}{draw(comma)}{b}" for a, b in labels) + tail,
    }
    order = [i for g in range(1, B + 1) for i in range(len(graph)) if graph[i] == g]
    A = [[float((i, j) in arcs or (j, i) in arcs) for j in order] for i in order]
    vocabularies = [sorted({label[c] for label in labels}) for c in (0, 1)]
    X = [[float(labels[i][c] == v) for c in (0, 1) for v in vocabularies[c]] for i in order]
    return files, {"A": A, "X": X, "labels": values, "sizes": [graph.count(g) for g in range(1, B + 1)]}


@pytest.mark.filterwarnings("ignore::minipinet.errors.Notice")
@given(tu_sets())
def test_against_a_naive_reader(drawn: tuple[Changes, dict[str, Any]]) -> None:
    files, meant = drawn
    with tempfile.TemporaryDirectory() as folder:
        dataset = load_dataset(write_folder(Path(folder), files))
    assert dense(dataset) == meant["A"]
    assert dataset.graphs.X.tolist() == meant["X"]
    assert dataset.labels.tolist() == meant["labels"]
    assert np.diff(dataset.graphs.ptr).tolist() == meant["sizes"]
    assert dataset.graphs.A.has_canonical_format


def test_toy_is_what_the_tests_think(toy: Callable[..., Dataset]) -> None:
    dataset = toy()
    assert dense(dataset) == [[0, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 0]]
    assert dataset.labels.tolist() == [1, -1]
    assert set(TOY) == {"A", "graph_indicator", "graph_labels", "node_labels"}
