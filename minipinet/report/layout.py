"""Where the nodes of a drawn graph lie."""

from __future__ import annotations

import networkx as nx
import numpy as np

from minipinet._array import Array
from minipinet.graphs import Graph

#: Between the parts of a graph, in lengths of an edge.
_GAP = 1.0
#: Between any two nodes, likewise: discs of three quarters of an edge do not touch.
APART = 0.8
#: How much wider than high a drawing should be.
_WIDE = 1.4


def positions(graph: Graph) -> Array:
    """Place the nodes: each connected part by Kamada and Kawai's springs, one part beside the other.

    Parameters
    ----------
    graph : Graph
        N nodes; time grows as N^3.

    Returns
    -------
    (N, 2) float64 array
        The median edge of a part is about 1 long, longer where many nodes would lie on each other: no two are nearer
        than `APART`. The least of either coordinate is 0. The same graph has the same places.

    Notes
    -----
    Method: Kamada and Kawai, "An Algorithm for Drawing General Undirected Graphs" (1989), by networkx.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> positions(as_graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).round(6).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    G = nx.from_scipy_sparse_array(graph.A + graph.A.T)
    parts = sorted((sorted(part) for part in nx.connected_components(G)), key=lambda part: (-len(part), part))
    placed = [_part(G.subgraph(part), part) for part in parts]
    place = np.zeros((graph.N, 2))
    for part, corner, xy in zip(parts, _shelves([xy.max(axis=0) for xy in placed]), placed, strict=True):
        place[part] = corner + xy
    return place


def _part(G: nx.Graph, nodes: list[int]) -> Array:
    """Place connected nodes, the long side across, least coordinates 0."""
    if len(nodes) == 1:
        return np.zeros((1, 2))
    if len(nodes) == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    # Numbered from 0 in order, and without weights, so that the springs are those of the shape alone.
    shape = nx.convert_node_labels_to_integers(G, ordering="sorted")
    found = nx.kamada_kawai_layout(shape, weight=None)
    xy = np.array([found[i] for i in range(len(nodes))])
    xy -= xy.mean(axis=0)
    xy = xy @ np.linalg.svd(xy, full_matrices=False)[2].T
    edges = np.array([(i, j) for i, j in shape.edges if i != j])
    length = np.median(np.linalg.norm(xy[edges[:, 0]] - xy[edges[:, 1]], axis=1))
    xy = _apart(xy / (length or 1.0))
    return xy - xy.min(axis=0)


def _apart(xy: Array) -> Array:
    """Push nodes that lie on each other apart, little by little; at last stretch the whole if that was not enough."""
    xy, pairs = xy.copy(), np.triu_indices(len(xy), 1)
    angle = np.arange(len(pairs[0]))  # where to go from the very same place
    for _ in range(100):
        way = xy[pairs[0]] - xy[pairs[1]]
        distance = np.hypot(*way.T)
        close = np.flatnonzero(distance < APART)
        if not len(close):
            break
        way, distance = way[close], distance[close]
        same = distance < 1e-9
        way[same] = np.column_stack([np.cos(angle[close][same]), np.sin(angle[close][same])])
        push = way * ((APART + 0.01 - distance) / np.where(same, 1, distance) / 4)[:, None]
        np.add.at(xy, pairs[0][close], push)
        np.add.at(xy, pairs[1][close], -push)
    nearest = np.hypot(*(xy[pairs[0]] - xy[pairs[1]]).T).min()
    return np.asarray(xy * max(1.0, APART / nearest))


def _shelves(sizes: list[Array]) -> list[tuple[float, float]]:
    """Return the corners of boxes set on shelves, one after the other."""
    room = [(width + _GAP, height + _GAP) for width, height in sizes]
    wide = max([np.sqrt(_WIDE * sum(w * h for w, h in room)), *(w for w, _ in room)], default=0.0)
    corners, x, y, shelf = [], 0.0, 0.0, 0.0
    for w, h in room:
        if x > 0 and x + w > wide + 1e-9:
            x, y, shelf = 0.0, y + shelf, 0.0
        corners.append((x, y))
        x, shelf = x + w, max(shelf, h)
    return corners
