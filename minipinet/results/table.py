"""What a table is: a plain record, with all digits of its numbers; :mod:`minipinet.cli.formats` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from minipinet.experiments.records import Row
from minipinet.results.naming import Name, name_row


class Key(NamedTuple):
    """What is never mixed in one table."""

    experiment: str
    protocol: str
    features: str
    shuffled: int


class Estimate(NamedTuple):
    """A mean, and how much of it is there."""

    mean: float
    sd: float | None  #: None: one value alone, or not known
    n: int  #: values that it is the mean of
    of: int  #: values that there are when the experiment is finished
    best: bool = False  #: to be marked


class Count(NamedTuple):
    """How many of how many."""

    n: int
    of: int


Value: TypeAlias = str | bool | int | float | Estimate | Count | None


class Column(NamedTuple):
    """What a column holds."""

    title: str
    quantity: str = ""  #: what its numbers are, where the title is something that they are of
    across: str = ""  #: what the title is a name of: "data set" or "model"
    digits: int = 3  #: to be shown; the values have all
    signed: bool = False  #: differences


class Line(NamedTuple):
    """A row of a table."""

    labels: tuple[str, ...]
    values: list[Value]


class Table(NamedTuple):
    """One table."""

    key: Key
    name: str  #: the same in every experiment for tables of one form, such as "accuracy"
    title: str
    labels: tuple[str, ...]  #: titles of the first columns, which say what a line is of
    columns: list[Column]
    lines: list[Line]
    notes: list[str]


class Result(NamedTuple):
    """A row and its name."""

    name: Name
    row: Row


def by_key(rows: Iterable[Row]) -> dict[Key, list[Result]]:
    """Return the rows with their names, those together that may stand in one table."""
    groups: dict[Key, list[Result]] = {}
    for row in rows:
        key = Key(row.cell.experiment, row.cell.protocol, row.cell.features, row.cell.shuffled)
        groups.setdefault(key, []).append(Result(name_row(row), row))
    return groups


def title_of(key: Key, what: str) -> str:
    """Return the title of a table.

    Examples
    --------
    >>> title_of(Key("comparison", "paper", "degrees", 1), "accuracy")
    'comparison, protocol paper, features degrees, nodes shuffled: accuracy'
    """
    features = [] if key.features == "labels" else [f"features {key.features}"]
    shuffled = ["nodes shuffled"] if key.shuffled else []
    return f"{', '.join([key.experiment, f'protocol {key.protocol}', *features, *shuffled])}: {what}"


def in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """Return each name once: those of `first` in its order, and then the others, sorted.

    Examples
    --------
    >>> in_order(["b", "wl", "pinet", "a", "b"], ["pinet", "gcn-sum", "wl"])
    ['pinet', 'wl', 'a', 'b']
    """
    found = set(names)
    return [name for name in first if name in found] + sorted(found.difference(first))


def state_notes(results: Sequence[Result], counts: Iterable[Count]) -> list[str]:
    """Return what a reader must know of the rows: that some are missing, or not made alike."""
    there = [sum(column) for column in zip(*counts, strict=True)]
    notes = [f"unfinished: {there[0]} of {there[1]} cells are there"] if there and there[0] < there[1] else []
    sources = {result.row.versions.get("source") for result in results}
    if len(sources) > 1:
        notes.append(f"the rows were made by {len(sources)} versions of the program")
    return notes + [f"{dataset}: the rows are of different data under this name" for dataset in mixed_data(results)]


def mixed_data(results: Sequence[Result]) -> list[str]:
    """Return the data sets whose rows are not all of the same data: nothing is paired there, whatever the numbers.

    Data that are drawn anew for each repeat or trial may differ between these, and not within one.
    """
    digests: dict[tuple[str, int], set[str]] = {}
    for _, row in results:
        drawn = row.cell.shuffled or row.cell.experiment == "isomorphism"
        digests.setdefault((row.cell.dataset, row.cell.repeat if drawn else 0), set()).add(row.digest)
    return sorted({dataset for (dataset, _), found in digests.items() if len(found) > 1})
