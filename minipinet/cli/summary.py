"""What a training run came to, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minipinet._words import counted, number, spread
from minipinet.cli.tables import confusion_table, pairs, table
from minipinet.params import LAYERS
from minipinet.splits import class_counts

if TYPE_CHECKING:
    from minipinet.crossval import CrossValidation
    from minipinet.datasets import Dataset
    from minipinet.runs import Trained


def data_text(dataset: Dataset) -> str:
    """Return one line on the data: how many graphs of which class, with how many features."""
    counts = ", ".join(f"{name}: {count}" for name, count in class_counts(dataset.labels).items())
    classes = counted(dataset.num_classes, "class", "classes")
    return (
        f"{dataset.name}: {counted(len(dataset), 'graph')}, {classes} ({counts}), "
        f"{counted(dataset.num_features, 'feature')} a node from {dataset.encoder.kind}"
    )


def cross_validation_text(result: CrossValidation) -> str:
    """Return the folds, the figures over all of them, the confusion matrix and the p, q of each layer."""
    summary = result.summary
    folds = [
        [fold.fold, len(fold.test_index), number(fold.accuracy), number(fold.loss), fold.epoch, f"{fold.seconds:.1f}"]
        for fold in result.folds
    ]
    accuracy = spread(summary["accuracy_mean"], summary["accuracy_sd"])
    p, q = ([getattr(fold, name) for fold in result.folds] for name in "pq")
    return "\n\n".join(
        [
            table(["fold", "test graphs", "accuracy", "loss", "epoch", "seconds"], folds),
            pairs(
                [
                    ("accuracy", f"{accuracy} (mean and standard deviation over {len(folds)} folds)"),
                    ("balanced accuracy", number(summary["balanced_accuracy"])),
                    ("majority-class rate", number(summary["majority_rate"])),
                ]
            ),
            confusion_table(summary["classes"], summary["confusion_matrix"]),
            _pq_table(p, q, result.settings.learned_pq),
        ]
    )


def training_text(trained: Trained, dataset: Dataset) -> str:
    """Return how the model fits what it was trained on, and the p, q of each layer."""
    record = trained.state.history[trained.epoch - 1]
    majority = max(class_counts(dataset.labels).values()) / len(dataset)
    figures = [
        ("epoch", f"{trained.epoch} of {trained.state.epoch}"),
        ("training accuracy", f"{number(record.accuracy)} (on the graphs trained on: no estimate for new ones)"),
        ("training loss", number(record.loss)),
        ("majority-class rate", number(majority)),
    ]
    if record.validation_accuracy is not None:
        figures[3:3] = [
            ("validation accuracy", number(record.validation_accuracy)),
            ("validation loss", number(record.validation_loss)),
        ]
    return "\n\n".join([pairs(figures), _pq_table([record.p], [record.q], trained.model.settings.learned_pq)])


def _pq_table(p: Any, q: Any, learned: bool) -> str:
    """Return p and q of each layer, with their spread where several models learned them."""
    spreads = learned and len(p) > 1
    columns = [
        [
            spread(float(np.mean(column)), float(np.std(column, ddof=1)) if spreads else None)
            for column in zip(*values, strict=True)
        ]
        for values in (p, q)
    ]
    title = "learned p and q" if learned else "p and q, fixed"
    return f"{title}\n" + table(["layer", "p", "q"], list(zip(LAYERS, *columns, strict=True)), left=[0])
