"""What the times of a run say: ratios round by round, a Markdown table, a plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from environments import PEERS, TITLES

Results = Mapping[str, Any]


class Row(NamedTuple):
    """A peer on a data set, both sides with the number of threads that suits them better."""

    peer: str
    threads: int
    ms: float  #: median of an epoch
    ratio: float  #: median over the rounds of its time by minipinet's in the same round
    once: bool  #: timed in the first round alone


def better_threads(seconds: Mapping[str, list[float]]) -> str:
    """Return the number of threads with the lower median.

    >>> better_threads({"1": [2.0, 3.0, 9.0], "2": [4.0, 4.0, 1.0]})
    '1'
    """
    return min(seconds, key=lambda threads: (median(seconds[threads]), int(threads)))


def paired_ratio(peer: list[float], ours: list[float]) -> float:
    """Return the median of the ratios of the rounds that both took part in, the first ones.

    >>> paired_ratio([4.0, 9.0, 8.0], [2.0, 3.0, 1.0])
    3.0
    >>> paired_ratio([40.0], [2.0, 3.0, 1.0])
    20.0
    """
    return median(theirs / own for theirs, own in zip(peer, ours, strict=False))


def rows(results: Results, dataset: str) -> list[Row]:
    """Return minipinet's row and those of the peers, in the order of the table."""
    times = results["datasets"][dataset]["seconds"]
    own = times["ours"][better_threads(times["ours"])]
    found = []
    for peer in sorted(times, key=list(TITLES).index):
        threads = better_threads(times[peer])
        taken = times[peer][threads]
        once = len(taken) < len(own)
        found.append(Row(peer, int(threads), 1e3 * median(taken), paired_ratio(taken, own), once))
    return found


def table(results: Results) -> str:
    """Return the Markdown table: milliseconds an epoch, and how many times as long as minipinet."""
    peers = [p for p in TITLES if any(p in one["seconds"] for one in results["datasets"].values())]
    peers.remove("ours")
    lines = [
        f"| data set | {TITLES['ours']} | " + " | ".join(TITLES[p] for p in peers) + " |",
        "|---" * (2 + len(peers)) + "|",
    ]
    for dataset in results["datasets"]:
        found = {row.peer: row for row in rows(results, dataset)}
        own = found["ours"]
        least = min((found[p].ratio for p in peers if p in found and p in PEERS), default=None)
        cells = [f"{_number(own.ms)} ({own.threads})"]
        for peer in peers:
            if peer not in found:
                cells.append("–")
                continue
            _, threads, ms, ratio, once = found[peer]
            text = f"{_number(ratio)}×"
            text = f"**{text}**" if ratio == least else text
            cells.append(f"{text}, {_number(ms)} ({threads}{', once' if once else ''})")
        lines.append(f"| {dataset} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """Three digits, no more than are needed above 100: 3.27, 32.7, 327, 3270."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def about(results: Results) -> str:
    """Return the line below the table: machine, versions, commit, settings."""
    machine, versions = results["machine"], results["versions"]
    named: dict[str, str] = {}
    for one in versions.values():
        named.update(one)
    packages = ", ".join(f"{name} {version}" for name, version in sorted(named.items()) if name != "minipinet")
    return (
        f"{machine['processor']}, {machine['processors']} processors, {machine['system']}, Python {machine['python']}; "
        f"{packages}; minipinet at {results['commit']}. Float32, batches of {results['batch_size']}, Adam, "
        f"{results['rounds']} rounds, {results['date']}. In brackets the number of threads."
    )


def plot(results: Results, path: Path) -> bool:
    """Draw the ratios, a line of points a data set; False if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator, NullFormatter
    except ImportError:
        return False
    datasets = list(results["datasets"])
    figure = Figure(figsize=(7.5, 1.2 + 0.5 * len(datasets)), layout="constrained")
    axes = figure.subplots()
    styles = dict(zip(list(TITLES)[1:], ("*", "o", "s", "^", "v", "D"), strict=True))
    for peer, marker in styles.items():
        points = [(row.ratio, k) for k, name in enumerate(datasets) for row in rows(results, name) if row.peer == peer]
        if points:
            axes.plot(*zip(*points, strict=True), marker, label=TITLES[peer])
    axes.axvline(1, color="0.4", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(-0.5, len(datasets) - 0.5)
    axes.set_yticks(range(len(datasets)), datasets)
    axes.invert_yaxis()
    axes.set_xlabel("time of an epoch / minipinet's")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path)
    return True
