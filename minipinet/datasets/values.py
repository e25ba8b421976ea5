"""Labels of any kind, of nodes or of graphs, as one array whose values can be sorted and compared."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet.errors import UsageError


def as_values(labels: Any, name: str) -> NDArray[Any]:
    """Return labels as an array of booleans, int64, float64 or strings; numbers that are equal are one label.

    Parameters
    ----------
    labels : array_like
        Booleans, finite numbers or strings; numbers and strings do not go together.
    name : str
        What to call the argument in messages.

    Returns
    -------
    ndarray
        Of the same shape; float64 only where a number is not whole.

    Raises
    ------
    UsageError
        If a label is missing (None, NaN), or they are of more than one kind.

    Examples
    --------
    >>> as_values([1, 1.0, True], "labels")
    array([1, 1, 1])
    >>> as_values(["C", "O"], "labels")
    array(['C', 'O'], dtype='<U1')
    """
    array = as_array(labels)
    if array.dtype.kind == "O":
        types = set(map(type, array.flat))
        if all(issubclass(kind, str) for kind in types):
            array = array.astype(np.str_)
        elif all(issubclass(kind, Real | np.bool_) for kind in types):
            array = np.array(array.tolist()) if types <= {bool, int} else array.astype(np.float64)
        else:
            names = ", ".join(sorted(kind.__name__ for kind in types))
            raise UsageError(f"{name}: expected numbers or strings, one kind only, got {names}")
    if array.dtype.kind in "bU":
        return array
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise UsageError(f"{name}: expected finite numbers or strings, got {_first_odd(array)}")
    whole = bool((array == np.rint(array)).all())
    return array.astype(np.int64 if whole else np.float64)


def as_array(labels: Any) -> NDArray[Any]:
    """Return labels as an array of any dtype, each of them what it was: a number among strings stays a number.

    Examples
    --------
    >>> as_array([["C", 1]])
    array([['C', 1]], dtype=object)
    """
    return labels if isinstance(labels, np.ndarray) else np.asarray(labels, dtype=object)


def _first_odd(array: NDArray[Any]) -> str:
    if array.dtype.kind != "f":
        return f"dtype {array.dtype}"
    return f"{array[~np.isfinite(array)][0]}"
