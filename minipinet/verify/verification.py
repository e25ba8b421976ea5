"""Several methods on one pair, because each is blind to something: `verify_pair`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minipinet.errors import UsageError
from minipinet.verify.arguments import DERIVATIVES, require_methods, require_tolerance
from minipinet.verify.check import check_pair, name_of
from minipinet.verify.contract import VerificationError
from minipinet.verify.probe import Backward, Forward
from minipinet.verify.report import Report

#: What `verify_pair` runs. The complex step is left to be asked for: a forward must be able to take complex numbers.
DEFAULT_METHODS = ("linear", "adjoint", "central", "taylor")

#: The methods whose reports say most come first.
TELLING = ("central", "complex", "linear", "adjoint", "taylor")


class Verification(NamedTuple):
    """What `verify_pair` found: one report a method."""

    pair: str
    reports: tuple[Report, ...]

    @property
    def ok(self) -> bool:
        """True when no method found anything wrong."""
        return all(report.ok for report in self.reports)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words, by all methods."""
        return tuple(dict.fromkeys(problem for report in self.reports for problem in report.problems))

    def __str__(self) -> str:
        """Return a table, a line a method, the notes, the failed report that says most, and the others in short."""
        lines = [f"{self.pair}: {'ok' if self.ok else 'FAILED'}", "  method   worst error   allowed  skipped  rate"]
        for r in self.reports:
            rate = "-" if math.isnan(r.rate) else f"{r.rate:.2f}"
            allowed = f"rate {r.tolerance:g}" if r.method == "taylor" else f"{r.tolerance:g}"
            verdict = "ok" if r.ok else "FAILED"
            lines.append(f"  {r.method:7}  {r.worst:11.1e}  {allowed:>8}  {r.skipped:7}  {rate:>4}  {verdict}")
        lines += [f"  {note}" for note in dict.fromkeys(note for r in self.reports if r.ok for note in r.notes)]
        failed = sorted((r for r in self.reports if not r.ok), key=lambda r: TELLING.index(r.method))
        lines += [str(r) for r in failed[:1]]
        for r in failed[1:]:
            more = f" (and {len(r.problems) - 1} more)" if len(r.problems) > 1 else ""
            lines.append(f"{self.pair}: FAILED ({r.method})\n  {r.problems[0]}{more}")
        return "\n".join(lines)

    def raise_if_failed(self) -> None:
        """Raise `VerificationError` with all that was found unless all is well."""
        if not self.ok:
            raise VerificationError(str(self))


def verify_pair(
    forward: Forward,
    backward: Backward,
    inputs: Mapping[str, Any],
    *,
    rng: np.random.Generator,
    methods: Sequence[str] = DEFAULT_METHODS,
    name: str | None = None,
    tolerance: float | None = None,
    **settings: Any,
) -> Verification:
    """Check a pair by several methods, each with cotangents of its own.

    Parameters
    ----------
    forward, backward, inputs, rng, name
        As of `check_pair`.
    methods : sequence of str
        Methods of `check_pair`, at least one.
    tolerance : float, optional
        Largest error of a derivative: of ``central``, ``adjoint`` and ``complex``. ``linear`` and ``taylor`` keep their
        own, since one number does not suit them all.
    **settings
        Further arguments of `check_pair`.

    Returns
    -------
    Verification

    Raises
    ------
    UsageError, VerificationError
        As `check_pair` does.

    Notes
    -----
    The sum of the methods' costs.

    Examples
    --------
    >>> import numpy as np
    >>> def square_forward(x):
    ...     return x * x, x
    >>> def square_backward(dout, x):
    ...     return 2 * x * dout
    >>> verify_pair(square_forward, square_backward, {"x": np.arange(3.0)}, rng=np.random.default_rng(0)).ok
    True
    >>> def clipped(dout, x):  # right for the small cotangents that the other methods drew
    ...     return 2 * x * np.clip(dout, -1, 1)
    >>> found = verify_pair(square_forward, clipped, {"x": np.arange(3.0)}, rng=np.random.default_rng(0))
    >>> [report.method for report in found.reports if not report.ok]
    ['linear']
    """
    require_methods("methods", methods)
    if tolerance is not None:
        require_tolerance("central", tolerance)
        if not set(methods) & set(DERIVATIVES):
            raise UsageError(f"tolerance: it is that of {', '.join(DERIVATIVES)}, and methods has none of them")
    if "method" in settings:
        raise UsageError("method: expected methods, a list, where several run; check_pair runs one")
    reports = [
        check_pair(
            forward,
            backward,
            inputs,
            rng=rng,
            method=method,
            name=name,
            tolerance=tolerance if method in DERIVATIVES else None,
            **settings,
        )
        for method in methods
    ]
    return Verification(name or name_of(forward), tuple(reports))
