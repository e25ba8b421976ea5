"""Products of a CSR matrix with a table, without the checks that SciPy's matrices make at every product."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from minipinet._array import Array

try:  # The kernels under SciPy's own products. They are not public: without them the public product serves.
    from scipy.sparse._sparsetools import csc_matvecs, csr_matvecs
except ImportError:  # pragma: no cover
    csc_matvecs = csr_matvecs = None


class Structure(NamedTuple):
    """Where a CSR matrix has entries; their values come with each product."""

    indptr: Array  #: (n_out + 1,) int32
    indices: Array  #: (nnz,) int32, 0 to n_in - 1
    n_in: int


def times(A: Structure, data: Array, M: Array) -> Array:
    """Return the product of the matrix with entries `data` and M, (n_in, F) to (n_out, F), added up entry by entry.

    Examples
    --------
    >>> A = Structure(np.array([0, 2, 3], np.int32), np.array([0, 1, 1], np.int32), 2)
    >>> times(A, np.array([1.0, 2.0, 3.0]), np.eye(2)).tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    n_out, F = len(A.indptr) - 1, M.shape[1]
    if csr_matvecs is None or data.dtype != M.dtype:
        return scipy.sparse.csr_array((data, A.indices, A.indptr), shape=(n_out, A.n_in)) @ M
    out = np.zeros((n_out, F), M.dtype)
    csr_matvecs(n_out, A.n_in, F, A.indptr, A.indices, data, M.ravel(), out.ravel())
    return out


def times_transposed(A: Structure, data: Array, M: Array) -> Array:
    """Return the product of the transposed matrix and M, (n_out, F) to (n_in, F), added up entry by entry.

    Examples
    --------
    >>> A = Structure(np.array([0, 2, 3], np.int32), np.array([0, 1, 1], np.int32), 2)
    >>> times_transposed(A, np.array([1.0, 2.0, 3.0]), np.eye(2)).tolist()
    [[1.0, 0.0], [2.0, 3.0]]
    """
    n_out, F = len(A.indptr) - 1, M.shape[1]
    if csc_matvecs is None or data.dtype != M.dtype:
        return scipy.sparse.csr_array((data, A.indices, A.indptr), shape=(n_out, A.n_in)).T @ M
    out = np.zeros((A.n_in, F), M.dtype)
    csc_matvecs(A.n_in, n_out, F, A.indptr, A.indices, data, M.ravel(), out.ravel())
    return out
