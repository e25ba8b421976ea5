"""Graphs of a single class: nothing to learn from, and no hindrance to loading, scoring and labelling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.crossval import cross_validate
from minipinet.datasets import Dataset, load_dataset
from minipinet.errors import UsageError
from minipinet.metrics import report
from minipinet.quotient import refine
from minipinet.runs import train_pinet
from minipinet.train import fit
from tests.cli_calls import TINY, call
from tests.small_data import two_kinds
from tests.small_runs import SMALL
from tests.tu_files import write_folder

ALL = two_kinds(24)
ONE: Dataset = ALL[np.flatnonzero(ALL.y == 1).tolist()]


@pytest.mark.parametrize(
    "train",
    [
        lambda data, **run: train_pinet(data, SMALL, **run),
        lambda data, **run: train_pinet(data, replace(SMALL, validation=0.2), **run),
        lambda data, **run: cross_validate(data, SMALL, 3, **run),
        lambda data, **run: cross_validate(data, SMALL, 100, **run),
        lambda data, **run: cross_validate(data, SMALL, 3, jobs=2, **run),
    ],
)
@pytest.mark.parametrize("data", [ONE, replace(ONE, classes=("sparse",), y=ONE.y * 0)])
def test_training_is_refused_before_anything_is_begun(train: Callable[..., Any], data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^dataset: expected graphs of at least 2 classes .*got 'sparse': 12 alone"):
        train(data, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_graphs_of_one_class_among_others_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^y: expected graphs of at least 2 classes to train on, got 1: 12 alone"):
        fit(refine(ALL.graphs), ALL.y, np.flatnonzero(ALL.y == 1), SMALL, C=2)


def test_a_model_labels_and_scores_them() -> None:
    model = train_pinet(ALL, SMALL).model
    assert set(model.predict(ONE)) <= set(ALL.classes)


@pytest.mark.parametrize("C", [1, 2, 3])
def test_figures_of_a_single_class(C: int) -> None:
    y = np.full(4, C - 1)
    figures = report(y, np.array([C - 1, C - 1, C - 1, 0]), C)
    right = 4 if C == 1 else 3
    assert (figures.accuracy, figures.balanced_accuracy, figures.majority_rate) == (right / 4, right / 4, 1)
    assert figures.confusion_matrix.shape == (C, C)
    assert (figures.confusion_matrix[C - 1, C - 1], figures.confusion_matrix.sum()) == (right, 4)


def test_the_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "TOY", {"graph_labels": "1\n1\n", "node_labels": "0\n1\n2\n0\n1\n"})
    assert load_dataset(tmp_path / "TOY").classes == (1,)
    for folds in (0, 2, 10):
        status, out, err = call(capsys, "train", "--dataset", "./TOY", *TINY, "--folds", folds)
        assert (status, out) == (2, "")
        assert "dataset: expected graphs of at least 2 classes to train on, got 1: 2 alone" in err
    call(capsys, "train", *TINY, "--folds", 0, "--run-dir", "run")
    status, out, err = call(capsys, "evaluate", "run", "./TOY")
    assert (status, err) == (0, "")
    assert "majority-class rate  1.000" in out
    assert call(capsys, "predict", "run", "./TOY").status == 0


def test_evaluate_wants_labels_to_compare_with(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call(capsys, "train", *TINY, "--folds", 0, "--run-dir", "run")
    status, out, err = call(capsys, "evaluate", "run", "graphs.json")
    assert (status, out) == (2, "")
    assert err.startswith("minipinet: error: DATA: expected a TU data set")
    assert "graphs.json" in err
    assert "`minipinet predict`" in err
