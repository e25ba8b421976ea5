"""Graphs in a list, of one of three kinds, as an estimator is given them; and how they become a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet._host import refuse_card
from minipinet.adjacency import arcs_of, as_features, build_adjacency
from minipinet.datasets.dataset import Dataset, dataset_from_graphs
from minipinet.datasets.from_networkx import dataset_from_networkx
from minipinet.errors import DataError, UsageError
from minipinet.graphs import Graph
from minipinet.interop.members import Member, join_members
from minipinet.reading import Reading, as_reading

#: How graphs can be asked to be read.
OPTIONS = ("node_label", "node_attributes", "features", "default", "weight", "directed")
_OF_EDGES = ("weight", "directed")  # the others are of nodes, whose features a pair has already
KNOWN = "a Graph, a networkx graph or an (A, X) pair"


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
    refuse_card("X", X)
    # Two graphs in a tuple are a sequence, a matrix and features are one pair.
    one = "" if isinstance(X, tuple) and all(map(kind_of, X)) else kind_of(X)
    if one:
        raise UsageError(f"X: expected a sequence of graphs, got one {one}; [graph] is a sequence of one")
    try:
        graphs = list(X)
    except TypeError as error:
        raise UsageError(f"X: expected a sequence of graphs, got {type(X).__name__}") from error
    if not graphs:
        raise UsageError("X: expected at least one graph, got none")
    kinds = [kind_of(graph) for graph in graphs]
    for g, kind in enumerate(kinds):
        if not kind:
            raise UsageError(f"X: expected each graph to be {KNOWN}, got {type(graphs[g]).__name__} as graph {g}")
        if kind != kinds[0]:
            raise UsageError(f"X: expected graphs of one kind, got a {kinds[0]} as graph 0, a {kind} as graph {g}")
    return kinds[0], graphs


def kind_of(graph: Any) -> str:
    """Return what one graph is, in the words of :func:`graphs_of_one_kind`; "" for anything else."""
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
    for name in OPTIONS:
        value = options[name]
        takers = "networkx graphs or (A, X) pairs" if name in _OF_EDGES else "networkx graphs"
        given = value is not None and (name == "default" or bool(value))
        if given and kind != "networkx graph" and (kind == "Graph" or name not in _OF_EDGES):
            raise UsageError(f"{name}: expected only with {takers}, got {value!r:.80} with a {kind}")
    if kind == "networkx graph":
        return dataset_from_networkx(graphs, y, **options)
    if kind == "Graph":
        return dataset_from_graphs(graphs, y)
    reading = reading_of_pairs(options["weight"], options["directed"])
    return replace(dataset_from_graphs(graphs_of_pairs(graphs, reading), y), reading=reading)


def reading_of_pairs(weight: Any, directed: Any) -> Reading:
    """Return how pairs (A, X) are read: `weight` True keeps the entries of A, as "weight" of networkx graphs later.

    Examples
    --------
    >>> reading_of_pairs(True, False).weight
    'weight'
    """
    if weight is not None and not isinstance(weight, bool | np.bool_):
        raise UsageError(f"weight: expected True (keep the entries of A) or None with (A, X) pairs, got {weight!r:.80}")
    return as_reading(None, None, "weight" if weight else None, directed)


def graphs_of_pairs(pairs: list[Any], reading: Reading, name: str = "X") -> list[Graph]:
    """Make graphs of pairs (A, X), as `as_graph` does; what was changed is said once for all.

    Raises
    ------
    UsageError, DataError
        As `as_graph`, naming the graph too.
    """
    weight = "weight" if reading.weight else None
    members = []
    for g, (A, X) in enumerate(pairs):
        try:
            rows, cols, weights, N = arcs_of(A)
            features = np.ones((N, 1)) if X is None else as_features(X, N)
            if weight:  # a sum too large is told of its graph
                build_adjacency(rows, cols, weights, N, weighted=True, directed=True)
        except (UsageError, DataError) as error:
            raise type(error)(f"{name}: graph {g}: {error}") from error
        edge = weights != 0
        members.append(Member(cols[edge], rows[edge], weights[edge], features, N))
    return join_members(
        members, name, weight=weight, weight_name="weight", keep="weight=True", directed=reading.directed
    )
