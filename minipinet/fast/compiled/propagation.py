"""Message passing of both stacks, dense products included: `minipinet.fast.propagation` and both layers together."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import prange

from minipinet._array import Array
from minipinet.fast.compiled._jit import compiled, halving, summing

#: Of both stacks; what `SelectedRows` holds, as a plain tuple, which is handed over faster.
Both: TypeAlias = tuple[Array, Array]
Rows: TypeAlias = tuple[Array, Array, Array, Array, Array]
#: Of both stacks: K, the first of a layer's two products (A~ M or M W); H, its output; the entries of A~; and s.
Layer: TypeAlias = tuple[Array, Array, Array, Array]


@halving
def stacks_forward(
    X: Array, W_0: Both, W_1: Both, b_0: Both | None, b_1: Both | None, p: Array, q: Array, lower: Rows, upper: Rows
) -> tuple[Layer, Layer]:
    """Return both layers of both stacks: the network below its readout."""
    first, second = empty_layer(X.shape[1], W_0, lower), empty_layer(len(W_1[0]), W_1, upper)
    for k in prange(2):  # the stacks have nothing in common but X
        stack_forward(k, X, W_0, W_1, b_0, b_1, p, q, lower, upper, first, second)
    return first, second


@compiled
def stack_forward(
    k: int, X: Array, W_0: Both, W_1: Both, b_0: Both | None, b_1: Both | None, p: Array, q: Array,
    lower: Rows, upper: Rows, first: Layer, second: Layer,
) -> None:  # fmt: skip
    # R = relu(message_passing(X))
    layer = first[0][k], first[1][k], first[2][k], first[3][k]
    message_passing_forward(X, W_0[k], None if b_0 is None else b_0[k], p[0, k], q[0, k], True, lower, layer)
    # H_A1, Z_X = message_passing(R), relu(message_passing(R))
    R, layer = first[1][k], (second[0][k], second[1][k], second[2][k], second[3][k])
    message_passing_forward(R, W_1[k], None if b_1 is None else b_1[k], p[1, k], q[1, k], k == 1, upper, layer)


@halving
def stacks_backward(
    dH_1: Array, X: Array, first: Layer, second: Layer, W_0: Both, W_1: Both, b_0: Both | None, b_1: Both | None,
    lower: Rows, upper: Rows, learned: bool,
) -> tuple[Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """Return the gradients of W and b of both layers, and of p and q, (2, 2), a row a layer; dH_1 is changed."""
    (d, h), o = W_0[0].shape, W_1[0].shape[1]
    dW_0, dW_1, dp = np.empty((2, d, h), X.dtype), np.empty((2, h, o), X.dtype), np.zeros((2, 2), X.dtype)
    db_0, db_1, dq = np.zeros((2, h), X.dtype), np.zeros((2, o), X.dtype), np.zeros((2, 2), X.dtype)
    for k in prange(2):
        grads = dW_0[k], dW_1[k], db_0[k], db_1[k]
        stack_backward(k, dH_1[k], X, first, second, W_0, W_1, b_0, b_1, lower, upper, learned, grads, dp, dq)
    return dW_0, dW_1, db_0, db_1, dp, dq


@compiled
def stack_backward(
    k: int, dH_1: Array, X: Array, first: Layer, second: Layer, W_0: Both, W_1: Both, b_0: Both | None,
    b_1: Both | None, lower: Rows, upper: Rows, learned: bool, grads: tuple[Array, Array, Array, Array],
    dp: Array, dq: Array,
) -> None:  # fmt: skip
    dW_0, dW_1, db_0, db_1 = grads
    # H_A1, Z_X = message_passing(R), relu(message_passing(R))
    R, layer = first[1][k], (second[0][k], second[1][k], second[2][k], second[3][k])
    dR, b = np.empty(R.shape, R.dtype), None if b_1 is None else b_1[k]
    dp[1, k], dq[1, k] = message_passing_backward(
        dH_1, R, W_1[k], b, layer, k == 1, learned, True, upper, dR, dW_1, db_1
    )
    # R = relu(message_passing(X))
    layer = first[0][k], first[1][k], first[2][k], first[3][k]
    dX, b = np.empty(X.shape, X.dtype), None if b_0 is None else b_0[k]
    dp[0, k], dq[0, k] = message_passing_backward(dR, X, W_0[k], b, layer, True, learned, False, lower, dX, dW_0, db_0)


@compiled
def empty_layer(F_in: int, W: Both, rows: Rows) -> Layer:
    """Return the tables of a layer of both stacks, to be filled."""
    _, _, weight, at_own, deg = rows
    n_out, n_in, F, dtype = len(at_own), len(deg), W[0].shape[1], weight.dtype
    K = np.empty((2, n_out, F_in) if F_in < F else (2, n_in, F), dtype)
    return K, np.empty((2, n_out, F), dtype), np.empty((2, len(weight)), dtype), np.empty((2, n_in), dtype)


@compiled
def message_passing_forward(
    M: Array, W: Array, b: Array | None, p: float, q: float, relu: bool, rows: Rows, layer: Layer
) -> None:
    """Fill the tables of `layer`, which are those of one stack; A~ on the narrower side of W."""
    K, H, A_tilde, s = layer
    normalise(p, q, rows, A_tilde, s)
    if W.shape[0] < W.shape[1]:
        multiply(A_tilde, M, rows, K)
        dense_product(K, W, H)
    else:
        dense_product(M, W, K)
        multiply(A_tilde, K, rows, H)
    (n, F), zero = H.shape, H.dtype.type(0)
    for i in range(n):
        H_i = H[i]
        if b is not None:
            for f in range(F):
                H_i[f] += b[f]
        if relu:
            for f in range(F):
                # what is not a number stays so
                H_i[f] = zero if H_i[f] < 0 else H_i[f]


@compiled
def message_passing_backward(
    dH: Array, M: Array, W: Array, b: Array | None, layer: Layer, relu: bool, learned: bool, inputs: bool, rows: Rows,
    dM: Array, dW: Array, db: Array,
) -> tuple[float, float]:  # fmt: skip
    """Put the gradients of M (if `inputs`), W and b of one stack into dM, dW and db, and return those of p and q."""
    # dH is changed in place.
    K, H, A_tilde, s = layer
    dp = dq = M.dtype.type(0)
    if relu:
        # H = relu(H)
        relu_backward(dH, H)
    if b is not None:
        # H += b
        for i in range(len(dH)):
            db += dH[i]
    dK = np.empty(K.shape, K.dtype)
    if W.shape[0] < W.shape[1]:
        # H = K W, K = A~ M
        dense_product(K.T, dH, dW)
        if learned or inputs:
            dense_product(dH, W.T, dK)
            dp, dq = multiply_backward(dK, M, K, None, A_tilde, s, learned, rows, dM)
    else:
        # H = A~ K, K = M W
        dp, dq = multiply_backward(dH, K, H, b, A_tilde, s, learned, rows, dK)
        dense_product(M.T, dK, dW)
        if inputs:
            dense_product(dK, W.T, dM)
    return dp, dq


@compiled
def relu_backward(dR: Array, R: Array) -> None:
    """Set dR to 0 where R is not above 0."""
    n, F = R.shape
    zero, one = R.dtype.type(0), R.dtype.type(1)
    for i in range(n):
        dR_i, R_i = dR[i], R[i]
        for f in range(F):
            # a product, so that what is not a number stays so
            dR_i[f] *= one if R_i[f] > 0 else zero


@compiled
def normalise(p: float, q: float, rows: Rows, A_tilde: Array, s: Array) -> None:
    """Put s and the entries of A~ into their places."""
    indptr, indices, weight, at_own, deg = rows
    for j in range(len(deg)):
        # s = (p + (1-p) deg)^(-1/2)
        base = p + (1 - p) * deg[j]
        s[j] = 0 if base == 0 else 1 / np.sqrt(base)
    for i in range(len(at_own)):
        at = at_own[i]
        s_i = s[indices[at]]
        for e in range(indptr[i], indptr[i + 1]):
            # A~_ij = s_i (A + qI)_ij s_j
            A_tilde[e] = s_i * (weight[e] + q if e == at else weight[e]) * s[indices[e]]


@compiled
def multiply(A_tilde: Array, M: Array, rows: Rows, H: Array) -> None:
    """Put A~ M into H."""
    indptr, indices, _, _, _ = rows
    F = M.shape[1]
    for i in range(len(H)):
        # H_i = sum of A~_ij M_j: the row's own entry is always there, so there is a first term
        H_i, start = H[i], indptr[i]
        a_ij, M_j = A_tilde[start], M[indices[start]]
        for f in range(F):
            H_i[f] = a_ij * M_j[f]
        for e in range(start + 1, indptr[i + 1]):
            a_ij, M_j = A_tilde[e], M[indices[e]]
            for f in range(F):
                H_i[f] += a_ij * M_j[f]


@summing
def multiply_backward(
    dH: Array, M: Array, H: Array, b: Array | None, A_tilde: Array, s: Array, learned: bool, rows: Rows, dM: Array
) -> tuple[float, float]:
    """Put the gradient of M into dM, and return those of p and q if `learned`."""
    indptr, indices, _, at_own, deg = rows
    # Of H, b has been added to the product, and a ReLU may have changed it where dH is 0.
    (n_in, F), zero = M.shape, M.dtype.type(0)
    dM[:] = 0
    dp = dq = zero
    for i in range(len(dH)):
        dH_i = dH[i]
        for e in range(indptr[i], indptr[i + 1]):
            # H_i = sum of A~_ij M_j
            a_ij, dM_j = A_tilde[e], dM[indices[e]]
            for f in range(F):
                dM_j[f] += a_ij * dH_i[f]
        if learned:
            own = indices[at_own[i]]
            H_i, M_i, s2, of_row, of_own = H[i], M[own], s[own] * s[own], zero, zero
            for f in range(F):
                of_row += dH_i[f] * (H_i[f] if b is None else H_i[f] - b[f])
                of_own += dH_i[f] * M_i[f]
            # s_i dL/ds_i has <dH_i, H_i>, d ln(s) / dp = -s^2 (1 - deg) / 2; the row's own entry is s_i^2 (A_ii + q)
            dp -= of_row * s2 * (1 - deg[own]) / 2
            dq += of_own * s2
    if learned:
        for j in range(n_in):
            dM_j, M_j, of_column = dM[j], M[j], zero
            for f in range(F):
                of_column += dM_j[f] * M_j[f]
            # s_j dL/ds_j has <dM_j, M_j>
            dp -= of_column * s[j] * s[j] * (1 - deg[j]) / 2
    return dp, dq


@compiled
def dense_product(x: Array, y: Array, out: Array) -> None:
    """Put x y into out."""
    if x.size and y.size:
        np.dot(x, y, out)
    else:  # of no terms
        out[:] = 0
