"""A forward/backward pair at one point, refused by name where comparing its gradient would mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from minipinet._array import Array
from minipinet._host import refuse_card
from minipinet._tree import leaves, named_leaves, with_leaves
from minipinet.errors import UsageError
from minipinet.verify import contract
from minipinet.verify.contract import VerificationError as VerificationError
from minipinet.verify.contract import copy_leaf
from minipinet.verify.gradients import gradient_of as gradient_of
from minipinet.verify.gradients import require_arguments, require_known

#: ``forward(**inputs) -> (out, cache)``
Forward: TypeAlias = Callable[..., tuple[Any, Any]]
#: ``backward(dout, cache) -> gradients``
Backward: TypeAlias = Callable[[Any, Any], Any]


class Evaluation(NamedTuple):
    """What one call of the forward gave."""

    out: list[Array]
    masks: list[Array]  #: every boolean array of the cache: on which side of each kink this point lies


class Point(NamedTuple):
    """A pair at one input `x`, and the gradient its backward claims there for the cotangent `dout`."""

    name: str
    call: Callable[[Sequence[Array]], Evaluation]  #: the forward at any input
    pullback: Callable[[Sequence[Array], Sequence[Array]], list[Array]]  #: the gradient at an input for a cotangent
    names: list[str]
    x: list[Array]
    at_x: Evaluation
    dout: list[Array]
    gradient: list[Array]
    notes: list[str]
    problems: list[str]  #: memory that is shared


class _Called(NamedTuple):
    """One call of the forward: the copies it was given, and what it returned."""

    given: list[Array]
    out: Any
    cache: Any


class _Pair(NamedTuple):
    """A pair and the tree of its inputs: calls that hand out copies, and look whether they come back as they were."""

    name: str
    forward: Forward
    backward: Backward
    inputs: Mapping[str, Any]
    names: list[str]

    def run(self, x: Sequence[Array]) -> _Called:
        given = [copy_leaf(v) for v in x]
        filled = iter(given)
        filling = (v if v is None else next(filled) for v in leaves(self.inputs))
        result = self.forward(**with_leaves(dict(self.inputs), filling))
        if not isinstance(result, tuple) or len(result) != 2:
            raise VerificationError(f"{self.name}: forward returned {type(result).__name__}, expected (out, cache)")
        what = f"{self.name}: forward changed its argument"
        contract.require_unchanged(what, *(list(zip(self.names, v, strict=True)) for v in (x, given)))
        return _Called(given, *result)

    def cotangent(self, called: _Called, dout: Sequence[Array]) -> Any:
        return with_leaves(called.out, iter([copy_leaf(v) for v in dout]))

    def back(self, cotangent: Any, cache: Any) -> Any:
        before = [(path, copy_leaf(leaf)) for path, leaf in _named(dout=cotangent, cache=cache)]
        grads = self.backward(cotangent, cache)
        contract.require_unchanged(f"{self.name}: backward changed", before, _named(dout=cotangent, cache=cache))
        return grads

    def evaluate(self, x: Sequence[Array]) -> Evaluation:
        return _evaluation(self.run(x))

    def pullback(self, x: Sequence[Array], dout: Sequence[Array]) -> list[Array]:
        # The forward anew: a pair may be two methods of an object that keeps the cache to itself.
        called = self.run(x)
        return self.gradient(x, self.back(self.cotangent(called, dout), called.cache))

    def named_gradient(self, gradient: Sequence[Array]) -> contract.Named:
        return [(f"gradient of {path}", g) for path, g in zip(self.names, gradient, strict=True)]

    def gradient(self, x: Sequence[Array], grads: Any) -> list[Array]:
        gradient = [copy_leaf(g) for g in gradient_of(self.name, grads, self.inputs)[0]]
        for path, v, g in zip(self.names, x, gradient, strict=True):
            contract.require_float64(f"{self.name}: the gradient of {path}", g)
            if np.shape(g) != np.shape(v):
                raise VerificationError(
                    f"{self.name}: the gradient of {path} has shape {np.shape(g)}, expected {np.shape(v)} as {path} has"
                )
        return gradient


def probe(
    name: str,
    forward: Forward,
    backward: Backward,
    inputs: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    allow_shared: bool = False,
    fixed: Any = None,
    within: float = 0.0,
) -> Point:
    """Call the pair twice at a float64 copy of `inputs` with one cotangent, random unless it is fixed.

    Raises
    ------
    UsageError
        If an input is not made of finite floating-point numbers.
    VerificationError
        If two calls differ in a bit (or by more than `within`), an argument is changed, a result is not float64, the
        output is not finite, or a gradient is absent or misshapen.
    """
    require_arguments(name, forward, inputs)
    names, x, notes = _float64_copies(inputs)
    pair = _Pair(name, forward, backward, inputs, names)

    first = pair.run(x)
    kept = [(path, copy_leaf(leaf)) for path, leaf in _named(out=first.out, cache=first.cache)]
    again = pair.run(x)
    contract.require_repeatable(name, "forward", kept, _named(out=again.out, cache=again.cache), within)
    for path, leaf in named_leaves(again.out, "out"):
        contract.require_float64(f"{name}: forward's {path}", leaf)
        bad = contract.first_not_finite(leaf)
        if bad:
            raise VerificationError(f"{name}: forward returns {bad.split()[-1]} at the point: {path}{bad}")
    at_x = _evaluation(again)

    dout = draw_like(at_x.out, rng) if fixed is None else _like(again.out, fixed)
    cotangent = pair.cotangent(again, dout)
    grads = pair.back(cotangent, again.cache)
    gradient = pair.gradient(x, grads)
    problems = [] if allow_shared else _shared(pair, again, cotangent, grads)
    anew = pair.back(cotangent, again.cache)
    if not allow_shared and not problems:
        outs, gradients = ([_named(out=c.out) for c in (again, first)], [_of_inputs(pair, g) for g in (grads, anew)])
        problems += contract.reused(*outs) + contract.reused(*gradients) + contract.repeated(gradients[0])
    problems = [*_not_finite(pair.names, gradient), *problems]
    second = pair.gradient(x, anew)
    once, twice = pair.named_gradient(gradient), pair.named_gradient(second)
    contract.require_repeatable(name, "backward", once, twice, within)
    unchecked = gradient_of(name, grads, inputs)[1]
    require_known(name, forward, unchecked)
    if unchecked:
        notes.append(f"not checked: {', '.join(unchecked)}")
    return Point(name, pair.evaluate, pair.pullback, names, x, at_x, dout, gradient, notes, problems)


def _not_finite(names: Sequence[str], gradient: Sequence[Array]) -> list[str]:
    bad = ((path, contract.first_not_finite(g)) for path, g in zip(names, gradient, strict=True))
    return [f"the gradient of {path} {_value_at(where)}" for path, where in bad if where]


def _value_at(where: str) -> str:
    """Turn ``[0, 1] is nan`` into ``is nan at [0, 1]``."""
    at, _, value = where.partition(" is ")
    return f"is {value} at {at}" if at else f"is {value}"


def require_same_at_x(point: Point, calls: int = 1, within: float = 0.0) -> None:
    """Call the pair again and refuse a state that has crept in since, or random draws that show now and then."""
    for _ in range(calls):
        again = [(f"out of array {k}", v) for k, v in enumerate(point.call(point.x).out)]
        first = [(path, v) for (path, _), v in zip(again, point.at_x.out, strict=True)]
        contract.require_repeatable(point.name, "forward", first, again, within)
    both = point.gradient, point.pullback(point.x, point.dout)
    once, twice = ([(f"gradient of {path}", g) for path, g in zip(point.names, v, strict=True)] for v in both)
    contract.require_repeatable(point.name, "backward", once, twice, within)


def draw_like(out: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    """Draw a cotangent of normal numbers."""
    return [np.float64(1) * rng.standard_normal(np.shape(v)) for v in out]  # a scalar stays a scalar


def _like(out: Any, fixed: Any) -> list[Array]:
    refuse_card("cotangent", fixed)
    try:
        leaves = [np.asarray(w, np.float64)[()] for _, w in named_leaves(fixed)]
    except (TypeError, ValueError):
        raise UsageError(f"cotangent: expected numbers, got {fixed!r:.80}") from None
    shapes = [np.shape(v) for _, v in named_leaves(out)]
    if [np.shape(w) for w in leaves] != shapes:
        raise UsageError(
            f"cotangent: expected shapes {shapes} as the forward's out has, got {[w.shape for w in leaves]}"
        )
    if not all(np.all(np.isfinite(w)) for w in leaves) or not any(np.any(w != 0) for w in leaves):
        raise UsageError("cotangent: expected finite numbers, not all zero: zeros see no gradient at all")
    return leaves


def input_leaves(tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, leaf), None too, of every argument in turn, in the order of `gradient_of`."""
    for key in sorted(tree, key=str):
        yield from named_leaves(tree[key], str(key))


def _named(**trees: Any) -> list[tuple[str, Any]]:
    return [leaf for root, tree in trees.items() for leaf in named_leaves(tree, root)]


def _float64_copies(inputs: Mapping[str, Any]) -> tuple[list[str], list[Array], list[str]]:
    leaves = [(path, leaf) for path, leaf in input_leaves(inputs) if leaf is not None]
    if not leaves:
        raise UsageError("inputs: expected at least one array or number to differentiate by, got none")
    x, notes = [], []
    for path, leaf in leaves:
        contract.require_floating(path, leaf)
        dtype = np.asarray(leaf).dtype
        if dtype != np.float64:
            notes.append(f"{path}: {dtype} input, checked on a float64 copy")
        x.append(np.array(leaf, np.float64) if isinstance(leaf, np.ndarray) else np.float64(leaf))
    for one, other in contract.shared_among(leaves):
        alike = f"{one} repeats its memory" if one == other else f"{one} and {other} share memory"
        notes.append(f"{alike}: {'each entry' if one == other else 'each'} is checked as if it stood by itself")
    return [path for path, _ in leaves], x, notes


def _evaluation(called: _Called) -> Evaluation:
    masks = [v.copy() for v in leaves(called.cache) if isinstance(v, np.ndarray) and v.dtype == np.bool_]
    # Copies: the forward may write every output into one buffer.
    return Evaluation([copy_leaf(v) for v in leaves(called.out)], masks)


def _shared(pair: _Pair, called: _Called, cotangent: Any, grads: Any) -> list[str]:
    given = list(zip(pair.names, called.given, strict=True))
    gradient = _of_inputs(pair, grads)
    others = [*_named(dout=cotangent), *given, *_named(cache=called.cache)]
    problems = contract.shared_memory(_named(out=called.out), given)
    for k, g in enumerate(gradient):
        problems += contract.shared_memory([g], [*others, *gradient[:k]])
    return problems


def _of_inputs(pair: _Pair, grads: Any) -> list[tuple[str, Any]]:
    return [(f"d{k}", g) for k, g in zip(pair.names, gradient_of(pair.name, grads, pair.inputs)[0], strict=True)]
