"""Adam's step as training takes it: compiled where Numba is installed, else `minipinet.optim`'s."""

from __future__ import annotations

from minipinet import optim
from minipinet.fast.passes import compiled_for
from minipinet.network import Params
from minipinet.optim import AdamState


def adam_step(
    params: Params,
    grads: Params,
    state: AdamState,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
) -> tuple[Params, AdamState]:
    """Take one step as :func:`minipinet.optim.adam_step` does, each parameter and its moments in one pass."""
    compiled = compiled_for(*(leaf for tree in (params, grads) for leaf in tree if leaf is not None))
    if compiled is None:
        return optim.adam_step(params, grads, state, lr, beta1, beta2, eps)
    step = state.step + 1
    c1, c2 = 1 - beta1**step, 1 - beta2**step
    leaves = [
        (None, None, None) if w is None else compiled.adam(w, g, m, v, lr, beta1, beta2, eps, c1, c2)
        for w, g, m, v in zip(params, grads, state.m, state.v, strict=True)
    ]
    w, m, v = (type(params)(*tree) for tree in zip(*leaves, strict=True))
    return w, AdamState(step, m, v)
