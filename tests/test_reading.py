"""How networkx graphs are read: a model remembers it, saves it, and reads others in the same way."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import safetensors

from minipinet.cli import main
from minipinet.conversions import networkx_union
from minipinet.crossval import cross_validate
from minipinet.datasets import Dataset, dataset_from_graphs, dataset_from_networkx, load_dataset, refit_encoder
from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import as_graph
from minipinet.predictor import PiNet
from minipinet.reading import Reading, as_reading
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.cli_calls import call
from tests.small_data import same_bits, two_kinds
from tests.tu_files import write_folder

TINY = Settings(epochs=1, hidden=4, out=2)
ALL: dict[str, Any] = {"node_label": "atom", "node_attributes": ["mass", "at"], "weight": "bond", "directed": True}


def arcs(g: int) -> nx.DiGraph:
    """Return a directed chain of g + 3 atoms with weighted bonds, where "label" is not what it seems."""
    G = nx.DiGraph()
    for i in range(g + 3):
        G.add_node(i, atom="CHO"[i % 3], label="OCH"[i % 3], mass=i / 2, at=(g, i), other=7)
    G.add_edges_from((i, i + 1, {"bond": 1.0 + i, "other": 3.0}) for i in range(g + 2))
    return G


GRAPHS = [arcs(g) for g in range(6)]


def dataset(**options: Any) -> Dataset:
    with warnings.catch_warnings(action="ignore"):
        return dataset_from_networkx(GRAPHS, [0, 1] * 3, **options)


def train(**options: Any) -> PiNet:
    return train_pinet(dataset(**options), TINY).model


@pytest.mark.parametrize(
    "options",
    [
        {"node_label": "atom", "directed": True},
        {"node_attributes": "mass", "directed": True},
        {"node_attributes": ("at", "mass"), "directed": True},
        {"weight": "bond", "directed": True},
        {"weight": "bond", "directed": True, "features": "degree"},
        {"node_label": ["atom", "other"], "directed": True},
        ALL,
    ],
)
def test_a_model_reads_new_graphs_as_its_own(options: dict[str, Any], tmp_path: Path) -> None:
    data = dataset(**options)
    model = train_pinet(data, TINY).model
    model.save(tmp_path / "m")
    loaded = PiNet.load(tmp_path / "m")
    assert loaded.reading == model.reading == data.reading
    with warnings.catch_warnings(action="error"):
        for one in (model, loaded):
            assert same_bits(one.logits(GRAPHS), model.logits(data))
            assert same_bits(one.probabilities(GRAPHS), model.probabilities(data))
            assert one.predict(GRAPHS).tolist() == model.predict(data).tolist()
    assert data[:2].reading == refit_encoder(data, slice(None)).reading == data.reading


@pytest.mark.parametrize(
    ("option", "other"), [("node_label", "label"), ("node_attributes", ["at", "mass"]), ("weight", "other")]
)
def test_what_is_given_wins_over_what_is_remembered(option: str, other: Any) -> None:
    model = train(**ALL)
    expected = networkx_union(GRAPHS, **{**ALL, option: other}, encoder=model.encoder)
    assert same_bits(model.logits(GRAPHS, **{option: other}), model.logits(expected))
    assert not same_bits(model.logits(GRAPHS, **{option: other}), model.logits(GRAPHS))


def test_direction_and_weight_can_be_switched_off() -> None:
    model = train(**ALL)
    with pytest.warns(Notice, match="arcs joined both ways"):
        assert not same_bits(model.logits(GRAPHS, directed=False), model.logits(GRAPHS))
    assert not same_bits(model.logits(GRAPHS, weight=None), model.logits(GRAPHS))


def test_a_default_is_asked_for_each_time() -> None:
    model = train(**ALL)
    G = arcs(1)
    del G.nodes[0]["atom"]
    with pytest.raises(DataError, match="graph 0: node 0 has no attribute 'atom', only 'label', 'mass'"):
        model.predict([G])
    assert same_bits(model.logits([G], default="C"), model.logits([arcs(1)]))


def test_only_what_the_features_need_is_read() -> None:
    model = train(**{**ALL, "features": "attributes"})
    bare = arcs(0)
    for _, data in bare.nodes(data=True):
        del data["atom"]
    assert same_bits(model.logits([bare]), model.logits([arcs(0)]))


def test_models_of_other_data_read_label() -> None:
    tu = load_dataset("MUTAG")
    assert tu.reading == dataset_from_graphs(list(tu[:2]), [0, 1]).reading == Reading()
    model = train_pinet(tu[:20], TINY).model
    G = nx.path_graph(3)
    nx.set_node_attributes(G, {0: 0, 1: 1, 2: 2}, "label")
    assert same_bits(model.logits([G]), model.logits([as_graph(nx.to_numpy_array(G), np.eye(7)[:3])]))


def test_tu_data_with_direction_is_remembered_too(tmp_path: Path) -> None:
    data = load_dataset(write_folder(tmp_path / "TOY"), directed=True)
    assert data.reading == Reading(directed=True)
    assert train_pinet(data, TINY).model.reading.directed


def test_every_fold_of_a_cross_validation_remembers() -> None:
    result = cross_validate(dataset(**ALL), TINY, folds=2)
    assert {fold.model.reading for fold in result.folds} == {as_reading(**ALL)}
    mean, sd = result.summary["accuracy_mean"], result.summary["accuracy_sd"]
    assert repr(result) == f"CrossValidation(2 folds: accuracy {mean:.3f} ± {sd:.3f})"
    fold = result.folds[1]
    assert repr(fold) == f"FoldResult(fold 1: accuracy {fold.accuracy:.3f} on 3 graphs, {fold.model!r})"


def test_a_run_that_reads_differently_is_another_run(tmp_path: Path) -> None:
    twins = [G.copy() for G in GRAPHS]
    for G in twins:
        nx.set_node_attributes(G, dict(G.nodes(data="atom")), "element")
    atom, element = (
        dataset_from_networkx(twins, [0, 1] * 3, node_label=name, directed=True) for name in ("atom", "element")
    )
    train_pinet(atom, TINY, run_dir=tmp_path)
    with pytest.raises(UsageError, match=r"data.reading.node_label was \[\"atom\"\] and is now \[\"element\"\]"):
        train_pinet(element, TINY, run_dir=tmp_path, resume=True)


# --- options that cannot be ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "probabilities", "logits"])
@pytest.mark.parametrize("graphs", [GRAPHS, [], dataset(**ALL)])
def test_an_unknown_option_is_one_error_that_names_the_public_function(method: str, graphs: Any) -> None:
    for name in ("colour", "encoder", "features"):
        message = f"^{name}: PiNet.predict, probabilities, logits and attention .*node_attributes"
        with pytest.raises(UsageError, match=message):
            getattr(train(**ALL), method)(graphs, **{name: "atom"})


@pytest.mark.parametrize(
    ("graphs", "given"),
    [
        (two_kinds(4), "a Dataset"),
        (two_kinds(4)[:0], "a Dataset"),
        (two_kinds(4).graphs, "a DisjointUnion"),
        (list(two_kinds(4)), "graphs that are converted already"),
        ([GRAPHS[0], two_kinds(4)[0]], "graphs that are converted already"),
    ],
)
@pytest.mark.parametrize("options", [ALL, {"default": 0}, {"weight": None}])
def test_options_without_effect_are_refused(graphs: Any, given: str, options: dict[str, Any]) -> None:
    model = train_pinet(two_kinds(4), TINY).model
    with pytest.raises(UsageError, match=f"^{', '.join(options)}: expected only with networkx graphs, got {given}$"):
        model.predict(graphs, **options)


@pytest.mark.parametrize(
    ("trained", "options", "message"),
    [
        ({"features": "constant"}, {"node_label": "atom"}, "node_label: .*features are constant, got 'atom'"),
        ({"node_label": "atom"}, {"node_attributes": ["mass"]}, "node_attributes: .*features are labels, got 'mass'"),
        ({"node_label": "atom"}, {"node_label": ["atom", "other"]}, "node_label: expected 1 name, .*'atom', 'other'"),
        ({"node_label": "atom"}, {"node_label": None}, "node_label: expected 1 name, as in training, got none"),
        (ALL, {"node_attributes": ()}, "node_attributes: expected names of node data with the model's 3 numbers"),
        (ALL, {"node_attributes": "at"}, "attributes: expected 3 columns a node, as in the training data, got 2"),
    ],
)
def test_options_that_do_not_fit_the_model(trained: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        train(**{"directed": True, **trained}).predict(GRAPHS, **options)


def test_a_model_of_other_attributes_asks_for_their_names() -> None:
    model = train_pinet(two_kinds(4), TINY).model
    with pytest.raises(UsageError, match=r"^node_attributes: expected names .* the model's 2 numbers, got none$"):
        model.predict(GRAPHS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node_label": 3}, "node_label: expected the name of a node attribute or a sequence of them, got 3"),
        (
            {"node_label": np.array(3)},
            "node_label: expected the name of a node attribute or a sequence of them, got .*3",
        ),
        ({"node_label": ["atom", 3]}, r"node_label: expected .*, got \['atom', 3\]"),
        ({"node_attributes": [None]}, r"node_attributes: expected .*, got \[None\]"),
        ({"weight": True}, "weight: expected the name of an edge attribute or None, got True"),
        ({"directed": "yes"}, "directed: expected True or False, got 'yes'"),
    ],
)
def test_what_is_no_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        dataset(**options)
    with pytest.raises(UsageError, match=f"^{message}"):
        train(**ALL).predict(GRAPHS, **options)


# --- on disk -------------------------------------------------------------------------------------------------------


def test_the_reading_is_plain_json_in_the_file(tmp_path: Path) -> None:
    train(**ALL).save(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", framework="numpy") as file:
        description = json.loads(file.metadata()["minipinet model"].partition(" ")[2])
    assert description["reading"] == {**ALL, "node_label": ["atom"]}


@pytest.mark.parametrize(
    "record",
    [None, [], {}, {**ALL, "colour": 1}, {**ALL, "weight": 3}, {**ALL, "directed": None}, {**ALL, "node_label": 1}],
)
def test_json_that_is_no_reading(record: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"^reading: expected node_label, .*, directed \("):
        Reading.from_json(record)
    model = train(**ALL)
    monkeypatch.setattr(Reading, "to_json", lambda self: record)
    model.save(tmp_path / "m")
    with pytest.raises(DataError, match="reading: expected"):
        PiNet.load(tmp_path / "m")


# --- the command line ----------------------------------------------------------------------------------------------


def write_graphs(file: Path, *graphs: nx.Graph) -> Path:
    file.write_text(json.dumps([nx.node_link_data(G, edges="edges") for G in graphs]))
    return file


def test_the_command_reads_as_the_model_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = train(**ALL)
    model.save(tmp_path / "m")
    file = write_graphs(tmp_path / "new.json", *GRAPHS)
    outcome = call(capsys, "predict", tmp_path / "m", file, "--json")
    np.testing.assert_array_equal(outcome.json["probabilities"], model.probabilities(GRAPHS).astype(float))
    assert outcome.err == ""
    outcome = call(capsys, "predict", tmp_path / "m", file, "--json", "--node-label", "label")
    expected = model.probabilities(GRAPHS, node_label="label").astype(float)
    np.testing.assert_array_equal(outcome.json["probabilities"], expected)
    assert (expected != model.probabilities(GRAPHS)).any()


def test_the_command_takes_a_key_for_each_column(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = train(node_label=["atom", "label"], directed=True)
    model.save(tmp_path / "m")
    file = write_graphs(tmp_path / "new.json", *GRAPHS)
    outcome = call(capsys, "predict", tmp_path / "m", file, "--json", "--node-label", "label,atom")
    expected = model.probabilities(GRAPHS, node_label=["label", "atom"]).astype(float)
    np.testing.assert_array_equal(outcome.json["probabilities"], expected)


@pytest.mark.parametrize(("part", "name"), [("nodes", "atom"), ("edges", "bond")])
def test_the_command_names_file_and_option_for_what_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, part: str, name: str
) -> None:
    train(**ALL).save(tmp_path / "m")
    G = arcs(0)
    del next(iter(getattr(G, part)(data=True)))[-1][name]
    status, out, err = call(capsys, "predict", tmp_path / "m", write_graphs(tmp_path / "new.json", arcs(1), G))
    assert (status, out) == (1, "")
    assert err.startswith(f"minipinet: error: {tmp_path / 'new.json'}, graph 1: {part[:-1]} ")
    assert f"has no attribute '{name}', only " in err
    assert "--node-label" in err
    assert "default=" not in err


def test_the_commands_keep_the_direction_of_tu_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "TOY", {"A": "1, 2\n2, 3\n4, 5\n"})
    data = load_dataset(folder, directed=True)
    model = train_pinet(data, replace(TINY, epochs=3)).model
    model.save(tmp_path / "m")
    outcome = call(capsys, "predict", tmp_path / "m", folder, "--json")
    np.testing.assert_array_equal(outcome.json["probabilities"], model.probabilities(data).astype(float))
    assert outcome.err == ""
    y = [model.classes.index(value) for value in data.labels.tolist()]
    loss = -np.mean(np.log(model.probabilities(data).astype(float)[range(len(y)), y]))
    assert call(capsys, "evaluate", tmp_path / "m", folder, "--json").json["loss"] == pytest.approx(loss, rel=1e-5)
    assert main(["evaluate", str(tmp_path / "m"), str(folder)]) == 0
    assert capsys.readouterr().err == ""
