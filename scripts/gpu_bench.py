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
import os
import platform
import sys
import tempfile
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._card import card_failures, card_problem
from minipinet._files import write_json, write_whole
from minipinet.crossval import cross_validate
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import launcher
from minipinet.datasets import Dataset, load_dataset
from minipinet.errors import DataError, DivergedError, MinipinetError, UsageError
from minipinet.fast.training import compiled_form
from minipinet.quotient import refine
from minipinet.settings import Settings

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "gpu"), str(HERE / "peers")]

from bench import commit, machine  # noqa: E402
from commandline import MODULES, WITHOUT_FOLDER, parse  # noqa: E402
from environments import PEERS, is_made, python_of  # noqa: E402
from facts import card_facts  # noqa: E402
from problem import load, write_problem  # noqa: E402
from processes import PeerError, PeerProcess  # noqa: E402
from report import left_out, markdown  # noqa: E402
from rounds import FAILURES, OVER, Rounds, is_over, refused_captures, short  # noqa: E402
from sides import OnCard, OnCpu  # noqa: E402
from traffic import copy_bandwidth, step_bytes  # noqa: E402

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
            reasons[peer] = short(error)
    return running, reasons


def measure(data: Dataset, options: argparse.Namespace, folder: Path) -> tuple[dict[str, Any], Rounds, dict[str, str]]:
    """Check and time all sides on a data set: what the report says of it, its rounds, and the peers' versions."""
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
    rounds = Rounds({"cpu": OnCpu(arrays, quotient, data.num_classes), **cards}, peers, options)
    rounds.run()
    rounds.reasons |= reasons
    found = {
        "graphs": len(data), "nodes": len(data.graphs.X), "batches": -(-len(data) // int(arrays["batch_size"])),
        "losses": rounds.losses, "seconds": rounds.seconds,
        "bytes": {name: step_bytes(side.card) for name, side in cards.items()},
    }  # fmt: skip
    return found, rounds, {name: value for peer in peers.values() for name, value in peer.about["versions"].items()}


def time_cross_validation(folds: int, epochs: int) -> dict[str, Any]:
    """Time a whole cross-validation of MUTAG, all folds at once, from the graphs to the accuracies.

    Also says why its step was not captured, or why there is no time: weights or scores that are not finite.
    """
    data, settings, seconds, failed = load_dataset("MUTAG"), Settings(epochs=epochs, device="cuda"), None, None
    with refused_captures() as refused:
        try:
            cross_validate(data, replace(settings, epochs=1), folds, folds_at_once=folds)  # compiles the kernels
            began = time.perf_counter()
            cross_validate(data, settings, folds, folds_at_once=folds)
            seconds = time.perf_counter() - began
        except (DivergedError, DataError) as error:
            failed = str(error)
    not_captured = refused[0] if refused else None
    return {"folds": folds, "epochs": epochs, "seconds": seconds, "not_captured": not_captured, "failed": failed}


def main(words: list[str] | None = None) -> int:
    """Measure, write what was found, and print it."""
    options = parse(words)
    options.until, options.kept = time.monotonic() + 60 * options.minutes, ""
    if problem := card_problem():
        print(f"gpu_bench: {problem}", file=sys.stderr)
        return 1
    report: dict[str, Any] = {}
    try:
        with card_failures("fewer --folds or --megabytes"):
            measure_all(options, report)
    except (MinipinetError, PeerError) as error:
        print(f"gpu_bench: {error}{options.kept}", file=sys.stderr)
        return 1
    print(markdown(report))
    if report["failed"]:
        print(f"gpu_bench: not what the CPU computes: {', '.join(report['failed'])}", file=sys.stderr)
    return int(bool(report["failed"]))


def measure_all(options: argparse.Namespace, report: dict[str, Any]) -> None:
    """Fill the report, and write it after each data set."""
    report |= {
        **card_facts(), "processor": machine()["processor"],
        "cpu_passes": "NumPy" if compiled_form() is None else "Numba",
        "commit": commit(), "date": time.strftime("%Y-%m-%d"),
        "folds": options.folds, "rounds": options.rounds, "datasets": {}, "skipped": {}, "failed": [],
    }  # fmt: skip
    report["versions"] |= {"python": platform.python_version(), "numpy": version("numpy")}
    if report["cpu_passes"] == "Numba":
        report["versions"]["numba"] = version("numba")
    report["copy_bytes_per_second"] = copy_bandwidth(launcher("float32").xp, options.megabytes)
    report["cross_validation"] = time_cross_validation(options.folds, options.epochs)
    report["failed"] += ["the folds of MUTAG"] * (report["cross_validation"]["failed"] is not None)
    write(report, options)
    for name in dict.fromkeys(options.datasets):
        if is_over(options):
            report["skipped"][name] = OVER
        else:
            add_dataset(name, options, report)
        write(report, options)


def add_dataset(name: str, options: argparse.Namespace, report: dict[str, Any]) -> None:
    """Measure a data set, or say why it is left out."""
    try:
        if name not in WITHOUT_FOLDER and options.data_dir is None:
            raise UsageError("there is no --data-dir")
        data = load(name, options.data_dir)
    except MinipinetError as error:
        report["skipped"][name] = str(error)
        return
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        report["datasets"][name], rounds, versions = measure(data, options, Path(folder))
    report["versions"] |= versions
    report["skipped"] |= {left_out(what, name): reason for what, reason in rounds.reasons.items()}
    report["failed"] += [left_out(side, name) for side in rounds.failed]


def write(report: dict[str, Any], options: argparse.Namespace) -> None:
    """Write a report, and its table beside it."""
    write_json(options.output, report)
    write_whole(options.output.with_suffix(".md"), markdown(report).encode())
    options.kept = f"; what was measured before is in {options.output}"


if __name__ == "__main__":
    sys.exit(main())
