"""Who trains, who is chosen on, who is tested: the paper's protocol, that of its released code, and a fair one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet._host import host_array
from minipinet._words import nearest
from minipinet.baselines.pinet import PiNetSystem
from minipinet.baselines.subtree_kernel import colour_counts
from minipinet.baselines.system import Fitted, System
from minipinet.datasets.dataset import Dataset
from minipinet.errors import UsageError
from minipinet.experiments.records import PROTOCOLS
from minipinet.splits import class_counts, fold_seed, hold_out, stratified_folds

#: Test parts of a data set, in every protocol.
FOLDS = 10
#: Share of the graphs that `released` tests, and of the training graphs that `fair` holds out, each time anew.
SHARE = 0.1
#: How often `fair` trains the settings that it chose.
TRAININGS = 3
#: Rounds of colour refinement after which two graphs count as copies of each other.
ROUNDS = 6


class Split(NamedTuple):
    """Numbers of graphs, sorted int64."""

    train: Array
    test: Array


class Outcome(NamedTuple):
    """What came of one split."""

    settings: dict[str, Any]  #: of the system that was tested
    train: Array  #: graphs that the candidates were trained on; all training graphs where nothing was chosen among
    validation: Array | None  #: graphs that the system was chosen on; None: there was one alone
    predictions: Array  #: (trainings, n_test) classes
    details: dict[str, Any]  #: in ``"fair"`` the candidates, and of each training the graphs held out from it


def splits(protocol: str, labels: Any, repeat: int) -> list[Split]:
    """Return the ten splits of a protocol: the same for every system.

    Parameters
    ----------
    protocol : {"paper", "released", "fair"}
        ``"paper"`` and ``"fair"``: stratified folds, those of ``minipinet train --seed REPEAT``; each graph is tested
        once. ``"released"``: ten independent stratified draws of a tenth; a graph may be tested several times or never.
    labels : (G,) array_like
        Class of each graph.
    repeat : int
        0 to 2**32 - 1, decides the splits.

    Raises
    ------
    UsageError
        For an unknown protocol, and data with too few graphs of a class, with the counts.

    Examples
    --------
    >>> [len(split.test) for split in splits("paper", [0, 1] * 11, repeat=0)]
    [3, 3, 2, 2, 2, 2, 2, 2, 2, 2]
    >>> [len(split.test) for split in splits("released", [0, 1] * 11, repeat=0)]
    [3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
    """
    check_protocol(protocol)
    labels = host_array("labels", labels)
    if protocol != "released":
        return [Split(*pair) for pair in stratified_folds(labels, FOLDS, repeat)]
    counts = class_counts(labels)
    if min(counts.values()) < 2 or len(labels) * SHARE < len(counts):
        by_class = ", ".join(f"{name!r}: {count}" for name, count in counts.items())
        raise UsageError(
            f"protocol: released tests a tenth of the graphs, of every class, and there are too few ({by_class})"
        )
    everyone = np.arange(len(labels))
    return [Split(*hold_out(labels, everyone, SHARE, fold_seed(repeat, fold))) for fold in range(FOLDS)]


def check_protocol(protocol: str) -> str:
    """Return the name of a protocol; anything else is a UsageError with the nearest."""
    if protocol not in PROTOCOLS:
        raise UsageError(
            f"protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}{nearest(str(protocol), PROTOCOLS)}"
        )
    return protocol


def candidates(protocol: str, system: System, tested: int) -> Sequence[System]:
    """Return the systems that a protocol chooses among: one, unless it is ``"fair"``.

    Parameters
    ----------
    protocol : {"paper", "released", "fair"}
        ``"released"``: PiNet makes ceil(`tested` / batch size) steps an epoch, as the authors' code does.
    system : System
    tested : int
        Number of test graphs.

    Examples
    --------
    >>> [system.settings["steps_per_epoch"] for system in candidates("released", PiNetSystem(), tested=111)]
    [3]
    """
    if protocol == "fair":
        return system.grid()
    if protocol == "released" and isinstance(system, PiNetSystem):
        return [replace(system, steps_per_epoch=math.ceil(tested / system.batch_size))]
    return [system]


def run_split(protocol: str, system: System, dataset: Dataset, split: Split, seed: int) -> Outcome:
    """Train and test a system on one split.

    No label of a test graph can be used: what is fitted gets the data set with class 0 in their place.

    Parameters
    ----------
    protocol : {"paper", "released", "fair"}
        ``"paper"`` and ``"released"``: one training on all of `split.train`, to the last epoch. ``"fair"`` (Errica,
        Podda, Bacciu and Micheli 2020): of the grid the system that is most accurate on a stratified tenth of
        `split.train`, the first of equals, after training on the rest. It is trained three times with other seeds, for
        each of which another stratified tenth of `split.train` is held out, to the epoch that is best on that.
    system : System
    dataset : Dataset
    split : Split
    seed : int

    Returns
    -------
    Outcome
    """
    asked = candidates(protocol, system, len(split.test))
    blind = replace(dataset, y=np.where(np.isin(np.arange(len(dataset)), split.test), 0, dataset.y))
    if protocol != "fair":
        fitted = asked[0].fit(blind, split.train, seed=seed)
        predictions = fitted.predict(split.test)[None]
        return Outcome(asked[0].settings, split.train, None, predictions, dict(fitted.details))
    chosen, train, validation, tried = _choose(asked, blind, split.train, seed)
    predictions, trainings = [], []
    for n in range(TRAININGS):
        own = fold_seed(seed, n + 1)
        part, held = hold_out(blind.labels, split.train, SHARE, own)
        fitted = chosen.fit(blind, part, seed=own, validation=held)
        predictions.append(fitted.predict(split.test))
        trainings.append({**fitted.details, "validation_index": held.tolist()})
    details = {"candidates": tried, "trainings": trainings}
    return Outcome(chosen.settings, train, validation, np.stack(predictions), details)


def find_copies(dataset: Dataset) -> Array:
    """Number the graphs so that copies of one graph get one number, (G,) int64.

    Copies are graphs with as many nodes of every colour after six rounds of colour refinement that starts at the
    discrete node labels (the degrees, where there are none): all isomorphic graphs, and some that are not.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> len(set(find_copies(load_dataset("MUTAG")).tolist()))  # of 188
    175
    """
    counts = colour_counts(dataset, ROUNDS)[-1]
    counts.sort_indices()
    pieces = zip(np.split(counts.indices, counts.indptr[1:-1]), np.split(counts.data, counts.indptr[1:-1]), strict=True)
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(colours.tobytes() + n.tobytes(), len(numbers)) for colours, n in pieces]
    return np.array(found, np.int64)


def count_duplicates(copies: Array, y: Array, split: Split) -> dict[str, int]:
    """Count the test graphs that have a copy among the training graphs.

    Parameters
    ----------
    copies : (G,) int array
        From :func:`find_copies`.
    y : (G,) int array
        Class of each graph.
    split : Split

    Returns
    -------
    dict
        ``"test"``: test graphs with a copy that was trained on; ``"other_class"``: those of them that have one of
        another class, so that no invariant model can get both right.

    Examples
    --------
    >>> split = Split(np.array([0, 2]), np.array([1, 3, 4]))
    >>> count_duplicates(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0]), split)
    {'test': 2, 'other_class': 1}
    """
    copies, y = host_array("copies", copies), host_array("y", y)
    seen: dict[int, set[int]] = {}
    for copy, label in zip(copies[split.train].tolist(), y[split.train].tolist(), strict=True):
        seen.setdefault(copy, set()).add(label)
    met = [(seen[copy], label) for copy, label in zip(copies[split.test].tolist(), y[split.test].tolist(), strict=True)
           if copy in seen]  # fmt: skip
    return {"test": len(met), "other_class": sum(bool(labels - {label}) for labels, label in met)}


def _choose(
    asked: Sequence[System], blind: Dataset, train: Array, seed: int
) -> tuple[System, Array, Array | None, list[dict[str, Any]]]:
    """Return the best of several systems on a tenth of `train`, the two parts, and what is kept of each training."""
    if len(asked) == 1:
        return asked[0], train, None, []
    part, held = hold_out(blind.labels, train, SHARE, seed)
    trials = [candidate.fit(blind, part, seed=seed, validation=held) for candidate in asked]
    best = asked[int(np.argmax([trial.details["validation_accuracy"] for trial in trials]))]
    return best, part, held, [_tried(candidate, trial) for candidate, trial in zip(asked, trials, strict=True)]


def _tried(candidate: System, trial: Fitted) -> dict[str, Any]:
    """Return what is kept of a training that served the choice alone."""
    kept = {name: trial.details[name] for name in ("validation_accuracy", "epoch", "seconds") if name in trial.details}
    return {"settings": candidate.settings, **kept}
