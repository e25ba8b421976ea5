"""Tables of the experiments with folds: comparison and message-passing, models by data sets."""

from __future__ import annotations

from collections.abc import Sequence

from minipinet.experiments import message_passing
from minipinet.experiments.plan import DATASETS, PTC
from minipinet.experiments.protocols import FOLDS
from minipinet.results.grid import (
    Grid,
    count_of,
    estimate_of,
    majority,
    make_grid,
    nested,
    own_models,
    splits_of,
    summary_of,
)  # fmt: skip
from minipinet.results.naming import QUICK_MARK
from minipinet.results.published import FAULTS, Published, published
from minipinet.results.statistics import compare, holm
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

#: The data sets of the paper's own tables.
PAPER = ("MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC")
#: The fixed matrices among which the best is marked.
_FIXED = message_passing.MODELS[1:]
_FOUR = "mean of the four fixed"
_PTC_NOTE = "PTC: the mean over its four parts, split by split; its spread is that of these means"


def fold_tables(key: Key, results: Sequence[Result]) -> list[Table]:
    """Return the tables of one experiment under one protocol, those with lines."""
    grid = make_grid(key, results)
    makers = (accuracy_table, published_table, compare_table, data_table, seconds_table)
    return [table for table in (make(grid) for make in makers) if table.lines]


def accuracy_table(grid: Grid) -> Table:
    """Return models by data sets, as the paper prints them, with the published means."""
    datasets = _wide(grid)
    lines = []
    for model in grid.models:
        lines.append(Line((model, "ours"), [estimate_of(grid, model, dataset) for dataset in datasets]))
        theirs = [published(model, dataset) for dataset in datasets]
        if any(theirs):
            lines.append(Line((model, "published"), [found and _as_estimate(found) for found in theirs]))
    notes = ["mean ± standard deviation over folds; where no count is given, every fold is there"]
    if grid.key.experiment == message_passing.NAME:
        means = _mark_best(lines, len(datasets))
        notes += ["*: the best of the four fixed, where all of them are finished"] if means else []
        lines += means
    lines.append(Line(("majority class", "data"), [majority(grid, dataset) for dataset in datasets]))
    columns = [Column(dataset, "accuracy", "data set") for dataset in datasets]
    return _table(grid, "accuracy", "accuracy", ("model", "source"), columns, lines, [*notes, *_ptc_note(datasets)])


def published_table(grid: Grid) -> Table:
    """Return each mean with both spreads beside the published one."""
    columns = [
        Column("cells"), Column("accuracy"), Column("sd folds"), Column("sd repeats"), Column("published"),
        Column("its sd", "published sd", digits=2), Column("difference", signed=True), Column("within 1 sd"),
    ]  # fmt: skip
    lines = []
    for dataset, model in _pairs(grid):
        ours, theirs = summary_of(grid, model, dataset), published(model, dataset)
        values: list[Value] = [count_of(grid, model, dataset), *((ours.mean, *ours[1:3]) if ours else (None,) * 3)]
        values += theirs or (None, None)
        difference = ours.mean - theirs.mean if ours and theirs else None
        sd = (theirs and theirs.sd) if theirs and theirs.sd is not None else ours and ours.sd_folds
        within = None if difference is None or sd is None else abs(difference) <= sd
        lines.append(Line((dataset, model), [*values, difference, within]))
    own = set(own_models(grid.key)).intersection(grid.models)
    notes = [
        "sd folds: over the folds of one repeat; sd repeats: of the means of whole repeats, for more than one",
        "within 1 sd: by at most the published standard deviation, or ours over folds where none was printed",
        *_ptc_note(grid.datasets),
        *(f"{system}, {text}" for system, text in FAULTS.items() if any(m.startswith(system) for m in own)),
    ]
    return _table(grid, "published", "beside the published numbers", ("data set", "model"), columns, lines, notes)


def compare_table(grid: Grid) -> Table:
    """Return what tests say of PiNet with learned p and q against each other model."""
    columns = [
        Column("difference", signed=True), Column("common"), Column("Welch"), Column("paired"), Column("corrected"),
        Column("Holm"),
    ]  # fmt: skip
    datasets = [dataset for dataset in grid.datasets if "PTC" not in grid.datasets or dataset not in PTC]
    lines: list[Line] = []
    for dataset, model in _pairs(grid, datasets):
        reference = "pinet" + QUICK_MARK * (QUICK_MARK in model)
        a, b = (grid.accuracy.get((name, dataset)) for name in (reference, model))
        if model != reference and a and b:
            found = compare(nested(a), nested(b))
            tests = [found.welch, found.paired, found.corrected] if found.n else [None] * 3
            common = Count(found.n, count_of(grid, model, dataset).of)
            lines.append(Line((dataset, model), [found.difference if found.n else None, common, *tests]))
    corrected = [line.values[-1] for line in lines]
    adjusted = iter(holm([value for value in corrected if isinstance(value, float)]))
    for line in lines:
        line.values.append(None if line.values[-1] is None else next(adjusted))
    notes = [
        "difference: PiNet's mean less the other's, over the folds that both have",
        "two-sided p-values. Welch: the paper's test, which takes all accuracies as independent; paired: on the "
        "differences fold by fold; corrected: the same, allowing for training parts that overlap (Nadeau and Bengio "
        "2003); Holm: the corrected one, adjusted for the number of lines",
        *_ptc_note(datasets),
    ]
    return _table(grid, "tests", "PiNet against each other model", ("data set", "model"), columns, lines, notes)


def data_table(grid: Grid) -> Table:
    """Return what the test graphs are: how many, the share of the largest class, copies of training graphs."""
    columns = [Column("splits"), Column("graphs tested"), Column("majority"), Column("with a copy"),
               Column("of another class")]  # fmt: skip
    lines = []
    for dataset in (name for name in grid.datasets if name != "PTC"):
        rows = splits_of(grid, dataset)
        copies = [sum(row.duplicates.get(name, 0) for row in rows) for name in ("test", "other_class")]
        of = max(count_of(grid, model, dataset).of for model in grid.models if (model, dataset) in grid.accuracy)
        tested = sum(len(row.truth) for row in rows)
        lines.append(Line((dataset,), [Count(len(rows), of), tested, majority(grid, dataset), *copies]))
    notes = [
        "majority: the share of the largest class among the graphs tested, which a constant answer reaches",
        "with a copy: test graphs that the training part has a copy of; of another class: those with a copy of another "
        "class, which no invariant model can both get right",
    ]
    return _table(grid, "data", "test graphs", ("data set",), columns, lines, notes)


def seconds_table(grid: Grid) -> Table:
    """Return the wall time of a cell, by model and data set, and of all cells."""
    datasets = [name for name in grid.datasets if name != "PTC"]
    lines = []
    for model in grid.models:
        values: list[Value] = []
        for dataset in datasets:
            times = list(grid.seconds.get((model, dataset), {}).values())
            mean = sum(times) / len(times) if times else 0.0
            values.append(Estimate(mean, None, *count_of(grid, model, dataset)) if times else None)
        total = sum(sum(grid.seconds.get((model, dataset), {}).values()) for dataset in datasets)
        lines.append(Line((model,), [*values, total]))
    columns = [Column(dataset, "seconds a cell", "data set", 1) for dataset in datasets]
    notes = ["seconds of wall time of one training and test, the mean over the cells that are there; all: their sum"]
    return _table(grid, "seconds", "seconds", ("model",), [*columns, Column("all", "seconds", digits=0)], lines, notes)


def _table(
    grid: Grid,
    name: str,
    what: str,
    labels: tuple[str, ...],
    columns: list[Column],
    lines: list[Line],
    notes: list[str],
) -> Table:
    own = [model for model in own_models(grid.key) if model in grid.models]
    asked = {(model, dataset) for model in own for dataset in DATASETS}
    asked |= {(model, dataset) for model, dataset in grid.accuracy if dataset != "PTC"}
    state = state_notes(grid.results, [count_of(grid, *pair) for pair in asked])
    return Table(grid.key, name, title_of(grid.key, what), labels, columns, lines, state + notes)


def _wide(grid: Grid) -> list[str]:
    """Return the data sets that the accuracies are shown of: those of the paper, and what else there is."""
    full = any(model in own_models(grid.key) for model in grid.models)
    parts = () if "PTC" in grid.datasets else PTC
    found = [dataset for dataset in grid.datasets if dataset not in PTC or dataset in parts]
    return in_order({*found, *(PAPER if full else ())}, [*PAPER, *PTC])


def _pairs(grid: Grid, datasets: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return the lines of the long tables; of models that are not the experiment's own only those found."""
    own = own_models(grid.key)
    return [
        (dataset, model)
        for dataset in (grid.datasets if datasets is None else datasets)
        for model in grid.models
        if model in own or (model, dataset) in grid.accuracy
    ]


def _as_estimate(found: Published) -> Estimate:
    return Estimate(found.mean, found.sd, FOLDS, FOLDS)


def _mark_best(lines: list[Line], columns: int) -> list[Line]:
    """Mark the best of the four fixed matrices in each column, and return their means as lines."""
    means = []
    for source in ("ours", "published"):
        four = [line for line in lines if line.labels in [(model, source) for model in _FIXED]]
        mean: list[Value] = [None] * columns
        for k in range(columns):
            found = [line.values[k] for line in four]
            finished = [value for value in found if isinstance(value, Estimate) and value.n >= value.of]
            if len(finished) == len(_FIXED):
                best = max(value.mean for value in finished)
                mean[k] = sum(value.mean for value in finished) / len(finished)
                for line, value in zip(four, finished, strict=True):
                    line.values[k] = value._replace(best=value.mean == best)
        means += [Line((_FOUR, source), mean)] if any(value is not None for value in mean) else []
    return means


def _ptc_note(datasets: Sequence[str]) -> list[str]:
    return [_PTC_NOTE] if "PTC" in datasets else []
