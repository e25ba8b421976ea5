"""Time a training epoch of minipinet beside the same network in other frameworks.

    scripts/bench_peers [--datasets NAME ...] [--peers NAME ...] [--threads 1 2] [--rounds 7] [--least 0.5]
        [--limit 20] [--data-dir DIR] [--envs DIR] [--output DIR] [--show FILE]

Every peer is a file of scripts/peers/ that runs in an environment of its framework's own, which is made at the first
use. It gets graphs, initial weights and orders from a file, must have minipinet's loss before training and after an
epoch, and is then timed: in each round every peer, with each number of threads, trains from the initial weights for an
epoch (for as many as fit into --least seconds), and the rounds start with another peer each. --output gets
results.json, table.md, and ratios.svg if matplotlib is installed; --show makes the last two again from a results.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from environments import HERE, PEERS, is_made, make_environment, python_of
from problem import BATCH_SIZE, DATASETS, SEED, load, write_problem
from processes import OURS, PeerError, PeerProcess
from summary import about, plot, table

#: Relative to minipinet's loss. Before training: the same sums in another order, in float32. After an epoch: up to 83
#: steps of Adam, which divides by gradients that may be near 0; 1e-6 to 2e-3 measured.
SAME_LOSS = {"before training": 1e-4, "after an epoch": 2e-2}
#: Seconds between turns, in which the threads of the last one stop waiting for work.
PAUSE = 0.3


def check_losses(losses: dict[str, tuple[float, float]]) -> None:
    """Compare each peer's losses, before training and after an epoch, with minipinet's."""
    for peer, found in losses.items():
        for k, (when, tolerance) in enumerate(SAME_LOSS.items()):
            expected, loss = losses["ours"][k], found[k]
            if not abs(loss - expected) <= tolerance * abs(expected):
                raise PeerError(f"{peer}: expected minipinet's loss {expected:.7g} {when}, got {loss:.7g}")


def measure(name: str, dataset: Any, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Check and time all peers on a data set."""
    path = folder / "problem.npz"
    write_problem(path, dataset)
    running: list[PeerProcess] = []
    losses: dict[str, tuple[float, float]] = {}
    times: dict[str, dict[str, list[float]]] = {}
    prepare: dict[str, float] = {}
    versions: dict[str, Any] = {}
    try:
        for peer in (*OURS, *options.peers):
            for threads in options.threads:
                log = options.output / f"{peer}.log"
                running.append(PeerProcess(peer, python_of(peer, options.envs), path, threads, log))
                before = running[-1].loss()
                running[-1].epochs(0)
                found = before, running[-1].loss()
                check_losses({"ours": losses.setdefault("ours", found), peer: found})
                losses[peer] = found
                prepare[peer], versions[peer] = running[-1].about["prepare_seconds"], running[-1].about["versions"]
                print(f"  {peer}, threads {threads}: loss {found[0]:.6f}, {found[1]:.6f} after an epoch", flush=True)
        for process in running:
            process.epochs(0)
        for k in range(options.rounds):
            turn = k % len(running)
            for process in running[turn:] + running[:turn]:
                time.sleep(PAUSE)
                seconds = process.epochs(options.least)["seconds"]
                times.setdefault(process.peer, {}).setdefault(str(process.threads), []).append(seconds)
            for process in [p for p in running if times[p.peer][str(p.threads)][-1] > options.limit]:
                process.close()
                running.remove(process)
    finally:
        for process in running:
            process.close()
    return {
        "graphs": len(dataset),
        "nodes": len(dataset.graphs.X),
        "features": dataset.num_features,
        "classes": dataset.num_classes,
        "seed": SEED,
        "losses": losses,
        "prepare_seconds": prepare,
        "seconds": times,
        "versions": versions,
    }


def machine() -> dict[str, Any]:
    """Return what the times depend on."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        processor = names[0] if names else processor
    return {
        "processor": processor,
        "processors": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }


def commit() -> str:
    """Return the commit that is measured, with a mark if files differ from it."""
    words = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench_peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=list(DATASETS), metavar="NAME")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS), metavar="NAME")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--least", type=float, default=0.5, help="seconds a turn lasts at least")
    parser.add_argument("--limit", type=float, default=20.0, help="a peer with longer epochs is timed once")
    parser.add_argument("--data-dir", type=Path, help="folder of TU zips (MUTAG and the isomorphism test need none)")
    parser.add_argument("--envs", type=Path, default=Path.home() / ".cache" / "minipinet" / "peers")
    parser.add_argument("--output", type=Path, default=Path("build/peers"))
    parser.add_argument("--show", type=Path, metavar="FILE", help="make table and plot of this results.json again")
    return parser.parse_args(words)


def write(results: dict[str, Any], output: Path) -> None:
    """Write the table and the plot of a run, and print the table."""
    text = f"{table(results)}\n{about(results)}\n"
    (output / "table.md").write_text(text, encoding="utf-8")
    plot(results, output / "ratios.svg")
    print(text)


def main() -> None:
    """Measure, and write what was found after each data set."""
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.show is not None:
        write(json.loads(options.show.read_text(encoding="utf-8")), options.output)
        return
    for framework in sorted({PEERS[peer] for peer in options.peers}):
        make_environment(framework, options.envs)
        assert is_made(framework, options.envs)
    words = sys.argv[1:]
    results: dict[str, Any] = {
        "machine": machine(), "commit": commit(), "date": time.strftime("%Y-%m-%d"),
        "command": [Path(word).name if Path(word).is_absolute() else word for word in words],
        "rounds": options.rounds, "least": options.least, "limit": options.limit, "batch_size": BATCH_SIZE,
        "versions": {}, "datasets": {},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name in options.datasets:
            print(name, flush=True)
            found = measure(name, load(name, options.data_dir), options, Path(folder))
            results["versions"].update(found.pop("versions"))
            results["datasets"][name] = found
            (options.output / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    write(results, options.output)


if __name__ == "__main__":
    try:
        main()
    except PeerError as error:
        sys.exit(f"bench_peers: {error}")
