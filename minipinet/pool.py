"""Which node states belong to which graph of a batch, and sums over either."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, Sparse, csc, csr, repeat, segment_maxima, xp_of


class Pool(NamedTuple):
    """E entries (graph, state, number of the graph's nodes in that state); in the plain form one entry a node.

    Graph g owns entries ptr[g]:ptr[g+1], none if it has no node.
    """

    ptr: Array  #: (B + 1,) int32, offsets of the graphs' entries
    graph: Array  #: (E,) int, graph of each entry
    state: Array  #: (E,) int32, row of the state table
    count: Array  #: (E, 1) number of the graph's nodes in that state
    counts: Sparse  #: (B, n) CSR of the same entries


def make_pool(ptr: Array, state: Array, count: Array, n: int) -> Pool:
    """Build the pool of B graphs over a table of n states.

    Parameters
    ----------
    ptr : (B + 1,) int array, the offsets of the graphs' entries
    state : (E,) int array, 0 to n - 1
    count : (E, 1) float array, at least 1
    n : int

    Examples
    --------
    >>> import numpy as np
    >>> pool = make_pool(np.array([0, 2, 2]), np.array([0, 2]), np.array([[1.0], [3.0]]), 4)
    >>> pool.counts.toarray().tolist()  # the second graph has no node
    [[1.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    xp = xp_of(ptr)
    B = len(ptr) - 1
    ptr, state = ptr.astype(xp.int32), state.astype(xp.int32)
    counts = csr(count[:, 0], state, ptr, (B, n))
    return Pool(ptr, repeat(xp.arange(B), xp.diff(ptr)), state, count, counts)


def take_pool(pool: Pool, graphs: Array) -> Pool:
    """Keep some graphs, over the same table of states."""
    ptr, entry = row_entries(pool.ptr, graphs)
    return make_pool(ptr, pool.state[entry], pool.count[entry], pool.counts.shape[1])


def row_entries(indptr: Array, rows: Array) -> tuple[Array, Array]:
    """Return the offsets of the chosen rows of a CSR placed one after the other, and the positions of their entries.

    Examples
    --------
    >>> import numpy as np
    >>> [a.tolist() for a in row_entries(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[0, 3, 5], [2, 3, 4, 0, 1]]
    """
    xp = xp_of(indptr)
    start = indptr[rows].astype(xp.int64)
    sizes = indptr[rows + 1] - start
    ptr = xp.zeros(len(rows) + 1, xp.int64)
    xp.cumsum(sizes, out=ptr[1:])
    return ptr, xp.arange(int(ptr[-1])) + repeat(start - ptr[:-1], sizes)


def sum_by_graph(x: Array, pool: Pool) -> Array:
    """Add up the entries' rows of each graph, (E, F) to (B, F), in the order of the entries."""
    E = len(pool.state)
    ones, entries = xp_of(x).ones(E, x.dtype), xp_of(x).arange(E, dtype=pool.ptr.dtype)
    return csr(ones, entries, pool.ptr, (pool.counts.shape[0], E)) @ x


def sum_by_state(x: Array, pool: Pool) -> Array:
    """Add up the entries' rows of each state, (E, F) to (n, F), in the order of the entries."""
    E = len(pool.state)
    ones, columns = xp_of(x).ones(E, x.dtype), xp_of(x).arange(E + 1, dtype=pool.state.dtype)
    return csc(ones, pool.state, columns, (pool.counts.shape[1], E)) @ x


def max_by_graph(x: Array, pool: Pool) -> Array:
    """Return the greatest entry of each graph and column, (E, F) to (B, F); 0 for a graph without entries."""
    return segment_maxima(x, pool.ptr, pool.graph)
