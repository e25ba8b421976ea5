"""The one measure of error, and how much of it is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minipinet.verify.derivatives import ULPS, Derivative
from minipinet.verify.report import ANALYTIC, NUMERIC, Entry

#: Largest error allowed; for ``taylor`` the smallest rate. Worst on this project's pairs over 25 seeds: 3e-7 by
#: differences, 6e-15 by the complex step, 5e-12 for linearity, 7e-6 in float32; the lowest rate was 2.996.
TOLERANCE = {
    "central": 1e-6,
    "complex": 1e-12,
    "taylor": 2.9,
    "float32": 3e-5,
    "adjoint": 1e-6,
    "linear": 1e-10,
}
#: What float32 needs beside: where a derivative is zero by symmetry it leaves 2^29 times the rounding of float64, so
#: its scale is at least this share of the largest derivative of the pair.
FLOOR_FLOAT32 = 1e-1
#: A difference that rounding hides up to this many times the tolerance is told of.
HIDDEN = 100


def sizes(found: Sequence[Derivative], method: str) -> list[float]:
    """Return for each derivative the largest size in its array; see `measure`."""
    largest: dict[int, float] = {}
    for d in found:
        if d.at is not None:
            largest[d.leaf] = max(largest.get(d.leaf, 0.0), d.size)
    floor = FLOOR_FLOAT32 * _largest(found) if method == "float32" else 0.0
    return [max(d.size, largest.get(d.leaf, 0.0), floor) for d in found]


def rounding(found: Sequence[Derivative]) -> list[float]:
    """Return for each derivative how far apart rounding may put its two sides.

    A backward, too, is made of sums whose terms cancel; they are about as large as the largest derivative of the pair.
    """
    analytic = ULPS * _largest(found)
    return [d.rounding + analytic for d in found]


def scales(found: Sequence[Derivative], method: str, tolerance: float) -> list[float]:
    """Return what the error of each derivative is measured against, see `measure`."""
    pairs = zip(sizes(found, method), rounding(found), strict=True)
    return [max(size, r / tolerance) for size, r in pairs]


def _largest(found: Sequence[Derivative]) -> float:
    return max((d.size for d in found if math.isfinite(d.size)), default=0.0)


def measure(names: Sequence[str], found: Sequence[Derivative], method: str, tolerance: float) -> list[Entry]:
    """Measure what was found, worst first: ``|analytic - numeric|`` over the scale of the array's derivatives.

    The scale is the largest derivative compared in the array (along a random direction v: the norm of the products
    g_i v_i), but so large at least that what rounding explains is within the tolerance: a derivative that is zero, at a
    minimum or by symmetry, leaves only rounding behind, and rounding has no relative error.
    What is not finite has an infinite error.

    Examples
    --------
    >>> found = [Derivative(0, (0,), 1.0, 1.5, 1.5), Derivative(0, (1,), 3.0, 3.0, 3.0)]
    >>> [(entry.where, entry.error) for entry in measure(["W"], found, "central", 1e-6)]
    [('W[0]', 0.16666666666666666), ('W[1]', 0.0)]
    """
    entries = []
    for d, scale in zip(found, scales(found, method, tolerance), strict=True):
        difference = abs(d.analytic - d.numeric)
        error = 0.0 if difference == 0 else difference / scale
        direction = "" if d.v is None else _shown(d.v)
        error = math.inf if math.isnan(error) or not math.isfinite(scale) else error
        entries.append(Entry(names[d.leaf], d.at, d.analytic, d.numeric, error, direction, d.h))
    return sorted(entries, key=lambda entry: -entry.error)


def hidden(names: Sequence[str], found: Sequence[Derivative], method: str, tolerance: float) -> list[str]:
    """Say which arrays have derivatives so small that rounding hides errors of them far beyond the tolerance."""
    notes = []
    for k in dict.fromkeys(d.leaf for d in found if d.analytic != d.numeric):
        own = [(s, r) for d, s, r in zip(found, sizes(found, method), rounding(found), strict=True) if d.leaf == k]
        size, hides = max(s for s, _ in own), max(r for _, r in own)
        if HIDDEN * tolerance * size >= hides:
            continue
        alone = "check it alone" if method == "complex" else "check it alone, or with method='complex'"
        if size <= hides:
            how = f"zero but for rounding ({hides:.0e}): a smaller error is not seen (move the point, {alone})"
        else:
            how = f"at most {size:.0e}, and rounding lets them be checked to {hides / size:.0e} only ({alone})"
        notes.append(f"the derivatives of {names[k]}, beside {_largest(found):.0e} for the largest, are {how}")
    return notes


def _shown(v: object) -> str:
    """Return the first numbers of a direction: enough to know it again."""
    numbers = np.ravel(np.asarray(v))
    return f"[{', '.join(f'{u:.3g}' for u in numbers[:3])}{', ...' if len(numbers) > 3 else ''}]"


def describe_wrong(entries: Sequence[Entry], method: str, tolerance: float) -> list[str]:
    """Say for the ten worst entries beyond `tolerance` which is wrong, what each side gave, and by how much."""
    return [_describe(e, method, tolerance) for e in entries[:10] if e.error > tolerance]


def _describe(e: Entry, method: str, tolerance: float) -> str:
    where = f"d{e.where}{f' v = {e.direction}' if e.direction else ''}"
    if method != "linear" and not math.isfinite(e.numeric):
        return (
            f"{where}: the forward is not finite a step of {e.step:.0e} from the point, so nothing can be compared: "
            "move the point away from the end of the forward's domain"
        )
    return (
        f"{where}: {ANALYTIC[method]} (analytic) {e.analytic:.10g}, {NUMERIC[method]} (numeric) {e.numeric:.10g}, "
        f"relative error {e.error:.1e}, allowed {tolerance:.0e}"
    )
