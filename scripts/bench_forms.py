"""Time a training epoch on quotient batches against the plain form, side by side in one run.

    python scripts/bench_forms.py [--data-dir DIR] [--datasets MUTAG NCI1 ...] [--rounds 7] [--markdown FILE]

Both forms run the same code on the same batches; in the plain form every node is its own colour. The rounds alternate
(quotient, plain, quotient, ...), one BLAS thread; a row gives the median milliseconds of an epoch of each form (with
the quarters of the rounds around it) and the median of the ratios round by round. An epoch is everything that training
does: shuffling, building the batches, forward, backward, Adam.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from minipinet.datasets import Dataset, isomorphism_dataset, load_dataset
from minipinet.fast.training import adam_step, compiled_form, loss_backward, loss_forward, make_fast_batches
from minipinet.optim import AdamState, adam_init
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import Quotient, refine

DATASETS = ("MUTAG", "NCI1", "PROTEINS", "isomorphism", "ENZYMES attributes")


def load(name: str, data_dir: Path | None) -> Dataset:
    """Load a set by the name it has in the table."""
    if name == "isomorphism":
        return isomorphism_dataset(0)
    base, _, features = name.partition(" ")
    where = None if base == "MUTAG" else data_dir
    return load_dataset(base, data_dir=where, features=features or "labels")


def epoch(quotient: Quotient, y: np.ndarray, params: PiNetParams, adam: AdamState, rng: np.random.Generator) -> tuple:
    """Train for one epoch in batches of 50."""
    order = rng.permutation(len(y))
    for at, batch in zip(range(0, len(y), 50), make_fast_batches(quotient, order, 50), strict=True):
        _, cache = loss_forward(params, batch, y[order[at : at + 50]])
        params, adam = adam_step(params, loss_backward(1.0, cache), adam)
    return params, adam


def clock(dataset: Dataset, merge: bool, least: float) -> Callable[[], float]:
    """Return a function that trains for at least `least` seconds and returns the seconds of an epoch."""
    quotient, rng = refine(dataset.graphs, merge=merge), np.random.default_rng(0)
    params = init_params(rng, dataset.num_features, dataset.num_classes)
    state = [params, adam_init(params)]

    def run() -> float:
        start, epochs = time.perf_counter(), 0
        while (seconds := time.perf_counter() - start) < least or not epochs:
            state[:] = epoch(quotient, dataset.y, *state, rng)
            epochs += 1
        return seconds / epochs

    run()  # memory and caches warm
    return run


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="folder of TU zips (MUTAG and the isomorphism set need none)")
    parser.add_argument(
        "--datasets", nargs="+", default=list(DATASETS), metavar="NAME", help="of " + ", ".join(DATASETS)
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--least", type=float, default=1.0, help="seconds a round lasts at least")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    form = "in NumPy" if compiled_form() is None else "compiled"
    lines = [
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, {form}, commit {commit.stdout.strip() or 'unknown'}, float32, batch 50, "
        f"one BLAS thread, {options.rounds} rounds",
        "",
        "| data set | graphs | nodes | states (layer 0, 1, 2) | quotient, ms | plain, ms | plain / quotient |",
        "|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n", flush=True)
    with threadpool_limits(1):
        for name in options.datasets:
            dataset = load(name, options.data_dir)
            quotient = refine(dataset.graphs)
            states = ", ".join(str(n) for n in (len(quotient.X), *(len(level.own) for level in quotient.levels)))
            clocks = [clock(dataset, merge, options.least) for merge in (True, False)]
            seconds = np.array([[run() for run in clocks] for _ in range(options.rounds)])
            low, mid, high = np.quantile(1e3 * seconds, [0.25, 0.5, 0.75], axis=0)
            cells = [f"{m:.1f} ({a:.1f} to {b:.1f})" for a, m, b in zip(low, mid, high, strict=True)]
            ratio = np.median(seconds[:, 1] / seconds[:, 0])
            row = [name, len(dataset), len(dataset.graphs.X), states, *cells, f"{ratio:.2f}"]
            lines.append("| " + " | ".join(map(str, row)) + " |")
            print(lines[-1], flush=True)
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
