"""Small data sets, arrays compared to the bit, and other processes: shared by the training tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from minipinet._array import Array
from minipinet.datasets import Dataset, dataset_from_graphs
from minipinet.graphs import Graph, as_graph

ROOT = Path(__file__).resolve().parent.parent


def random_graph(rng: np.random.Generator, density: float, N: int) -> Graph:
    """Return a graph of N nodes with two features, one constant and one binary."""
    upper = np.triu(rng.random((N, N)) < density, 1)
    X = np.column_stack([np.ones(N), rng.integers(0, 2, N)])
    return as_graph((upper | upper.T).astype(float), X)


def two_kinds(G: int = 24, seed: int = 0) -> Dataset:
    """Return G graphs, sparse ones and dense ones in turn, of class "sparse" and "dense"."""
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, (0.2, 0.7)[g % 2], int(rng.integers(5, 10))) for g in range(G)]
    return dataset_from_graphs(graphs, [("sparse", "dense")[g % 2] for g in range(G)], name="two kinds")


def random_labels(G: int = 100, seed: int = 0) -> Dataset:
    """Return G graphs with random features whose classes are drawn at random, half and half: nothing to learn."""
    rng = np.random.default_rng(seed)
    graphs = [as_graph(np.eye(4, k=1) + np.eye(4, k=-1), rng.standard_normal((4, 5))) for _ in range(G)]
    return dataset_from_graphs(graphs, rng.permutation(np.arange(G) % 2), name="random labels")


def subset(data: Dataset, index: Array) -> Dataset:
    """Return the data set of some of the graphs."""
    numbers: list[int] = index.tolist()
    return data[numbers]


def files(folder: Path) -> list[str]:
    """Return the names of everything below a folder, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def same_bits(a: Any, b: Any) -> bool:
    """Return whether two trees of arrays (or None) are equal in type, shape and every bit."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same_bits, a, b))
    return bool(a == b)


def without_seconds(history: tuple[Any, ...]) -> list[Any]:
    """Return the records with the one entry blanked that no rerun repeats."""
    return [record._replace(seconds=0.0) for record in history]


def python(code: str, *args: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run code in a new Python process, from the project's root, warnings being errors."""
    return subprocess.run(
        command(code, *args), cwd=ROOT, env=environment(), text=True, capture_output=True, check=check, timeout=120
    )


def command(code: str, *args: object) -> list[str]:
    """Return the command line that runs code with arguments in a new Python process."""
    return [sys.executable, "-W", "error", "-c", code, *map(str, args)]


def environment() -> dict[str, str]:
    """Return this process's environment with the project's root on the module path."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
