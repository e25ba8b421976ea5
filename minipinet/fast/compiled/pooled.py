"""The readout of any number of classes: `minipinet.fast.pooled`."""

from __future__ import annotations

import numpy as np
from numba import prange

from minipinet._array import Array
from minipinet.fast.compiled._jit import compiled, halving, summing
from minipinet.fast.compiled.propagation import dense_product
from minipinet.fast.compiled.readout import add_by_state


@halving
def pooled_forward(
    ptr: Array, state: Array, count: Array, e: Array, Z: Array, W_D: Array, b_D: Array | None
) -> tuple[Array, Array, Array, Array]:
    # e, exp(H[state]), becomes count exp(H[state]) in place.
    E, F_A = e.shape
    F, B, C, dtype = Z.shape[1], len(ptr) - 1, W_D.shape[1], e.dtype
    Y, P, inverse = np.empty((E, F + 1), dtype), np.empty((B, F_A * F), dtype), np.empty((B, F_A), dtype)
    logits = np.empty((B, C), dtype)
    for half in prange(2):
        graphs_forward(half * B // 2, (half + 1) * B // 2, ptr, state, count, e, Z, Y, P, inverse)
    # logits = vec(P) W_D + b_D
    dense_product(P, W_D, logits)
    if b_D is not None:
        add_to_rows(logits, b_D)
    return Y, P, inverse, logits


@compiled
def graphs_forward(
    first: int, end: int, ptr: Array, state: Array, count: Array, e: Array, Z: Array,
    Y: Array, P: Array, inverse: Array,
) -> None:  # fmt: skip
    F_A, F = e.shape[1], Z.shape[1]
    sums = np.empty((F_A, F + 1), e.dtype)
    for g in range(first, end):
        i, j = ptr[g], ptr[g + 1]
        for t in range(i, j):
            e_t, Y_t, Z_c, count_t = e[t], Y[t], Z[state[t]], count[t]
            for f in range(F_A):
                e_t[f] *= count_t
            # Y = [Z[state], 1]
            for f in range(F):
                Y_t[f] = Z_c[f]
            Y_t[F] = 1
        # sums = e^T Y, P = sums[:, :F] / sums[:, F]
        dense_product(e[i:j].T, Y[i:j], sums)
        for h in range(F_A):
            P_h, sums_h = P[g, h * F : h * F + F], sums[h]
            over = 1 / (1 if sums_h[F] == 0 else sums_h[F])
            inverse[g, h] = over
            for f in range(F):
                P_h[f] = sums_h[f] * over


@halving
def pooled_backward(
    dlogits: Array, W_D: Array, H_1: Array, ptr: Array, state: Array, e: Array, Y: Array, P: Array, inverse: Array
) -> tuple[Array, Array, Array]:
    E, F_A = e.shape
    B, C = dlogits.shape
    F, dtype = Y.shape[1] - 1, e.dtype
    # logits = vec(P) W_D + b_D
    db_D = sum_of_rows(dlogits)
    dW_D, dP = np.empty((C, F_A * F), dtype), np.empty((B, F_A * F), dtype)
    dense_product(dlogits.T, P, dW_D)
    dense_product(dlogits, W_D.T, dP)
    de, dY, dH_1 = np.empty((E, F_A), dtype), np.empty((E, F + 1), dtype), np.zeros(H_1.shape, dtype)
    for half in prange(2):
        graphs_backward(half * B // 2, (half + 1) * B // 2, ptr, e, Y, P, inverse, dP, de, dY)
    for k in prange(2):
        # e = count exp(H[state]), Y = Z[state]
        add_by_state(de if k == 0 else dY, state, dH_1[k])
    return dH_1, dW_D.T.copy(), db_D


@compiled
def add_to_rows(x: Array, b: Array) -> None:
    for row in x:
        row += b


@compiled
def sum_of_rows(x: Array) -> Array:
    total = np.zeros(x.shape[1], x.dtype)
    for row in x:
        total += row
    return total


@summing
def graphs_backward(
    first: int, end: int, ptr: Array, e: Array, Y: Array, P: Array, inverse: Array, dP: Array, de: Array, dY: Array
) -> None:
    F_A, F = e.shape[1], Y.shape[1] - 1
    dsums = np.empty((F_A, F + 1), e.dtype)
    for g in range(first, end):
        i, j = ptr[g], ptr[g + 1]
        for h in range(F_A):
            dP_h, P_h, dsums_h = dP[g, h * F : h * F + F], P[g, h * F : h * F + F], dsums[h]
            over, dden = inverse[g, h], e.dtype.type(0)
            # P = sums[:, :F] / sums[:, F]
            for f in range(F):
                x = dP_h[f] * over
                dsums_h[f] = x
                dden -= x * P_h[f]
            dsums_h[F] = dden
        # sums = e^T Y, the last column of Y constant
        dense_product(Y[i:j], dsums.T, de[i:j])
        dense_product(e[i:j], dsums, dY[i:j])
        for t in range(i, j):
            de_t, e_t = de[t], e[t]
            for f in range(F_A):
                # e = count exp(H): from here on de is the gradient of H
                de_t[f] *= e_t[f]
