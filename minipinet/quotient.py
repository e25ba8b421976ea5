"""Quotient batches: one row per distinct node state instead of one per node, exactly.

Two nodes with equal features and degree, whose neighbours carry equal colours with equal total weights, have equal
states after a layer, whatever the weights of the network (colour refinement, Weisfeiler and Leman 1968). A data set is
refined once, into three levels of colours: 0 before the first layer, 1 after it, 2 after the second. A batch selects
the rows its graphs need. With ``merge=False`` every node is its own colour, which is the plain form: one code path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse

from minipinet._array import Array, Sparse
from minipinet.errors import UsageError
from minipinet.graphs import DisjointUnion
from minipinet.pool import Pool, make_pool, row_entries
from minipinet.propagation import Step


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
    a collision cannot merge two colours. They are numbered by hash, hence by content: the order of a graph's colours,
    and of every sum over them, is the same whatever other graphs are in the data set.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.graphs import as_graph, disjoint_union
    >>> star = as_graph([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> quotient = refine(disjoint_union([star]))
    >>> len(quotient.X), quotient.counts.toarray().astype(int).tolist() in ([[3, 1]], [[1, 3]])
    (2, True)
    """
    A, X, ptr = graphs
    deg = np.asarray(A.sum(axis=1)).ravel()
    if merge:
        first, colour, content = _group(_hash_rows(X, deg), _EqualRows(np.column_stack([X, deg])))
    else:
        first = colour = np.arange(len(X))
        content = np.zeros(len(X), np.uint64)
    X = X[first]
    levels = []
    for _ in range(2):
        deg_c = deg[first]
        S, own, at_own = _neighbourhoods(A, colour, len(first))
        if merge:
            first, colour, content = _group(_hash_neighbourhoods(S, own, content), _EqualNeighbourhoods(S, own))
        levels.append(_take_level(Level(S, own, at_own, deg_c), first))
    sizes = np.diff(ptr)
    graph = np.repeat(np.arange(len(sizes)), sizes)
    counts = scipy.sparse.coo_array((np.ones(len(colour)), (graph, colour)), shape=(len(sizes), len(first))).tocsr()
    return Quotient(X, (levels[0], levels[1]), counts, colour)


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
    G = quotient.counts.shape[0]
    index = np.asarray(index, dtype=np.int64).reshape(-1)
    if not len(index) or index.min() < 0 or index.max() >= G:
        raise UsageError(f"index: expected at least one graph number from 0 to {G - 1}, got {index.tolist()[:8]}")
    ptr, entry = row_entries(quotient.counts.indptr, index)
    kept_2, state = np.unique(quotient.counts.indices[entry], return_inverse=True)
    count = quotient.counts.data[entry].astype(dtype)[:, None]

    A_1, at_own_1, kept_1 = _select(quotient.levels[1], kept_2, dtype)
    A_0, at_own_0, kept_0 = _select(quotient.levels[0], kept_1, dtype)
    deg_0 = quotient.levels[0].deg[kept_0].astype(dtype)
    deg_1 = quotient.levels[1].deg[kept_1].astype(dtype)
    steps = (
        Step(A_0, A_0.indices[at_own_0], at_own_0, deg_0, A_0.T),
        Step(A_1, A_1.indices[at_own_1], at_own_1, deg_1, A_1.T),
    )
    return GraphBatch(quotient.X[kept_0].astype(dtype), steps, make_pool(ptr, state, count, len(kept_2)))


def _select(level: Level, rows: Array, dtype: str) -> tuple[Sparse, Array, Array]:
    """Take rows of a level and drop the columns none of them uses: the matrix, at_own, and the columns kept."""
    indptr, entry = row_entries(level.A.indptr, rows)
    kept, indices = np.unique(level.A.indices[entry], return_inverse=True)
    data = level.A.data[entry].astype(dtype)
    A = scipy.sparse.csr_array((data, indices.astype(np.int32), indptr.astype(np.int32)), shape=(len(rows), len(kept)))
    return A, level.at_own[rows] - level.A.indptr[rows] + indptr[:-1], kept


def _take_level(level: Level, rows: Array) -> Level:
    """Keep the given rows (one representative a colour) and every column."""
    indptr, entry = row_entries(level.A.indptr, rows)
    A = scipy.sparse.csr_array(
        (level.A.data[entry], level.A.indices[entry], indptr), shape=(len(rows), level.A.shape[1])
    )
    return Level(A, level.own[rows], level.at_own[rows] - level.A.indptr[rows] + indptr[:-1], level.deg)


def _neighbourhoods(A: Sparse, colour: Array, n: int) -> tuple[Sparse, Array, Array]:
    """Return each node's total weight to each colour (an entry at its own always), its own colour, and where."""
    N = len(colour)
    rows = np.repeat(np.arange(N), np.diff(A.indptr))
    S = scipy.sparse.coo_array(
        (
            np.concatenate([A.data, np.zeros(N)]),
            (np.concatenate([rows, np.arange(N)]), np.concatenate([colour[A.indices], colour])),
        ),
        shape=(N, n),
    ).tocsr()
    S.sum_duplicates()
    at_own = np.flatnonzero(S.indices == np.repeat(colour, np.diff(S.indptr)))
    return S, colour, at_own


def _mix(h: Array) -> Array:
    """Scramble 64-bit words (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _bits(x: Array) -> Array:
    """Return the bits of float64 numbers, equal for equal numbers (0.0 and -0.0)."""
    return (np.asarray(x, np.float64) + 0.0).view(np.uint64)


def _hash_rows(X: Array, deg: Array) -> Array:
    h = _mix(_bits(deg) + _GOLDEN)
    for column in X.T:
        h = _mix(h * _GOLDEN + _bits(column))
    return h


def _hash_neighbourhoods(S: Sparse, own: Array, content: Array) -> Array:
    """Hash (own colour, multiset of (colour, weight)) from the colours' own hashes, in an order-free sum."""
    entry = _mix(content[S.indices] + _GOLDEN * _mix(_bits(S.data)))
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry)])
    return _mix(_mix(content[own]) * _GOLDEN + total[S.indptr[1:]] - total[S.indptr[:-1]])


class _EqualRows(NamedTuple):
    """Tells which rows i and j of a table are equal."""

    table: Array

    def __call__(self, i: Array, j: Array) -> Array:
        return (self.table[i] == self.table[j]).all(axis=1)


class _EqualNeighbourhoods(NamedTuple):
    """Tells which nodes i and j have the same own colour and the same weight to every colour."""

    S: Sparse
    own: Array

    def __call__(self, i: Array, j: Array) -> Array:
        indptr = self.S.indptr
        equal = (self.own[i] == self.own[j]) & (indptr[i + 1] - indptr[i] == indptr[j + 1] - indptr[j])
        pairs = np.flatnonzero(equal)
        ptr, entry_i = row_entries(indptr, i[pairs])
        _, entry_j = row_entries(indptr, j[pairs])
        differs = (self.S.indices[entry_i] != self.S.indices[entry_j]) | (self.S.data[entry_i] != self.S.data[entry_j])
        total = np.concatenate([[0], np.cumsum(differs)])
        equal[pairs] = total[ptr[1:]] == total[ptr[:-1]]
        return equal


def _group(h: Array, equal: _EqualRows | _EqualNeighbourhoods) -> tuple[Array, Array, Array]:
    """Group nodes by hash, then part those whose content differs from their group's first node.

    Returns the first node of each colour, the colour of each node, and the hash of each colour.
    """
    colour = np.empty(len(h), np.int64)
    first, content = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    left, n = np.arange(len(h)), 0
    while len(left):
        values, at, group = np.unique(h[left], return_index=True, return_inverse=True)
        representative = left[at]
        same = equal(left, representative[group])
        colour[left[same]] = n + group[same]
        first.append(representative)
        content.append(values)
        n += len(values)
        left = left[~same]
    return np.concatenate(first), colour, np.concatenate(content)
