"""The TU format (one edge list, one graph number a node, one label a graph): files in, checked arrays out.

The format numbers nodes and graphs from 1, the nodes running on over all graphs. Line i of NAME_A.txt holds
``row, column`` of one entry of the block-diagonal adjacency matrix; an undirected edge stands in two lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minipinet._words import counted, have
from minipinet.datasets.archive import TUFiles
from minipinet.datasets.tables import count_lines, read_table
from minipinet.errors import DataError

#: Without a line for each graph, so many graphs without a node may come on top of one for each graph with nodes; a
#: number that calls for more is taken for a slip.
_SPARE = 1000


class TUContent(NamedTuple):
    """What the files say, checked, with the nodes grouped by graph.

    Attributes
    ----------
    name : str
        The data set's own name.
    arcs : ndarray of shape (m, 2), int64
        Row and column of each line of the edge list, counted from 0; repeats still there.
    ptr : ndarray of shape (B + 1,), int64
        Graph g owns nodes ``ptr[g]:ptr[g + 1]``.
    values : ndarray of shape (B,), int64, or None
        The class of each graph, as written.
    node_labels : ndarray of shape (N, k), int64, or None
        One column for each value in a line.
    attributes : ndarray of shape (N, a), float64, or None
        Node attributes.
    notices : tuple of str
        What a user should know about the files.
    """

    name: str
    arcs: NDArray[np.int64]
    ptr: NDArray[np.int64]
    values: NDArray[np.int64] | None
    node_labels: NDArray[np.int64] | None
    attributes: NDArray[np.float64] | None
    notices: tuple[str, ...]


def parse_tu(files: TUFiles, *, labelled: bool = True) -> TUContent:
    """Parse and check the files of a TU data set; O(size of the files), no loop over lines unless one is bad.

    Parameters
    ----------
    files : TUFiles
        Their contents.
    labelled : bool
        True: the file of graph labels must be there, and its lines are counted as graphs. False: it may be missing;
        then there are as many graphs as the largest number in the graph indicator says.

    Raises
    ------
    DataError
        Naming file and line: a file missing, lines that do not parse, files whose lengths do not agree, an edge
        to a node that is not there or in another graph.
    """
    contents = files.contents
    if labelled and "graph_labels" not in contents and "graph_attributes" in contents:
        raise DataError(
            f"{files.where}: no class labels here, only {files.name}_graph_attributes.txt: "
            "real-valued targets are for regression, and PiNet is a classifier"
        )
    for role in ("graph_indicator", "graph_labels") if labelled else ("graph_indicator",):
        if role not in contents:
            raise DataError(f"{files.path(role)}: no such file, and the TU format needs it")
    graph = read_table(contents["graph_indicator"], files.path("graph_indicator"), columns=1)[:, 0]
    counting, values = "graph_indicator", None
    if "graph_labels" in contents:
        counting = "graph_labels"
        values = read_table(contents["graph_labels"], files.path("graph_labels"), columns=1)[:, 0]
    B = _count_graphs(files, graph, values)
    arcs = read_table(contents["A"], files.path("A"), columns=2)
    _check_arcs(files, arcs, graph)
    for role in ("node_labels", "node_attributes"):  # all before any takes up the memory of a table
        _check_length(files, role, "graph_indicator", graph.size)
    for role in ("edge_labels", "edge_attributes"):  # not used, but a wrong length means a damaged set
        _check_length(files, role, "A", len(arcs))
    node_labels = _read_companion(files, "node_labels", whole=True)
    attributes = _read_companion(files, "node_attributes", whole=False)

    sizes = np.bincount(graph - 1, minlength=B)
    order = np.argsort(graph, kind="stable")  # nodes grouped by graph, in the files' order within each
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    empty = np.flatnonzero(sizes == 0)
    notice = f"{files.path(counting)}: {empty.size} of {counted(B, 'graph')} {have(empty.size)} no node"
    return TUContent(
        name=files.name,
        arcs=position[arcs - 1],
        ptr=np.concatenate([[0], np.cumsum(sizes)]),
        values=values,
        node_labels=None if node_labels is None else node_labels[order],
        attributes=None if attributes is None else attributes[order],
        notices=(notice,) if empty.size else (),
    )


def _count_graphs(files: TUFiles, graph: NDArray[np.int64], values: NDArray[np.int64] | None) -> int:
    """Return the number of graphs, after checking that the graph of each node is one of them."""
    below = np.flatnonzero(graph < 1)
    if below.size:
        raise DataError(
            f"{files.path('graph_indicator')}, line {below[0] + 1}: "
            f"expected a graph number, 1 or more, got {graph[below[0]]}"
        )
    largest = int(graph.max(initial=0))
    if values is None:
        if not largest:
            raise DataError(f"{files.path('graph_indicator')}: expected one line for each node, got none")
        present = np.unique(graph).size
        if largest > 2 * present + _SPARE:
            raise DataError(
                f"{files.path('graph_indicator')}, line {graph.argmax() + 1}: expected graph numbers up to "
                f"{2 * present + _SPARE}, since {present} of the graphs {'has' if present == 1 else 'have'} nodes, "
                f"got {largest} (a file of graph labels would say how many graphs there are)"
            )
        return largest
    if not values.size:
        raise DataError(f"{files.path('graph_labels')}: expected one line for each graph, got none")
    if largest > values.size:
        raise DataError(
            f"{files.path('graph_labels')}: expected {counted(largest, 'line')} "
            f"(the largest graph number in {files.name}_graph_indicator.txt), found {values.size}"
        )
    return values.size


def _check_arcs(files: TUFiles, arcs: NDArray[np.int64], graph: NDArray[np.int64]) -> None:
    outside = np.flatnonzero(((arcs < 1) | (arcs > graph.size)).any(axis=1))
    if outside.size:
        i, j = arcs[outside[0]]
        raise DataError(
            f"{files.path('A')}, line {outside[0] + 1}: expected node numbers from 1 to {graph.size} "
            f"(the lines of {files.name}_graph_indicator.txt), got the edge {i}, {j}"
        )
    ends = graph[arcs - 1]
    across = np.flatnonzero(ends[:, 0] != ends[:, 1])
    if across.size:
        (i, j), (g, h) = arcs[across[0]], ends[across[0]]
        raise DataError(
            f"{files.path('A')}, line {across[0] + 1}: the edge {i}, {j} joins node {i} of graph {g} and node {j} "
            f"of graph {h}; node numbers must run on over all graphs, and edges stay within one"
        )


def _check_length(files: TUFiles, role: str, other: str, expected: int) -> None:
    """Check the number of lines of an optional file."""
    if role not in files.contents:
        return
    found = count_lines(files.contents[role], files.path(role))
    if found != expected:
        raise DataError(
            f"{files.path(role)}: expected {counted(expected, 'line')}, as in {files.name}_{other}.txt, found {found}"
        )


def _read_companion(files: TUFiles, role: str, *, whole: bool) -> NDArray[Any] | None:
    """Read an optional file with one line for each node."""
    if role not in files.contents:
        return None
    return read_table(files.contents[role], files.path(role), whole=whole)
