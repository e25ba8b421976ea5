"""The theorem z(G) = z(P G): stacks equivariant, pooled matrix, scores, loss and gradients invariant, in both forms."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minipinet import reference
from minipinet._array import Array
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.params import PiNetParams
from minipinet.union import DisjointUnion, disjoint_union
from tests import proof, strategies
from tests.proof import TABLES, Values, allowed, draw_params, renumber, trained, values
from tests.seeds import shifted
from tests.thinned import examples
from tests.tolerances import relative_error, tree_error

pytestmark = pytest.mark.invariance

few = settings(max_examples=examples(15))
tables = st.sampled_from(range(len(TABLES)))
#: Weights trained for a moment: d = 7 with learned and with fixed p, q; d = 2 with biases too.
TRAINED = [("MUTAG", "learned"), ("MUTAG", (1.0, 0.0)), ("random", "learned")]
DTYPES = ["float64", "float32"]


def check_theorem(moved: Values, given: Values, pi: Array, dtype: str = "float64", gradients: bool = True) -> None:
    """Compare every value of the permuted graphs with that of the graphs as given.

    Among thousands of pre-activations one may be within rounding of 0, where rounding decides the ReLU's derivative:
    likely enough in float32 (1e-7) to leave gradients out there, and out of the question in float64 (1e-16).
    """
    near, back = allowed(dtype), np.argsort(pi)
    for name in ("attention", "features", "Z_A", "X"):
        assert relative_error(getattr(moved, name), getattr(given, name)[back]) < near, f"{name} is not equivariant"
    for name in ("pooled", "logits", "loss"):
        assert relative_error(getattr(moved, name), getattr(given, name)) < near, f"{name} is not invariant"
    if gradients:
        assert relative_error(moved.dX, given.dX[back]) < near, "dX is not equivariant"
        assert tree_error(moved.dparams, given.dparams, floor=1) < near, "a gradient is not invariant"


def classes(union: DisjointUnion, C: int) -> Array:
    return np.arange(len(union.ptr) - 1) % C


@pytest.mark.parametrize("merge", [True, False])
@few
@given(strategies.permuted_unions(), tables, st.sampled_from([2, 3]), st.integers(0, 9))
def test_theorem(merge: bool, drawn: tuple[DisjointUnion, Array], table: int, C: int, seed: int) -> None:
    """For any graph G, any permutation pi and any weights, z(G) = z(P_pi G).

    By the lemmas Z_X and Z_A move with the nodes, so that P_g = Z_A^T Z_X, a sum over the nodes, does not change; nor
    does anything made of it: logits, loss, and the gradient of every weight, bias, p and q. dX moves with the nodes.

    With biases no pre-activation is exactly 0, where the ReLU has no derivative: see the next test.
    """
    union, pi = drawn
    params, pq = draw_params(seed, C=C, learned=table == 0), TABLES[table]
    given, moved = (values(u, params, classes(u, C), pq, merge=merge) for u in (union, renumber(union, pi)))
    check_theorem(moved, given, pi)


@pytest.mark.parametrize("merge", [True, False])
@few
@given(strategies.permuted_unions(), tables, st.integers(0, 9))
def test_theorem_without_biases(merge: bool, drawn: tuple[DisjointUnion, Array], table: int, seed: int) -> None:
    """The paper's own equations, which have no biases.

    Whole features may then cancel to a pre-activation of 0 in one order of addition and to 1e-17 in another. Values do
    not mind, but the derivative of the ReLU there is 0 or 1: gradients are compared on features that do not cancel.
    """
    union, pi = drawn
    params, pq = draw_params(seed, bias=False, learned=table == 0), TABLES[table]
    given, moved = (values(u, params, classes(u, 3), pq, merge=merge) for u in (union, renumber(union, pi)))
    check_theorem(moved, given, pi, gradients=False)
    union = union._replace(X=np.random.default_rng(seed).standard_normal(union.X.shape))
    given, moved = (values(u, params, classes(u, 3), pq, merge=merge) for u in (union, renumber(union, pi)))
    check_theorem(moved, given, pi)


@settings(max_examples=examples(10))
@given(strategies.permuted_unions(), st.integers(0, 9))
def test_theorem_of_the_oracle(drawn: tuple[DisjointUnion, Array], seed: int) -> None:
    """The same of the paper's equations written out: z(G) itself, the probabilities."""
    union, pi = drawn
    params = draw_params(seed)
    moved = renumber(union, pi)
    for i, j in zip(union.ptr[:-1], union.ptr[1:], strict=True):
        z, z_moved = (reference.z(u.A[i:j, i:j].toarray(), u.X[i:j], params) for u in (union, moved))
        assert relative_error(z_moved, z) < allowed("float64")


@pytest.mark.parametrize("merge", [True, False])
@few
@given(strategies.permuted_unions(d=7), st.sampled_from(TRAINED[:2]))
def test_theorem_for_trained_weights(
    merge: bool, drawn: tuple[DisjointUnion, Array], run: tuple[str, str | tuple[float, float]]
) -> None:
    """No accident of fresh weights: the same after training on MUTAG, on graphs unlike those trained on."""
    union, pi = drawn
    _, params, pq = trained(*run)
    given, moved = (values(u, params, classes(u, 2), pq, merge=merge) for u in (union, renumber(union, pi)))
    check_theorem(moved, given, pi, gradients=False)  # no biases: as above


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("run", TRAINED)
def test_theorem_on_the_graphs_trained_on(run: tuple[str, str | tuple[float, float]], dtype: str, merge: bool) -> None:
    data, params, pq = trained(*run, dtype=dtype)
    union, rng = data.graphs, np.random.default_rng(shifted(0))
    given = values(union, params, data.y, pq, merge=merge)
    for _ in range(3):
        pi = proof.shuffle(rng, union)
        moved = values(renumber(union, pi), params, data.y, pq, merge=merge)
        check_theorem(moved, given, pi, dtype, gradients=dtype == "float64")


def twenty_graphs(rng: np.random.Generator, d: int) -> list[Graph]:
    """Return 20 random graphs with one-hot features: one node, no edge, two parts, and 17 of 2 to 30 nodes."""
    graphs = [nx.empty_graph(1), nx.empty_graph(6), nx.disjoint_union(nx.cycle_graph(5), nx.star_graph(4))]
    graphs += [nx.gnp_random_graph(int(rng.integers(2, 31)), 0.2, seed=int(rng.integers(2**31))) for _ in range(17)]
    return [as_graph(nx.to_numpy_array(g), np.eye(d)[rng.integers(0, d, len(g))]) for g in graphs]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("run", TRAINED)
def test_case_055_twenty_random_graphs_five_permutations_each_trained_weights(
    run: tuple[str, str | tuple[float, float]], dtype: str, merge: bool
) -> None:
    data, params, pq = trained(*run, dtype=dtype)
    union = disjoint_union(twenty_graphs(rng := np.random.default_rng(shifted(1)), data.num_features))
    y = classes(union, data.num_classes)
    given = values(union, params, y, pq, merge=merge)
    for _ in range(5):
        pi = proof.shuffle(rng, union)
        moved = values(renumber(union, pi), params, y, pq, merge=merge)
        check_theorem(moved, given, pi, dtype, gradients=dtype == "float64")


@pytest.mark.parametrize("merge", [True, False])
def test_case_054_the_helper_permutes_a_labelled_graph_of_mutag(merge: bool) -> None:
    data, params, pq = trained("MUTAG")
    rng = np.random.default_rng(shifted(2))
    moved = disjoint_union([permute_nodes(graph, rng.permutation(graph.N)) for graph in data])
    assert relative_error(*(proof.scores(u, params, pq, merge=merge) for u in (moved, data.graphs))) < allowed(
        "float64"
    )


def test_the_values_compared_are_those_of_the_model() -> None:
    """What `values` puts together from the pairs is what the model computes in one piece."""
    union = disjoint_union(twenty_graphs(np.random.default_rng(0), 2))
    params: PiNetParams = draw_params(0)
    for merge in (True, False):
        result = values(union, params, classes(union, 3), merge=merge)
        logits = result.pooled.reshape(len(result.pooled), -1) @ params.W_D + params.b_D
        assert relative_error(logits, result.logits) < allowed("float64")
        i, j = union.ptr[4:6]
        A, X = union.A[i:j, i:j].toarray(), union.X[i:j]
        assert relative_error(result.features[i:j], reference.z_X(A, X, params)) < allowed("float64")
        assert relative_error(result.Z_A[i:j], reference.z_A(A, X, params).T) < allowed("float64")
        assert (result.X == union.X).all()
