"""Time an epoch on this machine's card: plain launches, a captured step, several folds at once; CPU and peers beside.

    python scripts/gpu_bench.py [--datasets NAME ...] [--data-dir DIR] [--peers NAME ...] [--envs DIR] [--folds 10]
        [--rounds 5] [--least 0.2] [--minutes M] [--output gpu_report.json]

Every side starts from the same weights with the same orders, must have minipinet's loss before training and after an
epoch, and is then timed in rounds, one side after the other, each time for as many epochs as fit into --least seconds.
When --minutes are over, no data set, peer or further round is begun.
Peers are those of scripts/peers, on the card: in an environment of --envs or, where that is not made, in this one if it
has their framework. Then ten folds of MUTAG are cross-validated. Writes the report, and a Markdown table beside it;
what is not there is left out, with the reason. See scripts/gpu/ for what is timed, counted and told.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._card import card_failures, card_problem
from minipinet.crossval import cross_validate
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import NOT_CAPTURED, launcher
from minipinet.datasets import Dataset, load_dataset
from minipinet.errors import CardError, MinipinetError, Notice, UsageError
from minipinet.fast.training import compiled_form
from minipinet.quotient import refine
from minipinet.settings import Settings

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "gpu"), str(HERE / "peers")]

from bench import check_losses, commit, machine  # noqa: E402
from commandline import MODULES, WITHOUT_FOLDER, parse  # noqa: E402
from environments import PEERS, is_made, python_of  # noqa: E402
from facts import card_facts  # noqa: E402
from problem import load, write_problem  # noqa: E402
from processes import PeerError, PeerProcess  # noqa: E402
from report import left_out, markdown  # noqa: E402
from sides import OnCard, OnCpu  # noqa: E402
from traffic import copy_bandwidth, step_bytes  # noqa: E402

#: How a peer fails: with another loss, an answer that is none, or a process that cannot be started.
FAILURES = PeerError, ValueError, OSError
#: Why something is left out that was not begun in time.
OVER = "the --minutes were over"
#: Processors that a peer may use beside the card.
THREADS = min(4, os.cpu_count() or 1)


def peers_on_card(
    problem: Path, options: argparse.Namespace, folder: Path
) -> tuple[dict[str, PeerProcess], dict[str, str]]:
    """Start the peers whose framework is there, on the card; return also why others are not."""
    running: dict[str, PeerProcess] = {}
    reasons: dict[str, str] = {}
    for peer in options.peers:
        made = is_made(PEERS[peer], options.envs)
        if not made and importlib.util.find_spec(MODULES[peer]) is None:
            reasons[peer] = f"{MODULES[peer]} is not installed"
            continue
        python = python_of(peer, options.envs) if made else Path(sys.executable)
        try:
            running[peer] = PeerProcess(peer, python, problem, THREADS, folder / f"{peer}.log", options.device)
        except FAILURES as error:
            reasons[peer] = _reason(error)
    return running, reasons


def measure(data: Dataset, options: argparse.Namespace, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check and time all sides on a data set; return what the report says of it, and of sides that are left out."""
    write_problem(folder / "problem.npz", data)
    with np.load(folder / "problem.npz") as file:
        arrays = dict(file)
    quotient = refine(data.graphs)
    launch, table = launcher("float32"), graph_table(quotient, data.y)
    cards = {
        "launches": OnCard(arrays, table, launch, 1, captured=False),
        "captured": OnCard(arrays, table, launch, 1),
        "folds": OnCard(arrays, table, launch, options.folds),
    }
    peers, reasons = peers_on_card(folder / "problem.npz", options, folder)
    sides: dict[str, Any] = {"cpu": OnCpu(arrays, quotient, data.num_classes), **cards, **peers}
    losses: dict[str, tuple[float, float]] = {}
    seconds: dict[str, list[float]] = {side: [] for side in sides}

    def check(name: str) -> None:
        with refused_captures() as refused:
            losses[name] = sides[name].loss(), sides[name].epochs(0)["loss"]
        check_losses({"ours": losses["cpu"], name: losses[name]})
        if refused:  # its launches one by one would go under the name of what it is not
            leave_out(name, refused[0])

    def take_time(name: str) -> None:
        seconds[name].append(sides[name].epochs(options.least)["seconds"])

    def leave_out(name: str, reason: str) -> None:
        reasons[name] = reason
        for kept in (sides, seconds, losses):
            kept.pop(name, None)

    def attempt(step: Callable[[str], None], name: str) -> None:
        """Take a step of a side; a peer that fails in it is left out from here on."""
        try:
            step(name)
        except FAILURES as error:
            if name not in peers:
                raise
            leave_out(name, _reason(error))

    try:
        for name in list(sides):
            if name in peers and is_over(options):
                leave_out(name, OVER)
            else:
                attempt(check, name)
        for k in range(options.rounds):
            if k and is_over(options):
                reasons[f"round {k + 1} and what follows"] = OVER
                break
            names = list(sides)
            for name in names[k % len(names) :] + names[: k % len(names)]:
                attempt(take_time, name)
    finally:
        for side in (*sides.values(), *peers.values()):
            side.close()
    found = {
        "graphs": len(data), "nodes": len(data.graphs.X), "batches": -(-len(data) // int(arrays["batch_size"])),
        "losses": losses, "seconds": seconds, "bytes": {name: step_bytes(side.card) for name, side in cards.items()},
    }  # fmt: skip
    versions = {name: value for peer in peers.values() for name, value in peer.about["versions"].items()}
    return found, {"reasons": reasons, "versions": versions}


def time_cross_validation(folds: int, epochs: int) -> dict[str, Any]:
    """Time a whole cross-validation of MUTAG, all folds at once, from the graphs to the accuracies.

    Also says why its step was not captured, if it was not.
    """
    data, settings = load_dataset("MUTAG"), Settings(epochs=epochs, device="cuda")
    with refused_captures() as refused:
        began = time.perf_counter()
        cross_validate(data, settings, folds, folds_at_once=folds)
        seconds = time.perf_counter() - began
    return {"folds": folds, "epochs": epochs, "seconds": seconds, "not_captured": refused[0] if refused else None}


def is_over(options: argparse.Namespace) -> bool:
    """Return whether the time for the benchmark is over."""
    return bool(time.monotonic() > options.until)


@contextmanager
def refused_captures() -> Iterator[list[str]]:
    """Give a list that at the end has what was told of steps that could not be captured; all that is told is shown."""
    refused: list[str] = []
    told: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", Notice)
            yield refused
    finally:
        refused += [str(one.message) for one in told if str(one.message).startswith(NOT_CAPTURED)]
        for one in told:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def main(words: list[str] | None = None) -> int:
    """Measure, write what was found, and print it."""
    options = parse(words)
    options.until = time.monotonic() + 60 * options.minutes
    if problem := card_problem():
        print(f"gpu_bench: {problem}", file=sys.stderr)
        return 1
    report: dict[str, Any] = {}
    try:
        with card_failures("fewer --folds or --megabytes"):
            measure_all(options, report)
    except CardError as error:
        kept = f"; what was measured before is in {options.output}" if "cross_validation" in report else ""
        print(f"gpu_bench: {error}{kept}", file=sys.stderr)
        return 1
    print(markdown(report))
    return 0


def measure_all(options: argparse.Namespace, report: dict[str, Any]) -> None:
    """Fill the report, and write it after each data set."""
    report |= {
        **card_facts(), "processor": machine()["processor"],
        "cpu_passes": "NumPy" if compiled_form() is None else "Numba",
        "commit": commit(), "date": time.strftime("%Y-%m-%d"),
        "folds": options.folds, "rounds": options.rounds, "datasets": {}, "skipped": {},
    }  # fmt: skip
    report["versions"] |= {"python": platform.python_version(), "numpy": version("numpy")}
    if report["cpu_passes"] == "Numba":
        report["versions"]["numba"] = version("numba")
    report["copy_bytes_per_second"] = copy_bandwidth(launcher("float32").xp, options.megabytes)
    time_cross_validation(options.folds, 1)  # compiles the kernels
    report["cross_validation"] = time_cross_validation(options.folds, options.epochs)
    write(report, options.output)
    for name in dict.fromkeys(options.datasets):
        if is_over(options):
            report["skipped"][name] = OVER
        else:
            add_dataset(name, options, report)
        write(report, options.output)


def add_dataset(name: str, options: argparse.Namespace, report: dict[str, Any]) -> None:
    """Measure a data set, or say why it is left out."""
    try:
        if name not in WITHOUT_FOLDER and options.data_dir is None:
            raise UsageError("there is no --data-dir")
        data = load(name, options.data_dir)
    except MinipinetError as error:
        report["skipped"][name] = _reason(error)
        return
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        report["datasets"][name], of_sides = measure(data, options, Path(folder))
    report["versions"] |= of_sides["versions"]
    report["skipped"] |= {left_out(side, name): reason for side, reason in of_sides["reasons"].items()}


def write(report: dict[str, Any], path: Path) -> None:
    """Write a report, and its table beside it."""
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(markdown(report), encoding="utf-8")


def _reason(error: Exception) -> str:
    return str(error).partition(" (all of it")[0]


if __name__ == "__main__":
    sys.exit(main())
