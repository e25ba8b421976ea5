"""Sums of float64 numbers without any rounding error: then their order cannot matter.

A sum is exact, in whatever order and blocks it is taken, if all its addends are multiples of one power of two (their
grid) and the sum of their magnitudes is at most 2^53 times the grid: every partial sum is then a whole number of grid
steps that float64 holds. So numbers are rounded to a grid before they are added. The grid may depend on what the
numbers are, but not on their order: here on a maximum, and on how many there are (docs/invariance.md has the proofs).

Source of the idea: Demmel and Nguyen, "Fast Reproducible Floating-Point Summation" (2013).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from minipinet._array import Array, Sparse
from minipinet.errors import DataError
from minipinet.pool import Pool

#: Bits of a float64 number: whole numbers up to 2^53 are exact.
MANTISSA = 53
#: Terms of a matrix product that are added up in one piece; longer ones are added piece after piece.
TERMS = 512
#: Graphs of more than 2^LARGE nodes are summed in two pieces, of more than 2^LARGEST not at all.
LARGE, LARGEST = 16, 29
#: Smallest exponent of a grid's maximum: the grid of a product of two must still be a float64 number.
LEAST = -400


def exponent(x: Array) -> Array:
    """Return the smallest e, at least `LEAST`, with ``|x| < 2^e``, entry by entry; 0 for 0.

    Examples
    --------
    >>> exponent(np.array([0.75, 1.0, -5.0])).tolist()
    [0, 1, 3]
    """
    return np.maximum(np.frexp(x)[1], LEAST)


def log2_ceil(n: Array) -> Array:
    """Return the smallest k with n <= 2^k, for whole numbers n >= 1."""
    return np.frexp(np.maximum(n, 1) - 0.5)[1].clip(min=0)


def row_max(x: Array) -> Array:
    """Return the largest magnitude of each row, (n, F) to (n, 1); 0 for rows without entries."""
    return np.maximum(x.max(axis=1, keepdims=True, initial=0), -x.min(axis=1, keepdims=True, initial=0))


def round_to(x: Array, step: Array, out: Array | None = None) -> Array:
    """Return x rounded to the nearest multiple of `step`, a power of two, for ``|x| <= 2^51 step``; -0.0 becomes 0.0.

    Examples
    --------
    >>> round_to(np.array([0.3, 2.6, -0.3]), np.float64(0.25)).tolist()
    [0.25, 2.5, -0.25]
    """
    big = 1.5 * 2.0**52 * step  # from here to its double float64 numbers lie one step apart
    y = np.add(x, big, out=out)
    y -= big
    return y


def round_rows(x: Array, bits: int) -> tuple[Array, Array]:
    """Round each row to `bits` bits of its largest magnitude; return the rows and their steps (n, 1)."""
    step = np.ldexp(1.0, exponent(row_max(x)) - bits)
    return round_to(x, step), step


def balance(M: Array, W: Array) -> tuple[Array, Array]:
    """Move powers of two from the rows of W into the columns of M, which changes no product.

    Then every row of W has its largest entry in [1/2, 1), and the entries of a row of M are as large as what they add
    to the product: rounding them to bits of the largest loses nothing that counts. A column that W does not use is 0.

    Examples
    --------
    >>> M, W = balance(np.array([[3.0, 1e9]]), np.array([[1.0], [0.0]]))
    >>> M.tolist(), W.tolist()
    ([[6.0, 0.0]], [[0.5], [0.0]])
    """
    largest = row_max(W)
    e = exponent(largest)
    return M * np.where(largest == 0, 0, np.ldexp(1.0, e)).T, W * np.ldexp(1.0, -e)


def product(M: Array, W: Array) -> Array:
    """Return M W, exact for rows of M and columns of W rounded to about 22 bits of their largest magnitude.

    Parameters
    ----------
    M : (n, k) float64 array
    W : (k, m) float64 array

    Returns
    -------
    (n, m) array
        Row i depends on row i of M and on W, and on nothing else: not on the other rows, the library that multiplies,
        its blocks or its threads.

    Notes
    -----
    With b bits each, a term has 2b bits and k <= `TERMS` of them are exact if 2b + log2(k) <= 53. Longer products are
    cut and the pieces added from the left. Relative error of the operands: 2^-23 to 2^-26.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> M, W = rng.standard_normal((50, 37)), rng.standard_normal((37, 3))
    >>> turned = np.arange(37)[::-1]
    >>> bool((product(M, W) == product(M[:, turned], W[turned])).all()), bool(abs(product(M, W) - M @ W).max() < 1e-5)
    (True, True)
    """
    out = np.zeros((len(M), W.shape[1]))
    for k in range(0, M.shape[1], TERMS):
        piece = M[:, k : k + TERMS]
        bits = int(MANTISSA - log2_ceil(piece.shape[1])) // 2
        left, _ = round_rows(piece, bits)
        right, _ = round_rows(W[k : k + TERMS].T, bits)
        out += left @ right.T
    return out


class GraphGrid(NamedTuple):
    """How the entries of a pool are added up graph by graph, see `graph_sum`."""

    sums: Sparse  #: (B, E) CSR, the count of each entry
    terms: Array  #: (B, 1) exponents, 2^terms >= number of nodes
    pool: Pool


def graph_grid(pool: Pool) -> GraphGrid:
    """Look at the sizes of a batch's graphs.

    Raises
    ------
    DataError
        For a graph of more than 2^29 nodes.
    """
    E, B = len(pool.state), len(pool.ptr) - 1
    sums = scipy.sparse.csr_array((pool.count[:, 0], np.arange(E, dtype=pool.ptr.dtype), pool.ptr), shape=(B, E))
    N = sums.sum(axis=1)
    terms = np.maximum(log2_ceil(N), 2)[:, None]  # round_to needs two bits of room
    if (terms > LARGEST).any():
        raise DataError(f"a graph of {N.max():.0f} nodes is too large to be summed exactly")
    return GraphGrid(sums, terms, pool)


def graph_sum(x: Array, top: Array, grid: GraphGrid) -> Array:
    """Add up the entries of each graph, as often as their nodes, exactly after rounding: (E, F) to (B, F).

    Parameters
    ----------
    x : (E, F) float64 array
        A row per entry of the pool. Overwritten: rounded to the grid.
    top : (B, 1) int array
        Exponents with ``|x| <= 2^top`` in each graph: of a maximum over its nodes, so that no order shows.
    grid : GraphGrid

    Returns
    -------
    (B, F) array
        Depends, graph by graph, on the multiset of its nodes' rows.

    Notes
    -----
    A graph of N nodes has the grid 2^(top + k - 53), with k = log2(N) rounded up and at least 2: an error of at most
    N 2^(k - 54) <= N^2 2^-53 of 2^top for N >= 4. Beyond 2^16 nodes what the rounding left over is summed too, on a
    finer grid.
    """
    sums, terms, pool = grid
    step = np.ldexp(1.0, top + terms - MANTISSA)
    large = (terms > LARGE)[pool.graph]
    rest = np.where(large, x, 0) if large.any() else None
    total = sums @ round_to(x, step[pool.graph], out=x)
    if rest is not None:
        rest -= np.where(large, x, 0)
        total += sums @ round_to(rest, np.ldexp(step, terms - MANTISSA)[pool.graph], out=rest)
    return total


def row_sum(x: Array) -> Array:
    """Add up each row, (n, F) to (n,), exactly after rounding to a grid of the row's own."""
    terms = max(int(log2_ceil(x.shape[1])), 2)
    return round_rows(x, MANTISSA - terms)[0].sum(axis=1)
