"""Walking nested tuples, NamedTuples, lists, mappings and dataclasses: their leaves, by name and by place."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


@functools.cache
def _kind(cls: type) -> str:
    """Return what a class of containers is walked as, "" for a leaf; the gradient checker asks it very often."""
    if issubclass(cls, Mapping):
        return "mapping"
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return "fields"
    if issubclass(cls, tuple | list):
        return "items"
    return "dataclass" if dataclasses.is_dataclass(cls) else ""


def children(tree: Any) -> list[tuple[str, Any]] | None:
    """Return (path step, child) for a container, None for a leaf.

    Examples
    --------
    >>> children({"a": 1.0}), children(["x"]), children(2)
    ([("['a']", 1.0)], [('[0]', 'x')], None)
    """
    inside = _inside(tree)
    if inside is None:
        return None
    kind: Any = type(tree)
    match _kind(kind):
        case "mapping":
            steps = [f"[{key!r}]" for key in sorted(tree, key=str)]
        case "fields":
            steps = [f".{field}" for field in tree._fields]
        case "items":
            steps = [f"[{i}]" for i in range(len(tree))]
        case _:
            steps = [f".{f.name}" for f in dataclasses.fields(tree)]
    return list(zip(steps, inside, strict=True))


def _inside(tree: Any) -> Sequence[Any] | None:
    kind: Any = type(tree)
    match _kind(kind):
        case "":
            return None
        case "mapping":
            return [tree[key] for key in sorted(tree, key=str)]
        case "fields" | "items":
            return tree  # type: ignore[no-any-return]
        case _:
            return [getattr(tree, f.name) for f in dataclasses.fields(tree)]


def named_leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, leaf): fields and items in their own order, keys of mappings sorted by their text.

    Parameters
    ----------
    tree : Any
        Tuples, NamedTuples, lists, mappings and dataclasses are entered; anything else is a leaf, None too.
    path : str
        What the paths start with.

    Examples
    --------
    >>> list(named_leaves({"b": None, "a": (1.0, [2.0])}, "x"))
    [("x['a'][0]", 1.0), ("x['a'][1][0]", 2.0), ("x['b']", None)]
    """
    found: list[tuple[str, Any]] = []
    _collect(tree, path, found)
    return iter(found)


def _collect(tree: Any, path: str, found: list[tuple[str, Any]]) -> None:
    inside = children(tree)
    if inside is None:
        found.append((path, tree))
    else:
        for step, child in inside:
            _collect(child, path + step, found)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves in the order of `named_leaves`, whose paths cost more than the rest of a walk.

    Examples
    --------
    >>> leaves({"b": None, "a": (1.0, [2.0])})
    [1.0, 2.0, None]
    """
    found: list[Any] = []
    _gather(tree, found)
    return found


def _gather(tree: Any, found: list[Any]) -> None:
    inside = _inside(tree)
    if inside is None:
        found.append(tree)
    else:
        for child in inside:
            _gather(child, found)


def with_leaves(tree: Any, leaves: Iterator[Any]) -> Any:
    """Return a tree built like `tree` with its leaves taken from `leaves`, in the order of `named_leaves`.

    Examples
    --------
    >>> with_leaves({"b": None, "a": (1.0, [2.0])}, iter("uvw"))
    {'a': ('u', ['v']), 'b': 'w'}
    """
    inside = _inside(tree)
    if inside is None:
        return next(leaves)
    new = [with_leaves(child, leaves) for child in inside]
    kind: Any = type(tree)
    match _kind(kind):
        case "mapping":
            return dict(zip(sorted(tree, key=str), new, strict=True))
        case "fields":
            return tree._make(new)
        case "items":
            return new if isinstance(tree, list) else tuple(new)
        case _:
            return dataclasses.replace(tree, **dict(zip((f.name for f in dataclasses.fields(tree)), new, strict=True)))
