"""Accuracies as somebody hands them over, a list of folds for each repeat, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from minipinet._host import refuse_card
from minipinet.errors import UsageError
from minipinet.settings import real

#: Accuracies in [0, 1], a list of folds for each repeat; None stands for a fold that is not there (yet).
Accuracies: TypeAlias = Sequence[Sequence[float | None]]


def read_accuracies(name: str, table: Any) -> list[list[float | None]]:
    """Return repeats by folds, checked: numbers from 0 to 1, and one at least; else a UsageError by name and place.

    Examples
    --------
    >>> read_accuracies("a", [[0.5, None], []])
    [[0.5, None], []]
    >>> read_accuracies("a", [[0.5], [86.2]])
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: a[1][0]: expected a finite number from 0 to 1, got 86.2
    """
    repeats = [
        [
            None if value is None else read_part(f"{name}[{r}][{k}]", value)
            for k, value in enumerate(read_items(name, row))
        ]
        for r, row in enumerate(read_items(name, table))
    ]
    if not flat(repeats):
        raise UsageError(f"{name}: expected at least one accuracy, got {table!r:.80}")
    return repeats


def read_items(name: str, values: Any, what: str = "a list of accuracies for each repeat") -> list[Any]:
    """Return what a sequence holds; a UsageError says what was expected."""
    refuse_card(name, values)
    try:
        return list(values)
    except TypeError:
        raise UsageError(f"{name}: expected {what}, got {values!r:.80}") from None


def read_part(name: str, value: Any) -> float:
    """Return a number from 0 to 1, or raise a UsageError."""
    return real(name, value, lambda x: 0 <= x <= 1, "from 0 to 1")


def flat(repeats: Accuracies) -> list[float]:
    """Return the accuracies that are there.

    Examples
    --------
    >>> flat([[0.5, None], [], [1.0]])
    [0.5, 1.0]
    """
    return [value for repeat in repeats for value in repeat if value is not None]
