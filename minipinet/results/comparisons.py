"""The tables of tests: PiNet with learned p and q against each other model, on common folds or trials."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from minipinet.results.accuracies import Accuracies
from minipinet.results.naming import QUICK_MARK
from minipinet.results.statistics import compare, holm
from minipinet.results.table import Column, Count, Line, Value

COLUMNS = [
    Column("difference", signed=True), Column("common"), Column("Welch"), Column("paired"), Column("corrected"),
    Column("Holm"),
]  # fmt: skip


class Pair(NamedTuple):
    """What a line of a table of tests compares."""

    labels: tuple[str, str]
    dataset: str
    pinet: Accuracies | None  #: None: there are none
    other: Accuracies | None
    of: int  #: values that there are when the experiment is finished


def reference_of(model: str) -> str:
    """Return the PiNet that a model is compared with: the small one for a model of a quick run.

    Examples
    --------
    >>> reference_of("wl"), reference_of("wl (quick)")
    ('pinet', 'pinet (quick)')
    """
    return "pinet" + QUICK_MARK * (QUICK_MARK in model)


def tests_of(pairs: Iterable[Pair], *, test_share: float, mixed: Container[str]) -> list[Line]:
    """Return differences and p-values, adjusted over all lines, of each pair that both have accuracies of.

    Parameters
    ----------
    pairs : iterable of Pair
    test_share : float
        As for :func:`minipinet.results.statistics.compare`.
    mixed : collection of str
        Data sets whose rows are of different data: nothing there is common, and nothing is tested.
    """
    lines = []
    for pair in pairs:
        if pair.pinet and pair.other:
            found = compare(pair.pinet, pair.other, test_share=test_share)
            n = 0 if pair.dataset in mixed else found.n
            values: list[Value] = [found.difference, Count(n, pair.of), found.welch, found.paired, found.corrected]
            lines.append(Line(pair.labels, values if n else [None, Count(n, pair.of), None, None, None]))
    adjusted = iter(holm([line.values[-1] for line in lines if isinstance(line.values[-1], float)]))
    for line in lines:
        line.values.append(None if line.values[-1] is None else next(adjusted))
    return lines


def untested_notes(mixed: Iterable[str]) -> list[str]:
    """Return why there are no p-values for some data sets."""
    return [f"{dataset}: not tested, since its rows are of different data and make no pairs" for dataset in mixed]
