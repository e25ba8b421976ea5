"""Rows to make tables of, and the lines of tables: shared by their tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from minipinet.baselines.system import system_named
from minipinet.experiments.plan import model_cell
from minipinet.experiments.records import Cell, Row
from minipinet.results.table import Table
from minipinet.results.tables import make_tables
from tests.small_rows import row

PLAIN = Cell("comparison", "paper", "", "MUTAG")


def made(cell: Cell, accuracy: float = 0.5, **fields: Any) -> Row:
    """Return a row with the settings that its cell would have."""
    settings = system_named(cell.system, **json.loads(cell.variant)).settings
    return row(cell, accuracy, **{"settings": settings, **fields})


def folds(accuracies: Sequence[float | None], model: str = "pinet", *, quick: bool = False, **places: Any) -> list[Row]:
    """Return a row for each fold of a model."""
    cell = model_cell(PLAIN._replace(**places), model, quick=quick)
    return [made(cell._replace(fold=k), value) for k, value in enumerate(accuracies) if value is not None]


def trials(accuracies: Iterable[float], model: str = "pinet", size: int = 1, **settings: Any) -> list[Row]:
    """Return a row of the isomorphism test for each trial."""
    batches = {} if model == "wl" else {"batch_size": 5}
    plain = Cell("isomorphism", "paper", "", "isomorphism", features="constant", size=size)
    cell = model_cell(plain, model, quick=False, **batches, **settings)
    return [
        made(cell._replace(repeat=k), value, train_index=list(range(5 * size))) for k, value in enumerate(accuracies)
    ]


def by_name(rows: Iterable[Row]) -> dict[str, Table]:
    """Return the tables of rows of one key."""
    tables = make_tables(rows)
    assert len({table.key for table in tables}) == 1
    return {table.name: table for table in tables}


def line(table: Table, *labels: str) -> dict[str, Any]:
    """Return the one line with these labels, by the titles of its columns."""
    (found,) = [found for found in table.lines if found.labels == labels]
    return dict(zip([column.title for column in table.columns], found.values, strict=True))
