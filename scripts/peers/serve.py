"""The side of the benchmark that trains: answers a line of JSON for each line it is asked.

    python FRAMEWORK.py PROBLEM.npz THREADS [cpu|cuda]

It runs in the environment of its framework and needs NumPy beside it. The first line it says is about itself; then it
is asked for "loss", that of the current weights on the first batch, or for "epochs SECONDS": one epoch from the initial
weights, and more until so many seconds have gone by. Starting anew keeps all peers in the same stretch of training.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

Arrays = Mapping[str, np.ndarray]


class Peer(Protocol):
    """A network in some framework, with the graphs and the weights of the problem."""

    def loss(self) -> float:
        """Return the mean cross-entropy in nats of the current weights on the first batch of the first epoch."""

    def restart(self) -> None:
        """Go back to the initial weights and Adam's first step."""

    def epoch(self, order: np.ndarray) -> float:
        """Train on the graphs in this order, and return the mean loss over them, each taken before its step."""


def serve(build: Callable[[Arrays, int], Peer], packages: list[str]) -> None:
    """Build the peer of the problem named on the command line, and answer until there are no more lines."""
    path, threads = sys.argv[1], int(sys.argv[2])
    # Libraries print what they like; that goes to standard error.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with np.load(path) as file:
        arrays = dict(file)
    began = time.perf_counter()
    peer = build(arrays, threads)
    prepared = time.perf_counter() - began
    answer: dict[str, Any] = {"prepare_seconds": prepared, "versions": {name: version(name) for name in packages}}
    print(json.dumps(answer), file=channel, flush=True)
    for line in sys.stdin:
        word, _, least = line.partition(" ")
        if word.strip() == "loss":
            answer = {"loss": float(peer.loss())}
        else:
            peer.restart()
            epochs, loss, began = 0, 0.0, time.perf_counter()
            while (seconds := time.perf_counter() - began) < float(least) or not epochs:
                loss = float(peer.epoch(arrays["orders"][epochs % len(arrays["orders"])]))
                epochs += 1
            answer = {"seconds": seconds / epochs, "epochs": epochs, "loss": loss}
        print(json.dumps(answer), file=channel, flush=True)


def device() -> str:
    """Return where the peer is to compute: "cpu", or "cuda" for those that can."""
    return sys.argv[3] if len(sys.argv) > 3 else "cpu"


def batches(order: np.ndarray, size: int) -> list[np.ndarray]:
    """Cut an order into batches of `size`, the last one maybe shorter."""
    return [order[at : at + size] for at in range(0, len(order), size)]


def coo(arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, column and weight of each entry of the adjacency matrix of all graphs."""
    indptr = arrays["indptr"]
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), arrays["indices"], arrays["weight"]


def union(arrays: Arrays, graphs: np.ndarray) -> dict[str, np.ndarray]:
    """Return some graphs as one, with its nodes from 0: features, degrees, entries of A, each node's graph, classes."""
    ptr, indptr = arrays["ptr"], arrays["indptr"]
    sizes = np.diff(ptr)[graphs]
    first = np.cumsum(sizes) - sizes
    nodes = np.arange(sizes.sum()) + np.repeat(ptr[graphs] - first, sizes)
    degree = np.diff(indptr)[nodes]
    entry = np.arange(degree.sum()) + np.repeat(indptr[nodes] - (np.cumsum(degree) - degree), degree)
    row = np.repeat(np.arange(len(nodes)), degree)
    graph = np.repeat(np.arange(len(graphs)), sizes)
    column = arrays["indices"][entry] - (ptr[graphs] - first)[graph[row]]
    weight = arrays["weight"][entry]
    return {
        "X": arrays["X"][nodes],
        "deg": np.bincount(row, weight, len(nodes)).astype(np.float32),
        "row": row,
        "column": column,
        "weight": weight,
        "graph": graph,
        "place": np.arange(len(nodes)) - first[graph],
        "y": arrays["y"][graphs],
    }


def padded(arrays: Arrays, graphs: np.ndarray, N: int) -> dict[str, np.ndarray]:
    """Return some graphs as dense matrices of N nodes: A (B, N, N), X (B, N, d), mask (B, N), classes (B,)."""
    one = union(arrays, graphs)
    graph, place, row = one["graph"], one["place"], one["row"]
    A = np.zeros((len(graphs), N, N), np.float32)
    A[graph[row], place[row], place[one["column"]]] = one["weight"]
    X = np.zeros((len(graphs), N, one["X"].shape[1]), np.float32)
    X[graph, place] = one["X"]
    mask = np.zeros((len(graphs), N), np.float32)
    mask[graph, place] = 1
    return {"A": A, "X": X, "mask": mask, "y": one["y"]}
