"""Networkx graphs taken apart into arrays; networkx itself is imported only when called."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minipinet._host import refuse_card
from minipinet._words import counted, listed, type_name
from minipinet.adjacency import as_float64, build_adjacency
from minipinet.errors import DataError, UsageError
from minipinet.reading import Reading, as_reading

if TYPE_CHECKING:
    import networkx as nx

_Arcs: TypeAlias = tuple[list[int], list[int], list[float]]  # rows, columns, weights


class NetworkxParts(NamedTuple):
    """Several networkx graphs taken apart, in the node order of ``list(G)``, graph after graph.

    Attributes
    ----------
    A : csr_array of shape (N, N), float64
        Block diagonal, canonical CSR.
    ptr : ndarray of shape (B + 1,), int64
        Graph g owns rows ``ptr[g]:ptr[g + 1]``.
    labels : ndarray of shape (N, k), object
        One column for each label attribute: strings, or ints and floats (1, 1.0, True and np.int64(1) all come as
        the int 1).
    attributes : ndarray of shape (N, m), float64
        The numeric attributes side by side; a vector takes as many columns as it has numbers.
    nodes : tuple of length N
        Node ids.
    notices : tuple of str
        What was changed on the way in, for the caller to report.
    reading : Reading
        What was asked for.
    unused : tuple
        Names of node data that are there, if none was asked for.
    """

    A: csr_array
    ptr: NDArray[np.int64]
    labels: NDArray[np.object_]
    attributes: NDArray[np.float64]
    nodes: tuple[Hashable, ...]
    notices: tuple[str, ...]
    reading: Reading
    unused: tuple[Hashable, ...]


class MissingAttributeError(DataError):
    """A node or an edge lacks an attribute; `found` says so without advice, which is not the same everywhere."""

    def __init__(self, place: str, name: str, data: Mapping[Any, Any]) -> None:
        others = listed(other for other, value in data.items() if value is not None)
        self.found = f"{place} has no attribute {name!r}" + (f", only {others}" if others else "")
        super().__init__(f"{self.found} (default= stands in where it is missing)")


def networkx_parts(
    graphs: Iterable[nx.Graph],
    *,
    node_label: str | Sequence[str] | None = None,
    node_attributes: str | Sequence[str] = (),
    weight: str | None = None,
    directed: bool = False,
    default: Any = None,
) -> NetworkxParts:
    """Take networkx graphs apart, before their labels are encoded; parameters and errors are those of `from_networkx`.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.Graph()
    >>> G.add_nodes_from([(4, {"atom": "C"}), (2, {"atom": "O"})])
    >>> networkx_parts([G], node_label="atom").labels.tolist()
    [['C'], ['O']]
    """
    reading = as_reading(node_label, node_attributes, weight, directed)
    members = as_members(graphs)
    nodes = tuple(node for G in members for node in G)
    ptr = np.concatenate([[0], np.cumsum([len(G) for G in members], dtype=np.int64)])
    A, notices = _adjacency(members, ptr, weight, directed, default)
    labels = np.empty((len(nodes), 0), dtype=object)
    for name in reading.node_label:
        column = [_label(*found, name) for found in _values(members, name, default)]
        labels = np.column_stack([labels, np.array(column, dtype=object)])
    attributes = [_numbers(members, name, default) for name in reading.node_attributes]
    table = np.concatenate([np.empty((len(nodes), 0)), *attributes], axis=1)
    unused: dict[Hashable, None] = {}
    if not (reading.node_label or reading.node_attributes):
        unused = {name: None for G in members for _, data in G.nodes(data=True) for name in data}
    return NetworkxParts(A, ptr, labels, table, nodes, notices, reading, tuple(unused))


def as_members(graphs: Any) -> list[nx.Graph]:
    """Return several networkx graphs as a list; anything else is a UsageError."""
    import networkx as nx

    if isinstance(graphs, nx.Graph) or not isinstance(graphs, Iterable):
        raise UsageError(f"graphs: expected a sequence of networkx graphs, got one {type_name(graphs)}")
    members = list(graphs)
    if not members:
        raise UsageError("graphs: expected at least one graph, got none")
    for g, G in enumerate(members):
        if not isinstance(G, nx.Graph):
            raise UsageError(f"graphs: expected networkx graphs, got {type_name(G)} as graph {g}")
    return members


def _adjacency(
    graphs: list[nx.Graph], ptr: NDArray[np.int64], weight: str | None, directed: bool, default: Any
) -> tuple[csr_array, tuple[str, ...]]:
    undirected: _Arcs = ([], [], [])
    one_way: _Arcs = ([], [], [])
    ignored = 0
    for g, G in enumerate(graphs):
        row_of = dict(zip(G, range(ptr[g], ptr[g + 1]), strict=True))
        rows, cols, weights = one_way if G.is_directed() else undirected
        for u, v, data in G.edges(data=True):
            rows.append(row_of[u])
            cols.append(row_of[v])
            ignored += weight is None and _finite(data.get("weight")) and data["weight"] != 1
            weights.append(1.0 if weight is None else _weight(f"graph {g}: edge {(u, v)}", data, weight, default))
    N, weighted = int(ptr[-1]), weight is not None
    edges = build_adjacency(*undirected, N, weighted=weighted)
    arcs = build_adjacency(*one_way, N, weighted=weighted, directed=directed)
    notices = []
    if ignored:
        notices.append(f"{counted(ignored, 'edge')} with a weight other than 1 taken as 1 (weight='weight' keeps it)")
    if not weighted and edges.repeats + arcs.repeats:
        repeats = counted(edges.repeats + arcs.repeats, "parallel edge")
        notices.append(f"{repeats} counted once (weight= adds weights up)")
    if arcs.one_way:
        notices.append(f"{counted(arcs.one_way, 'arc')} joined both ways (directed=True keeps the direction)")
    return edges.A + arcs.A, tuple(notices)  # no graph is in both


def _weight(place: str, data: dict[str, Any], name: str, default: Any) -> float:
    value = _found(place, data, name, default)
    refuse_card(f"{place}: {name!r}", value)
    if not _finite(value) or value < 0:
        raise DataError(f"{place}: expected {name!r} to be a finite number that is not negative, got {value!r:.80}")
    return float(value)


def _found(place: str, data: dict[str, Any], name: str, default: Any) -> Any:
    value = data.get(name)
    if value is None:
        value = default.get(name) if isinstance(default, Mapping) else default
    if value is None:
        raise MissingAttributeError(place, name, data)
    return value


def _values(graphs: list[nx.Graph], name: str, default: Any) -> Iterator[tuple[str, Any]]:
    for g, G in enumerate(graphs):
        for node, data in G.nodes(data=True):
            place = f"graph {g}: node {node!r}"
            yield place, _found(place, data, name, default)


def _label(place: str, value: Any, name: str) -> str | int | float:
    if isinstance(value, str):
        return str(value)
    refuse_card(f"{place}: {name!r}", value)
    if not _finite(value):
        raise DataError(f"{place}: expected {name!r} to be a string or a finite number, got {value!r:.80}")
    return int(value) if value == int(value) else float(value)  # equal numbers are one label


def _finite(value: Any) -> bool:
    """Tell whether `value` is a real number that float64 can hold."""
    try:
        return isinstance(value, Real | np.bool_) and math.isfinite(float(value))
    except OverflowError:
        return False


def _numbers(graphs: list[nx.Graph], name: str, default: Any) -> NDArray[np.float64]:
    rows: list[NDArray[np.float64]] = []
    for place, value in _values(graphs, name, default):
        try:
            row = as_float64(value, repr(name))
        except UsageError as error:
            raise DataError(f"{place}: {error}") from error
        if row.ndim > 1 or not row.size or not np.isfinite(row).all():
            raise DataError(f"{place}: expected {name!r} to be finite numbers, at least one, got {value!r:.80}")
        if rows and row.size != rows[0].size:
            raise DataError(f"{place}: expected {counted(rows[0].size, 'number')} in {name!r}, got {row.size}")
        rows.append(row.ravel())
    return np.array(rows) if rows else np.empty((0, 1))
