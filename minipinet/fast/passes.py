"""Passes over tables: what the pairs of `minipinet.fast` do between two dense products, in NumPy or compiled by Numba.

A pass reads each row of its tables once where NumPy would take a call, and a table between, for every operation. Both
modules have the same functions; `numba_passes` serves where Numba is installed (the extra `numba`), `numpy_passes`
elsewhere, and for whatever Numba does not know (complex steps).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from types import ModuleType

import numpy as np

from minipinet._array import Array
from minipinet.errors import notify
from minipinet.fast import numpy_passes


@functools.cache
def compiled_passes() -> ModuleType | None:
    """Return the compiled passes, or None without Numba or with ``MINIPINET_NUMBA=0`` in the environment.

    A Numba that cannot be imported is passed over, with a notice. It compiles a pass at its first call, half a second
    for each, and keeps it on disk.
    """
    if os.environ.get("MINIPINET_NUMBA") == "0" or importlib.util.find_spec("numba") is None:
        return None
    try:
        compiled = importlib.import_module("minipinet.fast.numba_passes")
        compiled.gate(np.zeros(1, np.float32))  # compile one now: a full disk would end a training in its first step
        return compiled
    except Exception as error:  # whatever an installation that does not fit (another NumPy's, say) comes to
        notify(f"Numba is installed and cannot be used, so training is slower than it could be: {error}")
        return None


def compiled_for(*arrays: Array) -> ModuleType | None:
    """Return the compiled passes if arrays like these can be given to them: NumPy's, floats of one dtype."""
    kinds = {x.dtype.char if type(x) is np.ndarray else "" for x in arrays}
    return compiled_passes() if kinds in ({"f"}, {"d"}) else None


def passes_of(*arrays: Array) -> ModuleType:
    """Return the module of passes for arrays like these.

    Examples
    --------
    >>> passes_of(np.zeros(1), np.zeros(1, complex)).__name__
    'minipinet.fast.numpy_passes'
    """
    return compiled_for(*arrays) or numpy_passes
