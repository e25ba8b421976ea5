"""Message passing of both stacks at once: every table has an axis of length 2 before it, attention, then features."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.fast.csr import Structure, times, times_transposed


class Layer(NamedTuple):
    """One layer's view of a batch for both stacks: the matrix diag(A, A), whose entries p and q decide."""

    A: Structure  #: (2 n_out, 2 n_in)
    weight: Array  #: (2 nnz,) entries of diag(A, A); one, maybe 0, at each row's own state
    row: Array  #: (2 nnz,) int, column of the own state of each entry's row
    column: Array  #: (2 nnz,) int, column of each entry
    at_own: Array  #: (2 n_out,) int, position of each row's entry at its own state in `weight`
    own: Array  #: (2 n_out,) int, column of each row's own state
    deg: Array  #: (n_in,) degree of each column of one A


class PropagateCache(NamedTuple):
    """What `propagate_backward` needs."""

    M: Array
    H: Array
    entries: Array  #: (2 nnz,) of both A~
    s: Array  #: (2, n_in)
    layer: Layer


class PropagateGrads(NamedTuple):
    """Gradients of `propagate_forward`'s arguments; dp and dq are None if they were not asked for."""

    dM: Array
    dp: Array | None
    dq: Array | None


def propagate_forward(M: Array, p: Array, q: Array, layer: Layer) -> tuple[Array, PropagateCache]:
    """Multiply each stack's table by its A~: H_k = A~(p_k, q_k) M_k.

    Equation (paper, 3): A~_ij = s_i (A + qI)_ij s_j with s = (p + (1-p) deg)^(-1/2), 0 where the base is 0. Here the
    entries of both A~ are formed, which takes nnz(A) steps and not a pass over each table.

    Parameters
    ----------
    M : (2, n_in, F) array, C-contiguous
    p, q : (2,) arrays in [0, 1], of the attention stack and of the features stack
    layer : Layer

    Returns
    -------
    H : (2, n_out, F) array
    cache : PropagateCache
        2 (nnz(A) + n_in) numbers beyond M and H.
    """
    xp, F = xp_of(M), M.shape[2]
    base = p[:, None] + (1 - p[:, None]) * layer.deg
    lone = base == 0
    s = 1 / xp.sqrt(base + lone)
    s[lone] = 0
    # A + qI, then times s_i s_j
    entries = layer.weight.astype(xp.result_type(layer.weight, s, q))
    entries[layer.at_own] += xp.repeat(q, len(layer.own) // 2)
    entries *= s.ravel()[layer.row]
    entries *= s.ravel()[layer.column]
    H = times(layer.A, entries, M.reshape(-1, F)).reshape(2, -1, F)
    return H, PropagateCache(M, H, entries, s, layer)


def propagate_backward(dH: Array, cache: PropagateCache, learned: bool = True) -> PropagateGrads:
    """Return the gradients of M, p and q for a cotangent dH of H; dp and dq only if `learned`.

    s_i is a factor of every term of row i of H and s_j of every term that M_j is in, so that
    s_i dL/ds_i = <dH_i, H_i> from the rows and <dM_i, M_i> from the columns.
    """
    M, H, entries, s, layer = cache
    xp, F = xp_of(M), M.shape[2]
    # H_k = A~_k M_k
    dM = times_transposed(layer.A, entries, dH.reshape(-1, F)).reshape(M.shape)
    if not learned:
        return PropagateGrads(dM, None, None)
    # s = (p + (1-p) deg)^(-1/2), so d ln(s) / dp = -s^2 (1 - deg) / 2
    s2 = s * s
    dlog_s = -0.5 * s2 * (1 - layer.deg)
    rows = xp.vecdot(dH, H)
    dp = xp.vecdot(rows, dlog_s.ravel()[layer.own].reshape(rows.shape)) + xp.vecdot(xp.vecdot(dM, M), dlog_s)
    # the entry at a row's own state is s_i^2 (A_ii + q), i the row's own state
    own = xp.vecdot(dH, M.reshape(-1, F).take(layer.own, axis=0).reshape(dH.shape))
    dq = xp.vecdot(own, s2.ravel()[layer.own].reshape(own.shape))
    return PropagateGrads(dM, dp, dq)


class MessagePassingCache(NamedTuple):
    """What `message_passing_backward` needs: the input of the product with W, and the propagation's cache."""

    K: Array  #: (2, n_out, F_in) A~ M if A~ was applied first, else M
    W: Array
    b: Array | None
    propagate: PropagateCache


class MessagePassingGrads(NamedTuple):
    """Gradients of `message_passing_forward`'s arguments; None for what is absent or was not asked for."""

    dM: Array | None
    dW: Array
    db: Array | None
    dp: Array | None
    dq: Array | None


def message_passing_forward(
    M: Array, W: Array, b: Array | None, p: Array, q: Array, layer: Layer
) -> tuple[Array, MessagePassingCache]:
    """Apply a layer of each stack before its activation: H_k = A~_k M_k W_k (+ b_k), A~ on the narrower side of W.

    Equation (paper, 1 to 4).

    Parameters
    ----------
    M : (2, n_in, F_in) array
    W : (2, F_in, F_out) array
    b : (2, F_out) array or None
    p, q : (2,) arrays in [0, 1]
    layer : Layer

    Returns
    -------
    H : (2, n_out, F_out) array
    cache : MessagePassingCache
    """
    if W.shape[1] < W.shape[2]:
        K, propagate = propagate_forward(M, p, q, layer)
        H = K @ W
    else:
        K = M
        H, propagate = propagate_forward(M @ W, p, q, layer)
    if b is not None:
        H = H + b[:, None]
    return H, MessagePassingCache(K, W, b, propagate)


def message_passing_backward(
    dH: Array, cache: MessagePassingCache, *, learned: bool = True, inputs: bool = True
) -> MessagePassingGrads:
    """Return the gradients of M, W, b, p and q for a cotangent dH; of p, q and M only if `learned` and `inputs`."""
    K, W, b, propagate = cache
    # H += b
    db = None if b is None else dH.sum(axis=1)
    if W.shape[1] < W.shape[2]:
        # H = K W, K = A~ M
        dW = K.transpose(0, 2, 1) @ dH
        if not (learned or inputs):
            return MessagePassingGrads(None, dW, db, None, None)
        dM, dp, dq = propagate_backward(dH @ W.transpose(0, 2, 1), propagate, learned)
    else:
        # H = A~ (M W), K = M
        dMW, dp, dq = propagate_backward(dH, propagate, learned)
        dW = K.transpose(0, 2, 1) @ dMW
        dM = dMW @ W.transpose(0, 2, 1) if inputs else None
    return MessagePassingGrads(dM, dW, db, dp, dq)
