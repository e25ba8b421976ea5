"""Numerical derivatives of a probed pair: single entries and random directions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.verify.probe import Evaluation, Point, VerificationError

#: Step of the central differences, in units of max(1, largest entry of the array). Truncation (h^2) and rounding
#: (1e-16 / h) both stay near 1e-10 here; the complex step subtracts nothing, so its step is as small as can be.
STEP = {"central": 1e-5, "complex": 1e-30}
#: A step that crosses a kink is drawn again this many times, each time ten times shorter (Taylor, which needs long
#: steps: from the fourth time on half as long).
REDRAWS = {"central": 2, "complex": 0, "taylor": 15, "adjoint": 2, "linear": 0}


class Derivative(NamedTuple):
    """One derivative two ways."""

    leaf: int  #: number of the array
    at: tuple[int, ...] | None  #: entry of the array; None: along a random direction
    analytic: float  #: by the backward
    numeric: float  #: from the forward
    size: float  #: magnitude to measure the difference against, see `verify`
    v: Array | None = None  #: that direction


def slope(point: Point, move: Mapping[int, Array], h: float, method: str) -> float | None:
    """Return the derivative of <dout, out> along `move` (array number to direction); None if a kink was crossed."""
    if method == "complex":
        up = _complex_call(point, [v + 1j * h * move.get(k, 0.0) for k, v in enumerate(point.x)])
        if crossed(point, up):
            return None
        return sum(float(np.sum(d * o.imag)) for d, o in zip(point.dout, up.out, strict=True)) / h
    change = central_change(point, move, h)
    return None if change is None else change / (2 * h)


def central_change(point: Point, move: Mapping[int, Array], h: float) -> float | None:
    """Return <dout, out(x + h v) - out(x - h v)>; None if a kink was crossed."""
    change = output_change(point, move, h)
    return None if change is None else paired(point.dout, change)


def output_change(point: Point, move: Mapping[int, Array], h: float) -> list[Array] | None:
    """Return out(x + h v) - out(x - h v), array by array; None if a kink was crossed."""
    up = out_at(point, move, h)
    down = None if up is None else out_at(point, move, -h)
    return None if up is None or down is None else [a - b for a, b in zip(up, down, strict=True)]


def out_at(point: Point, move: Mapping[int, Array], h: float) -> list[Array] | None:
    """Return out(x + h v); None if a kink was crossed on the way."""
    there = point.call([v + h * move[k] if k in move else v for k, v in enumerate(point.x)])
    return None if crossed(point, there) else there.out


def paired(dout: Sequence[Array], change: Sequence[Array]) -> float:
    """Return <dout, change>. Outputs that did not move have cancelled exactly before they are summed here."""
    return sum(float(np.sum(w * c)) for w, c in zip(dout, change, strict=True))


def _complex_call(point: Point, x: list[Array]) -> Evaluation:
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return point.call(x)
        except (np.exceptions.ComplexWarning, TypeError) as reason:
            raise VerificationError(
                f"{point.name}: forward cannot take complex numbers ({reason}); use method='central'"
            ) from reason


def crossed(point: Point, at: Evaluation) -> bool:
    """Tell whether a mask of the cache differs from that at the point."""
    return any(not np.array_equal(a, b) for a, b in zip(point.at_x.masks, at.masks, strict=True))


def reach(v: Array) -> float:
    """Return the unit in which an array is moved: its largest entry, at least 1."""
    return max(1.0, float(np.max(np.abs(v), initial=0.0)))


def draw_direction(x: Array, rng: np.random.Generator, share: float = 1.0) -> Array:
    """Draw a direction of normal numbers whose mean square is 1 (for a scalar 1 or -1), in a share of the entries."""
    v = np.asarray(rng.standard_normal(np.shape(x)))
    if share < 1:
        v *= thin(v.size, share, rng).reshape(v.shape)
    return (v / np.sqrt(np.mean(v[v != 0] ** 2)) if v.size else v)[()]


def thin(size: int, share: float, rng: np.random.Generator) -> Array:
    """Choose about a share of `size` entries, at least one: a mask."""
    drawn = rng.random(size)
    return drawn <= max(share, drawn.min(initial=1.0))


def direction_of(x: Array, d: Derivative) -> Array:
    """Return the direction in which a derivative of array `x` was taken."""
    if d.at is None:
        return d.v
    v = np.zeros(np.shape(x))
    v[d.at] = 1.0
    return v[()]


def entry_derivative(point: Point, k: int, i: int, method: str) -> tuple[Derivative | None, int]:
    """Compare entry `i` (counted in C order) of array `k`; also return how many steps were dropped at kinks."""
    x, g = point.x[k], point.gradient[k]
    direction = np.zeros(np.shape(x))
    direction.flat[i] = 1.0
    for dropped in range(REDRAWS[method] + 1):
        h = STEP[method] * reach(x) * 10.0**-dropped
        numeric = slope(point, {k: direction[()]}, h, method)
        if numeric is not None:
            analytic = float(np.asarray(g).flat[i])
            index = tuple(int(j) for j in np.unravel_index(i, np.shape(x)))
            return Derivative(k, index, analytic, numeric, max(abs(analytic), abs(numeric))), dropped
    return None, REDRAWS[method] + 1


def direction_derivative(
    point: Point, k: int, method: str, rng: np.random.Generator, share: float = 1.0
) -> tuple[Derivative | None, int]:
    """Compare one random direction of (a share of) array `k`; also return how many steps were dropped at kinks."""
    x = point.x[k]
    for dropped in range(REDRAWS[method] + 1):
        v = draw_direction(x, rng, share)
        numeric = slope(point, {k: v}, STEP[method] * reach(x) * 10.0**-dropped, method)
        if numeric is not None:
            return along(point, k, v, numeric), dropped
    return None, REDRAWS[method] + 1


def along(point: Point, k: int, v: Array, numeric: float) -> Derivative:
    """Set the gradient of array `k` along a direction beside the numeric derivative along it."""
    terms = point.gradient[k] * v
    return Derivative(k, None, float(np.sum(terms)), numeric, max(abs(numeric), float(np.linalg.norm(terms))), v)


def worst_entry(point: Point, k: int, method: str, rng: np.random.Generator) -> Derivative | None:
    """Find the entry of array `k` that is most wrong, by halving the array: 2 log2(size) derivatives."""
    x, g = point.x[k], np.asarray(point.gradient[k]).ravel()
    v = rng.standard_normal(np.size(x))

    def mismatch(part: Array) -> float:
        direction = np.zeros(np.size(x))
        direction[part] = v[part]
        numeric = slope(point, {k: direction.reshape(np.shape(x))[()]}, STEP[method] * reach(x), method)
        return 0.0 if numeric is None else abs(float(np.dot(g, direction)) - numeric)

    part = np.arange(np.size(x))
    while len(part) > 1:
        part = max(np.array_split(part, 2), key=mismatch)
    return entry_derivative(point, k, int(part[0]), method)[0]
