"""Adam (Kingma and Ba 2015, algorithm 1) as a pure function over a tree of parameters."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, xp_of
from minipinet.network import Params

#: Decay rates of both moments and the number added to sqrt(v_hat), as in algorithm 1.
BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


class AdamState(NamedTuple):
    """Adam's memory: the number of steps taken and both moments, trees like the parameters."""

    step: int
    m: Params
    v: Params


def adam_init(params: Params) -> AdamState:
    """Return the state before the first step: zero moments in the parameters' dtype."""
    zeros = type(params)(*(None if w is None else xp_of(w).zeros_like(w) for w in params))
    return AdamState(0, zeros, zeros)


def adam_step(
    params: Params,
    grads: Params,
    state: AdamState,
    lr: float = 1e-3,
    beta1: float = BETA1,
    beta2: float = BETA2,
    eps: float = EPS,
) -> tuple[Params, AdamState]:
    """Take one step: new parameters and new state; the arguments are not changed.

    Parameters
    ----------
    params, grads : NamedTuples of arrays (None where a parameter is absent), of one type
    state : AdamState
    lr, beta1, beta2, eps : float
        Step size > 0; decay rates in [0, 1); the number added to sqrt(v_hat).

    Returns
    -------
    params : NamedTuple like `params`
    state : AdamState

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.params import init_params
    >>> params = init_params(np.random.default_rng(0), d=2, C=2, hidden=3, out=2)
    >>> after, state = adam_step(params, params, adam_init(params))
    >>> state.step, bool(abs(np.abs(after.W_D - params.W_D) - 1e-3).max() < 1e-6)
    (1, True)
    """
    step = state.step + 1
    # Python floats take the arrays' dtype; a NumPy scalar would lift float32 to float64.
    lr, beta1, beta2, eps = float(lr), float(beta1), float(beta2), float(eps)
    c1, c2 = 1 - beta1**step, 1 - beta2**step
    # All parameters in one vector: a dozen calls a step, not a dozen for each leaf.
    w, g, m, v = (_flatten(tree, params) for tree in (params, grads, state.m, state.v))
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * (g * g)
    w -= lr * (m / c1) / (xp_of(w).sqrt(v / c2) + eps)
    return unflatten(w, params), AdamState(step, unflatten(m, params), unflatten(v, params))


def _flatten(tree: Params, like: Params) -> Array:
    """Return the leaves of a tree one after the other, a copy."""
    pairs = zip(tree, like, strict=True)
    leaves = [leaf.ravel() for leaf, w in pairs if w is not None]
    return xp_of(leaves[0]).concatenate(leaves)


def unflatten(vector: Array, like: Params) -> Params:
    """Return the tree whose leaves are stretches of a vector."""
    leaves: list[Array] = []
    at = 0
    for w in like:
        leaves.append(None if w is None else vector[at : at + w.size].reshape(w.shape))
        at += 0 if w is None else w.size
    return type(like)(*leaves)
