"""The central Taylor remainder: the rate with which it falls tells a right gradient from a wrong one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.verify.derivatives import REDRAWS, central, norm, thin
from minipinet.verify.probe import Point

#: A remainder that is all rounding must be this small relative to the derivative.
ROUNDING = 1e-8
#: A remainder is of use for a rate if it is this many times its rounding, which is estimated generously.
USED = 10

#: This many times all entries are moved; where that crosses kinks each time, then half of them, and so on.
WHOLE = 8


class Remainder(NamedTuple):
    """The central Taylor remainder ``R(h) = |J(x + hv) - J(x - hv) - 2h<g, v>|`` along one direction of all arrays."""

    rate: float  #: fitted exponent of R(h), 3 for a right gradient; NaN where R is mere rounding
    error: float  #: R(h) / 2h relative to the derivative, at the smallest h used
    analytic: float  #: <g, v>
    numeric: float  #: (J(x + hv) - J(x - hv)) / 2h at that h


def taylor_remainder(point: Point, rng: np.random.Generator) -> tuple[Remainder | None, int]:
    """Fit the rate along one random direction; also return how many directions were dropped at kinks.

    The steps halve from 1/32 of each array's magnitude. Remainders below ten times their rounding are of no use
    for a rate; of the others the four smallest, the nearest to the limit, are fitted. Where fewer than three
    remain (J linear or quadratic along v) the remainder itself is the verdict.
    """
    for dropped in range(REDRAWS["taylor"] + 1):
        move = _draw_move(point.x, rng, 0.5 ** max(0, dropped - WHOLE), spare_zeros=dropped > 0)
        h = 2.0**-5 * 0.5 ** max(0, dropped - 3) * 0.5 ** np.arange(10)
        changes = []
        for h_k in h:
            change = central(point, move, float(h_k))
            if change is None or not np.isfinite(change.slope(point.dout)):
                break
            changes.append((change.slope(point.dout), change.rounding(point.dout)))
        else:
            return _fit(point, move, h, *np.array(changes).T), dropped
    return None, REDRAWS["taylor"] + 1


def _draw_move(x: Sequence[Array], rng: np.random.Generator, share: float, *, spare_zeros: bool) -> dict[int, Array]:
    move = {k: rng.standard_normal(np.shape(v)) * (np.max(np.abs(v), initial=0.0) or 1.0) for k, v in enumerate(x)}
    if spare_zeros:  # what lies exactly on a kink is most often a zero
        move = {k: v * (x[k] != 0) if np.any(x[k] != 0) else v for k, v in move.items()}
    if share == 1:
        return move
    chosen = np.split(thin(sum(map(np.size, x)), share, rng), np.cumsum([np.size(v) for v in x])[:-1])
    return {k: v * chosen[k].reshape(np.shape(v))[()] for k, v in move.items()}


def _fit(point: Point, move: Mapping[int, Array], h: Array, slopes: Array, rounding: Array) -> Remainder:
    terms = [point.gradient[k] * v for k, v in move.items()]
    analytic = float(sum(np.sum(t) for t in terms))
    size = max(abs(analytic), norm(terms))
    R = 2 * h * np.abs(slopes - analytic)
    used = np.flatnonzero(USED * 2 * h * rounding < R)[-4:]
    rate = float(np.polyfit(np.log(h[used]), np.log(R[used]), 1)[0]) if len(used) >= 3 else float("nan")
    at = used[-1] if len(used) >= 3 else int(np.argmin(R / h))
    scale = max(size, float(rounding[at]) / ROUNDING)
    error = 0.0 if R[at] == 0 else float(R[at] / (2 * h[at]) / scale) if scale else float("inf")
    return Remainder(rate, error, analytic, float(slopes[at]))
