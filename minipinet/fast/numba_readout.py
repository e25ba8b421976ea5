"""The compiled passes of the readouts; see `minipinet.fast.numba_passes`."""

from __future__ import annotations

import math

import numpy as np

from minipinet._array import Array
from minipinet.fast._jit import compiled, summing


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


@compiled
def sum_by_state(x: Array, state: Array, n: int) -> Array:
    F = x.shape[1]
    sums = np.zeros((n, F), x.dtype)
    for t in range(len(state)):
        sums_c, x_t = sums[state[t]], x[t]
        for f in range(F):
            sums_c[f] += x_t[f]
    return sums


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
def quotients_backward(
    dz: Array, ptr: Array, row: Array, weight: Array, e: Array, T: Array, den: Array, R: Array, dH: Array, dT: Array
) -> None:
    (n, F), B = e.shape, len(ptr) - 1
    dnum, dden = np.empty_like(R), np.empty_like(R)
    for g in range(B):
        for f in range(F):
            # R = num / den
            dnum[g, f] = dz[g] / den[g, f]
            dden[g, f] = -dnum[g, f] * R[g, f]
    # The entries of each row of e, in the order of the graphs.
    end = np.zeros(n + 1, np.int32)
    for t in range(len(row)):
        end[row[t] + 1] += 1
    for c in range(n):
        end[c + 1] += end[c]
    start = end[:n].copy()
    graph, count = np.empty(len(row), np.int32), np.empty(len(row), weight.dtype)
    for g in range(B):
        for t in range(ptr[g], ptr[g + 1]):
            at = start[row[t]]
            graph[at], count[at] = g, weight[t]
            start[row[t]] += 1
    for c in range(n):
        dH_c, dT_c, e_c, T_c = dH[c], dT[c], e[c], T[c]
        dH_c[:] = 0
        dT_c[:] = 0
        for at in range(end[c], end[c + 1]):
            count_g, dden_g, dnum_g = count[at], dden[graph[at]], dnum[graph[at]]
            for f in range(F):
                # den += count e, num += count e T
                dH_c[f] += count_g * dden_g[f]
                dT_c[f] += count_g * dnum_g[f]
        for f in range(F):
            # e = exp(H)
            dH_c[f] = (dH_c[f] + dT_c[f] * T_c[f]) * e_c[f]
            dT_c[f] *= e_c[f]


@compiled
def pool_forward(ptr: Array, state: Array, e: Array, Z: Array) -> tuple[Array, Array, Array]:
    (E, F_A), F, B = e.shape, Z.shape[1], len(ptr) - 1
    Y = np.empty((E, F + 1), e.dtype)
    for t in range(E):
        Y_t, Z_c = Y[t], Z[state[t]]
        for f in range(F):
            Y_t[f] = Z_c[f]
        Y_t[F] = 1
    P, inverse = np.empty((B, F_A, F), e.dtype), np.empty((B, F_A), e.dtype)
    sums = np.empty((F_A, F + 1), e.dtype)
    for g in range(B):
        i, j = ptr[g], ptr[g + 1]
        if i == j:
            sums[:] = 0
        else:
            np.dot(e[i:j].T, Y[i:j], sums)
        for h in range(F_A):
            P_h, sums_h = P[g, h], sums[h]
            over = 1 / (1 if sums_h[F] == 0 else sums_h[F])
            inverse[g, h] = over
            for f in range(F):
                P_h[f] = sums_h[f] * over
    return P, inverse, Y


@summing
def pool_backward(
    dP: Array, ptr: Array, state: Array, e: Array, Y: Array, P: Array, inverse: Array, dH: Array, dZ: Array
) -> None:
    B, F_A, F = P.shape
    dH[:] = 0
    dZ[:] = 0
    dsums = np.empty((F_A, F + 1), e.dtype)
    longest = 0
    for g in range(B):
        longest = max(longest, ptr[g + 1] - ptr[g])
    de, dY = np.empty((longest, F_A), e.dtype), np.empty((longest, F + 1), e.dtype)
    for g in range(B):
        i, j = ptr[g], ptr[g + 1]
        if i == j:
            continue
        for h in range(F_A):
            dP_h, P_h, dsums_h, over = dP[g, h], P[g, h], dsums[h], inverse[g, h]
            # P = sums[:, :F] / sums[:, F]
            dden = e.dtype.type(0)
            for f in range(F):
                x = dP_h[f] * over
                dsums_h[f] = x
                dden -= x * P_h[f]
            dsums_h[F] = dden
        # sums = e^T Y, the last column of Y constant
        np.dot(Y[i:j], dsums.T, de[: j - i])
        np.dot(e[i:j], dsums, dY[: j - i])
        for t in range(i, j):
            dH_c, dZ_c, de_t, dY_t, e_t = dH[state[t]], dZ[state[t]], de[t - i], dY[t - i], e[t]
            for f in range(F_A):
                # e = count exp(H[state])
                dH_c[f] += de_t[f] * e_t[f]
            for f in range(F):
                # Y = Z[state]
                dZ_c[f] += dY_t[f]
