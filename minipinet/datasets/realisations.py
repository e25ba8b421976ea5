"""Random connected graphs with given degrees, and whether two graphs are the same but for the order of their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from minipinet.errors import UsageError

Adjacency = NDArray[np.bool_]  # of one graph, dense and symmetric

#: Swaps proposed for each edge: each edge is moved dozens of times, after which nothing of the start is left.
_SWAPS_PER_EDGE = 30
#: Graphs drawn, for the seed and for each class, before giving up.
_TRIES = 200


def draw_realisation(rng: np.random.Generator, A: Adjacency) -> Adjacency:
    """Draw a connected simple graph with the same degrees as a given one.

    Pairs of edges (u, v), (x, y) drawn at random become (u, x), (v, y), unless this would make a loop, a repeated
    edge or a graph that is not connected; a refused swap counts as a step. Every step is as likely as its
    reverse, and such swaps lead from each connected graph with these degrees to each other one (Taylor 1981), so all of
    them are equally likely in the long run.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    A : ndarray of shape (N, N), bool
        Symmetric, no loops, connected.

    Returns
    -------
    ndarray of shape (N, N), bool
        A new array; 30 swaps proposed for each edge.

    Source
    ------
    Taylor, Constrained switchings in graphs (1981); Viger and Latapy, Efficient and simple generation of random simple
    connected graphs with prescribed degree sequence (2005).
    """
    edges = np.argwhere(np.triu(A)).tolist()
    # Neighbours as the bits of an integer: a step costs a few machine operations.
    neighbours = [sum(1 << j for j in np.flatnonzero(row).tolist()) for row in A]
    steps = _SWAPS_PER_EDGE * len(edges)
    pairs = rng.integers(len(edges), size=(steps, 2)).tolist() if edges else []
    for (j, k), turned in zip(pairs, (rng.random(steps) < 0.5).tolist(), strict=True):
        (u, v), (x, y) = edges[j], edges[k][::-1] if turned else edges[k]
        if len({u, v, x, y}) < 4 or neighbours[u] >> x & 1 or neighbours[v] >> y & 1:
            continue
        _swap(neighbours, u, v, x, y)
        if _reaches(neighbours, u, (1 << v) | (1 << x) | (1 << y)):
            edges[j], edges[k] = [u, x], [v, y]
        else:
            _swap(neighbours, u, x, v, y)
    drawn = np.zeros_like(A)
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    drawn[ends[:, 0], ends[:, 1]] = drawn[ends[:, 1], ends[:, 0]] = True
    return drawn


def _swap(neighbours: list[int], u: int, v: int, x: int, y: int) -> None:
    """Turn the edges (u, v), (x, y) into (u, x), (v, y)."""
    neighbours[u] ^= (1 << v) | (1 << x)
    neighbours[v] ^= (1 << u) | (1 << y)
    neighbours[x] ^= (1 << y) | (1 << u)
    neighbours[y] ^= (1 << x) | (1 << v)


def _reaches(neighbours: list[int], start: int, goal: int) -> bool:
    """Return whether all nodes of `goal` (bits) can be reached: enough after a swap, which cuts nothing else off."""
    seen = frontier = 1 << start
    while frontier and goal & ~seen:
        node = (frontier & -frontier).bit_length() - 1
        found = neighbours[node] & ~seen
        seen |= found
        frontier = (frontier & (frontier - 1)) | found
    return not goal & ~seen


def draw_connected(rng: np.random.Generator, N: int, p: float) -> Adjacency:
    """Draw random graphs G(N, p) until one is connected."""
    for _ in range(_TRIES):
        upper = np.triu(rng.random((N, N)) < p, 1)
        if connected_components(upper, directed=False)[0] == 1:
            return upper | upper.T
    raise UsageError(f"p: no connected graph in {_TRIES} tries with N={N} and p={p}; expected a larger p or N")


def draw_classes(rng: np.random.Generator, seed_graph: Adjacency, C: int) -> list[Adjacency]:
    """Draw C connected graphs with the degrees of `seed_graph`, no two isomorphic."""
    found: list[Adjacency] = []
    for _ in range(_TRIES * C):
        drawn = draw_realisation(rng, seed_graph)
        if not any(isomorphic(drawn, other) for other in found):
            found.append(drawn)
        if len(found) == C:
            return found
    raise UsageError(
        f"C: expected at most {len(found)} classes: no more different connected graphs with this degree sequence "
        f"turned up in {_TRIES * C} draws; expected a larger N, a p nearer 0.5, or a smaller C than {C}"
    )


def isomorphic(A: Adjacency, B: Adjacency) -> bool:
    """Return whether two graphs of equally many nodes are the same but for the order of their nodes; exact."""
    colours = refine_colours([A, B], None)
    if not np.array_equal(np.sort(colours[0]), np.sort(colours[1])):
        return False  # the exact search is slow only where refinement sees nothing
    import networkx as nx

    return bool(nx.vf2pp_is_isomorphic(nx.from_numpy_array(A), nx.from_numpy_array(B)))


def refine_colours(graphs: list[Adjacency], labels: NDArray[Any] | None) -> NDArray[np.intp]:
    """Return the stable colours of graphs of N nodes each, shape (len(graphs), N), comparable across the graphs."""
    A = np.array(graphs, dtype=np.int64)
    first = np.zeros(A.shape[:2]) if labels is None else labels
    k, colours = 0, np.unique(first, return_inverse=True)[1].reshape(first.shape)
    while k <= colours.max():  # until a round adds no colour
        k = int(colours.max()) + 1
        counts = A @ np.eye(k, dtype=np.int64)[colours]  # neighbours of each colour
        rows = np.concatenate([colours[:, :, None], counts], axis=2).reshape(-1, k + 1)
        colours = np.unique(rows, axis=0, return_inverse=True)[1].reshape(first.shape)
    return colours
