"""Adam against its algorithm written as a loop over numbers, and against steps worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet._tree import named_leaves
from minipinet.optim import AdamState, adam_init, adam_step
from minipinet.params import PiNetParams, init_params
from tests import tolerances
from tests.tolerances import relative_error

SETTINGS: dict[str, dict[str, float]] = {
    "default": {},
    "other": {"lr": 0.05, "beta1": 0.5, "beta2": 0.9, "eps": 1e-3},
    "no memory": {"lr": 0.1, "beta1": 0.0, "beta2": 0.0},
}


def params_of(dtype: str = "float64", *, bias: bool = True, learned_pq: bool = True, seed: int = 0) -> PiNetParams:
    rng = np.random.default_rng(seed)
    params = init_params(rng, 2, 2, hidden=3, out=2, bias=bias, learned_pq=learned_pq, dtype=dtype)
    return PiNetParams(*(w if w is None else rng.standard_normal(w.shape).astype(dtype) for w in params))


def by_hand(
    w: float, gradients: list[float], lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> float:
    """Take one number through algorithm 1 of Kingma and Ba."""
    m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
        w -= lr * m_hat / (math.sqrt(v_hat) + eps)
    return w


def run(params: PiNetParams, gradients: list[PiNetParams], **settings: float) -> tuple[PiNetParams, AdamState]:
    state = adam_init(params)
    for grads in gradients:
        params, state = adam_step(params, grads, state, **settings)
    return params, state


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    ("dtype", "allowed"), [("float64", tolerances.ADAM_FLOAT64), ("float32", tolerances.ADAM_FLOAT32)]
)
def test_ten_steps_are_those_of_the_loop(dtype: str, allowed: float, name: str) -> None:
    settings = SETTINGS[name]
    params = params_of(dtype)
    gradients = [params_of(dtype, seed=seed) for seed in range(1, 11)]
    after, state = run(params, gradients, **settings)
    assert state.step == 10
    for k, (start, end) in enumerate(zip(params, after, strict=True)):
        assert start is not None
        assert end is not None
        expected = np.zeros(start.shape)
        for at in np.ndindex(start.shape):
            history = [float(np.asarray(grads[k])[at]) for grads in gradients]
            expected[at] = by_hand(float(start[at]), history, **settings)
        assert end.dtype == dtype
        assert relative_error(end, expected) < allowed


def test_known_values() -> None:
    def value(gradients: list[float], **settings: float) -> float:
        w = params_of()
        start = w._replace(b_D=np.array([1.0, 1.0]))
        after, _ = run(start, [w._replace(b_D=np.array([g, -g])) for g in gradients], **settings)
        assert after.b_D is not None
        up, down = after.b_D.tolist()
        assert relative_error(2.0 - up, down) < tolerances.ADAM_FLOAT64  # the other sign, the mirror image
        return float(up)

    # A first step is lr * g / (|g| + eps) whatever the size of g, thanks to both corrections of the bias.
    for g in (1e-3, 1.0, 1e3):
        assert value([g]) == pytest.approx(1 - 1e-3 * g / (g + 1e-8), rel=tolerances.ADAM_FLOAT64)
    # g = eps halves it: eps stands outside the root.
    assert value([1e-8]) == pytest.approx(1 - 1e-3 / 2, rel=tolerances.ADAM_FLOAT64)
    # A constant gradient of 1 moves by lr each time, up to eps.
    assert value([1.0] * 5, lr=0.1) == pytest.approx(0.5, abs=1e-8)
    # 1 then -1: m = .09 - .1 = -.01, m_hat = -.01 / .19, v_hat = 1.
    assert value([1.0, -1.0], lr=0.1) == pytest.approx(1 - 0.1 + 0.1 * 0.01 / 0.19, abs=1e-8)
    # No gradient, no step.
    assert value([0.0]) == 1.0


def test_state_starts_at_zero_in_the_dtype_and_shapes_of_the_parameters() -> None:
    for dtype in ("float32", "float64"):
        params = params_of(dtype, bias=False)
        state = adam_init(params)
        assert state.step == 0
        for moment in (state.m, state.v):
            assert [w is None for w in moment] == [w is None for w in params]
            for (_, w), (_, zero) in zip(named_leaves(params), named_leaves(moment), strict=True):
                if w is not None:
                    assert (zero.shape, zero.dtype) == (w.shape, w.dtype)
                    assert not zero.any()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("learned_pq", [True, False])
def test_absent_parameters_stay_absent(bias: bool, learned_pq: bool) -> None:
    params = params_of(bias=bias, learned_pq=learned_pq)
    after, state = run(params, [params, params])
    for tree in (after, state.m, state.v):
        assert [w is None for w in tree] == [w is None for w in params]


def frozen(tree: Any) -> None:
    for _, leaf in named_leaves(tree):
        if isinstance(leaf, np.ndarray):
            leaf.setflags(write=False)


def test_arguments_are_not_changed_and_results_share_no_memory_with_them() -> None:
    params, grads = params_of(), params_of(seed=1)
    state = adam_init(params)
    frozen((params, grads, state))
    one, state_one = adam_step(params, grads, state)
    frozen((one, state_one))
    two, state_two = adam_step(one, grads, state_one)
    assert (state.step, state_one.step, state_two.step) == (0, 1, 2)
    given: list[Array] = [leaf for _, leaf in named_leaves((params, grads, state))]
    made: list[Array] = [leaf for _, leaf in named_leaves((two, state_two))]
    assert not any(
        np.shares_memory(a, b) for a in given for b in made if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    )


def test_going_on_from_a_state_is_going_on() -> None:
    params = params_of()
    gradients = [params_of(seed=seed) for seed in range(1, 7)]
    straight, _ = run(params, gradients)
    half, state = run(params, gradients[:3])
    for grads in gradients[3:]:
        half, state = adam_step(half, grads, state)
    assert all(np.array_equal(a, b) for a, b in zip(straight, half, strict=True) if a is not None and b is not None)


def test_it_finds_the_bottom_of_a_bowl() -> None:
    params, target = params_of(), params_of(seed=1)
    state = adam_init(params)
    for _ in range(2000):
        grads = PiNetParams(*(None if w is None else w - t for w, t in zip(params, target, strict=True)))
        params, state = adam_step(params, grads, state, lr=0.01)
    assert max(relative_error(w, t) for w, t in zip(params, target, strict=True)) < 1e-3


@pytest.mark.parametrize("which", ["grads", "m", "v"])
def test_a_tree_that_lacks_a_leaf_is_not_cut_to_fit(which: str) -> None:
    params, grads = params_of(), params_of(seed=1)
    state = adam_init(params)
    trees: dict[str, Any] = {"grads": grads, "m": state.m, "v": state.v}
    for wrong in (tuple(trees[which])[:-1], (*trees[which], np.zeros(1))):
        changed: dict[str, Any] = {**trees, which: wrong}
        with pytest.raises(ValueError, match="zip"):
            adam_step(params, changed["grads"], AdamState(0, changed["m"], changed["v"]))
