"""The convolutional network of PATCHY-SAN: two convolutions, a dense layer with dropout, and the scores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.baselines.convolution import (
    ConvolutionCache,
    DropoutCache,
    convolution_backward,
    convolution_forward,
    dropout_backward,
    dropout_forward,
    kernel_backward,
)
from minipinet.initializers import draw_kernel
from minipinet.network import Network
from minipinet.propagation import relu_backward, relu_forward
from minipinet.readout import (
    CrossEntropyCache,
    DenseCache,
    dense_backward,
    dense_forward,
    softmax_cross_entropy_backward,
    softmax_cross_entropy_forward,
)

#: Widths of the two convolutions and of the dense layer, and how many fields the second convolution sees at once.
FILTERS, FILTERS_OVER_FIELDS, HIDDEN, WINDOW = 16, 8, 128, 10


class PatchySanParams(NamedTuple):
    """The trainable arrays; a tree of the same shape holds their gradients and Adam's moments."""

    W_0: Array  #: (size, d, 16) convolution over the nodes of one field
    W_1: Array  #: (window, 16, 8) convolution over fields; the window is 10, or the width if that is less
    W_2: Array  #: (8 (width - window + 1), 128) dense
    W_D: Array  #: (128, C) readout
    b_0: Array
    b_1: Array
    b_2: Array
    b_D: Array


class FieldBatch(NamedTuple):
    """Receptive fields of B graphs, and which hidden units dropout keeps."""

    M: Array  #: (B, width * size, d) features of the nodes, field after field; zeros where there is no node
    kept: Array | None  #: (B, 128) bool; None to keep all, as after training


def init_patchy_san(
    rng: np.random.Generator, d: int, C: int, *, width: int, size: int, init: str = "glorot", dtype: str = "float32"
) -> PatchySanParams:
    """Draw initial parameters; biases 0.

    Parameters
    ----------
    rng : numpy.random.Generator
    d, C : int
        Feature width and number of classes.
    width, size : int
        Fields of a graph and nodes of a field.
    init : "he", "glorot" or "orthogonal"
    dtype : "float32" or "float64"

    Examples
    --------
    >>> params = init_patchy_san(np.random.default_rng(0), d=7, C=2, width=18, size=10)
    >>> params.W_0.shape, params.W_2.shape
    ((10, 7, 16), (72, 128))
    """
    window = min(WINDOW, width)
    flat = FILTERS_OVER_FIELDS * (width - window + 1)
    shapes = [(size, d, FILTERS), (window, FILTERS, FILTERS_OVER_FIELDS), (flat, HIDDEN), (HIDDEN, C)]
    kernels = [draw_kernel(rng, init, int(np.prod(shape[:-1])), shape[-1], dtype).reshape(shape) for shape in shapes]
    return PatchySanParams(*kernels, *(np.zeros(shape[-1], dtype) for shape in shapes))


class FieldTable(NamedTuple):
    """The receptive fields of G graphs with N nodes in all."""

    X: Array  #: (N + 1, d) features; the last row is zero, for a place without a node
    nodes: Array  #: (G, width, size) int, rows of X


class PatchySanCache(NamedTuple):
    """What `patchy_san_backward` needs."""

    c_0: ConvolutionCache
    relu_0: Array
    c_1: ConvolutionCache
    relu_1: Array
    c_2: DenseCache
    relu_2: Array
    dropout: DropoutCache | None
    readout: DenseCache


def patchy_san_forward(params: PatchySanParams, batch: FieldBatch) -> tuple[Array, PatchySanCache]:
    """Return the scores of a batch.

    Parameters
    ----------
    params : PatchySanParams
    batch : FieldBatch
        B graphs.

    Returns
    -------
    logits : (B, C) array
    cache : PatchySanCache

    Notes
    -----
    After training the row of a graph does not depend on the other graphs of the batch, to the last bit.

    Examples
    --------
    >>> params = init_patchy_san(np.random.default_rng(0), d=7, C=2, width=18, size=10)
    >>> patchy_san_forward(params, FieldBatch(np.zeros((3, 180, 7), np.float32), None))[0].tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]

    Source
    ------
    Niepert, Ahmed and Kutzkov 2016, section 6: convolutions of 16 and 8 filters, the second over 10 fields with stride
    1, a dense layer of 128, all with ReLU, dropout of one half, softmax.
    """
    M, kept = batch
    # one matrix for every field: the stride is the size of a field
    H_0, c_0 = convolution_forward(M, params.W_0, params.b_0, stride=len(params.W_0))
    Z_0, relu_0 = relu_forward(H_0)
    H_1, c_1 = convolution_forward(Z_0, params.W_1, params.b_1)
    Z_1, relu_1 = relu_forward(H_1)
    H_2, c_2 = dense_forward(Z_1.reshape(len(M), len(params.W_2)), params.W_2, params.b_2)
    Z_2, relu_2 = relu_forward(H_2)
    # nothing is dropped after training
    K, dropout = (Z_2, None) if kept is None else dropout_forward(Z_2, kept)
    logits, readout = dense_forward(K, params.W_D, params.b_D)
    return logits, PatchySanCache(c_0, relu_0, c_1, relu_1, c_2, relu_2, dropout, readout)


def patchy_san_backward(dlogits: Array, cache: PatchySanCache) -> PatchySanParams:
    """Return the gradient of every parameter: the forward pass read upwards."""
    # logits = K W_D + b_D
    dK, dW_D, db_D = dense_backward(dlogits, cache.readout)
    # K = dropout(Z_2)
    dZ_2 = dK if cache.dropout is None else dropout_backward(dK, cache.dropout)
    # Z_2 = relu(H_2)
    dH_2 = relu_backward(dZ_2, cache.relu_2)
    # H_2 = vec(Z_1) W_2 + b_2
    dZ_1, dW_2, db_2 = dense_backward(dH_2, cache.c_2)
    # Z_1 = relu(H_1)
    dH_1 = relu_backward(dZ_1.reshape(cache.relu_1.shape), cache.relu_1)
    # H_1 = convolution(Z_0)
    dZ_0, dW_1, db_1 = convolution_backward(dH_1, cache.c_1)
    # Z_0 = relu(H_0)
    dH_0 = relu_backward(dZ_0, cache.relu_0)
    # H_0 = convolution(M)
    dW_0, db_0 = kernel_backward(dH_0, cache.c_0)
    return PatchySanParams(dW_0, dW_1, dW_2, dW_D, db_0, db_1, db_2, db_D)


class PatchySanLossCache(NamedTuple):
    """What `patchy_san_loss_backward` needs; `cross_entropy` holds the log-probabilities of the classes."""

    network: PatchySanCache
    cross_entropy: CrossEntropyCache


def patchy_san_loss_forward(params: PatchySanParams, batch: FieldBatch, y: Array) -> tuple[Array, PatchySanLossCache]:
    """Return the mean cross-entropy in nats of a batch of classes y, (B,) int."""
    logits, network = patchy_san_forward(params, batch)
    loss, cross_entropy = softmax_cross_entropy_forward(logits, y)
    return loss, PatchySanLossCache(network, cross_entropy)


def patchy_san_loss_backward(dloss: Array, cache: PatchySanLossCache) -> PatchySanParams:
    """Return the gradient of every parameter for a cotangent of the loss (1 to train)."""
    # loss = cross_entropy(logits)
    dlogits = softmax_cross_entropy_backward(dloss, cache.cross_entropy)
    # logits = patchy_san(params)
    return patchy_san_backward(dlogits, cache.network)


def field_network(table: FieldTable, C: int, *, init: str = "glorot", dtype: str = "float32") -> Network:
    """Return the network on the graphs of a table, as the training loop sees it.

    Parameters
    ----------
    table : FieldTable
    C : int
        Number of classes.
    init, dtype
        As for :func:`init_patchy_san`.

    Notes
    -----
    A batch of B graphs takes B width size d numbers, and is made when it is needed. With a generator, each hidden unit
    of each graph is kept with probability one half.

    Examples
    --------
    >>> table = FieldTable(np.array([[1.0], [2.0], [0.0]]), np.array([[[0, 1]], [[1, 2]]]))
    >>> [batch.M[..., 0].tolist() for batch in field_network(table, C=2).batches(np.array([1, 0]), 1, None)]
    [[[2.0, 0.0]], [[1.0, 2.0]]]
    """
    (G, width, size), d = table.nodes.shape, table.X.shape[1]
    X = table.X.astype(dtype)

    def batches(index: Array, batch_size: int, rng: np.random.Generator | None) -> Iterator[FieldBatch]:
        for at in range(0, len(index), batch_size):
            chosen = index[at : at + batch_size]
            M = X[table.nodes[chosen]].reshape(len(chosen), width * size, d)
            yield FieldBatch(M, None if rng is None else rng.random((len(chosen), HIDDEN)) < 0.5)

    return Network(
        G=G,
        C=C,
        init=partial(init_patchy_san, d=d, C=C, width=width, size=size, init=init, dtype=dtype),
        batches=batches,
        loss_forward=patchy_san_loss_forward,
        loss_backward=patchy_san_loss_backward,
        scores=lambda params, batch: patchy_san_forward(params, batch)[0],
    )
