"""The trained model: new graphs of every kind, saved and loaded, names of classes as they came."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import safetensors.numpy

import minipinet.predictor
from minipinet.checkpoint import save_checkpoint
from minipinet.datasets import FeatureEncoder, dataset_from_graphs, load_dataset, refit_encoder
from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import as_graph
from minipinet.predictor import PiNet
from minipinet.quotient import refine
from minipinet.reading import Reading
from minipinet.readout import softmax_cross_entropy_forward
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.union import take_graphs
from tests.small_data import python, random_graph, same_bits, two_kinds
from tests.tolerances import ORACLE_FLOAT32, relative_error

SMALL = Settings(epochs=30, batch_size=7, hidden=6, out=4, lr=1e-2)
DATA = two_kinds(24)
MUTAG = load_dataset("MUTAG")


@pytest.fixture(scope="module")
def model() -> PiNet:
    return train_pinet(DATA, SMALL).model


@pytest.fixture(scope="module")
def mutag_model() -> PiNet:
    return train_pinet(MUTAG, Settings(epochs=120, hidden=16, out=8, lr=1e-2)).model


def molecule(g: int) -> nx.Graph:
    """Return a graph of MUTAG as a networkx graph with string ids and the atom type under "label"."""
    graph = MUTAG[g]
    G = nx.Graph()
    types = graph.X.argmax(axis=1)
    G.add_nodes_from((f"atom {i}", {"label": int(types[i])}) for i in range(graph.N))
    G.add_edges_from((f"atom {i}", f"atom {j}") for i, j in zip(*graph.A.nonzero(), strict=True))
    return G


def test_predictions_are_the_original_names(model: PiNet, mutag_model: PiNet) -> None:
    names = model.predict(DATA)
    assert set(names) == {"sparse", "dense"}
    assert np.mean(names == DATA.labels) > 0.8
    numbers = mutag_model.predict(MUTAG)
    assert set(numbers) == {-1, 1}
    assert numbers.dtype.kind == "i"
    assert np.mean(numbers == MUTAG.labels) > 0.8 > 125 / 188


def test_probabilities_logits_and_predictions_agree(model: PiNet) -> None:
    logits, probabilities = model.logits(DATA), model.probabilities(DATA)
    assert logits.shape == probabilities.shape == (24, 2)
    assert logits.dtype == np.float32
    assert relative_error(probabilities.sum(axis=1), np.ones(24)) < ORACLE_FLOAT32
    assert model.predict(DATA).tolist() == [model.classes[c] for c in probabilities.argmax(axis=1)]
    y = np.zeros(24, int)
    assert np.exp(-softmax_cross_entropy_forward(logits[:1], y[:1])[0]) == probabilities[0, 0]


def test_case_070_the_softmax_is_taken_once(model: PiNet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PiNet, "logits", lambda self, graphs, **_: np.array([[10.0, -10.0]]))
    probabilities = model.probabilities([])
    assert 2.0e-9 < -np.log(probabilities[0, 0]) < 2.1e-9  # 0.313 after a second softmax
    assert probabilities[0, 1] < 1e-8


def test_a_data_set_a_list_of_graphs_and_networkx_graphs_give_the_same_bits(mutag_model: PiNet) -> None:
    part = MUTAG[20:40]
    expected = mutag_model.logits(part)
    assert same_bits(mutag_model.logits(list(part)), expected)
    assert same_bits(mutag_model.logits(tuple(part)), expected)
    assert same_bits(mutag_model.logits([molecule(g) for g in range(20, 40)]), expected)
    for g in range(20, 40):
        assert same_bits(mutag_model.logits([molecule(g)])[0], expected[g - 20])


def test_a_union_is_taken_as_it_is(mutag_model: PiNet) -> None:
    assert same_bits(mutag_model.logits(MUTAG.graphs), mutag_model.logits(MUTAG))
    assert mutag_model.predict(take_graphs(MUTAG.graphs, [3])).tolist() == mutag_model.predict(MUTAG[[3]]).tolist()
    assert mutag_model.logits(take_graphs(MUTAG.graphs, [])).shape == (0, 2)
    with pytest.raises(UsageError, match="graphs: expected 7 features a node, as in training, got 2"):
        mutag_model.predict(DATA.graphs)


def test_the_plain_form_predicts_alike(model: PiNet, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = replace(model, settings=replace(model.settings, merge=False))
    rows: list[int] = []

    def refining(graphs: Any, merge: bool = True) -> Any:
        quotient = refine(graphs, merge)
        rows.append(len(quotient.X))
        return quotient

    monkeypatch.setattr(minipinet.predictor, "refine", refining)
    plain.logits(DATA)
    model.logits(DATA)
    assert rows[0] == len(DATA.graphs.X) > rows[1]
    assert relative_error(plain.logits(DATA), model.logits(DATA)) < ORACLE_FLOAT32
    assert plain.predict(DATA).tolist() == model.predict(DATA).tolist()


LABEL = """
import sys, networkx as nx
from minipinet.predictor import PiNet
from minipinet.quotient import refine
model = PiNet.load(sys.argv[1])
G = nx.Graph([(0, 1), (1, 2)])
nx.set_node_attributes(G, {0: 0, 1: 1, 2: 99}, "label")
print(model.predict([G]))
"""


def test_case_121_save_load_in_a_new_process_and_label_a_new_graph(mutag_model: PiNet, tmp_path: Path) -> None:
    mutag_model.save(tmp_path / "m.safetensors")
    strict = python(LABEL, tmp_path / "m.safetensors", check=False)
    assert "Notice" in strict.stderr  # warnings are errors there, and the unseen type is one
    assert "99" in strict.stderr
    G = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(G, {0: 0, 1: 1, 2: 99}, "label")
    with pytest.warns(Notice, match="99"):
        here = mutag_model.predict([G])
    told = python(
        LABEL.replace("import sys,", "import warnings; warnings.simplefilter('ignore')\nimport sys,"),
        tmp_path / "m.safetensors",
    )
    assert told.stdout.strip() == str(here)
    assert here.tolist() in ([-1], [1])


def test_case_121_an_unseen_atom_type_is_a_row_of_zeros(mutag_model: PiNet) -> None:
    G = molecule(0)
    unseen = G.copy()
    unseen.nodes["atom 3"]["label"] = 99
    graph = MUTAG[0]
    X = graph.X.copy()
    X[3] = 0
    with pytest.warns(Notice, match="99"):
        logits = mutag_model.logits([unseen])
    assert same_bits(logits, mutag_model.logits([as_graph(graph.A, X)]))
    assert not same_bits(logits, mutag_model.logits([G]))


def test_networkx_options_are_passed_on(mutag_model: PiNet) -> None:
    G = molecule(0)
    renamed = nx.Graph()
    renamed.add_nodes_from((node, {"atom": label}) for node, label in G.nodes(data="label"))
    renamed.add_edges_from(G.edges)
    assert same_bits(mutag_model.logits([renamed], node_label="atom"), mutag_model.logits([G]))
    with pytest.raises(DataError, match="label"):
        mutag_model.predict([renamed])


def test_a_model_on_attributes_takes_them_from_networkx() -> None:
    model = train_pinet(DATA, SMALL).model
    graph = DATA[0]
    G = nx.Graph()
    G.add_nodes_from((i, {"a": float(graph.X[i, 0]), "b": float(graph.X[i, 1])}) for i in range(graph.N))
    G.add_edges_from(zip(*graph.A.nonzero(), strict=True))
    assert same_bits(model.logits([G], node_attributes=["a", "b"]), model.logits([graph]))


@pytest.mark.parametrize("kind", ["constant", "degree"])
def test_models_without_labels_need_none(kind: str) -> None:
    data = load_dataset("MUTAG", features=kind)
    model = train_pinet(data, Settings(epochs=1, hidden=4, out=2)).model
    G = nx.Graph(molecule(5).edges)
    assert model.encoder.kind == kind
    assert same_bits(model.logits([G])[0], model.logits(data)[5])


def test_a_data_set_with_other_columns_is_encoded_as_in_training(mutag_model: PiNet) -> None:
    degrees = load_dataset("MUTAG", features="degree")
    assert same_bits(mutag_model.logits(degrees), mutag_model.logits(MUTAG))
    with pytest.warns(Notice, match="unknown"):
        narrow = refit_encoder(MUTAG, MUTAG.y == 0)
    assert narrow.num_features == 6
    assert same_bits(mutag_model.logits(narrow), mutag_model.logits(MUTAG))


def test_no_graphs_no_predictions(model: PiNet) -> None:
    assert model.predict([]).shape == (0,)
    assert model.logits(DATA[:0]).shape == (0, 2)
    assert model.probabilities([]).shape == (0, 2)


def test_strange_graphs_are_ordinary(model: PiNet) -> None:
    rng = np.random.default_rng(0)
    usual = random_graph(rng, 0.5, 6)
    lone, empty = as_graph([[0]], [[1.0, 0.0]]), as_graph(np.zeros((0, 0)), np.zeros((0, 2)))
    with pytest.warns(Notice, match="^2 of 4 graphs have no node: their scores say nothing$"):
        logits = model.logits([empty, usual, lone, empty])
    assert np.isfinite(logits).all()
    assert logits[0].tolist() == logits[3].tolist() == [0.0, 0.0]
    assert same_bits(logits[1], model.logits([usual])[0])


@pytest.mark.parametrize("wrong", [as_graph([[0]]), nx.path_graph(3), None, 3, "MUTAG", iter([])])
def test_what_is_no_list_of_graphs_is_refused(model: PiNet, wrong: Any) -> None:
    with pytest.raises(UsageError, match="graphs: expected"):
        model.predict(wrong)


@pytest.mark.parametrize("wrong", [[3], [as_graph([[0]], [[1.0, 2.0]]), "x"], [nx.path_graph(2), as_graph([[0]])]])
def test_a_list_of_something_else_is_refused(model: PiNet, wrong: Any) -> None:
    with pytest.raises(UsageError, match="graph"):
        model.predict(wrong)


def test_graphs_of_another_width_are_refused(model: PiNet) -> None:
    with pytest.raises(UsageError, match="graphs: expected 2 features a node, as in training, got 3"):
        model.predict([as_graph([[0]], [[1.0, 2.0, 3.0]])])


@pytest.mark.parametrize(
    "labels",
    [[f"class {c}" for c in (2, 0, 1)] * 4, [7, -2, 30] * 4, [True, False, True] * 4, ["ä", "\u4e2d", 'quote "'] * 4],
)
@pytest.mark.parametrize("settings", [SMALL, replace(SMALL, pq=(1, 0), bias=True, dtype="float64")])
def test_save_and_load_give_the_same_model(labels: list[Any], settings: Settings, tmp_path: Path) -> None:
    data = dataset_from_graphs([DATA[g] for g in range(12)], labels)
    model = train_pinet(data, replace(settings, epochs=2)).model
    model.save(tmp_path / "m")
    loaded = PiNet.load(tmp_path / "m")
    assert same_bits(loaded.params, model.params)
    assert (loaded.settings, loaded.classes, loaded.encoder) == (model.settings, model.classes, model.encoder)
    assert loaded.reading == model.reading == Reading()
    assert [type(value) for value in loaded.classes] == [type(value) for value in model.classes]
    assert loaded.predict(data).tolist() == model.predict(data).tolist()
    assert set(loaded.predict(data).tolist()) <= set(labels)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_file_that_is_no_model_is_refused(model: PiNet, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-10])
    (tmp_path / "changed").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    (tmp_path / "text").write_text("hello")
    save_checkpoint(tmp_path / "checkpoint", train_pinet(DATA, SMALL).state, SMALL)
    safetensors.numpy.save_file({"x": np.ones(2)}, tmp_path / "other")
    for name in ("absent", "cut", "changed", "text", "checkpoint", "other"):
        with pytest.raises(DataError) as refused:
            PiNet.load(tmp_path / name)
        assert str(refused.value).startswith(f"{tmp_path / name}: ")
        assert "\n" not in str(refused.value)


def test_a_description_for_other_weights_is_refused(model: PiNet, tmp_path: Path) -> None:
    for other in (replace(model, classes=("a", "b", "c")), replace(model, encoder=FeatureEncoder("constant"))):
        other.save(tmp_path / "m")
        with pytest.raises(DataError, match="the weights are for 2 features and 2 classes"):
            PiNet.load(tmp_path / "m")


def test_the_description_is_json(model: PiNet, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", framework="numpy") as file:
        description = json.loads(file.metadata()["minipinet model"].partition(" ")[2])
    assert description["classes"] == ["dense", "sparse"]
    assert Settings.from_json(description["settings"]) == SMALL


@pytest.mark.parametrize(
    ("pq", "shown"),
    [
        ("learned", "p and q learned"),
        ((1, 0), "(p, q) = (1.0, 0.0)"),
        ([(1, 0), (0, 0), (1, 0), (1, 0)], "(p, q) = (1.0, 0.0), (0.0, 0.0), (1.0, 0.0), (1.0, 0.0)"),
    ],
)
def test_a_model_is_shown_on_one_line(pq: Any, shown: str) -> None:
    trained = train_pinet(DATA, replace(SMALL, epochs=1, pq=pq))
    line = f"PiNet(2 classes ('dense', 'sparse'), 2 features from attributes, widths 6 and 4, {shown})"
    assert repr(trained.model) == str(trained.model) == line
    assert repr(trained) == str(trained) == f"Trained({line}, weights of epoch 1 of 1)"
    loss, accuracy = trained.state.history[0][1:3]
    assert repr(trained.state) == f"TrainState(epoch 1: loss {loss:.4f}, accuracy {accuracy:.3f})"
    few = replace(trained.model, classes=("a",), encoder=FeatureEncoder("constant"))
    assert repr(few).startswith("PiNet(1 class ('a'), 1 feature from constant, ")
    many = replace(trained.model, classes=tuple(range(12)))
    assert repr(many).startswith("PiNet(12 classes (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...), ")


def test_early_stopping_gives_the_best_epochs_weights() -> None:
    settings = replace(SMALL, epochs=200, lr=0.1, validation=0.3, patience=4)
    trained = train_pinet(DATA, settings)
    assert trained.state.best is not None
    assert trained.epoch == trained.state.best.epoch < trained.state.epoch
    assert same_bits(trained.model.params, trained.state.best.params)


def test_training_gives_no_notice_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_pinet(DATA, replace(SMALL, epochs=1))
