"""Walking nested tuples, NamedTuples, lists, mappings and dataclasses: their leaves, by name and by place."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
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
    kind: Any = type(tree)
    match _kind(kind):
        case "":
            return None
        case "mapping":
            return [(f"[{key!r}]", tree[key]) for key in sorted(tree, key=str)]
        case "fields":
            return [(f".{field}", child) for field, child in zip(tree._fields, tree, strict=True)]
        case "items":
            return [(f"[{i}]", child) for i, child in enumerate(tree)]
        case _:
            return [(f".{f.name}", getattr(tree, f.name)) for f in dataclasses.fields(tree)]


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


def with_leaves(tree: Any, leaves: Iterator[Any]) -> Any:
    """Return a tree built like `tree` with its leaves taken from `leaves`, in the order of `named_leaves`.

    Examples
    --------
    >>> with_leaves({"b": None, "a": (1.0, [2.0])}, iter("uvw"))
    {'a': ('u', ['v']), 'b': 'w'}
    """
    inside = children(tree)
    if inside is None:
        return next(leaves)
    new = [with_leaves(child, leaves) for _, child in inside]
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
