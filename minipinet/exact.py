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
from minipinet.union import DisjointUnion

#: Bits of a float64 number: whole numbers up to 2^53 are exact.
MANTISSA = 53
#: Terms of a matrix product that are added up in one piece; longer ones are added piece after piece.
TERMS = 512
#: Bits kept of a state before it is added to its neighbours', and of an edge weight.
STATE_BITS, WEIGHT_BITS = 30, 30
#: Width of the windows in which states of too different sizes are added, see `neighbour_sum`.
WINDOW = MANTISSA - WEIGHT_BITS - 1
#: Graphs of more than 2^LARGE nodes are summed in two pieces, of more than 2^LARGEST not at all.
LARGE, LARGEST = 16, 29
#: Smallest exponent of a grid's maximum: the grid of a product of two must still be a float64 number.
LEAST = -450


def exponent(x: Array) -> Array:
    """Return the smallest e, at least `LEAST`, with |x| < 2^e, entry by entry; 0 for 0.

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
    """Return x rounded to the nearest multiple of `step`, a power of two, for |x| <= 2^51 step; -0.0 becomes 0.0.

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


def round_weights(graphs: DisjointUnion) -> DisjointUnion:
    """Round each node's edge weights so that any of them, in any order, add up exactly.

    Multiples of 2^-30 times the largest weight of the row and its number of entries, both rounded up to a power of
    two: 0/1 matrices and small whole numbers stay as they are. The result need not be quite symmetric.
    """
    A = graphs.A
    filled = np.flatnonzero(np.diff(A.indptr))
    if not len(filled) or (A.data == 1).all():
        return graphs
    largest = np.maximum.reduceat(A.data, A.indptr[filled])
    terms = np.add.reduceat((A.data != 0).astype(np.int64), A.indptr[filled])
    step = np.ldexp(1.0, exponent(largest) + log2_ceil(terms) - WEIGHT_BITS)
    rounded = A.copy()
    rounded.data = round_to(A.data, np.repeat(step, np.diff(A.indptr)[filled]))
    return graphs._replace(A=rounded)


def neighbour_sum(A: Sparse, U: Array) -> tuple[Array, Array]:
    """Return A U, exact for rows of U rounded to `STATE_BITS` bits, and these rows.

    Parameters
    ----------
    A : (n_out, n_in) CSR float64
        Weights that `round_weights` rounded, or sums of such.
    U : (n_in, F) float64 array

    Returns
    -------
    V : (n_out, F) array
        A row depends on the rows of U that it adds up, not on their order, nor on whether equal ones come as one.
    U : (n_in, F) array
        The rounded rows.

    Raises
    ------
    DataError
        If a row has too many terms for exactness.

    Notes
    -----
    Each row of U has a grid of its own. Row i of the product is exact if its grids are not too different:
    deg_i 2^STATE_BITS max_j(step_j) <= 2^53 a_i min_j(step_j), with a_i the grid of its weights. Where that fails, the
    states are cut at fixed powers of two (whole multiples of `WINDOW` bits), the sums in each window are exact,
    and are added from the lowest window up. Where the first way is exact the second gives the same bits, so it does
    not matter that equal rows in another form may go the other way.
    """
    U, step = round_rows(U, STATE_BITS)
    V = A @ U
    rows = _inexact_rows(A, np.where(U.any(axis=1), step[:, 0], 0))
    if len(rows):
        V[rows] = _windowed_sum(A[rows], U)
    return V, U


def _inexact_rows(A: Sparse, step: Array) -> Array:
    """Return the rows for which one sum need not be exact; `step` is 0 for rows of zeros."""
    used = step[step > 0]
    if not len(used) or not A.nnz:
        return np.empty(0, np.int64)
    deg = A.sum(axis=1)
    whole = (A.data == np.rint(A.data)).all()
    unit = np.ones(1) if whole else _lowest_bit(A.data)
    if deg.max() * used.max() <= 2.0 ** (MANTISSA - STATE_BITS) * unit.min() * used.min():
        return np.empty(0, np.int64)
    # The same row by row; zero weights and zero states take no part.
    filled = np.flatnonzero(np.diff(A.indptr))
    at = A.indptr[filled]
    steps = step[A.indices]
    part = (A.data != 0) & (steps > 0)
    high = np.maximum.reduceat(np.where(part, steps, 0), at)
    low = np.minimum.reduceat(np.where(part, steps, np.inf), at)
    unit = np.minimum.reduceat(_lowest_bit(A.data), at)
    fails = deg[filled] * high > 2.0 ** (MANTISSA - STATE_BITS) * unit * low
    most = deg[filled] / unit
    if (most[fails] > 2.0 ** (MANTISSA - WINDOW)).any():
        raise DataError(f"a node's edge weights have too many terms to be added exactly ({most.max():.3g} units)")
    return filled[fails]


def _lowest_bit(weights: Array) -> Array:
    """Return the greatest power of two that divides each weight; infinite for 0."""
    mantissa, e = np.frexp(weights)
    whole = np.ldexp(mantissa, MANTISSA).astype(np.int64)
    return np.where(weights == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), e - MANTISSA))


def _windowed_sum(A: Sparse, U: Array) -> Array:
    """Return A U with the states cut at whole multiples of `WINDOW` bits, summed window by window, lowest first."""
    needed = np.unique(A.indices)
    rest = np.zeros_like(U)
    rest[needed] = U[needed]
    sums = []
    top = int(exponent(np.abs(rest).max(initial=0))) // WINDOW
    for window in range(top, LEAST // WINDOW - 4, -1):
        unit = np.ldexp(1.0, window * WINDOW)
        piece = np.trunc(rest / unit) * unit  # towards 0, so that no sum of pieces exceeds what it is cut from
        rest -= piece
        sums.append(A @ piece)
        if not rest.any():
            break
    V = np.zeros((A.shape[0], U.shape[1]))
    for part in reversed(sums):
        V += part
    return V


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
        Exponents with |x| <= 2^top in each graph: of a maximum over its nodes, so that no order shows.
    grid : GraphGrid

    Returns
    -------
    (B, F) array
        Depends, graph by graph, on the multiset of its nodes' rows.

    Notes
    -----
    A graph of N nodes has the grid 2^(top + log2(N) - 53): an error of at most N^2 2^-54 of the maximum. From
    2^16 nodes on what the rounding left over is summed too, on a finer grid.
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
