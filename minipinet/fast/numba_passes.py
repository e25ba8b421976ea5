"""The passes of `minipinet.fast.passes` compiled: the loops that `numpy_passes` has in its calls, a row at a time.

Sums run in the order of the entries; a sum along a row may be taken in the order that suits the processor, the same in
every run. Arrays are C-contiguous, all floats of one dtype.
"""

from __future__ import annotations

import math

import numpy as np

from minipinet._array import Array
from minipinet.fast._jit import compiled, summing
from minipinet.fast.numba_readout import (
    below_maximum,
    pool_backward,
    pool_forward,
    quotients_backward,
    quotients_forward,
    sum_by_state,
)

__all__ = [
    "adam",
    "below_maximum",
    "cross_entropy_backward",
    "cross_entropy_forward",
    "gate",
    "pool_backward",
    "pool_forward",
    "propagate_backward",
    "propagate_forward",
    "quotients_backward",
    "quotients_forward",
    "relu_backward",
    "sum_by_state",
]


@compiled
def propagate_forward(
    indptr: Array, indices: Array, weight: Array, at_own: Array, deg: Array, M: Array, p: Array, q: Array
) -> tuple[Array, Array, Array]:
    n_out, (S, n_in, F) = len(at_own), M.shape
    H, s = np.empty((S, n_out, F), M.dtype), np.empty((S, n_in), M.dtype)
    A_tilde = np.empty((S, len(weight)), M.dtype)
    for k in range(S):
        p_k, q_k, s_k, M_k, A_tilde_k = p[k], q[k], s[k], M[k], A_tilde[k]
        for j in range(n_in):
            # s = (p + (1-p) deg)^(-1/2)
            base = p_k + (1 - p_k) * deg[j]
            s_k[j] = 0 if base == 0 else 1 / np.sqrt(base)
        for i in range(n_out):
            at, H_i = at_own[i], H[k, i]
            s_i = s_k[indices[at]]
            H_i[:] = 0
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                M_j = M_k[j]
                # A~_ij = s_i (A + qI)_ij s_j
                a_ij = s_i * (weight[e] + q_k if e == at else weight[e]) * s_k[j]
                A_tilde_k[e] = a_ij
                # H_i = sum of A~_ij M_j
                for f in range(F):
                    H_i[f] += a_ij * M_j[f]
    return H, A_tilde, s


@summing
def propagate_backward(
    indptr: Array, indices: Array, at_own: Array, deg: Array,
    dH: Array, M: Array, H: Array, A_tilde: Array, s: Array, learned: bool,
) -> tuple[Array, Array, Array]:  # fmt: skip
    n_out, (S, n_in, F) = len(at_own), M.shape
    dM, dp, dq = np.zeros((S, n_in, F), M.dtype), np.zeros(S, M.dtype), np.zeros(S, M.dtype)
    dlog_s = np.empty(n_in, M.dtype)
    # H is not needed: <dH_i, H_i> and <dM_j, M_j> are the sums of A~_ij <dH_i, M_j> over a row and over a column.
    for k in range(S):
        M_k, dM_k, s_k, A_tilde_k = M[k], dM[k], s[k], A_tilde[k]
        dp_k = dq_k = M.dtype.type(0)
        dlog_s[:] = 0
        for i in range(n_out):
            dH_i, at, dlog_s_i = dH[k, i], at_own[i], M.dtype.type(0)
            for e in range(indptr[i], indptr[i + 1]):
                a_ij, j = A_tilde_k[e], indices[e]
                dM_j, M_j = dM_k[j], M_k[j]
                # H_i = sum of A~_ij M_j
                if not learned:
                    for f in range(F):
                        dM_j[f] += a_ij * dH_i[f]
                    continue
                da_ij = M.dtype.type(0)
                for f in range(F):
                    dM_j[f] += a_ij * dH_i[f]
                    da_ij += dH_i[f] * M_j[f]
                # A~_ij = s_i (A + qI)_ij s_j
                dlog_s_i += a_ij * da_ij
                dlog_s[j] += a_ij * da_ij
                if e == at:
                    dq_k += s_k[j] * s_k[j] * da_ij
            dlog_s[indices[at]] += dlog_s_i
        for j in range(n_in):
            # s = (p + (1-p) deg)^(-1/2)
            dp_k -= dlog_s[j] * s_k[j] * s_k[j] * (1 - deg[j]) / 2
        dp[k], dq[k] = dp_k, dq_k
    return dM, dp, dq


@compiled
def relu_backward(dR: Array, R: Array) -> None:
    S, n, F = dR.shape
    for k in range(S):
        for i in range(n):
            dR_i, R_i = dR[k, i], R[k, i]
            for f in range(F):
                # a product, so that what is not a number stays so
                dR_i[f] *= 1 if R_i[f] > 0 else 0


@compiled
def gate(raw: Array) -> Array:
    p = np.empty_like(raw)
    least = np.finfo(raw.dtype).epsneg
    for k in range(len(raw)):
        p[k] = min(max(1 / (1 + math.exp(-4 * raw[k])), least), 1 - least)
    return p


@compiled
def cross_entropy_forward(Z: Array, kind: Array, y: Array) -> tuple[float, Array]:
    (K, C), B = Z.shape, len(y)
    of_kinds = np.empty((K, C), Z.dtype)
    for k in range(K):
        top = Z[k].argmax()
        rest = 0.0
        for c in range(C):
            if c != top:
                rest += math.exp(Z[k, c] - Z[k, top])
        for c in range(C):
            of_kinds[k, c] = Z[k, c] - Z[k, top] - math.log1p(rest)
    log_probabilities = np.empty((B, C), Z.dtype)
    loss = 0.0
    for g in range(B):
        log_probabilities[g] = of_kinds[kind[g]]
        loss -= log_probabilities[g, y[g]]
    return loss / B, log_probabilities


@compiled
def cross_entropy_backward(dloss: float, log_probabilities: Array, kind: Array, y: Array, K: int) -> Array:
    B, C = log_probabilities.shape
    dkinds = np.zeros((K, C), log_probabilities.dtype)
    for g in range(B):
        for c in range(C):
            x = log_probabilities[g, c]
            # softmax - 1 without cancellation
            dkinds[kind[g], c] += (math.expm1(x) if c == y[g] else math.exp(x)) * dloss / B
    least = math.sqrt(np.finfo(dkinds.dtype).tiny)
    for k in range(K):
        for c in range(C):
            if abs(dkinds[k, c]) < least:
                dkinds[k, c] = 0
    return dkinds


@compiled
def adam(
    w: Array, g: Array, m: Array, v: Array, lr: float, beta1: float, beta2: float, eps: float, c1: float, c2: float
) -> tuple[Array, Array, Array]:
    one = w.dtype.type
    lr_, beta1_, beta2_, eps_, c1_, c2_ = one(lr), one(beta1), one(beta2), one(eps), one(c1), one(c2)
    rest1, rest2 = one(1 - beta1), one(1 - beta2)
    # In C order whatever the order of w: what ravel() gives of these is no copy.
    new_w, new_m, new_v = np.empty(w.shape, w.dtype), np.empty(w.shape, w.dtype), np.empty(w.shape, w.dtype)
    w_, g_, m_, v_ = w.ravel(), g.ravel(), m.ravel(), v.ravel()
    new_w_, new_m_, new_v_ = new_w.ravel(), new_m.ravel(), new_v.ravel()
    for i in range(w_.size):
        m_i = beta1_ * m_[i] + rest1 * g_[i]
        v_i = beta2_ * v_[i] + rest2 * (g_[i] * g_[i])
        new_m_[i], new_v_[i] = m_i, v_i
        new_w_[i] = w_[i] - lr_ * (m_i / c1_) / (np.sqrt(v_i / c2_) + eps_)
    return new_w, new_m, new_v
