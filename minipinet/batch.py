"""Batches: some graphs of a data set, with just the rows of its quotient that they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse

from minipinet._array import Array
from minipinet._host import host_array, refuse_card
from minipinet.errors import DataError, UsageError
from minipinet.pool import Pool, make_pool, row_entries
from minipinet.propagation import Step
from minipinet.quotient import Quotient


class GraphBatch(NamedTuple):
    """Some graphs of a data set, ready for the model."""

    X: Array  #: (n_0, d) features of the level-0 colours in the batch
    steps: tuple[Step, Step]  #: first and second layer
    pool: Pool  #: which level-2 colours each graph holds, and how often

    @property
    def B(self) -> int:
        """Number of graphs, graphs without nodes included."""
        return len(self.pool.ptr) - 1


def make_batch(quotient: Quotient, index: Sequence[int] | Array, dtype: str = "float32") -> GraphBatch:
    """Select graphs by number, in the order given; a number may occur twice.

    Parameters
    ----------
    quotient : Quotient
    index : (B,) ints in 0 to G - 1
    dtype : "float32" or "float64"

    Returns
    -------
    GraphBatch

    Raises
    ------
    UsageError
        If `index` is no row of graph numbers or `dtype` another.
    DataError
        If a feature or an edge weight is too large for `dtype`.

    Notes
    -----
    Time and memory grow with the batch, not with the data set.
    """
    index = host_array("index", index)
    return next(make_batches(quotient, index, max(1, index.size), dtype))


def make_batches(
    quotient: Quotient, index: Sequence[int] | Array, batch_size: int, dtype: str = "float32"
) -> Iterator[GraphBatch]:
    """Cut `index` into batches of `batch_size` graphs, the last one maybe shorter, and build one after the other.

    Same arguments, errors and result as `make_batch` on each piece, at a fraction of the calls: many batches are
    selected together, as many as hold `TOGETHER` entries.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.quotient import refine
    >>> from minipinet.union import disjoint_union
    >>> quotient = refine(disjoint_union([as_graph([[0, 1], [1, 0]])] * 5))
    >>> [batch.B for batch in make_batches(quotient, [4, 3, 2, 1, 0], 2)]
    [2, 2, 1]
    """
    for (X, first, second, ptr, state, count), _ in select_batches(quotient, index, batch_size, dtype):
        yield GraphBatch(
            X, (_step(first), _step(second)), make_pool(ptr, state, count[:, None], len(second.indptr) - 1)
        )


def chosen_graphs(quotient: Quotient, index: Sequence[int] | Array, batch_size: int, dtype: str) -> tuple[Array, int]:
    """Return graph numbers as int64 and how many a batch has at most; errors as for `make_batches`."""
    refuse_card("quotient", quotient)
    G = quotient.counts.shape[0]
    chosen = host_array("index", index)
    if chosen.ndim != 1 or not len(chosen) or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= G:
        raise UsageError(f"index: expected at least one graph number from 0 to {G - 1}, got {chosen.tolist()!r:.60}")
    if not isinstance(batch_size, int | np.integer) or isinstance(batch_size, bool) or batch_size < 1:
        raise UsageError(f"batch_size: expected a whole number of at least 1, got {batch_size!r}")
    if dtype not in ("float32", "float64"):
        raise UsageError(f"dtype: expected 'float32' or 'float64', got {dtype!r}")
    return chosen.astype(np.int64), min(int(batch_size), len(chosen))


def select_batches(
    quotient: Quotient, index: Sequence[int] | Array, batch_size: int, dtype: str, once: bool = False
) -> Iterator[tuple[Selected, Array]]:
    """Select what each batch needs; arguments and errors as for `make_batches`.

    Yields each batch with the place of its graphs among those selected: 0, 1, 2, ..., or with `once` that of their
    kind, of which a batch then holds one graph.
    """
    index, batch_size = chosen_graphs(quotient, index, batch_size, dtype)
    indptr = quotient.counts.indptr
    entries = np.cumsum(indptr[index + 1] - indptr[index])  # the time of a batch must not grow with the data set
    at = 0
    while at < len(index):
        taken = entries[at - 1] if at else 0
        room = int(np.searchsorted(entries, taken + TOGETHER, side="right")) - at
        end = min(at + max(1, room // batch_size) * batch_size, len(index))
        graphs = index[at:end]
        cut = np.append(np.arange(0, end - at, batch_size), end - at)
        if once:
            kinds, place, cut_once = _relabel(quotient.kind[graphs], cut, len(quotient.example))
            selected = _build(quotient, quotient.example[kinds], cut_once, dtype)
        else:
            place = np.arange(end - at) - np.repeat(cut[:-1], np.diff(cut))
            selected = _build(quotient, graphs, cut, dtype)
        yield from zip(selected, np.split(place, cut[1:-1]), strict=True)
        at = end


#: Pool entries selected together by `make_batches`: enough to hide the calls, few enough to stay in cache and memory.
TOGETHER = 100_000


def _cast(what: str, values: Array, dtype: str) -> Array:
    """Convert finite float64 numbers to `dtype`; those that would become infinite are a DataError."""
    with np.errstate(over="ignore"):
        cast = values.astype(dtype)
    finite = np.isfinite(cast)
    if not finite.all():
        raise DataError(f"{what} is {values[~finite][0]:g}, more than {dtype} holds; scale it, or take dtype float64")
    return cast


class SelectedRows(NamedTuple):
    """One batch's rows of a level, over the states that they select."""

    indptr: Array  #: (n_out + 1,) int32
    indices: Array  #: (nnz,) int32
    data: Array  #: (nnz,)
    at_own: Array  #: (n_out,) int32, position of each row's entry at its own state
    deg: Array  #: (n_in,) degree of each column


class Selected(NamedTuple):
    """What one batch needs of a quotient."""

    X: Array  #: (n_0, d)
    first: SelectedRows  #: (n_1, n_0)
    second: SelectedRows  #: (n_2, n_1)
    ptr: Array  #: (B + 1,) offsets of the graphs' entries
    state: Array  #: (E,) int32, 0 to n_2 - 1
    count: Array  #: (E,) number of the graph's nodes in that state


class _Level(NamedTuple):
    """Rows of a level selected for several batches, one batch after the other, and the states they select."""

    indptr: Array
    indices: Array  #: counted from the batch's first column
    data: Array
    at_own: Array
    deg: Array
    kept: Array  #: numbers of the columns' states
    cut: Array  #: (batches + 1,) where each batch's columns start in `kept`


def _build(quotient: Quotient, index: Array, cut: Array, dtype: str) -> Iterator[Selected]:
    """Select the batches index[cut[0]:cut[1]], index[cut[1]:cut[2]], ... together."""
    ptr, entry = row_entries(quotient.counts.indptr, index)
    states, state, cut_2 = _by_rank(quotient, 2, quotient.counts.indices[entry], ptr[cut])
    count = quotient.counts.data[entry].astype(dtype)
    second = _select(quotient, 1, states, cut_2, dtype)
    first = _select(quotient, 0, second.kept, second.cut, dtype)
    X = _cast("a feature", quotient.X[first.kept], dtype)
    cut_0, cut_E = first.cut.tolist(), ptr[cut].tolist()
    for b in range(len(cut) - 1):
        e = slice(cut_E[b], cut_E[b + 1])
        yield Selected(
            X[cut_0[b] : cut_0[b + 1]],
            _take(first, second.cut, b),
            _take(second, cut_2, b),
            ptr[cut[b] : cut[b + 1] + 1] - cut_E[b],
            state[e],
            count[e],
        )


def _select(quotient: Quotient, k: int, rows: Array, cut: Array, dtype: str) -> _Level:
    """Take the rows of level k + 1 that each batch needs; `cut` tells where a batch's rows start."""
    level = quotient.levels[k]
    indptr, entry = row_entries(level.A.indptr, rows)
    kept, indices, kept_cut = _by_rank(quotient, k, level.A.indices[entry], indptr[cut])
    at_own = level.at_own[rows] - level.A.indptr[rows] + indptr[:-1]
    data = _cast("an edge weight", level.A.data[entry], dtype)
    deg = _cast("the sum of a node's edge weights", level.deg[kept], dtype)
    return _Level(indptr, indices, data, at_own, deg, kept, kept_cut)


def _take(level: _Level, row_cut: Array, b: int) -> SelectedRows:
    """Cut batch b's rows out of those selected."""
    first, last = row_cut[b], row_cut[b + 1]
    start, stop = level.indptr[first], level.indptr[last]
    return SelectedRows(
        (level.indptr[first : last + 1] - start).astype(np.int32),
        level.indices[start:stop],
        level.data[start:stop],
        (level.at_own[first:last] - start).astype(np.int32),
        level.deg[level.cut[b] : level.cut[b + 1]],
    )


def _step(rows: SelectedRows) -> Step:
    shape = len(rows.indptr) - 1, len(rows.deg)
    A = scipy.sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=shape)
    return Step(A, A.indices[rows.at_own], rows.at_own, rows.deg, A.T)


def _by_rank(quotient: Quotient, k: int, colours: Array, cut: Array) -> tuple[Array, Array, Array]:
    """Return `_relabel` of colours of level k, in the order of their ranks."""
    rank = quotient.rank[k]
    kept, place, starts = _relabel(rank[colours], cut, len(rank))
    return quotient.by_rank[k][kept], place, starts


def _relabel(numbers: Array, cut: Array, n: int) -> tuple[Array, Array, Array]:
    """Number the distinct values of each batch's stretch of `numbers` (all below n) from 0, in rising order.

    Returns the distinct values, batch after batch; each number's place in its batch (int32); where batches start.
    """
    batches = len(cut) - 1
    batch = np.repeat(np.arange(batches), np.diff(cut))
    keys = numbers + batch * n
    if batches * n > 32 * len(keys):
        # A table of all possible keys would cost more than sorting: the time must not grow with the data set.
        kept, place = np.unique(keys, return_inverse=True)
    else:
        found = np.zeros(batches * n, bool)
        found[keys] = True
        kept = np.flatnonzero(found)
        table = np.empty(batches * n, np.int32)
        table[kept] = np.arange(len(kept), dtype=np.int32)
        place = table[keys]
    starts = np.searchsorted(kept, np.arange(batches + 1) * n)
    return kept % n, (place - starts[batch]).astype(np.int32), starts
