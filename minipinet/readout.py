"""Readout and loss (paper, eq. 5 and 6): a dense layer on vec(P_g), softmax and cross-entropy from logits."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.matmul import matmul_rows


class DenseCache(NamedTuple):
    """What `dense_backward` needs."""

    M: Array
    W: Array
    b: Array | None


class DenseGrads(NamedTuple):
    """Gradients of `dense_forward`'s arguments; db is None without a bias."""

    dM: Array
    dW: Array
    db: Array | None


def dense_forward(M: Array, W: Array, b: Array | None = None) -> tuple[Array, DenseCache]:
    """Return M W (+ b).

    Equation (paper, 5): g(P) W_D inside the softmax, g the reshape of P_g to one row.

    Parameters
    ----------
    M : (B, F) array
    W : (F, C) array
    b : (C,) array or None

    Returns
    -------
    Z : (B, C) array
        Logits, not probabilities.
    cache : DenseCache

    Examples
    --------
    >>> import numpy as np
    >>> dense_forward(np.ones((1, 2)), np.eye(2), np.array([0.0, 1.0]))[0].tolist()
    [[1.0, 2.0]]
    """
    Z = matmul_rows(M, W)
    if b is not None:
        Z += b
    return Z, DenseCache(M, W, b)


def dense_backward(dZ: Array, cache: DenseCache) -> DenseGrads:
    """Return the gradients of M, W and b for a cotangent dZ."""
    M, W, b = cache
    # Z += b
    db = None if b is None else dZ.sum(axis=0)
    # Z = M W
    dW = M.T @ dZ
    dM = dZ @ W.T
    return DenseGrads(dM, dW, db)


class CrossEntropyCache(NamedTuple):
    """What `softmax_cross_entropy_backward` needs."""

    log_probabilities: Array
    y: Array


def log_softmax(Z: Array) -> Array:
    """Return ln softmax(Z) row by row, (B, C).

    Numerics: the row's maximum is subtracted, so that the result is finite for any finite logits; the maximum's own
    exp, which is 1, goes into log1p, so that a confident right answer has its true loss and not 0.

    Examples
    --------
    >>> import numpy as np
    >>> [f"{x:.3g}" for x in log_softmax(np.array([[10, -10]], np.float32))[0]]
    ['-2.06e-09', '-20']
    """
    xp = xp_of(Z)
    top = Z.real.argmax(axis=1)
    rows = xp.arange(len(Z))
    Z = Z - Z[rows, top][:, None]
    e = xp.exp(Z)
    e[rows, top] = 0
    return Z - xp.log1p(e.sum(axis=1, keepdims=True))


def softmax_cross_entropy_forward(Z: Array, y: Array) -> tuple[Array, CrossEntropyCache]:
    """Return the mean over graphs of the categorical cross-entropy, in nats, from logits.

    Equation (paper, 6): L = -sum over graphs and classes of Y ln softmax(Z); here the mean over graphs, so that the
    step size does not depend on the batch.

    Parameters
    ----------
    Z : (B, C) array
        Logits. (Do not pass probabilities: the softmax is taken here.)
    y : (B,) int array
        Class of each graph, 0 to C - 1.

    Returns
    -------
    loss : scalar, >= 0
    cache : CrossEntropyCache

    Examples
    --------
    >>> import numpy as np
    >>> float(softmax_cross_entropy_forward(np.array([[1000.0, -1000.0]]), np.array([1]))[0])
    2000.0
    """
    log_probabilities = log_softmax(Z)
    loss = -log_probabilities[xp_of(Z).arange(len(y)), y].mean()
    return loss, CrossEntropyCache(log_probabilities, y)


def softmax_cross_entropy_backward(dloss: Array, cache: CrossEntropyCache) -> Array:
    """Return dZ = (softmax(Z) - Y) dloss / B, for the one-hot Y of y; every row sums to 0."""
    log_probabilities, y = cache
    xp = xp_of(log_probabilities)
    # loss = -mean over graphs of log_softmax(Z)[g, y_g]
    right = xp.arange(len(y)), y
    dZ = xp.exp(log_probabilities)
    dZ[right] = xp.expm1(log_probabilities[right])  # softmax - 1 without cancellation
    return dZ * (dloss / len(y))
