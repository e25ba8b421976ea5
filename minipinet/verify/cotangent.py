"""The backward as a function of its cotangent: it is linear, and the adjoint of the forward's derivative J.

Differences along the input look at one cotangent. A backward that is right for that one and wrong for others (clipped
at 1, say, or squared where the cotangent happened to be 1) is only seen by changing the cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minipinet._array import Array
from minipinet.verify.derivatives import REDRAWS, STEP, Derivative, along, central, draw_direction, least, reach
from minipinet.verify.probe import Point, draw_like

#: The cotangents are as large as this, so that clipping and thresholds show; powers of two multiply exactly.
SCALES = (1.0, 2.0**20, 2.0**-20)


def linear_derivatives(point: Point, rng: np.random.Generator) -> list[Derivative]:
    """Compare g(a w1 + b w2) with a g(w1) + b g(w2); return the worst entry of each array at each of `SCALES`.

    All are divided by the scale of the cotangents. The magnitude is the largest ``|a g(w1)| + |b g(w2)|`` of the array.
    """
    found = []
    for scale in SCALES:
        a, b = scale * rng.standard_normal(2)
        w1, w2 = draw_like(point.dout, rng), draw_like(point.dout, rng)
        whole, first, second = (
            point.pullback(point.x, w) for w in ([a * u + b * v for u, v in zip(w1, w2, strict=True)], w1, w2)
        )
        for k, (g, g1, g2) in enumerate(zip(whole, first, second, strict=True)):
            if np.size(g):
                found.append(_most_apart(k, g / scale, a / scale * g1, b / scale * g2, least(point, k)))
    return found


def _most_apart(k: int, whole: Array, first: Array, second: Array, rounding: float) -> Derivative:
    with np.errstate(invalid="ignore"):
        parts = np.asarray(first + second)
        apart = np.abs(whole - parts)
        size = float(np.max(np.abs(first) + np.abs(second)))
    i = int(np.argmax(apart))  # a NaN, if there is one
    at = tuple(int(j) for j in np.unravel_index(i, parts.shape))
    return Derivative(k, at, float(np.asarray(whole).flat[i]), float(parts.flat[i]), size, rounding=rounding)


def zero_cotangent(point: Point) -> list[str]:
    """Say which gradients of a cotangent of zeros are not exactly zero."""
    problems = []
    for name, g in zip(point.names, point.pullback(point.x, [0.0 * w for w in point.dout]), strict=True):
        g = np.asarray(g)
        wrong = np.argwhere(g != 0)  # NaN too
        if len(wrong):
            at = tuple(int(j) for j in wrong[0])
            where = f"d{name}[{', '.join(map(str, at))}]" if at else f"d{name}"
            problems.append(f"{where}: backward of a zero cotangent gives {g[at]:.10g}, expected exactly 0")
    return problems


def with_cotangents(point: Point, count: int, rng: np.random.Generator) -> list[Point]:
    """Return the point with other random cotangents, and the gradient of each by a call of its own."""
    cotangents = [draw_like(point.dout, rng) for _ in range(count)]
    return [point._replace(dout=w, gradient=point.pullback(point.x, w)) for w in cotangents]


def adjoint_derivatives(
    views: Sequence[Point], k: int, rng: np.random.Generator, share: float = 1.0
) -> tuple[list[Derivative], int]:
    """Compare <J v, w> with <v, g(w)> for a direction v of (a share of) array `k` and the cotangent w of each view.

    J v is the central difference of the whole output, taken once; also return how many steps were dropped at kinks.
    """
    x = views[0].x[k]
    for dropped in range(REDRAWS["adjoint"] + 1):
        v, h = draw_direction(x, rng, share), STEP["central"] * reach(x) * 10.0**-dropped
        change = central(views[0], {k: v}, h)
        if change is not None:
            return [
                along(view, k, v, change.slope(view.dout), change.rounding(view.dout), h) for view in views
            ], dropped
    return [], REDRAWS["adjoint"] + 1
