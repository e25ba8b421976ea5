"""Kinks that no mask shows: told from a wrong gradient by the slopes to either side.

Where a function is smooth, its slopes ahead and behind, (f(x + hv) - f(x)) / h and (f(x) - f(x - hv)) / h, come
together as h shrinks; at a kink they stay apart. A kink is accepted as the reason of a mismatch only if

1. the slopes stay apart when the step shrinks,
2. the mismatch is no larger than the slopes themselves, and
3. the gradient is right at points nearby, to both sides of this one: a wrong gradient is wrong there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.verify.derivatives import STEP, Derivative, along, direction_of, out_at, reach, slope
from minipinet.verify.probe import Point

#: The steps looked at, in units of the usual one.
SHORTER = (1.0, 0.1, 0.01)
#: Smooth slopes come ten times as near from one of these to the next; at a kink they keep more than this of their gap
#: (and where the function jumps, their gap grows).
KEPT = 1 / 3
#: How far away, in units of each array's reach, the gradient must be right, tried in turn: a point nearby may lie at
#: another kink, or outside of where the function is defined.
NEARBY = (1e-2, 1e-3, 1e-4)


class Sides(NamedTuple):
    """The slopes of <dout, out> to both sides, each output's magnitude added up."""

    numeric: float  #: their mean, the central difference
    gap: float  #: how far apart they are
    size: float  #: how large they are
    rounding: float  #: how far apart rounding alone may put them


class Neighbourhood:
    """A point and others to both sides of it, made when first asked for."""

    def __init__(self, point: Point, rng: np.random.Generator) -> None:
        self.point = point
        self._rng = rng
        self._pairs: list[tuple[Point | None, Point | None]] = []

    def explain(self, d: Derivative, scale: float, tolerance: float) -> Derivative | str | None:
        """Look for a kink behind a mismatch.

        Parameters
        ----------
        d : Derivative
            By central differences, and wrong.
        scale : float
            What its error was measured against.
        tolerance : float
            Largest error allowed.

        Returns
        -------
        Derivative, "kink" or None
            The derivative with a shorter step, if a kink lay within the longer one and the gradient is right; "kink" if
            the point lies on one; None if nothing excuses the mismatch.
        """
        with np.errstate(all="ignore"):
            return self._explain(d, scale, tolerance)

    def _explain(self, d: Derivative, scale: float, tolerance: float) -> Derivative | str | None:
        move = {d.leaf: direction_of(self.point.x[d.leaf], d)}
        h = STEP["central"] * reach(self.point.x[d.leaf])
        sides = []
        for shorter in SHORTER:
            found = _sides(self.point, move, h * shorter)
            if found is None or not np.isfinite(found.gap):
                return None
            sides.append(found)
        for side in sides[1:]:
            if abs(d.analytic - side.numeric) <= tolerance * scale and side.rounding <= tolerance * scale:
                return d._replace(numeric=side.numeric)
        *_, before, last = sides
        stays = KEPT * before.gap < last.gap < before.gap / KEPT and last.gap > 10 * last.rounding
        if stays and abs(d.analytic - last.numeric) <= last.size and self._right_nearby(d, move, scale, tolerance):
            return "kink"
        return None

    def _right_nearby(self, d: Derivative, move: Mapping[int, Array], scale: float, tolerance: float) -> bool:
        for k, distance in enumerate(NEARBY):
            if k == len(self._pairs):
                self._pairs.append(self._draw_pair(distance))
            if all(near is not None and _is_right(near, d, move, scale, tolerance) for near in self._pairs[k]):
                return True
        return False

    def _draw_pair(self, distance: float) -> tuple[Point | None, Point | None]:
        steps = [distance * reach(v) * self._rng.standard_normal(np.shape(v)) for v in self.point.x]
        ahead, behind = ([v + sign * s for v, s in zip(self.point.x, steps, strict=True)] for sign in (1.0, -1.0))
        return _moved(self.point, ahead), _moved(self.point, behind)


def _sides(point: Point, move: Mapping[int, Array], h: float) -> Sides | None:
    here = point.at_x.out
    up, down = (out_at(point, move, sign * h) for sign in (1.0, -1.0))
    if up is None or down is None:
        return None
    numeric = gap = size = rounding = 0.0
    for w, a, b, c in zip(point.dout, up, here, down, strict=True):
        ahead, behind, weight = (a - b) / h, (b - c) / h, np.abs(w)
        numeric += float(np.sum(w * (a - c))) / (2 * h)
        gap += float(np.sum(weight * np.abs(ahead - behind)))
        size += float(np.sum(weight * np.maximum(np.abs(ahead), np.abs(behind))))
        rounding += float(np.sum(weight * (np.abs(a) + 2 * np.abs(b) + np.abs(c)))) * np.finfo(float).eps / h
    return Sides(numeric, gap, size, rounding)


def _moved(point: Point, x: list[Array]) -> Point | None:
    try:
        return point._replace(x=x, at_x=point.call(x), gradient=point.pullback(x, point.dout))
    except Exception:
        return None  # a place that the forward refuses proves nothing


def _is_right(near: Point, d: Derivative, move: Mapping[int, Array], scale: float, tolerance: float) -> bool:
    for shorter in SHORTER:  # it may lie near a kink of its own
        numeric = slope(near, move, shorter * STEP["central"] * reach(near.x[d.leaf]), "central")
        apart = np.inf if numeric is None else abs(along(near, d.leaf, move[d.leaf], numeric).analytic - numeric)
        if apart <= tolerance * scale:
            return True
    return False


class KinkSearch:
    """Sorts mismatches into kinks and wrong gradients, until enough are wrong."""

    def __init__(self, tolerance: float, rng: np.random.Generator, enough: int = 10) -> None:
        self.skipped = 0  #: steps that turned out to cross a kink
        self._tolerance, self._rng, self._wrong_left = tolerance, rng, enough
        self._around: dict[int, Neighbourhood] = {}

    def kept(self, found: Sequence[tuple[Point, Derivative, float]]) -> list[tuple[Point, Derivative]]:
        """Return the derivatives of one direction (point, derivative, scale), or none if it is at a kink."""
        kept = []
        for point, d, scale in found:
            reason: Derivative | str | None = None
            if not abs(d.analytic - d.numeric) <= self._tolerance * scale and self._wrong_left:
                reason = self._around.setdefault(id(point), Neighbourhood(point, self._rng)).explain(
                    d, scale, self._tolerance
                )
                self._wrong_left -= reason is None
                self.skipped += reason is not None
            if reason == "kink":
                return []
            kept.append((point, reason if isinstance(reason, Derivative) else d))
        return kept
