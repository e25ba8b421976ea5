"""The theorem where nothing is left to chance: every permutation of small graphs, and every graph of up to 7 nodes."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from minipinet._array import Array
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.model import loss_backward, loss_forward
from minipinet.quotient import refine
from minipinet.union import DisjointUnion, disjoint_union
from tests import proof
from tests.proof import TABLES, allowed, batch_all, draw_params, renumber, scores
from tests.seeds import shifted
from tests.tolerances import relative_error, tree_error

pytestmark = pytest.mark.invariance


def asymmetric_graph(n: int) -> Graph:
    """Return a directed weighted graph with a loop and a lone node in which no two nodes are alike."""
    rng = np.random.default_rng(n)
    A = rng.integers(1, 8, (n, n)) / 4 * (rng.random((n, n)) < 0.6)
    A[:1, :1] = 1.0
    if n > 2:
        A[-1], A[:, -1] = 0.0, 0.0
    return as_graph(A, rng.standard_normal((n, 2)), weighted=True, directed=True)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("n", range(6))
def test_theorem_for_all_permutations_of_n_nodes(n: int, merge: bool) -> None:
    graph = asymmetric_graph(n)
    orders = list(permutations(range(n)))
    assert len({permute_nodes(graph, order).X.tobytes() for order in orders}) == len(orders)  # all of them differ
    union = disjoint_union([permute_nodes(graph, order) for order in orders])
    for pq in TABLES:
        params = draw_params(0, learned=pq is None)
        z = scores(union, params, pq, merge=merge)
        assert relative_error(z, np.broadcast_to(z[0], z.shape)) < allowed("float64")


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("n", range(1, 6))
def test_theorem_of_gradients_for_all_permutations_of_n_nodes(n: int, merge: bool) -> None:
    graph, params, y = asymmetric_graph(n), draw_params(0), np.array([1])
    gradients = []
    for order in permutations(range(n)):
        batch = batch_all(refine(disjoint_union([permute_nodes(graph, order)]), merge=merge))
        gradients.append(loss_backward(1.0, loss_forward(params, batch, y)[1]))
    assert max(tree_error(g, gradients[0], floor=1) for g in gradients) < allowed("float64")


def atlas(features: str) -> DisjointUnion:
    """Return every graph of up to 7 nodes (Read and Wilson's atlas, the graph without nodes first)."""
    matrices = [nx.to_numpy_array(g) if len(g) else np.zeros((0, 0)) for g in nx.graph_atlas_g()]
    assert len(matrices) == 1253
    union = disjoint_union([as_graph(A, np.ones((len(A), 2))) for A in matrices])
    if features == "constant":
        return union
    return union._replace(X=np.random.default_rng(shifted(0)).standard_normal(union.X.shape))


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("features", ["random", "constant"])
def test_theorem_for_every_graph_of_the_atlas(features: str, merge: bool) -> None:
    union, rng = atlas(features), np.random.default_rng(shifted(1))
    y: Array = np.arange(1253) % 3
    renumbered = [renumber(union, proof.shuffle(rng, union)) for _ in range(3)]
    for pq in TABLES:
        params = draw_params(1, learned=pq is None)
        given, *moved = (scores(u, params, pq, merge=merge) for u in (union, *renumbered))
        assert max(relative_error(z, given) for z in moved) < allowed("float64")
    # Every gradient, once, of all graphs together.
    params = draw_params(1)
    losses = [loss_forward(params, batch_all(refine(u, merge=merge)), y) for u in (union, *renumbered)]
    gradients = [loss_backward(1.0, cache) for _, cache in losses]
    assert max(relative_error(loss, losses[0][0]) for loss, _ in losses) < allowed("float64")
    assert max(tree_error(g, gradients[0], floor=1) for g in gradients) < allowed("float64")
