"""What the figures show, as numbers: the same estimates as in the tables, and the paths of p and q."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.errors import DataError
from minipinet.experiments import message_passing
from minipinet.experiments.plan import PTC, QUICK_FOLDS
from minipinet.experiments.protocols import FOLDS
from minipinet.experiments.records import Row
from minipinet.params import LAYERS
from minipinet.results.fold_results import FoldResults, estimate_of, majority
from minipinet.results.fold_tables import accuracy_table
from minipinet.results.naming import QUICK_MARK
from minipinet.results.published import Published, published
from minipinet.results.table import Estimate, Key, Result, Table, in_order, title_of
from minipinet.settings import LEARNED

#: Data sets as in the paper, and then the parts of PTC.
_ORDER = ("MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC", *PTC)
#: p and q before the first step.
_START = 0.5


class Group(NamedTuple):
    """The accuracies on one data set."""

    dataset: str
    ours: dict[str, Estimate]  #: by model; the spread is that over folds
    published: dict[str, Published]
    majority: float | None  #: what a constant answer reaches
    manual: float | None  #: mean of the four fixed matrices, None unless each has all its folds


class Curves(NamedTuple):
    """Accuracies in the isomorphism test with one kind of node features, by training graphs of a class or by steps."""

    features: str
    ours: dict[str, dict[int, Estimate]]  #: the spread is that over trials
    published: dict[str, dict[int, float]]  #: of random labels alone, which is what the authors had
    unfinished: str  #: how much is there, empty when all is


class Paths(NamedTuple):
    """What p and q of one model did on one data set, in every training."""

    key: Key
    model: str
    dataset: str
    paths: list[Array]  #: (epochs + 1, 4, 2) for each training, p and q by layer in the order of `LAYERS`
    rows: int
    of: int  #: rows that there are when the experiment is finished


def fold_groups(folds: FoldResults, *, parts: bool) -> list[Group]:
    """Return the accuracies of an experiment with folds, data set by data set.

    Parameters
    ----------
    folds : FoldResults
    parts : bool
        Whether the parts of PTC stand beside their mean, where there is one.
    """
    hidden = PTC if "PTC" in folds.datasets and not parts else ()
    datasets = in_order(set(folds.datasets).difference(hidden), _ORDER)
    return [_group(folds, dataset) for dataset in datasets]


def _group(folds: FoldResults, dataset: str) -> Group:
    ours = {model: found for model in folds.models if (found := estimate_of(folds, model, dataset))}
    theirs = {model: printed for model in folds.models if (printed := published(model, dataset))}
    four = [ours[model] for model in message_passing.MODELS[1:] if model in ours]
    whole = len(four) == 4 and all(found.n >= found.of for found in four)
    mean = sum(found.mean for found in four) / 4 if whole else None
    return Group(dataset, ours, theirs, majority(folds, dataset), mean)


def fold_caption(folds: FoldResults, groups: Sequence[Group]) -> str:
    """Return how many rows are behind the groups, and whether more are to come."""
    shown = {group.dataset for group in groups}
    weights = {"PTC": 4 if shown.isdisjoint(PTC) else 0}
    rows = sum(found.n * weights.get(group.dataset, 1) for group in groups for found in group.ours.values())
    return "; ".join([title_of(folds.key, f"{rows} rows"), *_unfinished(accuracy_table(folds))])


def curves_of(table: Table) -> Curves:
    """Return the curves that a table of the isomorphism test has the points of.

    Parameters
    ----------
    table : Table
        From :func:`minipinet.results.isomorphism_tables.size_table` or ``steps_table``.
    """
    ours: dict[str, dict[int, Estimate]] = {column.title: {} for column in table.columns}
    theirs: dict[str, dict[int, float]] = {column.title: {} for column in table.columns}
    for labels, values in table.lines:
        for column, value in zip(table.columns, values, strict=True):
            if isinstance(value, Estimate):
                ours[column.title][int(labels[0])] = value
            elif isinstance(value, float):
                theirs[column.title][int(labels[0])] = value
    return Curves(table.key.features, ours, theirs, "; ".join(_unfinished(table)))


def curves_caption(key: Key, panels: Sequence[Curves]) -> str:
    """Return how many rows are behind the curves, and where more are to come."""
    rows = sum(found.n for panel in panels for curve in panel.ours.values() for found in curve.values())
    title = title_of(key._replace(features="labels"), f"{rows} rows")
    return "; ".join([title, *(f"{panel.features}, {panel.unfinished}" for panel in panels if panel.unfinished)])


def _unfinished(table: Table) -> list[str]:
    return [note for note in table.notes if note.startswith("unfinished")]


def all_paths(groups: Iterable[tuple[Key, Sequence[Result]]]) -> list[Paths]:
    """Return the paths of p and q of every model that learns them, on every data set.

    Rows of ``comparison`` and ``message-passing`` are the same trainings: a split counts once.

    Parameters
    ----------
    groups : iterable of (Key, sequence of Result)
        Of experiments with folds.
    """
    found: dict[tuple[Key, str, str], dict[tuple[int, int], Row]] = {}
    for key, results in groups:
        for name, row in results:
            place = (key._replace(experiment="paths"), row.cell.dataset, name.model)
            if row.cell.system == "pinet" and row.settings.get("pq") == LEARNED and _histories(row):
                found.setdefault(place, {}).setdefault((row.cell.repeat, row.cell.fold), row)
    return [_paths(*place, found[place]) for place in sorted(found)]


def _paths(key: Key, dataset: str, model: str, rows: dict[tuple[int, int], Row]) -> Paths:
    paths = [path for place in sorted(rows) for path in _paths_in(rows[place])]
    folds = QUICK_FOLDS if QUICK_MARK in model else FOLDS
    return Paths(key, model, dataset, paths, len(rows), folds * (1 + max(repeat for repeat, _ in rows)))


def _paths_in(row: Row) -> list[Array]:
    try:
        return [path_of(history) for history in _histories(row)]
    except DataError as error:
        raise DataError(f"{row.cell.key}: details: {error}") from error


def path_of(history: dict[str, Any]) -> Array:
    """Return p and q before training and after each epoch of a history, (epochs + 1, 4, 2).

    Raises
    ------
    DataError
        For a history that is none.

    Examples
    --------
    >>> path_of({"epoch": [1], "p": [[0.6, 0.5, 0.5, 0.5]], "q": [[0.4, 0.5, 0.5, 0.5]]})[:, 0].tolist()
    [[0.5, 0.5], [0.6, 0.4]]
    """
    try:
        both = [np.asarray(history[name], np.float64).reshape(-1, len(LAYERS)) for name in ("p", "q")]
        return np.concatenate([np.full((1, len(LAYERS), 2), _START), np.stack(both, axis=2)])
    except (KeyError, TypeError, ValueError, OverflowError) as error:  # somebody edited it
        raise DataError(f"history: expected p and q of four layers for each epoch, got {error}") from error


def _histories(row: Row) -> list[dict[str, Any]]:
    """Return the history of each training of a row that has p and q: three in protocol fair, else one."""
    trainings = row.details.get("trainings", [row.details])
    return [training["history"] for training in trainings if {"p", "q"} <= training.get("history", {}).keys()]
