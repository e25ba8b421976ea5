"""PiNet and its loss as training computes them: both stacks in one pass, read downwards and upwards."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from minipinet._array import Array
from minipinet.fast.batch import FastBatch
from minipinet.fast.pooled import PooledCache, pooled_backward, pooled_forward
from minipinet.fast.propagation import (
    MessagePassingCache,
    message_passing_backward,
    message_passing_forward,
)
from minipinet.fast.readout import TwoClassCache, two_class_backward, two_class_forward
from minipinet.model import MESSAGE_KERNELS
from minipinet.params import PiNetParams, gate_backward, pq_values
from minipinet.readout import CrossEntropyCache, log_softmax, softmax_cross_entropy_backward


class PiNetCache(NamedTuple):
    """The caches of the pairs, in the order of the forward pass."""

    first: MessagePassingCache
    R: Array  #: (2, n_1, F) output of the first layer
    second: MessagePassingCache
    Z_X: Array
    readout: TwoClassCache | PooledCache
    p: Array  #: (2, 2) a row a layer, a column a stack
    q: Array
    learned: bool


def pinet_forward(params: PiNetParams, batch: FastBatch, pq: Array | None = None) -> tuple[Array, PiNetCache]:
    """Score each kind of graph, (K, C), as :func:`minipinet.model.pinet_forward`; two classes by (0, difference)."""
    p, q = pq_of_layers(params, pq)
    first, second = batch.layers
    W_D, b_D = params.W_D, params.b_D
    W_0, W_1, b_0, b_1 = of_layers(params)
    M = np.empty((2, *batch.X.shape), batch.X.dtype)
    M[:] = batch.X
    # R = relu(message_passing(X)), both stacks. In place: where the cache holds H_0 too, backward multiplies it by a
    # cotangent that is 0 wherever H_0 was negative.
    H_0, cache_0 = message_passing_forward(M, W_0, b_0, p[0], q[0], first)
    R = np.maximum(H_0, 0, out=H_0)
    # H_A1, H_X1 = message_passing(R)
    (H_A1, H_X1), cache_1 = message_passing_forward(R, W_1, b_1, p[1], q[1], second)
    Z_X = np.maximum(H_X1, 0, out=H_X1)
    # logits = readout(softmax(H_A1), Z_X)
    readout: TwoClassCache | PooledCache
    if W_D.shape[1] == 2:
        logits, readout = two_class_forward(H_A1, Z_X, W_D, b_D, batch.entries)
    else:
        logits, readout = pooled_forward(H_A1, Z_X, W_D, b_D, batch.entries)
    return logits, PiNetCache(cache_0, R, cache_1, Z_X, readout, p, q, params.p_raw is not None)


def pinet_backward(dlogits: Array, cache: PiNetCache) -> PiNetParams:
    """Return the gradients of all parameters: the forward pass read upwards."""
    first, R, second, Z_X, readout, p, q, learned = cache
    # logits = readout(softmax(H_A1), Z_X)
    dH_1 = np.empty((2, *Z_X.shape), Z_X.dtype)
    if isinstance(readout, TwoClassCache):
        _, _, dW_D, db_D = two_class_backward(dlogits, readout, dH_1)
    else:
        _, _, dW_D, db_D = pooled_backward(dlogits, readout, dH_1)
    # Z_X = relu(H_X1)
    dH_1[1] *= Z_X > 0
    # H_1 = message_passing(R)
    upper = message_passing_backward(dH_1, second, learned=learned)
    # R = relu(H_0)
    dR = upper.dM
    dR *= R > 0
    # H_0 = message_passing(X)
    lower = message_passing_backward(dR, first, learned=learned, inputs=False)
    dp_raw = dq_raw = None
    if learned:
        # p = gate(p_raw), q = gate(q_raw)
        dp, dq = np.array([lower.dp, upper.dp]), np.array([lower.dq, upper.dq])  # a row a layer
        dp_raw, dq_raw = gate_backward(dp, p).T.ravel(), gate_backward(dq, q).T.ravel()
    (dW_A0, dW_X0), (dW_A1, dW_X1) = lower.dW, upper.dW
    db_A0, db_X0 = (None, None) if lower.db is None else lower.db
    db_A1, db_X1 = (None, None) if upper.db is None else upper.db
    return PiNetParams(
        dW_A0, dW_A1, dW_X0, dW_X1, dW_D, db_A0, db_A1, db_X0, db_X1, db_D, dp_raw, dq_raw
    )  # fmt: skip


Both: TypeAlias = tuple[Array, Array]
Weights: TypeAlias = tuple[Both, Both, Both | None, Both | None]


def of_layers(params: PiNetParams) -> Weights:
    """Return W_0, W_1, b_0 and b_1: of each layer the attention stack's and the features stack's."""
    W_A0, W_A1, W_X0, W_X1, _, b_A0, b_A1, b_X0, b_X1, *_ = params
    if b_A0 is None:
        return (W_A0, W_X0), (W_A1, W_X1), None, None
    return (W_A0, W_X0), (W_A1, W_X1), (b_A0, b_X0), (b_A1, b_X1)


def pq_of_layers(params: PiNetParams, pq: Array | None) -> Both:
    """Return p and q, (2, 2) each, a row a layer, a column a stack."""
    p, q = pq_values(params, pq).T
    return np.ascontiguousarray(p.reshape(2, 2).T), np.ascontiguousarray(q.reshape(2, 2).T)


class LossCache(NamedTuple):
    """What `loss_backward` needs."""

    params: PiNetParams
    pinet: PiNetCache
    kind: Array  #: (B,)
    K: int
    cross_entropy: CrossEntropyCache
    l2: float


def loss_forward(
    params: PiNetParams, batch: FastBatch, y: Array, pq: Array | None = None, l2: float = 0.0
) -> tuple[Array, LossCache]:
    """Return the loss that training minimises, as :func:`minipinet.model.loss_forward` does."""
    logits, pinet = pinet_forward(params, batch, pq)
    loss, log_probabilities = cross_entropy_forward(logits, batch.kind, y)
    return loss + kernel_penalty(params, l2), LossCache(
        params, pinet, batch.kind, len(logits), CrossEntropyCache(log_probabilities, y), l2
    )


def loss_backward(dloss: Array, cache: LossCache) -> PiNetParams:
    """Return the gradient of every parameter for a cotangent of the loss (1 to train)."""
    params, pinet, kind, K, (log_probabilities, y), l2 = cache
    # loss = cross_entropy(logits[kind])
    dlogits = cross_entropy_backward(dloss, log_probabilities, kind, y, K)
    # logits = pinet(params)
    grads = pinet_backward(dlogits, pinet)
    return penalty_gradient(grads, params, dloss, l2)


def kernel_penalty(params: PiNetParams, l2: float) -> Array | float:
    """Return l2 times the sum of the squares of the message-passing kernels."""
    # A NumPy scalar would lift float32 to float64.
    return float(l2) * sum((getattr(params, name) ** 2).sum() for name in MESSAGE_KERNELS) if l2 else 0.0


def penalty_gradient(grads: PiNetParams, params: PiNetParams, dloss: Array, l2: float) -> PiNetParams:
    """Return the gradients with that of `kernel_penalty` added, for a cotangent of the loss."""
    if not l2:
        return grads
    # loss += l2 * sum of W^2
    decay = {name: getattr(grads, name) + 2 * float(l2) * dloss * getattr(params, name) for name in MESSAGE_KERNELS}
    return grads._replace(**decay)


def cross_entropy_forward(Z: Array, kind: Array, y: Array) -> tuple[Array, Array]:
    """Return the mean cross-entropy of graphs of these kinds, and their log-probabilities, (B, C)."""
    log_probabilities = log_softmax(Z)[kind]
    return -log_probabilities[np.arange(len(y)), y].mean(), log_probabilities


def cross_entropy_backward(dloss: Array, log_probabilities: Array, kind: Array, y: Array, K: int) -> Array:
    """Return the gradient of the kinds' logits, (K, C).

    0 in place of what is too small to move a weight (Adam adds 1e-8 to its divisor; 1e-19 in float32): products of such
    numbers can be denormal, which takes a processor ten times as long, and so do the products that these get into:
    with raw attributes as features, where weights of attention span the whole range, all of them.
    """
    dZ = softmax_cross_entropy_backward(dloss, CrossEntropyCache(log_probabilities, y))
    dkinds = np.zeros((K, dZ.shape[1]), dZ.dtype)
    np.add.at(dkinds, kind, dZ)
    dkinds[abs(dkinds) < float(np.finfo(dkinds.dtype).tiny) ** 0.5] = 0
    return dkinds
