"""Count the graphs whose scores change with the order of their nodes, with exact sums and without, and time both.

    python scripts/bench_bitwise.py [--data-dir DIR] [--datasets MUTAG NCI1 ...] [--models 10] [--graphs 100]

For each data set and each of several models with random weights, graphs are drawn (the largest and the smallest
always among them), their nodes are shuffled, and both are scored: node by node in float64, and with exact sums (in the
quotient form before the shuffling, node by node and in batches of another size after it). "differ" counts graphs of
which any bit of any score has changed. The distance is the largest difference between both ways of scoring, over the
largest score.
Times are of whole calls, refinement included, on all graphs of the set with one BLAS thread; a round takes every call
once, and the table gives the median of the ratios round by round.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from minipinet.datasets import Dataset, load_dataset
from minipinet.errors import Notice
from minipinet.evaluation import score
from minipinet.graphs import permute_nodes
from minipinet.invariance import bitwise_score
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import refine
from minipinet.union import DisjointUnion, disjoint_union, graph_at, take_graphs

#: Data sets, each with the features its nodes have.
DATASETS = {
    "MUTAG": "labels", "PTC_MR": "labels", "PTC_FM": "labels", "PTC_FR": "labels", "PTC_MM": "labels",
    "NCI1": "labels", "NCI109": "labels", "PROTEINS": "both", "ENZYMES": "both", "IMDB-BINARY": "degree",
}  # fmt: skip


def random_weights(rng: np.random.Generator, dataset: Dataset) -> PiNetParams:
    """Draw weights of the paper's widths, with biases, p and q drawn too."""
    params = init_params(rng, dataset.num_features, dataset.num_classes, bias=True, dtype="float64")
    small = {f"b_{layer}": rng.standard_normal(getattr(params, f"b_{layer}").shape) / 9 for layer in ("A0", "X0", "D")}
    return params._replace(**small, p_raw=rng.standard_normal(4) / 2, q_raw=rng.standard_normal(4) / 2)


def shuffle_nodes(rng: np.random.Generator, graphs: DisjointUnion) -> DisjointUnion:
    """Renumber the nodes of every graph at random."""
    members = [graph_at(graphs, g) for g in range(len(graphs.ptr) - 1)]
    return disjoint_union([permute_nodes(graph, rng.permutation(graph.N)) for graph in members])


def ordinary(params: PiNetParams, graphs: DisjointUnion, merge: bool) -> np.ndarray:
    """Score as `PiNet.predict` does without ``bitwise``."""
    return score(params, None, refine(graphs, merge), np.arange(len(graphs.ptr) - 1))


def count(dataset: Dataset, models: int, graphs: int, rng: np.random.Generator) -> tuple[int, int, int, float]:
    """Return how many graphs were shuffled, how many changed without and with exact sums, and the distance."""
    sizes = np.diff(dataset.graphs.ptr)
    shuffled = changed = changed_exact = 0
    distance = 0.0
    for _ in range(models):
        params = random_weights(rng, dataset)
        drawn = rng.permutation(len(dataset))[: max(graphs - 2, 0)]
        chosen = np.concatenate([[sizes.argmax(), sizes.argmin()], drawn])[:graphs]
        before = take_graphs(dataset.graphs, chosen)
        after = shuffle_nodes(rng, before)
        plain, exact = ordinary(params, before, merge=False), bitwise_score(params, None, before)
        batch_size = int(rng.integers(1, graphs + 1))
        other = bitwise_score(params, None, after, merge=False, batch_size=batch_size)
        shuffled += len(chosen)
        changed += int((ordinary(params, after, merge=False) != plain).any(axis=1).sum())
        changed_exact += int((other.view(np.int64) != exact.view(np.int64)).any(axis=1).sum())
        distance = max(distance, float(np.abs(exact - plain).max() / np.abs(plain).max()))
    return shuffled, changed, changed_exact, distance


def ratios(dataset: Dataset, rounds: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the median of time with exact sums / without, in the quotient form and node by node."""
    params, graphs = random_weights(rng, dataset), dataset.graphs
    calls = [
        lambda: ordinary(params, graphs, merge=True),
        lambda: bitwise_score(params, None, graphs),
        lambda: ordinary(params, graphs, merge=False),
        lambda: bitwise_score(params, None, graphs, merge=False),
    ]
    seconds = np.empty((rounds, len(calls)))
    for r in range(-1, rounds):  # the first round warms memory and caches, and is overwritten
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            seconds[r, k] = time.perf_counter() - start
    quotient, plain = np.median(seconds[:, [1, 3]] / seconds[:, [0, 2]], axis=0)
    return float(quotient), float(plain)


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="folder of TU zips (MUTAG needs none)")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=list(DATASETS), metavar="NAME")
    parser.add_argument("--models", type=int, default=10, help="random models a data set (default: %(default)s)")
    parser.add_argument("--graphs", type=int, default=100, help="graphs a model (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of timing (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, commit {commit.stdout.strip() or 'unknown'}, float64, {options.models} models, "
        f"seed {options.seed}, one BLAS thread, {options.rounds} rounds\n"
    )
    print(
        "| data set | largest graph | shuffled | differ, float64 | differ, exact sums | distance "
        "| time, quotient | time, plain |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(options.seed)
    total = np.zeros(3, int)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        for name in options.datasets:
            where = None if name == "MUTAG" else options.data_dir
            dataset = load_dataset(name, data_dir=where, features=DATASETS[name])
            *counts, distance = count(dataset, options.models, options.graphs, rng)
            total += counts
            times = [f"{ratio:.2f}" for ratio in ratios(dataset, options.rounds, rng)]
            row = [name, int(np.diff(dataset.graphs.ptr).max()), *counts, f"{distance:.1e}", *times]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print(f"| all | | {total[0]} | {total[1]} | {total[2]} | | | |")


if __name__ == "__main__":
    main()
