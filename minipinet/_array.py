"""The only file that knows CuPy: which array library an array belongs to, and the way between host and device."""

from __future__ import annotations

import importlib
import importlib.util
from copy import copy
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from minipinet.errors import UsageError

#: A NumPy array on the CPU or a CuPy array on a GPU; docstrings give shape and dtype.
Array: TypeAlias = Any
#: A CSR matrix of SciPy (``csr_array``) or of CuPy (``cupyx.scipy.sparse.csr_matrix``).
Sparse: TypeAlias = Any


def xp_of(x: Any) -> ModuleType:
    """Return the module (``numpy`` or ``cupy``) whose functions work on `x`, without importing CuPy for NumPy."""
    return importlib.import_module("cupy") if type(x).__module__.partition(".")[0] in ("cupy", "cupyx") else np


def sparse_of(x: Any) -> ModuleType:
    """Return the sparse module (``scipy.sparse`` or ``cupyx.scipy.sparse``) that goes with `x`."""
    return scipy.sparse if xp_of(x) is np else importlib.import_module("cupyx.scipy.sparse")


def with_data(A: Sparse, data: Array) -> Sparse:
    """Return a matrix with the structure of `A` and other values, sharing the index arrays.

    A shallow copy: building a matrix anew checks its indices again, which takes longer than a small product.
    """
    B = copy(A)
    B.data = data
    return B


def card_library() -> ModuleType:
    """Return the array library of a card: CuPy."""
    return importlib.import_module("cupy")


def to_host(x: Array) -> Array:
    """Return a NumPy array: `x` itself, or a copy of what is on the card."""
    return x if xp_of(x) is np else card_library().asnumpy(x)


def numbers_below(name: str, values: Any, count: int) -> Array:
    """Return one row of whole numbers from 0 to `count` - 1, at least one, as int64, a copy.

    Raises
    ------
    UsageError
        For anything else, naming the argument.

    Examples
    --------
    >>> numbers_below("index", range(3), 3)
    array([0, 1, 2])
    """
    try:
        numbers = np.asarray(values)
    except ValueError:  # rows of different lengths
        numbers = np.empty(())
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        raise UsageError(f"{name}: expected at least one whole number, in one row, got {values!r:.80}")
    if numbers.min() < 0 or numbers.max() >= count:
        raise UsageError(f"{name}: expected numbers from 0 to {count - 1}, got {numbers.min()} to {numbers.max()}")
    return numbers.astype(np.int64)


def check_device(device: str) -> str:
    """Return `device` if it can be used here; only ``"cpu"`` can until the CUDA path is built.

    Raises
    ------
    UsageError
        For any other value.
    """
    if device != "cpu":
        raise UsageError(f"device: expected 'cpu', got {device!r} (the CUDA path is not part of this version)")
    return device
