"""PiNet and its loss as training computes them: both stacks in one pass, read downwards and upwards."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, xp_of
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
from minipinet.readout import CrossEntropyCache, softmax_cross_entropy_backward, softmax_cross_entropy_forward


class PiNetCache(NamedTuple):
    """The caches of the pairs, in the order of the forward pass."""

    first: MessagePassingCache
    R: Array  #: (2, n_1, F) output of the first layer
    second: MessagePassingCache
    Z_X: Array
    readout: TwoClassCache | PooledCache
    K: int  #: kinds of graph in the batch
    kind: Array  #: (B,)
    p: Array  #: (2, 2) a row a stack, a column a layer
    q: Array
    learned: bool


def pinet_forward(params: PiNetParams, batch: FastBatch, pq: Array | None = None) -> tuple[Array, PiNetCache]:
    """Score a batch as :func:`minipinet.model.pinet_forward` does; of two classes, logits (0, difference)."""
    xp = xp_of(batch.X)
    p, q = pq_values(params, pq).T.reshape(2, 2, 2)
    first, second = batch.layers
    M = xp.empty((2, *batch.X.shape), batch.X.dtype)
    M[:] = batch.X
    # R = relu(message_passing(X)), both stacks. In place: where the cache holds H_0 too, backward multiplies it by a
    # cotangent that is 0 wherever H_0 was negative.
    H_0, cache_0 = message_passing_forward(M, *_kernels(params, 0), p[:, 0], q[:, 0], first)
    R = xp.maximum(H_0, 0, out=H_0)
    # H_A1, H_X1 = message_passing(R)
    H_1, cache_1 = message_passing_forward(R, *_kernels(params, 1), p[:, 1], q[:, 1], second)
    H_A1, Z_X = H_1[0], xp.maximum(H_1[1], 0)
    # logits = readout(softmax(H_A1), Z_X)
    readout: TwoClassCache | PooledCache
    if params.W_D.shape[1] == 2:
        logits, readout = two_class_forward(H_A1, Z_X, params.W_D, params.b_D, batch.counts, batch.count)
    else:
        logits, readout = pooled_forward(H_A1, Z_X, params.W_D, params.b_D, batch.counts, batch.count)
    return logits[batch.kind], PiNetCache(
        cache_0, R, cache_1, Z_X, readout, len(logits), batch.kind, p, q, params.p_raw is not None
    )


def pinet_backward(dlogits: Array, cache: PiNetCache) -> PiNetParams:
    """Return the gradients of all parameters: the forward pass read upwards."""
    first, R, second, Z_X, readout, K, kind, p, q, learned = cache
    xp = xp_of(R)
    # logits = logits of the kinds[kind]
    dkinds = xp.zeros((K, dlogits.shape[1]), dlogits.dtype)
    xp.add.at(dkinds, kind, dlogits)
    # logits = readout(softmax(H_A1), Z_X)
    if isinstance(readout, TwoClassCache):
        dH_A1, dZ_X, dW_D, db_D = two_class_backward(dkinds, readout)
    else:
        dH_A1, dZ_X, dW_D, db_D = pooled_backward(dkinds, readout)
    # Z_X = relu(H_X1)
    dH_1 = xp.empty((2, *Z_X.shape), Z_X.dtype)
    dH_1[0] = dH_A1
    xp.multiply(dZ_X, Z_X > 0, out=dH_1[1])
    # H_1 = message_passing(R)
    upper = message_passing_backward(dH_1, second, learned=learned)
    dR = upper.dM
    # R = relu(H_0)
    dR *= R > 0
    # H_0 = message_passing(X)
    lower = message_passing_backward(dR, first, learned=learned, inputs=False)
    dp_raw = dq_raw = None
    if learned:
        # p = gate(p_raw), q = gate(q_raw)
        dp_raw = gate_backward(xp.stack([lower.dp, upper.dp], axis=1), p).ravel()
        dq_raw = gate_backward(xp.stack([lower.dq, upper.dq], axis=1), q).ravel()
    (dW_A0, dW_X0), (dW_A1, dW_X1) = lower.dW, upper.dW
    db_A0, db_X0 = (None, None) if lower.db is None else lower.db
    db_A1, db_X1 = (None, None) if upper.db is None else upper.db
    return PiNetParams(
        dW_A0, dW_A1, dW_X0, dW_X1, dW_D, db_A0, db_A1, db_X0, db_X1, db_D, dp_raw, dq_raw
    )  # fmt: skip


def _kernels(params: PiNetParams, layer: int) -> tuple[Array, Array | None]:
    """Return W and b of a layer, those of the attention stack before those of the features stack."""
    xp = xp_of(params.W_D)
    if layer == 0:
        W, b = (params.W_A0, params.W_X0), (params.b_A0, params.b_X0)
    else:
        W, b = (params.W_A1, params.W_X1), (params.b_A1, params.b_X1)
    both = xp.concatenate(W).reshape(2, *W[0].shape)  # stack() takes four times as long
    return both, None if b[0] is None else xp.stack(b)


def _flush(dx: Array) -> None:
    """Set to 0 what is too small to move a weight (Adam adds 1e-8 to its divisor; 1e-19 in float32).

    Products of such numbers can be denormal, which takes a processor ten times as long, and so do the products that
    these get into: with raw attributes as features, where weights of attention span the whole range, all of them.
    """
    xp = xp_of(dx)
    dx[abs(dx) < float(xp.finfo(dx.dtype).tiny) ** 0.5] = 0


class LossCache(NamedTuple):
    """What `loss_backward` needs."""

    params: PiNetParams
    pinet: PiNetCache
    cross_entropy: CrossEntropyCache
    l2: float


def loss_forward(
    params: PiNetParams, batch: FastBatch, y: Array, pq: Array | None = None, l2: float = 0.0
) -> tuple[Array, LossCache]:
    """Return the loss that training minimises, as :func:`minipinet.model.loss_forward` does."""
    l2 = float(l2)  # a NumPy scalar would lift float32 to float64
    logits, pinet = pinet_forward(params, batch, pq)
    loss, cross_entropy = softmax_cross_entropy_forward(logits, y)
    if l2:
        loss = loss + l2 * sum((getattr(params, name) ** 2).sum() for name in MESSAGE_KERNELS)
    return loss, LossCache(params, pinet, cross_entropy, l2)


def loss_backward(dloss: Array, cache: LossCache) -> PiNetParams:
    """Return the gradient of every parameter for a cotangent of the loss (1 to train)."""
    params, pinet, cross_entropy, l2 = cache
    # loss = cross_entropy(logits)
    dlogits = softmax_cross_entropy_backward(dloss, cross_entropy)
    _flush(dlogits)
    # logits = pinet(params)
    grads = pinet_backward(dlogits, pinet)
    if l2:
        # loss += l2 * sum of W^2 over the message-passing kernels
        decay = {name: getattr(grads, name) + 2 * l2 * dloss * getattr(params, name) for name in MESSAGE_KERNELS}
        grads = grads._replace(**decay)
    return grads
