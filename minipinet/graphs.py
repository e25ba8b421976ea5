"""One graph as plain data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minipinet._host import refuse_card
from minipinet._words import counted
from minipinet.adjacency import arcs_of, as_features, as_float64, build_adjacency, degrees
from minipinet.errors import UsageError, notify_changes
from minipinet.settings import truth


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
        refuse_card("A", A)
        refuse_card("X", X)
        if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64 and X.flags.c_contiguous):
            raise UsageError("X: expected a C-contiguous float64 array of shape (N, d); as_graph(A, X) makes one")
        if not (isinstance(A, csr_array) and A.dtype == np.float64 and A.shape == (len(X), len(X))):
            raise UsageError(f"A: expected a float64 csr_array of shape {(len(X), len(X))}; as_graph(A, X) makes one")
        if not (A.has_canonical_format and (A.data > 0).all()):
            raise UsageError("A: expected canonical CSR with entries above 0; as_graph(A, X) makes one")
        nodes: Any = self.nodes
        try:
            usable = isinstance(nodes, tuple) and len(set(nodes) - {None}) == len(nodes) in (0, len(X))
        except TypeError:  # an id that is not hashable
            usable = False
        if not usable:
            raise UsageError(f"nodes: expected a tuple of {len(X)} different node ids or none, got {nodes!r:.80}")

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
        return degrees(self.A)


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
    weighted, directed = truth("weighted", weighted), truth("directed", directed)
    rows, cols, weights, N = arcs_of(A)
    adjacency = build_adjacency(rows, cols, weights, N, weighted=weighted, directed=directed)
    reweighted, one_way = adjacency.reweighted, adjacency.one_way
    repeats = 0 if weighted else adjacency.repeats
    repeated = counted(repeats, "repeated entry", "repeated entries")
    changes = [
        (reweighted, f"{counted(reweighted, 'weight')} other than 1 set to 1 (weighted=True keeps them)"),
        (repeats, f"{repeated} counted once (weighted=True adds them up)"),
        (
            one_way,
            f"{counted(one_way, 'entry', 'entries')} added or raised to make it symmetric "
            "(directed=True leaves it as it is)",
        ),
    ]
    notify_changes("A", changes)
    return Graph(adjacency.A, np.ones((N, 1)) if X is None else as_features(X, N))


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
