"""PiNetClassifier as a file, a pickle or a copy: models that travel."""

from __future__ import annotations

import copy
import io
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import joblib
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

from minipinet.checkpoint import load_checkpoint
from minipinet.datasets import load_dataset
from minipinet.errors import DataError, Notice
from minipinet.estimator import PiNetClassifier
from minipinet.graphs import as_graph
from minipinet.interop.networkx import to_networkx
from minipinet.predictor import PiNet
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_data import python, same_bits
from tests.small_estimator import LABELS, MOLECULES, PAIRS, classifier

#: Each edge of PAIRS one way, with another weight.
ARCS = [(np.triu(A) * 2.5, X) for A, X in PAIRS]


def by_pickle(clf: PiNetClassifier) -> Any:
    return pickle.loads(pickle.dumps(clf))


def by_joblib(clf: PiNetClassifier) -> Any:
    joblib.dump(clf, file := io.BytesIO())
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("travel", [by_pickle, by_joblib, copy.deepcopy])
@pytest.mark.parametrize("pq", ["learned", (1, 0)])
def test_it_survives_copies(travel: Any, pq: Any) -> None:
    clf = classifier(node_label="atom", pq=pq, bias=True).fit(MOLECULES, LABELS)
    other = travel(clf)
    assert same_bits(other.predict_proba(MOLECULES), clf.predict_proba(MOLECULES))
    assert same_bits(other.model_.params, clf.model_.params)
    assert all(
        w is None or not np.shares_memory(w, v) for w, v in zip(other.model_.params, clf.model_.params, strict=True)
    )
    assert (other.get_params(), other.history_) == (clf.get_params(), clf.history_)
    assert travel(classifier()).get_params() == classifier().get_params()


def test_a_pickle_holds_arrays_and_records_alone() -> None:
    """Records of this package, NumPy arrays and Python values: no function, no closure, no file, no generator."""
    clf = classifier(node_label="atom", validation=0.25, patience=3).fit(MOLECULES, LABELS)
    found = set()

    class Recorder(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found.add(f"{module}.{name}")
            return super().find_class(module, name)

    Recorder(io.BytesIO(pickle.dumps(clf))).load()
    ours = {name for name in found if name.startswith("minipinet.")}
    assert {name.rpartition(".")[2] for name in ours} == {
        "PiNetClassifier", "PiNet", "PiNetParams", "Settings", "FeatureEncoder", "Reading", "EpochRecord",
    }  # fmt: skip
    assert {name.partition(".")[0] for name in found - ours} == {"numpy"}


@pytest.mark.parametrize(
    ("graphs", "params"),
    [
        (PAIRS, {}),
        (ARCS, {"weight": True, "directed": True, "pq": (0.5, 1)}),
        ([as_graph(A, X) for A, X in PAIRS], {"bias": True}),
        (MOLECULES, {"node_label": "atom", "epochs": 3, "l2": 0.01, "random_state": 7}),
        (MOLECULES, {"features": "degree", "validation": 0.25, "patience": 2, "dtype": "float64"}),
        (MOLECULES, {"features": "constant", "out": 1}),
    ],
)
def test_a_saved_model_answers_alike_and_can_be_trained_again(graphs: Any, params: Any, tmp_path: Path) -> None:
    clf = classifier(**params).fit(graphs, LABELS)
    clf.save(tmp_path / "model")
    loaded = PiNetClassifier.load(tmp_path / "model")
    assert same_bits(loaded.predict_proba(graphs), clf.predict_proba(graphs))
    assert same_bits(loaded.transform(graphs), clf.transform(graphs))
    assert loaded.predict(graphs).tolist() == clf.predict(graphs).tolist()
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert loaded.n_features_in_ == clf.n_features_in_
    assert same_bits(clone(loaded).fit(graphs, LABELS).model_.params, clf.model_.params)
    if not isinstance(graphs[0], tuple):  # pairs are the estimator's own way
        assert same_bits(PiNet.load(tmp_path / "model").probabilities(graphs), clf.predict_proba(graphs))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(pickle.dumps(classifier()))
    with pytest.raises(DataError, match="not a minipinet model"):
        PiNetClassifier.load(tmp_path / "model")


def test_a_saved_model_answers_alike_in_a_new_process(tmp_path: Path) -> None:
    clf = classifier().fit(PAIRS, LABELS)
    clf.save(tmp_path / "model")
    code = """
import sys
import minipinet
assert "sklearn" not in sys.modules
from tests.small_estimator import PAIRS
print(*minipinet.PiNetClassifier.load(sys.argv[1]).predict(PAIRS))
"""
    assert python(code, tmp_path / "model").stdout.split() == clf.predict(PAIRS).tolist()


@pytest.mark.parametrize(
    ("graphs", "params"),
    [
        (PAIRS, {}),
        (ARCS, {"weight": True, "directed": True, "pq": (0.5, 1.0)}),
        (MOLECULES, {"node_label": "atom", "pq": ((0.0, 1.0), (1.0, 0.0), (0.5, 0.5), (1.0, 1.0))}),
        (MOLECULES, {"node_label": ("atom", "kind"), "validation": 0.25, "patience": 2}),
        (MOLECULES, {"node_label": "atom", "node_attributes": "mass", "weight": "bond"}),
        (MOLECULES, {"node_attributes": ("mass", "charge"), "dtype": "float64"}),
        (MOLECULES, {"features": "degree"}),
    ],
)
def test_a_loaded_model_prints_as_it_was_written(graphs: Any, params: Any, tmp_path: Path) -> None:
    if graphs is MOLECULES:
        graphs = [G.copy() for G in graphs]
        for G in graphs:
            nx.set_node_attributes(G, {v: {"kind": "ring", "mass": v, "charge": -1.5} for v in G})
            nx.set_edge_attributes(G, 2, "bond")
    with warnings.catch_warnings(action="ignore", category=Notice):  # weights that are not asked for
        clf = classifier(**params).fit(graphs, LABELS)
        clf.save(tmp_path / "model")
        loaded = PiNetClassifier.load(tmp_path / "model")
        assert repr(loaded) == repr(clf)
        assert loaded.get_params() == clf.get_params()
        assert same_bits(clone(loaded).fit(graphs, LABELS).predict_proba(graphs), clf.predict_proba(graphs))


def test_a_model_of_a_run_is_loaded_and_trained_again(tmp_path: Path) -> None:
    data = load_dataset("MUTAG")
    train_pinet(data, Settings(epochs=2, hidden=4, out=2), run_dir=tmp_path / "run")
    loaded = PiNetClassifier.load(tmp_path / "run" / "model.safetensors")
    assert repr(loaded) == "PiNetClassifier(epochs=2, hidden=4, node_label='label', out=2, random_state=0)"
    graphs = to_networkx(data)
    again = clone(loaded).fit(graphs, data.labels)
    assert same_bits(again.predict_proba(graphs), loaded.predict_proba(graphs))


@pytest.mark.parametrize("load", [PiNetClassifier.load, PiNet.load, load_checkpoint])
def test_a_folder_is_no_model(load: Any, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=rf"^{re.escape(str(tmp_path))}: is a folder, expected the file of a minipinet "
    ):
        load(tmp_path)
    with pytest.raises(DataError, match=r"^\.: is a folder, expected the file of a minipinet "):
        load(".")
