"""The cross-entropy of kinds of graph as in `minipinet.fast.model`, and the gates of p and q."""

from __future__ import annotations

import math

import numpy as np

from minipinet._array import Array
from minipinet.fast.compiled._jit import compiled


@compiled
def gates_forward(p_raw: Array, q_raw: Array) -> tuple[Array, Array]:
    # (2, 2) each, a row a layer, a column a stack
    p, q = np.empty((2, 2), p_raw.dtype), np.empty((2, 2), p_raw.dtype)
    least = np.finfo(p_raw.dtype).epsneg
    for raw, values in ((p_raw, p), (q_raw, q)):
        for k in range(4):
            values[k % 2, k // 2] = min(max(1 / (1 + math.exp(-4 * raw[k])), least), 1 - least)
    return p, q


@compiled
def gates_backward(dp: Array, dq: Array, p: Array, q: Array) -> tuple[Array, Array]:
    dp_raw, dq_raw = np.empty(4, p.dtype), np.empty(4, p.dtype)
    for layer in range(2):
        for k in range(2):
            # p = 1 / (1 + exp(-4 raw))
            dp_raw[2 * k + layer] = 4 * dp[layer, k] * p[layer, k] * (1 - p[layer, k])
            dq_raw[2 * k + layer] = 4 * dq[layer, k] * q[layer, k] * (1 - q[layer, k])
    return dp_raw, dq_raw


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
