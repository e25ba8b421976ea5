"""Where the nodes of a drawn graph lie: apart from each other, edges of a like length, parts beside each other."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from minipinet._array import Array
from minipinet.graphs import Graph, as_graph
from minipinet.report.layout import APART, positions

GRAPHS = {
    "one node": nx.empty_graph(1), "lone nodes": nx.empty_graph(30), "edge": nx.path_graph(2),
    "path": nx.path_graph(60), "ring": nx.cycle_graph(6), "star": nx.star_graph(40),
    "complete": nx.complete_graph(25), "two sides": nx.complete_bipartite_graph(9, 9),
    "parts": nx.disjoint_union_all([nx.cycle_graph(5), nx.path_graph(3), nx.empty_graph(4), nx.cycle_graph(7)]),
    "grid": nx.grid_2d_graph(6, 6), "barbell": nx.barbell_graph(8, 3),
}  # fmt: skip


def made(name: str) -> Graph:
    return as_graph(nx.to_numpy_array(GRAPHS[name]))


def distances(xy: Array) -> Array:
    between = np.linalg.norm(xy[:, None] - xy[None], axis=2)
    np.fill_diagonal(between, np.inf)
    return between


@pytest.mark.parametrize("name", GRAPHS)
def test_nodes_lie_apart_from_the_corner_on(name: str) -> None:
    graph = made(name)
    xy = positions(graph)
    assert xy.shape == (graph.N, 2)
    assert np.isfinite(xy).all()
    assert xy.min(axis=0) == pytest.approx([0, 0], abs=1e-12)
    assert distances(xy).min() >= APART - 1e-9
    assert (positions(graph) == xy).all()


@pytest.mark.parametrize("name", ["edge", "path", "ring", "grid"])
def test_edges_of_graphs_with_room_are_about_one_long(name: str) -> None:
    graph = made(name)
    lengths = distances(positions(graph))[graph.A.nonzero()]
    assert np.median(lengths) == pytest.approx(1, abs=0.02)


def test_parts_stand_beside_each_other() -> None:
    graph = made("parts")
    xy = positions(graph)
    parts = [sorted(part) for part in nx.connected_components(GRAPHS["parts"])]
    boxes = [(xy[part].min(axis=0), xy[part].max(axis=0)) for part in parts]
    for k, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:k]:
            assert ((low > other_high + APART) | (other_low > high + APART)).any()
    width, height = xy.max(axis=0)
    assert 0.4 < width / height < 4


def test_the_long_side_lies_across() -> None:
    width, height = positions(made("path")).max(axis=0)
    assert width > 5 * height


def test_loops_directions_and_weights_change_nothing() -> None:
    A = nx.to_numpy_array(nx.cycle_graph(6))
    plain = positions(as_graph(A))
    assert (positions(as_graph(np.triu(5 * A) + np.eye(6), weighted=True, directed=True)) == plain).all()
