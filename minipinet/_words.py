"""Words for messages and tables: numbers with their nouns, rounded, with their spread; values in a list."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

_SHOWN = 10  # values that a message names


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "node"), counted(0, "node"), counted(2, "class", "classes")
    ('1 node', '0 nodes', '2 classes')
    """
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def type_name(value: Any) -> str:
    """Return the type of a value with its module, as several libraries call a type by one name.

    Examples
    --------
    >>> import networkx as nx
    >>> type_name(nx.Graph()), type_name(3)
    ('networkx.classes.graph.Graph', 'int')
    """
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def have(n: int) -> str:
    """Return the verb for `n` things.

    Examples
    --------
    >>> have(1), have(2)
    ('has', 'have')
    """
    return "has" if n == 1 else "have"


def listed(values: Iterable[Any]) -> str:
    """Return values as Python writes them, the first ten and then "...".

    Examples
    --------
    >>> listed(["C", 1]), listed(range(12))
    ("'C', 1", '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...')
    """
    texts = list(map(repr, values))
    return ", ".join([*texts[:_SHOWN], *(["..."] if len(texts) > _SHOWN else [])])


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a question for the name that was probably meant, if one is like it; dashes in front do not count.

    Examples
    --------
    >>> nearest("--sed", ["--seed", "--l2"]), nearest("x", ["--seed"])
    ('; did you mean --seed?', '')
    """
    bare = {name.lstrip("-"): name for name in known}
    word = word.lstrip("-")
    near = [name for name in bare if name.startswith(word)] or difflib.get_close_matches(word, bare, n=1)
    return f"; did you mean {bare[near[0]]}?" if near else ""


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` decimals, and "-" for one that is missing (None or NaN).

    Examples
    --------
    >>> number(0.66489), number(None), number(float("nan"))
    ('0.665', '-', '-')
    """
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def spread(mean: float | None, sd: float | None, digits: int = 3) -> str:
    """Return "mean ± sd", or the mean alone where there is no spread to state.

    Examples
    --------
    >>> spread(0.861, 0.0722), spread(0.5, None)
    ('0.861 ± 0.072', '0.500')
    """
    return number(mean, digits) if sd is None or math.isnan(sd) else f"{number(mean, digits)} ± {number(sd, digits)}"
