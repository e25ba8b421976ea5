"""The one measure of error, and how much of it is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minipinet.verify.derivatives import Derivative
from minipinet.verify.report import ANALYTIC, NUMERIC, Entry

#: Largest error allowed; for ``taylor`` the smallest rate. Worst on this project's pairs over seventy seeds: 9e-7 by
#: differences, 3e-14 by the complex step, 2e-13 for linearity, 7e-6 in float32; the lowest rate was 2.982.
TOLERANCE = {
    "central": 1e-6,
    "complex": 1e-12,
    "taylor": 2.9,
    "float32": 3e-5,
    "adjoint": 1e-6,
    "linear": 1e-10,
}
#: Smallest scale of an array's derivatives, in units of the largest in the pair; see `measure`. Where a
#: derivative is zero by symmetry float32 leaves 2^29 times the rounding of float64.
FLOOR = dict.fromkeys(("central", "complex", "taylor", "adjoint", "linear"), 1e-3) | {"float32": 1e-1}


def scales(found: Sequence[Derivative], method: str) -> list[float]:
    """Return what the error of each derivative is measured against, see `measure`."""
    largest: dict[int, float] = {}
    for d in found:
        if d.at is not None:
            largest[d.leaf] = max(largest.get(d.leaf, 0.0), d.size)
    floor = FLOOR[method] * max((d.size for d in found), default=0.0)
    return [max(d.size, largest.get(d.leaf, 0.0), floor) for d in found]


def measure(names: Sequence[str], found: Sequence[Derivative], method: str) -> list[Entry]:
    """Measure what was found, worst first: |analytic - numeric| over the scale of the array's derivatives.

    The scale is the largest derivative compared in the array (along a random direction v: the norm of the products
    g_i v_i), but at least `FLOOR` times the largest scale of the whole pair: a derivative that is zero by symmetry,
    such as that of a bias before the softmax, leaves only rounding behind, and rounding has no relative error.
    What is not finite has an infinite error.

    Examples
    --------
    >>> found = [Derivative(0, (0,), 1.0, 1.5, 1.5), Derivative(0, (1,), 3.0, 3.0, 3.0)]
    >>> [(entry.where, entry.error) for entry in measure(["W"], found, "central")]
    [('W[0]', 0.16666666666666666), ('W[1]', 0.0)]
    """
    entries = []
    for d, scale in zip(found, scales(found, method), strict=True):
        difference = abs(d.analytic - d.numeric)
        error = 0.0 if difference == 0 else difference / scale
        direction = "" if d.v is None else _shown(d.v)
        error = math.inf if math.isnan(error) else error
        entries.append(Entry(names[d.leaf], d.at, d.analytic, d.numeric, error, direction))
    return sorted(entries, key=lambda entry: -entry.error)


def _shown(v: object) -> str:
    """Return the first numbers of a direction: enough to know it again."""
    numbers = np.ravel(np.asarray(v))
    return f"[{', '.join(f'{u:.3g}' for u in numbers[:3])}{', ...' if len(numbers) > 3 else ''}]"


def describe_wrong(entries: Sequence[Entry], method: str, tolerance: float) -> list[str]:
    """Say for the ten worst entries beyond `tolerance` which is wrong, what each side gave, and by how much."""
    return [
        f"d{e.where}{f' v = {e.direction}' if e.direction else ''}: {ANALYTIC[method]} (analytic) {e.analytic:.10g}, "
        f"{NUMERIC[method]} (numeric) {e.numeric:.10g}, relative error {e.error:.1e}, allowed {tolerance:.0e}"
        for e in entries[:10]
        if e.error > tolerance
    ]
