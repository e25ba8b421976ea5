"""What a pair must keep to, or comparing its gradient would mean nothing: the refusals, each by name.

Same arguments, same bits; arguments left as they came; float64 in, finite float64 out; no memory shared with what
somebody else will write to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from minipinet._host import refuse_card
from minipinet._tree import named_leaves
from minipinet.errors import MinipinetError, UsageError

#: Leaves of a tree with their names.
Named: TypeAlias = Sequence[tuple[str, Any]]


class VerificationError(MinipinetError, AssertionError):
    """A gradient is wrong, or a pair cannot be checked at all: the message says which and why."""


def copy_leaf(leaf: Any) -> Any:
    """Return a copy of an array or a sparse matrix, and anything else as it is."""
    return leaf.copy() if isinstance(leaf, np.ndarray) or scipy.sparse.issparse(leaf) else leaf


_WITH_BITS = (np.ndarray, np.generic, bool, int, float, complex, str, bytes)


def same_bits(a: Any, b: Any) -> bool:
    """Tell whether two leaves hold the same bits, zeros' signs and NaNs included, in the same shape and dtype.

    What is no array, no number and no text is not compared.

    Examples
    --------
    >>> same_bits(np.array([0.0, np.nan]), np.array([0.0, np.nan])), same_bits(0.0, -0.0), same_bits(1, 1.0)
    (True, False, False)
    """
    if a is None or b is None:
        return a is b
    if not isinstance(a, _WITH_BITS):
        if not scipy.sparse.issparse(a):
            return True
        parts = ("data", "indices", "indptr", "coords", "offsets")
        alike = bool(scipy.sparse.issparse(b)) and (a.format, a.shape) == (b.format, b.shape)
        return alike and all(same_bits(x, y) for part in parts for x, y in _leaf_pairs(a, b, part))
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    # Objects have addresses for bits, and an extended double has padding.
    if a.dtype.hasobject or a.dtype.char in "gG":
        return bool(np.array_equal(a, b, equal_nan=not a.dtype.hasobject))
    return bool(a.tobytes() == b.tobytes())


def _leaf_pairs(a: Any, b: Any, part: str) -> Iterator[tuple[Any, Any]]:
    one, other = (list(named_leaves(getattr(matrix, part, None))) for matrix in (a, b))
    yield from ((x, y) for (_, x), (_, y) in zip(one, other, strict=True))


def require_unchanged(what: str, before: Named, after: Named) -> None:
    """Refuse a function that has changed an argument."""
    for (path, old), (_, new) in zip(before, after, strict=True):
        if not same_bits(old, new):
            raise VerificationError(f"{what} {path}")


def require_repeatable(name: str, which: str, first: Named, second: Named, within: float = 0.0) -> None:
    """Refuse a function of which two calls differ in the form of what they return, or in a bit.

    Above 0, `within` allows for rounding: of floating-point numbers, so much of the largest in their array.
    """
    why = "only a deterministic function can be checked (pass a dropout mask in, keep no state between calls)"
    two = f"{name}: two calls of the {which} with the same arguments gave different"
    if [path for path, _ in first] != [path for path, _ in second]:
        raise VerificationError(f"{two} trees; {why}")
    for (path, a), (_, b) in zip(first, second, strict=True):
        if not (same_bits(a, b) or (within and _near(a, b, within))):
            raise VerificationError(f"{two} {path}; {why}")


def _near(a: Any, b: Any, within: float) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype.kind not in "fc":
        return False
    return bool(np.all(np.abs(a - b) <= within * np.max(np.abs(a), initial=0.0)))


def require_float64(what: str, leaf: Any) -> None:
    """Refuse a result of another dtype: float32 inside a float64 function is lost precision."""
    refuse_card(what, leaf)
    dtype = np.asarray(leaf).dtype
    if dtype != np.float64:
        raise VerificationError(f"{what} is {dtype} for float64 input, expected float64")


def first_not_finite(leaf: Any) -> str | None:
    """Return the place and value of the first entry that is NaN or infinite, such as ``[0, 1] is nan``."""
    bad = np.argwhere(~np.isfinite(leaf))
    if not len(bad):
        return None
    at = tuple(int(j) for j in bad[0])
    return f"{list(at) if at else ''} is {np.asarray(leaf)[at]}"


@contextmanager
def put_back(leaves: Named) -> Iterator[list[str]]:
    """Put the caller's own arrays back as they were however the block ends; yield the names of those that needed it.

    The pair only gets copies, but a layer may hold the caller's array too and write the tried numbers into it.
    """
    kept = [(path, leaf, leaf.copy()) for path, leaf in leaves if isinstance(leaf, np.ndarray)]
    changed: list[str] = []
    try:
        yield changed
    finally:
        for path, leaf, before in kept:
            if not same_bits(leaf, before):
                changed.append(path)
                writeable = leaf.flags.writeable
                leaf.setflags(write=True)
                leaf[...] = before
                leaf.setflags(write=writeable)


def shared_memory(results: Named, others: Named) -> list[str]:
    """Say which results share memory with one of the others, each result once."""
    problems = []
    for path, leaf in results:
        of = next((other for other, b in others if _overlap(leaf, b)), None)
        if of is not None:
            problems.append(
                f"{path} shares memory with {of}: writing to one would change the other; return a copy, or allow it "
                "with allow_shared=True"
            )
    return problems


def reused(results: Named, earlier: Named) -> list[str]:
    """Say which results lie in the memory of an earlier call's."""
    return [
        f"{path} lies in the same buffer at each call: the next call would overwrite it; return a new array, or allow "
        "it with allow_shared=True"
        for (path, leaf), (_, before) in zip(results, earlier, strict=True)
        if _overlap(leaf, before)
    ]


def repeated(results: Named) -> list[str]:
    """Say which results keep several entries in one place."""
    return [
        f"{path} repeats its own memory, as numpy.broadcast_to does: writing to one entry would change others; return "
        "a copy, or allow it with allow_shared=True"
        for path, leaf in results
        if isinstance(leaf, np.ndarray) and repeats(leaf)
    ]


def shared_among(leaves: Named) -> list[tuple[str, str]]:
    """Return the pairs of leaves that share memory; a leaf that repeats its own is paired with itself."""
    found = [(path, path) for path, leaf in leaves if isinstance(leaf, np.ndarray) and repeats(leaf)]
    for k, (path, leaf) in enumerate(leaves):
        found += [(earlier, path) for earlier, other in leaves[:k] if _overlap(leaf, other)]
    return found


def _overlap(a: Any, b: Any) -> bool:
    return any(np.shares_memory(x, y) for x in _buffers(a) for y in _buffers(b))


def _buffers(leaf: Any) -> list[Any]:
    if scipy.sparse.issparse(leaf):
        leaf = getattr(leaf, "data", None)
    return [leaf] if isinstance(leaf, np.ndarray) else []


def repeats(leaf: Any) -> bool:
    """Tell whether several entries of an array have one place."""
    low, high = np.lib.array_utils.byte_bounds(leaf)
    return leaf.size > 0 and bool(high - low < leaf.nbytes)


def require_floating(path: str, leaf: Any) -> None:
    """Refuse an input that is not made of finite real numbers in floating point."""
    dtype = np.asarray(leaf).dtype
    if np.issubdtype(dtype, np.complexfloating):
        raise UsageError(
            f"inputs: expected floating-point numbers in {path}, got {dtype} (take its real and its imaginary part for "
            "two inputs)"
        )
    if not np.issubdtype(dtype, np.floating):
        raise UsageError(
            f"inputs: expected floating-point numbers in {path}, got {dtype} "
            "(bind what is not differentiated with functools.partial, or make it float)"
        )
    bad = first_not_finite(leaf)
    if bad:
        raise UsageError(f"inputs: expected finite numbers, but {path}{bad}")
