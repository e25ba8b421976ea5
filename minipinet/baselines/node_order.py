"""Another order of the nodes: for systems that see it, to learn how much of their accuracy came from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array

from minipinet._array import Array
from minipinet._host import host_array
from minipinet.datasets.dataset import Dataset


def shuffle_nodes(dataset: Dataset, rng: np.random.Generator) -> Dataset:
    """Put the nodes of each graph into an order drawn at random.

    Parameters
    ----------
    dataset : Dataset
    rng : numpy.random.Generator

    Returns
    -------
    Dataset
        The same graphs: rows and columns of A, features, node labels and attributes are moved together.

    Notes
    -----
    O(N log N + nnz).

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> shuffled = shuffle_nodes(ds, np.random.default_rng(0))
    >>> sorted(shuffled[0].deg.tolist()) == sorted(ds[0].deg.tolist()), bool((shuffled[0].deg == ds[0].deg).all())
    (True, False)
    """
    return sort_nodes(dataset, rng.random(len(dataset.graphs.X)))


def sort_nodes(dataset: Dataset, keys: Array) -> Dataset:
    """Put the nodes of each graph into the order of their keys, (N,) float64; of equal ones the earlier comes first."""
    A, X, ptr = dataset.graphs
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    keys = host_array("keys", keys)
    old = np.lexsort((keys, graph))  # old[k]: the node that moves to row k; graphs stay where they are
    new = np.argsort(old)
    arcs = A.tocoo()
    moved = coo_array((arcs.data, (new[arcs.row], new[arcs.col])), shape=A.shape).tocsr()
    moved.sort_indices()
    return replace(
        dataset,
        graphs=dataset.graphs._replace(A=moved, X=X[old]),
        node_labels=None if dataset.node_labels is None else dataset.node_labels[old],
        attributes=None if dataset.attributes is None else dataset.attributes[old],
    )
