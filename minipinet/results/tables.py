"""The tables of the paper, from the rows of a store: counts always stated, the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterable

from minipinet.experiments import isomorphism
from minipinet.experiments.records import EXPERIMENTS, PROTOCOLS, Row
from minipinet.results.fold_tables import fold_tables
from minipinet.results.isomorphism_tables import isomorphism_tables
from minipinet.results.table import Key, Table, by_key


def make_tables(rows: Iterable[Row]) -> list[Table]:
    """Return every table that the rows have numbers for.

    Experiments, protocols, kinds of node features and shuffled nodes are kept apart, and so are settings: see
    :func:`minipinet.results.naming.name_row`.

    Parameters
    ----------
    rows : iterable of Row

    Returns
    -------
    list of Table
        Of ``comparison`` and ``message-passing``: the accuracies as in the paper; each beside the published one; tests;
        the data; seconds. Of ``isomorphism``: accuracy by training size, and by training steps; tests; seconds. None
        for no rows.

    Examples
    --------
    >>> from minipinet.experiments.cells import run_cell
    >>> from minipinet.experiments.records import Cell
    >>> row = run_cell(Cell("comparison", "paper", "wl", "MUTAG"))
    >>> table, *others = make_tables([row])
    >>> table.title, [other.name for other in others]
    ('comparison, protocol paper: accuracy', ['published', 'data', 'seconds'])
    >>> table.notes[0]
    'unfinished: 1 of 480 cells are there'
    >>> next(line.values[0] for line in table.lines if line.labels == ("wl", "ours")).n
    1
    """
    groups = by_key(rows)
    return [
        table
        for key in sorted(groups, key=_place)
        for table in (isomorphism_tables if key.experiment == isomorphism.NAME else fold_tables)(key, groups[key])
    ]


def _place(key: Key) -> tuple[object, ...]:
    known = [EXPERIMENTS.index(key.experiment) if key.experiment in EXPERIMENTS else len(EXPERIMENTS)]
    known += [PROTOCOLS.index(key.protocol) if key.protocol in PROTOCOLS else len(PROTOCOLS)]
    return (*known, *key)
