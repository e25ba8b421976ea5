"""What comes in at the doors of the package: NumPy's arrays, and one sentence for those that lie on a card.

Whatever takes arrays from outside has them from here: by `host_array` where it makes one of what it was given, by
`refuse_card` where it keeps what it was given as it is.
"""

from __future__ import annotations

import functools
from collections import UserList, deque
from collections.abc import Mapping, ValuesView
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minipinet._array import ON_CARD, Array, library_of
from minipinet._tree import children
from minipinet.errors import UsageError

#: What an array on a card may be within: what `children` enters, and what a list is made of for it.
_LISTED = (deque, UserList, ValuesView)
_CONTAINERS = (list, tuple, Mapping, slice, np.ndarray, *_LISTED)


class _Slice(NamedTuple):
    start: Any
    stop: Any
    step: Any


def refuse_card(name: str, value: Any) -> None:
    """Raise a UsageError if `value`, or something in it where it is a container, is an array or matrix on a card.

    For the doors of the package, where data are NumPy's: ``device`` says where they go from there.

    Parameters
    ----------
    name : str
        What the caller calls it; the message also says where in it.
    value : Any
        Lists, tuples, NamedTuples, mappings, slices, queues and NumPy's arrays of objects are entered, however deep.

    Notes
    -----
    A list of numbers costs one look at the types that are in it.

    Examples
    --------
    >>> refuse_card("X", [np.ones(1), None])
    """
    waiting: list[tuple[str, Any]] = [(name, value)]
    met: dict[int, Any] = {}
    for place, held in waiting:  # grows on the way
        kind: Any = type(held)
        library = _on_card(kind)
        if library is not None:
            what, way = ON_CARD[library]
            raise UsageError(
                f"{place}: expected data on the host, got {what} on a card, which is not taken; {way} brings it over"
            )
        if not isinstance(held, _CONTAINERS) or id(held) in met:
            continue
        met[id(held)] = held  # a list may hold itself
        held = _opened(held)
        if any(map(_may_be_there, set(map(type, held.values() if isinstance(held, Mapping) else held)))):
            waiting += [(place + step, child) for step, child in children(held) or () if _may_be_there(type(child))]


def _opened(held: Any) -> Any:
    """Return a container as `children` enters it."""
    if isinstance(held, np.ndarray):
        return list(held.flat) if held.dtype == object else ()
    if isinstance(held, slice):
        return _Slice(held.start, held.stop, held.step)
    return list(held) if isinstance(held, _LISTED) else held


@functools.cache
def _on_card(kind: Any) -> str | None:
    """Return the library of a card that a class, or one that it is derived from, is of."""
    return next((library for library in map(library_of, kind.__mro__) if library in ON_CARD), None)


def _may_be_there(kind: Any) -> bool:
    return issubclass(kind, _CONTAINERS) or _on_card(kind) is not None


def host_array(name: str, value: Any, expected: str = "an array", dtype: Any = None) -> NDArray[Any]:
    """Return ``numpy.asarray(value, dtype)``; what cannot be one is refused by name.

    Raises
    ------
    UsageError
        For an array on a card, and for what NumPy makes no array of.

    Examples
    --------
    >>> host_array("y", [1, 2])
    array([1, 2])
    """
    refuse_card(name, value)
    try:
        return np.asarray(value, dtype)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{name}: expected {expected}, got {type(value).__name__} ({error})") from error


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
    expected = "at least one whole number, in one row"
    numbers = host_array(name, values, expected)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        raise UsageError(f"{name}: expected {expected}, got {values!r:.80}")
    if numbers.min() < 0 or numbers.max() >= count:
        raise UsageError(f"{name}: expected numbers from 0 to {count - 1}, got {numbers.min()} to {numbers.max()}")
    return numbers.astype(np.int64)
