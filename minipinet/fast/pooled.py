"""The readout of any number of classes, the softmax as a quotient of two sums that one product gives."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.attention_readout import ReadoutGrads
from minipinet.fast.batch import Entries
from minipinet.fast.readout import below_maximum, has_wide_range, sum_by_state


class PooledCache(NamedTuple):
    """What `pooled_backward` needs."""

    W_D: Array
    e: Array  #: (E, F_A)
    Y: Array  #: (E, F_X + 1), the last column 1
    inverse: Array  #: (K, F_A), 1 / the last column of sums
    P: Array  #: (K, F_A, F_X)
    entries: Entries
    n: int  #: states
    biased: bool


def pooled_forward(H: Array, Z_X: Array, W_D: Array, b_D: Array | None, entries: Entries) -> tuple[Array, PooledCache]:
    """Return the logits vec(P_g) W_D + b_D, as `minipinet.attention_readout.stepwise_forward` does.

    Equation (paper, 2 and 5): with e = count exp(H), a row an entry, and Y = [Z_X, 1], one product a graph,
    sums_g = e_g^T Y_g, has the numerators of P_g in its first F_X columns and the denominators in its last.

    Parameters
    ----------
    H : (n, F_A) array
        Attention stack before its softmax.
    Z_X : (n, F_X) array
    W_D : (F_A F_X, C) array
    b_D : (C,) array or None
    entries : Entries

    Returns
    -------
    logits : (K, C) array, of each kind of graph
        b_D (or 0) for a graph without nodes.
    cache : PooledCache

    Notes
    -----
    2 E F_A (F_X + 1) + 2 B F_A F_X C floating-point operations.
    """
    ptr, state, count = entries
    # Of a wide range each graph's maximum is subtracted: the quotients do not depend on it.
    e = below_maximum(H, ptr, state) if has_wide_range(H) else H.take(state, axis=0)
    np.exp(e, out=e)
    e *= count[:, None]
    P, inverse, Y = pool_forward(ptr, state, e, Z_X)
    logits = P.reshape(len(P), -1) @ W_D
    if b_D is not None:
        logits += b_D
    return logits, PooledCache(W_D, e, Y, inverse, P, entries, len(H), b_D is not None)


def pooled_backward(dlogits: Array, cache: PooledCache, out: Array | None = None) -> ReadoutGrads:
    """Return the gradients of H, Z_X, W_D and b_D for a cotangent of the logits.

    The first two are placed in `out`, if given: (2, n, F).
    """
    W_D, e, Y, inverse, P, (ptr, state, _), n, biased = cache
    B, F_A, F_X = P.shape
    # logits = vec(P) W_D + b_D
    db_D = dlogits.sum(axis=0) if biased else None
    dW_D = np.ascontiguousarray((dlogits.T @ P.reshape(B, -1)).T)
    dP = (dlogits @ W_D.T).reshape(P.shape)
    # P, a graph's quotients of sums over its entries of e Z_X and of e
    dH, dZ_X = (np.empty((n, F), e.dtype) for F in (F_A, F_X)) if out is None else out
    pool_backward(dP, ptr, state, e, Y, P, inverse, dH, dZ_X)
    return ReadoutGrads(dH, dZ_X, dW_D, db_D)


def pool_forward(ptr: Array, state: Array, e: Array, Z: Array) -> tuple[Array, Array, Array]:
    """Return each graph's P = sum of e^T Z[state] / sum of e over its entries, 1 / the divisor, and Y = [Z[state], 1].

    (B, F_A, F), (B, F_A) and (E, F + 1).
    """
    (E, F_A), F, B = e.shape, Z.shape[1], len(ptr) - 1
    Y = np.empty((E, F + 1), np.result_type(e, Z))
    Y[:, :F] = Z.take(state, axis=0)
    Y[:, F] = 1
    sums = np.empty((B, F_A, F + 1), Y.dtype)
    for g, (i, j) in enumerate(pairwise(ptr.tolist())):
        np.matmul(e[i:j].T, Y[i:j], out=sums[g])
    # A graph without nodes has sums of 0; elsewhere the denominators are above 0.
    inverse = 1 / (sums[:, :, F] + (sums[:, :, F] == 0))
    return sums[:, :, :F] * inverse[:, :, None], inverse, Y


def pool_backward(
    dP: Array, ptr: Array, state: Array, e: Array, Y: Array, P: Array, inverse: Array, dH: Array, dZ: Array
) -> None:
    """Put into dH and dZ the gradients of H and Z for a cotangent dP of P; e is count exp(H[state])."""
    (B, F_A, F), E = P.shape, len(e)
    # P = sums[:, :, :F] inverse
    dsums = np.empty((B, F_A, F + 1), e.dtype)
    np.multiply(dP, inverse[:, :, None], out=dsums[:, :, :F])
    # inverse = 1 / sums[:, :, F]
    dsums[:, :, F] = -np.vecdot(dsums[:, :, :F], P)
    # sums_g = e_g^T Y_g; the last column of Y is constant
    both = np.empty((E, F_A + F), e.dtype)
    for g, (i, j) in enumerate(pairwise(ptr.tolist())):
        np.matmul(Y[i:j], dsums[g].T, out=both[i:j, :F_A])
        np.matmul(e[i:j], dsums[g, :, :F], out=both[i:j, F_A:])
    # e = count exp(H[state])
    both[:, :F_A] *= e
    # Y[:, :F] = Z[state]
    sums = sum_by_state(both, state, len(dH))
    dH[:], dZ[:] = sums[:, :F_A], sums[:, F_A:]
