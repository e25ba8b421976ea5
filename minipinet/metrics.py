"""Figures of merit: accuracy is never reported without what guessing the largest class would give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array, numbers_below
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


def summarise_repeats(accuracies: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Summarise cross-validations repeated with other seeds, keeping the two kinds of spread apart.

    Parameters
    ----------
    accuracies : (R, K) nested sequence
        Accuracy of each fold of each repeat, in [0, 1].

    Returns
    -------
    dict
        ``mean``; ``sd_folds``, the standard deviation over the folds of one repeat, root mean square over repeats
        (how much a single fold varies); ``sd_repeats``, that of the repeats' means (how much the result varies with
        the seed), None for one repeat.

    Raises
    ------
    UsageError
        Unless there are at least one repeat and two folds, the same number for each repeat, of finite numbers.

    Examples
    --------
    >>> summarise_repeats([[0.75, 1.0], [0.5, 0.75]])["mean"]
    0.75
    """
    try:
        table = np.asarray(accuracies)
    except ValueError:  # rows of different lengths
        table = np.empty(0)
    usable = table.ndim == 2 and table.shape[0] >= 1 and table.shape[1] >= 2 and table.dtype.kind in "iuf"
    if not (usable and np.isfinite(table).all()):
        raise UsageError(
            f"accuracies: expected finite numbers, repeats by folds, at least 1 by 2, got {accuracies!r:.80}"
        )
    return {
        "mean": float(table.mean()),
        "sd_folds": float(np.sqrt(table.var(axis=1, ddof=1).mean())),
        "sd_repeats": float(table.mean(axis=1).std(ddof=1)) if len(table) > 1 else None,
    }
