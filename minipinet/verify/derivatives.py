"""Numerical derivatives of a probed pair: single entries and random directions."""

from __future__ import annotations

import math
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


#: Rounding of a forward, in units of the spacing of float64 numbers at its result: a few operations deep.
ULPS = 8 * np.finfo(float).eps
#: From which size on the numbers of an array count as huge.
HUGE = 1e3


class Derivative(NamedTuple):
    """One derivative two ways."""

    leaf: int  #: number of the array
    at: tuple[int, ...] | None  #: entry of the array; None: along a random direction
    analytic: float  #: by the backward
    numeric: float  #: from the forward
    size: float  #: magnitude to measure the difference against, see `measure`
    v: Array | None = None  #: that direction
    rounding: float = 0.0  #: how far apart rounding alone may put the two
    h: float = 0.0  #: the step


class Change(NamedTuple):
    """The forward's outputs around a point: x - hv, x, x + hv. All lists go array by array."""

    h: float
    ahead: list[Array]  #: out(x + hv) - out(x)
    behind: list[Array]  #: out(x) - out(x - hv)
    whole: list[Array]  #: out(x + hv) - out(x - hv)
    blur: list[Array]  #: how far off rounding may put each of these numbers, in units of the outputs

    def slope(self, dout: Sequence[Array]) -> float:
        """Return the central difference of <dout, out>."""
        return paired(dout, self.whole) / (2 * self.h)

    def rounding(self, dout: Sequence[Array]) -> float:
        """Return how far off rounding may put it: errors of many outputs add up like the sides of a right angle."""
        return norm([w * b for w, b in zip(dout, self.blur, strict=True)]) / self.h


def central(point: Point, move: Mapping[int, Array], h: float) -> Change | None:
    """Take the step h along `move` (array number to direction), to both sides; None if a kink was crossed.

    Two things are rounded, the outputs and the places x + hv themselves. At a minimum the second decides: the slopes
    ahead and behind, which are not 0, cancel as far as both steps have the same length.
    """
    up = out_at(point, move, h)
    down = None if up is None else out_at(point, move, -h)
    if up is None or down is None:
        return None
    here = point.at_x.out
    ahead, behind = ([b - a for a, b in zip(*two, strict=True)] for two in ((here, up), (down, here)))
    shift = max((_shift(point.x[k], v) for k, v in move.items()), default=0.0) / h
    blur = [
        ULPS * (np.abs(a) + np.abs(b) + shift * (np.abs(s) + np.abs(t))) / 2
        for a, b, s, t in zip(up, down, ahead, behind, strict=True)
    ]
    return Change(h, ahead, behind, [a - b for a, b in zip(up, down, strict=True)], blur)


def _shift(x: Array, v: Array) -> float:
    """Return the largest entry that is moved, in units of the move."""
    moved = np.ravel(v)[np.ravel(v != 0)]
    size = norm([moved]) / math.sqrt(len(moved)) if len(moved) else 0.0
    return float(np.max(np.abs(x), where=v != 0, initial=0.0)) / size if size else 0.0


def numerically(point: Point, move: Mapping[int, Array], h: float, method: str) -> tuple[float, float] | None:
    """Return the derivative of <dout, out> along `move` and its rounding; None if a kink was crossed."""
    if method != "complex":
        change = central(point, move, h)
        return None if change is None else (change.slope(point.dout), change.rounding(point.dout))
    up = _complex_call(point, [v + 1j * h * move.get(k, 0.0) for k, v in enumerate(point.x)])
    if crossed(point, up):
        return None
    terms = [d * o.imag / h for d, o in zip(point.dout, up.out, strict=True)]
    return sum(float(np.sum(t)) for t in terms), ULPS * norm(terms)


def least(point: Point, k: int) -> float:
    """Return the rounding that no gradient of array `k` escapes: that of the terms of <dout, out>.

    Of an array of huge numbers the derivatives are smaller than the function by as much.
    """
    terms = norm([d * o for d, o in zip(point.dout, point.at_x.out, strict=True)])
    return ULPS * terms * min(1.0, HUGE / reach(point.x[k]))


def norm(arrays: Sequence[Array]) -> float:
    """Return the root of the sum of all squares, of which none overflows or is lost."""
    largest = max((float(np.max(np.abs(a), initial=0.0)) for a in arrays), default=0.0)
    if not 0 < largest < math.inf:
        return largest
    return largest * math.sqrt(sum(float(np.sum((a / largest) ** 2)) for a in arrays))


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
        found = numerically(point, {k: direction[()]}, h, method)
        if found is not None:
            numeric, rounding = found
            analytic = float(np.asarray(g).flat[i])
            index = tuple(int(j) for j in np.unravel_index(i, np.shape(x)))
            size = max(abs(analytic), _finite(numeric))
            rounding += least(point, k)
            return Derivative(k, index, analytic, numeric, size, rounding=rounding, h=h), dropped
    return None, REDRAWS[method] + 1


def direction_derivative(
    point: Point, k: int, method: str, rng: np.random.Generator, share: float = 1.0
) -> tuple[Derivative | None, int]:
    """Compare one random direction of (a share of) array `k`; also return how many steps were dropped at kinks."""
    x = point.x[k]
    for dropped in range(REDRAWS[method] + 1):
        v, h = draw_direction(x, rng, share), STEP[method] * reach(x) * 10.0**-dropped
        found = numerically(point, {k: v}, h, method)
        if found is not None:
            return along(point, k, v, *found, h), dropped
    return None, REDRAWS[method] + 1


def along(point: Point, k: int, v: Array, numeric: float, rounding: float, h: float) -> Derivative:
    """Set the gradient of array `k` along a direction beside the numeric derivative along it."""
    terms = point.gradient[k] * v
    size = max(norm([terms]), _finite(numeric))
    return Derivative(k, None, float(np.sum(terms)), numeric, size, v, rounding + least(point, k), h)


def _finite(numeric: float) -> float:
    return abs(numeric) if math.isfinite(numeric) else 0.0


def worst_entry(point: Point, k: int, method: str, rng: np.random.Generator) -> Derivative | None:
    """Find the entry of array `k` that is most wrong, by halving the array: 2 log2(size) derivatives."""
    x, g = point.x[k], np.asarray(point.gradient[k]).ravel()
    v = rng.standard_normal(np.size(x))

    def mismatch(part: Array) -> float:
        direction = np.zeros(np.size(x))
        direction[part] = v[part]
        found = numerically(point, {k: direction.reshape(np.shape(x))[()]}, STEP[method] * reach(x), method)
        apart = 0.0 if found is None else abs(float(np.dot(g, direction)) - found[0])
        return math.inf if math.isnan(apart) else apart

    part = np.arange(np.size(x))
    while len(part) > 1:
        part = max(np.array_split(part, 2), key=mismatch)
    return entry_derivative(point, k, int(part[0]), method)[0]
