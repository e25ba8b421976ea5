"""The compiler of the loops in this folder: Numba, an extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(function: Loop) -> Loop:
    """Compile a function at its first call, for each kind of arguments, and keep it on disk."""
    # NaN and infinity keep their meaning: a training that diverges has to show it.
    freedom = {"reassoc", "contract", "nsz"}
    jit: Callable[[Loop], Loop] = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=freedom)
    return jit(function)
