"""Notices name the line that called into the package, however deep inside they were found out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from minipinet.conversions import from_networkx, networkx_union
from minipinet.datasets import Dataset, dataset_from_networkx, load_dataset
from minipinet.datasets.encoder import FeatureEncoder, fit_encoder
from minipinet.errors import Notice
from minipinet.estimator import PiNetClassifier
from minipinet.graphs import Graph, as_graph
from minipinet.interop.members import Member, join_members
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_data import ROOT, two_kinds
from tests.small_estimator import LABELS, PAIRS, classifier
from tests.tu_files import write_folder

EMPTY = as_graph(np.zeros((0, 0)), np.zeros((0, 2)))
GRAPHS: list[Graph] = [*two_kinds(11), EMPTY]
WEIGHTED = [(A * 2, X) for A, X in PAIRS]
HEAVY = nx.Graph([(0, 1, {"weight": 2.0})])
DATA: Dataset = two_kinds(12)
CALLS: dict[str, Callable[[PiNetClassifier], Any]] = {
    "as_graph": lambda clf: as_graph([[0, 2], [2, 0]]),
    "from_networkx": lambda clf: from_networkx(HEAVY),
    "networkx_union": lambda clf: networkx_union([HEAVY]),
    "dataset_from_networkx": lambda clf: dataset_from_networkx([HEAVY, HEAVY], [0, 1]),
    "encode": lambda clf: FeatureEncoder("labels", ((1,),)).encode([2], None, [0]),
    "fit_encoder": lambda clf: fit_encoder("labels", np.empty((0, 1)), None, []),
    "join_members": lambda clf: join_members(
        [Member([0], [1], None, None, 2)], "data", weight=None, weight_name="w", directed=False
    ),
    "fit": lambda clf: classifier(epochs=1).fit(WEIGHTED, LABELS),
    "fit_transform": lambda clf: classifier(epochs=1).fit_transform(WEIGHTED, LABELS),
    "predict": lambda clf: clf.predict([EMPTY]),
    "predict_proba": lambda clf: clf.predict_proba([EMPTY]),
    "score": lambda clf: clf.score([EMPTY], ["a"]),
    "transform": lambda clf: clf.transform([EMPTY]),
    "attention": lambda clf: clf.attention(EMPTY),
    "cross_val_score": lambda clf: cross_val_score(classifier(epochs=1), GRAPHS, LABELS, cv=2),
    "PiNet.predict": lambda clf: clf.model_.predict([EMPTY]),
    "PiNet.probabilities": lambda clf: clf.model_.probabilities([EMPTY]),
    "PiNet.logits": lambda clf: clf.model_.logits([EMPTY], bitwise=True),
    "PiNet.attention": lambda clf: clf.model_.attention(EMPTY),
}


@pytest.fixture(scope="module")
def fitted() -> PiNetClassifier:
    return classifier(epochs=1).fit(PAIRS, LABELS)


@pytest.mark.parametrize("name", CALLS)
def test_a_notice_names_the_line_of_the_caller(name: str, fitted: PiNetClassifier) -> None:
    call = CALLS[name]
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(fitted)
    lines = range(call.__code__.co_firstlineno, call.__code__.co_firstlineno + 3)
    assert {item.category for item in caught} == {Notice}
    assert {(item.filename, item.lineno in lines) for item in caught} == {(__file__, True)}


def test_so_do_those_of_files_and_of_runs(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "TOY", {"graph_labels": "1\n-1\n1\n"})
    settings = Settings(epochs=1, hidden=2, out=2)
    train_pinet(DATA, settings, run_dir=tmp_path / "run")
    record = tmp_path / "run" / "run.json"
    changed = re.sub('"numpy": "[^"]*"', '"numpy": "1.0"', record.read_text(encoding="utf-8"))
    record.write_text(changed, encoding="utf-8")
    with warnings.catch_warnings(record=True, action="always") as caught:
        load_dataset(folder)
        train_pinet(DATA, settings, run_dir=tmp_path / "run", resume=True)
    assert [item.filename for item in caught] == [__file__] * 2
    assert caught[1].lineno == caught[0].lineno + 1
    assert "has no node" in str(caught[0].message)
    assert "begun with other versions" in str(caught[1].message)


def test_by_default_each_line_gives_its_notice_once() -> None:
    with warnings.catch_warnings(record=True, action="default") as caught:
        for _ in range(3):
            as_graph([[0, 3], [3, 0]])
        as_graph([[0, 3], [3, 0]])
    assert len(caught) == 2


def test_no_module_counts_frames_itself() -> None:
    own = [path for path in (ROOT / "minipinet").rglob("*.py") if path.name != "errors.py"]
    assert not [path.name for path in own if "stacklevel" in path.read_text(encoding="utf-8")]
