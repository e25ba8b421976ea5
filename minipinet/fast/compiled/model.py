"""PiNet's loss and its gradients, compiled: `minipinet.fast.model`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.attention_readout import FUSED_RANGE
from minipinet.fast.batch import FastBatch
from minipinet.fast.compiled._jit import two_threads
from minipinet.fast.compiled.loss import cross_entropy_backward, cross_entropy_forward, gates_backward, gates_forward
from minipinet.fast.compiled.pooled import pooled_backward, pooled_forward
from minipinet.fast.compiled.propagation import Layer, Rows, stacks_backward, stacks_forward
from minipinet.fast.compiled.readout import (
    below_maximum,
    has_wide_range,
    scores_forward,
    two_class_backward,
    two_class_forward,
)
from minipinet.fast.model import Weights, kernel_penalty, of_layers, penalty_gradient, pq_of_layers
from minipinet.params import PiNetParams
from minipinet.readout import CrossEntropyCache

__all__ = ["CompiledCache", "loss_backward", "loss_forward", "two_threads"]


class CompiledCache(NamedTuple):
    """What `loss_backward` needs."""

    params: PiNetParams
    weights: Weights
    p: Array  #: (2, 2) a row a layer, a column a stack
    q: Array
    layers: tuple[Rows, Rows]
    entries: tuple[Array, Array, Array]
    stacks: tuple[Array, Layer, Layer]  #: X, and what both layers made of it
    readout: tuple[Any, ...]  #: what either readout made; e has a row a state or, of a wide range, a row an entry
    kind: Array  #: (B,)
    K: int
    cross_entropy: CrossEntropyCache
    l2: float


def loss_forward(
    params: PiNetParams, batch: FastBatch, y: Array, pq: Array | None = None, l2: float = 0.0
) -> tuple[Array, CompiledCache]:
    """Return the loss that training minimises, as :func:`minipinet.fast.model.loss_forward` does."""
    X, (lower, upper), (ptr, state, count), kind = batch
    layers, weights = (tuple(lower), tuple(upper)), of_layers(params)
    if params.p_raw is None or pq is not None:
        p, q = pq_of_layers(params, pq)
    else:
        p, q = gates_forward(params.p_raw, params.q_raw)
    # H_A1, Z_X: the output of both stacks
    first, second = stacks_forward(X, *weights, p, q, *layers)
    H_1 = second[1]
    H_A1, Z_X = H_1
    # logits = readout(softmax(H_A1), Z_X). exp is NumPy's: a compiled loop would call the C library's for each number.
    readout: tuple[Any, ...]
    if params.W_D.shape[1] == 2:
        W, T, wide = scores_forward(H_1, params.W_D, FUSED_RANGE)
        row = state
        if wide:  # a row of e and T for each entry
            T, row = T.take(state, axis=0), np.arange(len(state), dtype=state.dtype)
        e = np.exp(below_maximum(H_A1, ptr, state) if wide else H_A1)
        den, R, logits = two_class_forward(ptr, row, count, e, T, params.b_D)
        readout = row, count, W, T, e, den, R, wide
    else:
        e = below_maximum(H_A1, ptr, state) if has_wide_range(H_A1, FUSED_RANGE) else H_A1.take(state, axis=0)
        np.exp(e, out=e)
        Y, P, inverse, logits = pooled_forward(ptr, state, count, e, Z_X, params.W_D, params.b_D)
        readout = e, Y, P, inverse
    # loss = cross_entropy(logits[kind])
    loss, log_probabilities = cross_entropy_forward(logits, kind, y)
    cross_entropy = CrossEntropyCache(log_probabilities, y)
    entries, stacks, K = (ptr, state, count), (X, first, second), len(logits)
    cache = CompiledCache(params, weights, p, q, layers, entries, stacks, readout, kind, K, cross_entropy, l2)
    return X.dtype.type(loss) + kernel_penalty(params, l2), cache


def loss_backward(dloss: Array, cache: CompiledCache) -> PiNetParams:
    """Return the gradient of every parameter for a cotangent of the loss (1 to train)."""
    params, weights, p, q, layers, (ptr, state, _), (X, first, second), readout, kind, K, cross_entropy, l2 = cache
    log_probabilities, y = cross_entropy
    H_1 = second[1]
    # loss = cross_entropy(logits[kind])
    dlogits = cross_entropy_backward(float(dloss), log_probabilities, kind, y, K)
    # logits = readout(softmax(H_A1), Z_X)
    if params.W_D.shape[1] == 2:
        dH_1, dW_D, db_D = two_class_backward(dlogits, H_1, ptr, state, *readout)
    else:
        dH_1, dW_D, db_D = pooled_backward(dlogits, params.W_D, H_1, ptr, state, *readout)
    # H_A1, Z_X: the output of both stacks
    learned = params.p_raw is not None
    (dW_A0, dW_X0), (dW_A1, dW_X1), (db_A0, db_X0), (db_A1, db_X1), dp, dq = stacks_backward(
        dH_1, X, first, second, *weights, *layers, learned
    )
    # p, q = gates(p_raw, q_raw)
    dp_raw, dq_raw = gates_backward(dp, dq, p, q)
    grads = PiNetParams(
        dW_A0, dW_A1, dW_X0, dW_X1, dW_D, db_A0, db_A1, db_X0, db_X1, db_D, dp_raw, dq_raw
    )  # fmt: skip
    if params.b_D is None or not learned:
        grads = PiNetParams(*(None if w is None else g for g, w in zip(grads, params, strict=True)))
    return penalty_gradient(grads, params, dloss, l2)
