"""The readout of any number of classes, the softmax as a quotient of two sums that one product gives."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.attention_readout import ReadoutGrads
from minipinet.fast.csr import Structure
from minipinet.fast.entries import exp_entries, sum_entries


class PooledCache(NamedTuple):
    """What `pooled_backward` needs."""

    W_D: Array
    e: Array  #: (E, F_A)
    Y: Array  #: (E, F_X + 1), the last column 1
    inverse: Array  #: (B, F_A, 1), 1 / the last column of sums
    P: Array  #: (B, F_A, F_X)
    counts: Structure
    biased: bool


def pooled_forward(
    H: Array, Z_X: Array, W_D: Array, b_D: Array | None, counts: Structure, count: Array
) -> tuple[Array, PooledCache]:
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
    counts, count : Structure, (E,) array
        Number of each graph's nodes in each state, (B, n).

    Returns
    -------
    logits : (B, C) array
        b_D (or 0) for a graph without nodes.
    cache : PooledCache

    Notes
    -----
    2 E F_A (F_X + 1) + 2 B F_A F_X C floating-point operations.
    """
    xp = xp_of(H)
    (E, F_A), F_X, B = (len(count), H.shape[1]), Z_X.shape[1], len(counts.indptr) - 1
    e = exp_entries(H, counts, count)
    Y = xp.empty((E, F_X + 1), xp.result_type(e, Z_X))
    Y[:, :F_X] = Z_X.take(counts.indices, axis=0)
    Y[:, F_X] = 1
    sums = xp.empty((B, F_A, F_X + 1), Y.dtype)
    for g, (i, j) in enumerate(pairwise(counts.indptr.tolist())):
        xp.matmul(e[i:j].T, Y[i:j], out=sums[g])
    # A graph without nodes has sums of 0; elsewhere the denominators are above 0.
    inverse = 1 / (sums[:, :, F_X:] + (sums[:, :, F_X:] == 0))
    P = sums[:, :, :F_X] * inverse
    logits = P.reshape(B, -1) @ W_D
    if b_D is not None:
        logits += b_D
    return logits, PooledCache(W_D, e, Y, inverse, P, counts, b_D is not None)


def pooled_backward(dlogits: Array, cache: PooledCache) -> ReadoutGrads:
    """Return the gradients of H, Z_X, W_D and b_D for a cotangent of the logits."""
    W_D, e, Y, inverse, P, counts, biased = cache
    xp = xp_of(e)
    (B, F_A, F_X), E = P.shape, len(e)
    # logits = vec(P) W_D + b_D
    db_D = dlogits.sum(axis=0) if biased else None
    dW_D = (dlogits.T @ P.reshape(B, -1)).T
    dP = (dlogits @ W_D.T).reshape(P.shape)
    # P = sums[:, :, :F_X] inverse
    dsums = xp.empty((B, F_A, F_X + 1), e.dtype)
    xp.multiply(dP, inverse, out=dsums[:, :, :F_X])
    # inverse = 1 / sums[:, :, F_X]
    dsums[:, :, F_X] = -xp.vecdot(dsums[:, :, :F_X], P)
    # sums_g = e_g^T Y_g; the last column of Y is constant
    both = xp.empty((E, F_A + F_X), e.dtype)
    for g, (i, j) in enumerate(pairwise(counts.indptr.tolist())):
        xp.matmul(Y[i:j], dsums[g].T, out=both[i:j, :F_A])
        xp.matmul(e[i:j], dsums[g, :, :F_X], out=both[i:j, F_A:])
    # e = count exp(H[state])
    both[:, :F_A] *= e
    # Y[:, :F_X] = Z_X[state]
    dstates = sum_entries(both, counts)
    return ReadoutGrads(dstates[:, :F_A], dstates[:, F_A:], dW_D, db_D)
