"""GraKeL's format: lists of edges, node labels and edge labels; GraKeL itself is never imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from minipinet._words import listed
from minipinet.adjacency import arcs_of
from minipinet.datasets.dataset import Dataset
from minipinet.errors import DataError, UsageError
from minipinet.interop.common import graphs_and_weighted, items_of

if TYPE_CHECKING:
    import networkx as nx

_FORMS = "a square matrix, pairs or (row, column, weight) triples, a mapping of pairs to weights, or one of neighbours"


def from_grakel(graphs: Iterable[Any]) -> list[nx.DiGraph]:
    """Make networkx graphs of graphs in GraKeL's format; models and `dataset_from_networkx` take them from there.

    Parameters
    ----------
    graphs : iterable of sequences ``[graph]``, ``[graph, node_labels]`` or ``[graph, node_labels, edge_labels]``
        What ``fetch_dataset(...).data`` holds and kernels take. `graph` in any of the forms GraKeL knows: a square
        matrix (dense, SciPy or nested lists), edges as pairs or as triples with a weight, a mapping of edges to
        weights, a mapping of nodes to lists of neighbours or to mappings of neighbours to weights. As in GraKeL an
        array is always a matrix, and so are lists as many as each is long: two edges that are lists of two, or three
        triples that are lists of three. Edges that are tuples are never taken for a matrix. `node_labels` and
        `edge_labels`: mappings, or None. Only read, never changed.

    Returns
    -------
    list of networkx.DiGraph
        A node has its label as ``"label"``, an edge its ``"weight"`` where it has one, and its ``"label"``: the names
        for a model whose training graphs had others, as in ``model.logits(graphs, node_label="label")``. Nodes are
        in the order of `node_labels`, then of the edges, which are sorted where they are a set. A pair that stands
        there one way only is an arc; who reads the graph joins it both ways, with a notice.

    Raises
    ------
    UsageError
        If `graphs` is no sequence of such sequences, at least one.
    DataError
        If a graph has another form; names the graph.

    Examples
    --------
    >>> from minipinet.datasets import dataset_from_networkx
    >>> water = [{(0, 1), (1, 0), (0, 2), (2, 0)}, {0: "O", 1: "H", 2: "H"}, {}]
    >>> dataset_from_networkx(from_grakel([water]), ["inorganic"], node_label="label").encoder.vocabularies
    (('H', 'O'),)
    """
    items = items_of(graphs, "graphs", "graphs")
    return [_graph(entry, f"graphs: graph {g}") for g, entry in enumerate(items)]


def to_grakel(graphs: Any) -> list[list[Any]]:
    """Write graphs in GraKeL's format.

    Parameters
    ----------
    graphs : Dataset, DisjointUnion or sequence of Graph

    Returns
    -------
    list of lists ``[edges, node_labels, edge_labels]``
        `edges` is a set of pairs of node numbers from 0, both directions of an edge, or a mapping of the pairs to
        weights if any edge of any graph has one other than 1 or a Dataset was read with weights. The label of a node is
        that of the Dataset, a tuple where it has several; without labels the tuple of its features, which GraKeL takes
        as attributes. `edge_labels` is empty. The classes of a Dataset are ``dataset.labels``.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> edges, labels, _ = to_grakel(load_dataset("MUTAG")[:1])[0]
    >>> len(edges), labels[0]
    (38, 0)
    """
    members, weighted = graphs_and_weighted(graphs)
    labels = graphs.node_labels if isinstance(graphs, Dataset) else None
    if labels is None:
        named = [tuple(row) for graph in members for row in graph.X.tolist()]
    else:
        named = [row[0] if len(row) == 1 else tuple(row) for row in labels.tolist()]
    written, first = [], 0
    for graph in members:
        entries = graph.A.tocoo()
        pairs = list(zip(entries.row.tolist(), entries.col.tolist(), strict=True))
        edges: Any = dict(zip(pairs, entries.data.tolist(), strict=True)) if weighted else set(pairs)
        written.append([edges, dict(enumerate(named[first : first + graph.N])), {}])
        first += graph.N
    return written


def _graph(entry: Any, place: str) -> nx.DiGraph:
    import networkx as nx

    if not isinstance(entry, list | tuple) or not 1 <= len(entry) <= 3:
        raise UsageError(
            f"{place}: expected [graph, node_labels, edge_labels], the last two optional, got {type(entry).__name__}"
        )
    graph, labels, edge_labels = (*entry, None, None)[:3]
    labels, edge_labels = _mapping(labels, place, "node"), _mapping(edge_labels, place, "edge")
    nodes, edges = _edges(graph, place)
    if None in labels:
        raise DataError(f"{place}: node label for None, which is no node")
    known = set(nodes)
    if _is_matrix(graph) and (strange := [node for node in labels if node not in known]):
        raise DataError(f"{place}: node labels for {listed(strange)}, but the matrix has {len(nodes)} nodes, from 0")
    G = nx.DiGraph()
    G.add_nodes_from((node, {"label": label}) for node, label in labels.items())
    G.add_nodes_from(nodes)
    for u, v, weight in edges:
        G.add_edge(u, v, **({} if weight is None else {"weight": weight}))
    for pair, label in edge_labels.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and G.has_edge(*pair)):
            raise DataError(f"{place}: edge label for {pair!r:.80}, which is no edge of it")
        G.edges[pair]["label"] = label
    return G


def _mapping(labels: Any, place: str, what: str) -> Mapping[Any, Any]:
    if labels is not None and not isinstance(labels, Mapping):
        raise DataError(f"{place}: expected {what} labels as a mapping or None, got {type(labels).__name__}")
    return labels or {}


def _is_matrix(graph: Any) -> bool:
    """Tell a matrix from edges as GraKeL does: two edges that are lists of two are a matrix."""
    rows = isinstance(graph, list | tuple) and graph and all(isinstance(row, list) for row in graph)
    return issparse(graph) or isinstance(graph, np.ndarray) or bool(rows and all(len(r) == len(graph) for r in graph))


def _edges(graph: Any, place: str) -> tuple[list[Any], list[tuple[Any, Any, Any]]]:
    """Return the nodes that a graph names, in order, and its edges as triples; a weight is None where there is none."""
    if _is_matrix(graph):
        try:
            rows, cols, weights, N = arcs_of(graph, "matrix")
        except (UsageError, DataError) as error:
            pairs = isinstance(graph, np.ndarray) and graph.ndim == 2 and len(graph) != graph.shape[1] in (2, 3)
            hint = "; edges go in as tuples, not as an array" if pairs else ""
            raise DataError(f"{place}: {error}{hint}") from error
        return list(range(N)), list(zip(rows.tolist(), cols.tolist(), weights.tolist(), strict=True))
    if isinstance(graph, str) or not isinstance(graph, Iterable):
        raise DataError(f"{place}: expected {_FORMS}, got {type(graph).__name__}")
    edges = []
    nodes: list[Any] = []
    try:
        if isinstance(graph, Mapping):
            for key, value in graph.items():
                if isinstance(value, Mapping):  # neighbours with weights
                    nodes.append(key)
                    edges += [(key, other, weight) for other, weight in value.items()]
                elif isinstance(value, list | tuple | set | frozenset):  # neighbours
                    nodes.append(key)
                    edges += [(key, other, None) for other in value]
                else:
                    edges.append((*_pair(key), value))
        else:
            for edge in _sorted(graph) if isinstance(graph, set | frozenset) else graph:
                if not isinstance(edge, list | tuple | np.ndarray) or len(edge) not in (2, 3):
                    raise ValueError(f"{edge!r:.80} is no edge")
                u, v, weight = (*edge, None)[:3]
                edges.append((u, v, weight))
        nodes = list(dict.fromkeys(nodes + [node for u, v, _ in edges for node in (u, v)]))
        if None in nodes:
            raise ValueError("None is no node")
        return nodes, edges
    except (TypeError, ValueError) as error:
        raise DataError(f"{place}: expected {_FORMS}, got something else ({error})") from error


def _sorted(edges: Any) -> list[Any]:
    """Return the edges of a set in an order that every run repeats."""
    try:
        return sorted(edges)
    except TypeError:  # names of several types
        return sorted(edges, key=repr)


def _pair(key: Any) -> tuple[Any, Any]:
    if not isinstance(key, tuple) or len(key) != 2:
        raise ValueError(f"{key!r:.80} is no pair of nodes")
    return key
