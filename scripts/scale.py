"""How time and memory grow with the number of nodes, edges, graphs and features.

    python scripts/scale.py [--series nodes graph edges features graphs] [--most 1e7] [--output docs/results/scale.csv]
    python scripts/scale.py --show docs/results/scale.csv   # table and plot of what is there

Random graphs with random labels, in which hardly two nodes are alike: nothing is merged, which is the worst case. Each
point is a process of its own, one BLAS thread: it writes a TU zip, then loads it, refines it, and trains on a batch. It
gives the seconds of processor time of each (of a training step, building its batch included, the median of several) and
the most memory it held by then. Rows are written as they come, and points that are there are not measured again.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet.datasets import load_dataset
from minipinet.fast.training import adam_step, compiled_form, loss_backward, loss_forward, make_fast_batches
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.quotient import refine

RESULTS = Path(__file__).parents[1] / "docs" / "results"
STEPS = 5


class Point(NamedTuple):
    """A set to make: graphs of equal size, and how many of them are in a batch."""

    series: str
    graphs: int
    nodes: int  #: of a graph
    edges: int  #: of a graph
    features: int
    batch: int


class Row(NamedTuple):
    """A point and what it took."""

    series: str
    graphs: int
    nodes: int
    edges: int
    features: int
    batch: int
    load: float  #: seconds of processor time
    refine: float
    step: float
    load_mb: float  #: most memory held by the end of it, less what the process held at its start
    refine_mb: float
    step_mb: float


def points(series: str, most: float) -> list[Point]:
    """Return the points of a series, of at most `most` nodes in all and edges of a graph."""
    steps = [10**k * m for k in range(2, 8) for m in (1, 3)]
    found = {
        "nodes": [Point("nodes", n // 25, 25, 50, 8, 32) for n in steps if n >= 10_000],
        "graph": [Point("graph", 1, n, 4 * n, 8, 1) for n in steps if 1000 <= n <= 1_000_000],
        "edges": [Point("edges", 1, 100_000, m, 8, 1) for m in steps if 100_000 <= m <= 3_000_000],
        "features": [Point("features", 1000, 25, 50, d, 32) for d in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)],
        "graphs": [Point("graphs", 10_000, 25, 50, 8, B) for B in (10, 30, 100, 300, 1000, 3000, 10_000)],
    }[series]
    return [p for p in found if p.graphs * max(p.nodes, p.edges if p.graphs == 1 else 0) <= most]


def write_set(point: Point, path: Path, rng: np.random.Generator) -> None:
    """Write a random set in the TU format."""
    G, n, m, d = point.graphs, point.nodes, point.edges, point.features
    first = np.repeat(np.arange(G) * n, m) + 1
    i, j = (first + rng.integers(0, n, G * m) for _ in range(2))
    files = {
        "A": zip(i.tolist(), j.tolist(), strict=True),
        "graph_indicator": zip(np.repeat(np.arange(G) + 1, n).tolist(), strict=True),
        "graph_labels": zip((np.arange(G) % 2).tolist(), strict=True),
        # Every label at least once, so that there are d features.
        "node_labels": zip(np.append(np.arange(d), rng.integers(0, d, G * n - d)).tolist(), strict=True),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for role, rows in files.items():
            with archive.open(f"SET/SET_{role}.txt", "w", force_zip64=True) as file:
                line = "%d, %d\n" if role == "A" else "%d\n"
                buffer: list[str] = []
                for row in rows:
                    buffer.append(line % row)
                    if len(buffer) == 100_000:
                        file.write("".join(buffer).encode())
                        buffer.clear()
                file.write("".join(buffer).encode())


def megabytes() -> float:
    """Return the most memory this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of a new process starts at what its parent held
        held = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(held.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(point: Point, path: Path) -> Row:
    """Load, refine and train on a set that was written."""
    start, used, taken, held = time.process_time(), megabytes(), [], []

    def lap() -> None:
        nonlocal start
        taken.append(time.process_time() - start)
        held.append(megabytes() - used)
        start = time.process_time()

    dataset = load_dataset(path)
    lap()
    quotient = refine(dataset.graphs)
    y, classes, d = dataset.y, 2, dataset.num_features
    del dataset
    lap()
    rng = np.random.default_rng(0)
    params, seconds = init_params(rng, d, classes), []
    adam = adam_init(params)
    for _ in range(STEPS):
        began = time.process_time()
        index = rng.integers(0, len(y), point.batch) if point.batch < len(y) else np.arange(len(y))
        batch = next(make_fast_batches(quotient, index, point.batch))
        params, adam = adam_step(params, loss_backward(1.0, loss_forward(params, batch, y[index])[1]), adam)
        seconds.append(time.process_time() - began)
    lap()
    return Row(*point, *taken[:2], float(np.median(seconds)), *held)


def run_point(point: Point) -> Row:
    """Measure in a process of its own; what it held is what this point took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "SET.zip"
        write_set(point, path, np.random.default_rng(0))
        command = [sys.executable, __file__, "--point", json.dumps(point), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{point}: {done.stderr}")
    return Row(*json.loads(done.stdout))


def read_rows(path: Path) -> list[Row]:
    """Read what was measured before."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [Row(row[0], *map(int, row[1:6]), *map(float, row[6:])) for row in list(csv.reader(file))[1:]]


def size(row: Row) -> int:
    """Return what a series varies."""
    per_graph = {"graph": row.nodes, "edges": row.edges, "features": row.features, "graphs": row.batch}
    return per_graph.get(row.series, row.graphs * row.nodes)


AXES = {
    "nodes": "nodes in all, graphs of 25; batches of 32 graphs",
    "graph": "nodes of one graph, with four times as many edges",
    "edges": "edges of one graph of 100 000 nodes",
    "features": "features of a node; batches of 32 graphs of 25 nodes",
    "graphs": "graphs of 25 nodes in a batch",
}


def table(rows: list[Row]) -> list[str]:
    """Return a Markdown table of each series."""
    lines = []
    for series, what in AXES.items():
        chosen = sorted((row for row in rows if row.series == series), key=size)
        if chosen:
            lines += [f"## By {what}", "", "| " + series + " | load, s | refine, s | a step, ms | after loading, MB "
                      "| after refining, MB | after training, MB |", "|---|---|---|---|---|---|---|"]  # fmt: skip
            for row in chosen:
                cells = [f"{size(row):,}", f"{row.load:.2f}", f"{row.refine:.2f}", f"{1e3 * row.step:.2f}"]
                cells += [f"{mb:,.0f}" for mb in row[-3:]]
                lines.append("| " + " | ".join(cells) + " |")
            lines.append("")
    return lines


def draw(rows: list[Row], path: Path) -> None:
    """Plot each series on logarithmic axes, with a line of slope 1 to compare."""
    from matplotlib.figure import Figure

    present = [name for name in AXES if any(row.series == name for row in rows)]
    figure = Figure(figsize=(4.2 * len(present), 6.4), layout="constrained")
    axes: Any = figure.subplots(2, len(present), squeeze=False, sharex="col")
    kinds = (("load", "load_mb", "o"), ("refine", "refine_mb", "s"), ("step", "step_mb", "^"))
    for column, name in enumerate(present):
        chosen = sorted((row for row in rows if row.series == name), key=size)
        x = np.array([size(row) for row in chosen], float)
        for what, held, marker in kinds:
            label = {"load": "loading", "refine": "refining", "step": "a training step"}[what]
            axes[0, column].loglog(x, [getattr(row, what) for row in chosen], marker=marker, label=label)
            axes[1, column].loglog(x, [max(getattr(row, held), 1) for row in chosen], marker=marker, label=label)
        for row, values in enumerate(([r.step for r in chosen], [r.step_mb for r in chosen])):
            axes[row, column].loglog(x, values[-1] * x / x[-1], color="0.7", linestyle=":", label="slope 1", zorder=0)
            axes[row, column].grid(visible=True, color="0.9")
        axes[1, column].set_xlabel(AXES[name].split(";")[0], fontsize=9)
    axes[0, 0].set_ylabel("processor time, s")
    axes[1, 0].set_ylabel("most memory by then, MB")
    axes[0, 0].legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Measure what is missing, and show everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", nargs="+", choices=list(AXES), default=list(AXES), metavar="NAME")
    parser.add_argument("--most", type=float, default=1e7, help="most nodes in all, and most edges of a graph")
    parser.add_argument("--output", type=Path, default=RESULTS / "scale.csv")
    parser.add_argument("--show", type=Path, metavar="FILE", help="only make table and plot of this file again")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        with threadpool_limits(1):
            print(json.dumps(measure(Point(*json.loads(options.point[0])), Path(options.point[1]))))
        return 0
    output: Path = options.show or options.output
    rows = read_rows(output)
    for point in [] if options.show else [p for name in options.series for p in points(name, options.most)]:
        if point not in {Point(*row[:6]) for row in rows}:
            rows.append(run_point(point))
            print(rows[-1], flush=True)
            with output.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([Row._fields, *rows])
    machine = (
        f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{'in NumPy' if compiled_form() is None else 'compiled'}, one BLAS thread, float32"
    )
    title = ["# How time and memory grow", "", f"`python scripts/scale.py`, {machine}; processor time.", ""]
    output.with_suffix(".md").write_text("\n".join(title + table(rows)), encoding="utf-8")
    draw(rows, output.with_suffix(".svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
