"""The paper's isomorphism test: classes of permuted copies of graphs that share one degree sequence."""

from __future__ import annotations

import operator
from itertools import combinations
from numbers import Real

import numpy as np

from minipinet.adjacency import build_adjacency
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import FeatureEncoder, fit_encoder
from minipinet.datasets.realisations import Adjacency, draw_classes, draw_connected, refine_colours
from minipinet.errors import UsageError, notify
from minipinet.union import DisjointUnion


def isomorphism_dataset(
    rng: int | np.random.Generator,
    *,
    N: int = 50,
    C: int = 5,
    graphs_per_class: int = 100,
    p: float = 0.15,
    features: str = "random",
) -> Dataset:
    """Generate the data set of the paper's isomorphism test.

    One connected random graph gives the degree sequence. Each class is one connected simple graph with these degrees,
    drawn at random, and its members are copies of that graph with the nodes permuted. No two classes are
    isomorphic, even without their labels.

    What a message-passing model can tell apart is what colour refinement (Weisfeiler-Leman) can. At the paper's
    size, refinement gives (nearly) every node a colour of its own, so all variants can be solved; with random labels
    the label counts alone usually give the classes away. Where refinement sees no difference (regular graphs, say), a
    :class:`~minipinet.errors.Notice` names the classes.

    Parameters
    ----------
    rng : int or Generator
        Seed or source of all randomness; the same seed gives the same A for every choice of `features`.
    N : int
        Nodes of each graph, at least 1.
    C : int
        Number of classes, at least 1.
    graphs_per_class : int
        At least 1.
    p : float
        Edge probability of the first graph, 0..1.
    features : {"random", "balanced", "constant", "degree"}
        ``"random"``: each class has random binary node labels, permuted with its nodes (the authors' code means to, but
        gives four of its five classes the same ones: docs/isomorphism.md).
        ``"balanced"``: the same, but with floor(N / 2) ones in each class, so that counts say nothing.
        ``"constant"``: 1 everywhere. ``"degree"``: one-hot degrees.

    Returns
    -------
    Dataset
        C * graphs_per_class graphs, class after class. O(C N^2) to draw the classes, O(size) to copy them.

    Raises
    ------
    UsageError
        If an argument is out of its range, no connected graph turns up, or the degree sequence has too few different
        graphs for C classes.

    Examples
    --------
    >>> ds = isomorphism_dataset(0, N=12, C=3, graphs_per_class=4, p=0.4)
    >>> ds
    Dataset(isomorphism: 12 graphs, 3 classes (0: 4, 1: 4, 2: 4), 2 features from labels)

    Source
    ------
    Algorithm 1 (Graph Dataset Generation). The paper does not say how to draw a graph with given degrees: see
    :func:`minipinet.datasets.realisations.draw_realisation`.
    """
    try:
        rng = np.random.default_rng(operator.index(rng) if not isinstance(rng, np.random.Generator) else rng)
    except (TypeError, ValueError) as error:
        raise UsageError(f"rng: expected a whole number, 0 or more, or a numpy Generator, got {rng!r:.80}") from error
    for name, value in (("N", N), ("C", C), ("graphs_per_class", graphs_per_class)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise UsageError(f"{name}: expected a whole number, 1 or more, got {value!r}")
    if not (isinstance(p, Real) and 0 <= p <= 1):
        raise UsageError(f"p: expected a probability, 0..1, got {p!r}")
    if features not in ("random", "balanced", "constant", "degree"):
        raise UsageError(f"features: expected 'random', 'balanced', 'constant' or 'degree', got {features!r}")

    prototypes = draw_classes(rng, draw_connected(rng, N, p), C)
    G = C * graphs_per_class
    y = np.repeat(np.arange(C), graphs_per_class)
    # Node i of its prototype is node place[g, i] of graph g.
    place = rng.permuted(np.tile(np.arange(N), (G, 1)), axis=1)
    edges = np.array([np.argwhere(np.triu(prototype)) for prototype in prototypes])  # as many in each class
    rows, cols = (
        np.take_along_axis(place, ends, axis=1) + N * np.arange(G)[:, None] for ends in edges[y].transpose(2, 0, 1)
    )
    A = build_adjacency(rows.ravel(), cols.ravel(), np.ones(rows.size), G * N).A

    deg = np.asarray(A.sum(axis=1))
    ones = node_labels = None
    if features in ("random", "balanced"):
        ones = rng.random((C, N)) < 0.5 if features == "random" else _shuffled_halves(rng, C, N)
        node_labels = np.empty((G, N), dtype=np.int64)
        np.put_along_axis(node_labels, place, ones[y].astype(np.int64), axis=1)
        node_labels = node_labels.reshape(-1, 1)
        encoder = FeatureEncoder("labels", ((0, 1),))  # both columns, also if chance drew one label alone
    else:
        encoder = fit_encoder(features, None, None, deg)
    X = encoder.encode(node_labels, None, deg)
    union = DisjointUnion(A, X, N * np.arange(G + 1))
    notices = _unseen_differences(prototypes, ones)
    for text in notices:
        notify(text)
    return Dataset("isomorphism", union, y, tuple(range(C)), encoder, notices, node_labels)


def _unseen_differences(prototypes: list[Adjacency], labels: Adjacency | None) -> tuple[str, ...]:
    histograms = np.sort(refine_colours(prototypes, labels), axis=1)
    same = [(c, e) for c, e in combinations(range(len(prototypes)), 2) if np.array_equal(histograms[c], histograms[e])]
    if not same:
        return ()
    pairs = ", ".join(f"{c} and {e}" for c, e in same)
    return (f"isomorphism: colour refinement cannot tell these classes apart, so no message passing can: {pairs}",)


def _shuffled_halves(rng: np.random.Generator, C: int, N: int) -> Adjacency:
    return rng.permuted(np.tile(np.arange(N) < N // 2, (C, 1)), axis=1)
