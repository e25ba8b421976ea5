"""The readout of two classes by one score: the softmax of two logits needs only their difference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.attention_readout import FUSED_RANGE, ReadoutGrads
from minipinet.fast.batch import Entries
from minipinet.fast.passes import passes_of


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
    den: Array  #: (B, F_A)
    R: Array  #: (B, F_A)
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
    logits : (B, 2) array, the first column 0
    cache : TwoClassCache

    Notes
    -----
    2 n F_A F_X floating-point operations, half of what both columns take.
    """
    passes = passes_of(H, Z_X, W_D)
    F_A, F_X = H.shape[1], Z_X.shape[1]
    W = (W_D[:, 1] - W_D[:, 0]).reshape(F_A, F_X)
    T = Z_X @ W.T
    ptr, state, count = entries
    if has_wide_range(H):
        e, T = passes.below_maximum(H, ptr, state), T.take(state, axis=0)
        e, row = np.exp(e, out=e), np.arange(len(state), dtype=state.dtype)
    else:
        e, row = np.exp(H), state
    den, R = passes.quotients_forward(ptr, row, count, e, T)
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
    passes = passes_of(dlogits, e, T)
    dz = dlogits[:, 1].copy()
    # logits[:, 1] += b_D[1] - b_D[0]
    db_D = np.stack([-dz.sum(), dz.sum()]) if biased else None
    # logits[:, 1] = sum of R, the quotients of sums over entries
    dH, dZ_X = (np.empty((len(Z_X), F), e.dtype) for F in W.shape) if out is None else out
    dT = np.empty_like(T)
    # T = T[state], H = H[state]
    if row is state:
        passes.quotients_backward(dz, ptr, row, count, e, T, den, R, dH, dT)
    else:
        dL = np.empty_like(e)
        passes.quotients_backward(dz, ptr, row, count, e, T, den, R, dL, dT)
        dH[:], dT = (passes.sum_by_state(x, state, len(Z_X)) for x in (dL, dT))
    # T = Z_X W^T
    np.matmul(dT, W, out=dZ_X)
    dW = (dT.T @ Z_X).ravel()
    # W = W_D[:, 1] - W_D[:, 0]
    dW_D = np.empty((dW.size, 2), dW.dtype)
    dW_D[:, 1] = dW
    np.negative(dW, out=dW_D[:, 0])
    return ReadoutGrads(dH, dZ_X, dW_D, db_D)
