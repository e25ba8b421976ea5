"""The Weisfeiler-Leman subtree kernel: how many pairs of nodes of two graphs share a colour, round after round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import coo_array

from minipinet._array import Array, Sparse
from minipinet.colours import EqualNeighbourhoods, EqualRows, group, hash_neighbourhoods, hash_rows
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.values import as_values
from minipinet.errors import UsageError


def start_labels(dataset: Dataset) -> Array:
    """Return the label that each node starts with, as a table of numbers.

    Parameters
    ----------
    dataset : Dataset
        N nodes.

    Returns
    -------
    ndarray of shape (N, k), float64
        The data set's discrete node labels, however X was made of them, each value numbered in sorted order: values
        that are equal as numbers (1, 1.0 and True; 0.0 and -0.0) are one label. Without node labels the number of
        neighbours, which is one round ahead of one label for all.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> start_labels(load_dataset("MUTAG")[:1])[-3:].tolist()  # a nitro group; X has a column for each of seven atoms
    [[1.0], [2.0], [2.0]]
    """
    if dataset.node_labels is None:
        return np.diff(dataset.graphs.A.indptr)[:, None].astype(np.float64)
    table = dataset.node_labels
    columns = (np.unique(as_values(column, "node_labels"), return_inverse=True)[1] for column in table.T)
    return np.column_stack([np.zeros((len(table), 0)), *columns])


def colour_counts(dataset: Dataset, rounds: int) -> list[Sparse]:
    """Count the nodes of each colour in each graph, after 0, 1, ..., `rounds` rounds of colour refinement.

    Colours of round 0 are the labels of :func:`start_labels`. Two nodes have one colour of the next round if they have
    one colour now, and as many neighbours of every colour.

    Parameters
    ----------
    dataset : Dataset
        B graphs; an edge is an edge, whatever its weight. The neighbours of node i are the entries of row i of A.
    rounds : int
        0 or more.

    Returns
    -------
    list of csr_array of shape (B, colours), float64
        One for each round, `rounds` + 1 in all. A graph without nodes has a row of zeros.

    Notes
    -----
    O(rounds nnz(A) log nnz(A)) time. Colours are found by hash and confirmed by comparison (`minipinet.colours`), so
    the counts are exact. The number of a colour means nothing outside one call: count graphs to compare together.

    Examples
    --------
    >>> from minipinet.datasets import dataset_from_graphs
    >>> from minipinet.graphs import as_graph
    >>> path = as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> [sorted(c.toarray()[0].tolist()) for c in colour_counts(dataset_from_graphs([path], [0]), 1)]
    [[1.0, 2.0], [1.0, 2.0]]

    Source
    ------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt, "Weisfeiler-Lehman Graph Kernels", JMLR 12 (2011),
    algorithm 1.
    """
    A, _, ptr = dataset.graphs
    labels = start_labels(dataset)
    N, sizes = len(labels), np.diff(ptr)
    graph = np.repeat(np.arange(len(sizes)), sizes)
    node = np.repeat(np.arange(N), np.diff(A.indptr))
    first, colour, content = group(hash_rows(labels, np.zeros(N)), EqualRows(labels))
    counts = [_count(graph, colour, (len(sizes), len(first)))]
    for _ in range(rounds):
        seen = _count(node, colour[A.indices], (N, len(first)))
        h = hash_neighbourhoods(seen, colour, content)
        first, colour, content = group(h, EqualNeighbourhoods(seen, colour))
        counts.append(_count(graph, colour, (len(sizes), len(first))))
    return counts


def kernels_by_round(rows: Sequence[Sparse], columns: Sequence[Sparse], *, normalise: bool = True) -> Iterator[Array]:
    r"""Yield the kernel between two lots of graphs after 0, 1, 2, ... rounds.

    Equation: $k_h(G, G') = \sum_{r \le h} \sum_c n_r(G, c) n_r(G', c)$ with $n_r(G, c)$ the number of nodes of G
    that have the colour c after r rounds; normalised, $k_h(G, G') / \sqrt{k_h(G, G) k_h(G', G')}$.

    Parameters
    ----------
    rows, columns : sequences of csr_array
        From :func:`colour_counts`: rows of one result, a matrix for each round.
    normalise : bool
        The normalised kernel is 0 between a graph without nodes and any other, and itself.

    Yields
    ------
    ndarray of shape (len(rows), len(columns)), float64
        Sums of whole numbers, hence exact; normalised, rounded twice, in [0, 1].

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> counts = colour_counts(load_dataset("MUTAG")[:2], rounds=1)
    >>> [K.tolist() for K in kernels_by_round(counts, counts, normalise=False)]
    [[[201.0, 132.0], [132.0, 89.0]], [[304.0, 188.0], [188.0, 126.0]]]
    """
    K = np.zeros((rows[0].shape[0], columns[0].shape[0]))
    own_rows, own_columns = np.zeros(len(K)), np.zeros(K.shape[1])
    for left, right in zip(rows, columns, strict=True):
        K = K + (left @ right.T).toarray()
        own_rows = own_rows + _squares(left)
        own_columns = own_columns + _squares(right)
        scale = np.sqrt(np.outer(own_rows, own_columns))
        yield np.divide(K, scale, out=np.zeros_like(K), where=scale > 0) if normalise else K


def check_block(K: Array, trained: int) -> Array:
    """Return a block of kernel values if a support vector machine can label its rows; refuse it otherwise.

    Parameters
    ----------
    K : ndarray of shape (n_test, trained)
        Kernel between the graphs to label, a row each, and the graphs trained on, in their order.
    trained : int
        Number of graphs trained on.

    Raises
    ------
    UsageError
        For any other shape: a block of test against test graphs, for one.

    Examples
    --------
    >>> check_block(np.ones((2, 3)), 3).shape
    (2, 3)
    """
    if np.ndim(K) != 2 or np.shape(K)[1] != trained:
        expected = f"(n_test, n_train) = (n_test, {trained}), a column for each graph trained on"
        raise UsageError(f"K: expected the shape {expected}, got {np.shape(K)}")
    return K


def _count(rows: Array, columns: Array, shape: tuple[int, int]) -> Sparse:
    return coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()


def _squares(counts: Sparse) -> Array:
    return np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
