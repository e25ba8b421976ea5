"""The parameters of several folds in one vector: each leaf of both stacks together, fold after fold.

Folds may have different numbers of features d: all have room for the most, and what one does not have is zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array, xp_of
from minipinet.params import PiNetParams


class Leaves(NamedTuple):
    """Views of a vector; K folds, the attention stack before the features stack."""

    W_0: Array  #: (K, 2, d, F_0)
    W_1: Array  #: (K, 2, F_0, F)
    W_D: Array  #: (K, F F, C)
    b_0: Array | None  #: (K, 2, F_0)
    b_1: Array | None  #: (K, 2, F)
    b_D: Array | None  #: (K, C)
    raw: Array | None  #: (K, 2, 2, 2) by stack, layer, and p before q


def leaves_of(vector: Array, like: PiNetParams, K: int) -> Leaves:
    """Return the leaves of a vector, for K folds of parameters of the shapes of `like`."""
    found: list[Array | None] = []
    at = 0
    for shape in _shapes(like):
        size = 0 if shape is None else K * math.prod(shape)
        found.append(None if shape is None else vector[at : at + size].reshape(K, *shape))
        at += size
    return Leaves(*found)


def ends(like: PiNetParams, K: int) -> Array:
    """Return where each leaf that is there ends in the vector, (leaves,) int64."""
    return np.cumsum([K * math.prod(shape) for shape in _shapes(like) if shape is not None], dtype=np.int64)


def pack(folds: Sequence[PiNetParams]) -> Array:
    """Put the parameters (or gradients, or moments) of K folds into one vector, on the host.

    Examples
    --------
    >>> from minipinet.params import init_params
    >>> params = init_params(np.random.default_rng(0), d=3, C=2, hidden=4, out=2)
    >>> vector = pack([params, params])
    >>> vector.shape == (2 * sum(w.size for w in params if w is not None),)
    True
    >>> all((a == b).all() for a, b in zip(unpack(vector, [params, params])[1], params) if b is not None)
    True
    """
    stacked = [_stacked(params) for params in folds]
    d = max(leaves.W_0.shape[1] for leaves in stacked)
    stacked = [
        leaves._replace(W_0=np.pad(leaves.W_0, ((0, 0), (0, d - leaves.W_0.shape[1]), (0, 0)))) for leaves in stacked
    ]
    return np.concatenate(
        [leaf.ravel() for leaves in zip(*stacked, strict=True) for leaf in leaves if leaf is not None]
    )


def unpack(vector: Array, likes: Sequence[PiNetParams]) -> list[PiNetParams]:
    """Return the parameters of each fold, of the shapes of `likes`, as views of the vector: what `pack` was given."""
    leaves = leaves_of(vector, widest(likes), len(likes))
    folds = []
    for k, like in enumerate(likes):
        own = Leaves(*(None if leaf is None else leaf[k] for leaf in leaves))
        folds.append(_unstacked(own._replace(W_0=own.W_0[:, : len(like.W_A0)])))
    return folds


def widest(folds: Sequence[PiNetParams]) -> PiNetParams:
    """Return the parameters with the most features."""
    return max(folds, key=lambda params: len(params.W_A0))


def _shapes(params: PiNetParams) -> list[tuple[int, ...] | None]:
    """Return the shape of each of `Leaves`, without the axis of folds; None for one that is not there."""

    def both(a: Array | None) -> tuple[int, ...] | None:
        return None if a is None else (2, *a.shape)

    b_D, raw = None if params.b_D is None else params.b_D.shape, None if params.p_raw is None else (2, 2, 2)
    return [both(params.W_A0), both(params.W_A1), params.W_D.shape, both(params.b_A0), both(params.b_A1), b_D, raw]


def _stacked(params: PiNetParams) -> Leaves:
    """Return one fold's leaves, without the axis of folds."""
    xp = xp_of(params.W_D)

    def both(a: Array | None, b: Array | None) -> Array | None:
        return None if a is None else xp.stack([a, b])

    raw = None if params.p_raw is None else xp.stack([params.p_raw, params.q_raw], axis=-1).reshape(2, 2, 2)
    return Leaves(
        both(params.W_A0, params.W_X0),
        both(params.W_A1, params.W_X1),
        params.W_D,
        both(params.b_A0, params.b_X0),
        both(params.b_A1, params.b_X1),
        params.b_D,
        raw,
    )


def _unstacked(leaves: Leaves) -> PiNetParams:
    (W_A0, W_X0), (W_A1, W_X1) = leaves.W_0, leaves.W_1
    b_A0, b_X0 = (None, None) if leaves.b_0 is None else leaves.b_0
    b_A1, b_X1 = (None, None) if leaves.b_1 is None else leaves.b_1
    p_raw, q_raw = (None, None) if leaves.raw is None else (leaves.raw[..., i].ravel() for i in (0, 1))
    return PiNetParams(W_A0, W_A1, W_X0, W_X1, leaves.W_D, b_A0, b_A1, b_X0, b_X1, leaves.b_D, p_raw, q_raw)
