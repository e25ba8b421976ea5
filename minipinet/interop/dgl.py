"""DGL: homogeneous graphs in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minipinet._extras import library
from minipinet._words import listed, type_name
from minipinet.errors import DataError, UsageError
from minipinet.graphs import Graph
from minipinet.interop.common import check_dtype, graphs_and_weighted, items_of, narrowed
from minipinet.interop.members import Member, join_members
from minipinet.reading import as_reading


def from_dgl(
    graphs: Any, *, features: str | None = "feat", weight: str | None = None, directed: bool = False
) -> list[Graph]:
    """Make graphs of DGL graphs, read by what they have: DGL is not imported.

    DGL keeps classes beside the graphs; ``dataset_from_graphs(from_dgl(graphs), labels)`` makes a data set of both.

    Parameters
    ----------
    graphs : iterable of DGLGraph
        Homogeneous, one graph each; only ``edges()``, ``num_nodes()``, ``ndata`` and ``edata`` are used, and nothing is
        changed.
    features : str or None
        Name in ``ndata`` of the features, (N, d) or (N,). None: every node has the one feature 1.
    weight : str, optional
        Name in ``edata`` of the weights, finite and not negative; those of repeated edges are added up. Left out: every
        edge has weight 1.
    directed : bool
        As for :func:`minipinet.interop.pyg.from_pyg`: the target takes in the state of the source.

    Returns
    -------
    list of Graph

    Raises
    ------
    UsageError
        If `graphs` is no sequence of such graphs, one is a batch or has several kinds of nodes or edges, or lacks what
        `features` or `weight` names.
    DataError
        If a tensor has a wrong shape or holds what it should not; names the graph.

    Examples
    --------
    >>> class Edge:
    ...     ndata, edata = {"feat": [[1.0], [2.0]]}, {}
    ...     edges = staticmethod(lambda: ([0, 1], [1, 0]))
    ...     num_nodes = staticmethod(lambda: 2)
    >>> from_dgl([Edge()])[0].X.tolist()
    [[1.0], [2.0]]
    """
    as_reading((), (), weight, directed)
    if features is not None and not isinstance(features, str):
        raise UsageError(f"features: expected a name in ndata or None, got {features!r:.80}")
    items = items_of(graphs, "graphs", "DGL graphs", "ndata", "edata", "edges", "num_nodes")
    members = [_member(item, g, features, weight) for g, item in enumerate(items)]
    return join_members(members, "graphs", weight=weight, weight_name="weight", directed=directed)


def to_dgl(graphs: Any, *, features: str = "feat", dtype: str = "float32") -> list[Any]:
    """Make DGL graphs of graphs, on the backend PyTorch.

    Parameters
    ----------
    graphs : Dataset, DisjointUnion or sequence of Graph
        The classes of a Dataset are ``dataset.y``; DGL keeps them beside the graphs.
    features : str
        Name of the features in ``ndata``.
    dtype : "float32" or "float64"
        Of features and weights; float64 keeps every bit.

    Returns
    -------
    list of dgl.DGLGraph
        Both directions of an edge; ``edata["weight"]`` if any edge of any graph has a weight other than 1. None of the
        memory is shared.

    Raises
    ------
    UsageError
        If `graphs` are none; without torch and dgl, which this function imports.
    DataError
        If a feature or a weight is larger than float32 can hold and `dtype` asks for that.
    """
    check_dtype(dtype)
    if not isinstance(features, str):
        raise UsageError(f"features: expected a name for ndata, got {features!r:.80}")
    torch = library("torch", "to_dgl", "pip install torch dgl")
    dgl = library("dgl", "to_dgl", "pip install torch dgl")
    members, weighted = graphs_and_weighted(graphs)
    made = []
    for graph in members:
        entries = graph.A.tocoo()
        ends = [torch.tensor(end, dtype=torch.int64) for end in (entries.col, entries.row)]
        other = dgl.graph(tuple(ends), num_nodes=graph.N)
        other.ndata[features] = torch.tensor(narrowed(graph.X, dtype, "features"), dtype=getattr(torch, dtype))
        if weighted:
            other.edata["weight"] = torch.tensor(narrowed(entries.data, dtype, "weights"), dtype=getattr(torch, dtype))
        made.append(other)
    return made


def _member(item: Any, g: int, features: str | None, weight: str | None) -> Member:
    if not getattr(item, "is_homogeneous", True):
        raise UsageError(f"graphs: graph {g} has several kinds of nodes or edges; dgl.to_homogeneous makes them one")
    if getattr(item, "batch_size", 1) != 1:
        raise UsageError(f"graphs: graph {g} is a batch of several graphs; dgl.unbatch takes it apart")
    for argument, name, data, where in (
        ("features", features, item.ndata, "ndata"),
        ("weight", weight, item.edata, "edata"),
    ):
        if not isinstance(data, Mapping):
            raise UsageError(f"graphs: graph {g}: expected tensors by name in {where}, got {type_name(data)}")
        if name is not None and name not in data:
            there = listed(data) or "nothing"
            raise UsageError(f"{argument}: expected a name in {where} or None, got {name!r}; graph {g} has {there}")
    try:
        (source, target), N = item.edges(), item.num_nodes()
    except (TypeError, ValueError) as error:
        expected = "two tensors from edges() and a number from num_nodes()"
        raise DataError(f"graphs: graph {g}: expected {expected} ({error})") from error
    weights = item.edata.get("weight" if weight is None else weight)
    return Member(source, target, weights, None if features is None else item.ndata[features], N)
