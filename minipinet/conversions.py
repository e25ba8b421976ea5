"""Graphs from networkx objects, ready for a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minipinet._networkx import NetworkxParts, networkx_parts
from minipinet._words import listed, type_name
from minipinet.adjacency import degrees
from minipinet.datasets.encoder import FeatureEncoder, check_encoder
from minipinet.errors import UsageError, notify
from minipinet.graphs import Graph
from minipinet.union import DisjointUnion

if TYPE_CHECKING:
    import networkx as nx


def from_networkx(
    G: nx.Graph,
    *,
    node_label: str | Sequence[str] | None = None,
    node_attributes: str | Sequence[str] = (),
    weight: str | None = None,
    directed: bool = False,
    default: Any = None,
    encoder: FeatureEncoder | None = None,
) -> Graph:
    """Make a graph of a networkx graph; `networkx_union` does the same for several at once.

    Row i belongs to the i-th node of ``list(G)``, the order of insertion, whatever the ids are; the result keeps
    them as ``nodes``. ``A[i, j]`` is the edge from node i to node j, as in networkx's own matrices. A loop counts
    once. Any of networkx's classes will do, and classes derived from them: only nodes and edges are read.

    Parameters
    ----------
    G : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    node_label : str or sequence of str, optional
        Node attributes that hold a label (a string or a number); only with `encoder`.
    node_attributes : str or sequence of str
        Node attributes that hold a number or a vector of numbers, of one length for all nodes.
    weight : str, optional
        Edge attribute that holds the weight, finite and not negative; weights of parallel edges are added up.
        Left out: every edge has weight 1, however often it occurs.
    directed : bool
        False: an arc joins its two ends both ways, with a notice. True: arcs stay as they are, and a node takes in
        the states of its successors.
    default : value, or mapping of attribute name to value, optional
        Stands in where a node or an edge lacks an attribute asked for. Left out: that is an error.
    encoder : FeatureEncoder, optional
        Makes X of labels, attributes and degrees, as it did for the graphs it was made for. Left out: X is the
        attributes, or one feature, 1, when none are named, with a notice if the nodes carry any.

    Returns
    -------
    Graph

    Raises
    ------
    UsageError
        If `G` is no networkx graph, or labels are named without an encoder.
    DataError
        If an attribute is missing or is not what it should be; names the graph, the node or edge, and the attribute.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = from_networkx(nx.Graph([("b", "a"), ("a", "c")]))
    >>> graph.nodes, graph.deg
    (('b', 'a', 'c'), array([1., 2., 1.]))
    """
    import networkx as nx

    if not isinstance(G, nx.Graph):
        raise UsageError(f"G: expected a networkx graph, got {type_name(G)}; networkx_union takes several")
    parts = networkx_parts(
        [G],
        node_label=node_label,
        node_attributes=node_attributes,
        weight=weight,
        directed=directed,
        default=default,
    )
    return Graph(parts.A, _features(parts, encoder), parts.nodes)


def networkx_union(
    graphs: Iterable[nx.Graph],
    *,
    node_label: str | Sequence[str] | None = None,
    node_attributes: str | Sequence[str] = (),
    weight: str | None = None,
    directed: bool = False,
    default: Any = None,
    encoder: FeatureEncoder | None = None,
) -> DisjointUnion:
    """Make one disjoint union of several networkx graphs; parameters and errors are those of `from_networkx`.

    What was changed is reported once for all graphs, and errors give the number of the graph, from 0.

    Examples
    --------
    >>> import networkx as nx
    >>> networkx_union([nx.path_graph(3), nx.empty_graph(1)]).ptr
    array([0, 3, 4])
    """
    parts = networkx_parts(
        graphs,
        node_label=node_label,
        node_attributes=node_attributes,
        weight=weight,
        directed=directed,
        default=default,
    )
    return DisjointUnion(parts.A, _features(parts, encoder), parts.ptr)


def _features(parts: NetworkxParts, encoder: FeatureEncoder | None) -> NDArray[np.float64]:
    X = parts.attributes
    notices = parts.notices
    if encoder is not None:
        check_encoder(encoder)
        labels = parts.labels if parts.labels.shape[1] else None
        X, unseen = encoder.encode_quietly(labels, X if X.shape[1] else None, degrees(parts.A))
        notices += unseen
    elif parts.labels.shape[1]:
        raise UsageError("node_label: labels need the encoder of a data set or model, got encoder=None")
    elif not X.shape[1]:
        X = np.ones((len(parts.nodes), 1))
        if parts.unused:
            notices += (
                f"the nodes carry data that is not used: {listed(parts.unused)}; every node has the one feature 1 "
                "(name numbers in node_attributes=; dataset_from_networkx also takes types, in node_label=)",
            )
    for notice in notices:
        notify(notice)
    return X
