"""PiNet as pairs read downwards (forward) and upwards (backward); paper, eq. 1 to 6."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.attention_readout import (
    AttentionReadoutCache,
    attention_readout_backward,
    attention_readout_forward,
)
from minipinet.batch import GraphBatch
from minipinet.params import PiNetParams, gate_backward, pq_values
from minipinet.propagation import (
    MessagePassingCache,
    message_passing_backward,
    message_passing_forward,
    relu_backward,
    relu_forward,
)
from minipinet.readout import (
    CrossEntropyCache,
    softmax_cross_entropy_backward,
    softmax_cross_entropy_forward,
)

#: The kernels that L2 regularisation acts on.
MESSAGE_KERNELS = ("W_A0", "W_A1", "W_X0", "W_X1")


class PiNetCache(NamedTuple):
    """The caches of the pairs, in the order of the forward pass."""

    A0: MessagePassingCache
    relu_A0: Array
    A1: MessagePassingCache
    X0: MessagePassingCache
    relu_X0: Array
    X1: MessagePassingCache
    relu_X1: Array
    readout: AttentionReadoutCache
    p: Array  #: (4,)
    q: Array  #: (4,)
    learned: bool


class PiNetGrads(NamedTuple):
    """Gradients of `pinet_forward`'s arguments: the parameters' tree, and the features of the batch."""

    dparams: PiNetParams
    dX: Array  #: (n_0, d); a row is the sum over the nodes of that colour


def pinet_forward(params: PiNetParams, batch: GraphBatch, pq: Array | None = None) -> tuple[Array, PiNetCache]:
    """Score a batch of graphs.

    Equations (paper): 1 features stack, 2 attention stack, 3 the matrix A~ of each layer, 5 pooling and readout.

    Parameters
    ----------
    params : PiNetParams
    batch : GraphBatch
        Of the parameters' dtype (`make_batch` makes it).
    pq : (4, 2) array in [0, 1] or None
        Fixed (p, q) of each layer in the order of `LAYERS`, for parameters without p_raw and q_raw; on the host.

    Returns
    -------
    logits : (B, C) array
        In the order of the batch; a graph's row has the same bits in every batch (one BLAS thread).
    cache : PiNetCache

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.params import init_params
    >>> from minipinet.union import disjoint_union
    >>> from minipinet.batch import make_batch
    >>> from minipinet.quotient import refine
    >>> edge = as_graph([[0, 1], [1, 0]], np.eye(2))
    >>> batch = make_batch(refine(disjoint_union([edge, edge])), [0, 1])
    >>> logits, _ = pinet_forward(init_params(np.random.default_rng(0), d=2, C=3), batch)
    >>> logits.shape, bool((logits[0] == logits[1]).all())
    ((2, 3), True)
    """
    p, q = xp_of(params.W_D).asarray(pq_values(params, pq)).T
    X, (first, second), pool = batch

    H_A0, cache_A0 = message_passing_forward(X, params.W_A0, params.b_A0, p[0], q[0], first)
    R_A0, relu_A0 = relu_forward(H_A0)
    H_A1, cache_A1 = message_passing_forward(R_A0, params.W_A1, params.b_A1, p[1], q[1], second)

    H_X0, cache_X0 = message_passing_forward(X, params.W_X0, params.b_X0, p[2], q[2], first)
    R_X0, relu_X0 = relu_forward(H_X0)
    H_X1, cache_X1 = message_passing_forward(R_X0, params.W_X1, params.b_X1, p[3], q[3], second)
    Z_X, relu_X1 = relu_forward(H_X1)

    # Z_A = softmax(H_A1) over the nodes of each graph, P_g = Z_A,g^T Z_X,g, logits = vec(P_g) W_D (+ b_D)
    logits, cache_readout = attention_readout_forward(H_A1, Z_X, params.W_D, params.b_D, pool)
    return logits, PiNetCache(
        cache_A0, relu_A0, cache_A1, cache_X0, relu_X0, cache_X1, relu_X1, cache_readout,
        p, q, params.p_raw is not None,
    )  # fmt: skip


def pinet_backward(dlogits: Array, cache: PiNetCache) -> PiNetGrads:
    """Return the gradients of all parameters and of X: the forward pass read upwards.

    Parameters
    ----------
    dlogits : (B, C) array
    cache : PiNetCache

    Returns
    -------
    PiNetGrads
        None where a parameter is absent.
    """
    xp = xp_of(dlogits)
    # logits = attention_readout(H_A1, Z_X)
    dH_A1, dZ_X, dW_D, db_D = attention_readout_backward(dlogits, cache.readout)

    # Z_X = relu(H_X1)
    dH_X1 = relu_backward(dZ_X, cache.relu_X1)
    # H_X1 = message_passing(R_X0)
    dR_X0, dW_X1, db_X1, dp_X1, dq_X1 = message_passing_backward(dH_X1, cache.X1)
    # R_X0 = relu(H_X0)
    dH_X0 = relu_backward(dR_X0, cache.relu_X0)
    # H_X0 = message_passing(X)
    dX_X, dW_X0, db_X0, dp_X0, dq_X0 = message_passing_backward(dH_X0, cache.X0)

    # H_A1 = message_passing(R_A0)
    dR_A0, dW_A1, db_A1, dp_A1, dq_A1 = message_passing_backward(dH_A1, cache.A1)
    # R_A0 = relu(H_A0)
    dH_A0 = relu_backward(dR_A0, cache.relu_A0)
    # H_A0 = message_passing(X)
    dX_A, dW_A0, db_A0, dp_A0, dq_A0 = message_passing_backward(dH_A0, cache.A0)

    dp_raw = dq_raw = None
    if cache.learned:
        # p = gate(p_raw)
        dp_raw = gate_backward(xp.stack([dp_A0, dp_A1, dp_X0, dp_X1]), cache.p)
        # q = gate(q_raw)
        dq_raw = gate_backward(xp.stack([dq_A0, dq_A1, dq_X0, dq_X1]), cache.q)
    dparams = PiNetParams(
        dW_A0, dW_A1, dW_X0, dW_X1, dW_D, db_A0, db_A1, db_X0, db_X1, db_D, dp_raw, dq_raw
    )  # fmt: skip
    return PiNetGrads(dparams, dX_A + dX_X)


class LossCache(NamedTuple):
    """What `loss_backward` needs."""

    params: PiNetParams
    pinet: PiNetCache
    cross_entropy: CrossEntropyCache
    l2: float


def loss_forward(
    params: PiNetParams, batch: GraphBatch, y: Array, pq: Array | None = None, l2: float = 0.0
) -> tuple[Array, LossCache]:
    """Return the loss that training minimises.

    Equation (paper, 6): mean cross-entropy in nats; plus l2 times the sum of squares of the four message-passing
    kernels (the authors' code has 5e-4 there; the paper does not mention it, so the default is 0).

    Parameters
    ----------
    params : PiNetParams
    batch : GraphBatch
    y : (B,) ints in 0 to C - 1
    pq : (4, 2) array or None
    l2 : float >= 0

    Returns
    -------
    loss : scalar >= 0, in nats without l2
    cache : LossCache
        Its `cross_entropy` holds the log-probabilities of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.params import init_params
    >>> from minipinet.batch import make_batch
    >>> from minipinet.quotient import refine
    >>> from minipinet.union import disjoint_union
    >>> batch = make_batch(refine(disjoint_union([as_graph([[0, 1], [1, 0]])])), [0])
    >>> params = init_params(np.random.default_rng(0), d=1, C=2)._replace(W_D=np.zeros((4096, 2), np.float32))
    >>> loss, cache = loss_forward(params, batch, np.array([1]))
    >>> round(float(loss), 4)  # ln 2: both classes alike
    0.6931
    >>> loss_backward(1.0, cache).W_D.shape
    (4096, 2)
    """
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
    # logits = pinet(params)
    grads = pinet_backward(dlogits, pinet).dparams
    if l2:
        # loss += l2 * sum of W^2 over the message-passing kernels
        decay = {name: getattr(grads, name) + 2 * l2 * dloss * getattr(params, name) for name in MESSAGE_KERNELS}
        grads = grads._replace(**decay)
    return grads
