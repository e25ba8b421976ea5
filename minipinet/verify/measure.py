"""The one measure of error, and how much of it is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minipinet.verify.derivatives import Derivative
from minipinet.verify.report import ANALYTIC, NUMERIC, Entry

#: Largest error allowed; for ``taylor`` the smallest rate. Worst on this project's pairs over seventy seeds: 1e-7 by
#: differences, 2e-14 by the complex step, 7e-6 in float32; the lowest rate was 2.987.
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
    scale = [0.0] * len(names)
    for d in found:
        if d.at is not None:
            scale[d.leaf] = max(scale[d.leaf], d.size)
    floor = FLOOR[method] * max((d.size for d in found), default=0.0)
    entries = []
    for d in found:
        difference = abs(d.analytic - d.numeric)
        error = 0.0 if difference == 0 else difference / max(d.size, scale[d.leaf], floor)
        entries.append(Entry(names[d.leaf], d.at, d.analytic, d.numeric, math.inf if math.isnan(error) else error))
    return sorted(entries, key=lambda entry: -entry.error)


def describe_wrong(entries: Sequence[Entry], method: str, tolerance: float) -> list[str]:
    """Say for the ten worst entries beyond `tolerance` which is wrong, what each side gave, and by how much."""
    return [
        f"d{e.where}: {ANALYTIC[method]} (analytic) {e.analytic:.10g}, {NUMERIC[method]} (numeric) {e.numeric:.10g}, "
        f"relative error {e.error:.1e}, allowed {tolerance:.0e}"
        for e in entries[:10]
        if e.error > tolerance
    ]
