"""The oracle: the paper's equations written out literally, one dense graph at a time.

The fast path is checked against it, so nothing here is fast and nothing here is shared with the fast path:
no sparse matrix, no quotient, no batch. Every function takes plain arrays, real or complex (a complex
perturbation of any weight gives its derivative). Where the printed paper slips, the corrected reading is used
and said beside the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minipinet._array import Array

LAYERS = ("A0", "A1", "X0", "X1")


def weight(W: Any, name: str) -> Array:
    """Return the weight `name` of `W` (a mapping, or an object with such a field), None where it has none.

    Examples
    --------
    >>> weight({"W_D": 3.0}, "W_D"), weight({"W_D": 3.0}, "b_D")
    (3.0, None)
    """
    return W.get(name) if isinstance(W, Mapping) else getattr(W, name, None)


def layer_pq(W: Any, pq: Sequence[Sequence[float]] | Array | None, layer: str) -> tuple[Any, Any]:
    """Return the (p, q) in force in `layer`: its row of `pq`, or sigmoid(4 raw) of the raw weights.

    Examples
    --------
    >>> layer_pq({"p_raw": np.zeros(4), "q_raw": np.zeros(4)}, None, "X0")
    (np.float64(0.5), np.float64(0.5))
    """
    k = LAYERS.index(layer)
    if pq is not None:
        return pq[k][0], pq[k][1]
    p_raw, q_raw = weight(W, "p_raw"), weight(W, "q_raw")
    if p_raw is None or q_raw is None:
        raise ValueError("pq: expected a (4, 2) table because the weights hold no p_raw and q_raw, got None")
    return 1 / (1 + np.exp(-4 * p_raw[k])), 1 / (1 + np.exp(-4 * q_raw[k]))


def degree_matrix(A: Array) -> Array:
    """Return D = d(A), the diagonal matrix of row sums of A as given: loops count, q does not (eq. 4).

    Examples
    --------
    >>> degree_matrix(np.array([[0.0, 2.0], [2.0, 1.0]]))
    array([[2., 0.],
           [0., 3.]])
    """
    D = np.zeros_like(A)
    for i in range(len(A)):
        D[i, i] = A[i, :].sum()
    return D


def inverse_root(K: Array) -> Array:
    """Return K^(-1/2) of a diagonal matrix, and 0 where it is 0 (a lone node at p = 0; the paper is silent)."""
    S = np.zeros_like(K)
    for i in range(len(K)):
        if K[i, i] != 0:
            S[i, i] = K[i, i] ** (-0.5)
    return S


def A_tilde(A: Array, p: Any, q: Any) -> Array:
    """Return the message-passing matrix (pI + (1-p)D)^(-1/2) (A + qI) (pI + (1-p)D)^(-1/2).

    Equation 3 of the paper.

    Parameters
    ----------
    A : (N, N) float64
        Adjacency matrix, non-negative.
    p, q : float or complex
        In [0, 1].

    Returns
    -------
    (N, N) float64 or complex128

    Examples
    --------
    >>> A_tilde(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]), 0.0, 1.0).round(4)
    array([[1.    , 0.7071, 0.    ],
           [0.7071, 0.5   , 0.7071],
           [0.    , 0.7071, 1.    ]])
    """
    I, D = np.eye(len(A)), degree_matrix(A)  # noqa: E741
    S = inverse_root(p * I + (1 - p) * D)
    return S @ (A + q * I) @ S


def relu(Z: Array) -> Array:
    """Return max(0, Z) entry by entry; a complex entry is kept where its real part is positive."""
    return np.where(Z.real > 0, Z, 0)


def softmax(a: Array) -> Array:
    """Return exp(a) / sum(exp(a)) of one vector; the shift only keeps exp in range."""
    shift = max((a_k.real for a_k in a), default=0.0)
    e = np.exp(a - shift)
    return e / sum(e)


def message_passing(A: Array, M: Array, W: Any, pq: Any, layer: str) -> Array:
    """Return A~ M W of `layer`, plus its bias (the authors' code, not the paper) where there is one."""
    p, q = layer_pq(W, pq, layer)
    Z = A_tilde(A, p, q) @ M @ weight(W, f"W_{layer}")
    b = weight(W, f"b_{layer}")
    return Z if b is None else Z + b


def z_X(A: Array, X: Array, W: Any, pq: Any = None) -> Array:
    """Return the features stack relu(A~ relu(A~ X W_X0) W_X1), shape (N, F_X) (eq. 1)."""
    return relu(message_passing(A, relu(message_passing(A, X, W, pq, "X0")), W, pq, "X1"))


def z_A(A: Array, X: Array, W: Any, pq: Any = None) -> Array:
    """Return the attention stack softmax([A~ relu(A~ X W_A0) W_A1]^T), shape (F_A, N) (eq. 2).

    Each row, a column before the transposition, sums to 1 over the nodes. (The formula printed in the paper's
    proof sums over the features of one node; the text and the figure want the nodes.)
    """
    Z = message_passing(A, relu(message_passing(A, X, W, pq, "A0")), W, pq, "A1")
    attention = np.zeros((Z.shape[1], Z.shape[0]), Z.dtype)
    for f in range(Z.shape[1]):
        attention[f, :] = softmax(Z[:, f])
    return attention


def logits(A: Array, X: Array, W: Any, pq: Any = None) -> Array:
    """Return g(z_A z_X) W_D (+ b_D), shape (C,): eq. 5 before its softmax; g lists P row by row."""
    attention, features = z_A(A, X, W, pq), z_X(A, X, W, pq)
    F_A, F_X, N = attention.shape[0], features.shape[1], len(A)
    P = np.zeros((F_A, F_X), np.result_type(attention, features))
    for i in range(N):  # the weighted sum over the nodes that the paper describes below eq. 5
        for a in range(F_A):
            P[a, :] += attention[a, i] * features[i, :]
    b_D = weight(W, "b_D")
    scores = np.array([P[a, x] for a in range(F_A) for x in range(F_X)]) @ weight(W, "W_D")
    return scores if b_D is None else scores + b_D


def z(A: Array, X: Array, W: Any, pq: Any = None) -> Array:
    """Return the class probabilities of one graph, softmax(g(z_A z_X) W_D), shape (C,) (eq. 5).

    Examples
    --------
    >>> W = {f"W_{layer}": np.eye(1) for layer in LAYERS} | {"W_D": np.array([[0.0, 1.0]])}
    >>> edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> z(edge, np.ones((2, 1)), W, [(1.0, 0.0)] * 4).round(4)  # softmax of (0, 1)
    array([0.2689, 0.7311])
    """
    return softmax(logits(A, X, W, pq))


def loss(
    graphs: Sequence[tuple[Array, Array]], y: Sequence[int] | Array, W: Any, pq: Any = None, l2: float = 0.0
) -> Any:
    """Return the mean categorical cross-entropy in nats, plus `l2` times the squares of the kernels.

    Equation 6 of the paper, divided by the number of graphs; the L2 term is the authors' code.

    Parameters
    ----------
    graphs : sequence of (A, X)
        Dense, (N, N) and (N, d).
    y : sequence of int
        True classes, 0..C-1.
    W : mapping or object with fields W_A0, W_A1, W_X0, W_X1, W_D, and optionally b_A0..b_D, p_raw, q_raw
        The weights.
    pq : (4, 2) table, optional
        Fixed p and q for each of `LAYERS`; None: sigmoid(4 p_raw) and sigmoid(4 q_raw).
    l2 : float
        Weight of the squares of the four message-passing kernels.

    Returns
    -------
    float or complex
    """
    total = sum(-np.log(z(A, X, W, pq)[label]) for (A, X), label in zip(graphs, y, strict=True))
    squares = sum((weight(W, f"W_{layer}") ** 2).sum() for layer in LAYERS)
    return total / len(graphs) + l2 * squares
