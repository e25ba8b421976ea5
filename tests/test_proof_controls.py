"""Negative controls: what is not invariant, asserted to be far from it, at inputs where it fails by construction.

Every score here is worked out by hand, so that no control fails, or holds, by luck.
"""

from __future__ import annotations

import numpy as np
import pytest

from minipinet import reference
from minipinet._array import Array
from minipinet.attention import column_softmax_forward, pool_forward
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import refine
from minipinet.union import disjoint_union
from tests import strategies
from tests.proof import allowed, batch_all, draw_params, permutation_matrix, scores, trained
from tests.tolerances import relative_error

pytestmark = pytest.mark.invariance

FAR = 1e-2  # ten orders of magnitude above what an invariant model leaves
SUMS = np.array([[1.0, 0.0]] * 4)  # p = 1, q = 0: A~ = A
SWAP = np.array([1, 0])


def walk_counter(C: int = 2) -> PiNetParams:
    """Return weights of 1 without attention: with A~ = A, logit 0 is the mean over the nodes of A A X."""
    params = init_params(np.random.default_rng(0), 1, C, hidden=1, out=1, learned_pq=False, dtype="float64")
    one = np.ones((1, 1))
    return params._replace(W_A0=0 * one, W_A1=0 * one, W_X0=one, W_X1=one, W_D=np.eye(1, C))


def logit(graph: Graph, merge: bool) -> float:
    return float(scores(disjoint_union([graph]), walk_counter(), SUMS, merge=merge)[0, 0])


@pytest.mark.parametrize("merge", [True, False])
def test_case_054_permuting_A_without_X_is_another_graph(merge: bool) -> None:
    # A path 0-1-2-3 with its one label at its end: 2 walks of two steps end there; at an inner node 3 do.
    graph = as_graph(strategies.path(4), [1.0, 0, 0, 0])
    pi = np.array([1, 0, 2, 3])
    A_alone = Graph(permute_nodes(graph, pi).A, graph.X)
    assert logit(graph, merge) == logit(permute_nodes(graph, pi), merge) == 2 / 4
    assert logit(A_alone, merge) == 3 / 4


@pytest.mark.parametrize("merge", [True, False])
def test_case_054_permuting_the_rows_of_A_alone_is_another_graph(merge: bool) -> None:
    graph = as_graph(strategies.path(3), [1.0, 0, 0])
    P = permutation_matrix(np.array([1, 0, 2]))
    rows_alone = as_graph(P @ strategies.path(3), P @ graph.X, directed=True)
    assert logit(graph, merge) == 2 / 3  # A A e_0 = A e_1 = e_0 + e_2
    assert logit(rows_alone, merge) == 3 / 3  # P A takes e_1 to e_1 + e_2, and that to e_0 + e_1 + e_2


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("run", [("MUTAG", "learned"), ("MUTAG", (1.0, 0.0))])
def test_case_054_trained_weights_see_that_A_alone_was_permuted(
    run: tuple[str, str | tuple[float, float]], merge: bool
) -> None:
    data, params, pq = trained(*run)
    moved = [permute_nodes(graph, np.roll(np.arange(graph.N), 1)) for graph in data]
    right = scores(disjoint_union(moved), params, pq, merge=merge)
    wrong = scores(disjoint_union([Graph(m.A, g.X) for m, g in zip(moved, data, strict=True)]), params, pq, merge=merge)
    given = scores(data.graphs, params, pq, merge=merge)
    assert relative_error(right, given) < allowed("float64")
    assert relative_error(wrong, given) > FAR


# Softmax over something else. Two graphs of two nodes: attention before the softmax, and features.

H = [np.array([[0.0], [0.0]]), np.array([[0.0], [np.log(9)]])]
Z_X = [np.array([[1.0], [0.0]]), np.array([[1.0], [0.0]])]


def pooled_with_released_softmax(H: list[Array], Z_X: list[Array]) -> list[float]:
    """Normalise as the released code does: over the batch, a node against the nodes at its place in other graphs."""
    e = np.exp(np.stack(H))
    Z_A = e / e.sum(axis=0)
    return [(Z_A_g.T @ Z_X_g).item() for Z_A_g, Z_X_g in zip(Z_A, Z_X, strict=True)]


def pooled_with_batch_wide_softmax(H: list[Array], Z_X: list[Array]) -> list[float]:
    """Normalise over all nodes of all graphs."""
    total = sum(np.exp(H_g).sum(axis=0) for H_g in H)
    return [(np.exp(H_g).T @ Z_X_g / total).item() for H_g, Z_X_g in zip(H, Z_X, strict=True)]


def pooled_by_the_model(H: list[Array], Z_X: list[Array]) -> list[float]:
    pool = batch_all(refine(disjoint_union([as_graph(np.zeros((len(H_g),) * 2)) for H_g in H]), merge=False)).pool
    Z_A, _ = column_softmax_forward(np.concatenate(H), pool)
    return [P.item() for P in pool_forward(Z_A, np.concatenate(Z_X), pool)[0]]


def test_the_softmax_over_the_batch_at_one_place_is_not_invariant() -> None:
    # Node 0 of the first graph meets exp 0 of the second (a half), and after the swap exp ln 9 (a tenth).
    moved = [H[0][SWAP], H[1]], [Z_X[0][SWAP], Z_X[1]]
    assert np.allclose(pooled_with_released_softmax(H, Z_X), [1 / 2, 1 / 2], rtol=0, atol=1e-14)
    assert np.allclose(pooled_with_released_softmax(*moved), [1 / 10, 1 / 2], rtol=0, atol=1e-14)
    assert np.allclose(pooled_by_the_model(H, Z_X), [1 / 2, 1 / 10], rtol=0, atol=1e-14)
    assert np.allclose(pooled_by_the_model(*moved), [1 / 2, 1 / 10], rtol=0, atol=1e-14)


def test_the_softmax_over_all_nodes_of_the_batch_is_invariant_but_sees_the_other_graphs() -> None:
    # Why batch isolation is tested beside invariance: the order of nodes is not what goes wrong here.
    moved = [H[0][SWAP], H[1]], [Z_X[0][SWAP], Z_X[1]]
    assert pooled_with_batch_wide_softmax(H, Z_X)[0] == pooled_with_batch_wide_softmax(*moved)[0]
    assert np.isclose(pooled_with_batch_wide_softmax(H, Z_X)[0], 1 / 12, rtol=0, atol=1e-14)
    assert pooled_with_batch_wide_softmax(H[:1], Z_X[:1]) == pooled_by_the_model(H[:1], Z_X[:1]) == [1 / 2]


def test_the_softmax_over_features_is_invariant_but_another_model() -> None:
    """The formula printed in the proof. With one attention column every weight is 1: a sum, and no attention at all."""

    def pooled(H: Array, Z_X: Array) -> Array:
        e = np.exp(H)
        return (e / e.sum(axis=1, keepdims=True)).T @ Z_X

    assert pooled(H[1], Z_X[1]).item() == pooled(H[1][SWAP], Z_X[1][SWAP]).item() == 1.0
    assert np.isclose(pooled_by_the_model(H, Z_X)[1], 1 / 10, rtol=0, atol=1e-14)
    # And with real weights: invariant, yet far from z(G).
    params, graph = draw_params(0), as_graph(strategies.path(5), np.arange(10.0).reshape(5, 2))
    results = []
    for G in (graph, permute_nodes(graph, [3, 0, 4, 1, 2])):
        A, X = G.A.toarray(), G.X
        H_A = reference.message_passing(
            A, reference.relu(reference.message_passing(A, X, params, None, "A0")), params, None, "A1"
        )
        z_X = reference.z_X(A, X, params)
        results.append((pooled(H_A, z_X), reference.z_A(A, X, params) @ z_X))
    (printed, meant), (printed_moved, meant_moved) = results
    assert relative_error(printed_moved, printed) < allowed("float64")
    assert relative_error(meant_moved, meant) < allowed("float64")
    assert relative_error(printed, meant) > FAR


def gcn_dense(graph: Graph, W: Array, W_D: Array) -> float:
    """Score as "GCN + Dense" does: a dense layer on the nodes' outputs in the order they come."""
    A_hat = reference.A_tilde(graph.A.toarray(), 0.0, 1.0)
    return float(np.maximum(A_hat @ graph.X @ W, 0).ravel() @ W_D)


def gcn_sum(graph: Graph, W: Array) -> float:
    """Score as "GCN + Sum" does: the same outputs, added up."""
    A_hat = reference.A_tilde(graph.A.toarray(), 0.0, 1.0)
    return float(np.maximum(A_hat @ graph.X @ W, 0).sum())


def test_a_gcn_with_a_dense_layer_on_node_outputs_is_not_invariant() -> None:
    # The dense layer reads the first node: a leaf of the star, then its centre, of degree 4; both have the label 1.
    star = np.zeros((5, 5))
    star[4, :4] = star[:4, 4] = 1.0
    graph, W, first = as_graph(star, [1.0, 0, 0, 0, 1.0]), np.ones((1, 1)), np.eye(5)[0]
    moved = permute_nodes(graph, [4, 1, 2, 3, 0])
    assert gcn_dense(graph, W, first) == 1 + 1 / 2
    assert gcn_dense(moved, W, first) == 1 / 4 + 1 / 2
    assert gcn_sum(graph, W) == gcn_sum(moved, W)
