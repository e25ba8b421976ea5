"""The readout of two classes by one score: the softmax of two logits needs only their difference."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.attention_readout import ReadoutGrads
from minipinet.fast.csr import Structure, times, times_transposed
from minipinet.fast.entries import exp_entries, has_wide_range, sum_entries


class TwoClassCache(NamedTuple):
    """What `two_class_backward` needs."""

    Z_X: Array
    W: Array  #: (F_A, F_X), the difference of the two columns of W_D
    T: Array  #: (n, F_A), or (E, F_A) if H has a wide range
    e: Array  #: like T
    den: Array  #: (B, F_A)
    R: Array  #: (B, F_A)
    rows: Structure  #: sums over the rows of e
    weight: Array
    counts: Structure
    biased: bool


def two_class_forward(
    H: Array, Z_X: Array, W_D: Array, b_D: Array | None, counts: Structure, count: Array
) -> tuple[Array, TwoClassCache]:
    """Return logits (0, z_1 - z_0) for the logits (z_0, z_1) of `minipinet.attention_readout`: the same probabilities.

    Equation (paper, 2 and 5), the sums in the other order as in `attention_readout.fused_forward`: with T = Z_X W^T, W
    the difference of the columns of W_D, and e = exp(H),
    z_1 - z_0 = sum_f (sum_c count_gc e_cf T_cf) / (sum_c count_gc e_cf).

    Parameters
    ----------
    H : (n, F_A) array
        Attention stack before its softmax. Within `attention_readout.FUSED_RANGE` e and T have a row a state, else a
        row an entry of `counts`, and each graph's maximum is subtracted.
    Z_X : (n, F_X) array
    W_D : (F_A F_X, 2) array
    b_D : (2,) array or None
    counts, count : Structure, (E,) array
        Number of each graph's nodes in each state, (B, n).

    Returns
    -------
    logits : (B, 2) array, the first column 0
    cache : TwoClassCache

    Notes
    -----
    2 n F_A F_X floating-point operations, half of what both columns take.
    """
    xp = xp_of(H)
    F_A, F_X = H.shape[1], Z_X.shape[1]
    W = (W_D[:, 1] - W_D[:, 0]).reshape(F_A, F_X)
    T = Z_X @ W.T
    if has_wide_range(H):
        e, T = exp_entries(H, counts, count), T.take(counts.indices, axis=0)
        rows = Structure(counts.indptr, xp.arange(len(T), dtype=counts.indices.dtype), len(T))
        weight = xp.ones_like(count)
    else:
        e, rows, weight = xp.exp(H), counts, count
    Y = xp.stack([e, e * T], axis=1)
    sums = times(rows, weight, Y.reshape(-1, 2 * F_A)).reshape(-1, 2, F_A)
    # A graph without nodes has den = 0; elsewhere exp is above 0.
    den = sums[:, 0] + (sums[:, 0] == 0)
    R = sums[:, 1] / den
    logits = xp.zeros((len(R), 2), R.dtype)
    logits[:, 1] = R.sum(axis=1)
    if b_D is not None:
        logits[:, 1] += b_D[1] - b_D[0]
    return logits, TwoClassCache(Z_X, W, T, e, den, R, rows, weight, counts, b_D is not None)


def two_class_backward(dlogits: Array, cache: TwoClassCache) -> ReadoutGrads:
    """Return the gradients of H, Z_X, W_D and b_D for a cotangent of the logits; the column of zeros moves nothing."""
    Z_X, W, T, e, den, R, rows, weight, counts, biased = cache
    xp = xp_of(e)
    B, F_A = R.shape
    dz = dlogits[:, 1]
    # logits[:, 1] += b_D[1] - b_D[0]
    db_D = xp.stack([-dz.sum(), dz.sum()]) if biased else None
    # logits[:, 1] = R.sum(axis=1)
    dsums = xp.empty((B, 2, F_A), e.dtype)
    # R = sums[:, 1] / den
    xp.divide(dz[:, None], den, out=dsums[:, 1])
    # den = sums[:, 0]
    xp.multiply(dsums[:, 1], -R, out=dsums[:, 0])
    # sums = rows @ Y
    dY = times_transposed(rows, weight, dsums.reshape(B, 2 * F_A)).reshape(-1, 2, F_A)
    # Y[:, 1] = e * T
    dT = dY[:, 1] * e
    # Y[:, 0] = e = exp(H), and e stands in Y[:, 1] too
    dH = dY[:, 0] * e
    dH += dT * T
    # T = T[state], H = H[state]
    if rows is not counts:
        dH, dT = sum_entries(dH, counts), sum_entries(dT, counts)
    # T = Z_X W^T
    dZ_X = dT @ W
    dW = (dT.T @ Z_X).ravel()
    # W = W_D[:, 1] - W_D[:, 0]
    dW_D = xp.empty((dW.size, 2), dW.dtype)
    dW_D[:, 1] = dW
    xp.negative(dW, out=dW_D[:, 0])
    return ReadoutGrads(dH, dZ_X, dW_D, db_D)
