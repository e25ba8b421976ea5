"""Who trains, who validates, who tests: stratified splits, the same for every model that is given the same seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet._extras import sklearn
from minipinet._host import host_array, numbers_below
from minipinet.errors import UsageError
from minipinet.settings import SEEDS, real, whole

Index = NDArray[np.int64]


def stratified_folds(y: Any, folds: int, seed: int) -> list[tuple[Index, Index]]:
    """Split the graphs into test parts, each with its share of every class.

    Parameters
    ----------
    y : (G,) array_like
        Class of each graph; numbers or strings.
    folds : int
        2 or more, and no more than the smallest class has graphs.
    seed : int
        0 to 2**32 - 1. The folds are those of scikit-learn's shuffled ``StratifiedKFold`` with this random_state.

    Returns
    -------
    list of (train_index, test_index)
        One pair a fold, sorted int64; every graph is in exactly one test part, and no test part is empty.

    Raises
    ------
    UsageError
        When there are too few graphs of a class for so many folds; gives the counts. For a wrong `y` or `seed`, and
        without scikit-learn (``pip install 'minipinet[sklearn]'``).

    Examples
    --------
    >>> [test.tolist() for _, test in stratified_folds([0, 0, 0, 1, 1, 1], folds=3, seed=0)]
    [[2, 4], [1, 5], [0, 3]]
    """
    classes = _classes(y)
    folds, seed = whole("folds", folds, at_least=2), whole("seed", seed, *SEEDS)
    counts = class_counts(classes)
    smallest = min(counts.values())
    if folds > smallest:
        if smallest == 1:
            raise UsageError(f"folds: expected at least 2 graphs of each class (graphs by class: {_listed(counts)})")
        allowed = "2" if smallest == 2 else f"2 to {smallest}"
        raise UsageError(
            f"folds: expected {allowed}, as the smallest class has {smallest} graphs "
            f"(graphs by class: {_listed(counts)}), got {folds}"
        )
    model_selection = sklearn("model_selection", "cross-validation")
    splitter = model_selection.StratifiedKFold(folds, shuffle=True, random_state=seed)
    pairs = splitter.split(np.zeros(len(classes)), np.unique(classes, return_inverse=True)[1])
    return [(train.astype(np.int64), test.astype(np.int64)) for train, test in pairs]


def hold_out(y: Any, index: Any, share: float, seed: int) -> tuple[Index, Index]:
    """Take a stratified validation part out of the training graphs.

    Parameters
    ----------
    y : (G,) array_like
        Class of each graph.
    index : (n,) int array
        The training graphs.
    share : float
        Part of them to hold out, 0 < share < 1; rounded up to whole graphs.
    seed : int
        0 to 2**32 - 1.

    Returns
    -------
    train_index, validation_index : int64 arrays, sorted
        Each with its share of every class, as far as whole graphs allow.

    Raises
    ------
    UsageError
        When a class has a single graph, or either part has fewer graphs than there are classes; gives the counts. For
        a wrong argument, such as a graph twice, and without scikit-learn (``pip install 'minipinet[sklearn]'``).

    Examples
    --------
    >>> train, validation = hold_out([0, 1] * 10, range(20), share=0.2, seed=0)
    >>> len(train), len(validation)
    (16, 4)
    """
    classes = _classes(y)
    index = numbers_below("index", index, len(classes))
    if len(np.unique(index)) < len(index):
        raise UsageError(f"index: expected each graph once, got {index.tolist()!r:.80}")
    share, seed = real("share", share, lambda x: 0 < x < 1, "above 0 and below 1"), whole("seed", seed, *SEEDS)
    classes = classes[index]
    counts = class_counts(classes)
    # Rounded first, because 0.07 * 100 is a little more than 7.
    held = math.ceil(round(share * len(index), 9))
    if min(counts.values()) < 2 or not len(counts) <= held <= len(index) - len(counts):
        raise UsageError(
            f"validation: {share:g} of {len(index)} training graphs cannot be held out by class "
            f"(graphs by class: {_listed(counts)}); choose another share, or 0"
        )
    model_selection = sklearn("model_selection", "validation")
    train, validation = model_selection.train_test_split(
        index, test_size=held, stratify=np.unique(classes, return_inverse=True)[1], random_state=seed
    )
    return np.sort(train), np.sort(validation)


def _classes(y: Any) -> NDArray[Any]:
    """Return the class of each graph as one row of numbers or strings; a UsageError if `y` is none."""
    expected = "one class a graph, a number or a string, at least one"
    classes = host_array("y", y, expected)
    if classes.dtype == object:  # perhaps of strings alone
        classes = host_array("y", classes.tolist(), expected)
    fits = classes.ndim == 1 and len(classes) > 0 and classes.dtype.kind in "biufUS"
    if not fits or (classes.dtype.kind == "f" and np.isnan(classes).any()):
        raise UsageError(f"y: expected {expected}, got {y!r:.80}")
    return classes


def check_classes(name: str, y: Any) -> None:
    """Refuse to train on graphs of fewer than two classes: there would be nothing to tell apart.

    Examples
    --------
    >>> check_classes("y", ["a", "b", "a"])
    """
    counts = class_counts(host_array(name, y))
    if len(counts) < 2:
        got = f"{_listed(counts)} alone" if counts else "none"
        raise UsageError(f"{name}: expected graphs of at least 2 classes to train on, got {got} (graphs by class)")


def fold_seed(seed: int, fold: int) -> int:
    """Return the seed of one fold, independent of the others' (NumPy's SeedSequence with the fold as spawn key)."""
    return int(np.random.SeedSequence(seed, spawn_key=(fold,)).generate_state(1)[0])


def class_counts(classes: NDArray[Any]) -> dict[Any, int]:
    """Return how many graphs each class has, in sorted order of the classes."""
    values, counts = np.unique(classes, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _listed(counts: dict[Any, int]) -> str:
    return ", ".join(f"{name!r}: {count}" for name, count in counts.items())
