"""The definitions and lemmas of the paper's proof of invariance, one test each, in the order of the paper."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minipinet import reference
from minipinet._array import Array
from minipinet.attention import column_softmax_forward, pool_forward
from minipinet.graphs import permute_nodes
from minipinet.pool import make_pool
from minipinet.propagation import message_passing_forward, propagate_forward, relu_forward
from minipinet.quotient import refine
from minipinet.union import DisjointUnion, graph_at
from tests import strategies, tolerances
from tests.proof import PQ_PAIRS, batch_all, permutation_matrix, renumber
from tests.thinned import examples
from tests.tolerances import relative_error

pytestmark = pytest.mark.invariance

Permuted = tuple[DisjointUnion, Array]
permuted_unions = strategies.permuted_unions()
sizes = st.integers(0, 7)
few = settings(max_examples=examples(15))


@given(sizes.flatmap(strategies.permutations))
def test_definition_permutation(pi: Array) -> None:
    """pi moves the object at position i to position pi(i): (x_1, ..., x_n) becomes (x_{pi^-1(1)}, ...)."""
    n = len(pi)
    x = np.arange(10.0, 10.0 + n)
    moved = permutation_matrix(pi) @ x
    back = np.argsort(pi)
    assert (moved[pi] == x).all()
    assert (moved == x[back]).all()
    assert (pi[back] == np.arange(n)).all()


@given(sizes.flatmap(lambda n: st.tuples(*[strategies.permutations(n)] * 2)))
def test_definition_permutation_matrix(pair: tuple[Array, Array]) -> None:
    """P is orthogonal, [P X]_ij = X_{pi^-1(i) j}, [X P^T]_ij = X_{i pi^-1(j)}, [P A P^T]_ij = A_{pi^-1(i) pi^-1(j)}."""
    pi, sigma = pair
    n = len(pi)
    P, S, back = permutation_matrix(pi), permutation_matrix(sigma), np.argsort(pi)
    X, A = np.arange(3.0 * n).reshape(n, 3), np.arange(1.0 * n * n).reshape(n, n)
    assert (P @ P.T == np.eye(n)).all()
    assert (P.T @ P == np.eye(n)).all()
    assert (P @ X == X[back]).all()
    assert (X.T @ P.T == X.T[:, back]).all()
    assert (P @ A @ P.T == A[np.ix_(back, back)]).all()
    assert (permutation_matrix(back) == P.T).all()  # the inverse
    assert (permutation_matrix(pi[sigma]) == P @ S).all()  # sigma first


@few
@given(permuted_unions)
def test_definition_graph_permutation(drawn: Permuted) -> None:
    """P G = (P A P^T, P X): what `permute_nodes` does, on every graph of a union as on the union."""
    union, pi = drawn
    moved = renumber(union, pi)
    for g, (i, j) in enumerate(zip(union.ptr[:-1], union.ptr[1:], strict=True)):
        graph, P = graph_at(union, g), permutation_matrix(pi[i:j] - i)
        once = permute_nodes(graph, pi[i:j] - i)
        assert (once.A.toarray() == P @ graph.A.toarray() @ P.T).all()
        assert (once.X == P @ graph.X).all()
        assert (once.deg == P @ graph.deg).all()
        assert (graph_at(moved, g).A.toarray() == once.A.toarray()).all()
        again = permute_nodes(once, np.argsort(pi[i:j] - i))
        assert (again.A.toarray() == graph.A.toarray()).all()
        assert (again.X == graph.X).all()


def rows_and_permutation() -> st.SearchStrategy[tuple[Array, Array]]:
    return sizes.flatmap(lambda n: st.tuples(strategies.features(n, 3), strategies.permutations(n)))


@given(rows_and_permutation())
def test_definition_permutation_invariance(drawn: tuple[Array, Array]) -> None:
    """f(X) = f(P X) for all X and P, for rows; f(X) = f(X P^T) for columns: a sum over them, say, but no first row."""
    X, pi = drawn
    P = permutation_matrix(pi)
    assert (np.sort(P @ X, axis=0) == np.sort(X, axis=0)).all()
    assert (np.sort(X.T @ P.T, axis=1) == np.sort(X.T, axis=1)).all()
    if len(pi) > 1:
        counted = np.arange(len(pi))
        assert (permutation_matrix(np.roll(counted, 1)) @ counted)[0] != counted[0]


@given(rows_and_permutation())
def test_definition_permutation_equivariance(drawn: tuple[Array, Array]) -> None:
    """P f(X) = f(P X) for all X and P, for rows; f(X) P^T = f(X P^T) for columns: whatever acts on each entry alone."""
    X, pi = drawn
    P = permutation_matrix(pi)
    assert (P @ relu_forward(X)[0] == relu_forward(P @ X)[0]).all()
    assert (relu_forward(X.T)[0] @ P.T == relu_forward(X.T @ P.T)[0]).all()


@given(
    sizes.flatmap(lambda n: st.tuples(strategies.features(n, 3), strategies.features(n, 2), strategies.permutations(n)))
)
def test_lemma_dot_product(drawn: tuple[Array, Array, Array]) -> None:
    """(P A)^T (P B) = A^T B.

    The printed proof permutes "the rows of a and the columns of b"; it must read: the rows of both.
    """
    A, B, pi = drawn
    P = permutation_matrix(pi)
    # Entries that cancel: the error is measured against the sum of the magnitudes of the terms.
    scale = float(np.max(np.abs(A).T @ np.abs(B), initial=0.0))
    assert np.abs((P @ A).T @ (P @ B) - A.T @ B).max() <= tolerances.CLOSED_FORM * scale
    # The model's own product, over one graph of these nodes.
    n = len(pi)
    pool = make_pool(np.array([0, n]), np.arange(n), np.ones((n, 1)), n)
    assert np.abs(pool_forward(A, B, pool)[0][0] - A.T @ B).max() <= tolerances.CLOSED_FORM * scale
    assert np.abs(pool_forward(P @ A, P @ B, pool)[0][0] - A.T @ B).max() <= tolerances.CLOSED_FORM * scale


def test_lemma_dot_product_needs_the_rows_of_both() -> None:
    A, B, P = np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]]), permutation_matrix(np.array([1, 0]))
    assert (A.T @ B).tolist() == ((P @ A).T @ (P @ B)).tolist() == [[13.0]]
    assert ((P @ A).T @ B).tolist() == (A.T @ (P @ B)).tolist() == [[11.0]]


@few
@given(permuted_unions)
def test_lemma_preprocessing_first_the_degree_matrix(drawn: Permuted) -> None:
    """d(P A P^T) = P d(A) P^T; d counts the loops of A and not q (the paper's matrix with self-loops, slip 4)."""
    union, pi = drawn
    A, P = union.A.toarray(), permutation_matrix(pi)
    assert (reference.degree_matrix(P @ A @ P.T) == P @ reference.degree_matrix(A) @ P.T).all()


@few
@given(permuted_unions)
def test_lemma_preprocessing(drawn: Permuted) -> None:
    """If A~ is A preprocessed, P A~ P^T is P A P^T preprocessed, for every p and q.

    The paper is silent about a node of degree 0 at p = 0, where its formula divides by 0 (slip 5): its row and column
    are 0 here, which keeps the lemma, since a node's degree moves with it.
    """
    union, pi = drawn
    A, P = union.A.toarray(), permutation_matrix(pi)
    lone = A.sum(axis=1) == 0
    assert lone.any()
    # The fast path never forms the matrix: its columns are A~ applied to the unit vectors.
    unit = [renumber(union._replace(X=np.eye(len(pi))), order) for order in (np.arange(len(pi)), pi)]
    batches = [batch_all(refine(u, merge=False)) for u in unit]
    for p, q in PQ_PAIRS:
        A_tilde, of_moved = reference.A_tilde(A, p, q), reference.A_tilde(P @ A @ P.T, p, q)
        assert np.isfinite(A_tilde).all()
        assert relative_error(of_moved, P @ A_tilde @ P.T) < tolerances.ENTRY_FLOAT64
        if p == 0:
            assert not A_tilde[lone].any()
            assert not A_tilde[:, lone].any()
        H, moved = (propagate_forward(b.X, np.float64(p), np.float64(q), b.steps[0])[0] for b in batches)
        assert relative_error(moved, P @ H) < tolerances.FORMS_FLOAT64
        assert relative_error(H, A_tilde) < tolerances.ORACLE_FLOAT64


@given(rows_and_permutation())
def test_theorem_step_relu_is_equivariant(drawn: tuple[Array, Array]) -> None:
    """sigma_R(P X) = P sigma_R(X), since sigma_R acts on every entry alone; so is the mask of its gradient."""
    X, pi = drawn
    P = permutation_matrix(pi)
    (Z, mask), (moved, moved_mask) = relu_forward(X), relu_forward(P @ X)
    assert (moved == P @ Z).all()
    assert (moved_mask[pi] == mask).all()


@pytest.mark.parametrize("F", [(2, 3), (3, 2)])  # A~ is applied before W, and after it
@few
@given(drawn=permuted_unions)
def test_theorem_step_a_layer_is_equivariant(F: tuple[int, int], drawn: Permuted) -> None:
    """(P A~ P^T) (P X) W = P (A~ X W): the two inner matrices cancel because P is orthogonal.

    (The printed proof also writes W_X in the attention stack, which has weights W_A of its own: slip 2.)
    """
    union, pi = drawn
    rng = np.random.default_rng(0)
    W = rng.standard_normal(F)
    union = union._replace(X=rng.standard_normal((len(pi), F[0])))
    batches = [batch_all(refine(u, merge=False)) for u in (union, renumber(union, pi))]
    for p, q in np.array(PQ_PAIRS):
        H, moved = (message_passing_forward(b.X, W, None, p, q, b.steps[0])[0] for b in batches)
        assert relative_error(moved, permutation_matrix(pi) @ H) < tolerances.FORMS_FLOAT64


def over_nodes(H: Array) -> Array:
    """Return the softmax of every column over the nodes of one graph: the model's."""
    e = np.exp(H)
    return e / e.sum(axis=0)


def over_features(H: Array) -> Array:
    """Return the softmax of every row over the features of one node: the formula printed in the proof."""
    e = np.exp(H)
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("softmax", [over_nodes, over_features])
@given(rows_and_permutation())
def test_theorem_step_either_softmax_is_equivariant(
    softmax: Callable[[Array], Array], drawn: tuple[Array, Array]
) -> None:
    """sigma_S'(P X) = P sigma_S'(X), with sigma_S'(X)_ij = e^{X_ij} / sum_k e^{X_kj}, the sum over the nodes k.

    The printed formula sums over the features instead, e^{X_ij} / sum_k e^{X_ik} (slip 1). Both move with the rows, so
    that the theorem survives; but the second is another model (test_proof_controls.py).
    """
    X, pi = drawn
    P = permutation_matrix(pi)
    assert relative_error(softmax(P @ X), P @ softmax(X)) < tolerances.CLOSED_FORM


@few
@given(permuted_unions)
def test_theorem_step_column_softmax_is_equivariant_graph_by_graph(drawn: Permuted) -> None:
    """The same of the package's softmax, over the nodes of each graph of a batch."""
    union, pi = drawn
    pool = batch_all(refine(union, merge=False)).pool
    H = 3 * np.random.default_rng(0).standard_normal((len(pi), 3))
    P = permutation_matrix(pi)
    Z_A, moved = (column_softmax_forward(states, pool)[0] for states in (H, P @ H))
    assert relative_error(moved, P @ Z_A) < tolerances.CLOSED_FORM
    for i, j in zip(union.ptr[:-1], union.ptr[1:], strict=True):
        if j > i:
            assert relative_error(Z_A[i:j], over_nodes(H[i:j])) < tolerances.CLOSED_FORM
