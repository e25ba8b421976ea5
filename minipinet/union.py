"""Several graphs as one: a block-diagonal matrix with offsets, plain data too."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minipinet._host import refuse_card
from minipinet._words import counted
from minipinet.adjacency import index_dtype
from minipinet.errors import DataError, UsageError
from minipinet.graphs import Graph


class DisjointUnion(NamedTuple):
    """Several graphs as one: their matrices down the diagonal of one matrix, their features stacked.

    Attributes
    ----------
    A : csr_array of shape (N, N), float64
        Block diagonal, canonical CSR; int32 indices where they fit.
    X : ndarray of shape (N, d), float64
        Features of all nodes.
    ptr : ndarray of shape (B + 1,), int64
        Graph g owns rows ``ptr[g]:ptr[g + 1]``. A graph may own none, at any place: B is ``ptr.size - 1`` and
        never read off the rows.
    """

    A: csr_array
    X: NDArray[np.float64]
    ptr: NDArray[np.int64]


def disjoint_union(graphs: Sequence[Graph]) -> DisjointUnion:
    """Join graphs, in order, into one block-diagonal matrix; O(N + nnz), never a dense block.

    Parameters
    ----------
    graphs : sequence of Graph
        At least one; all with the same number of features. A graph without nodes or edges is an ordinary member.

    Returns
    -------
    DisjointUnion

    Raises
    ------
    UsageError
        If there is no graph, or a member is no Graph.
    DataError
        If two graphs differ in their number of features.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> union = disjoint_union([as_graph([[0, 1], [1, 0]]), as_graph([[0]])])
    >>> union.A.shape, union.ptr
    ((3, 3), array([0, 2, 3]))
    """
    if isinstance(graphs, Graph):
        raise UsageError("graphs: expected a sequence of Graph, got one Graph")
    graphs = list(graphs)
    refuse_card("graphs", graphs)
    if not graphs:
        raise UsageError("graphs: expected at least one graph, got none")
    for g, graph in enumerate(graphs):
        if not isinstance(graph, Graph):
            raise UsageError(f"graphs: expected a sequence of Graph, got {type(graph).__name__} at place {g}")
        if graph.d != graphs[0].d:
            width = counted(graph.d, "feature")
            raise DataError(f"graph {g} has {width} a node, graph 0 has {graphs[0].d}: they must agree")
    ptr = _offsets(np.array([graph.N for graph in graphs]))
    nnz = np.array([graph.A.nnz for graph in graphs])
    A = _csr(
        np.concatenate([graph.A.data for graph in graphs]),
        np.concatenate([graph.A.indices for graph in graphs]) + np.repeat(ptr[:-1], nnz),
        np.concatenate([np.diff(graph.A.indptr) for graph in graphs]),
    )
    return DisjointUnion(A, np.concatenate([graph.X for graph in graphs]), ptr)


def take_graphs(union: DisjointUnion, index: Any) -> DisjointUnion:
    """Take some graphs out of a union, in the order asked for.

    Parameters
    ----------
    union : DisjointUnion
        B graphs.
    index : slice, or array_like of int or bool
        Graph numbers, -B..B-1, in any order and also more than once; or a mask of B booleans; or a slice.

    Returns
    -------
    DisjointUnion
        O(size of the result), without a Python loop. No graph at all is allowed, and keeps the width of X.

    Raises
    ------
    UsageError
        If `index` is anything else, or out of range.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> union = disjoint_union([as_graph([[0, 1], [1, 0]]), as_graph([[0]])])
    >>> take_graphs(union, [1, 0, 1]).ptr
    array([0, 1, 3, 4])
    """
    refuse_card("union", union)
    refuse_card("index", index)
    A, X, ptr = union
    B = ptr.size - 1
    try:
        chosen = np.arange(B)[list(index) if isinstance(index, tuple) else index]
    except (IndexError, ValueError, TypeError) as error:
        raise UsageError(f"index: expected graph numbers within {B} graphs, or {B} booleans ({error})") from error
    if np.ndim(chosen) != 1:
        raise UsageError(f"index: expected a slice or one dimension, got {index!r:.80}; graph_at takes one graph")
    first, sizes = ptr[chosen], ptr[chosen + 1] - ptr[chosen]
    new_ptr = _offsets(sizes)
    rows = np.arange(new_ptr[-1]) + np.repeat(first - new_ptr[:-1], sizes)
    taken = A[rows]  # its columns still number the nodes of the whole union
    nnz = np.diff(taken.indptr)
    cols = taken.indices + np.repeat(np.repeat(new_ptr[:-1] - first, sizes), nnz)
    return DisjointUnion(_csr(taken.data, cols, nnz), X[rows], new_ptr)


def graph_at(union: DisjointUnion, g: SupportsIndex) -> Graph:
    """Take one graph out of a union, as a copy.

    Parameters
    ----------
    union : DisjointUnion
        B graphs.
    g : int
        Its number, -B..B-1; negative ones count from the end.

    Raises
    ------
    UsageError
        If there is no such graph.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> graph_at(disjoint_union([as_graph([[0, 1], [1, 0]]), as_graph([[0]])]), 0).N
    2
    """
    refuse_card("g", g)
    B = union.ptr.size - 1
    try:
        taken = take_graphs(union, [range(B)[operator.index(g)]])
    except (TypeError, IndexError) as error:
        raise UsageError(f"g: expected the number of one of {B} graphs, got {g!r:.80}") from error
    return Graph(taken.A, taken.X)


def _offsets(sizes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _csr(data: NDArray[np.float64], cols: NDArray[np.integer[Any]], row_nnz: NDArray[np.integer[Any]]) -> csr_array:
    """Return the square CSR matrix with these entries, row by row; int32 indices where they fit."""
    N = row_nnz.size
    dtype = index_dtype(max(N, data.size))
    return csr_array((data, cols.astype(dtype), _offsets(row_nnz).astype(dtype)), shape=(N, N))
