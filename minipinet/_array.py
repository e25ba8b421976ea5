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
