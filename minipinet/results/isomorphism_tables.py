"""Tables of the isomorphism test, for one kind of node features: accuracy by training size and by training steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from minipinet.experiments import isomorphism
from minipinet.experiments.plan import MODELS
from minipinet.experiments.records import Row
from minipinet.results.naming import QUICK_MARK
from minipinet.results.published import ISOMORPHISM
from minipinet.results.statistics import summarise
from minipinet.results.table import (
    Column,
    Count,
    Estimate,
    Key,
    Line,
    Result,
    Table,
    Value,
    in_order,
    state_notes,
    title_of,
)  # fmt: skip

#: Accuracies by model and by size or steps, then by trial.
Found: TypeAlias = dict[tuple[str, int], dict[int, float]]

_QUICK_TRIALS = 2
_CHANCE = "mean ± standard deviation over trials; chance is 0.2; where no count is given, every trial is there"
_PUBLISHED = "published: of the authors' random labels; their PiNet has fixed p and q"


def isomorphism_tables(key: Key, results: Sequence[Result]) -> list[Table]:
    """Return accuracy by training size, by training steps where there is more than one number of them, and seconds."""
    tables = [size_table(key, results), steps_table(key, results), seconds_table(key, results)]
    return [table for table in tables if table.lines]


def size_table(key: Key, results: Sequence[Result]) -> Table:
    """Return training sizes by models; each model at the epochs that it has by itself."""
    found = _collect((name.model, row.cell.size, row) for name, row in results if not name.other_epochs)
    models, full = _models(results)
    sizes = sorted({size for _, size in found}.union(isomorphism.SIZES if full else ()))
    lines = []
    for size in sizes:
        lines.append(Line((str(size), "ours"), [_estimate(found, model, size) for model in models]))
        theirs = [ISOMORPHISM.get(model, {}).get(size) for model in models]
        if any(value is not None for value in theirs):
            lines.append(Line((str(size), "published"), list(theirs)))
    asked = {(model, size) for model in isomorphism.MODELS if full for size in isomorphism.SIZES} | found.keys()
    notes = [*_state(results, found, asked), _CHANCE, *([_PUBLISHED] if full else [])]
    what = "accuracy by training graphs of each class"
    return Table(key, "sizes", title_of(key, what), ("size", "source"), _columns(models), lines, notes)


def steps_table(key: Key, results: Sequence[Result]) -> Table:
    """Return training steps at one graph of each class by models; no lines where all have their own number."""
    models, full = _models(results)
    planned = full and key.features == "constant"
    own = [model for model in isomorphism.MODELS if MODELS[model][0] in isomorphism.NETWORKS] if planned else []
    stepped = {result.name.model for result in results if result.name.other_epochs}.union(own)
    at_one = [result for result in results if result.name.model in stepped and result.row.cell.size == 1]
    found = _collect((result.name.model, _steps(result.row), result.row) for result in at_one)
    models = [model for model in models if model in stepped]
    steps = sorted({step for _, step in found}.union(isomorphism.STEPS if planned else ()))
    lines = [Line((str(step),), [_estimate(found, model, step) for model in models]) for step in steps]
    asked = {(model, step) for model in own for step in steps} | found.keys()
    notes = [*_state(at_one, found, asked), _CHANCE]
    what = "accuracy by training steps, one training graph of each class"
    return Table(key, "steps", title_of(key, what), ("steps",), _columns(models), lines, notes)


def seconds_table(key: Key, results: Sequence[Result]) -> Table:
    """Return the wall time of each model, all sizes and numbers of steps together."""
    times: dict[str, list[float]] = {}
    for name, row in results:
        times.setdefault(name.model, []).append(row.seconds)
    lines = [
        Line((model,), [len(times[model]), sum(times[model]) / len(times[model]), sum(times[model])])
        for model in _models(results)[0]
        if model in times
    ]
    columns = [Column("cells"), Column("seconds a cell", digits=2), Column("seconds", digits=0)]
    notes = ["seconds of wall time of one training and test, the mean over all sizes and steps; and their sum"]
    return Table(key, "seconds", title_of(key, "seconds"), ("model",), columns, lines, notes)


def _collect(values: Iterable[tuple[str, int, Row]]) -> Found:
    """Return accuracies by model and size or steps, and by trial."""
    found: Found = {}
    for model, at, row in values:
        found.setdefault((model, at), {})[row.cell.repeat] = row.accuracy
    return found


def _models(results: Sequence[Result]) -> tuple[list[str], bool]:
    """Return the models, and whether the experiment was begun in full: then all of its own are among them."""
    found = {result.name.model for result in results}
    full = not found.isdisjoint(isomorphism.MODELS)
    order = [*isomorphism.MODELS, *(model + QUICK_MARK for model in isomorphism.MODELS)]
    return in_order(found.union(isomorphism.MODELS if full else ()), order), full


def _steps(row: Row) -> int:
    an_epoch = math.ceil(len(row.train_index) / row.settings["batch_size"])
    return int(row.settings["epochs"] * min(an_epoch, row.settings.get("steps_per_epoch") or an_epoch))


def _count(found: Found, model: str, at: int) -> Count:
    values = found.get((model, at), {})
    least = _QUICK_TRIALS if QUICK_MARK in model else isomorphism.TRIALS
    return Count(len(values), max([least, *(trial + 1 for trial in values)]))


def _estimate(found: Found, model: str, at: int) -> Value:
    values = found.get((model, at))
    if not values:
        return None
    summary = summarise([list(values.values())])
    return Estimate(summary.mean, summary.sd_folds, *_count(found, model, at))


def _state(results: Sequence[Result], found: Found, asked: Iterable[tuple[str, int]]) -> list[str]:
    return state_notes(results, [_count(found, model, at) for model, at in asked])


def _columns(models: Sequence[str]) -> list[Column]:
    return [Column(model, "accuracy", "model") for model in models]
