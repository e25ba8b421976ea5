"""Labels of any kind, of nodes or of graphs, as one array whose values can be sorted and compared."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet._host import host_array
from minipinet.errors import UsageError

#: Numbers from -2^63 on and below 2^63 can be labels: those of int64.
_BOUND = 2**63


def as_values(labels: Any, name: str) -> NDArray[Any]:
    """Return labels as an array of booleans, int64, float64 or strings; numbers that are equal are one label.

    No two different labels become equal: what the array cannot hold exactly is refused.

    Parameters
    ----------
    labels : array_like
        Booleans, numbers from -2^63 to 2^63 - 1 or strings; numbers and strings do not go together.
    name : str
        What to call the argument in messages.

    Returns
    -------
    ndarray
        Of the same shape; float64 only where a number is not whole.

    Raises
    ------
    UsageError
        If a label is missing (None, NaN, masked) or cannot be held exactly, or they are of more than one kind.

    Examples
    --------
    >>> as_values([1, 1.0, True], "labels")
    array([1, 1, 1])
    >>> as_values(["C", "O"], "labels")
    array(['C', 'O'], dtype='<U1')
    """
    array = as_array(labels, name)
    if array.dtype.kind in "bU":
        return array
    if array.dtype.kind in "iu" or np.can_cast(array.dtype, np.float64):
        array = array.astype(np.float64) if array.dtype.kind == "f" else array
        outside = array[~((array >= -_BOUND) & (array < _BOUND))]  # NaN too
        if outside.size:
            raise _outside(outside[0], name)
        whole = array.dtype.kind != "f" or bool((array == np.rint(array)).all())
        return array.astype(np.int64 if whole else np.float64)
    if array.dtype.kind not in "fO":
        raise UsageError(f"{name}: expected numbers or strings, got dtype {array.dtype}")
    return _exactly(array, name)


def as_array(labels: Any, name: str) -> NDArray[Any]:
    """Return labels as an array of any dtype, each of them what it was: a number among strings stays a number.

    Raises
    ------
    UsageError
        If a label is masked.

    Examples
    --------
    >>> as_array([["C", 1]], "labels")
    array([['C', 1]], dtype=object)
    """
    parts = labels if isinstance(labels, list | tuple) else [labels]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise UsageError(f"{name}: expected labels without masked entries")
    return host_array(name, labels, "labels", None if isinstance(labels, np.ndarray) else object)


def _exactly(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return labels one by one as Python values, which compare exactly, in an array that holds each of them."""
    values = [item.item() if isinstance(item, np.generic) else item for item in array.flat]
    types = set(map(type, values))
    if all(issubclass(kind, str) for kind in types):
        for value in values:
            if value.endswith("\0"):
                raise UsageError(f"{name}: expected strings that do not end in a NUL character, got {value!r:.80}")
        return np.array(values, dtype=np.str_).reshape(array.shape)
    if not all(issubclass(kind, Real) for kind in types):
        names = ", ".join(sorted(kind.__name__ for kind in types))
        raise UsageError(f"{name}: expected numbers or strings, one kind only, got {names}")
    if types == {bool}:
        return np.array(values).reshape(array.shape)
    for value in values:
        if not -_BOUND <= value < _BOUND:
            raise _outside(value, name)
    whole = all(value == int(value) for value in values)
    held = [int(value) if whole else float(value) for value in values]
    for value, as_held in zip(values, held, strict=True):
        if value != as_held:
            raise UsageError(f"{name}: expected numbers that float64 holds exactly, got {value!r:.80}")
    return np.array(held, dtype=np.int64 if whole else np.float64).reshape(array.shape)


def _outside(value: Any, name: str) -> UsageError:
    expected = "numbers from -2^63 to 2^63 - 1" if -math.inf < value < math.inf else "finite numbers or strings"
    return UsageError(f"{name}: expected {expected}, got {value}")
