"""The selection of a batch, compiled: `minipinet.batch.select_batches` for each batch alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from minipinet._array import Array
from minipinet.batch import SelectedRows, select_batches
from minipinet.fast.batch import Entries, FastBatch
from minipinet.fast.compiled._jit import compiled
from minipinet.fast.compiled.propagation import Rows
from minipinet.quotient import Level, Quotient

#: Offsets, columns and entries of a CSR, and the place of each row's own entry.
Table: TypeAlias = tuple[Array, Array, Array, Array]


def selector(quotient: Quotient, dtype: str) -> Callable[[Array], FastBatch]:
    """Return what cuts batches out of a quotient, in time that grows with the batch and not with the data set.

    The batch of some graphs has the same arrays as `select_batches` gives with ``once=True``, its states in the order
    in which the graphs come upon them; a DataError, if a feature or an edge weight is too large for the dtype, is the
    same too.
    """
    first, second = quotient.levels
    counts = quotient.counts
    # A graph has no entry of its own: any row of numbers does.
    tables = (counts.indptr, counts.indices, counts.data, counts.indptr), _table(second), _table(first)
    place = _zeros(max(len(quotient.example), second.A.shape[0], first.A.shape[0], len(quotient.X)))
    degrees = second.deg[:, None], first.deg[:, None]
    one = np.ones((), dtype)  # tells compiled loops the dtype

    def select(graphs: Array) -> FastBatch:
        X, lower, upper, entries, kind, fits = select_batch(
            quotient.kind[graphs], quotient.example, *tables, degrees, quotient.X, place, one
        )
        if not fits:
            next(select_batches(quotient, graphs, len(graphs), dtype))  # says what does not fit
        return FastBatch(X, (SelectedRows(*lower), SelectedRows(*upper)), Entries(*entries), kind)

    return select


class _Scratch(threading.local):
    zeros: Array = np.zeros(0, np.int32)


_scratch = _Scratch()


def _zeros(n: int) -> Array:
    """Return at least n zeros, for whoever leaves zeros there again: made anew, they would cost more than a batch."""
    if len(_scratch.zeros) < n:
        _scratch.zeros = np.zeros(n, np.int32)
    return _scratch.zeros


def _table(level: Level) -> Table:
    return level.A.indptr, level.A.indices, level.A.data, level.at_own


@compiled
def select_batch(
    kinds: Array, example: Array, counts: Table, second: Table, first: Table, degrees: tuple[Array, Array],
    features: Array, place: Array, one: Array,
) -> tuple[Array, Rows, Rows, tuple[Array, Array, Array], Array, bool]:  # fmt: skip
    kept, kind = renumber(kinds, place)
    ptr, state, count, _, states = take_rows(example[kept], counts, place, one)
    indptr_1, indices_1, data_1, at_own_1, states = take_rows(states, second, place, one)
    deg_1 = cast_rows(degrees[0], states, one).ravel()
    indptr_0, indices_0, data_0, at_own_0, states = take_rows(states, first, place, one)
    deg_0, X = cast_rows(degrees[1], states, one).ravel(), cast_rows(features, states, one)
    fits = True
    for numbers in (data_0, data_1, deg_0, deg_1, X.ravel()):
        fits = fits and are_finite(numbers)
    lower = indptr_0, indices_0, data_0, at_own_0, deg_0
    return X, lower, (indptr_1, indices_1, data_1, at_own_1, deg_1), (ptr, state, count), kind, fits


@compiled
def take_rows(rows: Array, table: Table, place: Array, one: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return the chosen rows of a CSR one after the other: offsets, columns numbered anew, entries in the dtype of
    `one`, the place of each row's own entry; and the columns in the order in which they come first.

    `place` has a zero for each column there could be, and has zeros again at the end.

    Examples
    --------
    >>> table = np.array([0, 2, 2, 3]), np.array([0, 3, 1]), np.array([1.0, 2.0, 3.0]), np.array([1, 0, 2])
    >>> found = take_rows(np.array([2, 0]), table, np.zeros(4, np.int32), np.ones((), "float32"))
    >>> [x.tolist() for x in found]
    [[0, 1, 3], [0, 1, 2], [3.0, 1.0, 2.0], [0, 2], [1, 0, 3]]
    """
    indptr, indices, data, at_own = table
    ptr, own = np.zeros(len(rows) + 1, np.int32), np.empty(len(rows), np.int32)
    for i in range(len(rows)):
        r = rows[i]
        ptr[i + 1] = ptr[i] + indptr[r + 1] - indptr[r]
        own[i] = ptr[i] + at_own[r] - indptr[r]
    columns, entries, kept, n = (
        np.empty(ptr[-1], np.int32),
        np.empty(ptr[-1], one.dtype),
        np.empty(ptr[-1], indices.dtype),
        0,
    )
    for i in range(len(rows)):
        start = indptr[rows[i]] - ptr[i]
        for e in range(ptr[i], ptr[i + 1]):
            column = indices[start + e]
            if place[column] == 0:
                kept[n] = column
                n += 1
                place[column] = n
            columns[e] = place[column] - 1
            entries[e] = data[start + e]
    for column in kept[:n]:
        place[column] = 0
    return ptr, columns, entries, own, kept[:n].copy()


@compiled
def cast_rows(table: Array, rows: Array, one: Array) -> Array:
    """Return some rows of a table in the dtype of `one`."""
    F = table.shape[1]
    chosen = np.empty((len(rows), F), one.dtype)
    for i in range(len(rows)):
        r = rows[i]
        for f in range(F):
            chosen[i, f] = table[r, f]
    return chosen


@compiled
def are_finite(numbers: Array) -> bool:
    """Return whether no number is infinite or NaN."""
    beyond = 0
    for x in numbers:
        beyond += not abs(x) < np.inf
    return beyond == 0


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
