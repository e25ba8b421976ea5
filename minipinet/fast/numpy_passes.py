"""The passes of `minipinet.fast.passes` in NumPy, a line for each operation, and SciPy's sparse products."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import scipy.sparse

from minipinet._array import Array
from minipinet.params import gate_forward
from minipinet.readout import CrossEntropyCache, log_softmax, softmax_cross_entropy_backward

try:  # The kernels under SciPy's own products. They are not public: without them the public product serves.
    from scipy.sparse._sparsetools import csc_matvecs, csr_matvecs
except ImportError:  # pragma: no cover
    csc_matvecs = csr_matvecs = None


def propagate_forward(
    indptr: Array, indices: Array, weight: Array, at_own: Array, deg: Array, M: Array, p: Array, q: Array
) -> tuple[Array, Array, Array]:
    """Return H_k = A~_k M_k of S stacks, (S, n_out, F); the entries of each A~, (S, nnz); and s, (S, n_in).

    Equation (paper, 3): A~_ij = s_i (A + qI)_ij s_j with s = (p + (1-p) deg)^(-1/2), 0 where the base is 0.
    """
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
    return H, A_tilde, s


def propagate_backward(
    indptr: Array, indices: Array, at_own: Array, deg: Array,
    dH: Array, M: Array, H: Array, A_tilde: Array, s: Array, learned: bool,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return dM, and dp and dq, (S,), which are 0 unless `learned`.

    s_i is a factor of all of row i of H, and s_j of every term that M_j is in, so that
    s_i dL/ds_i = <dH_i, H_i> from the rows and <dM_i, M_i> from the columns.
    """
    # H_k = A~_k M_k
    dM = np.zeros(M.shape, np.result_type(A_tilde, dH))
    for k in range(len(M)):
        add_transposed_product(indptr, indices, A_tilde[k], dH[k], dM[k])
    if not learned:
        return dM, np.zeros(len(M), dM.dtype), np.zeros(len(M), dM.dtype)
    own = indices[at_own]
    # s = (p + (1-p) deg)^(-1/2), so d ln(s) / dp = -s^2 (1 - deg) / 2
    s2 = s * s
    slope = -0.5 * s2 * (1 - deg)
    dp = np.vecdot(np.vecdot(dH, H), slope.take(own, axis=1)) + np.vecdot(np.vecdot(dM, M), slope)
    # the entry at a row's own state is s_i^2 (A_ii + q), i the row's own state
    dq = np.vecdot(np.vecdot(dH, M.take(own, axis=1)), s2.take(own, axis=1))
    return dM, dp, dq


def add_product(indptr: Array, indices: Array, data: Array, M: Array, out: Array) -> None:
    """Add to `out` the product of a CSR matrix and M, (n_in, F) to (n_out, F), entry by entry.

    SciPy's own kernel, without the checks that its matrices make at every product.
    """
    n_out, (n_in, F) = len(indptr) - 1, M.shape
    if csr_matvecs is None or not data.dtype == M.dtype == out.dtype:
        out += scipy.sparse.csr_array((data, indices, indptr), shape=(n_out, n_in)) @ M
    else:
        csr_matvecs(n_out, n_in, F, indptr, indices, data, M.ravel(), out.ravel())


def add_transposed_product(indptr: Array, indices: Array, data: Array, M: Array, out: Array) -> None:
    """Add to `out` the product of the transposed matrix and M, (n_out, F) to (n_in, F), entry by entry."""
    n_out, (n_in, F) = len(indptr) - 1, out.shape
    if csc_matvecs is None or not data.dtype == M.dtype == out.dtype:
        out += scipy.sparse.csr_array((data, indices, indptr), shape=(n_out, n_in)).T @ M
    else:
        csc_matvecs(n_in, n_out, F, indptr, indices, data, M.ravel(), out.ravel())


def relu_backward(dR: Array, R: Array) -> None:
    """Set dR to 0 in place where R, a ReLU's result, is not above 0."""
    dR *= R > 0


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


def quotients_forward(ptr: Array, row: Array, weight: Array, e: Array, T: Array) -> tuple[Array, Array]:
    """Return each graph's R = sum of weight (e T)[row] / den over its entries, and den = sum of weight e[row].

    (den, R), (B, F) each; den is 1 for a graph without entries.
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


def gate(raw: Array) -> Array:
    """Return `minipinet.params.gate_forward` of p_raw or q_raw, (4,)."""
    return gate_forward(raw)[0]


def cross_entropy_forward(Z: Array, kind: Array, y: Array) -> tuple[Array, Array]:
    """Return the mean cross-entropy of graphs of these kinds, and their log-probabilities, (B, C)."""
    log_probabilities = log_softmax(Z)[kind]
    return -log_probabilities[np.arange(len(y)), y].mean(), log_probabilities


def cross_entropy_backward(dloss: Array, log_probabilities: Array, kind: Array, y: Array, K: int) -> Array:
    """Return the gradient of the kinds' logits, (K, C).

    0 in place of what is too small to move a weight (Adam adds 1e-8 to its divisor; 1e-19 in float32): products of such
    numbers can be denormal, which takes a processor ten times as long, and so do the products that these get into:
    with raw attributes as features, where weights of attention span the whole range, all of them.
    """
    dZ = softmax_cross_entropy_backward(dloss, CrossEntropyCache(log_probabilities, y))
    dkinds = np.zeros((K, dZ.shape[1]), dZ.dtype)
    np.add.at(dkinds, kind, dZ)
    dkinds[abs(dkinds) < float(np.finfo(dkinds.dtype).tiny) ** 0.5] = 0
    return dkinds


def pool_forward(ptr: Array, state: Array, e: Array, Z: Array) -> tuple[Array, Array, Array]:
    """Return each graph's P = sum of e^T Z[state] / sum of e over its entries, 1 / the divisor, and Y = [Z[state], 1].

    (B, F_A, F), (B, F_A) and (E, F + 1).
    """
    (E, F_A), F, B = e.shape, Z.shape[1], len(ptr) - 1
    Y = np.empty((E, F + 1), np.result_type(e, Z))
    Y[:, :F] = Z.take(state, axis=0)
    Y[:, F] = 1
    sums = np.empty((B, F_A, F + 1), Y.dtype)
    for g, (i, j) in enumerate(pairwise(ptr.tolist())):
        np.matmul(e[i:j].T, Y[i:j], out=sums[g])
    # A graph without nodes has sums of 0; elsewhere the denominators are above 0.
    inverse = 1 / (sums[:, :, F] + (sums[:, :, F] == 0))
    return sums[:, :, :F] * inverse[:, :, None], inverse, Y


def pool_backward(
    dP: Array, ptr: Array, state: Array, e: Array, Y: Array, P: Array, inverse: Array, dH: Array, dZ: Array
) -> None:
    """Put into dH and dZ the gradients of H and Z for a cotangent dP of P; e is count exp(H[state])."""
    (B, F_A, F), E = P.shape, len(e)
    # P = sums[:, :, :F] inverse
    dsums = np.empty((B, F_A, F + 1), e.dtype)
    np.multiply(dP, inverse[:, :, None], out=dsums[:, :, :F])
    # inverse = 1 / sums[:, :, F]
    dsums[:, :, F] = -np.vecdot(dsums[:, :, :F], P)
    # sums_g = e_g^T Y_g; the last column of Y is constant
    both = np.empty((E, F_A + F), e.dtype)
    for g, (i, j) in enumerate(pairwise(ptr.tolist())):
        np.matmul(Y[i:j], dsums[g].T, out=both[i:j, :F_A])
        np.matmul(e[i:j], dsums[g, :, :F], out=both[i:j, F_A:])
    # e = count exp(H[state])
    both[:, :F_A] *= e
    # Y[:, :F] = Z[state]
    sums = sum_by_state(both, state, len(dH))
    dH[:], dZ[:] = sums[:, :F_A], sums[:, F_A:]
