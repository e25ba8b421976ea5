"""The trainable arrays of PiNet: their tree, their start, and the p and q they stand for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minipinet._array import Array, xp_of
from minipinet._host import host_array, refuse_card
from minipinet.errors import UsageError
from minipinet.initializers import draw_kernel

#: Order of the layers in `p_raw`, `q_raw` and in fixed (p, q) pairs: attention stack, then features stack.
LAYERS = ("A0", "A1", "X0", "X1")


class PiNetParams(NamedTuple):
    """The trainable arrays; a tree of the same shape holds their gradients and Adam's moments."""

    W_A0: Array  #: (d, F_A0) attention stack, first layer
    W_A1: Array  #: (F_A0, F_A)
    W_X0: Array  #: (d, F_X0) features stack, first layer
    W_X1: Array  #: (F_X0, F_X)
    W_D: Array  #: (F_A F_X, C) readout
    b_A0: Array | None  #: biases (the authors' code has them, the paper has not), None without
    b_A1: Array | None
    b_X0: Array | None
    b_X1: Array | None
    b_D: Array | None
    p_raw: Array | None  #: (4,) p = gate(p_raw), in the order of `LAYERS`; None if p and q are fixed
    q_raw: Array | None  #: (4,) q = gate(q_raw)


def init_params(
    rng: np.random.Generator,
    d: int,
    C: int,
    *,
    hidden: int = 100,
    out: int = 64,
    bias: bool = False,
    learned_pq: bool = True,
    init: str = "he",
    dtype: str = "float32",
) -> PiNetParams:
    """Draw initial parameters on the host; p = q = 1/2 if learned, biases 0.

    Parameters
    ----------
    rng : numpy.random.Generator
    d, C : int
        Feature width and number of classes.
    hidden, out : int
        F_A0 = F_X0 and F_A = F_X; 100 and 64 in the paper.
    bias, learned_pq : bool
    init : "he", "glorot" or "orthogonal"
    dtype : "float32" or "float64"

    Examples
    --------
    >>> params = init_params(np.random.default_rng(0), d=7, C=2)
    >>> params.W_A0.shape, params.W_D.shape, params.W_D.dtype.name, params.b_D
    ((7, 100), (4096, 2), 'float32', None)
    """
    shapes = [(d, hidden), (hidden, out), (d, hidden), (hidden, out), (out * out, C)]
    kernels = [draw_kernel(rng, init, *shape, dtype) for shape in shapes]
    biases = [np.zeros(fan_out, dtype) if bias else None for _, fan_out in shapes]
    raw = [np.zeros(len(LAYERS), dtype) if learned_pq else None for _ in "pq"]
    return PiNetParams(*kernels, *biases, *raw)


def gate_forward(raw: Array) -> tuple[Array, Array]:
    """Map p_raw or q_raw into (0, 1) by a sigmoid of slope 1 at 0: 1 / (1 + exp(-4 raw)), without overflow.

    Adam moves every parameter by about its step size. With slope 1, p and q move as fast as the weights do; the usual
    sigmoid (slope 1/4) would hold them near their start for all of the paper's 800 steps on MUTAG.

    Returns
    -------
    p : array like `raw`, at least one rounding error of its dtype away from 0 and from 1
        At the ends the gradient would be 0, and p could never come back.
    cache : p itself

    Examples
    --------
    >>> gate_forward(np.array([0.0, 1e4, -1e4], np.float32))[0].tolist()
    [0.5, 0.9999999403953552, 5.960464477539063e-08]
    """
    xp = xp_of(raw)
    least = float(xp.finfo(raw.dtype).epsneg)
    p = xp.clip(xp.exp(-xp.logaddexp(0, -4 * raw)), least, 1 - least)
    return p, p


def gate_backward(dp: Array, p: Array) -> Array:
    """Return the gradient of raw for a cotangent dp of p."""
    # p = 1 / (1 + exp(-4 raw))
    return 4 * dp * p * (1 - p)


def pq_values(params: PiNetParams, pq: Array | None = None) -> Array:
    """Return the (p, q) in force, (4, 2) in the order of `LAYERS`: `pq` for fixed ones, else those learned.

    Raises
    ------
    UsageError
        If `pq` is not a (4, 2) table of numbers in [0, 1], or is given although p and q are learned.
    """
    refuse_card("pq", pq)
    if params.p_raw is None:
        table = host_array("pq", np.nan if pq is None else pq, dtype=params.W_D.dtype)
        if table.shape != (len(LAYERS), 2) or not ((table >= 0) & (table <= 1)).all():
            raise UsageError(f"pq: expected a (4, 2) table of fixed p and q in [0, 1], a row a layer; got {pq!r}")
        return table
    if pq is not None:
        raise UsageError(f"pq: expected None, since these parameters hold learned p and q; got {pq!r}")
    return gate_forward(xp_of(params.p_raw).stack([params.p_raw, params.q_raw], axis=1))[0]
