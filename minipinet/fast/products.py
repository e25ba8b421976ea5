"""Products into given tables: SciPy's sparse kernels without its matrices' checks, and dense ones of both stacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from minipinet._array import Array

try:  # The kernels under SciPy's own products. They are not public: without them the public product serves.
    from scipy.sparse._sparsetools import csc_matvecs, csr_matvecs
except ImportError:  # pragma: no cover
    csc_matvecs = csr_matvecs = None


def add_product(indptr: Array, indices: Array, data: Array, M: Array, out: Array) -> None:
    """Add to `out` the product of a CSR matrix and M, (n_in, F) to (n_out, F), entry by entry."""
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


def dense_products(x: Sequence[Array], y: Sequence[Array]) -> Array:
    """Return the products of two pairs of matrices, (2, m, n), without placing the matrices in one array before."""
    out = np.empty((2, x[0].shape[0], y[0].shape[1]), np.result_type(x[0], y[0]))
    for k in range(2):
        np.matmul(x[k], y[k], out=out[k])
    return out
