"""The selection of a batch, compiled: `minipinet.batch.select_batches` for each batch alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minipinet._array import Array
from minipinet.batch import SelectedRows, select_batches
from minipinet.fast._jit import compiled
from minipinet.fast.batch import Entries, FastBatch
from minipinet.quotient import Level, Quotient


def selector(quotient: Quotient, dtype: str) -> Callable[[Array], FastBatch]:
    """Return what cuts batches out of a quotient, in time that grows with the batch and not with the data set.

    The batch of some graphs has the same arrays as `select_batches` gives with ``once=True``; a DataError, if a feature
    or an edge weight is too large for the dtype, is the same too.
    """
    first, second = quotient.levels
    counts = quotient.counts
    sizes = len(quotient.example), len(quotient.X), first.A.shape[0], second.A.shape[0]
    # Pages of zeros that are not touched cost nothing.
    place, place_0, place_1, place_2 = (np.zeros(n, np.int32) for n in sizes)
    one = np.ones((), dtype)  # tells compiled loops the dtype

    def rows_of(level: Level, states: Array, place: Array) -> tuple[SelectedRows, Array, bool]:
        A = level.A
        indptr, indices, data, at_own, fit = take_rows(states, A.indptr, A.indices, A.data, level.at_own, one)
        seen, indices = renumber(indices, place)
        deg, fit_deg = cast_rows(level.deg[:, None], seen, one)
        return SelectedRows(indptr, indices, data, at_own, deg[:, 0]), seen, fit and fit_deg

    def select(graphs: Array) -> FastBatch:
        kinds, kind = renumber(quotient.kind[graphs], place)
        ptr, state, count, _, _ = take_rows(
            quotient.example[kinds], counts.indptr, counts.indices, counts.data, counts.indptr, one
        )  # a graph has no entry of its own: any row of numbers does
        states, state = renumber(state, place_2)
        upper, states, fit_1 = rows_of(second, states, place_1)
        lower, states, fit_0 = rows_of(first, states, place_0)
        X, fit = cast_rows(quotient.X, states, one)
        if not (fit and fit_0 and fit_1):
            next(select_batches(quotient, graphs, len(graphs), dtype))  # says what does not fit
        return FastBatch(X, (lower, upper), Entries(ptr, state, count), kind)

    return select


@compiled
def take_rows(
    rows: Array, indptr: Array, indices: Array, data: Array, at_own: Array, one: Array
) -> tuple[Array, Array, Array, Array, bool]:
    """Return the chosen rows of a CSR one after the other: offsets, columns, entries in the dtype of `one`, the place
    of each row's own entry, and whether all entries are finite in that dtype.

    Examples
    --------
    >>> indptr, indices, at_own = np.array([0, 2, 2, 3]), np.array([0, 3, 1]), np.array([1, 0, 2])
    >>> found = take_rows(np.array([2, 0]), indptr, indices, np.array([1.0, 2.0, 3.0]), at_own, np.ones((), "float32"))
    >>> [x.tolist() for x in found[:4]], found[4]
    ([[0, 1, 3], [1, 0, 3], [3.0, 1.0, 2.0], [0, 2]], True)
    """
    ptr, own = np.zeros(len(rows) + 1, np.int32), np.empty(len(rows), np.int32)
    for i in range(len(rows)):
        r = rows[i]
        ptr[i + 1] = ptr[i] + indptr[r + 1] - indptr[r]
        own[i] = ptr[i] + at_own[r] - indptr[r]
    columns, entries, fits = np.empty(ptr[-1], indices.dtype), np.empty(ptr[-1], one.dtype), True
    for i in range(len(rows)):
        start = indptr[rows[i]]
        for e in range(ptr[i + 1] - ptr[i]):
            columns[ptr[i] + e] = indices[start + e]
            entries[ptr[i] + e] = data[start + e]
            fits = fits and np.isfinite(entries[ptr[i] + e])
    return ptr, columns, entries, own, fits


@compiled
def cast_rows(table: Array, rows: Array, one: Array) -> tuple[Array, bool]:
    """Return some rows of a table in the dtype of `one`, and whether all numbers are finite in it."""
    F, fits = table.shape[1], True
    chosen = np.empty((len(rows), F), one.dtype)
    for i in range(len(rows)):
        for f in range(F):
            chosen[i, f] = table[rows[i], f]
            fits = fits and np.isfinite(chosen[i, f])
    return chosen, fits


@compiled
def renumber(numbers: Array, place: Array) -> tuple[Array, Array]:
    """Return the distinct numbers in the order in which they come first, and the place of each number among them.

    `place` has a zero for each number there could be, and has zeros again at the end.

    Examples
    --------
    >>> kept, places = renumber(np.array([7, 3, 7]), np.zeros(8, np.int32))
    >>> kept.tolist(), places.tolist()
    ([7, 3], [0, 1, 0])
    """
    kept, n = np.empty(len(numbers), numbers.dtype), 0
    places = np.empty(len(numbers), np.int32)
    for i in range(len(numbers)):
        number = numbers[i]
        if place[number] == 0:
            kept[n] = number
            n += 1
            place[number] = n
        places[i] = place[number] - 1
    for number in kept[:n]:
        place[number] = 0
    return kept[:n].copy(), places
