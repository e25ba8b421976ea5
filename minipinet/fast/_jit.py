"""The compiler of the loops in this folder: Numba, an extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(function: Loop) -> Loop:
    """Compile a function at its first call, for each kind of arguments, and keep it on disk."""
    # NaN and infinity keep their meaning: a training that diverges has to show it.
    freedom = {"reassoc", "contract", "nsz"}
    options = {"nogil": True, "error_model": "numpy", "fastmath": freedom}
    try:
        return _jit(function, cache=True, **options)
    except RuntimeError:  # there is no folder that the compiled loop could be kept in
        return _jit(function, **options)


def _jit(function: Loop, **options: Any) -> Loop:
    compiled: Loop = numba.njit(**options)(function)
    return compiled
