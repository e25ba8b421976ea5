"""Figures of merit: accuracy is never reported without what guessing the largest class would give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet._host import numbers_below, refuse_card
from minipinet.errors import UsageError
from minipinet.settings import whole


class Report(NamedTuple):
    """How predictions agree with the truth."""

    accuracy: float  #: share of right predictions
    balanced_accuracy: float  #: mean over the classes that occur of the share found of each
    majority_rate: float  #: accuracy of always answering the largest class
    confusion_matrix: Array  #: (C, C) int64; row: true class, column: predicted class


def report(y: Array, predictions: Array, C: int) -> Report:
    """Compare predicted classes with true ones.

    Parameters
    ----------
    y, predictions : (n,) int arrays
        Classes 0 to C - 1.
    C : int
        Number of classes.

    Raises
    ------
    UsageError
        For no graphs, classes outside of 0 to C - 1, and another number of predictions than of graphs.

    Examples
    --------
    >>> report(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2).balanced_accuracy
    0.8333333333333333
    """
    C = whole("C", C)
    y, predictions = numbers_below("y", y, C), numbers_below("predictions", predictions, C)
    if len(y) != len(predictions):
        raise UsageError(f"predictions: expected {len(y)}, one for each entry of y, got {len(predictions)}")
    matrix = np.bincount(y * C + predictions, minlength=C * C).reshape(C, C)
    counts, right = matrix.sum(axis=1), np.diagonal(matrix)
    occurs = counts > 0
    return Report(
        float(right.sum() / counts.sum()),
        float(np.mean(right[occurs] / counts[occurs])),
        float(counts.max() / counts.sum()),
        matrix,
    )


def summary_of(y: Array, predictions: Array, classes: Sequence[Any], accuracies: Sequence[float]) -> dict[str, Any]:
    """Return the figures of several trainings together, as JSON values: of all their graphs, and of their accuracies.

    Examples
    --------
    >>> summary_of(np.array([0, 1]), np.array([0, 0]), ["a", "b"], [1.0, 0.0])["accuracy_mean"]
    0.5
    """
    refuse_card("accuracies", accuracies)
    pooled = report(y, predictions, len(classes))
    return {
        "graphs": len(y),
        "folds": len(accuracies),
        "accuracy_mean": float(np.mean(accuracies)),
        "accuracy_sd": float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None,
        "majority_rate": pooled.majority_rate,
        "balanced_accuracy": pooled.balanced_accuracy,
        "classes": list(classes),
        "confusion_matrix": pooled.confusion_matrix.tolist(),
    }
