"""The methods of `check_pair`: what each compares at a probed point, and what it makes of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from minipinet.verify.arguments import Settings
from minipinet.verify.cotangent import adjoint_derivatives, linear_derivatives, with_cotangents, zero_cotangent
from minipinet.verify.derivatives import Derivative, direction_derivative, entry_derivative, worst_entry
from minipinet.verify.kinks import KinkSearch
from minipinet.verify.measure import TOLERANCE, describe_wrong, hidden, measure, scales
from minipinet.verify.probe import Point
from minipinet.verify.report import Entry
from minipinet.verify.taylor import ROUNDING, taylor_remainder


class Findings(NamedTuple):
    """What a method found."""

    entries: Sequence[Entry]
    problems: list[str]
    skipped: int = 0
    rate: float = math.nan
    notes: Sequence[str] = ()


class Trial(NamedTuple):
    """A derivative of array `leaf` to compare, or one for each of several cotangents."""

    leaf: int
    compares: int
    #: With a share of the array's entries: the derivatives with their points, none at a kink; and steps dropped there.
    draw: Callable[[float], tuple[list[tuple[Point, Derivative]], int]]
    along: bool  #: whether along a random direction, which can be drawn again


def differences(point: Point, settings: Settings, rng: np.random.Generator) -> Findings:
    """Every entry of small arrays and random directions of large ones, by central differences or the complex step."""

    def entry(k: int, i: int, _: float) -> tuple[list[tuple[Point, Derivative]], int]:
        derivative, dropped = entry_derivative(point, k, i, settings.method)
        return [] if derivative is None else [(point, derivative)], dropped

    def direction(k: int, share: float) -> tuple[list[tuple[Point, Derivative]], int]:
        derivative, dropped = direction_derivative(point, k, settings.method, rng, share)
        return [] if derivative is None else [(point, derivative)], dropped

    trials = []
    for k, x in enumerate(point.x):
        if np.size(x) > settings.each_entry:
            trials += [Trial(k, 1, partial(direction, k), True)] * settings.directions
        else:
            trials += [Trial(k, 1, partial(entry, k, i), False) for i in range(np.size(x))]
    return _compare(point, trials, settings, rng)


def adjoint(point: Point, settings: Settings, rng: np.random.Generator) -> Findings:
    """Random directions of every array against several cotangents."""
    views = with_cotangents(point, settings.cotangents, rng)

    def direction(k: int, share: float) -> tuple[list[tuple[Point, Derivative]], int]:
        derivatives, dropped = adjoint_derivatives(views, k, rng, share)
        return list(zip(views, derivatives, strict=False)), dropped

    trials = [
        Trial(k, len(views), partial(direction, k), True)
        for k, x in enumerate(point.x)
        for _ in range(settings.directions if np.size(x) else 0)
    ]
    return _compare(point, trials, settings, rng)


def linear(point: Point, settings: Settings, rng: np.random.Generator) -> Findings:
    """Linearity in the cotangent, and zero for zero."""
    entries = measure(point.names, linear_derivatives(point, rng), "linear", settings.tolerance)
    return Findings(entries, describe_wrong(entries, "linear", settings.tolerance) + zero_cotangent(point))


def taylor(point: Point, settings: Settings, rng: np.random.Generator) -> Findings:
    """The rate at which the remainder falls; where it does not, differences tell what is wrong."""
    trials = [taylor_remainder(point, rng) for _ in range(settings.directions)]
    skipped = sum(dropped for _, dropped in trials)
    remainders = [remainder for remainder, _ in trials if remainder is not None]
    rates = [r.rate for r in remainders if not math.isnan(r.rate)]
    rate = min(rates, default=math.nan)
    kinks = _too_many_kinks("all arrays", settings.directions, len(remainders), settings.max_skipped)
    problems = []
    if not all(r.error <= ROUNDING for r in remainders if math.isnan(r.rate)):
        problems.append(f"{point.name}: the Taylor remainder does not fall with the step")
    if rates and rate < settings.tolerance:
        problems.append(f"{point.name}: the Taylor remainder falls with rate {rate:.3f}, expected 3")
    entries = [Entry("all arrays", None, r.analytic, r.numeric, r.error) for r in remainders]
    if not problems + kinks:
        return Findings(entries, [], skipped, rate)
    # The remainder tells that something is wrong; differences, array by array, tell what.
    central = differences(point, settings._replace(method="central", tolerance=TOLERANCE["central"]), rng)
    agree = not any(e.error > TOLERANCE["central"] for e in central.entries)
    if problems and not point.at_x.masks and agree:
        # Kinks, which differences told from a wrong gradient; there may be too many of them.
        what = problems[0].removeprefix(f"{point.name}: ")
        note = f"{what}, but differences agree wherever they can be taken: a kink inside the steps"
        return Findings(entries, kinks + central.problems, skipped + central.skipped, rate, [note])
    return Findings([*central.entries, *entries], problems + kinks + central.problems, skipped, rate)


RUN = {"central": differences, "complex": differences, "taylor": taylor, "adjoint": adjoint, "linear": linear}


def _compare(point: Point, trials: Sequence[Trial], settings: Settings, rng: np.random.Generator) -> Findings:
    """Compare, set aside what lies at a kink, and name the worst entry of a large array that is wrong."""
    method, tolerance = settings.method, settings.tolerance
    found: list[tuple[Point, Derivative]] = []
    skipped, share, rounds = 0, 1.0, 0
    search = KinkSearch(rng)
    pending = trials
    while pending:
        drawn = [trial.draw(share) for trial in pending]
        skipped += sum(dropped for _, dropped in drawn)
        if method != "complex":
            allowed = iter(
                scales([d for _, d in found + [f for fresh, _ in drawn for f in fresh]], method, tolerance)[
                    len(found) :
                ]
            )
            drawn = [(search.kept([(p, d, tolerance * next(allowed)) for p, d in fresh]), 0) for fresh, _ in drawn]
        found += [f for fresh, _ in drawn for f in fresh]
        # A direction at a kink is drawn again, the second time in half as many entries: most of them may lie at none.
        rounds += 1
        share = 0.5 ** (rounds // 2)
        again = zip(pending, drawn, strict=True)
        pending = [t for t, (fresh, _) in again if t.along and not fresh and share * np.size(point.x[t.leaf]) >= 0.5]
    derivatives = [d for _, d in found]
    planned: Counter[int] = Counter()
    for trial in trials:
        planned[trial.leaf] += trial.compares
    compared = Counter(d.leaf for d in derivatives)
    kinks = [
        problem
        for k, name in enumerate(point.names)
        for problem in _too_many_kinks(name, planned[k], compared[k], settings.max_skipped)
    ]
    entries = measure(point.names, derivatives, method, tolerance)
    wrong = {e.name for e in entries if e.error > tolerance and e.at is None}
    for k, name in enumerate(point.names):
        if name in wrong:
            # Only found wrong along a direction: look for the entry, with the cotangent that showed most.
            at, _ = max(((p, d) for p, d in found if d.leaf == k), key=lambda f: _apart(f[1]))
            single = worst_entry(at, k, "complex" if method == "complex" else "central", rng)
            derivatives += [] if single is None else [single]
    entries = measure(point.names, derivatives, method, tolerance)
    wrong_ones = describe_wrong(entries, method, tolerance)
    notes = [] if wrong_ones else hidden(point.names, derivatives, method, tolerance)
    return Findings(entries, wrong_ones + kinks, skipped + search.skipped, notes=notes)


def _apart(d: Derivative) -> float:
    difference = abs(d.analytic - d.numeric)
    return math.inf if math.isnan(difference) else difference


def _too_many_kinks(what: str, planned: int, compared: int, max_skipped: float) -> list[str]:
    if planned - compared <= max_skipped * planned:
        return []
    return [
        f"{what}: {planned - compared} of {planned} derivatives sit at a kink and could not be compared; "
        "move the point (no pre-activation should be exactly 0)"
    ]
