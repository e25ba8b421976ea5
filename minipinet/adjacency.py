"""Numbers and adjacency matrices out of input of any kind: one rule for files, matrices and networkx."""

from __future__ import annotations

import math
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from minipinet._host import host_array
from minipinet._words import counted
from minipinet.errors import DataError, UsageError


class Adjacency(NamedTuple):
    """An adjacency matrix, and how much of the input it took to make it one.

    Attributes
    ----------
    A : csr_array of shape (N, N), float64
        Canonical CSR: sorted, no duplicates, no stored zeros, every entry above 0; int32 indices where they fit.
    repeats : int
        Entries that fell on a place already taken.
    reweighted : int
        Entries other than 1 that were set to 1; 0 when weights are kept.
    one_way : int
        Entries of A that mirroring added or raised; 0 when the direction is kept.
    """

    A: csr_array
    repeats: int
    reweighted: int
    one_way: int


def degrees(A: csr_array) -> NDArray[np.float64]:
    """Return the sum of the weights in each row of A, correctly rounded, so that no order of the nodes shows in it.

    Examples
    --------
    >>> degrees(csr_array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0, 1, 0]])).tolist()
    [0.6, 0.6, 1.0]
    """
    if (A.data == np.rint(A.data)).all():  # whole numbers add up exactly
        return np.asarray(A.sum(axis=1), dtype=np.float64)
    return np.array([math.fsum(A.data[i:j]) for i, j in pairwise(A.indptr.tolist())])


def build_adjacency(
    rows: Any, cols: Any, weights: Any, N: int, *, weighted: bool = False, directed: bool = False
) -> Adjacency:
    """Build the adjacency matrix of N nodes from its arcs, which may come in any order and more than once.

    Parameters
    ----------
    rows, cols : array_like of int, shape (m,)
        Arc k stands in row ``rows[k]`` and column ``cols[k]``, both in 0..N-1. A loop (row = column) is an
        ordinary arc and is not doubled.
    weights : array_like of float, shape (m,)
        Finite and not negative; an arc of weight 0 is no arc.
    N : int
        Number of nodes.
    weighted : bool
        False: every entry is 1. True: weights stay, and those of repeated arcs are added up.
    directed : bool
        False: each entry becomes the larger of itself and its mirror image. True: arcs stay as they are.

    Returns
    -------
    Adjacency
        The matrix and what was changed on the way. O(m log m) time, O(m + N) memory.

    Raises
    ------
    DataError
        If the weights in one row add up to more than float64 can hold.

    Examples
    --------
    >>> build_adjacency([0, 0, 2], [1, 1, 1], [1.0, 1.0, 1.0], 3).A.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    weights = host_array("weights", weights, dtype=np.float64)
    present = weights != 0
    dtype = index_dtype(max(N, weights.size))
    rows, cols = (host_array(name, given, dtype=dtype)[present] for name, given in (("rows", rows), ("cols", cols)))
    weights = weights[present]
    given = weights.size
    if weighted and given:
        # Repeats are added up from the least to the greatest, so that their order in the input does not show.
        order = np.lexsort((weights, cols, rows))
        rows, cols, weights = rows[order], cols[order], weights[order]
        first = np.flatnonzero(np.r_[True, (np.diff(rows) != 0) | (np.diff(cols) != 0)])
        with np.errstate(over="ignore"):
            rows, cols, weights = rows[first], cols[first], np.add.reduceat(weights, first)
    A = coo_array((weights, (rows, cols)), shape=(N, N)).tocsr()
    repeats = int(given - A.nnz)
    reweighted = 0
    if not weighted:
        reweighted = int(np.count_nonzero(weights != 1))
        A.data[:] = 1.0
    one_way = 0
    if not directed:
        one, A = A, A.maximum(A.T.tocsr())
        one_way = int((one != A).nnz)
    with np.errstate(over="ignore"):
        infinite = np.flatnonzero(np.isinf(A.sum(axis=1)))
    if infinite.size:
        raise DataError(f"weights: those of node {infinite[0]} add up to more than float64 can hold")
    return Adjacency(A, repeats, reweighted, one_way)


def index_dtype(largest: int) -> type[np.int32 | np.int64]:
    """Return the type of the indices of a sparse matrix that count up to `largest`."""
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def arcs_of(A: Any, name: str = "A") -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]:
    """Return the stored entries of a square matrix as ``(rows, cols, weights, N)``; `A` itself is only read.

    Parameters
    ----------
    A : array_like or sparse matrix or array, shape (N, N)
        Any container of real numbers: a dense array, np.matrix, list of lists, or any SciPy sparse format,
        with repeated, unsorted or stored-zero entries.
    name : str
        What to call the argument in messages.

    Raises
    ------
    UsageError
        If `A` is not a square matrix of real numbers.
    DataError
        If an entry is negative, NaN or infinite.

    Examples
    --------
    >>> rows, cols, weights, N = arcs_of([[0, 3], [0, 0]])
    >>> rows.tolist(), cols.tolist(), weights.tolist(), N
    ([0], [1], [3.0], 2)
    """
    if isinstance(A, list | tuple) and not A:
        A = np.zeros((0, 0))  # a graph without nodes, as a list of lists
    dense = A if issparse(A) else as_float64(A, name)
    if len(dense.shape) != 2 or dense.shape[0] != dense.shape[1]:
        raise UsageError(f"{name}: expected a square matrix, got {type(A).__name__} of shape {dense.shape}")
    if issparse(A):
        try:
            entries = A.tocoo()
        except ValueError as error:
            raise UsageError(f"{name}: not a well-formed sparse matrix ({error})") from error
        rows, cols, weights = entries.row, entries.col, as_float64(entries.data, name)
    else:
        rows, cols = np.nonzero(dense)
        weights = dense[rows, cols]
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        i, j = rows[bad[0]], cols[bad[0]]
        raise DataError(
            f"{name}: expected finite weights that are not negative, got {name}[{i}, {j}] = {weights[bad[0]]}"
        )
    return rows.astype(np.int64), cols.astype(np.int64), weights, dense.shape[0]


def as_float64(value: Any, name: str) -> NDArray[np.float64]:
    """Return numbers of any real type, in any container, as a new C-ordered float64 array of the same shape.

    Parameters
    ----------
    value : array_like
        Booleans, integers, floats, or an object array of such; nested lists, NumPy arrays, or anything with
        ``__array__`` (a pandas column).
    name : str
        What to call the argument in messages.

    Raises
    ------
    UsageError
        If `value` is ragged, masked, or holds strings, complex numbers or anything else but real numbers.

    Examples
    --------
    >>> as_float64([[True, 2]], "X")
    array([[1., 2.]])
    """
    array = host_array(name, value, "an array of real numbers")
    if array.dtype.kind == "O":
        odd = [item for item in array.flat if not isinstance(item, Real | np.bool_)]
        if odd:
            raise UsageError(f"{name}: expected real numbers, got {type(odd[0]).__name__} {odd[0]!r:.80}")
    elif array.dtype.kind not in "buif":
        raise UsageError(f"{name}: expected real numbers, got dtype {array.dtype}")
    if np.ma.is_masked(value):
        raise UsageError(f"{name}: expected an array without masked entries")
    try:
        with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite, which callers refuse
            return np.array(array, dtype=np.float64, order="C")
    except OverflowError as error:
        raise UsageError(f"{name}: expected numbers that float64 can hold ({error})") from error


def as_features(X: Any, N: int) -> NDArray[np.float64]:
    """Return features as a new (N, d) float64 array; a sequence of N numbers is one column.

    Parameters
    ----------
    X : array_like of shape (N, d) or (N,), or sparse matrix or array
        Finite numbers of any real type, d >= 1.
    N : int
        Number of nodes.

    Raises
    ------
    UsageError
        If `X` has another shape or holds anything but real numbers.
    DataError
        If a feature is NaN or infinite.

    Examples
    --------
    >>> as_features([1, 2], 2)
    array([[1.],
           [2.]])
    """
    table = as_float64(X.toarray() if issparse(X) else X, "X")
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] == 0:
        raise UsageError(f"X: expected shape ({N}, d) with d >= 1, got {table.shape}")
    if table.shape[0] != N:
        raise UsageError(f"X: expected {counted(N, 'row')}, one for each node of A, got {table.shape[0]}")
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        i, j = bad[0]
        raise DataError(f"X: expected finite features, got X[{i}, {j}] = {table[i, j]}")
    return table
