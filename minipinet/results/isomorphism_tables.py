"""Tables of the isomorphism test, for one kind of node features: accuracy by training size and by training steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from minipinet.experiments import isomorphism
from minipinet.experiments.data import ISOMORPHISM as DATASET
from minipinet.experiments.plan import MODELS
from minipinet.experiments.records import Row
from minipinet.results.comparisons import COLUMNS, Pair, reference_of, tests_of, untested_notes
from minipinet.results.fold_results import nested
from minipinet.results.naming import QUICK_MARK
from minipinet.results.published import ISOMORPHISM, ISOMORPHISM_FAULTS
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
    mixed_data,
    state_notes,
    title_of,
)  # fmt: skip

#: Accuracies by model and by size or steps, then by trial.
Found: TypeAlias = dict[tuple[str, int], dict[int, float]]

_QUICK_TRIALS = 2
_CHANCE = "mean ± standard deviation over trials; chance is 0.2; where no count is given, every trial is there"
#: What stands beside each other there is not given the same.
CONSTANT = "constant features: WL starts from degrees, PATCHY-SAN gets one-hot degrees, PiNet and the GCNs get 1"


def isomorphism_tables(key: Key, results: Sequence[Result]) -> list[Table]:
    """Return accuracy by training size, by training steps where there is more than one number of them, and the rest."""
    tables = [make(key, results) for make in (size_table, steps_table, compare_table, seconds_table)]
    return [table for table in tables if table.lines]


def size_table(key: Key, results: Sequence[Result]) -> Table:
    """Return training sizes by models; each model at the epochs that it has by itself."""
    found = _by_size(results)
    models, full = _models(results)
    sizes = sorted({size for _, size in found}.union(isomorphism.SIZES if full else ()))
    lines = []
    for size in sizes:
        lines.append(Line((str(size), "ours"), [_estimate(found, model, size) for model in models]))
        # What the authors had is random labels.
        theirs = [ISOMORPHISM.get(model, {}).get(size) if key.features == "random" else None for model in models]
        if any(value is not None for value in theirs):
            lines.append(Line((str(size), "published"), list(theirs)))
    asked = {(model, size) for model in isomorphism.MODELS if full for size in isomorphism.SIZES} | found.keys()
    published = any(labels[1] == "published" for labels, _ in lines)
    notes = [*_state(results, found, asked), *_what(key)]
    notes += [f"{system}, {text}" for system, text in ISOMORPHISM_FAULTS.items() if published]
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
    notes = [*_state(at_one, found, asked), *_what(key)]
    what = "accuracy by training steps, one training graph of each class"
    return Table(key, "steps", title_of(key, what), ("steps",), _columns(models), lines, notes)


def compare_table(key: Key, results: Sequence[Result]) -> Table:
    """Return what tests say of PiNet with learned p and q against each other model at each size, trial by trial."""
    found = _by_size(results)
    pairs = []
    for size in sorted({size for _, size in found}):
        for model in (model for model in _models(results)[0] if model != reference_of(model)):
            a, b = (_by_trial(found, name, size) for name in (reference_of(model), model))
            pairs.append(Pair((str(size), model), DATASET, a, b, _count(found, model, size).of))
    mixed = mixed_data(results)
    lines = tests_of(pairs, test_share=0, mixed=mixed)
    notes = [
        *_state(results, found, found),
        "difference: PiNet's mean less the other's, over the trials that both have",
        "two-sided p-values. Welch: the paper's test, which takes all accuracies as independent; paired: on the "
        "differences trial by trial, both models having the same graphs; corrected: the same, as each trial draws its "
        "graphs and nothing overlaps; Holm: adjusted for the number of lines",
        "an invariant model reaches multiples of 0.2; where the differences do not vary, p is the limit, 0 or 1",
        *untested_notes(mixed),
        *([CONSTANT] if key.features == "constant" else []),
    ]
    return Table(
        key, "tests", title_of(key, "PiNet against each other model"), ("size", "model"), COLUMNS, lines, notes
    )


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


def _what(key: Key) -> list[str]:
    return [_CHANCE, *([CONSTANT] if key.features == "constant" else [])]


def _by_size(results: Sequence[Result]) -> Found:
    return _collect((name.model, row.cell.size, row) for name, row in results if not name.other_epochs)


def _by_trial(found: Found, model: str, at: int) -> list[list[float | None]] | None:
    """Return a list of one accuracy for each trial."""
    values = found.get((model, at))
    return nested({(trial, 0): accuracy for trial, accuracy in values.items()}) if values else None


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
