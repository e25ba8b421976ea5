"""Convolution along a sequence, and dropout with a mask that is passed in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.matmul import matmul_rows


class ConvolutionCache(NamedTuple):
    """What `convolution_backward` needs: the windows, a row each, and what they were cut from."""

    windows: Array
    W: Array
    shape: tuple[int, ...]
    stride: int


class ConvolutionGrads(NamedTuple):
    """Gradients of `convolution_forward`'s arguments."""

    dM: Array
    dW: Array
    db: Array


def convolution_forward(M: Array, W: Array, b: Array, *, stride: int = 1) -> tuple[Array, ConvolutionCache]:
    r"""Slide a window along each sequence and multiply what it shows by one matrix, without padding.

    Equation: $H_{gtf} = b_f + \sum_{s, c} M_{g, t \cdot stride + s, c} W_{scf}$.

    Parameters
    ----------
    M : (B, L, F_in) array
        B sequences of L places.
    W : (S, F_in, F) array
        S places of a window, S <= L.
    b : (F,) array
    stride : int
        Places from one window to the next. Equal to S, the windows lie side by side: one matrix for every piece.

    Returns
    -------
    H : (B, T, F) array
        T = (L - S) // stride + 1 windows of each sequence.
    cache : ConvolutionCache
        B T S F_in numbers.

    Notes
    -----
    2 B T S F_in F floating-point operations, in one product whose rows do not depend on each other.

    Examples
    --------
    >>> M = np.array([[[1.0], [2.0], [4.0], [8.0]]])
    >>> W = np.array([[[1.0]], [[-1.0]]])
    >>> convolution_forward(M, W, np.zeros(1))[0].ravel().tolist()
    [-1.0, -2.0, -4.0]
    >>> convolution_forward(M, W, np.zeros(1), stride=2)[0].ravel().tolist()
    [-1.0, -4.0]
    """
    S, F_in, F = W.shape
    # (B, T, F_in, S): the windows are the last axis of a view
    view = np.lib.stride_tricks.sliding_window_view(M, S, axis=1)[:, ::stride]
    B, T = view.shape[:2]
    windows = np.ascontiguousarray(view.swapaxes(2, 3)).reshape(B * T, S * F_in)
    H = matmul_rows(windows, W.reshape(S * F_in, F)).reshape(B, T, F)
    H += b
    return H, ConvolutionCache(windows, W, M.shape, stride)


def convolution_backward(dH: Array, cache: ConvolutionCache) -> ConvolutionGrads:
    """Return the gradients of M, W and b for a cotangent dH."""
    _, W, shape, stride = cache
    S, F_in, F = W.shape
    B, T = dH.shape[:2]
    # H = windows W
    d_windows = (dH.reshape(B * T, F) @ W.reshape(S * F_in, F).T).reshape(B, T, S, F_in)
    # windows[g, t, s] = M[g, t stride + s]: places that several windows show collect from all of them
    dM = np.zeros(shape, d_windows.dtype)
    for s in range(S):
        dM[:, s : s + stride * (T - 1) + 1 : stride] += d_windows[:, :, s]
    return ConvolutionGrads(dM, *kernel_backward(dH, cache))


def kernel_backward(dH: Array, cache: ConvolutionCache) -> tuple[Array, Array]:
    """Return the gradients of W and b alone: all that a first layer needs, at less than half the cost."""
    windows, W, _, _ = cache
    # H += b
    db = dH.sum(axis=(0, 1))
    # H = windows W
    dW = (windows.T @ dH.reshape(len(windows), len(db))).reshape(W.shape)
    return dW, db


class DropoutCache(NamedTuple):
    """What `dropout_backward` needs: what each number was multiplied by."""

    factor: Array


def dropout_forward(M: Array, kept: Array, *, rate: float = 0.5) -> tuple[Array, DropoutCache]:
    """Set some numbers to 0 and scale the others, so that the mean over all masks is M.

    Parameters
    ----------
    M : (B, F) array
    kept : (B, F) bool array
        The mask, drawn by the caller: each entry True with probability 1 - rate.
    rate : float, 0 <= rate < 1

    Returns
    -------
    Z : (B, F) array
        M / (1 - rate) where kept.
    cache : DropoutCache

    Examples
    --------
    >>> dropout_forward(np.array([[1.0, 2.0]]), np.array([[True, False]]))[0].tolist()
    [[2.0, 0.0]]

    Source
    ------
    Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, "Dropout", JMLR 15 (2014).
    """
    factor = kept / M.dtype.type(1 - rate)
    return M * factor, DropoutCache(factor)


def dropout_backward(dZ: Array, cache: DropoutCache) -> Array:
    """Return dM for a cotangent dZ."""
    # Z = M * factor
    return dZ * cache.factor
