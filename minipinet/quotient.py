"""The quotient of a data set: one row per distinct node state instead of one per node, exactly.

Two nodes with equal features and degree, whose neighbours carry equal colours with equal total weights, have equal
states after a layer, whatever the weights of the network (colour refinement, Weisfeiler and Leman 1968). A data set is
refined once, into three levels of colours: 0 before the first layer, 1 after it, 2 after the second; a batch selects
the rows its graphs need (`minipinet.batch`). With ``merge=False`` every node is its own colour, which is the plain
form: one code path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from minipinet._array import Array, Sparse
from minipinet._host import refuse_card
from minipinet.colours import EqualNeighbourhoods, EqualRows, group, hash_multisets, hash_neighbourhoods, hash_rows
from minipinet.pool import row_entries
from minipinet.union import DisjointUnion


class Level(NamedTuple):
    """The colours after one layer, as rows over the colours before it."""

    A: Sparse  #: (n_k, n_{k-1}) CSR float64: total weight a colour's node gives to each earlier colour
    own: Array  #: (n_k,) int, the colour's own earlier colour
    at_own: Array  #: (n_k,) int, position of entry (i, own[i]) in A.data
    deg: Array  #: (n_{k-1},) degree of each earlier colour


class Quotient(NamedTuple):
    """A data set refined once: what `minipinet.batch.make_batch` selects from."""

    X: Array  #: (n_0, d) float64, features of the level-0 colours
    levels: tuple[Level, Level]
    counts: Sparse  #: (G, n_2) CSR: number of each graph's nodes in each level-2 colour
    colour: Array  #: (N,) int, rank of each node's level-2 colour: its row in a batch of all graphs
    kind: Array  #: (G,) int, graphs of one kind hold the same colours equally often: they have the same scores
    example: Array  #: (number of kinds,) int, a graph of each kind
    rank: tuple[Array, Array, Array]  #: (n_k,) int, place of each colour of a level in the order of what colours are
    by_rank: tuple[Array, Array, Array]  #: (n_k,) int, the colours in that order


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
    a collision cannot merge two colours. The entries of a row, and the rows that a batch selects, are in the order of
    these hashes (`rank`), hence of what a colour is: every sum over colours, in the gradients too, is taken in the same
    order whatever the order of the nodes and whatever other graphs are in the data set, the graphs tested among them.
    Colours are numbered, and so stored, as nodes first have them, so that those of a graph lie side by side in memory.

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
    refuse_card("graphs", graphs)
    A, X, ptr = graphs
    deg = np.asarray(A.sum(axis=1)).ravel()
    if merge:
        first, colour, content = group(hash_rows(X, deg), EqualRows(np.column_stack([X, deg])))
    else:
        first = colour = np.arange(len(X))
        content = np.zeros(len(X), np.uint64)
    X, firsts = X[first], [first]
    levels = []
    for _ in range(2):
        before = first
        seen, own, at_own = _neighbourhoods(A, colour, len(first))
        if merge:
            first, colour, content = group(hash_neighbourhoods(seen, own, content), EqualNeighbourhoods(seen, own))
        levels.append(_take_rows(Level(seen, own, at_own, deg[before]), first))
        firsts.append(first)
    sizes = np.diff(ptr)
    graph = np.repeat(np.arange(len(sizes)), sizes)
    counts = scipy.sparse.coo_array((np.ones(len(colour)), (graph, colour)), shape=(len(sizes), len(first))).tocsr()
    if merge:
        none = np.zeros(len(sizes), np.int64)
        example, kind, _ = group(hash_multisets(counts, content), EqualNeighbourhoods(counts, none))
    else:
        example = kind = np.arange(len(sizes))
    # So far colours are numbered by rank.
    rank = np.argsort(firsts[0]), np.argsort(firsts[1]), np.argsort(firsts[2])
    by_rank = np.argsort(rank[0]), np.argsort(rank[1]), np.argsort(rank[2])
    first_level, second_level = (_renumber(levels[k], rank[k], by_rank[k], rank[k + 1]) for k in range(2))
    counts.indices = by_rank[2][counts.indices]
    return Quotient(X[rank[0]], (first_level, second_level), counts, colour, kind, example, rank, by_rank)


def _renumber(level: Level, rank: Array, by_rank: Array, rows: Array) -> Level:
    """Number the earlier colours by `by_rank`, and take the rows in this order; the entries of a row stay in theirs."""
    moved = _take_rows(level, rows)
    moved.A.indices = by_rank[moved.A.indices]
    return moved._replace(own=by_rank[moved.own], deg=level.deg[rank])


def _take_rows(level: Level, rows: Array) -> Level:
    """Keep one node a colour, in the order given."""
    indptr, entry = row_entries(level.A.indptr, rows)
    A = scipy.sparse.csr_array(
        (level.A.data[entry], level.A.indices[entry], indptr), shape=(len(rows), level.A.shape[1])
    )
    at_own = level.at_own[rows] - level.A.indptr[rows] + indptr[:-1]
    return Level(A, level.own[rows], at_own, level.deg)


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
