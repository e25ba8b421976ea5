"""Adam's step, compiled: `minipinet.optim.adam_step`."""

from __future__ import annotations

import numpy as np
from numba import prange

from minipinet._array import Array
from minipinet.fast.compiled._jit import compiled, halving
from minipinet.network import Params
from minipinet.optim import BETA1, BETA2, EPS, AdamState, unflatten


def adam_step(params: Params, grads: Params, state: AdamState, lr: float = 1e-3) -> tuple[Params, AdamState]:
    """Take one step as :func:`minipinet.optim.adam_step` does, all parameters and their moments in one pass."""
    step = state.step + 1
    w, g, m, v = (
        tuple(leaf.ravel() for leaf in tree if leaf is not None) for tree in (params, grads, state.m, state.v)
    )
    new_w, new_m, new_v = adam(w, g, m, v, lr, BETA1, BETA2, EPS, 1 - BETA1**step, 1 - BETA2**step)
    return unflatten(new_w, params), AdamState(step, unflatten(new_m, params), unflatten(new_v, params))


@halving
def adam(
    w: tuple[Array, ...], g: tuple[Array, ...], m: tuple[Array, ...], v: tuple[Array, ...],
    lr: float, beta1: float, beta2: float, eps: float, c1: float, c2: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    at = np.zeros(len(w) + 1, np.int64)
    for k in range(len(w)):
        at[k + 1] = at[k] + w[k].size
    size, dtype = at[-1], w[0].dtype
    new_w, new_m, new_v = np.empty(size, dtype), np.empty(size, dtype), np.empty(size, dtype)
    for k in prange(len(w)):
        of_k = slice(at[k], at[k + 1])
        adam_of_leaf(w[k], g[k], m[k], v[k], lr, beta1, beta2, eps, c1, c2, new_w[of_k], new_m[of_k], new_v[of_k])
    return new_w, new_m, new_v


@compiled
def adam_of_leaf(
    w: Array, g: Array, m: Array, v: Array, lr: float, beta1: float, beta2: float, eps: float, c1: float, c2: float,
    new_w: Array, new_m: Array, new_v: Array,
) -> None:  # fmt: skip
    number = w.dtype.type
    beta1_, rest1, beta2_, rest2 = number(beta1), number(1 - beta1), number(beta2), number(1 - beta2)
    # lr (m / c1) / (sqrt(v / c2) + eps): a division and a root for each number
    rate, over, eps_ = number(lr / c1), number(1 / np.sqrt(c2)), number(eps)
    for i in range(w.size):
        m_i = beta1_ * m[i] + rest1 * g[i]
        v_i = beta2_ * v[i] + rest2 * (g[i] * g[i])
        new_m[i], new_v[i] = m_i, v_i
        new_w[i] = w[i] - rate * m_i / (np.sqrt(v_i) * over + eps_)
