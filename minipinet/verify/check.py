"""One pair against numerical derivatives: `check_pair`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minipinet.errors import UsageError
from minipinet.verify.cotangent import (
    adjoint_derivatives,
    linear_derivatives,
    with_cotangents,
    worst_of_views,
    zero_cotangent,
)
from minipinet.verify.derivatives import (
    REDRAWS,
    Derivative,
    direction_derivative,
    entry_derivative,
    worst_entry,
)
from minipinet.verify.measure import TOLERANCE, describe_wrong, measure
from minipinet.verify.probe import Backward, Forward, Point, probe, require_same_at_x
from minipinet.verify.report import Entry, Report
from minipinet.verify.taylor import taylor_remainder

#: A Taylor remainder that is all rounding must be this small relative to the derivative.
ROUNDING = 1e-8


def check_pair(
    forward: Forward,
    backward: Backward,
    inputs: Mapping[str, Any],
    *,
    rng: np.random.Generator,
    method: str = "central",
    name: str | None = None,
    tolerance: float | None = None,
    directions: int = 4,
    cotangents: int = 3,
    each_entry: int = 400,
    max_skipped: float = 0.5,
) -> Report:
    """Compare the gradient of ``backward`` with numerical derivatives of ``forward``.

    Parameters
    ----------
    forward : callable
        ``forward(**inputs) -> (out, cache)``; `out` and `cache` are arrays or trees of arrays. A boolean array in the
        cache is taken for a mask: a step at whose end it differs has crossed a kink, is dropped and drawn again.
    backward : callable
        ``backward(dout, cache)`` returns a NamedTuple or mapping with a field ``d`` + name for each input, or, for a
        single input, its gradient alone.
    inputs : mapping from argument name to array, number, None, or a tree of them
        Everything to differentiate; bind the rest with `functools.partial`. Copied to float64 and never changed.
    rng : numpy.random.Generator
        For the cotangent and the directions.
    method : {"central", "complex", "taylor", "adjoint", "linear"}
    name : str, optional
        For the report; by default the forward's name.
    tolerance : float, optional
        Default `TOLERANCE`.
    directions : int
        Random directions for each large array, for each array of any size for ``adjoint``, or in all for ``taylor``.
    cotangents : int
        Random cotangents for ``adjoint``.
    each_entry : int
        Arrays of at most this many entries are compared entry by entry.
    max_skipped : float in [0, 1]
        Largest share of an array's derivatives (for ``taylor``, of the directions) that kinks may leave uncompared.

    Returns
    -------
    Report

    Raises
    ------
    UsageError
        If an argument is wrong: an input that is not floating-point, an unknown method.
    VerificationError
        If nothing can be compared: two calls differ, an argument is changed, a result is not float64, or a gradient
        is absent or has the wrong shape.

    Notes
    -----
    Two calls of the forward for each derivative (one for the complex step), 20 for each Taylor direction, 2 for each
    array and direction of ``adjoint`` and one of the pair for each of its cotangents, 10 of the pair for ``linear``.

    Examples
    --------
    >>> import numpy as np
    >>> def square_forward(x):
    ...     return x * x, x
    >>> def square_backward(dout, x):
    ...     return 2 * x * dout
    >>> report = check_pair(square_forward, square_backward, {"x": np.arange(3.0)}, rng=np.random.default_rng(0))
    >>> report.ok, report.worst < 1e-9
    (True, True)
    >>> check_pair(square_forward, lambda dout, x: x * dout, {"x": np.ones(2)}, rng=np.random.default_rng(0)).ok
    False
    """
    if method not in REDRAWS:
        raise UsageError(f"method: expected one of {', '.join(REDRAWS)}, got {method!r}")
    name = name or name_of(forward)
    tolerance = TOLERANCE[method] if tolerance is None else tolerance
    point = probe(name, forward, backward, inputs, rng)
    settings = _Settings(method, tolerance, directions, cotangents, each_entry, max_skipped)
    run = {"taylor": _taylor, "adjoint": _adjoint, "linear": _linear}.get(method, _differences)
    report = run(point, settings, rng)
    require_same_at_x(point)
    return report


def name_of(forward: Forward) -> str:
    """Return the name of a forward without its ending, that of the function behind a partial."""
    while isinstance(forward, partial):
        forward = forward.func
    return getattr(forward, "__name__", type(forward).__name__).removesuffix("_forward")


class _Settings(NamedTuple):
    method: str
    tolerance: float
    directions: int
    cotangents: int
    each_entry: int
    max_skipped: float


def _differences(point: Point, settings: _Settings, rng: np.random.Generator) -> Report:
    method = settings.method
    found: list[Derivative] = []
    kinks: list[str] = []
    skipped = 0
    large = [k for k, x in enumerate(point.x) if np.size(x) > settings.each_entry]
    for k, x in enumerate(point.x):
        planned = settings.directions if k in large else np.size(x)
        before = len(found)
        for i in range(planned):
            derivative, dropped = (
                direction_derivative(point, k, method, rng) if k in large else entry_derivative(point, k, i, method)
            )
            skipped += dropped
            found += [] if derivative is None else [derivative]
        kinks += _too_many_kinks(point.names[k], planned, len(found) - before, settings.max_skipped)
    entries = measure(point.names, found, method)
    wrong = {e.name for e in entries if e.error > settings.tolerance}
    # A large array was only found wrong along a direction: name its worst entry.
    single = [worst_entry(point, k, method, rng) for k in large if point.names[k] in wrong]
    entries = measure(point.names, found + [d for d in single if d is not None], method)
    problems = describe_wrong(entries, method, settings.tolerance) + kinks
    return _report(point, settings, entries, math.nan, skipped, problems)


def _adjoint(point: Point, settings: _Settings, rng: np.random.Generator) -> Report:
    views = with_cotangents(point, settings.cotangents, rng)
    found: list[Derivative] = []
    kinks: list[str] = []
    skipped = 0
    for k, x in enumerate(point.x):
        planned = settings.directions if np.size(x) else 0
        trials = [adjoint_derivatives(views, k, rng) for _ in range(planned)]
        skipped += sum(dropped for _, dropped in trials)
        found += [derivative for derivatives, _ in trials for derivative in derivatives]
        compared = sum(1 for derivatives, _ in trials if derivatives)
        kinks += _too_many_kinks(point.names[k], planned, compared, settings.max_skipped)
    entries = measure(point.names, found, "adjoint")
    wrong = {e.name for e in entries if e.error > settings.tolerance}
    single = [d for k, name in enumerate(point.names) if name in wrong for d in worst_of_views(views, k, rng)]
    entries = measure(point.names, found + single, "adjoint")
    problems = describe_wrong(entries, "adjoint", settings.tolerance) + kinks
    return _report(point, settings, entries, math.nan, skipped, problems)


def _linear(point: Point, settings: _Settings, rng: np.random.Generator) -> Report:
    entries = measure(point.names, linear_derivatives(point, rng), "linear")
    problems = describe_wrong(entries, "linear", settings.tolerance) + zero_cotangent(point)
    return _report(point, settings, entries, math.nan, 0, problems)


def _taylor(point: Point, settings: _Settings, rng: np.random.Generator) -> Report:
    trials = [taylor_remainder(point, rng) for _ in range(settings.directions)]
    skipped = sum(dropped for _, dropped in trials)
    remainders = [remainder for remainder, _ in trials if remainder is not None]
    rates = [r.rate for r in remainders if not math.isnan(r.rate)]
    rate = min(rates, default=math.nan)
    problems = _too_many_kinks("all arrays", settings.directions, len(remainders), settings.max_skipped)
    if rates and rate < settings.tolerance:
        problems.insert(0, f"{point.name}: the Taylor remainder falls with rate {rate:.3f}, expected 3")
    if not all(r.error <= ROUNDING for r in remainders if math.isnan(r.rate)):
        problems.insert(0, f"{point.name}: the Taylor remainder does not fall with the step")
    entries = [Entry("all arrays", None, r.analytic, r.numeric, r.error) for r in remainders]
    if problems:
        # The remainder tells that something is wrong; differences, array by array, tell what.
        central = _differences(point, settings._replace(method="central", tolerance=TOLERANCE["central"]), rng)
        entries, problems = list(central.entries) + entries, problems + list(central.problems)
    return _report(point, settings, entries, rate, skipped, problems)


def _report(
    point: Point, settings: _Settings, entries: list[Entry], rate: float, skipped: int, problems: list[str]
) -> Report:
    ordered = tuple(sorted(entries, key=lambda e: -e.error))
    return Report(
        point.name, settings.method, settings.tolerance, ordered, rate, skipped, tuple(problems), tuple(point.notes)
    )


def _too_many_kinks(what: str, planned: int, compared: int, max_skipped: float) -> list[str]:
    if planned - compared <= max_skipped * planned:
        return []
    return [
        f"{what}: {planned - compared} of {planned} derivatives sit at a kink and could not be compared; "
        "move the point (no pre-activation should be exactly 0)"
    ]
