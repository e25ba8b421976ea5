"""A data set as it lies on the card: each graph's own quotient, one after the other, so that ids alone make a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.batch import Selected, SelectedRows, select_batches
from minipinet.errors import UsageError
from minipinet.quotient import Quotient

#: Tables with rows of their own: the states of levels 0, 1, 2, and the entries of both layers.
TABLES = 5
#: Indices within a batch are 32-bit.
MOST = 2**31 - 1


class LayerTable(NamedTuple):
    """A layer of every graph, all numbers counted within the graph: by rows, and by columns for the backward pass."""

    first: Array  #: (rows,) int32, first entry of each row
    own: Array  #: (rows,) int32, column of each row's own state
    at_own: Array  #: (rows,) int32, place of its entry
    column: Array  #: (entries,) int32
    weight: Array  #: (entries,)
    deg: Array  #: (columns,)
    column_first: Array  #: (columns,) int32, first entry of each column in the order by columns
    row: Array  #: (entries,) int32, by columns: row of each entry
    entry: Array  #: (entries,) int32, by columns: its place in the order by rows


class GraphTable(NamedTuple):
    """What training needs of a data set of G graphs."""

    ptr: Array  #: (TABLES, G + 1) int64, where each graph starts in each table
    X: Array  #: (states of level 0, d)
    layers: tuple[LayerTable, LayerTable]
    count: Array  #: (states of level 2,) number of the graph's nodes in each state
    y: Array  #: (G,) int32


def graph_table(quotient: Quotient, y: Array, dtype: str = "float32") -> GraphTable:
    """Cut a refined data set into its graphs.

    Parameters
    ----------
    quotient : Quotient
        Of G graphs, on the host.
    y : (G,) int array
    dtype : "float32" or "float64"

    Returns
    -------
    GraphTable
        On the host. States that two graphs share are there twice: batches are then made without comparing any.

    Raises
    ------
    UsageError
        When a table has more than 2^31 - 1 rows or entries.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.quotient import refine
    >>> data = load_dataset("MUTAG")
    >>> table = graph_table(refine(data.graphs), data.y)
    >>> table.X.shape[1], table.ptr.shape, int(table.count.sum()) == len(data.graphs.X)
    (7, (5, 189), True)
    """
    G = quotient.counts.shape[0]
    graphs = [selected for selected, _ in select_batches(quotient, np.arange(G), 1, dtype)]
    sizes = np.array([_sizes(graph) for graph in graphs], np.int64).T
    ptr = np.zeros((TABLES, G + 1), np.int64)
    np.cumsum(sizes, axis=1, out=ptr[:, 1:])
    if ptr.max() > MOST:
        raise UsageError(
            f"quotient: expected at most {MOST} states and entries of a data set on a card, got {ptr.max()}"
        )
    first, second = (_layer([graph[layer] for graph in graphs]) for layer in (1, 2))
    # A graph's entries of the pool are its states of level 2, in their order.
    count = _join([graph.count[np.argsort(graph.state)] for graph in graphs])
    return GraphTable(ptr, _join([graph.X for graph in graphs]), (first, second), count, y.astype(np.int32))


def join_tables(tables: Sequence[GraphTable]) -> GraphTable:
    """Put data sets one after the other; where one has fewer features than another, the rest are zeros.

    So folds can train together whose training graphs do not hold the same node labels: each has the data set in its own
    encoding. A column of zeros changes no sum, and the weights of that column get no gradient.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.quotient import refine
    >>> graphs = load_dataset("MUTAG")[:10].graphs
    >>> wide, narrow = (graph_table(refine(graphs._replace(X=X)), np.zeros(10)) for X in (graphs.X, graphs.X[:, :3]))
    >>> joined = join_tables([narrow, wide])
    >>> joined.X.shape == (len(narrow.X) + len(wide.X), 7), joined.ptr.shape, len(joined.y)
    (True, (5, 21), 20)
    """
    if len(tables) == 1:
        return tables[0]
    d = max(table.X.shape[1] for table in tables)
    sizes = np.concatenate([np.diff(table.ptr, axis=1) for table in tables], axis=1)
    ptr = np.concatenate([np.zeros((TABLES, 1), np.int64), np.cumsum(sizes, axis=1)], axis=1)
    first, second = (LayerTable(*map(_join, zip(*(table.layers[i] for table in tables), strict=True))) for i in (0, 1))
    X = _join([np.pad(table.X, ((0, 0), (0, d - table.X.shape[1]))) for table in tables])
    return GraphTable(
        ptr, X, (first, second), _join([table.count for table in tables]), _join([table.y for table in tables])
    )


def capacities(ptrs: Sequence[Array], B: int) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """Return the most states of each level and entries of each layer in a batch of B different graphs of one data set.

    Examples
    --------
    >>> capacities([np.array([[0, 3, 4, 9]] * 3 + [[0, 9, 9, 10]] * 2)], 2)
    ((8, 8, 8), (10, 10))
    """
    sizes = [np.sort(np.diff(ptr, axis=1), axis=1)[:, ::-1][:, :B].sum(axis=1) for ptr in ptrs]
    n_0, n_1, n_2, first, second = np.maximum(np.max(sizes, axis=0), 1).tolist()
    return (n_0, n_1, n_2), (first, second)


def _sizes(graph: Selected) -> tuple[int, ...]:
    first, second = graph.first, graph.second
    return len(first.deg), len(second.deg), len(graph.count), len(first.data), len(second.data)


def _layer(rows: list[SelectedRows]) -> LayerTable:
    tables = [_by_columns(part) for part in rows]
    return LayerTable(*(_join(column) for column in zip(*tables, strict=True)))


def _by_columns(rows: SelectedRows) -> LayerTable:
    indptr, indices, data, at_own, deg = rows
    entry = np.argsort(indices, kind="stable").astype(np.int32)
    row = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))[entry]
    column_first = np.searchsorted(indices[entry], np.arange(len(deg))).astype(np.int32)
    return LayerTable(indptr[:-1], indices[at_own], at_own, indices, data, deg, column_first, row, entry)


def _join(parts: Iterable[Array]) -> Array:
    return np.concatenate(list(parts))
