"""The text format of GIN and DGCNN: MUTAG out and in, what people's files hold, and one error with file and line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from minipinet.datasets import Dataset, dataset_from_graphs, dataset_from_networkx, load_dataset, load_graphs
from minipinet.errors import DataError, MinipinetError, Notice, UsageError
from minipinet.graphs import as_graph
from minipinet.interop.gin_text import read_gin, write_gin
from tests.small_doors import logits, mutag, mutag_model, same_graphs

#: Two graphs: a path of three nodes, class 5, and an edge, class 0.
TOY = "2\n3 5\n0 1 1\n1 2 0 2\n0 1 1\n2 0\n7 1 1\n0 1 0\n"


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "TOY.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_mutag_goes_out_and_comes_back(tmp_path: Path) -> None:
    write_gin(tmp_path / "MUTAG.txt", mutag())
    again = read_gin(tmp_path / "MUTAG.txt")
    assert again.digest == mutag().digest
    assert (again.name, again.encoder, again.notices) == ("MUTAG", mutag().encoder, ())
    np.testing.assert_array_equal(logits(mutag_model(), again), logits(mutag_model(), mutag()))
    lines = (tmp_path / "MUTAG.txt").read_text().splitlines()
    assert lines[:3] == ["188", "17 1", "0 2 1 5"]
    assert len(lines) == 1 + 188 + 3371


def test_another_reader_finds_the_same_graphs(tmp_path: Path) -> None:
    write_gin(tmp_path / "MUTAG.txt", mutag())
    lines = iter((tmp_path / "MUTAG.txt").read_text().splitlines())
    for g in range(int(next(lines))):
        n, label = map(int, next(lines).split())
        assert label == mutag().labels[g]
        G = nx.empty_graph(n)
        for i in range(n):
            tag, m, *neighbours = map(int, next(lines).split())
            assert m == len(neighbours)
            assert mutag()[g].X[i].tolist() == np.eye(7)[tag].tolist()
            G.add_edges_from((i, j) for j in neighbours)
        np.testing.assert_array_equal(nx.to_numpy_array(G), mutag()[g].A.toarray())
    assert list(lines) == []


def test_attributes_go_out_and_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    graphs = [as_graph(np.eye(4, k=1) + np.eye(4, k=-1), rng.standard_normal((4, 3)) * 10.0**k) for k in (-200, 0, 200)]
    data = dataset_from_graphs(graphs, [1, 0, 1])
    write_gin(tmp_path / "file", data)
    again = read_gin(tmp_path / "file", features="attributes")
    assert same_graphs(list(again), graphs)
    assert again.y.tolist() == [1, 0, 1]
    both = read_gin(tmp_path / "file", features="both")
    assert (both.num_features, both.encoder.vocabularies) == (4, ((0,),))


def test_words_become_numbers(tmp_path: Path) -> None:
    water = nx.star_graph(2)
    nx.set_node_attributes(water, dict(enumerate("OHH")), "atom")
    data = dataset_from_networkx([water, nx.subgraph(water, [1])], ["inorganic", "fragment"], node_label="atom")
    write_gin(tmp_path / "file", data)
    assert (tmp_path / "file").read_text() == "2\n3 1\n1 2 1 2\n0 1 0\n0 1 0\n1 0\n0 0\n"
    np.testing.assert_array_equal(read_gin(tmp_path / "file").graphs.X, data.graphs.X)


def test_what_people_write(tmp_path: Path) -> None:
    clean = read_gin(write(tmp_path, TOY))
    assert clean.labels.tolist() == [5, 0]
    assert clean.encoder.vocabularies == ((0, 1, 7),)
    for content in (
        TOY.replace("\n", "\r\n"),
        b"\xef\xbb\xbf" + TOY.encode(),
        TOY.rstrip("\n"),
        TOY + "\n \n",
        TOY.replace(" ", " \t "),
    ):
        assert read_gin(write(tmp_path, content)).digest == clean.digest


def test_a_model_reads_it_with_its_own_encoder(tmp_path: Path) -> None:
    with pytest.warns(Notice, match="1 node has an unknown node label: 9"):
        data = read_gin(write(tmp_path, TOY.replace("7 1 1", "9 1 1")), encoder=mutag().encoder)
    assert mutag_model().predict(data).shape == (2,)


def test_one_graph_no_graph_no_node(tmp_path: Path) -> None:
    one = read_gin(write(tmp_path, "1\n1 3\n0 0\n"))
    assert (len(one), one[0].N, one.classes) == (1, 1, (3,))
    empty = read_gin(write(tmp_path, "2\n0 1\n1 0\n4 0\n"))
    assert empty.graphs.ptr.tolist() == [0, 0, 1]
    write_gin(tmp_path / "file", empty)
    assert read_gin(tmp_path / "file").digest == empty.digest


def test_repeats_loops_and_neighbours_that_do_not_know_it(tmp_path: Path) -> None:
    with pytest.warns(Notice) as caught:
        data = read_gin(write(tmp_path, "1\n3 0\n0 3 1 1 0\n0 1 2\n0 0\n"))
    assert [str(notice.message) for notice in caught] == [
        "TOY: 1 neighbour named more than once in a line, counted once",
        "TOY: 2 entries of A added or raised to make it symmetric, since the edge list is not "
        "(directed=True leaves it as it is)",
    ]
    assert data[0].A.toarray().tolist() == [[1, 1, 0], [1, 0, 1], [0, 1, 0]]
    with warnings.catch_warnings(action="ignore"):
        kept = read_gin(write(tmp_path, "1\n2 0\n0 1 1\n0 0\n"), directed=True)
    assert kept[0].A.toarray().tolist() == [[0, 1], [0, 0]]
    assert kept.reading.directed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ", line 1: expected the number of graphs, got ''"),
        ("two\n", ", line 1: expected a whole number, got 'two'"),
        ("2 1\n", ", line 1: expected the number of graphs, got '2 1'"),
        ("1\n", ": expected the number of nodes and the class of a graph in line 2, got the end of the file"),
        ("1\n3\n", ", line 2: expected the number of nodes and the class of a graph, got '3'"),
        ("1\n-1 0\n", ", line 2: expected a number of nodes of at least 0, got -1"),
        ("1\n1 0.5\n0 0\n", ", line 2: expected a whole number, got '0.5'"),
        (
            "1\n2 0\n0 0\n",
            ": expected tag, number of neighbours and neighbours of node 1 of the graph in line 2 in line 4",
        ),
        (
            "1\n1 0\n0\n",
            ", line 3: expected tag, number of neighbours and neighbours of node 0 of the graph in line 2, got",
        ),
        (
            "1\n2 0\n0 2 1\n0 0\n",
            ", line 3: expected tag, number of neighbours and neighbours of node 0 of the graph in l",
        ),
        ("1\n1 0\n0 -1\n", ", line 3: expected tag, number of neighbours"),
        ("1\n2 0\n0 1 2\n0 0\n", ", line 3: expected neighbours from 0 to 1, the nodes of the graph in line 2, got 2"),
        (
            "1\n2 0\n0 0\n0 1 -1\n",
            ", line 4: expected neighbours from 0 to 1, the nodes of the graph in line 2, got -1",
        ),
        ("1\n1 0\nC 0\n", ", line 3: expected a whole number, got 'C'"),
        ("1\n1 0\n0 0 1.5 x\n", ", line 3: expected a finite number as attribute, got 'x'"),
        ("1\n1 0\n0 0 nan\n", ", line 3: expected a finite number as attribute, got 'nan'"),
        ("1\n1 0\n0 0 1e999\n", ", line 3: expected a finite number as attribute, got '1e999'"),
        (
            "1\n2 0\n0 0 0.5\n0 0\n",
            ", line 4: expected 1 attribute behind the neighbours, as the first node has, got 0",
        ),
        ("1\n1 0\n1_0 0\n", ", line 3: expected tag, number of neighbours"),
        ("1\n1 0\n٣ 0\n", ", line 3: expected tag, number of neighbours"),
        (
            "1\n1 0\n99999999999999999999 0\n",
            ", line 3: expected a whole number between -2^53 and 2^53, got '99999999999999999999'",
        ),
        (f"1\n1 {-(2**53)}\n0 0\n", f", line 2: expected a whole number between -2^53 and 2^53, got '{-(2**53)}'"),
        ("1\n1 0\n0 0\n1 0\n", ", line 4: expected the end of the file after the last graph, got '1 0'"),
        ("1\n\n1 0\n0 0\n", ", line 2: expected values, got a blank line with more lines after it"),
        (
            "9999999999\n1 0\n0 0\n",
            ": expected the number of nodes and the class of a graph in line 4, got the end of the",
        ),
        ("-1\n", ", line 1: expected a number of graphs of at least 1, got -1"),
        ("0\n", ", line 1: expected a number of graphs of at least 1, got 0"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: str, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DataError) as caught:
        read_gin(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_no_file_no_such_features(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none: cannot be read \(No such file or directory\)"):
        read_gin(tmp_path / "none")
    with pytest.raises(
        UsageError, match="encoder: expected a FeatureEncoder, as a data set or model has, got 'labels'"
    ):
        read_gin(write(tmp_path, TOY), encoder="labels")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="features: expected one of"):
        read_gin(write(tmp_path, TOY), features="atoms")
    with pytest.raises(UsageError, match="features: 'attributes' needs node attributes, and there are none"):
        read_gin(write(tmp_path, TOY), features="attributes")


@pytest.mark.parametrize("path", [None, 3, "", b"x", "a\0b"])
def test_paths_that_are_none(path: Any) -> None:
    for call in (lambda: read_gin(path), lambda: write_gin(path, mutag())):
        with pytest.raises(UsageError, match=r"^path: expected the path of a file, got "):
            call()


@pytest.mark.parametrize("directed", [3, 0, None, "no"])
def test_directed_is_true_or_false(tmp_path: Path, directed: Any) -> None:
    with pytest.raises(UsageError, match=f"^directed: expected True or False, got {directed!r}"):
        read_gin(write(tmp_path, TOY), directed=directed)
    with pytest.raises(UsageError, match=f"^directed: expected True or False, got {directed!r}"):
        load_dataset("MUTAG", directed=directed)
    with pytest.raises(UsageError, match=f"^keep_repeats: expected True or False, got {directed!r}"):
        load_graphs("MUTAG", mutag().encoder, keep_repeats=directed)
    with pytest.raises(UsageError, match=f"^progress: expected True or False, got {directed!r}"):
        load_dataset("MUTAG", progress=directed)


def large(label: int, y: int) -> Dataset:
    G = nx.Graph()
    G.add_node(0, a=label)
    return dataset_from_networkx([G], [y], node_label="a")


def test_the_largest_numbers_go_out_and_come_back(tmp_path: Path) -> None:
    most = 2**53 - 1
    write_gin(tmp_path / "file", large(-most, most))
    data = read_gin(tmp_path / "file")
    assert data.node_labels is not None
    assert (data.node_labels.tolist(), data.labels.tolist()) == ([[-most]], [most])


def two_labels() -> Dataset:
    G = nx.Graph()
    G.add_node(0, a=1, b=2)
    return dataset_from_networkx([G], [0], node_label=["a", "b"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([as_graph([[0]])], "dataset: expected a Dataset, got list"),
        (dataset_from_graphs([as_graph([[2.0]], weighted=True)], [0]), "dataset: expected edges of weight 1"),
        (dataset_from_graphs([as_graph([[0, 1], [0, 0]], directed=True)], [0]), "dataset: expected undirected graphs"),
        (mutag()[:0], "dataset: expected at least one graph"),
        (
            large(2**53, 1),
            r"dataset: expected node labels between -2\^53 and 2\^53, as read_gin does, got 9007199254740992",
        ),
        (
            large(-(2**60), 1),
            r"dataset: expected node labels between -2\^53 and 2\^53, as read_gin does, got -11529215046",
        ),
        (
            large(1, 2**60),
            r"dataset: expected classes between -2\^53 and 2\^53, as read_gin does, got 1152921504606846976",
        ),
        (two_labels(), "dataset: expected one label a node, got 2"),
    ],
)
def test_what_the_format_cannot_hold(tmp_path: Path, data: Dataset, message: str) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(UsageError, match=message):
        write_gin(tmp_path / "file", data)
    assert (tmp_path / "file").read_text() == "old"


def test_no_place_to_write(tmp_path: Path) -> None:
    with pytest.raises(MinipinetError, match="cannot be written: No such file or directory"):
        write_gin(tmp_path / "no" / "file", mutag())
    assert list(tmp_path.iterdir()) == []
