"""Graphs as plain data: one graph, or several as one block-diagonal matrix with offsets."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minipinet.adjacency import arcs_of, as_features, as_float64, build_adjacency, index_dtype
from minipinet.errors import DataError, Notice, UsageError


@dataclass(frozen=True, eq=False)
class Graph:
    """One graph; made by `as_graph` or `from_networkx`, which bring input of any kind into this form.

    Attributes
    ----------
    A : csr_array of shape (N, N), float64
        Adjacency in canonical CSR, every entry above 0. ``A[i, j]`` is the weight with which node i takes in
        the state of node j; symmetric unless the graph was made with ``directed=True``.
    X : ndarray of shape (N, d), float64, C-contiguous
        Features, one row a node.
    nodes : tuple, length N or 0
        The original node ids in row order, where there were any (networkx).

    Raises
    ------
    UsageError
        If `A`, `X` and `nodes` are not of that form. O(N + nnz) to check.
    """

    A: csr_array
    X: NDArray[np.float64]
    nodes: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        A, X = self.A, self.X
        if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64 and X.flags.c_contiguous):
            raise UsageError("X: expected a C-contiguous float64 array of shape (N, d); as_graph(A, X) makes one")
        if not (isinstance(A, csr_array) and A.dtype == np.float64 and A.shape == (len(X), len(X))):
            raise UsageError(f"A: expected a float64 csr_array of shape {(len(X), len(X))}; as_graph(A, X) makes one")
        if not (A.has_canonical_format and (A.data > 0).all()):
            raise UsageError("A: expected canonical CSR with entries above 0; as_graph(A, X) makes one")
        if len(self.nodes) not in (0, len(X)):
            raise UsageError(f"nodes: expected {len(X)} node ids or none, got {len(self.nodes)}")

    @property
    def N(self) -> int:
        """Number of nodes."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of features a node."""
        return int(self.X.shape[1])

    @property
    def deg(self) -> NDArray[np.float64]:
        """Degrees ``A 1``, shape (N,): the sum of the weights in each row; a loop counts once."""
        return np.asarray(self.A.sum(axis=1), dtype=np.float64)


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


def as_graph(A: Any, X: Any = None, *, weighted: bool = False, directed: bool = False) -> Graph:
    """Make a graph of an adjacency matrix and features in any container.

    Parameters
    ----------
    A : array_like or sparse matrix or array, shape (N, N)
        Finite numbers that are not negative; a stored zero is no edge. ``A[i, j]`` is the weight with which
        node i takes in the state of node j. The same values give the same graph, bit for bit, from a dense
        array, np.matrix, list of lists or any SciPy format, canonical or not. Only read, never changed.
    X : array_like of shape (N, d) or (N,), or sparse matrix or array, optional
        Finite features of any real type, d >= 1; copied to float64. Left out: one feature, 1, for every node.
    weighted : bool
        False: every edge has weight 1. True: weights stay, and those of repeated entries are added up.
    directed : bool
        False: each entry becomes the larger of itself and its mirror image. True: A keeps its direction.

    Returns
    -------
    Graph
        A :class:`Notice` is issued for weights set to 1, repeats counted once, and entries mirrored.

    Raises
    ------
    UsageError
        If `A` is not square, `X` has another number of rows, or either holds anything but real numbers.
    DataError
        If a weight is negative, or anything is NaN or infinite.

    Examples
    --------
    >>> graph = as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> graph.deg
    array([1., 2., 1.])
    """
    rows, cols, weights, N = arcs_of(A)
    adjacency = build_adjacency(rows, cols, weights, N, weighted=weighted, directed=directed)
    changes = [
        (adjacency.reweighted, "weights other than 1 set to 1 (weighted=True keeps them)"),
        (0 if weighted else adjacency.repeats, "repeated entries counted once (weighted=True adds them up)"),
        (
            adjacency.one_way,
            "entries added or raised to make it symmetric (directed=True leaves it as it is)",
        ),
    ]
    for count, text in changes:
        if count:
            warnings.warn(f"A: {count} {text}", Notice, stacklevel=2)
    return Graph(adjacency.A, np.ones((N, 1)) if X is None else as_features(X, N))


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
    >>> union = disjoint_union([as_graph([[0, 1], [1, 0]]), as_graph([[0]])])
    >>> union.A.shape, union.ptr
    ((3, 3), array([0, 2, 3]))
    """
    if isinstance(graphs, Graph):
        raise UsageError("graphs: expected a sequence of Graph, got one Graph")
    graphs = list(graphs)
    if not graphs:
        raise UsageError("graphs: expected at least one graph, got none")
    for g, graph in enumerate(graphs):
        if not isinstance(graph, Graph):
            raise UsageError(f"graphs: expected a sequence of Graph, got {type(graph).__name__} at place {g}")
        if graph.d != graphs[0].d:
            raise DataError(f"graph {g} has {graph.d} features a node, graph 0 has {graphs[0].d}: they must agree")
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
    >>> union = disjoint_union([as_graph([[0, 1], [1, 0]]), as_graph([[0]])])
    >>> take_graphs(union, [1, 0, 1]).ptr
    array([0, 1, 3, 4])
    """
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
    >>> graph_at(disjoint_union([as_graph([[0, 1], [1, 0]]), as_graph([[0]])]), 0).N
    2
    """
    B = union.ptr.size - 1
    try:
        taken = take_graphs(union, [range(B)[operator.index(g)]])
    except (TypeError, IndexError) as error:
        raise UsageError(f"g: expected the number of one of {B} graphs, got {g!r:.80}") from error
    return Graph(taken.A, taken.X)


def permute_nodes(graph: Graph, permutation: Any) -> Graph:
    """Renumber the nodes: rows and columns of A, rows of X, and node ids, all together.

    The paper's P_pi: A becomes P A P^T and X becomes P X. Permuting the rows of A alone is no renumbering: it
    makes another graph, which no model has to score alike.

    Parameters
    ----------
    graph : Graph
        N nodes.
    permutation : array_like of int, shape (N,)
        Each of 0..N-1 once: node i moves to position ``permutation[i]``.

    Raises
    ------
    UsageError
        If `permutation` is no permutation of 0..N-1.

    Examples
    --------
    >>> graph = as_graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]], X=[10, 20, 30])
    >>> permute_nodes(graph, [2, 0, 1]).X[:, 0]
    array([20., 30., 10.])
    """
    N = graph.N
    order = as_float64(permutation, "permutation")
    if order.shape != (N,) or not np.array_equal(np.sort(order), np.arange(N)):
        raise UsageError(f"permutation: expected each of the {N} numbers from 0 once, got {permutation!r:.80}")
    back = np.argsort(order)  # back[k]: the node that moves to position k
    A = graph.A[back][:, back]
    A.sort_indices()
    return Graph(A, graph.X[back], tuple(graph.nodes[i] for i in back) if graph.nodes else ())


def _offsets(sizes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _csr(data: NDArray[np.float64], cols: NDArray[np.integer[Any]], row_nnz: NDArray[np.integer[Any]]) -> csr_array:
    """Return the square CSR matrix with these entries, row by row; int32 indices where they fit."""
    N = row_nnz.size
    dtype = index_dtype(max(N, data.size))
    return csr_array((data, cols.astype(dtype), _offsets(row_nnz).astype(dtype)), shape=(N, N))
