"""Adam's step as training takes it: compiled where Numba is installed, else `minipinet.optim`'s."""

from __future__ import annotations

from minipinet import optim
from minipinet.fast.passes import compiled_for
from minipinet.network import Params
from minipinet.optim import BETA1, BETA2, EPS, AdamState


def adam_step(params: Params, grads: Params, state: AdamState, lr: float = 1e-3) -> tuple[Params, AdamState]:
    """Take one step as :func:`minipinet.optim.adam_step` does, each parameter and its moments in one pass."""
    compiled = compiled_for(*(leaf for tree in (params, grads) for leaf in tree if leaf is not None))
    if compiled is None:
        return optim.adam_step(params, grads, state, lr)
    step = state.step + 1
    c1, c2 = 1 - BETA1**step, 1 - BETA2**step
    leaves = [
        (None, None, None) if w is None else compiled.adam(w, g, m, v, lr, BETA1, BETA2, EPS, c1, c2)
        for w, g, m, v in zip(params, grads, state.m, state.v, strict=True)
    ]
    w, m, v = (type(params)(*tree) for tree in zip(*leaves, strict=True))
    return w, AdamState(step, m, v)
