"""One cell of an experiment, and the row that it becomes: plain records, whatever ran them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from minipinet._files import to_plain

EXPERIMENTS = ("isomorphism", "message-passing", "comparison")
PROTOCOLS = ("paper", "released", "fair")
#: So many repeats (or trials) and folds of one there can be, far more than anybody runs: tables keep a place for each.
MOST_REPEATS, MOST_FOLDS = 10_000, 1_000


class Cell(NamedTuple):
    """One training and one test to be made: all that decides its numbers, besides the program and the data.

    Examples
    --------
    >>> cell = Cell("comparison", "paper", "pinet", "MUTAG", variant=to_variant(epochs=5), fold=3)
    >>> cell.key
    'comparison/paper/pinet{"epochs":5}/MUTAG:labels/repeat 0/fold 3'
    """

    experiment: str  #: one of `EXPERIMENTS`
    protocol: str  #: one of `PROTOCOLS`
    system: str  #: short name, see :data:`minipinet.baselines.system.SYSTEMS`
    dataset: str  #: a name, or "isomorphism"
    variant: str = "{}"  #: JSON of the settings that are not the defaults, see :func:`to_variant`
    features: str = "labels"  #: what X holds, as for ``load_dataset`` and ``isomorphism_dataset``
    shuffled: int = 0  #: 1 when the nodes of every graph are renumbered at random first
    size: int = 0  #: isomorphism test: training graphs of each class; elsewhere 0
    repeat: int = 0  #: decides the splits and seeds; in the isomorphism test the number of the trial
    fold: int = 0  #: number of the split, from 0

    @property
    def key(self) -> str:
        """One line of text that no other cell has."""
        places = [self.experiment, self.protocol, self.system + self.variant, f"{self.dataset}:{self.features}"]
        places += ["shuffled"] if self.shuffled else []
        places += [f"size {self.size}"] if self.size else []
        return "/".join([*places, f"repeat {self.repeat}", f"fold {self.fold}"])


class Row(NamedTuple):
    """A finished cell, in values that JSON knows, so that a copy by way of text is equal."""

    cell: Cell
    settings: dict[str, Any]  #: every setting of the system after defaults; in protocol fair of the chosen one
    versions: dict[str, str]  #: of Python, the packages, and the source text of this one
    seed: int
    digest: str  #: of the data set, see ``Dataset.digest``
    train_index: list[int]  #: numbers of the graphs trained on
    validation_index: list[int] | None  #: of those that settings or epoch were chosen on; None: none
    test_index: list[int]
    truth: list[int]  #: class of each test graph
    predictions: list[list[int]]  #: for each training (three in protocol fair, else one) the class of each test graph
    accuracy: float  #: share of right predictions
    duplicates: dict[str, int]  #: see :func:`minipinet.experiments.protocols.count_duplicates`
    details: dict[str, Any]  #: what the system tells of its training; in protocol fair also of the choice
    seconds: float  #: wall time, reading the data set excluded


def to_variant(**settings: Any) -> str:
    """Return settings as the one text that stands for them.

    Examples
    --------
    >>> to_variant(pq=(1.0, 0.0), epochs=5)
    '{"epochs":5,"pq":[1.0,0.0]}'
    """
    return to_text(settings)


def to_text(value: Any) -> str:
    """Return strict JSON on one line, equal for equal values."""
    return json.dumps(to_plain(value), allow_nan=False, sort_keys=True, separators=(",", ":"))


def without_timings(row: Row) -> Row:
    """Return the row less all seconds: what a rerun must repeat.

    Examples
    --------
    >>> row = Row(Cell("e", "p", "s", "d"), {}, {}, 0, "", [0], None, [1], [0], [[0]], 1.0, {}, {"seconds": 2.5}, 3.5)
    >>> without_timings(row).details, without_timings(row).seconds
    ({}, 0.0)
    """
    return row._replace(seconds=0.0, details=_timeless(row.details))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(entry) for name, entry in value.items() if name != "seconds"}
    return [_timeless(entry) for entry in value] if isinstance(value, list) else value
