"""From both stacks to logits: step by step as the paper writes it, or fused without the pooled matrices."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.attention import (
    ColumnSoftmaxCache,
    PoolCache,
    column_softmax_backward,
    column_softmax_forward,
    pool_backward,
    pool_forward,
)
from minipinet.matmul import matmul_rows
from minipinet.pool import Pool, take_pool
from minipinet.readout import DenseCache, dense_backward, dense_forward

#: Most classes for which the fused form costs less than the pooled matrices (its large product grows with C).
FUSED_CLASSES = 2
#: The fused form takes exp(H) as it is: greater ``|H|`` would wear out the range of float32, and goes step by step.
FUSED_RANGE = 40.0


class ReadoutGrads(NamedTuple):
    """Gradients of a readout's arguments, of those in `minipinet.fast` too; db_D is None without a bias."""

    dH: Array
    dZ_X: Array
    dW_D: Array
    db_D: Array | None


class StepwiseCache(NamedTuple):
    """The caches of the three pairs."""

    softmax: ColumnSoftmaxCache
    pool: PoolCache
    dense: DenseCache


def stepwise_forward(H: Array, Z_X: Array, W_D: Array, b_D: Array | None, pool: Pool) -> tuple[Array, StepwiseCache]:
    """Return the logits as the paper writes them: softmax of the attention stack, P_g = Z_A^T Z_X, vec(P_g) W_D.

    Equation (paper, 2 and 5). Shapes as in `attention_readout_forward`.
    """
    Z_A, softmax = column_softmax_forward(H, pool)
    P, pooling = pool_forward(Z_A, Z_X, pool)
    logits, dense = dense_forward(P.reshape(len(P), -1), W_D, b_D)
    return logits, StepwiseCache(softmax, pooling, dense)


def stepwise_backward(dlogits: Array, cache: StepwiseCache) -> ReadoutGrads:
    """Return the gradients of H, Z_X, W_D and b_D for a cotangent of the logits."""
    # logits = dense(vec(P))
    dP, dW_D, db_D = dense_backward(dlogits, cache.dense)
    # P = pool(Z_A, Z_X)
    F_A, F_X = cache.pool.Z_A.shape[1], cache.pool.Y.shape[1]
    dZ_A, dZ_X = pool_backward(dP.reshape(-1, F_A, F_X), cache.pool)
    # Z_A = column_softmax(H)
    return ReadoutGrads(column_softmax_backward(dZ_A, cache.softmax), dZ_X, dW_D, db_D)


class FusedCache(NamedTuple):
    """What `fused_backward` needs: tables of states and of graphs, none of them F_A x F_X per graph."""

    Z_X: Array
    W: Array  #: (F_X, C F_A), W_D with the feature first
    b_D: Array | None
    e: Array  #: (n, F_A)
    T: Array  #: (n, C, F_A)
    den: Array  #: (B, 1, F_A)
    R: Array  #: (B, C, F_A)
    pool: Pool


def fused_forward(H: Array, Z_X: Array, W_D: Array, b_D: Array | None, pool: Pool) -> tuple[Array, FusedCache]:
    """Return the logits of `stepwise_forward` without forming P.

    Equation: put the sums of eq. 2 and 5 in the other order. With W_D[f, x, k] and e = exp(H),
    logit_gk = sum_f (sum_c count_gc e_cf T_ckf) / (sum_c count_gc e_cf), T_ckf = sum_x Z_X[c, x] W_D[f, x, k].

    Notes
    -----
    2 n F_A F_X C floating-point operations in one product over the states, where `stepwise_forward` needs 2 E F_A F_X
    in one product a graph. No maximum is subtracted, so H must stay within `FUSED_RANGE`.
    """
    xp = xp_of(H)
    (n, F_A), F_X, C = H.shape, Z_X.shape[1], W_D.shape[1]
    W = xp.ascontiguousarray(W_D.reshape(F_A, F_X, C).transpose(1, 2, 0)).reshape(F_X, C * F_A)
    T = matmul_rows(Z_X, W).reshape(n, C, F_A)
    Y = xp.empty((n, 1 + C, F_A), xp.result_type(H, T))
    e = xp.exp(H, out=Y[:, 0])
    xp.multiply(e[:, None], T, out=Y[:, 1:])
    sums = (pool.counts @ Y.reshape(n, (1 + C) * F_A)).reshape(-1, 1 + C, F_A)
    # A graph without nodes has den = 0; elsewhere exp is above 0.
    den = sums[:, :1] + (sums[:, :1] == 0)
    R = sums[:, 1:] / den
    logits = R.sum(axis=2)
    if b_D is not None:
        logits += b_D
    return logits, FusedCache(Z_X, W, b_D, e, T, den, R, pool)


def fused_backward(dlogits: Array, cache: FusedCache) -> ReadoutGrads:
    """Return the gradients of H, Z_X, W_D and b_D for a cotangent of the logits."""
    Z_X, W, b_D, e, T, den, R, pool = cache
    xp = xp_of(e)
    (B, C, F_A), (n, F_X) = R.shape, Z_X.shape
    # logits = R.sum(axis=2) + b_D
    db_D = None if b_D is None else dlogits.sum(axis=0)
    # R = sums[:, 1:] / den
    dsums = xp.empty((B, 1 + C, F_A), e.dtype)
    xp.divide(dlogits[:, :, None], den, out=dsums[:, 1:])
    # den = sums[:, :1]
    dsums[:, 0] = -(dsums[:, 1:] * R).sum(axis=1)
    # sums = counts @ Y
    dY = (pool.counts.T @ dsums.reshape(B, -1)).reshape(n, 1 + C, F_A)
    # Y[:, 1:] = e * T
    dT = dY[:, 1:] * e[:, None]
    dY[:, 1:] *= T
    # Y[:, 0] = e = exp(H), and e stands in Y[:, 1:] too
    dH = dY.sum(axis=1) * e
    # T = Z_X W
    dZ_X = dT.reshape(n, C * F_A) @ W.T
    dW_D = (Z_X.T @ dT.reshape(n, C * F_A)).reshape(F_X, C, F_A).transpose(2, 0, 1).reshape(F_A * F_X, C)
    return ReadoutGrads(dH, dZ_X, dW_D, db_D)


class AttentionReadoutCache(NamedTuple):
    """Which graphs went which way, and the cache of each way that was taken."""

    calm: Array  #: (B,) bool, graphs that went the fused way
    fused: FusedCache | None
    stepwise: StepwiseCache | None


def attention_readout_forward(
    H: Array, Z_X: Array, W_D: Array, b_D: Array | None, pool: Pool
) -> tuple[Array, AttentionReadoutCache]:
    """Return the logits of a batch from its two stacks, the cheaper way for each graph.

    Equation (paper, 2 and 5): softmax over the nodes of each graph, P_g = Z_A,g^T Z_X,g, vec(P_g) W_D.

    Parameters
    ----------
    H : (n, F_A) array
        Attention stack before its softmax, a row per state.
    Z_X : (n, F_X) array
        Features stack.
    W_D : (F_A F_X, C) array
    b_D : (C,) array or None
    pool : Pool

    Returns
    -------
    logits : (B, C) array
        b_D (or 0) for a graph without nodes.
    cache : AttentionReadoutCache

    Notes
    -----
    The way is chosen by C and, for each graph, by its own H, so that it does not depend on the rest of the batch.

    Examples
    --------
    One graph of two nodes with equal attention; the readout adds up the two features of the pooled matrix.

    >>> import numpy as np
    >>> from minipinet.pool import make_pool
    >>> pool = make_pool(np.array([0, 2]), np.array([0, 1]), np.ones((2, 1)), 2)
    >>> Z_X = np.array([[4.0, 0.0], [0.0, 8.0]])
    >>> logits, _ = attention_readout_forward(np.zeros((2, 1)), Z_X, np.ones((2, 1)), None, pool)
    >>> logits.tolist()
    [[6.0]]
    """
    xp = xp_of(H)
    if W_D.shape[1] > FUSED_CLASSES:
        calm = xp.zeros(len(pool.ptr) - 1, bool)
    elif (abs(H) <= FUSED_RANGE).all():
        calm = xp.ones(len(pool.ptr) - 1, bool)
    else:
        rough_state = ~(abs(H) <= FUSED_RANGE).all(axis=1)
        calm = pool.counts @ rough_state.astype(pool.count.dtype) == 0
        H_calm = xp.where(rough_state[:, None], 0, H)
    if not calm.any():
        logits, stepwise = stepwise_forward(H, Z_X, W_D, b_D, pool)
        return logits, AttentionReadoutCache(calm, None, stepwise)
    if calm.all():
        logits, fused = fused_forward(H, Z_X, W_D, b_D, pool)
        return logits, AttentionReadoutCache(calm, fused, None)
    logits = xp.empty((len(calm), W_D.shape[1]), H.dtype)
    logits[calm], fused = fused_forward(H_calm, Z_X, W_D, b_D, take_pool(pool, xp.flatnonzero(calm)))
    logits[~calm], stepwise = stepwise_forward(H, Z_X, W_D, b_D, take_pool(pool, xp.flatnonzero(~calm)))
    return logits, AttentionReadoutCache(calm, fused, stepwise)


def attention_readout_backward(dlogits: Array, cache: AttentionReadoutCache) -> ReadoutGrads:
    """Return the gradients of H, Z_X, W_D and b_D for a cotangent of the logits."""
    calm, fused, stepwise = cache
    # logits[calm], logits[~calm] = fused(...), stepwise(...)
    parts = []
    if fused is not None:
        parts.append(fused_backward(dlogits[calm], fused))
    if stepwise is not None:
        parts.append(stepwise_backward(dlogits[~calm], stepwise))
    return ReadoutGrads(*(None if leaf[0] is None else sum(leaf[1:], leaf[0]) for leaf in zip(*parts, strict=True)))
