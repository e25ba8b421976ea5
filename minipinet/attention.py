"""Attention pooling (paper, eq. 2 and 5): column softmax over the nodes of each graph, and the product Z_A^T Z_X."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.pool import Pool, max_by_graph, sum_by_graph, sum_by_state


class ColumnSoftmaxCache(NamedTuple):
    """What `column_softmax_backward` needs: the weights themselves."""

    Z_A: Array
    pool: Pool


def column_softmax_forward(H: Array, pool: Pool) -> tuple[Array, ColumnSoftmaxCache]:
    """Turn the attention stack's output into weights that sum to 1 over the nodes of each graph, column by column.

    Equation (paper, 2, as its text means it): Z_A[i, f] = exp(H[i, f]) / sum over the nodes j of i's graph of
    exp(H[j, f]). The formula printed in the paper's proof sums over the features of one node instead: a slip.

    Parameters
    ----------
    H : (n, F_A) array
        Attention stack before the softmax, a row per state.
    pool : Pool

    Returns
    -------
    Z_A : (E, F_A) array in [0, 1]
        A row per entry: the share of its graph's attention that its `count` nodes take together.
    cache : ColumnSoftmaxCache
        No array beyond Z_A.

    Notes
    -----
    The maximum subtracted is taken per graph and column: one for the whole batch underflows to 0/0. A graph without
    nodes has no entries. O(E F_A); sums run in the order of the entries.

    Examples
    --------
    Two graphs over three states: the first has one node in state 0 and one in state 1, the second two in state 2.

    >>> import numpy as np
    >>> from minipinet.pool import make_pool
    >>> pool = make_pool(np.array([0, 2, 3]), np.array([0, 1, 2]), np.array([[1.0], [1.0], [2.0]]), 3)
    >>> Z_A, _ = column_softmax_forward(np.log([[3.0], [1.0], [5.0]]), pool)
    >>> Z_A.round(12).tolist()
    [[0.75], [0.25], [1.0]]
    """
    xp = xp_of(H)
    L = H[pool.state]
    # The greatest real part, so that a complex step passes through.
    L -= max_by_graph(L.real, pool)[pool.graph]
    # exp of less is 1e-19 (float32), which counts for nothing; but products with it can be denormal, which takes a
    # processor ten times as long, and so do the products that they get into.
    L[L.real < 0.5 * math.log(xp.finfo(L.dtype).tiny)] = -math.inf
    e = pool.count * xp.exp(L)
    Z_A = e / sum_by_graph(e, pool)[pool.graph]
    return Z_A, ColumnSoftmaxCache(Z_A, pool)


def column_softmax_backward(dZ_A: Array, cache: ColumnSoftmaxCache) -> Array:
    """Return dH for a cotangent dZ_A; each graph's column of dH (weighted by counts) sums to 0."""
    Z_A, pool = cache
    # Z_A = e / (sum of e over the graph), e = count * exp(L): each entry moves its own weight, and all of its graph's
    dL = Z_A * dZ_A
    dL -= Z_A * sum_by_graph(dL, pool)[pool.graph]
    # L = H[state]
    return sum_by_state(dL, pool)


class PoolCache(NamedTuple):
    """What `pool_backward` needs: both factors, a row per entry."""

    Z_A: Array
    Y: Array
    pool: Pool


class PoolGrads(NamedTuple):
    """Gradients of `pool_forward`'s arguments."""

    dZ_A: Array
    dZ_X: Array


def pool_forward(Z_A: Array, Z_X: Array, pool: Pool) -> tuple[Array, PoolCache]:
    """Multiply attention by features, graph by graph: P_g = Z_A,g^T Z_X,g.

    Equation (paper, 5): the product z_A . z_X, with Z_A already transposed there.

    Parameters
    ----------
    Z_A : (E, F_A) array
        Weights, a row per entry of the pool.
    Z_X : (n, F_X) array
        Features stack, a row per state.
    pool : Pool

    Returns
    -------
    P : (B, F_A, F_X) array
        Zero for a graph without nodes.
    cache : PoolCache
        E F_X numbers beyond Z_A.

    Notes
    -----
    2 E F_A F_X floating-point operations, one product a graph: its bits depend on that graph alone.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.pool import make_pool
    >>> pool = make_pool(np.array([0, 2]), np.array([0, 1]), np.ones((2, 1)), 2)
    >>> P, _ = pool_forward(np.array([[0.75], [0.25]]), np.array([[4.0, 0.0], [0.0, 8.0]]), pool)
    >>> P.tolist()
    [[[3.0, 2.0]]]
    """
    xp = xp_of(Z_A)
    Y = Z_X[pool.state]
    P = xp.empty((len(pool.ptr) - 1, Z_A.shape[1], Z_X.shape[1]), Y.dtype)
    for g, (i, j) in enumerate(graph_slices(pool)):
        xp.matmul(Z_A[i:j].T, Y[i:j], out=P[g])
    return P, PoolCache(Z_A, Y, pool)


def pool_backward(dP: Array, cache: PoolCache) -> PoolGrads:
    """Return the gradients of Z_A and Z_X for a cotangent dP of P."""
    Z_A, Y, pool = cache
    xp = xp_of(Z_A)
    dZ_A, dY = xp.empty_like(Z_A), xp.empty_like(Y)
    for g, (i, j) in enumerate(graph_slices(pool)):
        # P_g = Z_A,g^T Y_g
        xp.matmul(Y[i:j], dP[g].T, out=dZ_A[i:j])
        xp.matmul(Z_A[i:j], dP[g], out=dY[i:j])
    # Y = Z_X[state]
    return PoolGrads(dZ_A, sum_by_state(dY, pool))


def graph_slices(pool: Pool) -> list[tuple[int, int]]:
    """Return (first, one past last) entry of each graph as Python integers."""
    ptr = pool.ptr.tolist()
    return list(pairwise(ptr))
