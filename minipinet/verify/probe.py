"""A forward/backward pair at one point, refused by name where comparing its gradient would mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse

from minipinet._array import Array
from minipinet._tree import named_leaves, with_leaves
from minipinet.errors import MinipinetError, UsageError

#: ``forward(**inputs) -> (out, cache)``
Forward: TypeAlias = Callable[..., tuple[Any, Any]]
#: ``backward(dout, cache) -> gradients``
Backward: TypeAlias = Callable[[Any, Any], Any]


class VerificationError(MinipinetError, AssertionError):
    """A gradient is wrong, or a pair cannot be checked at all: the message says which and why."""


class Evaluation(NamedTuple):
    """What one call of the forward gave."""

    out: list[Array]
    masks: list[Array]  #: every boolean array of the cache: on which side of each kink this point lies


class Point(NamedTuple):
    """A pair at one input `x`, and the gradient its backward claims there for the cotangent `dout`."""

    name: str
    call: Callable[[Sequence[Array]], Evaluation]
    pullback: Callable[[Sequence[Array]], list[Array]]  #: from a cotangent to the gradient at `x`
    names: list[str]
    x: list[Array]
    at_x: Evaluation
    dout: list[Array]
    gradient: list[Array]
    notes: list[str]


def probe(
    name: str, forward: Forward, backward: Backward, inputs: Mapping[str, Any], rng: np.random.Generator
) -> Point:
    """Call the pair twice at a float64 copy of `inputs` with one random cotangent.

    Raises
    ------
    UsageError
        If an input is not floating-point.
    VerificationError
        If two calls differ, an argument is changed, a result is not float64, or a gradient is absent or misshapen.
    """
    names, x, notes = _float64_copies(inputs)

    def run(leaves: Sequence[Array]) -> tuple[Any, Any]:
        filled = iter(leaves)
        return forward(**with_leaves(dict(inputs), (v if v is None else next(filled) for _, v in input_leaves(inputs))))

    given = [_copy(v) for v in x]
    # Separate copies: what the backward may spoil in one call's cache is compared with the other's.
    (out, cache), (out_again, cache_again) = run(given), run([_copy(v) for v in x])
    _require_unchanged(f"{name}: forward changed its argument", names, x, given)
    _require_repeatable(name, "forward", {"out": out, "cache": cache}, {"out": out_again, "cache": cache_again})
    at_x = _evaluation(out, cache)
    for path, leaf in named_leaves(out, "out"):
        _require_float64(f"{name}: forward's {path}", leaf)

    dout = [np.float64(1) * rng.standard_normal(np.shape(v)) for v in at_x.out]  # a scalar stays a scalar
    cotangent = with_leaves(out, iter([_copy(v) for v in dout]))
    first, second = backward(cotangent, cache_again), backward(cotangent, cache_again)
    _require_unchanged(f"{name}: backward changed", *_named(cotangent, "dout"), dout)
    _require_unchanged(f"{name}: backward changed", *_named(cache_again, "cache"), _named(cache, "")[1])
    _require_repeatable(name, "backward", {"gradient": first}, {"gradient": second})
    gradient = _gradient(name, names, x, first, inputs)
    unchecked = gradient_of(name, first, inputs)[1]
    if unchecked:
        notes.append(f"not checked: {', '.join(unchecked)}")

    def pullback(w: Sequence[Array]) -> list[Array]:
        # The forward first: the pair may be methods of an object that keeps its cache to itself.
        out, cache = run([_copy(v) for v in x])
        return _gradient(name, names, x, backward(with_leaves(out, iter([_copy(v) for v in w])), cache), inputs)

    return Point(name, lambda leaves: _evaluation(*run(leaves)), pullback, names, x, at_x, dout, gradient, notes)


def _gradient(name: str, names: list[str], x: list[Array], grads: Any, inputs: Mapping[str, Any]) -> list[Array]:
    gradient, _ = gradient_of(name, grads, inputs)
    for path, v, g in zip(names, x, gradient, strict=True):
        _require_float64(f"{name}: the gradient of {path}", g)
        if np.shape(g) != np.shape(v):
            raise VerificationError(
                f"{name}: the gradient of {path} has shape {np.shape(g)}, expected {np.shape(v)} as {path} has"
            )
    return gradient


def require_same_at_x(point: Point) -> None:
    """Call the forward once more and refuse a state that has crept in since the first call."""
    again = point.call(point.x)
    _require_repeatable(point.name, "forward", {"out": point.at_x.out}, {"out": again.out})


def input_leaves(tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, leaf), None too, of every argument in turn, in the order of `gradient_of`."""
    for key in sorted(tree, key=str):
        yield from named_leaves(tree[key], str(key))


def _float64_copies(inputs: Mapping[str, Any]) -> tuple[list[str], list[Array], list[str]]:
    names, x, notes = [], [], []
    for path, leaf in input_leaves(inputs):
        if leaf is None:
            continue
        dtype = np.asarray(leaf).dtype
        if not np.issubdtype(dtype, np.floating):
            raise UsageError(
                f"inputs: expected floating-point numbers in {path}, got {dtype} "
                "(bind what is not differentiated with functools.partial)"
            )
        if dtype != np.float64:
            notes.append(f"{path}: {dtype} input, checked on a float64 copy")
        names.append(path)
        x.append(np.array(leaf, np.float64) if isinstance(leaf, np.ndarray) else np.float64(leaf))
    return names, x, notes


def _evaluation(out: Any, cache: Any) -> Evaluation:
    masks = [v for _, v in named_leaves(cache) if isinstance(v, np.ndarray) and v.dtype == np.bool_]
    return Evaluation([v for _, v in named_leaves(out)], masks)


def gradient_of(name: str, grads: Any, inputs: Mapping[str, Any]) -> tuple[list[Array], list[str]]:
    """Return a gradient for each array of `inputs`, and the names of gradients that belong to none of them."""
    if isinstance(grads, tuple) and hasattr(grads, "_fields"):
        fields = dict(zip(grads._fields, grads, strict=True))
    else:
        fields = dict(grads) if isinstance(grads, Mapping) else {}
    if not any(f"d{key}" in fields for key in inputs) and len(inputs) == 1:
        fields = {f"d{key}": grads for key in inputs}  # one argument: its gradient may come bare
    missing = [f"d{key}" for key in inputs if f"d{key}" not in fields]
    if missing:
        raise VerificationError(f"{name}: backward returned no {', '.join(missing)}; it returned {list(fields)}")
    gradient = []
    for key in sorted(inputs, key=str):
        x_leaves, g_leaves = list(named_leaves(inputs[key], str(key))), list(named_leaves(fields[f"d{key}"]))
        if len(x_leaves) != len(g_leaves):
            raise VerificationError(f"{name}: d{key} holds {len(g_leaves)} arrays, expected {len(x_leaves)}")
        for (path, v), (_, g) in zip(x_leaves, g_leaves, strict=True):
            if v is not None and g is None:
                raise VerificationError(f"{name}: backward returned None for the gradient of {path}")
            if v is not None:
                gradient.append(g)
    return gradient, [key for key in fields if key.removeprefix("d") not in inputs and fields[key] is not None]


def _named(tree: Any, root: str) -> tuple[list[str], list[Any]]:
    leaves = list(named_leaves(tree, root))
    return [path for path, _ in leaves], [leaf for _, leaf in leaves]


def _copy(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) or scipy.sparse.issparse(leaf) else leaf


def _same(a: Any, b: Any) -> bool:
    """Tell whether two leaves hold the same numbers; what is no array and no number is not compared."""
    if scipy.sparse.issparse(a) and scipy.sparse.issparse(b):
        return a.shape == b.shape and _same(a.data, b.data)
    if isinstance(a, np.ndarray | float | int):
        return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc")
    return True


def _require_unchanged(what: str, names: list[str], before: list[Any], after: list[Any]) -> None:
    for path, old, new in zip(names, before, after, strict=True):
        if not _same(old, new):
            raise VerificationError(f"{what} {path}")


def _require_repeatable(name: str, which: str, first: Any, second: Any) -> None:
    for (path, a), (_, b) in zip(input_leaves(first), input_leaves(second), strict=True):
        if not _same(a, b):
            raise VerificationError(
                f"{name}: two calls of the {which} with the same arguments gave different {path}; only a "
                "deterministic function can be checked (pass a dropout mask in, keep no state between calls)"
            )


def _require_float64(what: str, leaf: Any) -> None:
    dtype = np.asarray(leaf).dtype
    if dtype != np.float64:
        raise VerificationError(f"{what} is {dtype} for float64 input, expected float64")
