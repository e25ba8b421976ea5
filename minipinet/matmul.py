"""A matrix product whose every row has the same bits whatever rows stand above and below it."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np

from minipinet._array import Array, xp_of

#: Rows handed to BLAS at a time: the most, of these, at which it treats all alike.
ROWS = (16, 8, 4, 2, 1)


def matmul_rows(M: Array, W: Array) -> Array:
    """Return M W, each row computed without regard to the other rows of M.

    BLAS picks its kernel, and with it the order in which it adds, by the number of rows of M: row i of a product of 50
    rows and of a product of 51 may differ in the last bit. Here BLAS only ever sees blocks of one number of rows (the
    last one filled up with zeros), within which it treats all rows alike (`rows_at_a_time`), so that a graph's scores
    do not depend on the batch it is scored in.

    Parameters
    ----------
    M : (n, k) array, C-contiguous
    W : (k, m) array of the same dtype

    Returns
    -------
    (n, m) array

    Notes
    -----
    2 n k m floating-point operations; measured at 0.9 to 1.1 times one whole product for n >= 200 and k <= 100.

    Examples
    --------
    >>> import numpy as np
    >>> M, W = np.random.default_rng(0).standard_normal((50, 37)), np.ones((37, 3))
    >>> bool((matmul_rows(M, W)[7:8] == matmul_rows(M[7:8], W)).all())
    True
    """
    if xp_of(M) is not np:
        return M @ W
    (n, k), m = M.shape, W.shape[1]
    dtype = np.result_type(M, W)
    rows = rows_at_a_time(k, m, dtype.char, "C" if W.flags.c_contiguous else "F")
    whole = n - n % rows
    out = np.empty((n, m), dtype)
    if whole:
        blocks = whole // rows  # spelled out: -1 cannot be worked out for a matrix without columns
        np.matmul(M[:whole].reshape(blocks, rows, k), W, out=out[:whole].reshape(blocks, rows, m))
    if whole < n:
        tail = np.zeros((rows, k), M.dtype)
        tail[: n - whole] = M[whole:]
        out[whole:] = (tail @ W)[: n - whole]
    return out


@functools.cache
def rows_at_a_time(k: int, m: int, dtype: str, order: Literal["C", "F"]) -> int:
    """Return how many rows of a product (rows, k) times (k, m) this processor's BLAS computes alike; found by trying.

    With AVX2, OpenBLAS takes 16 rows as 12 and 4, and adds up the 4 in another order than the 12; 8 it takes alike.

    Examples
    --------
    >>> rows_at_a_time(37, 100, "f", "C") in ROWS
    True
    """
    rng = np.random.default_rng(0)
    tried = max(4, min(64, 2**18 // max(k, 1)))  # fewer of long ones, for the memory
    different = rng.standard_normal((tried, 1, k)).astype(dtype)
    W = rng.standard_normal((k, m)).astype(dtype, order)
    for rows in ROWS:
        product = np.matmul(np.repeat(different, rows, axis=1), W)
        if np.array_equal(product, np.repeat(product[:, :1], rows, axis=1)):
            break
    return rows
