"""Message passing of both stacks at once: every table has an axis of length 2 before it, attention, then features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.batch import SelectedRows
from minipinet.fast.products import add_product, add_transposed_product, dense_products


class PropagateCache(NamedTuple):
    """What `propagate_backward` needs."""

    M: Array
    H: Array
    A_tilde: Array  #: (2, nnz) its entries in each stack
    s: Array  #: (2, n_in)
    rows: SelectedRows


class PropagateGrads(NamedTuple):
    """Gradients of `propagate_forward`'s arguments; dp and dq are None if they were not asked for."""

    dM: Array
    dp: Array | None
    dq: Array | None


def propagate_forward(M: Array, p: Array, q: Array, rows: SelectedRows) -> tuple[Array, PropagateCache]:
    """Multiply each stack's table by its A~: H_k = A~(p_k, q_k) M_k.

    Equation (paper, 3): A~_ij = s_i (A + qI)_ij s_j with s = (p + (1-p) deg)^(-1/2), 0 where the base is 0. Here the
    entries of both A~ are formed, which takes nnz(A) steps and not a pass over each table.

    Parameters
    ----------
    M : (2, n_in, F) array, C-contiguous
    p, q : (2,) arrays in [0, 1], of the attention stack and of the features stack
    rows : SelectedRows

    Returns
    -------
    H : (2, n_out, F) array
    cache : PropagateCache
        2 (nnz(A) + n_in) numbers beyond M and H.
    """
    indptr, indices, weight, at_own, deg = rows
    base = p[:, None] + (1 - p[:, None]) * deg
    lone = base == 0
    s = 1 / np.sqrt(base + lone)
    s[lone] = 0
    row_own = np.repeat(indices[at_own], np.diff(indptr))  # of each entry, its row's own column
    A_tilde = np.empty((len(p), len(weight)), np.result_type(weight, s, q))
    # A + qI, then times s_i s_j
    A_tilde[:] = weight
    A_tilde[:, at_own] += q[:, None]
    A_tilde *= s.take(row_own, axis=1)
    A_tilde *= s.take(indices, axis=1)
    H = np.zeros((len(M), len(at_own), M.shape[2]), np.result_type(A_tilde, M))
    for k in range(len(M)):
        add_product(indptr, indices, A_tilde[k], M[k], H[k])
    return H, PropagateCache(M, H, A_tilde, s, rows)


def propagate_backward(dH: Array, cache: PropagateCache, learned: bool = True) -> PropagateGrads:
    """Return the gradients of M, p and q for a cotangent dH of H; dp and dq only if `learned`.

    s_i is a factor of every term of row i of H and s_j of every term that M_j is in, so that
    s_i dL/ds_i = <dH_i, H_i> from the rows and <dM_i, M_i> from the columns.
    """
    M, H, A_tilde, s, (indptr, indices, _, at_own, deg) = cache
    # H_k = A~_k M_k
    dM = np.zeros(M.shape, np.result_type(A_tilde, dH))
    for k in range(len(M)):
        add_transposed_product(indptr, indices, A_tilde[k], dH[k], dM[k])
    if not learned:
        return PropagateGrads(dM, None, None)
    own = indices[at_own]
    # s = (p + (1-p) deg)^(-1/2), so d ln(s) / dp = -s^2 (1 - deg) / 2
    s2 = s * s
    slope = -0.5 * s2 * (1 - deg)
    dp = np.vecdot(np.vecdot(dH, H), slope.take(own, axis=1)) + np.vecdot(np.vecdot(dM, M), slope)
    # the entry at a row's own state is s_i^2 (A_ii + q), i the row's own state
    dq = np.vecdot(np.vecdot(dH, M.take(own, axis=1)), s2.take(own, axis=1))
    return PropagateGrads(dM, dp, dq)


class MessagePassingCache(NamedTuple):
    """What `message_passing_backward` needs: the input of the product with W, and the propagation's cache."""

    K: Array  #: (2, n_out, F_in) A~ M if A~ was applied first, else M
    W: Sequence[Array]
    b: Sequence[Array] | None
    propagate: PropagateCache


class MessagePassingGrads(NamedTuple):
    """Gradients of `message_passing_forward`'s arguments; None for what is absent or was not asked for."""

    dM: Array | None
    dW: Array
    db: Array | None
    dp: Array | None
    dq: Array | None


def message_passing_forward(
    M: Array, W: Sequence[Array], b: Sequence[Array] | None, p: Array, q: Array, rows: SelectedRows
) -> tuple[Array, MessagePassingCache]:
    """Apply a layer of each stack before its activation: H_k = A~_k M_k W_k (+ b_k), A~ on the narrower side of W.

    Equation (paper, 1 to 4).

    Parameters
    ----------
    M : (2, n_in, F_in) array
    W : (2, F_in, F_out) array, or both matrices
    b : (2, F_out) array, or both vectors, or None
    p, q : (2,) arrays in [0, 1]
    rows : SelectedRows

    Returns
    -------
    H : (2, n_out, F_out) array
    cache : MessagePassingCache
    """
    if W[0].shape[0] < W[0].shape[1]:
        K, propagate = propagate_forward(M, p, q, rows)
        H = dense_products(K, W)
    else:
        K = M
        H, propagate = propagate_forward(dense_products(M, W), p, q, rows)
    if b is not None:
        H = H + np.stack(b)[:, None]  # the cache holds H
    return H, MessagePassingCache(K, W, b, propagate)


def message_passing_backward(
    dH: Array, cache: MessagePassingCache, *, learned: bool = True, inputs: bool = True
) -> MessagePassingGrads:
    """Return the gradients of M, W, b, p and q for a cotangent dH; of p, q and M only if `learned` and `inputs`."""
    K, W, b, propagate = cache
    # H += b
    db = None if b is None else dH.sum(axis=1)
    if W[0].shape[0] < W[0].shape[1]:
        # H = K W, K = A~ M
        dW = dense_products(K.transpose(0, 2, 1), dH)
        if not (learned or inputs):
            return MessagePassingGrads(None, dW, db, None, None)
        dM, dp, dq = propagate_backward(dense_products(dH, [x.T for x in W]), propagate, learned)
    else:
        # H = A~ (M W), K = M
        dMW, dp, dq = propagate_backward(dH, propagate, learned)
        dW = dense_products(K.transpose(0, 2, 1), dMW)
        dM = dense_products(dMW, [x.T for x in W]) if inputs else None
    return MessagePassingGrads(dM, dW, db, dp, dq)
