"""The GCN baselines as pairs: two graph convolutions, a row a graph (a sum or the nodes side by side), the scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.baselines.gcn_layers import (
    PadCache,
    SumPoolCache,
    pad_backward,
    pad_forward,
    sum_pool_backward,
    sum_pool_forward,
)
from minipinet.batch import GraphBatch
from minipinet.initializers import draw_kernel
from minipinet.propagation import (
    MessagePassingCache,
    message_passing_backward,
    message_passing_forward,
    relu_backward,
    relu_forward,
)
from minipinet.readout import (
    CrossEntropyCache,
    DenseCache,
    dense_backward,
    dense_forward,
    softmax_cross_entropy_backward,
    softmax_cross_entropy_forward,
)

#: On graphs of `kipf_quotient` these make PiNet's matrix Kipf's.
KIPF_P, KIPF_Q = 0.0, 1.0


class GCNParams(NamedTuple):
    """The trainable arrays; a tree of the same shape holds their gradients and Adam's moments."""

    W_0: Array  #: (d, F_0) first convolution
    W_1: Array  #: (F_0, F) second convolution
    W_D: Array  #: (F, C) readout; (places F, C) if the nodes stand side by side
    b_0: Array | None  #: biases, None without
    b_1: Array | None
    b_D: Array | None


def init_gcn(
    rng: np.random.Generator,
    d: int,
    C: int,
    *,
    places: int | None = None,
    hidden: int = 100,
    out: int = 64,
    bias: bool = False,
    init: str = "he",
    dtype: str = "float32",
) -> GCNParams:
    """Draw initial parameters; biases 0.

    Parameters
    ----------
    rng : numpy.random.Generator
    d, C : int
        Feature width and number of classes.
    places : int or None
        Nodes that stand side by side; None where they are summed.
    hidden, out : int
        F_0 and F; 100 and 64 in the PiNet paper.
    bias : bool
    init : "he", "glorot" or "orthogonal"
    dtype : "float32" or "float64"

    Examples
    --------
    >>> [init_gcn(np.random.default_rng(0), d=7, C=2, places=places).W_D.shape for places in (None, 28)]
    [(64, 2), (1792, 2)]
    """
    shapes = [(d, hidden), (hidden, out), (out if places is None else places * out, C)]
    kernels = [draw_kernel(rng, init, *shape, dtype) for shape in shapes]
    return GCNParams(*kernels, *(np.zeros(fan_out, dtype) if bias else None for _, fan_out in shapes))


class GCNCache(NamedTuple):
    """The caches of the pairs, in the order of the forward pass."""

    c_0: MessagePassingCache
    relu_0: Array
    c_1: MessagePassingCache
    relu_1: Array
    rows: SumPoolCache | PadCache
    readout: DenseCache


class GCNGrads(NamedTuple):
    """Gradients of `gcn_forward`'s arguments: the parameters' tree, and the features of the batch."""

    dparams: GCNParams
    dX: Array


def gcn_forward(params: GCNParams, batch: GraphBatch, places: int | None = None) -> tuple[Array, GCNCache]:
    r"""Score a batch of graphs.

    Equation: $Z = \sigma_R(\hat A\, \sigma_R(\hat A X W_0) W_1)$; then $S_g W_D$ with S_g the sum of the rows of Z of
    graph g ("GCN + Sum"), or these rows side by side ("GCN + Dense").

    Parameters
    ----------
    params : GCNParams
    batch : GraphBatch
        Made of a :func:`minipinet.baselines.gcn_layers.kipf_quotient`; for Dense in the plain form.
    places : int or None
        None for Sum; for Dense the number of nodes for which there are weights.

    Returns
    -------
    logits : (B, C) array
        A graph's row has the same bits in every batch (one BLAS thread).
    cache : GCNCache

    Notes
    -----
    Sum does not depend on the order of the nodes. Dense does: node i meets the i-th block of W_D.

    Examples
    --------
    >>> from minipinet.baselines.gcn_layers import kipf_quotient
    >>> from minipinet.batch import make_batch
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.union import disjoint_union
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> mirrored = [as_graph(path, [[1.0], [0.0], [0.0]]), as_graph(path, [[0.0], [0.0], [1.0]])]
    >>> for places in (None, 3):
    ...     params = init_gcn(np.random.default_rng(0), d=1, C=2, places=places)
    ...     batch = make_batch(kipf_quotient(disjoint_union(mirrored), merge=places is None), [0, 1])
    ...     logits, _ = gcn_forward(params, batch, places)
    ...     print(logits.shape, bool((logits[0] == logits[1]).all()))
    (2, 2) True
    (2, 2) False

    Source
    ------
    Convolutions: Kipf and Welling (2017), eq. 2 and 9. The two readouts: experiments of the PiNet paper.
    """
    X, (first, second), pool = batch
    H_0, c_0 = message_passing_forward(X, params.W_0, params.b_0, KIPF_P, KIPF_Q, first)
    R_0, relu_0 = relu_forward(H_0)
    H_1, c_1 = message_passing_forward(R_0, params.W_1, params.b_1, KIPF_P, KIPF_Q, second)
    Z, relu_1 = relu_forward(H_1)
    rows: SumPoolCache | PadCache
    S, rows = sum_pool_forward(Z, pool) if places is None else pad_forward(Z, pool, places)
    logits, readout = dense_forward(S, params.W_D, params.b_D)
    return logits, GCNCache(c_0, relu_0, c_1, relu_1, rows, readout)


def gcn_backward(dlogits: Array, cache: GCNCache) -> GCNGrads:
    """Return the gradients of all parameters and of X: the forward pass read upwards."""
    # logits = S W_D (+ b_D)
    dS, dW_D, db_D = dense_backward(dlogits, cache.readout)
    # S = sum_pool(Z) or pad(Z)
    dZ = sum_pool_backward(dS, cache.rows) if isinstance(cache.rows, SumPoolCache) else pad_backward(dS, cache.rows)
    # Z = relu(H_1)
    dH_1 = relu_backward(dZ, cache.relu_1)
    # H_1 = message_passing(R_0)
    dR_0, dW_1, db_1, _, _ = message_passing_backward(dH_1, cache.c_1)
    # R_0 = relu(H_0)
    dH_0 = relu_backward(dR_0, cache.relu_0)
    # H_0 = message_passing(X)
    dX, dW_0, db_0, _, _ = message_passing_backward(dH_0, cache.c_0)
    return GCNGrads(GCNParams(dW_0, dW_1, dW_D, db_0, db_1, db_D), dX)


class GCNLossCache(NamedTuple):
    """What `gcn_loss_backward` needs; `cross_entropy` holds the log-probabilities of the classes."""

    params: GCNParams
    gcn: GCNCache
    cross_entropy: CrossEntropyCache
    l2: float


def gcn_loss_forward(
    params: GCNParams, batch: GraphBatch, y: Array, places: int | None = None, l2: float = 0.0
) -> tuple[Array, GCNLossCache]:
    """Return the mean cross-entropy in nats, plus l2 times the sum of squares of both convolutions' kernels.

    Parameters
    ----------
    params, batch, places
        As for :func:`gcn_forward`.
    y : (B,) ints in 0 to C - 1
    l2 : float >= 0

    Examples
    --------
    >>> from minipinet.baselines.gcn_layers import kipf_quotient
    >>> from minipinet.batch import make_batch
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.union import disjoint_union
    >>> batch = make_batch(kipf_quotient(disjoint_union([as_graph([[0, 1], [1, 0]])])), [0])
    >>> params = init_gcn(np.random.default_rng(0), d=1, C=2)._replace(W_D=np.zeros((64, 2), np.float32))
    >>> round(float(gcn_loss_forward(params, batch, np.array([1]))[0]), 4)  # ln 2: both classes alike
    0.6931
    """
    l2 = float(l2)  # a NumPy scalar would lift float32 to float64
    logits, gcn = gcn_forward(params, batch, places)
    loss, cross_entropy = softmax_cross_entropy_forward(logits, y)
    if l2:
        loss = loss + l2 * ((params.W_0**2).sum() + (params.W_1**2).sum())
    return loss, GCNLossCache(params, gcn, cross_entropy, l2)


def gcn_loss_backward(dloss: Array, cache: GCNLossCache) -> GCNParams:
    """Return the gradient of every parameter for a cotangent of the loss (1 to train)."""
    params, gcn, cross_entropy, l2 = cache
    # loss = cross_entropy(logits)
    dlogits = softmax_cross_entropy_backward(dloss, cross_entropy)
    # logits = gcn(params)
    grads = gcn_backward(dlogits, gcn).dparams
    if l2:
        # loss += l2 (sum of W_0^2 + sum of W_1^2)
        scale = 2 * l2 * dloss
        grads = grads._replace(W_0=grads.W_0 + scale * params.W_0, W_1=grads.W_1 + scale * params.W_1)
    return grads
