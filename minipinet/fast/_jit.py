"""The compiler of the loops in this folder: Numba, an extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(function: Loop) -> Loop:
    """Compile a function at its first call, for each kind of arguments, and keep it on disk.

    A product and a sum may be rounded once (`contract`); every sum is taken as it is written.
    """
    return _compiled(function, {"contract"})


def summing(function: Loop) -> Loop:
    """Compile a function whose sums along a row may be taken in the order that suits the processor, always the same.

    Not for differences that are meant as they stand: x - x - log1p(r) may come out as x - (x + log1p(r)).
    """
    return _compiled(function, {"contract", "reassoc"})


def _compiled(function: Loop, freedom: set[str]) -> Loop:
    # NaN and infinity keep their meaning: a training that diverges has to show it.
    options = {"nogil": True, "error_model": "numpy", "fastmath": freedom}
    try:
        return _jit(function, cache=True, **options)
    except RuntimeError:  # there is no folder that the compiled loop could be kept in
        return _jit(function, **options)


def _jit(function: Loop, **options: Any) -> Loop:
    compiled: Loop = numba.njit(**options)(function)
    return compiled
