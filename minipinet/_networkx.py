"""Networkx graphs taken apart into arrays; networkx itself is imported only when called."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minipinet.adjacency import as_float64, build_adjacency
from minipinet.errors import DataError, UsageError

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
    """

    A: csr_array
    ptr: NDArray[np.int64]
    labels: NDArray[np.object_]
    attributes: NDArray[np.float64]
    nodes: tuple[Hashable, ...]
    notices: tuple[str, ...]


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
    members = _members(graphs)
    nodes = tuple(node for G in members for node in G)
    ptr = np.concatenate([[0], np.cumsum([len(G) for G in members], dtype=np.int64)])
    A, notices = _adjacency(members, ptr, weight, directed, default)
    labels = np.empty((len(nodes), 0), dtype=object)
    for name in _names(node_label):
        column = [_label(*found, name) for found in _values(members, name, default)]
        labels = np.column_stack([labels, np.array(column, dtype=object)])
    attributes = [_numbers(members, name, default) for name in _names(node_attributes)]
    table = np.concatenate([np.empty((len(nodes), 0)), *attributes], axis=1)
    return NetworkxParts(A, ptr, labels, table, nodes, notices)


def _names(names: str | Sequence[str] | None) -> Sequence[str]:
    return [names] if isinstance(names, str) else names or []


def _members(graphs: Any) -> list[nx.Graph]:
    import networkx as nx

    if isinstance(graphs, nx.Graph) or not isinstance(graphs, Iterable):
        raise UsageError(f"graphs: expected a sequence of networkx graphs, got one {type(graphs).__name__}")
    members = list(graphs)
    if not members:
        raise UsageError("graphs: expected at least one graph, got none")
    for g, G in enumerate(members):
        if not isinstance(G, nx.Graph):
            raise UsageError(f"graphs: expected networkx graphs, got {type(G).__name__} as graph {g}")
    return members


def _adjacency(
    graphs: list[nx.Graph], ptr: NDArray[np.int64], weight: str | None, directed: bool, default: Any
) -> tuple[csr_array, tuple[str, ...]]:
    undirected: _Arcs = ([], [], [])
    one_way: _Arcs = ([], [], [])
    for g, G in enumerate(graphs):
        row_of = dict(zip(G, range(ptr[g], ptr[g + 1]), strict=True))
        rows, cols, weights = one_way if G.is_directed() else undirected
        for u, v, data in G.edges(data=True):
            rows.append(row_of[u])
            cols.append(row_of[v])
            weights.append(1.0 if weight is None else _weight(f"graph {g}: edge {(u, v)}", data, weight, default))
    N, weighted = int(ptr[-1]), weight is not None
    edges = build_adjacency(*undirected, N, weighted=weighted)
    arcs = build_adjacency(*one_way, N, weighted=weighted, directed=directed)
    notices = []
    if not weighted and edges.repeats + arcs.repeats:
        notices.append(f"{edges.repeats + arcs.repeats} parallel edges counted once (weight= adds up their weights)")
    if arcs.one_way:
        notices.append(f"{arcs.one_way} arcs joined both ways (directed=True keeps their direction)")
    return edges.A + arcs.A, tuple(notices)  # no graph is in both


def _weight(place: str, data: dict[str, Any], name: str, default: Any) -> float:
    value = _found(place, data, name, default)
    if not _finite(value) or value < 0:
        raise DataError(f"{place}: expected {name!r} to be a finite number that is not negative, got {value!r:.80}")
    return float(value)


def _found(place: str, data: dict[str, Any], name: str, default: Any) -> Any:
    value = data.get(name)
    if value is None:
        value = default.get(name) if isinstance(default, Mapping) else default
    if value is None:
        raise DataError(f"{place} has no attribute {name!r} (default= stands in where it is missing)")
    return value


def _values(graphs: list[nx.Graph], name: str, default: Any) -> Iterator[tuple[str, Any]]:
    for g, G in enumerate(graphs):
        for node, data in G.nodes(data=True):
            place = f"graph {g}: node {node!r}"
            yield place, _found(place, data, name, default)


def _label(place: str, value: Any, name: str) -> str | int | float:
    if isinstance(value, str):
        return str(value)
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
            raise DataError(f"{place}: expected {rows[0].size} numbers in {name!r}, got {row.size}")
        rows.append(row.ravel())
    return np.array(rows) if rows else np.empty((0, 1))
