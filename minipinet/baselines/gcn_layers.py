"""What the GCN baselines have of their own: Kipf's matrix, and two ways from the states of nodes to one row a graph."""

from __future__ import annotations

from typing import NamedTuple

from scipy.sparse import coo_array

from minipinet._array import Array, xp_of
from minipinet.pool import Pool, sum_by_state
from minipinet.quotient import Quotient, refine
from minipinet.union import DisjointUnion


def kipf_quotient(graphs: DisjointUnion, merge: bool = True) -> Quotient:
    r"""Refine graphs so that message passing with p = 0 and q = 1 multiplies by Kipf's matrix.

    Equation: $\hat A = D^{-1/2} (A + I) D^{-1/2}$ with D the degrees of A + I. PiNet's matrix at p = 0, q = 1 has those
    of A, so every degree here is one more than :func:`minipinet.quotient.refine` gives. A loop in A is taken off: the
    diagonal of A + I is 1 whether it is added once or twice.

    Parameters
    ----------
    graphs : DisjointUnion
        Weights and directions of any kind.
    merge : bool
        As for :func:`minipinet.quotient.refine`.

    Returns
    -------
    Quotient
        Every degree is at least 1, so that a node without neighbours keeps its state: its row of A + I is its own 1.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.batch import make_batch
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.propagation import propagate_forward
    >>> from minipinet.union import disjoint_union
    >>> path = as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.eye(3))
    >>> batch = make_batch(kipf_quotient(disjoint_union([path]), merge=False), [0], "float64")
    >>> propagate_forward(batch.X, 0.0, 1.0, batch.steps[0])[0].round(4).tolist()
    [[0.5, 0.4082, 0.0], [0.4082, 0.3333, 0.4082], [0.0, 0.4082, 0.5]]

    Source
    ------
    Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks" (2017), eq. 2.
    """
    A = graphs.A.tocoo()
    off = A.row != A.col
    without_loops = coo_array((A.data[off], (A.row[off], A.col[off])), shape=A.shape).tocsr()
    quotient = refine(graphs._replace(A=without_loops), merge)
    first, second = (level._replace(deg=level.deg + 1) for level in quotient.levels)
    return quotient._replace(levels=(first, second))


class SumPoolCache(NamedTuple):
    """What `sum_pool_backward` needs."""

    pool: Pool


def sum_pool_forward(Z: Array, pool: Pool) -> tuple[Array, SumPoolCache]:
    r"""Add up the states of each graph's nodes.

    Equation: $S_g = \sum_{i \in g} Z_i$, in the quotient form $\sum_c count_{gc} Z_c$. A sum, not a mean: two copies of
    a graph side by side give twice its row.

    Parameters
    ----------
    Z : (n, F) array
        A row a state.
    pool : Pool

    Returns
    -------
    S : (B, F) array
        Zero for a graph without nodes.
    cache : SumPoolCache

    Notes
    -----
    O(E F). A graph's row is summed in the order of its own entries: its bits do not depend on the rest of the batch.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.pool import make_pool
    >>> pool = make_pool(np.array([0, 2, 2]), np.array([0, 1]), np.array([[1.0], [3.0]]), 2)
    >>> sum_pool_forward(np.array([[5.0], [2.0]]), pool)[0].tolist()
    [[11.0], [0.0]]
    """
    S = pool.counts @ Z
    return S, SumPoolCache(pool)


def sum_pool_backward(dS: Array, cache: SumPoolCache) -> Array:
    """Return dZ for a cotangent dS."""
    # S = counts Z
    return cache.pool.counts.T @ dS


class PadCache(NamedTuple):
    """What `pad_backward` needs: which entries of the pool have a place, and which one."""

    kept: Array  #: (K,) int, numbers of entries
    place: Array  #: (K,) int
    places: int
    pool: Pool


def pad_forward(Z: Array, pool: Pool, places: int) -> tuple[Array, PadCache]:
    """Write the states of each graph's nodes side by side, in the order of the nodes, and zeros up to `places`.

    Equation: S_g = vec(Z_g) with rows of zeros below Z_g. A graph with more nodes than places is cut: there are no
    weights for the others.

    Parameters
    ----------
    Z : (n, F) array
        A row a node.
    pool : Pool
        Of the plain form, in which each node is a state of its own; the quotient form does not know the order.
    places : int
        At least 1.

    Returns
    -------
    S : (B, places F) array
    cache : PadCache

    Notes
    -----
    B places F numbers, whatever the graphs' sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.pool import make_pool
    >>> pool = make_pool(np.array([0, 1, 4]), np.arange(4), np.ones((4, 1)), 4)
    >>> pad_forward(np.array([[5.0], [2.0], [3.0], [4.0]]), pool, 2)[0].tolist()
    [[5.0, 0.0], [2.0, 3.0]]
    """
    xp, F, B = xp_of(Z), Z.shape[1], len(pool.ptr) - 1
    place = xp.arange(len(pool.state)) - pool.ptr[pool.graph]
    kept = xp.flatnonzero(place < places)
    place = place[kept]
    S = xp.zeros((B, places, F), Z.dtype)
    S[pool.graph[kept], place] = Z[pool.state[kept]]
    return S.reshape(B, places * F), PadCache(kept, place, places, pool)


def pad_backward(dS: Array, cache: PadCache) -> Array:
    """Return dZ for a cotangent dS; nodes that were cut get 0."""
    kept, place, places, pool = cache
    B, F = len(pool.ptr) - 1, dS.shape[1] // places
    # S[graph, place] = Y of the entries kept
    dY = xp_of(dS).zeros((len(pool.state), F), dS.dtype)
    dY[kept] = dS.reshape(B, places, F)[pool.graph[kept], place]
    # Y = Z[state]
    return sum_by_state(dY, pool)
