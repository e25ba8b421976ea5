"""The WL baseline: a support vector machine on the Weisfeiler-Leman subtree kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minipinet._array import Array, Sparse
from minipinet._extras import sklearn
from minipinet._host import numbers_below
from minipinet.baselines.subtree_kernel import check_block, colour_counts, kernels_by_round
from minipinet.baselines.system import several
from minipinet.datasets.dataset import Dataset
from minipinet.settings import real, truth, whole
from minipinet.splits import check_classes, class_counts, stratified_folds

#: scikit-learn's SVC; the package is imported where it is used.
SVC = Any


class Choice(NamedTuple):
    """The settings most accurate on graphs not trained on; of equals the fewest rounds, then the least C."""

    accuracy: float
    rounds: int
    C: float


@dataclass(frozen=True)
class WeisfeilerLehman:
    """The WL subtree kernel with a support vector machine; rounds and C are chosen on the training graphs.

    Attributes
    ----------
    rounds : tuple of int
        Rounds of colour refinement to choose from; 0 compares label counts alone.
    C : tuple of float
        Costs of a training error to choose from, above 0.
    inner_folds : int
        Stratified folds of the training graphs that the choice is made on; fewer where a class has fewer graphs.
    normalise : bool
        Whether the kernel of a graph with itself is 1, so that C means the same for small graphs and large ones.

    Notes
    -----
    Kernels are those of the training graphs alone: no other graph is looked at before `predict`. The choice is made by
    folds and not by one hold-out: a tenth of MUTAG's training part is 17 graphs, too few to tell 42 settings apart.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> fitted = WeisfeilerLehman().fit(ds, np.arange(0, 188, 2), seed=0)
    >>> float(np.mean(fitted.predict(np.arange(1, 188, 2)) == ds.y[1::2])) > 0.75
    True
    """

    name: ClassVar[str] = "WL"
    rounds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    C: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
    inner_folds: int = 5
    normalise: bool = True

    def __post_init__(self) -> None:
        rounds = {whole("rounds", h, 0) for h in several("rounds", self.rounds)}
        costs = {real("C", C, lambda x: x > 0, "above 0") for C in several("C", self.C)}
        object.__setattr__(self, "rounds", tuple(sorted(rounds)))
        object.__setattr__(self, "C", tuple(sorted(costs)))
        object.__setattr__(self, "inner_folds", whole("inner_folds", self.inner_folds, 2))
        object.__setattr__(self, "normalise", truth("normalise", self.normalise))

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting as a JSON value."""
        return {**asdict(self), "rounds": list(self.rounds), "C": list(self.C)}

    def grid(self) -> list[WeisfeilerLehman]:
        """Return the one candidate: it chooses inside."""
        return [self]

    def fit(
        self, dataset: Dataset, train: Array, *, seed: int, validation: Array | None = None
    ) -> FittedWeisfeilerLehman:
        """Choose rounds and C, then train on all of `train`.

        Parameters
        ----------
        dataset : Dataset
        train : (n,) int array
            The graphs to train on, of two classes or more.
        seed : int
            Of the inner folds, the only thing here that is random.
        validation : (m,) int array, optional
            Graphs to make the choice on, instead of inner folds.

        Returns
        -------
        FittedWeisfeilerLehman
            Where no choice can be made, as with a single graph of a class, with the most rounds and the largest C.

        Raises
        ------
        UsageError
            For graph numbers that do not fit, and training graphs of one class.

        Notes
        -----
        One kernel matrix of n x n numbers at a time, and for each `inner_folds` times as many machines as there are C.
        """
        start = time.perf_counter()
        train = numbers_below("train", train, len(dataset))
        y = dataset.y[train]
        check_classes("train", y)
        held = np.empty(0, np.int64) if validation is None else numbers_below("validation", validation, len(dataset))
        n = len(train)
        target = np.concatenate([y, dataset.y[held]])
        counts = colour_counts(dataset[np.concatenate([train, held])], self.rounds[-1])
        parts = self._parts(y, seed) if validation is None else [(np.arange(n), np.arange(n, len(target)))]
        best = Choice(-1.0, self.rounds[-1], self.C[-1])
        for h, K in self._kernels(counts):
            for C in self.C if parts else []:
                accuracy = float(np.mean([_accuracy(K, target, C, *part) for part in parts]))
                if accuracy > best.accuracy:
                    best = Choice(accuracy, h, C)
            if h == best.rounds:
                chosen = K
        machine = _train(chosen[:n, :n], y, best.C)
        details = {
            "rounds": best.rounds,
            "C": best.C,
            "inner_folds": 0 if validation is not None else len(parts),
            "start": "degree" if dataset.node_labels is None else "labels",
            "seconds": time.perf_counter() - start,
        }
        if parts:
            details["inner_accuracy" if validation is None else "validation_accuracy"] = best.accuracy
        return FittedWeisfeilerLehman(dataset, train, self, best, machine, details)

    def _kernels(self, counts: list[Sparse]) -> Iterator[tuple[int, Array]]:
        """Yield the rounds to choose from, each with its kernel."""
        for h, K in enumerate(kernels_by_round(counts, counts, normalise=self.normalise)):
            if h in self.rounds:
                yield h, K

    def _parts(self, y: Array, seed: int) -> list[tuple[Array, Array]]:
        """Return the inner folds, none if a class has a single graph."""
        folds = min(self.inner_folds, *class_counts(y).values())
        return stratified_folds(y, folds, seed) if folds > 1 else []


@dataclass(frozen=True, eq=False)
class FittedWeisfeilerLehman:
    """A trained support vector machine and the graphs it was trained on."""

    dataset: Dataset
    train: Array
    system: WeisfeilerLehman
    choice: Choice
    machine: SVC
    details: dict[str, Any]

    def predict(self, index: Array) -> Array:
        """Return the class, 0 to C - 1, of some graphs of the data set, (n,) int64."""
        index = numbers_below("index", index, len(self.dataset))
        counts = colour_counts(self.dataset[np.concatenate([index, self.train])], self.choice.rounds)
        n = len(index)
        blocks = kernels_by_round([c[:n] for c in counts], [c[n:] for c in counts], normalise=self.system.normalise)
        block = next(islice(blocks, self.choice.rounds, None))
        return self.machine.predict(check_block(block, len(self.train))).astype(np.int64)


def _train(K: Array, y: Array, C: float) -> SVC:
    svm = sklearn("svm", "the Weisfeiler-Lehman kernel")
    # Nothing here is random, but without a random_state SVC draws from NumPy's global generator.
    return svm.SVC(kernel="precomputed", C=C, cache_size=500, random_state=0).fit(np.ascontiguousarray(K), y)


def _accuracy(K: Array, y: Array, C: float, train: Array, test: Array) -> float:
    """Return the accuracy on one part of the graphs of a machine trained on another: rows and columns are cut."""
    machine = _train(K[np.ix_(train, train)], y[train], C)
    return float(np.mean(machine.predict(check_block(K[np.ix_(test, train)], len(train))) == y[test]))
