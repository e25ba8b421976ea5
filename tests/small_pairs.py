"""Small forward/backward pairs, so that the gradient checker is tested without the project's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.verify import Report, check_pair

METHODS = ("central", "complex", "taylor")


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def square_forward(x: Array) -> tuple[Array, Array]:
    return x * x, x


def square_backward(dout: Array, x: Array) -> Array:
    return 2 * x * dout


def linear_forward(x: Array) -> tuple[Array, None]:
    return 3 * x, None


def linear_backward(dout: Array, cache: None) -> Array:
    return 3 * dout


def sine_forward(x: Array) -> tuple[Array, Array]:
    return np.sin(x), x


def sine_backward(dout: Array, x: Array) -> Array:
    return np.cos(x) * dout


def softmax_forward(x: Array) -> tuple[Array, Array]:
    e = np.exp(x)
    out = e / e.sum(axis=0)
    return out, out


def softmax_backward(dout: Array, out: Array) -> Array:
    return out * (dout - (out * dout).sum(axis=0))


class AffineGrads(NamedTuple):
    dM: Array
    dW: Array
    db: Any


def affine_forward(M: Array, W: Array, b: Array | None) -> tuple[Array, Any]:
    return np.sin(M @ W + (0 if b is None else b)), (M, W, b)


def affine_backward(dout: Array, cache: Any) -> AffineGrads:
    M, W, b = cache
    d = dout * np.cos(M @ W + (0 if b is None else b))
    return AffineGrads(d @ W.T, M.T @ d, None if b is None else d.sum(axis=0))


def affine_inputs() -> dict[str, Array]:
    rng = generator(7)
    return {"M": rng.standard_normal((4, 3)), "W": rng.standard_normal((3, 2)), "b": rng.standard_normal(2)}


class ReluCache(NamedTuple):
    mask: Array


def relu_forward(x: Array) -> tuple[Array, ReluCache]:
    mask = x > 0
    return x * mask, ReluCache(mask)


def relu_backward(dout: Array, cache: ReluCache) -> Array:
    return dout * cache.mask


SMALL: dict[str, tuple[Any, Any]] = {
    "square": (square_forward, square_backward),
    "linear": (linear_forward, linear_backward),
    "sine": (sine_forward, sine_backward),
    "softmax": (softmax_forward, softmax_backward),
    "relu": (relu_forward, relu_backward),
}


def check(forward: Any, backward: Any, method: str = "central", seed: int = 0, **inputs: Any) -> Report:
    return check_pair(forward, backward, inputs, rng=generator(seed), method=method)


def scaled(backward: Any, factor: float) -> Callable[..., Any]:
    return lambda dout, cache: factor * backward(dout, cache)
