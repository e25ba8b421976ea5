"""The readout of two classes by one score: `minipinet.fast.readout`."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from minipinet._array import Array
from minipinet.fast.compiled._jit import compiled, halving
from minipinet.fast.compiled.propagation import dense_product


@compiled
def below_maximum(H: Array, ptr: Array, state: Array) -> Array:
    F = H.shape[1]
    least = math.log(np.finfo(H.dtype).tiny) / 3
    L = np.empty((len(state), F), H.dtype)
    top = np.empty(F, H.dtype)
    for g in range(len(ptr) - 1):
        top[:] = -np.inf
        for t in range(ptr[g], ptr[g + 1]):
            H_c = H[state[t]]
            for f in range(F):
                top[f] = H_c[f] if H_c[f] > top[f] else top[f]
        for t in range(ptr[g], ptr[g + 1]):
            H_c, L_t = H[state[t]], L[t]
            for f in range(F):
                x = H_c[f] - top[f]
                L_t[f] = -np.inf if x <= least else x
    return L


@halving
def scores_forward(H_1: Array, W_D: Array, limit: float) -> tuple[Array, Array, bool]:
    """Return W, the difference of W_D's columns; T = Z_X W^T; and whether H has a wide range."""
    (n, F_A), F_X = H_1[0].shape, H_1[1].shape[1]
    # W = W_D[:, 1] - W_D[:, 0]
    w = np.empty(F_A * F_X, H_1.dtype)
    for i in range(len(w)):
        w[i] = W_D[i, 1] - W_D[i, 0]
    W, T, wide = w.reshape(F_A, F_X), np.empty((n, F_A), H_1.dtype), np.zeros(2, np.bool_)
    for half in prange(2):
        c = slice(half * n // 2, (half + 1) * n // 2)
        # T = Z_X W^T
        dense_product(H_1[1][c], W.T, T[c])
        wide[half] = has_wide_range(H_1[0][c], limit)
    return W, T, wide[0] or wide[1]


@compiled
def has_wide_range(H: Array, limit: float) -> bool:
    n, F = H.shape
    beyond = 0
    for c in range(n):
        H_c = H[c]
        for f in range(F):
            beyond += not (-limit <= H_c[f] <= limit)
    return beyond > 0


@compiled
def two_class_forward(
    ptr: Array, row: Array, count: Array, e: Array, T: Array, b_D: Array | None
) -> tuple[Array, Array, Array]:
    den, R = quotients_forward(ptr, row, count, e, T)
    B, F = R.shape
    logits = np.zeros((B, 2), R.dtype)
    for g in range(B):
        z = R.dtype.type(0)
        for f in range(F):
            z += R[g, f]
        logits[g, 1] = z if b_D is None else z + (b_D[1] - b_D[0])
    return den, R, logits


@halving
def two_class_backward(
    dlogits: Array, H_1: Array, ptr: Array, state: Array, row: Array, count: Array, W: Array, T: Array, e: Array,
    den: Array, R: Array, wide: bool,
) -> tuple[Array, Array, Array]:  # fmt: skip
    (F_A, F_X), Z_X = W.shape, H_1[1]
    n, rows, dz = len(Z_X), len(e), dlogits[:, 1].copy()
    dH_1 = np.empty(H_1.shape, W.dtype)
    # logits[:, 1] = sum of R + b_D[1] - b_D[0]
    db_D = difference_backward(dz)
    dnum = quotients_backward(dz, den)
    entries = entries_of_rows(ptr, row, count, rows)
    # Of a wide range e and T have a row an entry: T = T[state], H = H[state].
    dH, dT = np.empty((rows, F_A), W.dtype) if wide else dH_1[0], np.empty((rows, F_A), W.dtype)
    for half in prange(2):
        rows_backward(half * rows // 2, (half + 1) * rows // 2, entries, dnum, R, e, T, dH, dT)
    if wide:
        dH_1[0][:] = 0
        add_by_state(dH, state, dH_1[0])
        of_entries, dT = dT, np.zeros((n, F_A), W.dtype)
        add_by_state(of_entries, state, dT)
    dW = np.empty((2, F_A, F_X), W.dtype)
    for half in prange(2):
        c = slice(half * n // 2, (half + 1) * n // 2)
        # T = Z_X W^T
        dense_product(dT[c], W, dH_1[1][c])
        dense_product(dT[c].T, Z_X[c], dW[half])
    dw, dW_D = (dW[0] + dW[1]).ravel(), np.empty((F_A * F_X, 2), W.dtype)
    # W = W_D[:, 1] - W_D[:, 0]
    for i in range(len(dw)):
        dW_D[i, 0] = -dw[i]
        dW_D[i, 1] = dw[i]
    return dH_1, dW_D, db_D


@compiled
def quotients_forward(ptr: Array, row: Array, weight: Array, e: Array, T: Array) -> tuple[Array, Array]:
    B, F = len(ptr) - 1, e.shape[1]
    den, R = np.zeros((B, F), e.dtype), np.zeros((B, F), e.dtype)
    for g in range(B):
        den_g, R_g = den[g], R[g]
        for t in range(ptr[g], ptr[g + 1]):
            weight_t, e_t, T_t = weight[t], e[row[t]], T[row[t]]
            for f in range(F):
                x = weight_t * e_t[f]
                den_g[f] += x
                R_g[f] += x * T_t[f]
        for f in range(F):
            den_g[f] = 1 if den_g[f] == 0 else den_g[f]
            R_g[f] /= den_g[f]
    return den, R


@compiled
def difference_backward(dz: Array) -> Array:
    """Return the gradient of b_D, of which z has the difference."""
    db_D = np.zeros(2, dz.dtype)
    for x in dz:
        db_D[0] -= x
        db_D[1] += x
    return db_D


@compiled
def quotients_backward(dz: Array, den: Array) -> Array:
    """Return the gradient of the quotients' numerators; that of den is it times -R."""
    dnum = np.empty(den.shape, den.dtype)
    for g in range(len(den)):
        for f in range(den.shape[1]):
            # R = num / den
            dnum[g, f] = dz[g] / den[g, f]
    return dnum


@compiled
def entries_of_rows(ptr: Array, row: Array, count: Array, n: int) -> tuple[Array, Array, Array]:
    """Return the entries of each of n rows, in the order of the graphs: where they start, their graphs and counts.

    The kinds' entries turned over: so that each half of the rows can be written to by one thread.
    """
    start = np.zeros(n + 1, np.int32)
    for t in range(len(row)):
        start[row[t] + 1] += 1
    for c in range(n):
        start[c + 1] += start[c]
    at = start[:n].copy()
    graph, weight = np.empty(len(row), np.int32), np.empty(len(row), count.dtype)
    for g in range(len(ptr) - 1):
        for t in range(ptr[g], ptr[g + 1]):
            graph[at[row[t]]], weight[at[row[t]]] = g, count[t]
            at[row[t]] += 1
    return start, graph, weight


@compiled
def rows_backward(
    first: int, end: int, entries: tuple[Array, Array, Array], dnum: Array, R: Array, e: Array, T: Array,
    dH: Array, dT: Array,
) -> None:  # fmt: skip
    """Put into some rows of dH and dT what their entries' graphs give them."""
    (start, graph, weight), F = entries, e.shape[1]
    for c in range(first, end):
        dH_c, dT_c, e_c, T_c = dH[c], dT[c], e[c], T[c]
        dH_c[:] = 0
        dT_c[:] = 0
        for t in range(start[c], start[c + 1]):
            weight_t, dnum_g, R_g = weight[t], dnum[graph[t]], R[graph[t]]
            for f in range(F):
                x = weight_t * dnum_g[f]
                # num += count e T
                dT_c[f] += x
                # num += count e T, den += count e: T - R is 0 for a state that has all of its graph's attention
                dH_c[f] += x * (T_c[f] - R_g[f])
        for f in range(F):
            # e = exp(H)
            dH_c[f] *= e_c[f]
            dT_c[f] *= e_c[f]


@compiled
def add_by_state(x: Array, state: Array, sums: Array) -> None:
    """Add the entries' rows of x to those of their states."""
    for t in range(len(state)):
        sums_c, x_t = sums[state[t]], x[t]
        for f in range(sums.shape[1]):
            sums_c[f] += x_t[f]
