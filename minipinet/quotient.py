"""Quotient batches: one row per distinct node state instead of one per node, exactly.

Two nodes with equal features and degree, whose neighbours carry equal colours with equal total weights, have equal
states after a layer, whatever the weights of the network (colour refinement, Weisfeiler and Leman 1968). A data set is
refined once, into three levels of colours: 0 before the first layer, 1 after it, 2 after the second. A batch selects
the rows its graphs need. With ``merge=False`` every node is its own colour, which is the plain form: one code path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse

from minipinet._array import Array, Sparse
from minipinet.colours import EqualNeighbourhoods, EqualRows, group, hash_neighbourhoods, hash_rows
from minipinet.errors import UsageError
from minipinet.pool import Pool, make_pool, row_entries
from minipinet.propagation import Step
from minipinet.union import DisjointUnion


class Level(NamedTuple):
    """The colours after one layer, as rows over the colours before it."""

    A: Sparse  #: (n_k, n_{k-1}) CSR float64: total weight a colour's node gives to each earlier colour
    own: Array  #: (n_k,) int, the colour's own earlier colour
    at_own: Array  #: (n_k,) int, position of entry (i, own[i]) in A.data
    deg: Array  #: (n_{k-1},) degree of each earlier colour


class Quotient(NamedTuple):
    """A data set refined once: what `make_batch` selects from."""

    X: Array  #: (n_0, d) float64, features of the level-0 colours
    levels: tuple[Level, Level]
    counts: Sparse  #: (G, n_2) CSR: number of each graph's nodes in each level-2 colour
    colour: Array  #: (N,) int, level-2 colour of each node


class GraphBatch(NamedTuple):
    """Some graphs of a data set, ready for the model."""

    X: Array  #: (n_0, d) features of the level-0 colours in the batch
    steps: tuple[Step, Step]  #: first and second layer
    pool: Pool  #: which level-2 colours each graph holds, and how often

    @property
    def B(self) -> int:
        """Number of graphs, graphs without nodes included."""
        return len(self.pool.ptr) - 1


def refine(graphs: DisjointUnion, merge: bool = True) -> Quotient:
    """Colour the nodes of a data set at three levels.

    Parameters
    ----------
    graphs : DisjointUnion
        N nodes, G graphs; features and weights of any kind, directed or not.
    merge : bool
        False keeps every node its own colour: the plain form.

    Returns
    -------
    Quotient

    Notes
    -----
    O((nnz(A) + N d) log) time. Colours are found by a 64-bit hash and confirmed by comparing what was hashed, so that
    a collision cannot merge two colours. Rows are numbered by first appearance, so that a graph's rows lie together;
    the entries of a row are ordered by hash, hence by content, so that every sum over colours is taken in the same
    order whatever the order of the nodes and whatever other graphs are in the data set.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.union import disjoint_union
    >>> star = as_graph([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> quotient = refine(disjoint_union([star]))
    >>> len(quotient.X), quotient.counts.toarray().astype(int).tolist() in ([[3, 1]], [[1, 3]])
    (2, True)
    """
    A, X, ptr = graphs
    deg = np.asarray(A.sum(axis=1)).ravel()
    if merge:
        first, colour, content = group(hash_rows(X, deg), EqualRows(np.column_stack([X, deg])))
    else:
        first = colour = np.arange(len(X))
        content = np.zeros(len(X), np.uint64)
    X = X[np.sort(first)]
    levels = []
    for _ in range(2):
        before = first
        seen, own, at_own = _neighbourhoods(A, colour, len(first))
        if merge:
            first, colour, content = group(hash_neighbourhoods(seen, own, content), EqualNeighbourhoods(seen, own))
        levels.append(_take_level(Level(seen, own, at_own, deg[before]), np.sort(first), before))
    sizes = np.diff(ptr)
    graph = np.repeat(np.arange(len(sizes)), sizes)
    counts = scipy.sparse.coo_array((np.ones(len(colour)), (graph, colour)), shape=(len(sizes), len(first))).tocsr()
    rank = _rank(first)
    counts = scipy.sparse.csr_array((counts.data, rank[counts.indices], counts.indptr), shape=counts.shape)
    return Quotient(X, (levels[0], levels[1]), counts, rank[colour])


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
        If `index` is empty or out of range.

    Notes
    -----
    Time and memory grow with the batch, not with the data set.
    """
    return next(make_batches(quotient, index, max(1, len(index)), dtype))


def make_batches(
    quotient: Quotient, index: Sequence[int] | Array, batch_size: int, dtype: str = "float32"
) -> Iterator[GraphBatch]:
    """Cut `index` into batches of `batch_size` graphs, the last one maybe shorter, and build one after the other.

    Same arguments, errors and result as `make_batch` on each piece, at a fraction of the calls: many batches are
    selected together, as many as hold `TOGETHER` entries.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.union import disjoint_union
    >>> quotient = refine(disjoint_union([as_graph([[0, 1], [1, 0]])] * 5))
    >>> [batch.B for batch in make_batches(quotient, [4, 3, 2, 1, 0], 2)]
    [2, 2, 1]
    """
    G = quotient.counts.shape[0]
    index = np.asarray(index, dtype=np.int64).reshape(-1)
    if not len(index) or index.min() < 0 or index.max() >= G:
        raise UsageError(f"index: expected at least one graph number from 0 to {G - 1}, got {index.tolist()[:8]}")
    entries = np.cumsum(np.diff(quotient.counts.indptr)[index])
    at = 0
    while at < len(index):
        taken = entries[at - 1] if at else 0
        room = int(np.searchsorted(entries, taken + TOGETHER, side="right")) - at
        end = at + max(1, room // batch_size) * batch_size
        yield from _build(quotient, index[at:end], batch_size, dtype)
        at = end


#: Pool entries selected together by `make_batches`: enough to hide the calls, few enough to stay in cache and memory.
TOGETHER = 100_000


class _Rows(NamedTuple):
    """Rows selected for several batches, one batch after the other, and the numbers of the states they select."""

    indptr: Array
    indices: Array  #: counted from the batch's first column
    data: Array
    at_own: Array
    kept: Array  #: numbers of the columns' states
    cut: Array  #: (batches + 1,) where each batch's columns start in `kept`


def _build(quotient: Quotient, index: Array, batch_size: int, dtype: str) -> Iterator[GraphBatch]:
    batches = -(-len(index) // batch_size)
    cut = np.minimum(np.arange(batches + 1) * batch_size, len(index))
    ptr, entry = row_entries(quotient.counts.indptr, index)
    states, state, cut_2 = _relabel(quotient.counts.indices[entry], ptr[cut], quotient.counts.shape[1])
    count = quotient.counts.data[entry].astype(dtype)[:, None]
    second = _select(quotient.levels[1], states, cut_2, dtype)
    first = _select(quotient.levels[0], second.kept, second.cut, dtype)
    deg_0 = quotient.levels[0].deg[first.kept].astype(dtype)
    deg_1 = quotient.levels[1].deg[second.kept].astype(dtype)
    X = quotient.X[first.kept].astype(dtype)
    for b in range(batches):
        steps = _step(first, second.cut, deg_0, b), _step(second, cut_2, deg_1, b)
        e = slice(ptr[cut[b]], ptr[cut[b + 1]])
        pool = make_pool(ptr[cut[b] : cut[b + 1] + 1] - e.start, state[e], count[e], int(cut_2[b + 1] - cut_2[b]))
        yield GraphBatch(X[first.cut[b] : first.cut[b + 1]], steps, pool)


def _select(level: Level, rows: Array, cut: Array, dtype: str) -> _Rows:
    """Take the rows of a level that each batch needs; `cut` tells where a batch's rows start."""
    indptr, entry = row_entries(level.A.indptr, rows)
    kept, indices, kept_cut = _relabel(level.A.indices[entry], indptr[cut], level.A.shape[1])
    at_own = level.at_own[rows] - level.A.indptr[rows] + indptr[:-1]
    return _Rows(indptr, indices, level.A.data[entry].astype(dtype), at_own, kept, kept_cut)


def _step(rows: _Rows, row_cut: Array, deg: Array, b: int) -> Step:
    """Cut batch b's matrix out of the selected rows."""
    first, last = row_cut[b], row_cut[b + 1]
    e = slice(rows.indptr[first], rows.indptr[last])
    c = slice(rows.cut[b], rows.cut[b + 1])
    indptr = (rows.indptr[first : last + 1] - e.start).astype(np.int32)
    shape = int(last - first), int(c.stop - c.start)
    A = scipy.sparse.csr_array((rows.data[e], rows.indices[e], indptr), shape=shape)
    at_own = rows.at_own[first:last] - e.start
    return Step(A, A.indices[at_own], at_own, deg[c], A.T)


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
        table = np.zeros(batches * n, np.int64)
        table[keys] = 1
        kept = np.flatnonzero(table)
        table[kept] = np.arange(len(kept))
        place = table[keys]
    starts = np.searchsorted(kept, np.arange(batches + 1) * n)
    return kept % n, (place - starts[batch]).astype(np.int32), starts


def _take_level(level: Level, rows: Array, before: Array) -> Level:
    """Keep one node a colour (in rising order) and number the columns by `before`, the first node of each."""
    indptr, entry = row_entries(level.A.indptr, rows)
    rank = _rank(before)
    A = scipy.sparse.csr_array(
        (level.A.data[entry], rank[level.A.indices[entry]], indptr), shape=(len(rows), level.A.shape[1])
    )
    at_own = level.at_own[rows] - level.A.indptr[rows] + indptr[:-1]
    return Level(A, rank[level.own[rows]], at_own, level.deg[np.argsort(before)])


def _rank(first: Array) -> Array:
    """Return the place of each number among all, all of them different."""
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank


def _neighbourhoods(A: Sparse, colour: Array, n: int) -> tuple[Sparse, Array, Array]:
    """Return each node's total weight to each colour (an entry at its own always), its own colour, and where."""
    N = len(colour)
    rows = np.repeat(np.arange(N), np.diff(A.indptr))
    seen = scipy.sparse.coo_array(
        (
            np.concatenate([A.data, np.zeros(N)]),
            (np.concatenate([rows, np.arange(N)]), np.concatenate([colour[A.indices], colour])),
        ),
        shape=(N, n),
    ).tocsr()
    seen.sum_duplicates()
    at_own = np.flatnonzero(seen.indices == np.repeat(colour, np.diff(seen.indptr)))
    return seen, colour, at_own
