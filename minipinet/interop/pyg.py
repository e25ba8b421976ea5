"""PyTorch Geometric: lists of ``Data`` in and out."""

from __future__ import annotations

from typing import Any

import numpy as np

from minipinet._extras import library
from minipinet.datasets.dataset import Dataset, dataset_from_graphs
from minipinet.errors import DataError, UsageError
from minipinet.graphs import Graph
from minipinet.interop.common import array_of, check_dtype, graphs_and_weighted, items_of, narrowed
from minipinet.interop.members import Member, join_members
from minipinet.reading import as_reading

_INSTALL = "pip install torch torch_geometric"


def from_pyg(data: Any, *, weight: str | None = None, directed: bool = False) -> list[Graph]:
    """Make graphs of PyTorch Geometric's ``Data`` objects, read by their attributes alone: neither library is imported.

    Parameters
    ----------
    data : iterable of Data
        With ``edge_index`` (2, E); ``x`` (N, d) are the features, and without it every node has the one feature 1, and
        ``num_nodes``, a whole number, says how many there are. Any object with these attributes will do, its tensors on
        any device, or arrays. Only read, never changed.
    weight : str, optional
        Attribute that holds a weight for each edge, finite and not negative, such as ``"edge_weight"``; weights of
        repeated edges are added up. Left out: every edge has weight 1. Other data of edges are not read.
    directed : bool
        False: an edge joins its ends both ways, with a notice where only one way is there. True: the target takes in
        the state of the source and not the other way, so ``A[i, j]`` is the edge from j to i.

    Returns
    -------
    list of Graph
        What was changed on the way is issued as one :class:`~minipinet.errors.Notice` of each kind for all graphs.

    Raises
    ------
    UsageError
        If `data` is no sequence of such objects, or one of them is a batch.
    DataError
        If a tensor has a wrong shape or holds what it should not; names the graph.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> edge = SimpleNamespace(edge_index=[[0, 1], [1, 0]], x=[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> from_pyg([edge])[0].deg
    array([1., 1., 0.])
    """
    as_reading((), (), weight, directed)
    items = items_of(data, "data", "Data objects", "edge_index")
    members = [_member(item, g, weight) for g, item in enumerate(items)]
    return join_members(members, "data", weight=weight, weight_name="edge_weight", directed=directed)


def dataset_from_pyg(
    data: Any, labels: Any = None, *, weight: str | None = None, directed: bool = False, name: str = "pyg"
) -> Dataset:
    """Make a data set of PyTorch Geometric's ``Data`` objects; their ``x`` are taken as features as they are.

    Parameters
    ----------
    data, weight, directed
        As for :func:`from_pyg`.
    labels : array_like of shape (B,), optional
        The classes of the graphs. Left out: their ``y``, one whole number each.
    name : str
        What to call it.

    Raises
    ------
    UsageError, DataError
        As for :func:`from_pyg`, and if a graph has no single ``y``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> graphs = [SimpleNamespace(edge_index=[[0, 1], [1, 0]], x=[[1.0], [2.0]], y=[k]) for k in (0, 3)]
    >>> dataset_from_pyg(graphs).labels
    array([0, 3])
    """
    items = items_of(data, "data", "Data objects", "edge_index")
    graphs = from_pyg(items, weight=weight, directed=directed)
    if labels is None:
        labels = [_label(item, g) for g, item in enumerate(items)]
    return dataset_from_graphs(graphs, labels, name=name)


def to_pyg(graphs: Any, *, dtype: str = "float32") -> list[Any]:
    """Make PyTorch Geometric ``Data`` objects of graphs.

    Parameters
    ----------
    graphs : Dataset, DisjointUnion or sequence of Graph
    dtype : "float32" or "float64"
        Of ``x`` and ``edge_weight``; the layers of PyTorch Geometric expect float32, float64 keeps every bit.

    Returns
    -------
    list of torch_geometric.data.Data
        With ``x`` (N, d) and ``edge_index`` (2, nnz), both directions of an edge; ``edge_weight`` if any edge of any
        graph has a weight other than 1; for a Dataset ``y``, the number of the class: an index into ``classes``.
        None of the memory is shared.

    Raises
    ------
    UsageError
        If `graphs` are none; without torch and torch_geometric, which this function imports.
    DataError
        If a feature or a weight is larger than float32 can hold and `dtype` asks for that.
    """
    check_dtype(dtype)
    torch = library("torch", "to_pyg", _INSTALL)
    Data = library("torch_geometric.data", "to_pyg", _INSTALL).Data
    members, weighted = graphs_and_weighted(graphs)
    made = []
    for g, graph in enumerate(members):
        entries = graph.A.tocoo()
        tensors = {
            "x": torch.tensor(narrowed(graph.X, dtype, "features"), dtype=getattr(torch, dtype)),
            "edge_index": torch.tensor(np.array([entries.col, entries.row]), dtype=torch.int64),
        }
        if weighted:
            tensors["edge_weight"] = torch.tensor(narrowed(entries.data, dtype, "weights"), dtype=getattr(torch, dtype))
        if isinstance(graphs, Dataset):
            tensors["y"] = torch.tensor([int(graphs.y[g])], dtype=torch.int64)
        made.append(Data(**tensors))
    return made


def _member(item: Any, g: int, weight: str | None) -> Member:
    if getattr(item, "batch", None) is not None:
        raise UsageError(f"data: graph {g} is a batch of several graphs: its to_data_list() takes it apart")
    edge_index = array_of(item.edge_index, f"data: graph {g}: edge_index")
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype.kind not in "iu":
        got = f"{edge_index.dtype} of shape {edge_index.shape}"
        raise DataError(f"data: graph {g}: expected edge_index of whole numbers of shape (2, E), got {got}")
    X, N = getattr(item, "x", None), getattr(item, "num_nodes", None)
    if X is not None:
        X = array_of(X, f"data: graph {g}: x")
        N = (X.shape[0] if X.ndim else 0) if N is None else N
    if N is None:
        raise DataError(f"data: graph {g}: expected x, or num_nodes where nodes have no features, got neither")
    weights = getattr(item, "edge_weight" if weight is None else weight, None)
    if weight is not None and weights is None:
        raise UsageError(
            f"weight: expected the name of a tensor that every graph has, got {weight!r}, not in graph {g}"
        )
    return Member(edge_index[0], edge_index[1], weights, X, N)


def _label(item: Any, g: int) -> Any:
    y = getattr(item, "y", None)
    value = None if y is None else array_of(y, f"data: graph {g}: y")
    if value is None or value.size != 1:
        got = "none" if value is None else f"shape {value.shape}"
        raise DataError(f"data: graph {g}: expected one class in y, got {got} (labels= gives the classes otherwise)")
    return value.item()
