"""Walking nested tuples, NamedTuples, lists, mappings and dataclasses: their leaves, by name and by place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any


def children(tree: Any) -> list[tuple[str, Any]] | None:
    """Return (path step, child) for a container, None for a leaf.

    Examples
    --------
    >>> children({"a": 1.0}), children(["x"]), children(2)
    ([("['a']", 1.0)], [('[0]', 'x')], None)
    """
    if isinstance(tree, Mapping):
        return [(f"[{key!r}]", tree[key]) for key in sorted(tree, key=str)]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(f".{field}", child) for field, child in zip(tree._fields, tree, strict=True)]
    if isinstance(tree, tuple | list):
        return [(f"[{i}]", child) for i, child in enumerate(tree)]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [(f".{f.name}", getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    return None


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
    inside = children(tree)
    if inside is None:
        yield path, tree
    else:
        for step, child in inside:
            yield from named_leaves(child, path + step)


def with_leaves(tree: Any, leaves: Iterator[Any]) -> Any:
    """Return a tree built like `tree` with its leaves taken from `leaves`, in the order of `named_leaves`.

    Examples
    --------
    >>> with_leaves({"b": None, "a": (1.0, [2.0])}, iter("uvw"))
    {'a': ('u', ['v']), 'b': 'w'}
    """
    if isinstance(tree, Mapping):
        return {key: with_leaves(tree[key], leaves) for key in sorted(tree, key=str)}
    inside = children(tree)
    if inside is None:
        return next(leaves)
    new = [with_leaves(child, leaves) for _, child in inside]
    if isinstance(tree, list):
        return new
    if isinstance(tree, tuple):
        return tree._make(new) if hasattr(tree, "_make") else tuple(new)
    names = [f.name for f in dataclasses.fields(tree)]
    return dataclasses.replace(tree, **dict(zip(names, new, strict=True)))
