#!/usr/bin/env python3
"""Look for the published accuracy of GCN + Sum on MUTAG: other readouts, matrices, starts, biases, step sizes, lengths.

    python scripts/gcn_sum_variants.py [--repeats 1]

prints a Markdown table: ten stratified folds, last epoch, mean and standard deviation over the folds, and the accuracy
on the training graphs. A mean over nodes and other matrices are no settings of the baseline; they are put in
its place here. Beside them stands logistic regression on the counts of the node labels: it needs no graph.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minipinet.baselines import gcn, gcn_network
from minipinet.baselines.gcn import GCNSum
from minipinet.baselines.gcn_layers import SumPoolCache, kipf_quotient, sum_pool_backward, sum_pool_forward
from minipinet.datasets import load_dataset
from minipinet.splits import fold_seed, stratified_folds

VARIANTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("as in the tables: biases, He's start", {}, {}),
    ("no biases", {"bias": False}, {}),
    ("Glorot's start", {"init": "glorot"}, {}),
    ("orthogonal start (that of the authors' code)", {"init": "orthogonal"}, {}),
    ("mean for sum (the authors' final code)", {}, {"mean": True}),
    ("mean for sum, orthogonal start", {"init": "orthogonal"}, {"mean": True}),
    ("degrees to the power -1/4 (the authors' slip)", {}, {"root": True}),
    ("A + I, not normalised", {}, {"p": 1.0}),
    ("batches of 10", {"batch_size": 10}, {}),
    ("no biases, step size .01", {"bias": False, "lr": 0.01}, {}),
    ("step size .01", {"lr": 0.01}, {}),
    ("1000 epochs", {"epochs": 1000}, {}),
    ("step size .01, 1000 epochs", {"lr": 0.01, "epochs": 1000}, {}),
]


def mean_pool_forward(Z: Any, pool: Any) -> tuple[Any, SumPoolCache]:
    """Divide the sum by the number of nodes."""
    S, cache = sum_pool_forward(Z, pool)
    return S / _sizes(pool, S.dtype), cache


def mean_pool_backward(dS: Any, cache: SumPoolCache) -> Any:
    """Return dZ."""
    return sum_pool_backward(dS / _sizes(cache.pool, dS.dtype), cache)


def _sizes(pool: Any, dtype: Any) -> Any:
    return np.asarray(pool.counts.sum(axis=1)).reshape(-1, 1).astype(dtype)


def root_quotient(graphs: Any, merge: bool = True) -> Any:
    """Take the square roots of the degrees, so that the matrix has D^(-1/4) on both sides."""
    quotient = kipf_quotient(graphs, merge)
    first, second = (level._replace(deg=np.sqrt(level.deg)) for level in quotient.levels)
    return quotient._replace(levels=(first, second))


@contextmanager
def in_place(*, mean: bool = False, root: bool = False, p: float = 0.0) -> Iterator[None]:
    """Make the baseline another one inside the block."""
    pools = {"sum_pool_forward": mean_pool_forward, "sum_pool_backward": mean_pool_backward} if mean else {}
    with (
        mock.patch.multiple(gcn_network, KIPF_P=p, **pools),
        mock.patch.object(gcn, "kipf_quotient", root_quotient if root else kipf_quotient),
    ):
        yield


def measure(fit: Callable[[Any, int], Callable[[Any], Any]], repeats: int) -> str:
    """Return accuracies over the folds of all repeats as cells of the table."""
    dataset = load_dataset("MUTAG")
    tested, trained = [], []
    for repeat in range(repeats):
        for fold, (train, test) in enumerate(stratified_folds(dataset.labels, 10, repeat)):
            predict = fit(train, fold_seed(repeat, fold))
            tested.append(np.mean(predict(test) == dataset.y[test]))
            trained.append(np.mean(predict(train) == dataset.y[train]))
    return f"{np.mean(tested):.3f} ± {np.std(tested, ddof=1):.3f} | {np.mean(trained):.3f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1, metavar="N")
    args = parser.parse_args()
    dataset = load_dataset("MUTAG")
    labels = np.add.reduceat(dataset.graphs.X, dataset.graphs.ptr[:-1])

    def fit_counts(train: Any, seed: int) -> Callable[[Any], Any]:
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(labels[train], dataset.y[train])
        return lambda index: model.predict(labels[index])

    print("| | accuracy | of the training graphs |\n|---|---|---|")
    for name, settings, other in VARIANTS:
        with in_place(**other):
            cells = measure(
                lambda train, seed, s=settings: GCNSum(**s).fit(dataset, train, seed=seed).predict, args.repeats
            )
        print(f"| {name} | {cells}", flush=True)
    print(f"| logistic regression on label counts | {measure(fit_counts, args.repeats)}")


if __name__ == "__main__":
    main()
