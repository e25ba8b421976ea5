#!/usr/bin/env python3
"""Count how often each test calls two models different that are equally good, and two that are not.

    python scripts/significance.py [--comparisons 1000] [--scenes NAME ...] [--seed 0]

A scene draws the accuracies of two models over ten folds.

copies  One learner with other seeds on MUTAG: a random tree on the labels of the nodes and of their neighbours, or
        PiNet, small and for 20 epochs. Both are tested on the same folds, or each on folds of its own, or on ten draws
        of a tenth of its own.
equals  The nearest neighbour on either of two halves of the features of 100 cases, which are drawn anew for each
        comparison. The halves are alike, so that both models are equally good at cases of this kind.
better  The same, but one half says more.

Of copies and equals every call of a difference is wrong. A line gives the mean accuracies, the standard
deviation of their difference over the comparisons and, for each test, the share of the comparisons with a p-value of at
most 0.05. PiNet's scenes take seconds a comparison and run on request alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet.baselines.pinet import PiNetSystem
from minipinet.baselines.subtree_kernel import colour_counts
from minipinet.cli.tables import table
from minipinet.datasets import Dataset, load_dataset
from minipinet.experiments.protocols import splits
from minipinet.results.statistics import compare

LEVEL = 0.05
#: Cases of a data set drawn for "equals" and "better", features of a half, and how far apart the classes lie in each.
CASES, FEATURES, SHIFT, BETTER = 100, 5, 0.5, 1.2
PINET = PiNetSystem(epochs=20, hidden=16, out=8, lr=0.02)

Repeats = list[list[float]]
#: From a generator to the accuracies of two models.
Scene = Callable[[np.random.Generator], tuple[Repeats, Repeats]]


class Shares(NamedTuple):
    """Of comparisons that a test calls significant, and what the models reach."""

    accuracy_a: float
    accuracy_b: float
    sd: float  #: of the difference, over the comparisons
    welch: float
    paired: float
    corrected: float


def shares(scene: Scene, comparisons: int, seed: int = 0) -> Shares:
    """Draw comparisons, each from a seed of its own, and count."""
    counted, differences = [], []
    for number in range(comparisons):
        a, b = scene(np.random.default_rng([seed, number]))
        found = compare(a, b)
        differences.append(found.difference)
        tests = (found.welch, found.paired, found.corrected)
        counted.append([np.mean(a), np.mean(b), *(float(p is not None and p <= LEVEL) for p in tests)])
    accuracy_a, accuracy_b, *called = np.mean(counted, axis=0).tolist()
    return Shares(accuracy_a, accuracy_b, float(np.std(differences)), *called)


def seeds(rng: np.random.Generator) -> Iterator[int]:
    """Draw numbers that serve as seeds."""
    while True:
        yield int(rng.integers(2**32))


@cache
def mutag() -> tuple[Dataset, np.ndarray]:
    """Return MUTAG and its graphs as counts of node colours after one round of refinement."""
    dataset = load_dataset("MUTAG")
    return dataset, colour_counts(dataset, 1)[-1].toarray().astype(np.float32)


def tree_accuracy(train: np.ndarray, test: np.ndarray, seed: int) -> float:
    """Train and test a tree with random splits."""
    from sklearn.tree import ExtraTreeClassifier

    dataset, X = mutag()
    tree = ExtraTreeClassifier(random_state=seed).fit(X[train], dataset.y[train])
    return float(np.mean(tree.predict(X[test]) == dataset.y[test]))


def pinet_accuracy(train: np.ndarray, test: np.ndarray, seed: int) -> float:
    """Train and test a small PiNet."""
    dataset, _ = mutag()
    return float(np.mean(PINET.fit(dataset, train, seed=seed).predict(test) == dataset.y[test]))


def copies(accuracy: Callable[..., float], protocol: str, same: bool) -> Scene:
    """Return the scene of one learner and its copy, on the same splits or each on its own."""

    def scene(rng: np.random.Generator) -> tuple[Repeats, Repeats]:
        drawn = seeds(rng)
        first = splits(protocol, mutag()[0].labels, next(drawn))
        second = first if same else splits(protocol, mutag()[0].labels, next(drawn))
        a, b = ([accuracy(*split, next(drawn)) for split in part] for part in (first, second))
        return [a], [b]

    return scene


def halves(shift_a: float, shift_b: float, *, same: bool = True, repeats: int = 1) -> Scene:
    """Return the scene of the nearest neighbour on either half of the features."""

    def scene(rng: np.random.Generator) -> tuple[Repeats, Repeats]:
        y = np.arange(CASES) % 2
        drawn, found = seeds(rng), []
        distances = [distance(rng.normal(size=(CASES, FEATURES)) + shift * y[:, None]) for shift in (shift_a, shift_b)]
        folds = [splits("paper", y, next(drawn)) for _ in range(repeats)]
        for D in distances:
            found.append([[nearest_accuracy(D, y, *split) for split in repeat] for repeat in folds])
            folds = folds if same else [splits("paper", y, next(drawn)) for _ in range(repeats)]
        return found[0], found[1]

    return scene


def distance(X: np.ndarray) -> np.ndarray:
    """Return the squared distances of all cases."""
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def nearest_accuracy(D: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Give each test case the class of the nearest training case."""
    return float(np.mean(y[train][D[np.ix_(test, train)].argmin(axis=1)] == y[test]))


SCENES: dict[str, Scene] = {
    "copies": copies(tree_accuracy, "paper", same=True),
    "copies-own-folds": copies(tree_accuracy, "paper", same=False),
    "copies-own-draws": copies(tree_accuracy, "released", same=False),
    "pinet-copies": copies(pinet_accuracy, "paper", same=True),
    "pinet-copies-own-draws": copies(pinet_accuracy, "released", same=False),
    "equals": halves(SHIFT, SHIFT),
    "equals-own-folds": halves(SHIFT, SHIFT, same=False),
    "equals-5-repeats": halves(SHIFT, SHIFT, repeats=5),
    "better": halves(BETTER, SHIFT),
    "better-5-repeats": halves(BETTER, SHIFT, repeats=5),
}


def main(arguments: Any = None) -> None:
    """Print a line for each scene."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=1000)
    parser.add_argument(
        "--scenes", nargs="+", choices=SCENES, default=[name for name in SCENES if "pinet" not in name], metavar="NAME"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    if args.comparisons < 1:
        parser.error("--comparisons: expected at least 1")
    began = time.perf_counter()
    with threadpool_limits(limits=1):
        found = {name: shares(SCENES[name], args.comparisons, args.seed) for name in args.scenes}
    rows = [[name, *(f"{share:.3f}" for share in row)] for name, row in found.items()]
    print(
        table(["scene", "accuracy", "of the other", "sd of difference", "Welch", "paired", "corrected"], rows, left=[0])
    )
    print(f"{args.comparisons} comparisons a scene, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
