"""The graphs of a report: which are drawn, that their numbers are the model's, and how many bytes they take."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from minipinet.datasets import dataset_from_graphs, load_dataset
from minipinet.graphs import as_graph, permute_nodes
from minipinet.predictor import PiNet
from minipinet.report import make_report
from minipinet.report.gallery import MOST_NODES
from minipinet.report.page import GRAPHS
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_reports import (
    DATA,
    Page,
    cross_validated,
    data_of,
    record_of,
)

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")


def short(numbers: Iterable[float]) -> list[float]:
    """Return numbers with the three digits that a page shows."""
    return [float(f"{x:.3g}") for x in numbers]


def test_wrong_graphs_come_first_and_of_either_kind_the_surest(run_dir: Path) -> None:
    page = Page(make_report(run_dir, dataset=DATA, graphs=24))
    badges, verdicts = page.texts("span", "badge"), page.texts("p", "verdict")
    matrix = np.array(record_of(run_dir)["results"]["summary"]["confusion_matrix"])
    wrong = int(matrix.sum() - matrix.trace())
    assert 0 < wrong < 24
    assert badges == ["wrong"] * wrong + ["right"] * (24 - wrong)
    certain = [float(verdict.split("probability ")[1].split(";")[0]) for verdict in verdicts]
    assert certain[:wrong] == sorted(certain[:wrong], reverse=True)
    assert certain[wrong:] == sorted(certain[wrong:], reverse=True)
    numbers = [int(title.split()[1]) for title in page.texts("h3")]
    assert sorted(numbers) == list(range(24))
    splits = record_of(run_dir)["splits"]
    folds = [int(verdict.rpartition("fold ")[2]) for verdict in verdicts]
    assert all(number in splits[fold]["test"] for number, fold in zip(numbers, folds, strict=True))
    few = Page(make_report(run_dir, dataset=DATA, graphs=4)).texts("span", "badge")
    assert few == ["wrong"] * min(wrong, 3) + ["right"] * (4 - min(wrong, 3))


def test_the_numbers_of_a_graph_are_those_of_its_model(run_dir: Path, html: str) -> None:
    page, data = Page(html), data_of(html)
    assert data["columns"] == 4
    for title, verdict, shown in zip(page.texts("h3"), page.texts("p", "verdict"), data["graphs"], strict=True):
        model = PiNet.load(run_dir / f"fold-{int(verdict.rpartition('fold ')[2]):02d}" / "model.safetensors")
        graph = DATA[int(title.split()[1])]
        found = model.attention(graph)
        classes = [model.classes.index(name) for name in shown["classes"]]
        assert shown["classes"][0] == model.predict([graph])[0]
        for i, row in enumerate(shown["place"]):
            assert shown["weights"][row] == short([*found.weights[i], found.weights[i].mean()])
            for s, c in enumerate(classes):
                shares = found.shares[i, :, c]
                assert [share[s] for share in shown["shares"][row]] == short([*shares, shares.sum()])
        assert shown["scores"] == short(found.logits[c] for c in classes)
        for j in range(4):
            assert shown["totals"][j] == short(math.fsum(found.shares[:, j, c]) for c in classes)
        assert shown["totals"][4] == shown["scores"], "there is no bias"
        assert shown["numberings"][0] == list(range(graph.N))
        assert len(shown["numberings"]) == len(shown["bits"]) == 6
        for numbering, bits in zip(shown["numberings"], shown["bits"], strict=True):
            exact = model.logits([permute_nodes(graph, numbering)], bitwise=True)[0]
            assert [struct.unpack(">d", bytes.fromhex(hexadecimal))[0] for _, hexadecimal in bits[:2]] == [
                exact[c] for c in classes
            ]
            assert [float(digits) for digits, _ in bits[:2]] == [exact[c] for c in classes]
            ordinary = [np.float32(digits) for digits, _ in bits[2:]]
            assert [struct.unpack(">f", bytes.fromhex(hexadecimal))[0] for _, hexadecimal in bits[2:]] == ordinary
            assert ordinary == pytest.approx([exact[c] for c in classes], rel=1e-4, abs=1e-4)
        assert set(shown["predictions"]) == {shown["classes"][0]}


def test_exact_scores_keep_their_bits_and_ordinary_ones_do_not() -> None:
    from minipinet.report.gallery import scores_in_numberings

    mutag = load_dataset("MUTAG")
    model = train_pinet(mutag, Settings(epochs=3, hidden=32, out=16)).model
    changed = 0
    for g in range(10):
        scores = scores_in_numberings(model, mutag[g], g)
        assert len({row.tobytes() for row in scores.exact}) == 1
        assert (np.sort(scores.numberings) == np.arange(mutag[g].N)).all()
        assert len({row.tobytes() for row in scores.numberings}) == 6
        changed += len({row.tobytes() for row in scores.ordinary}) > 1
    assert changed >= 5


def test_none_are_drawn_if_none_are_asked_for(run_dir: Path) -> None:
    assert "none were asked for" in make_report(run_dir, dataset=DATA, graphs=0)


def test_large_graphs_and_those_without_nodes_are_left_out(tmp_path: Path) -> None:
    path = [as_graph(np.eye(n, k=1) + np.eye(n, k=-1)) for n in (3, MOST_NODES, MOST_NODES + 1, 4)]
    data = dataset_from_graphs(path * 3, ["a", "b", "a", "b"] * 3, name="paths")
    page = Page(make_report(cross_validated(tmp_path / "large", data), dataset=data))
    assert sorted(int(title.split()[1]) % 4 for title in page.texts("h3")) == [0] * 3 + [1] * 3 + [3] * 3
    assert any(said.startswith("9 of 12 graphs") for said in page.texts("p"))
    assert page.texts("details", "left-out") == [
        f"Which 3 graphs are left out3 graphs of more than {MOST_NODES} nodes, never drawn: 2, 6, 10"
    ], "more of them cannot be asked for"


def test_it_is_said_which_graphs_are_left_out_and_how_to_ask_for_them(run_dir: Path) -> None:
    everything = Page(make_report(run_dir, dataset=DATA, graphs=24))
    wrong = everything.texts("span", "badge").count("wrong")
    order = [int(title.split()[1]) for title in everything.texts("h3")]
    assert everything.texts("details", "left-out") == []
    page = Page(make_report(run_dir, dataset=DATA, graphs=2))  # one wrong one, or two
    drawn = page.texts("span", "badge").count("wrong")
    (said,) = page.texts("details", "left-out")
    missing = ", ".join(map(str, sorted(order[drawn:wrong])))
    assert said.startswith(f"Which 22 graphs are left out{wrong - drawn} graphs wrongly labelled: {missing}")
    assert f"{24 - wrong - (2 - drawn)} graphs rightly labelled: all others" in said
    assert said.endswith("minipinet report RUN --graphs N draws N of them.")


@pytest.mark.parametrize("out", [4, 32])
def test_the_bytes_of_a_graph_are_bounded(tmp_path: Path, out: int) -> None:
    rng = np.random.default_rng(0)
    adjacency = np.triu(rng.random((4, MOST_NODES, MOST_NODES)) < 0.05, 1)  # no two nodes alike, four edges a node
    data = dataset_from_graphs([as_graph((A | A.T).astype(float)) for A in adjacency], ["a", "b"] * 2, name="large")
    folder = tmp_path / "run"
    train_pinet(data, Settings(epochs=1, hidden=4, out=out), run_dir=folder)
    few, many = (len(make_report(folder, dataset=data, graphs=n).encode()) for n in (1, 4))
    assert 0 < many - few < 3 * bytes_of_graph(MOST_NODES, out)
    assert GRAPHS * bytes_of_graph(MOST_NODES, 64) < 6e6, "as docs/report.md says of the default"


def bytes_of_graph(nodes: int, columns: int) -> int:
    """Return the bytes that docs/report.md states for a graph at most, its names aside."""
    return 4_000 + nodes * (450 + 30 * columns)


def test_of_several_classes_the_rival_is_the_true_one_or_the_next_best(tmp_path: Path) -> None:
    data = dataset_from_graphs(list(DATA), np.array(["a", "b", "c"])[np.arange(24) % 3], name="three")
    html = make_report(cross_validated(tmp_path, data), dataset=data)
    page = Page(html)
    numbers = [int(title.split()[1]) for title in page.texts("h3")]
    assert len(numbers) == 24
    for graph, number, badge in zip(data_of(html)["graphs"], numbers, page.texts("span", "badge"), strict=True):
        predicted, rival = graph["classes"]
        truth = data.labels[number]
        assert predicted != rival
        assert truth == (predicted if badge == "right" else rival)


def test_arcs_are_counted_as_arcs(tmp_path: Path) -> None:
    chain = as_graph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], directed=True)
    ring = as_graph([[1, 1, 0], [0, 0, 1], [1, 0, 0]], directed=True)  # three arcs and a loop
    both_ways = as_graph([[1, 1, 0], [1, 0, 1], [0, 1, 0]])
    one_weight = as_graph([[0, 2], [1, 0]], weighted=True, directed=True)
    data = dataset_from_graphs([chain, ring, both_ways, one_weight], ["a", "b", "a", "b"])
    train_pinet(data, Settings(epochs=1, hidden=2, out=2), run_dir=tmp_path / "run")
    page = Page(make_report(tmp_path / "run", dataset=data))
    sizes = dict(zip(page.texts("h3"), page.texts("p", "node-text"), strict=True))
    assert {int(title.split()[1]): size for title, size in sizes.items()} == {
        0: "3 nodes, 2 arcs (drawn without direction).",
        1: "3 nodes, 4 arcs (drawn without direction).",
        2: "3 nodes, 3 edges.",
        3: "2 nodes, 2 arcs (drawn without direction).",
    }
