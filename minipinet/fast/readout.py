"""The readout of two classes by one score: the softmax of two logits needs only their difference."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.attention_readout import FUSED_RANGE, ReadoutGrads
from minipinet.fast.batch import Entries
from minipinet.fast.products import add_product, add_transposed_product


def has_wide_range(H: Array) -> bool:
    """Return whether exp(H) would wear out the range of float32, so that each graph's maximum is to be subtracted.

    Examples
    --------
    >>> has_wide_range(np.array([[40.0]])), has_wide_range(np.array([[41.0]])), has_wide_range(np.array([[np.nan]]))
    (False, True, True)
    """
    return not (H.real.max(initial=0) <= FUSED_RANGE and H.real.min(initial=0) >= -FUSED_RANGE)


class TwoClassCache(NamedTuple):
    """What `two_class_backward` needs."""

    Z_X: Array
    W: Array  #: (F_A, F_X), the difference of the two columns of W_D
    T: Array  #: (n, F_A), or (E, F_A) if H has a wide range
    e: Array  #: like T
    den: Array  #: (K, F_A), of K kinds of graph
    R: Array  #: (K, F_A), of K kinds of graph
    row: Array  #: (E,) the row of T and e of each entry
    entries: Entries
    biased: bool


def two_class_forward(
    H: Array, Z_X: Array, W_D: Array, b_D: Array | None, entries: Entries
) -> tuple[Array, TwoClassCache]:
    """Return logits (0, z_1 - z_0) for the logits (z_0, z_1) of `minipinet.attention_readout`: the same probabilities.

    Equation (paper, 2 and 5), the sums in the other order as in `attention_readout.fused_forward`: with T = Z_X W^T, W
    the difference of the columns of W_D, and e = exp(H),
    z_1 - z_0 = sum_f (sum_c count_gc e_cf T_cf) / (sum_c count_gc e_cf).

    Parameters
    ----------
    H : (n, F_A) array
        Attention stack before its softmax. Within `attention_readout.FUSED_RANGE` e and T have a row a state, else a
        row an entry, and each graph's maximum is subtracted: no quotient depends on it.
    Z_X : (n, F_X) array
    W_D : (F_A F_X, 2) array
    b_D : (2,) array or None
    entries : Entries

    Returns
    -------
    logits : (K, 2) array, of each kind of graph, the first column 0
    cache : TwoClassCache

    Notes
    -----
    2 n F_A F_X floating-point operations, half of what both columns take.
    """
    F_A, F_X = H.shape[1], Z_X.shape[1]
    W = (W_D[:, 1] - W_D[:, 0]).reshape(F_A, F_X)
    T = Z_X @ W.T
    ptr, state, count = entries
    if has_wide_range(H):
        e, T = below_maximum(H, ptr, state), T.take(state, axis=0)
        e, row = np.exp(e, out=e), np.arange(len(state), dtype=state.dtype)
    else:
        e, row = np.exp(H), state
    den, R = quotients_forward(ptr, row, count, e, T)
    logits = np.zeros((len(R), 2), R.dtype)
    R.sum(axis=1, out=logits[:, 1])
    if b_D is not None:
        logits[:, 1] += b_D[1] - b_D[0]
    return logits, TwoClassCache(Z_X, W, T, e, den, R, row, entries, b_D is not None)


def two_class_backward(dlogits: Array, cache: TwoClassCache, out: Array | None = None) -> ReadoutGrads:
    """Return the gradients of H, Z_X, W_D and b_D for a cotangent of the logits; the column of zeros moves nothing.

    The first two are placed in `out`, if given: (2, n, F).
    """
    Z_X, W, T, e, den, R, row, (ptr, state, count), biased = cache
    dz = dlogits[:, 1].copy()
    # logits[:, 1] += b_D[1] - b_D[0]
    db_D = np.stack([-dz.sum(), dz.sum()]) if biased else None
    # logits[:, 1] = sum of R, the quotients of sums over entries
    dH, dZ_X = (np.empty((len(Z_X), F), e.dtype) for F in W.shape) if out is None else out
    dT = np.empty_like(T)
    # T = T[state], H = H[state]
    if row is state:
        quotients_backward(dz, ptr, row, count, e, T, den, R, dH, dT)
    else:
        dL = np.empty_like(e)
        quotients_backward(dz, ptr, row, count, e, T, den, R, dL, dT)
        dH[:], dT = (sum_by_state(x, state, len(Z_X)) for x in (dL, dT))
    # T = Z_X W^T
    np.matmul(dT, W, out=dZ_X)
    dW = (dT.T @ Z_X).ravel()
    # W = W_D[:, 1] - W_D[:, 0]
    dW_D = np.empty((dW.size, 2), dW.dtype)
    dW_D[:, 1] = dW
    np.negative(dW, out=dW_D[:, 0])
    return ReadoutGrads(dH, dZ_X, dW_D, db_D)


def quotients_forward(ptr: Array, row: Array, weight: Array, e: Array, T: Array) -> tuple[Array, Array]:
    """Return den, the sum of weight e[row] over each graph's entries, and R, that of weight (e T)[row] divided by it.

    den is 1 for a graph without entries.
    """
    B, F = len(ptr) - 1, e.shape[1]
    Y = np.stack([e, e * T], axis=1)
    sums = np.zeros((B, 2 * F), Y.dtype)
    add_product(ptr, row, weight, Y.reshape(-1, 2 * F), sums)
    # A graph without nodes has den = 0; elsewhere exp is above 0.
    den = sums[:, :F] + (sums[:, :F] == 0)
    return den, sums[:, F:] / den


def quotients_backward(
    dz: Array, ptr: Array, row: Array, weight: Array, e: Array, T: Array, den: Array, R: Array, dH: Array, dT: Array
) -> None:
    """Put into dH and dT the gradients of H, of which e is the exponential, and of T for a cotangent dz of R's sums."""
    B, F = R.shape
    dsums = np.empty((B, 2, F), e.dtype)
    # R = sums[:, 1] / den
    np.divide(dz[:, None], den, out=dsums[:, 1])
    # den = sums[:, 0]
    np.multiply(dsums[:, 1], -R, out=dsums[:, 0])
    # sums = sums over the graphs' entries of weight Y[row]
    dY = np.zeros((len(e), 2, F), e.dtype)
    add_transposed_product(ptr, row, weight, dsums.reshape(B, 2 * F), dY.reshape(-1, 2 * F))
    # Y[:, 1] = e * T
    np.multiply(dY[:, 1], e, out=dT)
    # Y[:, 0] = e = exp(H), and e stands in Y[:, 1] too
    np.multiply(dY[:, 0], e, out=dH)
    dH += dT * T


def below_maximum(H: Array, ptr: Array, state: Array) -> Array:
    """Return H[state] less its graph's maximum, (n, F) to (E, F); -inf where its exp would not be felt.

    exp of less (2e-13 in float32) adds nothing to a sum; but products with it and with small cotangents can be
    denormal, which takes a processor ten times as long, and so do those that they get into.
    """
    L = H.take(state, axis=0)
    sizes = np.diff(ptr)
    filled = np.flatnonzero(sizes)
    # The greatest real part, so that a complex step passes through.
    L -= np.repeat(np.maximum.reduceat(L.real, ptr[filled], axis=0), sizes[filled], axis=0)
    L[L.real <= math.log(np.finfo(L.dtype).tiny) / 3] = -np.inf
    return L


def sum_by_state(x: Array, state: Array, n: int) -> Array:
    """Add up the entries' rows of each state, (E, F) to (n, F), in the order of the entries.

    Examples
    --------
    >>> sum_by_state(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 1], np.int32), 2).tolist()
    [[1.0], [6.0]]
    """
    sums = np.zeros((n, x.shape[1]), x.dtype)
    one_each = np.arange(len(state) + 1, dtype=state.dtype)
    add_transposed_product(one_each, state, np.ones(len(state), x.dtype), x, sums)
    return sums
