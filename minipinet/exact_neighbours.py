"""Exact sums over neighbours: edge weights on grids, and states that are too different in size cut into windows."""

from __future__ import annotations

import numpy as np

from minipinet._array import Array, Sparse
from minipinet.adjacency import degrees
from minipinet.errors import DataError
from minipinet.exact import LEAST, MANTISSA, exponent, round_rows, round_to, row_max
from minipinet.union import DisjointUnion

#: Bits kept of a state before it is added to its neighbours', and of the weights of a node's edges, taken together:
#: few where none is small beside the others, so that most sums are exact at the first go.
STATE_BITS, FEW_WEIGHT_BITS, WEIGHT_BITS = 26, 24, 36
#: Width of the windows in which states of too different sizes are added, see `neighbour_sum`.
WINDOW = MANTISSA - WEIGHT_BITS - 1


def round_weights(graphs: DisjointUnion) -> DisjointUnion:
    """Round each node's edge weights so that any of them, in any order, add up exactly.

    Parameters
    ----------
    graphs : DisjointUnion

    Returns
    -------
    DisjointUnion
        Weights of a row are multiples of 2^-24 of its degree rounded up to a power of two, or of 2^-36 where some
        weight is less than 2^-8 of it. 0/1 matrices and small whole numbers stay as they are. The result need not be
        quite symmetric.

    Raises
    ------
    DataError
        For weights or features of a size whose products float64 does not hold.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.union import disjoint_union
    >>> edge = disjoint_union([as_graph([[0, 0.3], [0.3, 0]], weighted=True)])
    >>> bool(abs(round_weights(edge).A.data - 0.3).max() < 2**-25), bool((edge.A.data == 0.3).all())
    (True, True)
    """
    A = graphs.A
    _check_size("an edge weight", A.data)
    _check_size("a feature", row_max(graphs.X))
    filled = np.flatnonzero(np.diff(A.indptr))
    if not len(filled) or (A.data == 1).all():
        return graphs
    deg = degrees(A)[filled]  # correctly rounded, so no order shows
    least = np.minimum.reduceat(np.where(A.data == 0, np.inf, A.data), A.indptr[filled])
    bits = np.where(least >= 2.0**-8 * deg, FEW_WEIGHT_BITS, WEIGHT_BITS)
    step = np.ldexp(1.0, exponent(deg) - bits)
    rounded = A.copy()
    rounded.data = round_to(A.data, np.repeat(step, np.diff(A.indptr)[filled]))
    return graphs._replace(A=rounded)


def _check_size(what: str, x: Array) -> None:
    """Refuse numbers so large or so small that sums of products could leave float64's range unseen."""
    size = np.abs(x)
    wrong = (size > 2.0**-LEAST) | ((size > 0) & (size < 2.0**LEAST))
    if wrong.any():
        raise DataError(f"{what} of {x[wrong].flat[0]:.3g} is out of the range of exact sums, 1e-120 to 1e120")


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
