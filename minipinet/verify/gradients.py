"""What a backward returns, sorted by the inputs: a gradient for each array, or a refusal that says what is amiss."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from minipinet._array import Array
from minipinet._tree import named_leaves
from minipinet.errors import UsageError
from minipinet.verify.contract import VerificationError


def gradient_of(name: str, grads: Any, inputs: Mapping[str, Any]) -> tuple[list[Array], list[str]]:
    """Return a gradient for each array of `inputs`, and the names of gradients that belong to none of them.

    Raises
    ------
    VerificationError
        If a gradient is absent, or built another way than its input.

    Examples
    --------
    >>> gradient_of("pair", {"dx": 1.0, "dz": 3.0}, {"x": 2.0})
    ([1.0], ['dz'])
    """
    expected = ", ".join(f"d{key}" for key in inputs)
    fields = _fields(grads)
    if len(inputs) == 1 and (fields is None or f"d{next(iter(inputs))}" not in fields):
        fields = {f"d{key}": grads for key in inputs}  # one argument: its gradient may come bare
    if fields is None:
        raise VerificationError(
            f"{name}: backward returned {_kind(grads)}; expected a dict or NamedTuple with {expected}"
        )
    missing = [f"d{key}" for key in inputs if f"d{key}" not in fields]
    if missing:
        raise VerificationError(f"{name}: backward returned no {', '.join(missing)}; it returned {list(fields)}")
    gradient = []
    for key in sorted(inputs, key=str):
        x_leaves, g_leaves = (list(named_leaves(tree)) for tree in (inputs[key], fields[f"d{key}"]))
        _require_alike(name, key, [path for path, _ in x_leaves], [path for path, _ in g_leaves], fields[f"d{key}"])
        for (path, v), (_, g) in zip(x_leaves, g_leaves, strict=True):
            if v is not None and g is None:
                raise VerificationError(f"{name}: backward returned None for the gradient of {key}{path}")
            if v is not None:
                gradient.append(g)
    return gradient, [str(key) for key in fields if key not in {f"d{x}" for x in inputs} and fields[key] is not None]


def require_arguments(name: str, forward: Callable[..., Any], inputs: Mapping[str, Any]) -> None:
    """Refuse inputs that the forward has no argument for, arguments without an input, and lists in place of arrays.

    Raises
    ------
    UsageError
    """
    taken = arguments_of(forward)
    if taken is not None:
        unknown = [key for key in inputs if key not in taken]
        if unknown:
            raise UsageError(f"inputs: {name} has no argument {', '.join(unknown)}; it takes {', '.join(taken)}")
        absent = [key for key, needed in taken.items() if needed and key not in inputs]
        if absent:
            raise UsageError(
                f"inputs: {name} needs {', '.join(absent)} too: give it, or bind what is not differentiated with "
                "functools.partial"
            )
    for key, value in inputs.items():
        for path in _lists_of_numbers(value, key):
            raise UsageError(f"inputs: {path} is a list of numbers: pass np.array({path})")


def require_known(name: str, forward: Callable[..., Any], unchecked: list[str]) -> None:
    """Refuse gradients of what the forward has no argument for: most often a name that is misspelt."""
    taken = arguments_of(forward, bound=True)
    unknown = [key for key in unchecked if taken is not None and key.removeprefix("d") not in taken]
    if unknown:
        raise VerificationError(
            f"{name}: backward returned {', '.join(unknown)}, but forward has no such argument; it takes "
            f"{', '.join(taken or ())}"
        )


def arguments_of(forward: Callable[..., Any], *, bound: bool = False) -> dict[str, bool] | None:
    """Return the arguments of a function and whether each must be given, or None if any name will do.

    Positional arguments that `functools.partial` has bound are counted only if asked for.

    Examples
    --------
    >>> arguments_of(lambda x, y=0: x)
    {'x': True, 'y': False}
    """
    while bound and isinstance(forward, partial):
        forward = forward.func
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    by_name = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name: p.default is p.empty for p in by_name}


def _fields(grads: Any) -> dict[Any, Any] | None:
    if isinstance(grads, tuple) and hasattr(grads, "_fields"):
        return dict(zip(grads._fields, grads, strict=True))
    return dict(grads) if isinstance(grads, Mapping) else None


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    word = type(value).__name__
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _require_alike(name: str, key: str, x_paths: list[str], g_paths: list[str], value: Any) -> None:
    if len(x_paths) == len(g_paths) and all(map(_same_place, x_paths, g_paths)):
        return
    if next(_lists_of_numbers(value, f"d{key}"), None) == f"d{key}":
        raise VerificationError(f"{name}: d{key} is a list of numbers, expected an array: return np.array({f'd{key}'})")
    shown = [
        "one array" if paths == [""] else ", ".join(paths[:6]) + (", ..." if len(paths) > 6 else "") or "nothing"
        for paths in (g_paths, x_paths)
    ]
    counts = f"({len(g_paths)} in all), expected {shown[1]} ({len(x_paths)} in all)"
    raise VerificationError(f"{name}: d{key} holds {shown[0]} {counts} as {key} does")


def _same_place(x_path: str, g_path: str) -> bool:
    """Tell whether the steps to two leaves agree: by name, by d + name, or by number."""
    x_steps, g_steps = (re.findall(r"\['(.*?)'\]|\.(\w+)|\[(.*?)\]", path) for path in (x_path, g_path))
    pairs = zip(("".join(s) for s in x_steps), ("".join(s) for s in g_steps), strict=False)
    return len(x_steps) == len(g_steps) and all(g in (x, f"d{x}") or g.isdigit() or x.isdigit() for x, g in pairs)


def _lists_of_numbers(tree: Any, path: str) -> Any:
    """Yield the paths of lists that hold numbers only, or lists of numbers."""
    if isinstance(tree, list) and tree and all(isinstance(leaf, int | float) for _, leaf in named_leaves(tree)):
        yield path
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _lists_of_numbers(value, f"{path}[{key!r}]")
    elif isinstance(tree, tuple | list):
        for k, value in enumerate(tree):
            yield from _lists_of_numbers(value, f"{path}[{k}]")
