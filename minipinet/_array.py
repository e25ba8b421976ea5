"""The only file that knows CuPy: which array library an array belongs to, and the way between host and device."""

from __future__ import annotations

import importlib
import importlib.util
from copy import copy
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from minipinet.errors import UsageError, notify

#: A NumPy array on the CPU or a CuPy array on a GPU; docstrings give shape and dtype.
Array: TypeAlias = Any
#: A CSR matrix of SciPy (``csr_array``) or of CuPy (``cupyx.scipy.sparse.csr_matrix``).
Sparse: TypeAlias = Any


def xp_of(x: Any) -> ModuleType:
    """Return the module (``numpy`` or ``cupy``) whose functions work on `x`, without importing CuPy for NumPy."""
    return card_library() if type(x).__module__.partition(".")[0] in ("cupy", "cupyx") else np


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


#: What `device` may be.
DEVICES = ("cpu", "cuda", "auto")


def check_device(device: str) -> str:
    """Return ``"cpu"`` or ``"cuda"``, whichever `device` comes to here.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}
        ``"auto"`` is ``"cuda"`` where that can be used, else ``"cpu"`` with a :class:`~minipinet.errors.Notice`.

    Raises
    ------
    UsageError
        For any other value, and for ``"cuda"`` where it cannot be used: in one sentence, why.
    """
    if device not in DEVICES:
        raise UsageError(f"device: expected {', '.join(map(repr, DEVICES))}, got {device!r:.80}")
    if device == "cpu":
        return device
    problem = card_problem()
    if problem is None:
        return "cuda"
    if device == "cuda":
        raise UsageError(f"device: 'cuda' cannot be used here: {problem}")
    notify(f"device: 'auto' comes to 'cpu': {problem}")
    return "cpu"


def card_problem() -> str | None:
    """Return why no card can be computed on here, None if one can: CuPy, a driver, a card, and a sum that is right.

    That CuPy is installed says nothing of a driver, and a driver nothing of a card.
    """
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed: pip install 'minipinet[cuda12]' or 'minipinet[cuda13]', as your driver's CUDA is"
    try:
        library = card_library()
        if not library.cuda.runtime.getDeviceCount():
            return "there is no NVIDIA card"
        total = int(library.arange(4).sum())
    except Exception as error:  # whatever a broken installation raises
        return f"CuPy finds no card that works ({type(error).__name__}: {' '.join(str(error).split()):.200})"
    return None if total == 6 else f"the card adds 0, 1, 2 and 3 up to {total}"
