"""One pair against numerical derivatives: `check_pair`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from minipinet.verify.arguments import Settings, require_methods, require_pair, require_settings
from minipinet.verify.contract import put_back
from minipinet.verify.measure import TOLERANCE
from minipinet.verify.methods import RUN, Findings
from minipinet.verify.probe import Backward, Forward, Point, input_leaves, probe, require_same_at_x
from minipinet.verify.report import Report

#: How often a forward that something seems wrong with is called again, to see whether it always returns the same.
AGAIN = 20


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
    repeats_within: float = 0.0,
    allow_shared: bool = False,
    cotangent: Any = None,
) -> Report:
    """Compare the gradient of ``backward`` with numerical derivatives of ``forward``.

    Parameters
    ----------
    forward : callable
        ``forward(**inputs) -> (out, cache)``; `out` and `cache` are arrays or trees of arrays. A boolean array in the
        cache is taken for a mask: a step at whose end it differs has crossed a kink, is dropped and drawn again. Kinks
        without masks are found where they matter, see `minipinet.verify.kinks`.
    backward : callable
        ``backward(dout, cache)`` returns a NamedTuple or mapping with a field ``d`` + name for each input, or, for a
        single input, its gradient alone.
    inputs : mapping from argument name to array, number, None, or a tree of them
        Everything to differentiate; bind the rest with `functools.partial`. Copied to float64; whatever
        happens, the caller's own arrays end as they were.
    rng : numpy.random.Generator
        For the cotangent and the directions.
    method : {"central", "complex", "taylor", "adjoint", "linear"}
    name : str, optional
        For the report; by default the forward's name.
    tolerance : float, optional
        Largest error allowed, between 0 and 1; for ``taylor`` the smallest rate, between 2 and 3. Default `TOLERANCE`.
    directions : int, at least 1
        Random directions for each large array, for each array of any size for ``adjoint``, or in all for ``taylor``.
    cotangents : int, at least 1
        Random cotangents for ``adjoint``.
    each_entry : int, at least 0
        Arrays of at most this many entries are compared entry by entry.
    max_skipped : float in [0, 1)
        Largest share of an array's derivatives (for ``taylor``, of the directions) that kinks may leave uncompared.
    repeats_within : float in [0, 1)
        How far apart two calls with the same arguments may be, relative to the largest number of an array; 0, the
        default, asks for the same bits. A card that adds up in an order of its own needs about 1e-12.
    allow_shared : bool
        Whether a gradient may share memory with the cotangent, an input, the cache or another gradient, and an output
        with an input, as those of an identity do; otherwise that is a problem.
    cotangent : float or tree of arrays like `out`, optional
        Fixed instead of random, for ``central``, ``complex`` and ``taylor``. One number suits an `out` of one number,
        whose cotangents differ by a factor only; of arrays most fixed ones are blind to something, and one of
        zeros, which sees nothing, is refused.

    Returns
    -------
    Report

    Raises
    ------
    UsageError
        If an argument is wrong: an input that is not floating-point or not finite, an unknown method, a setting under
        which nothing would be compared.
    VerificationError
        If nothing can be compared: two calls differ, an argument is changed, a result is not float64, the
        output is not finite, or a gradient is absent or has the wrong shape.

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
    require_methods("method", [method])
    tolerance = TOLERANCE[method] if tolerance is None else tolerance
    settings = Settings(method, tolerance, directions, cotangents, each_entry, max_skipped, repeats_within)
    require_settings(settings)
    require_pair(inputs, rng, forward=forward, backward=backward)
    name = name or name_of(forward)
    with put_back(list(input_leaves(inputs))) as changed:
        point = probe(
            name, forward, backward, inputs, rng, allow_shared=allow_shared, fixed=cotangent, within=repeats_within
        )
        with np.errstate(all="ignore"):  # a step may leave the forward's domain; what comes of that is looked at
            report = compare(point, settings, rng)
    wrote = [f"{path}: the pair wrote into the caller's own array, which was put back as it was" for path in changed]
    return replace(report, notes=(*report.notes, *wrote))


def compare(point: Point, settings: Settings, rng: np.random.Generator) -> Report:
    """Run one method at a point that was probed, if its gradient is made of numbers."""
    if not all(np.all(np.isfinite(g)) for g in point.gradient):
        problems, notes = tuple(point.problems), tuple(point.notes)
        return Report(point.name, settings.method, settings.tolerance, (), math.nan, 0, problems, notes)
    found = RUN[settings.method](point, settings, rng)
    # What failed or was excused may be noise: a dropout that seldom strikes looks like a wrong gradient or a kink.
    strange = found.problems or found.skipped or (settings.method == "taylor" and found.notes)
    require_same_at_x(point, calls=AGAIN if strange else 1, within=settings.repeats_within)
    return Report(
        point.name,
        settings.method,
        settings.tolerance,
        tuple(sorted(found.entries, key=lambda e: -e.error)),
        found.rate,
        found.skipped,
        (*found.problems, *point.problems),
        (*point.notes, *found.notes, *_uncompared(point, found)),
    )


def _uncompared(point: Point, found: Findings) -> list[str]:
    """Say what an "ok" would not be about."""
    if found.problems:
        return []
    if not sum(map(np.size, point.x)):
        return ["nothing was compared: no array has an entry"]
    return [
        f"{name} has no entries: nothing was compared"
        for name, v in zip(point.names, point.x, strict=True)
        if not np.size(v)
    ]


def name_of(forward: Forward) -> str:
    """Return the name of a forward without its ending, that of the function behind a partial."""
    while isinstance(forward, partial):
        forward = forward.func
    return getattr(forward, "__name__", type(forward).__name__).removesuffix("_forward")
