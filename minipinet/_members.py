"""Graphs in a list, of one of three kinds, as an estimator is given them; and how they become a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from minipinet._words import counted
from minipinet.adjacency import build_adjacency
from minipinet.datasets.dataset import Dataset, dataset_from_graphs
from minipinet.datasets.from_networkx import dataset_from_networkx
from minipinet.errors import DataError, UsageError, notify_changes
from minipinet.graphs import Graph, as_graph
from minipinet.reading import as_reading
from minipinet.union import DisjointUnion, disjoint_union, graph_at

#: How graphs can be asked to be read, and what of it does not apply to graphs that come with their features.
OPTIONS = ("node_label", "node_attributes", "features", "default", "weight", "directed")
_NOT_OF = {"Graph": OPTIONS, "(A, X) pair": OPTIONS[:4], "networkx graph": ()}


def graphs_of_one_kind(X: Any) -> tuple[str, list[Any]]:
    """Return graphs as a list, and what each of them is: "Graph", "networkx graph" or "(A, X) pair".

    Raises
    ------
    UsageError
        If `X` is anything else: one graph, none, or graphs of several kinds.

    Examples
    --------
    >>> graphs_of_one_kind([([[0, 1], [1, 0]], None)])[0]
    '(A, X) pair'
    """
    # Two graphs in a tuple are a sequence, a matrix and features are one pair.
    one = "" if isinstance(X, tuple) and all(map(_kind_of, X)) else _kind_of(X)
    if one:
        raise UsageError(f"X: expected a sequence of graphs, got one {one}; [graph] is a sequence of one")
    try:
        graphs = list(X)
    except TypeError as error:
        raise UsageError(f"X: expected a sequence of graphs, got {type(X).__name__}") from error
    if not graphs:
        raise UsageError("X: expected at least one graph, got none")
    kinds = [_kind_of(graph) for graph in graphs]
    for g, kind in enumerate(kinds):
        if not kind:
            known = "Graph, networkx graphs or (A, X) pairs"
            raise UsageError(f"X: expected a sequence of {known}, got {type(graphs[g]).__name__} as graph {g}")
        if kind != kinds[0]:
            raise UsageError(f"X: expected graphs of one kind, got a {kinds[0]} as graph 0, a {kind} as graph {g}")
    return kinds[0], graphs


def _kind_of(graph: Any) -> str:
    import networkx as nx

    if isinstance(graph, Graph):
        return "Graph"
    if isinstance(graph, nx.Graph):
        return "networkx graph"
    return "(A, X) pair" if isinstance(graph, tuple) and len(graph) == 2 else ""


def dataset_of(kind: str, graphs: list[Any], y: NDArray[Any], options: Mapping[str, Any]) -> Dataset:
    """Make a data set of what `graphs_of_one_kind` returned; `options` has a value for each of OPTIONS.

    Raises
    ------
    UsageError, DataError
        As the readers of the three kinds, and for options that do not apply to this kind.
    """
    for name in _NOT_OF[kind]:
        value = options[name]
        if value is not None and (name == "default" or value):
            raise UsageError(f"{name}: expected only with networkx graphs, got {value!r:.80} with a {kind}")
    if kind == "networkx graph":
        return dataset_from_networkx(graphs, y, **options)
    if kind == "Graph":
        return dataset_from_graphs(graphs, y)
    weight, directed = options["weight"], options["directed"]
    dataset = dataset_from_graphs(graphs_of_pairs(graphs, weight, directed), y)
    return replace(dataset, reading=as_reading(None, None, weight, directed))


def graphs_of_pairs(pairs: list[Any], weight: Any, directed: Any) -> list[Graph]:
    """Make graphs of pairs (A, X), as `as_graph` does; what was changed is said once for all.

    Raises
    ------
    UsageError, DataError
        As `as_graph`, naming the graph too.
    """
    reading = as_reading(None, None, weight, directed)
    graphs = []
    for g, (A, X) in enumerate(pairs):
        try:
            graphs.append(as_graph(A, X, weighted=True, directed=True))
        except (UsageError, DataError) as error:
            raise type(error)(f"X: graph {g}: {error}") from error
    A, X, ptr = disjoint_union(graphs)
    arcs = A.tocoo()
    adjacency = build_adjacency(
        arcs.row, arcs.col, arcs.data, A.shape[0], weighted=reading.weight is not None, directed=reading.directed
    )
    reweighted, one_way = adjacency.reweighted, counted(adjacency.one_way, "entry", "entries")
    changes = [
        (reweighted, f"{counted(reweighted, 'weight')} other than 1 set to 1 (weight='weight' keeps them)"),
        (adjacency.one_way, f"{one_way} added or raised to make A symmetric (directed=True leaves it as it is)"),
    ]
    notify_changes("X", changes)
    union = DisjointUnion(adjacency.A, X, ptr)
    return [graph_at(union, g) for g in range(len(graphs))]
