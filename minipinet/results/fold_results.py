"""Rows of an experiment with folds as numbers: by model, data set, repeat and fold.

The mean of PTC is taken split by split: the accuracies of its four parts on their splits of one number give one value,
and the spread of PTC is that of these values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from minipinet.experiments import comparison, message_passing
from minipinet.experiments.plan import PTC, QUICK_FOLDS
from minipinet.experiments.protocols import FOLDS
from minipinet.experiments.records import Row
from minipinet.results.naming import QUICK_MARK
from minipinet.results.statistics import Summary, summarise
from minipinet.results.table import Count, Estimate, Key, Result, in_order

#: Data sets in the order of long tables.
ORDER = ("MUTAG", *PTC, "PTC", "PROTEINS", "NCI1", "NCI109")
#: Put behind the name of a data set that somebody called PTC: it is not the mean of the four.
_ONE = " (one set)"

#: Values by (repeat, fold).
Values: TypeAlias = dict[tuple[int, int], float]


class FoldResults(NamedTuple):
    """The rows of one key as numbers by model and data set."""

    key: Key
    results: list[Result]
    models: list[str]  #: those of the experiment, where all are to be run and it was begun, and all that are found
    datasets: list[str]  #: those found, and PTC
    accuracy: dict[tuple[str, str], Values]
    seconds: dict[tuple[str, str], Values]
    repeats: dict[str, int]  #: by data set


def count_of(folds: FoldResults, model: str, dataset: str) -> Count:
    """Return how many values there are, and how many there will be."""
    a_repeat = QUICK_FOLDS if QUICK_MARK in model else FOLDS
    return Count(len(folds.accuracy.get((model, dataset), ())), a_repeat * folds.repeats.get(dataset, 1))


def summary_of(folds: FoldResults, model: str, dataset: str) -> Summary | None:
    """Return mean and spreads, None for no values."""
    values = folds.accuracy.get((model, dataset))
    return summarise(nested(values)) if values else None


def estimate_of(folds: FoldResults, model: str, dataset: str) -> Estimate | None:
    """Return the mean with its spread over folds and its count."""
    found = summary_of(folds, model, dataset)
    return found and Estimate(found.mean, found.sd_folds, *count_of(folds, model, dataset))


def make_fold_results(key: Key, results: Sequence[Result]) -> FoldResults:
    """Sort results by model and data set, and add PTC."""
    accuracy: dict[tuple[str, str], Values] = {}
    seconds: dict[tuple[str, str], Values] = {}
    repeats: dict[str, int] = {}
    for name, row in results:
        dataset = row.cell.dataset + _ONE * (row.cell.dataset == "PTC")
        place = (row.cell.repeat, row.cell.fold)
        accuracy.setdefault((name.model, dataset), {})[place] = row.accuracy
        seconds.setdefault((name.model, dataset), {})[place] = row.seconds
        repeats[dataset] = max(repeats.get(dataset, 1), row.cell.repeat + 1)
    found = {model for model, _ in accuracy}
    for model in found:
        parts = [(model, part) for part in PTC]
        places = set.intersection(*(set(accuracy.get(part, ())) for part in parts))
        if places:
            accuracy[model, "PTC"] = {at: sum(accuracy[part][at] for part in parts) / 4 for at in sorted(places)}
    repeats["PTC"] = max(repeats.get(part, 1) for part in PTC)
    own = own_models(key)
    if found.isdisjoint(own) or not is_whole(key):
        own = []
    order = [*own, *(model + QUICK_MARK for model in own_models(key))]
    datasets = in_order({dataset for _, dataset in accuracy}, ORDER)
    return FoldResults(key, list(results), in_order({*own, *found}, order), datasets, accuracy, seconds, repeats)


def nested(values: Values) -> list[list[float | None]]:
    """Return values as repeats by folds.

    Examples
    --------
    >>> nested({(0, 1): 0.5, (2, 0): 0.25})
    [[None, 0.5], [None, None], [0.25, None]]
    """
    repeats, folds = (max(place[k] for place in values) + 1 for k in (0, 1))
    return [[values.get((repeat, fold)) for fold in range(folds)] for repeat in range(repeats)]


def own_models(key: Key) -> list[str]:
    """Return the models that the experiment has by itself."""
    models = {comparison.NAME: comparison.MODELS, message_passing.NAME: message_passing.MODELS}
    own = models.get(key.experiment, ())
    return [model for model in own if not (key.protocol == "fair" and model == "pinet-manual")]


def is_whole(key: Key) -> bool:
    """Return whether all models on all data sets are to be run: protocol ``paper``, nodes in their own order.

    What the other protocols and shuffled nodes are to show they show on some; there, what is begun is all there is.
    """
    return key.protocol == "paper" and not key.shuffled


def splits_of(folds: FoldResults, dataset: str) -> list[Row]:
    """Return one row of each split: test graphs are the same for every model."""
    found: dict[tuple[int, int], Row] = {}
    for _, row in folds.results:
        if row.cell.dataset == dataset.removesuffix(_ONE):
            found.setdefault((row.cell.repeat, row.cell.fold), row)
    return list(found.values())


def majority(folds: FoldResults, dataset: str) -> float | None:
    """Return the share of the largest class among the graphs tested; of PTC the mean over all its parts."""
    if dataset == "PTC":
        rates = [majority(folds, part) for part in PTC]
        known = [rate for rate in rates if rate is not None]
        return sum(known) / 4 if len(known) == 4 else None
    truth = [label for row in splits_of(folds, dataset) for label in row.truth]
    return max(map(truth.count, set(truth))) / len(truth) if truth else None
