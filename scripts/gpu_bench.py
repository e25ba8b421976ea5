"""Time an epoch on this machine's card beside the CPU: plain launches, a captured step, and several folds at once.

    python scripts/gpu_bench.py [--data-dir DIR] [--folds 10] [--rounds 5] [--output report.json]

Prints a Markdown table and writes a report. A time is the median over rounds of the milliseconds of an epoch, the card
waited for; on the CPU one BLAS thread.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._array import card_library, card_problem
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import CardLauncher
from minipinet.cuda.training import Card
from minipinet.datasets import Dataset, isomorphism_dataset, load_dataset
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import fit

SETS = ("MUTAG", "NCI1", "PROTEINS", "isomorphism")
COLUMNS = ("CPU", "launches", "captured", "folds at once, each")


def on_card(data: Dataset, K: int, captured: bool = True) -> Callable[[], None]:
    """Return what trains K folds for an epoch, and waits for it."""
    rng = np.random.default_rng(0)
    folds = [init_params(rng, data.num_features, data.num_classes) for _ in range(K)]
    table = graph_table(refine(data.graphs), data.y)
    card = Card(CardLauncher("float32"), [table], folds, len(data), Settings(), captured=captured)
    card.load(folds, [adam_init(params) for params in folds])
    orders = [rng.permutation(len(data)) for _ in folds]

    def run() -> None:
        card.epoch(orders)  # which reads the losses, and so waits

    return run


def on_cpu(data: Dataset) -> Callable[[], None]:
    """Return what trains for an epoch."""
    quotient, index = refine(data.graphs), np.arange(len(data))
    state = None
    epochs = 0

    def run() -> None:
        nonlocal state, epochs
        epochs += 1
        state = fit(quotient, data.y, index, Settings(epochs=epochs), C=data.num_classes, state=state)

    return run


def milliseconds(run: Callable[[], None], rounds: int) -> float:
    """Return the median of the rounds, after one that is not counted."""
    run()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        taken.append(1e3 * (time.perf_counter() - began))
    return statistics.median(taken)


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="folder of TU zips (MUTAG and isomorphism need none)")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("gpu_report.json"))
    options = parser.parse_args()
    if problem := card_problem():
        print(f"gpu_bench: {problem}", file=sys.stderr)
        return 1
    library = card_library()
    properties = library.cuda.runtime.getDeviceProperties(library.cuda.Device().id)
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    report: dict[str, Any] = {
        "card": properties["name"].decode(),
        "cupy": library.__version__,
        "python": platform.python_version(),
        "commit": subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip() or "unknown",
        "date": time.strftime("%Y-%m-%d"),
        "folds": options.folds,
        "milliseconds": {},
    }
    print(", ".join(f"{name} {value}" for name, value in report.items() if name != "milliseconds"))
    print(f"\n| data set, ms an epoch | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}", flush=True)
    for name in SETS:
        if name in ("NCI1", "PROTEINS") and options.data_dir is None:
            continue
        data = isomorphism_dataset(0) if name == "isomorphism" else load_dataset(
            name, data_dir=None if name == "MUTAG" else options.data_dir
        )  # fmt: skip
        with threadpool_limits(1):
            times = [milliseconds(on_cpu(data), options.rounds)]
        times.append(milliseconds(on_card(data, 1, captured=False), options.rounds))
        times.append(milliseconds(on_card(data, 1), options.rounds))
        together = milliseconds(on_card(data, options.folds), options.rounds)
        times.append(together / options.folds)
        report["milliseconds"][name] = dict(zip(COLUMNS, times, strict=True))
        print(f"| {name} | " + " | ".join(f"{ms:.2f}" for ms in times) + " |", flush=True)
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
