"""Receptive fields: the nodes of a graph as a table of fixed size, for a convolution to read (PATCHY-SAN)."""

from __future__ import annotations

from itertools import pairwise

import networkx
import numpy as np
from scipy.sparse import csr_array

from minipinet._array import Array, Sparse
from minipinet.baselines.canonical import canonical_order
from minipinet.errors import UsageError
from minipinet.union import DisjointUnion, graph_at

#: How nodes are ranked: by betweenness centrality, the most central first, or by nauty's canonical labelling alone.
LABELLINGS = ("betweenness", "nauty")

#: Centralities closer than this, relative to the largest, are equal: rounding makes 1e-15, others differ by far more.
SAME_CENTRALITY = 1e-9


def rank_nodes(A: Sparse, X: Array, labelling: str) -> Array:
    """Order the nodes of a graph by a labelling; ties by feature row, then by the canonical labelling.

    Parameters
    ----------
    A : csr_array of shape (N, N), symmetric
    X : ndarray of shape (N, d)
        Features: nodes with different rows are never exchanged. Rows are compared from the left, the smaller first.
    labelling : {"betweenness", "nauty"}
        ``"betweenness"``: the node on the most shortest paths first. ``"nauty"``: the smallest feature row first.

    Returns
    -------
    ndarray of shape (N,), int64
        The node of each rank, the first rank first. What is read off the graph in this order does not depend on how
        its nodes are numbered: nodes that are still tied are exchanged by an automorphism.

    Raises
    ------
    UsageError
        For another labelling, and without pynauty.

    Notes
    -----
    O(N nnz(A)) for the centrality, in networkx.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("pynauty")
    >>> from minipinet.graphs import as_graph
    >>> star = as_graph([[0, 0, 1], [0, 0, 1], [1, 1, 0]], [2, 1, 3])
    >>> rank_nodes(star.A, star.X, "betweenness").tolist(), rank_nodes(star.A, star.X, "nauty").tolist()
    ([2, 1, 0], [1, 0, 2])
    """
    if labelling not in LABELLINGS:
        raise UsageError(f"labelling: expected one of {', '.join(map(repr, LABELLINGS))}, got {labelling!r}")
    if labelling == "nauty":
        return canonical_order(A, X)
    return canonical_order(A, np.column_stack([-_levels(betweenness(A)), X]))


def betweenness(A: Sparse) -> Array:
    """Return the share of shortest paths between others that run through each node, not normalised, (N,) float64.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> betweenness(as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).A).tolist()
    [0.0, 1.0, 0.0]
    """
    graph = networkx.Graph()
    graph.add_nodes_from(range(A.shape[0]))
    graph.add_edges_from(zip(*map(np.ndarray.tolist, A.nonzero()), strict=True))
    return np.array(list(networkx.betweenness_centrality(graph, normalized=False).values()), np.float64)


def assemble_fields(A: Sparse, order: Array, width: int, size: int) -> Array:
    """Make the receptive fields of the first `width` nodes of an order.

    A field is its root, then the neighbours of the root, then theirs, ..., each ring in the order given, cut off after
    `size` nodes.

    Parameters
    ----------
    A : csr_array of shape (N, N)
    order : ndarray of shape (N,), int
        The node of each rank.
    width, size : int
        Number of fields, and of nodes in a field; 1 or more.

    Returns
    -------
    ndarray of shape (width, size), int64
        Nodes; -1 where there is none: fewer than `width` nodes, or fewer than `size` within reach.

    Notes
    -----
    The first columns are the fields of a smaller size, and the first rows those of a smaller width.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> path = as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> assemble_fields(path.A, np.array([1, 2, 0]), width=4, size=2).tolist()
    [[1, 2], [2, 1], [0, 1], [-1, -1]]

    Source
    ------
    Niepert, Ahmed and Kutzkov, "Learning Convolutional Neural Networks for Graphs", ICML 2016, algorithms 1 to 4 with
    stride 1. Their normalisation of a field ranks its nodes by distance from the root and breaks ties by the labelling;
    a canonical labelling of the field decides between the nodes that are still tied. Here that of the whole graph does.
    """
    ranked = csr_array(A[order][:, order])
    indptr, indices = ranked.indptr.tolist(), ranked.indices.tolist()
    neighbours = [indices[i:j] for i, j in pairwise(indptr)]
    fields = np.full((width, size), -1, np.int64)
    for root in range(min(width, len(order))):
        field, ring = [root], {root}
        while ring and len(field) < size:
            ring = {j for i in ring for j in neighbours[i]}.difference(field)
            field += sorted(ring)
        field = field[:size]
        fields[root, : len(field)] = order[field]
    return fields


def receptive_fields(graphs: DisjointUnion, labelling: str, width: int, size: int) -> Array:
    """Make the receptive fields of many graphs.

    Parameters
    ----------
    graphs : DisjointUnion
        B graphs, N nodes in all, with the features X that ties are broken by; edges count in both directions.
    labelling, width, size
        As for :func:`rank_nodes` and :func:`assemble_fields`.

    Returns
    -------
    ndarray of shape (B, width, size), int64
        Rows of X; N where there is no node, for a row of zeros below X.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("pynauty")
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.union import disjoint_union
    >>> union = disjoint_union([as_graph([[0]]), as_graph([[0, 1], [1, 0]], [1, 2])])
    >>> receptive_fields(union, "nauty", width=2, size=2).tolist()
    [[[0, 3], [3, 3]], [[1, 2], [2, 1]]]
    """
    N = len(graphs.X)
    fields = []
    for g, first in enumerate(graphs.ptr[:-1]):
        graph = graph_at(graphs, g)
        A = csr_array(graph.A + graph.A.T)
        nodes = assemble_fields(A, rank_nodes(A, graph.X, labelling), width, size)
        fields.append(np.where(nodes < 0, N, nodes + first))
    return np.stack(fields)


def _levels(values: Array) -> Array:
    """Number the different values in rising order, and values that differ by rounding alone the same."""
    order = np.argsort(values)
    levels = np.zeros(len(values))
    gaps = np.diff(values[order]) > SAME_CENTRALITY * np.max(values, initial=1.0)
    levels[order[1:]] = np.cumsum(gaps)
    return levels
