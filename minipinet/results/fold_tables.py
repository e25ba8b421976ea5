"""Tables of the experiments with folds: comparison and message-passing, models by data sets."""

from __future__ import annotations

from collections.abc import Sequence

from minipinet.experiments import message_passing
from minipinet.experiments.plan import DATASETS, PTC
from minipinet.experiments.protocols import FOLDS
from minipinet.results.comparisons import COLUMNS, Pair, reference_of, tests_of, untested_notes
from minipinet.results.fold_results import (
    FoldResults,
    count_of,
    estimate_of,
    is_whole,
    majority,
    make_fold_results,
    nested,
    own_models,
    splits_of,
    summary_of,
)  # fmt: skip
from minipinet.results.published import FAULTS, Published, published
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

#: The data sets of the paper's own tables.
PAPER = ("MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC")
#: The fixed matrices among which the best is marked.
_FIXED = message_passing.MODELS[1:]
_FOUR = "mean of the four fixed"
_PTC_NOTE = "PTC: the mean over its four parts, split by split; its spread is that of these means"


def fold_tables(key: Key, results: Sequence[Result]) -> list[Table]:
    """Return the tables of one experiment under one protocol, those with lines."""
    folds = make_fold_results(key, results)
    makers = (accuracy_table, published_table, compare_table, data_table, seconds_table)
    return [table for table in (make(folds) for make in makers) if table.lines]


def accuracy_table(folds: FoldResults) -> Table:
    """Return models by data sets, as the paper prints them, with the published means."""
    datasets = _wide(folds)
    lines = []
    for model in folds.models:
        lines.append(Line((model, "ours"), [estimate_of(folds, model, dataset) for dataset in datasets]))
        theirs = [published(model, dataset) for dataset in datasets]
        if any(theirs):
            lines.append(Line((model, "published"), [found and _as_estimate(found) for found in theirs]))
    notes = ["mean ± standard deviation over folds; where no count is given, every fold is there"]
    if folds.key.experiment == message_passing.NAME:
        means = _mark_best(lines, len(datasets))
        notes += ["*: the best of the four fixed, where all of them are finished"] if means else []
        lines += means
    lines.append(Line(("majority class", "data"), [majority(folds, dataset) for dataset in datasets]))
    columns = [Column(dataset, "accuracy", "data set") for dataset in datasets]
    return _table(folds, "accuracy", "accuracy", ("model", "source"), columns, lines, [*notes, *_ptc_note(datasets)])


def published_table(folds: FoldResults) -> Table:
    """Return each mean with both spreads beside the published one."""
    columns = [
        Column("cells"), Column("accuracy"), Column("sd folds"), Column("sd repeats"), Column("published"),
        Column("its sd", "published sd", digits=2), Column("difference", signed=True), Column("within 1 sd"),
    ]  # fmt: skip
    lines = []
    for dataset, model in _pairs(folds):
        ours, theirs = summary_of(folds, model, dataset), published(model, dataset)
        values: list[Value] = [count_of(folds, model, dataset), *((ours.mean, *ours[1:3]) if ours else (None,) * 3)]
        values += theirs or (None, None)
        difference = ours.mean - theirs.mean if ours and theirs else None
        sd = (theirs and theirs.sd) if theirs and theirs.sd is not None else ours and ours.sd_folds
        within = None if difference is None or sd is None else abs(difference) <= sd
        lines.append(Line((dataset, model), [*values, difference, within]))
    own = set(own_models(folds.key)).intersection(folds.models)
    notes = [
        "sd folds: over the folds of one repeat; sd repeats: of the means of whole repeats, for more than one",
        "within 1 sd: by at most the published standard deviation, or ours over folds where none was printed",
        *_ptc_note(folds.datasets),
        *(f"{system}, {text}" for system, text in FAULTS.items() if any(m.startswith(system) for m in own)),
    ]
    return _table(folds, "published", "beside the published numbers", ("data set", "model"), columns, lines, notes)


def compare_table(folds: FoldResults) -> Table:
    """Return what tests say of PiNet with learned p and q against each other model."""
    datasets = [dataset for dataset in folds.datasets if "PTC" not in folds.datasets or dataset not in PTC]
    mixed = mixed_data(folds.results)
    mixed += ["PTC"] if "PTC" in datasets and not set(mixed).isdisjoint(PTC) else []
    pairs = []
    for dataset, model in _pairs(folds, datasets):
        a, b = (folds.accuracy.get((name, dataset)) for name in (reference_of(model), model))
        if model != reference_of(model) and a and b:
            pairs.append(Pair((dataset, model), dataset, nested(a), nested(b), count_of(folds, model, dataset).of))
    lines = tests_of(pairs, test_share=1 / FOLDS, mixed=mixed)
    notes = [
        "difference: PiNet's mean less the other's, over the folds that both have",
        "two-sided p-values. Welch: the paper's test, which takes all accuracies as independent; paired: on the "
        "differences fold by fold; corrected: the same, allowing for training parts that overlap (Nadeau and Bengio "
        "2003); Holm: the corrected one, adjusted for the number of lines",
        *untested_notes(dataset for dataset in datasets if dataset in mixed),
        *_ptc_note(datasets),
    ]
    return _table(folds, "tests", "PiNet against each other model", ("data set", "model"), COLUMNS, lines, notes)


def data_table(folds: FoldResults) -> Table:
    """Return what the test graphs are: how many, the share of the largest class, copies of training graphs."""
    columns = [Column("splits"), Column("graphs tested"), Column("majority"), Column("with a copy"),
               Column("of another class")]  # fmt: skip
    lines = []
    for dataset in (name for name in folds.datasets if name != "PTC"):
        rows = splits_of(folds, dataset)
        copies = [sum(row.duplicates.get(name, 0) for row in rows) for name in ("test", "other_class")]
        of = max(count_of(folds, model, dataset).of for model in folds.models if (model, dataset) in folds.accuracy)
        tested = sum(len(row.truth) for row in rows)
        lines.append(Line((dataset,), [Count(len(rows), of), tested, majority(folds, dataset), *copies]))
    notes = [
        "majority: the share of the largest class among the graphs tested, which a constant answer reaches",
        "with a copy: test graphs that the training part has a copy of; of another class: those with a copy of another "
        "class, which no invariant model can both get right",
    ]
    return _table(folds, "data", "test graphs", ("data set",), columns, lines, notes)


def seconds_table(folds: FoldResults) -> Table:
    """Return the wall time of a cell, by model and data set, and of all cells."""
    datasets = [name for name in folds.datasets if name != "PTC"]
    lines = []
    for model in folds.models:
        values: list[Value] = []
        for dataset in datasets:
            times = list(folds.seconds.get((model, dataset), {}).values())
            mean = sum(times) / len(times) if times else 0.0
            values.append(Estimate(mean, None, *count_of(folds, model, dataset)) if times else None)
        total = sum(sum(folds.seconds.get((model, dataset), {}).values()) for dataset in datasets)
        lines.append(Line((model,), [*values, total]))
    columns = [Column(dataset, "seconds a cell", "data set", 1) for dataset in datasets]
    notes = ["seconds of wall time of one training and test, the mean over the cells that are there; all: their sum"]
    return _table(folds, "seconds", "seconds", ("model",), [*columns, Column("all", "seconds", digits=0)], lines, notes)


def _table(
    folds: FoldResults,
    name: str,
    what: str,
    labels: tuple[str, ...],
    columns: list[Column],
    lines: list[Line],
    notes: list[str],
) -> Table:
    own = [model for model in own_models(folds.key) if model in folds.models]
    asked = {(model, dataset) for model in own for dataset in DATASETS if is_whole(folds.key)}
    asked |= {(model, dataset) for model, dataset in folds.accuracy if dataset != "PTC"}
    state = state_notes(folds.results, [count_of(folds, *pair) for pair in asked])
    return Table(folds.key, name, title_of(folds.key, what), labels, columns, lines, state + notes)


def _wide(folds: FoldResults) -> list[str]:
    """Return the data sets that the accuracies are shown of: those of the paper, and what else there is."""
    full = is_whole(folds.key) and any(model in own_models(folds.key) for model in folds.models)
    parts = () if "PTC" in folds.datasets else PTC
    found = [dataset for dataset in folds.datasets if dataset not in PTC or dataset in parts]
    return in_order({*found, *(PAPER if full else ())}, [*PAPER, *PTC])


def _pairs(folds: FoldResults, datasets: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return the lines of the long tables; of models that are not the experiment's own only those found."""
    own = own_models(folds.key)
    return [
        (dataset, model)
        for dataset in (folds.datasets if datasets is None else datasets)
        for model in folds.models
        if model in own or (model, dataset) in folds.accuracy
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
