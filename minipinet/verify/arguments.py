"""The settings of a check: what would switch it off, or cannot be meant, is refused by name before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minipinet._host import refuse_card
from minipinet.errors import UsageError

#: Methods of `check_pair`.
METHODS = ("central", "complex", "taylor", "adjoint", "linear")
#: Those whose ``tolerance`` is a largest error of a derivative; that of ``taylor`` is the smallest rate.
DERIVATIVES = ("central", "complex", "adjoint")


class Settings(NamedTuple):
    """Arguments of `check_pair`."""

    method: str
    tolerance: float
    directions: int
    cotangents: int
    each_entry: int
    max_skipped: float
    repeats_within: float = 0.0


def require_settings(settings: Settings) -> None:
    """Refuse settings under which a check could see nothing.

    Raises
    ------
    UsageError

    Examples
    --------
    >>> require_settings(Settings("central", 1e-6, 0, 3, 400, 0.5))
    Traceback (most recent call last):
        ...
    minipinet.errors.UsageError: directions: expected a whole number of at least 1, got 0
    """
    require_methods("method", [settings.method])
    require_tolerance(settings.method, settings.tolerance)
    for name, least in (("directions", 1), ("cotangents", 1), ("each_entry", 0)):
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise UsageError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    if not (_is_real(settings.max_skipped) and 0 <= settings.max_skipped < 1):
        raise UsageError(f"max_skipped: expected a share of at least 0 and below 1, got {settings.max_skipped!r}")
    if not (_is_real(settings.repeats_within) and 0 <= settings.repeats_within < 1):
        raise UsageError(
            f"repeats_within: expected a number of at least 0 and below 1, got {settings.repeats_within!r}"
        )


def require_tolerance(method: str, tolerance: Any) -> None:
    """Refuse a tolerance that lets everything through, or nothing."""
    low, high, what = (2, 3, "smallest rate") if method == "taylor" else (0, 1, "largest relative error")
    if not (_is_real(tolerance) and low < tolerance < high):
        raise UsageError(
            f"tolerance: expected a number between {low} and {high}, the {what} of {method!r}, got {tolerance!r}"
        )


def require_methods(argument: str, methods: Any) -> None:
    """Refuse anything but names of methods, at least one."""
    listed = isinstance(methods, Sequence) and not isinstance(methods, str) and len(methods) > 0
    unknown = [method for method in methods if method not in METHODS] if listed else [methods]
    if unknown:
        several = "one of" if argument == "method" else "a list of at least one of"
        raise UsageError(f"{argument}: expected {several} {', '.join(METHODS)}, got {unknown[0]!r}")


def require_pair(inputs: Any, rng: Any, **functions: Any) -> None:
    """Refuse inputs, a generator or functions of another kind.

    Raises
    ------
    UsageError
    """
    for name, function in functions.items():
        if not callable(function):
            raise UsageError(f"{name}: expected a function, got {_kind(function)}")
    refuse_card("inputs", inputs)
    if not isinstance(inputs, Mapping) or not all(isinstance(key, str) for key in inputs):
        raise UsageError(
            f'inputs: expected a dict from names of arguments to arrays, such as {{"x": x}}, got {_kind(inputs)}'
        )
    if not isinstance(rng, np.random.Generator):
        raise UsageError(f"rng: expected a generator, such as numpy.random.default_rng(0), got {_kind(rng)}")


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value)


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} ({value!r:.40})"
