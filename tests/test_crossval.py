"""Cross-validation: an honest protocol, the same numbers however it is run, and figures that say enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._tree import named_leaves
from minipinet.crossval import CrossValidation, cross_validate
from minipinet.datasets import Dataset, dataset_from_graphs, fit_encoder, load_dataset, refit_encoder
from minipinet.errors import DivergedError, UsageError
from minipinet.evaluation import evaluate
from minipinet.fold import FoldResult
from minipinet.graphs import as_graph
from minipinet.metrics import report
from minipinet.quotient import refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.train import TrainState
from tests.small_data import random_labels, same_bits, subset, two_kinds, without_seconds

SMALL = Settings(epochs=4, batch_size=7, hidden=6, out=4, lr=1e-2)
DATA = two_kinds(24)


def same_results(a: CrossValidation, b: CrossValidation) -> bool:
    """Return whether two cross-validations agree to the last bit, seconds apart."""

    def timeless(fold: FoldResult) -> Any:
        figures = fold._replace(seconds=0.0, history=()), without_seconds(fold.history)
        return tuple(figures[0])[:-1], tuple(figures[1]), fold.model.params

    summaries = [{k: v for k, v in c.summary.items() if k != "seconds"} for c in (a, b)]
    return summaries[0] == summaries[1] and same_bits(tuple(map(timeless, a.folds)), tuple(map(timeless, b.folds)))


def test_case_077_each_graph_is_tested_once() -> None:
    result = cross_validate(DATA, SMALL, folds=5)
    assert sorted(np.concatenate([fold.test_index for fold in result.folds])) == list(range(24))
    for fold in result.folds:
        right = np.count_nonzero(fold.predictions == DATA.y[fold.test_index])
        assert fold.accuracy == right / len(fold.test_index)
        assert sorted([*fold.train_index, *fold.test_index]) == list(range(24))
    assert np.sum(result.summary["confusion_matrix"]) == 24


def test_results_are_those_of_the_models() -> None:
    for fold in cross_validate(DATA, SMALL, folds=3).folds:
        names = fold.model.predict(subset(DATA, fold.test_index))
        assert names.tolist() == [DATA.classes[c] for c in fold.predictions]
        assert (fold.epoch, len(fold.history)) == (4, 4)
        assert fold.p == fold.history[-1].p


@pytest.mark.parametrize("settings", [SMALL, replace(SMALL, validation=0.2, patience=2, lr=0.1, epochs=30)])
def test_jobs_do_not_change_a_bit(settings: Settings) -> None:
    one, two = (cross_validate(DATA, settings, folds=5, jobs=jobs) for jobs in (1, 2))
    assert same_results(one, two)
    assert [fold.fold for fold in two.folds] == [0, 1, 2, 3, 4]


def test_case_084_one_seed_one_result_and_another_seed_another() -> None:
    one, again, other = (cross_validate(DATA, replace(SMALL, seed=seed), folds=3) for seed in (5, 5, 6))
    assert same_results(one, again)
    assert one.folds[0].test_index.tolist() != other.folds[0].test_index.tolist()


def test_case_083_all_models_get_the_same_folds() -> None:
    results = [cross_validate(DATA, replace(SMALL, pq=pq), folds=3) for pq in ("learned", (1, 0))]
    for a, b in zip(results[0].folds, results[1].folds, strict=True):
        assert same_bits((a.train_index, a.test_index), (b.train_index, b.test_index))
    same = cross_validate(DATA, SMALL, folds=3)
    assert [fold.accuracy for fold in same.folds] == [fold.accuracy for fold in results[0].folds]


def test_fold_seeds_and_starts_differ() -> None:
    result = cross_validate(DATA, SMALL, folds=3)
    assert len({fold.model.settings.seed for fold in result.folds}) == 3


def test_case_076_no_choice_is_made_on_the_test_part() -> None:
    data = random_labels(100)
    settings = replace(SMALL, epochs=25, batch_size=20, hidden=8, lr=0.02, validation=0.2, patience=15)
    states: dict[int, list[TrainState]] = {}
    result = cross_validate(data, settings, on_epoch=lambda fold, state: states.setdefault(fold, []).append(state))
    # 100 fair coins: standard deviation 0.05. Three of them around one half.
    assert abs(result.summary["accuracy_mean"] - 0.5) < 0.15
    quotient = refine(data.graphs)
    oracle = [
        max(evaluate(state.params, None, quotient, data.y, fold.test_index).accuracy for state in states[fold.fold])
        for fold in result.folds
    ]
    # What looking at the test part would have shown: five graphs more at the least, and ten to twenty as a rule.
    assert np.mean(oracle) > result.summary["accuracy_mean"] + 0.05
    for fold in result.folds:
        assert fold.validation_index is not None
        parts = [*fold.train_index, *fold.validation_index, *fold.test_index]
        assert sorted(parts) == list(range(100))
        losses = [record.validation_loss for record in fold.history]
        assert fold.epoch == 1 + int(np.argmin(np.array(losses, dtype=float)))


def labelled(labels: list[list[str]]) -> Dataset:
    """Return paths with node labels, of two classes in turn."""
    paths = [as_graph(np.eye(len(nodes), k=1) + np.eye(len(nodes), k=-1)) for nodes in labels]
    data = dataset_from_graphs(paths, [g % 2 for g in range(len(paths))])
    table = np.array([label for nodes in labels for label in nodes])[:, None]
    data = replace(data, node_labels=table, attributes=None)
    deg = np.asarray(data.graphs.A.sum(axis=1))
    encoder = fit_encoder("labels", table, None, deg)
    return replace(data, encoder=encoder, graphs=data.graphs._replace(X=encoder.encode(table, None, deg)))


def test_case_082_training_is_the_same_with_and_without_the_test_graphs() -> None:
    rng = np.random.default_rng(0)
    labels = [rng.choice(["C", "N", "O"], int(rng.integers(3, 7))).tolist() for _ in range(12)]
    labels[3][1] = "Br"  # one graph alone has it
    data = labelled(labels)
    assert data.num_features == 4
    widths = set()
    for fold in cross_validate(data, replace(SMALL, dtype="float64"), folds=3).folds:
        alone = refit_encoder(subset(data, fold.train_index), slice(None))
        model = train_pinet(alone, fold.model.settings).model
        assert model.encoder == fold.model.encoder
        pairs = zip(named_leaves(model.params), named_leaves(fold.model.params), strict=True)
        assert all(np.array_equal(without, beside) for (_, without), (_, beside) in pairs if without is not None)
        widths.add(model.encoder.num_features)
    assert widths == {3, 4}


def test_case_123_the_summary_says_more_than_accuracy() -> None:
    data = load_dataset("MUTAG")
    result = cross_validate(data, replace(SMALL, epochs=2, batch_size=50), folds=10)
    summary = result.summary
    accuracies = [fold.accuracy for fold in result.folds]
    assert summary["accuracy_mean"] == np.mean(accuracies)
    assert summary["accuracy_sd"] == np.std(accuracies, ddof=1)
    assert summary["majority_rate"] == 125 / 188
    matrix = np.array(summary["confusion_matrix"])
    assert matrix.sum(axis=1).tolist() == [63, 125]
    assert summary["balanced_accuracy"] == np.mean([matrix[0, 0] / 63, matrix[1, 1] / 125])
    assert summary["classes"] == [-1, 1]
    assert (summary["graphs"], summary["folds"], len(summary["p"]), len(summary["q"])) == (188, 10, 4, 4)
    assert all(len(fold.history) == 2 for fold in result.folds)


def test_report_counts_rows_as_truth_and_skips_classes_that_do_not_occur() -> None:
    figures = report(np.array([0, 0, 0, 2]), np.array([0, 2, 1, 2]), 3)
    assert figures.confusion_matrix.tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 1]]
    assert figures.accuracy == 0.5
    assert figures.balanced_accuracy == np.mean([1 / 3, 1])
    assert figures.majority_rate == 0.75


def test_a_class_nobody_has_does_no_harm() -> None:
    data = two_kinds(24)
    data = replace(data, classes=("absent", "dense", "sparse"), y=data.y + 1)
    summary = cross_validate(data, SMALL, folds=3).summary
    assert summary["confusion_matrix"][0] == [0, 0, 0]
    assert 0 < summary["balanced_accuracy"] <= 1


def test_divergence_names_fold_and_epoch() -> None:
    for jobs in (1, 2):
        with pytest.raises(DivergedError, match=r"fold \d: training diverged in epoch 1: "):
            cross_validate(DATA, replace(SMALL, lr=1e30), folds=3, jobs=jobs)


def test_progress_comes_fold_by_fold() -> None:
    for jobs in (1, 2):
        seen: list[FoldResult] = []
        cross_validate(DATA, SMALL, folds=3, jobs=jobs, on_fold=seen.append)
        assert sorted(result.fold for result in seen) == [0, 1, 2]


@pytest.mark.parametrize("jobs", [0, -1, 1.0, "2", True])
def test_case_113_wrong_numbers_of_jobs(jobs: Any) -> None:
    with pytest.raises(UsageError, match="jobs: expected a whole number of at least 1"):
        cross_validate(DATA, SMALL, folds=3, jobs=jobs)


def test_case_078_the_message_has_the_names_of_the_classes() -> None:
    with pytest.raises(UsageError, match=r"has 12 graphs \(graphs by class: 'dense': 12, 'sparse': 12\), got 13"):
        cross_validate(DATA, SMALL, folds=13)


def test_epochs_are_not_reported_from_other_processes() -> None:
    with pytest.raises(UsageError, match="on_epoch"):
        cross_validate(DATA, SMALL, folds=3, jobs=2, on_epoch=lambda fold, state: None)


@pytest.mark.parametrize("name", ["resume", "overwrite"])
def test_flags_about_a_folder_need_one(name: str) -> None:
    flag: dict[str, Any] = {name: True}
    with pytest.raises(UsageError, match="run_dir"):
        cross_validate(DATA, SMALL, folds=3, **flag)


@pytest.mark.parametrize(
    ("y", "predictions", "C", "message"),
    [
        ([0, 5], [0, 1], 2, "y: expected numbers from 0 to 1, got 0 to 5"),
        ([0, 1], [0, 2], 2, "predictions: expected numbers from 0 to 1, got 0 to 2"),
        ([0, 1], [0, -1], 2, "predictions: expected numbers from 0 to 1, got -1 to 0"),
        ([], [], 2, "y: expected at least one whole number"),
        ([0, 1], [], 2, "predictions: expected at least one whole number"),
        ([0, 1], [0], 2, "predictions: expected 2, one for each entry of y, got 1"),
        ([0], [0, 1], 2, "predictions: expected 1, one for each entry of y, got 2"),
        ([0.0, 1.0], [0, 1], 2, "y: expected at least one whole number"),
        ([[0, 1]], [[0, 1]], 2, "y: expected at least one whole number"),
        ([[0], [0, 1]], [0, 1], 2, "y: expected at least one whole number"),
        (None, [0], 2, "y: expected at least one whole number"),
        ([0], [0], 0, "C: expected a whole number of at least 1, got 0"),
        ([0], [0], None, "C: expected a whole number"),
    ],
)
def test_wrong_arguments_of_report_are_named(y: Any, predictions: Any, C: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        report(y, predictions, C)


@pytest.mark.parametrize("seconds", ["a", "1", float("nan"), float("inf"), -1, None, True])
def test_wrong_times_between_checkpoints_are_refused_before_a_folder_is_made(seconds: Any, tmp_path: Path) -> None:
    message = "^checkpoint_seconds: expected a finite number of at least 0, got "
    for folder in (None, tmp_path / "run"):
        with pytest.raises(UsageError, match=message):
            cross_validate(DATA, SMALL, folds=3, run_dir=folder, checkpoint_seconds=seconds)
        with pytest.raises(UsageError, match=message):
            train_pinet(DATA, SMALL, run_dir=folder, checkpoint_seconds=seconds)
    assert list(tmp_path.iterdir()) == []
