"""Kinks that no mask shows: told from a wrong gradient by shorter steps and by the slopes to either side.

A step that reached over a kink is taken again ten times shorter, as long as rounding leaves anything to see. Where the
point itself lies at a kink that does not help: the slopes ahead and behind, (f(x + hv) - f(x)) / h and (f(x) - f(x -
hv)) / h, come together as h shrinks where f is smooth, but there they stay apart. Then

- a random direction is drawn again: others, in fewer entries, may lie at no kink;
- a single entry is left out if its gradient lies between the two slopes and is right at points nearby, to both sides:
  a wrong gradient is wrong there too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.verify.derivatives import STEP, Derivative, along, central, direction_of, numerically, reach
from minipinet.verify.probe import Point

#: The steps looked at, in units of the usual one: the first three always, the others while rounding allows.
SHORTER = tuple(10.0**-k for k in range(9))
#: Smooth slopes come ten times as near from one of these to the next; at a kink they keep more than this of their gap
#: (and where the function jumps, their gap grows).
KEPT = 1 / 3
#: How far away, in units of each array's reach, the gradient must be right, tried in turn: a point nearby may lie at
#: another kink, or outside of where the function is defined.
NEARBY = (1e-2, 1e-3, 1e-4)


class Sides(NamedTuple):
    """What one step shows of <dout, out>."""

    numeric: float  #: the mean of the slopes to both sides, the central difference
    rounding: float  #: how far off rounding may put it
    gap: float  #: how far apart the slopes are, each output's magnitude added up
    blur: float  #: how far apart rounding alone may put them

    @property
    def shows(self) -> bool:
        """Whether the gap is more than rounding."""
        return self.gap > 2 * self.blur


class Neighbourhood:
    """A point and others to both sides of it, made when first asked for."""

    def __init__(self, point: Point, rng: np.random.Generator) -> None:
        self.point = point
        self._rng = rng
        self._pairs: list[tuple[Point | None, Point | None]] = []

    def explain(self, d: Derivative, allowed: float) -> Derivative | str | None:
        """Look for a kink behind a mismatch.

        Parameters
        ----------
        d : Derivative
            By central differences, and wrong.
        allowed : float
            Largest difference allowed.

        Returns
        -------
        Derivative, "kink" or None
            The derivative with another step, with which the gradient agrees; "kink" if the point lies on one; None if
            nothing excuses the mismatch.
        """
        move = {d.leaf: direction_of(self.point.x[d.leaf], d)}
        h = STEP["central"] * reach(self.point.x[d.leaf])
        sides: list[Sides] = []
        for shorter in SHORTER:
            found = _sides(self.point, move, h * shorter)
            if found is None:
                continue
            if found.rounding <= allowed and abs(d.analytic - found.numeric) <= allowed:
                return d._replace(numeric=found.numeric)
            if found.rounding > allowed and len(sides) >= 3:
                break
            sides.append(found)
        smooth = self._extrapolated(move, h)
        if smooth is not None and smooth.rounding <= allowed and abs(d.analytic - smooth.numeric) <= allowed:
            return d._replace(numeric=smooth.numeric)
        seen = [side for side in sides if side.rounding <= allowed]
        before, last = (seen if len(seen) > 1 else sides)[-2:] if len(sides) > 1 else (None, None)
        if before is None or last is None or not last.shows:
            return None
        stays = KEPT * before.gap < last.gap < before.gap / KEPT
        between = abs(d.analytic - last.numeric) <= last.gap / 2 + last.blur + allowed
        if np.count_nonzero(move[d.leaf]) > 1:
            return "kink" if stays or between else None
        return "kink" if stays and between and self._right_nearby(d, move, allowed) else None

    def _extrapolated(self, move: Mapping[int, Array], h: float) -> Sides | None:
        """Return the difference without its error of h^2, by a step twice as long (Richardson)."""
        one, two = (_sides(self.point, move, factor * h) for factor in (1, 2))
        if one is None or two is None:
            return None
        return one._replace(numeric=(4 * one.numeric - two.numeric) / 3, rounding=(4 * one.rounding + two.rounding) / 3)

    def _right_nearby(self, d: Derivative, move: Mapping[int, Array], allowed: float) -> bool:
        for k, distance in enumerate(NEARBY):
            if k == len(self._pairs):
                self._pairs.append(self._draw_pair(distance))
            if all(near is not None and _is_right(near, d, move, allowed) for near in self._pairs[k]):
                return True
        return False

    def _draw_pair(self, distance: float) -> tuple[Point | None, Point | None]:
        steps = [distance * reach(v) * self._rng.standard_normal(np.shape(v)) for v in self.point.x]
        ahead, behind = ([v + sign * s for v, s in zip(self.point.x, steps, strict=True)] for sign in (1.0, -1.0))
        return _moved(self.point, ahead), _moved(self.point, behind)


def _sides(point: Point, move: Mapping[int, Array], h: float) -> Sides | None:
    change = central(point, move, h)
    if change is None:
        return None
    gap = blur = 0.0
    for w, ahead, behind, b in zip(point.dout, change.ahead, change.behind, change.blur, strict=True):
        gap += float(np.sum(np.abs(w) * np.abs(ahead - behind))) / h
        blur += float(np.sum(np.abs(w) * b)) / h
    numeric = change.slope(point.dout)
    if not (math.isfinite(gap) and math.isfinite(numeric)):
        return None  # the step leaves the domain of the function
    return Sides(numeric, change.rounding(point.dout), gap, blur)


def _moved(point: Point, x: list[Array]) -> Point | None:
    try:
        return point._replace(x=x, at_x=point.call(x), gradient=point.pullback(x, point.dout))
    except Exception:
        return None  # a place that the forward refuses proves nothing


def _is_right(near: Point, d: Derivative, move: Mapping[int, Array], allowed: float) -> bool:
    for shorter in SHORTER[:3]:  # it may lie near a kink of its own
        h = shorter * STEP["central"] * reach(near.x[d.leaf])
        found = numerically(near, move, h, "central")
        if found is not None:
            there = along(near, d.leaf, move[d.leaf], *found, h)
            if abs(there.analytic - there.numeric) <= max(allowed, there.rounding):
                return True
    return False


class KinkSearch:
    """Sorts mismatches into kinks and wrong gradients, until enough are wrong."""

    def __init__(self, rng: np.random.Generator, enough: int = 10) -> None:
        self.skipped = 0  #: steps that turned out to cross a kink
        self._rng, self._wrong_left = rng, enough
        self._around: dict[int, Neighbourhood] = {}

    def kept(self, found: Sequence[tuple[Point, Derivative, float]]) -> list[tuple[Point, Derivative]]:
        """Return the derivatives of one direction (point, derivative, allowed difference), or none at a kink."""
        kept = []
        for point, d, allowed in found:
            reason: Derivative | str | None = None
            if not abs(d.analytic - d.numeric) <= allowed and self._wrong_left:
                around = self._around.setdefault(id(point), Neighbourhood(point, self._rng))
                reason = around.explain(d, allowed)
                self._wrong_left -= reason is None
                self.skipped += reason is not None
            if reason == "kink":
                return []
            kept.append((point, reason if isinstance(reason, Derivative) else d))
        return kept
