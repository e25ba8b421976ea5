"""Hypothesis strategies for graphs: every kind that breaks code is there by construction, nothing is filtered.

A kind is a way to draw one graph; KINDS lists them. `unions` draws one graph of each kind and joins them in an order
that is drawn too, so every example of every run holds a lone node, a graph without nodes, isolated nodes, loops, ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from minipinet.graphs import Graph, as_graph
from minipinet.union import DisjointUnion, disjoint_union

Matrix: TypeAlias = NDArray[np.float64]

#: Features lie in [-FEATURE_RANGE, FEATURE_RANGE], weights in WEIGHT_RANGE; both float32 numbers, so that a float32
#: model gets exactly the features that a float64 one gets.
FEATURE_RANGE = 4.0
WEIGHT_RANGE = (0.25, 4.0)


def floats(low: float, high: float, width: int = 32) -> st.SearchStrategy[float]:
    """Return floats in [low, high] that a float of `width` bits holds; no NaN, infinity or subnormal number."""
    return st.floats(low, high, width=width, allow_nan=False, allow_infinity=False, allow_subnormal=False)  # type: ignore[arg-type]


def features(N: int, d: int) -> st.SearchStrategy[Matrix]:
    """Return (N, d) features; half of the draws come from three values, so that rows are often equal."""
    drawn = floats(-FEATURE_RANGE, FEATURE_RANGE) | st.sampled_from([0.0, 1.0, -1.0])
    return st_numpy.arrays(np.float64, (N, d), elements=drawn)


@st.composite
def symmetric(draw: st.DrawFn, low: int = 2, high: int = 6) -> Matrix:
    """Draw a 0/1 matrix of low..high nodes, symmetric, without loops, with at least the edge 0-1."""
    N = draw(st.integers(low, high))
    upper = np.triu(draw(st_numpy.arrays(np.bool_, (N, N))), 1)
    upper[0, 1] = True
    return np.asarray(upper | upper.T, dtype=np.float64)


@st.composite
def weighted(draw: st.DrawFn) -> Matrix:
    """Draw a symmetric matrix of positive weights, not all of them 1."""
    A = draw(symmetric())
    weights = np.triu(draw(st_numpy.arrays(np.float64, A.shape, elements=floats(*WEIGHT_RANGE))), 1)
    weights[0, 1] = 2.5
    A *= weights + weights.T
    return A


@st.composite
def arcs(draw: st.DrawFn) -> Matrix:
    """Draw a 0/1 matrix in which the arc 0-1 has no reverse."""
    N = draw(st.integers(2, 6))
    A = draw(st_numpy.arrays(np.bool_, (N, N))).astype(np.float64)
    A[0, 1], A[1, 0] = 1.0, 0.0
    return A


@st.composite
def with_loops(draw: st.DrawFn) -> Matrix:
    """Draw a symmetric matrix with a loop on node 0, and perhaps more."""
    A = draw(symmetric())
    loops = draw(st_numpy.arrays(np.bool_, A.shape[0]))
    loops[0] = True
    return A + np.diag(loops.astype(np.float64))


def beside(A: Matrix, B: Matrix) -> Matrix:
    """Return both graphs side by side, nothing joined between them."""
    return np.block([[A, np.zeros((len(A), len(B)))], [np.zeros((len(B), len(A))), B]])


def cycle(N: int) -> Matrix:
    """Return a ring of N >= 3 nodes."""
    return np.roll(np.eye(N), 1, axis=1) + np.roll(np.eye(N), -1, axis=1)


def path(N: int) -> Matrix:
    """Return a path of N nodes."""
    return np.eye(N, k=1) + np.eye(N, k=-1)


KINDS: dict[str, st.SearchStrategy[Matrix]] = {
    "empty": st.just(np.zeros((0, 0))),
    "single": st.just(np.zeros((1, 1))),
    "edgeless": st.integers(2, 4).map(lambda N: np.zeros((N, N))),
    "isolated": st.builds(beside, symmetric(), st.integers(1, 2).map(lambda N: np.zeros((N, N)))),
    "disconnected": st.builds(beside, symmetric(high=4), symmetric(high=4)),
    "loops": with_loops(),
    "weights": weighted(),
    "directed": arcs(),
    "ties": st.integers(3, 6).map(cycle),  # all nodes alike: their features are made equal too
    "large": st.integers(40, 60).map(path),
}
UNDIRECTED = tuple(kind for kind in KINDS if kind != "directed")


@st.composite
def graphs(draw: st.DrawFn, kind: str, d: int = 2) -> Graph:
    """Draw one graph of a kind of KINDS, with d features."""
    A = draw(KINDS[kind])
    N = len(A)
    alike = kind in ("ties", "large")
    X = np.tile(draw(features(1, d)), (N, 1)) if alike else draw(features(N, d))
    order = np.arange(N) if alike else draw(permutations(N))  # the isolated node, the loop, ... may be anywhere
    return as_graph(A[np.ix_(order, order)], X, weighted=True, directed=True)


@st.composite
def graph_lists(draw: st.DrawFn, kinds: Sequence[str] = tuple(KINDS), d: int = 2) -> list[Graph]:
    """Draw one graph of each of `kinds`, in any order."""
    return [draw(graphs(kind, d)) for kind in draw(st.permutations(kinds))]


def unions(kinds: Sequence[str] = tuple(KINDS), d: int = 2) -> st.SearchStrategy[DisjointUnion]:
    """Return unions of one graph of each of `kinds`."""
    return graph_lists(kinds, d).map(disjoint_union)


def permutations(N: int) -> st.SearchStrategy[NDArray[np.int64]]:
    """Return permutations of 0..N-1."""
    return st.permutations(range(N)).map(lambda order: np.array(order, dtype=np.int64))


@st.composite
def permuted_unions(
    draw: st.DrawFn, kinds: Sequence[str] = tuple(KINDS), d: int = 2
) -> tuple[DisjointUnion, NDArray[np.int64]]:
    """Draw a union and a permutation of its nodes that leaves every node in its graph."""
    union = draw(unions(kinds, d))
    starts = union.ptr.tolist()
    parts = [draw(permutations(j - i)) + i for i, j in pairwise(starts)]
    return union, np.concatenate(parts)


def is_kind(kind: str, graph: Graph) -> bool:
    """Tell from the graph itself, not from how it was drawn, whether it is of the kind."""
    A, N = graph.A.toarray(), graph.N
    tests: dict[str, Callable[[], Any]] = {
        "empty": lambda: N == 0,
        "single": lambda: N == 1 and not A.any(),
        "edgeless": lambda: N > 1 and not A.any(),
        "isolated": lambda: A.any() and (graph.deg == 0).any(),
        "disconnected": lambda: (np.bincount(connected_components(graph.A)[1]) > 1).sum() > 1,
        "loops": lambda: A.trace() > 0,
        "weights": lambda: (A[A > 0] != 1).any(),
        "directed": lambda: (A != A.T).any(),
        "ties": lambda: N > 1 and (graph.deg == graph.deg[0]).all() and (graph.X[0] == graph.X).all(),
        "large": lambda: N >= 40,
    }
    return bool(tests[kind]())
