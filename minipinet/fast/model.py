"""PiNet and its loss as training computes them: both stacks in one pass, read downwards and upwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.fast.batch import FastBatch
from minipinet.fast.passes import passes_of
from minipinet.fast.pooled import PooledCache, pooled_backward, pooled_forward
from minipinet.fast.propagation import (
    MessagePassingCache,
    message_passing_backward,
    message_passing_forward,
)
from minipinet.fast.readout import TwoClassCache, two_class_backward, two_class_forward
from minipinet.model import MESSAGE_KERNELS
from minipinet.params import PiNetParams, gate_backward, pq_values
from minipinet.readout import CrossEntropyCache


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
    p, q = _pq_of_layers(params, pq)
    first, second = batch.layers
    W_D, b_D = params.W_D, params.b_D
    (W_0, W_1), (b_0, b_1) = _of_layers(params)
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
    passes = passes_of(R)
    # logits = readout(softmax(H_A1), Z_X)
    dH_1 = np.empty((2, *Z_X.shape), Z_X.dtype)
    if isinstance(readout, TwoClassCache):
        _, _, dW_D, db_D = two_class_backward(dlogits, readout, dH_1)
    else:
        _, _, dW_D, db_D = pooled_backward(dlogits, readout, dH_1)
    # Z_X = relu(H_X1)
    passes.relu_backward(dH_1[1:], Z_X[None])
    # H_1 = message_passing(R)
    upper = message_passing_backward(dH_1, second, learned=learned)
    # R = relu(H_0)
    dR = upper.dM
    passes.relu_backward(dR, R)
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


Both = tuple[Array, Array]


def _of_layers(params: PiNetParams) -> tuple[tuple[Both, Both], tuple[Both | None, Both | None]]:
    """Return W and b of both layers, those of the attention stack before those of the features stack."""
    W_A0, W_A1, W_X0, W_X1, _, b_A0, b_A1, b_X0, b_X1, *_ = params
    biases = (None, None) if b_A0 is None else ((b_A0, b_X0), (b_A1, b_X1))
    return ((W_A0, W_X0), (W_A1, W_X1)), biases


def _pq_of_layers(params: PiNetParams, pq: Array | None) -> tuple[Array, Array]:
    """Return p and q, (2, 2) each, a row a layer, a column a stack."""
    if params.p_raw is None or pq is not None:
        p, q = pq_values(params, pq).T
    else:
        p, q = (passes_of(raw).gate(raw) for raw in (params.p_raw, params.q_raw))
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
    l2 = float(l2)  # a NumPy scalar would lift float32 to float64
    logits, pinet = pinet_forward(params, batch, pq)
    loss, log_probabilities = passes_of(logits).cross_entropy_forward(logits, batch.kind, y)
    if l2:
        loss = loss + l2 * sum((getattr(params, name) ** 2).sum() for name in MESSAGE_KERNELS)
    return loss, LossCache(params, pinet, batch.kind, len(logits), CrossEntropyCache(log_probabilities, y), l2)


def loss_backward(dloss: Array, cache: LossCache) -> PiNetParams:
    """Return the gradient of every parameter for a cotangent of the loss (1 to train)."""
    params, pinet, kind, K, (log_probabilities, y), l2 = cache
    # loss = cross_entropy(logits[kind])
    dlogits = passes_of(log_probabilities).cross_entropy_backward(dloss, log_probabilities, kind, y, K)
    # logits = pinet(params)
    grads = pinet_backward(dlogits, pinet)
    if l2:
        # loss += l2 * sum of W^2 over the message-passing kernels
        decay = {name: getattr(grads, name) + 2 * l2 * dloss * getattr(params, name) for name in MESSAGE_KERNELS}
        grads = grads._replace(**decay)
    return grads
