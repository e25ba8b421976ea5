"""``minipinet predict`` and ``minipinet evaluate``: a saved model on new graphs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from minipinet.cli import main
from minipinet.datasets import load_dataset
from minipinet.predictor import PiNet
from tests.cli_calls import call, finish, start
from tests.tu_files import write_folder

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINIPINET_DATA", raising=False)


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained on MUTAG for long enough that it tells some graphs apart."""
    folder = tmp_path_factory.mktemp("models") / "mutag"
    words = ["--folds", "0", "--epochs", "20", "--hidden", "8", "--out", "4", "--lr", "0.01", "--quiet"]
    assert main(["train", *words, "--run-dir", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def named_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the TOY set of attributes and labels, with classes 0 and 5."""
    folder = tmp_path_factory.mktemp("models")
    changes: dict[str, str | bytes | None] = {
        "graph_labels": "5\n0\n",
        "node_attributes": "0.5, 1.0\n" * 5,
    }
    write_folder(folder / "TOY", changes)
    words = ["--folds", "0", "--epochs", "2", "--hidden", "4", "--out", "2", "--features", "both", "--quiet"]
    assert main(["train", *words, "--dataset", str(folder / "TOY"), "--run-dir", str(folder / "run")]) == 0
    return folder / "run" / "model.safetensors"


def molecule(*atoms: Any) -> nx.Graph:
    """Return a chain of atoms."""
    G = nx.path_graph(len(atoms))
    nx.set_node_attributes(G, dict(enumerate(atoms)), "label")
    return G


def write_graphs(file: str, *graphs: nx.Graph, edges: str = "edges") -> str:
    Path(file).write_text(json.dumps([nx.node_link_data(G, edges=edges) for G in graphs]))
    return file


def test_case_121_a_saved_model_labels_new_graphs_in_a_new_process(run_dir: Path, tmp_path: Path) -> None:
    new = [molecule(0, 0, 1, 2), molecule(0, 99), nx.Graph()]
    write_graphs("new.json", *new)
    status, out, err = finish(start("predict", run_dir, "new.json", "--json", cwd=tmp_path))
    assert status == 0
    assert err == (
        "note: 1 node has an unknown node label: 99 (known: 0, 1, 2, 3, 4, 5, 6); its features leave it out\n"
        "note: 1 of 3 graphs has no node: its scores say nothing\n"
    )
    document = json.loads(out)
    assert document["classes"] == [-1, 1]
    assert set(document["labels"]) <= {-1, 1}
    model = PiNet.load(run_dir / "model.safetensors")
    with warnings.catch_warnings(action="ignore"):
        probabilities = model.probabilities(new)
    np.testing.assert_array_equal(document["probabilities"], probabilities.astype(float))


def test_case_121_original_class_names_and_both_kinds_of_features(capsys: Capture, named_model: Path) -> None:
    G = molecule(0, 1, 2)
    nx.set_node_attributes(G, 0.5, "charge")
    nx.set_node_attributes(G, 1.0, "mass")
    nx.set_node_attributes(G, dict(enumerate((2, 1, 0))), "element")
    file = write_graphs("new.json", G)
    outcome = call(capsys, "predict", named_model, file, "--node-attributes", "charge,mass", "--json")
    assert outcome.json["classes"] == [0, 5]
    expected = PiNet.load(named_model).probabilities([G], node_attributes=["charge", "mass"])
    np.testing.assert_array_equal(outcome.json["probabilities"], expected.astype(float))
    words = ["--node-attributes", "mass,charge", "--node-label", "element"]
    other = call(capsys, "predict", named_model, file, *words, "--json")
    expected = PiNet.load(named_model).probabilities([G], node_attributes=["mass", "charge"], node_label="element")
    np.testing.assert_array_equal(other.json["probabilities"], expected.astype(float))
    assert other.json["probabilities"] != outcome.json["probabilities"]


def test_the_table_has_one_row_a_graph(capsys: Capture, run_dir: Path) -> None:
    file = write_graphs("new.json", molecule(0, 0), molecule(0, 1, 2))
    document = call(capsys, "predict", run_dir, file, "--json").json
    lines = call(capsys, "predict", run_dir, file).out.splitlines()
    assert lines[0].split() == ["graph", "class", "probability"]
    rows = zip(document["labels"], document["probabilities"], strict=True)
    assert [line.split() for line in lines[1:]] == [
        [str(g), str(label), f"{max(p):.3f}"] for g, (label, p) in enumerate(rows)
    ]


def test_one_graph_and_the_older_name_of_edges(capsys: Capture, run_dir: Path) -> None:
    G = molecule(0, 1, 2)
    Path("one.json").write_text(json.dumps(nx.node_link_data(G, edges="links")))
    one = call(capsys, "predict", run_dir, "one.json").out
    assert one == call(capsys, "predict", run_dir, write_graphs("list.json", G)).out
    assert len(one.splitlines()) == 2


def test_a_tu_set_is_labelled_as_the_library_does(capsys: Capture, run_dir: Path) -> None:
    document = call(capsys, "predict", run_dir, "mutag", "--json").json
    model = PiNet.load(run_dir / "model.safetensors")
    assert document["labels"] == model.predict(load_dataset("MUTAG")).tolist()
    assert set(document["labels"]) == {-1, 1}, "a model that answers one class everywhere tests little"


def test_the_labels_of_a_tu_set_are_not_looked_at(capsys: Capture, run_dir: Path) -> None:
    write_folder(Path("A"))
    write_folder(Path("B"), {"graph_labels": "7\n8\n"})
    a, b = (call(capsys, "predict", run_dir, f"./{name}").out for name in "AB")
    assert a == b


def test_a_tu_set_needs_no_graph_labels_to_be_labelled(capsys: Capture, run_dir: Path) -> None:
    write_folder(Path("A"))
    write_folder(Path("B"), {"graph_labels": None, "graph_attributes": "0.5\n1.5\n"})
    write_folder(Path("sets") / "PTC_MR", {"graph_labels": None}, name="PTC_MR")
    expected = call(capsys, "predict", run_dir, "./A")
    assert len(expected.out.splitlines()) == 3
    assert call(capsys, "predict", run_dir, "./B") == expected
    assert call(capsys, "predict", run_dir, "ptc-mr", "--data-dir", "sets") == expected
    refused = call(capsys, "evaluate", run_dir, "./B")
    assert refused[:2] == (1, "")
    assert "no class labels here" in refused.err


@pytest.mark.parametrize(
    ("content", "words", "status", "reason"),
    [
        ("[]", [], 1, "new.json: expected at least one graph"),
        ("{", [], 1, "new.json, line 1: not JSON"),
        (
            '{"nodes": [{"id": 0}], "edges": []}',
            [],
            1,
            "new.json, graph 0: node 0 has no attribute 'label'; --node-label",
        ),
        (
            '{"nodes": [{"id": 0, "label": []}], "edges": []}',
            [],
            1,
            "new.json, graph 0: node 0: expected 'label' to be",
        ),
        ('{"nodes": [{"id": 0}], "edges": []}', ["--node-label", "a,b"], 2, "new.json: node_label: expected 1 name"),
        (
            '{"nodes": [{"id": 0, "label": 1}], "edges": []}',
            ["--node-label", "x"],
            1,
            "no attribute 'x', only 'label'; --node-label",
        ),
        ('{"nodes": [{"id": 0}, {"id": 0}], "edges": []}', [], 1, "node 1 has id 0"),
        (None, [], 2, "new.json: cannot be read"),
    ],
)
def test_graphs_that_cannot_be_labelled(
    capsys: Capture, run_dir: Path, content: str | None, words: list[str], status: int, reason: str
) -> None:
    if content is not None:
        Path("new.json").write_text(content)
    outcome = call(capsys, "predict", run_dir, "new.json", *words)
    assert outcome[:2] == (status, "")
    assert reason in outcome.err
    assert "default=" not in outcome.err


def test_keys_of_node_link_graphs_mean_nothing_for_a_tu_set(capsys: Capture, run_dir: Path) -> None:
    status, _, err = call(capsys, "predict", run_dir, "MUTAG", "--node-label", "label")
    assert status == 2
    assert "--node-label, --node-attributes: expected a file NAME.json" in err


def test_a_cross_validation_has_a_model_a_fold_and_the_message_says_so(capsys: Capture) -> None:
    words = ["--folds", 2, "--epochs", 1, "--hidden", 4, "--out", 2, "--jobs", 1, "--run-dir", "cv"]
    assert call(capsys, "train", *words).status == 0
    status, _, err = call(capsys, "predict", "cv", "MUTAG")
    assert status == 2
    assert "one model a fold, such as cv/fold-00/model.safetensors" in err
    assert call(capsys, "evaluate", "cv/fold-01", "MUTAG").status == 0


def test_case_123_evaluate_tells_accuracy_with_what_guessing_gives(capsys: Capture, run_dir: Path) -> None:
    document = call(capsys, "evaluate", run_dir, "MUTAG", "--json").json
    data = load_dataset("MUTAG")
    right = PiNet.load(run_dir / "model.safetensors").predict(data) == data.labels
    negative, positive = right[data.labels == -1], right[data.labels == 1]
    assert document["accuracy"] == np.mean(right)
    assert document["balanced_accuracy"] == pytest.approx((negative.mean() + positive.mean()) / 2, rel=1e-12)
    assert document["majority_rate"] == 125 / 188
    n, p = int(negative.sum()), int(positive.sum())
    assert document["confusion_matrix"] == [[n, 63 - n], [125 - p, p]]
    assert document["data"] == {"name": "MUTAG", "graphs": 188, "digest": data.digest}
    lines = call(capsys, "evaluate", run_dir, "MUTAG").out.splitlines()
    assert f"accuracy             {np.mean(right):.3f}" in lines
    assert "majority-class rate  0.665" in lines
    assert ["-1", str(n), str(63 - n)] in [line.split() for line in lines]


def test_evaluate_counts_classes_by_name_where_the_set_lacks_one(capsys: Capture, run_dir: Path) -> None:
    """A set whose graphs are all of class 1 numbers that class 0; for the model it is the second."""
    write_folder(Path("TOY"), {"graph_labels": "1\n1\n"})
    document = call(capsys, "evaluate", run_dir, "./TOY", "--json").json
    matrix = np.array(document["confusion_matrix"])
    assert matrix[0].tolist() == [0, 0]
    assert matrix[1].sum() == 2
    labels = call(capsys, "predict", run_dir, "./TOY", "--json").json["labels"]
    assert document["accuracy"] == np.mean(np.array(labels) == 1) == document["balanced_accuracy"]
    assert document["majority_rate"] == 1.0


def test_evaluate_refuses_classes_that_the_model_does_not_know(capsys: Capture, run_dir: Path) -> None:
    write_folder(Path("TOY"), {"graph_labels": "1\n2\n"})
    status, out, err = call(capsys, "evaluate", run_dir, "./TOY")
    assert (status, out) == (1, "")
    assert err == "minipinet: error: TOY: expected graphs of the model's classes -1, 1; got 2\n"


def test_evaluate_takes_named_sets_from_a_data_dir(capsys: Capture, run_dir: Path) -> None:
    write_folder(Path("sets") / "PTC_MR", name="PTC_MR")
    outcome = call(capsys, "evaluate", run_dir, "ptc-mr", "--data-dir", "sets", "--json")
    assert outcome.json["data"]["graphs"] == 2


def test_bitwise_predictions_do_not_depend_on_the_order_of_nodes(capsys: Capture, run_dir: Path) -> None:
    rng = np.random.default_rng(0)
    graphs = [molecule(*rng.integers(0, 4, 9).tolist()) for _ in range(12)]
    shuffled = []
    for G in graphs:
        H = nx.Graph()
        H.add_nodes_from((v, G.nodes[v]) for v in rng.permutation(9).tolist())
        H.add_edges_from(G.edges)
        shuffled.append(H)
    write_graphs("some.json", *graphs)
    write_graphs("same.json", *shuffled[::-1], molecule(1, 1, 2))
    some, same = (
        call(capsys, "predict", run_dir, f"{name}.json", "--bitwise", "--json").json for name in ("some", "same")
    )
    assert some["bitwise"] is same["bitwise"] is True
    assert same["probabilities"][-2::-1] == some["probabilities"]
    ordinary = call(capsys, "predict", run_dir, "some.json", "--json").json
    assert ordinary["bitwise"] is False
    assert ordinary["labels"] == some["labels"]
    assert np.abs(np.subtract(ordinary["probabilities"], some["probabilities"])).max() < 1e-4
    assert call(capsys, "predict", run_dir, "MUTAG", "--bitwise").status == 0
