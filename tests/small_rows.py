"""Rows of a store, made up: shared by the tests of the store and of what reads it."""

from __future__ import annotations

from typing import Any

from minipinet.experiments.records import Cell, Row

CELL = Cell("comparison", "paper", "pinet", "MUTAG")


def row(cell: Cell = CELL, accuracy: float = 2 / 3, **fields: Any) -> Row:
    """Return a row that looks like a real one."""
    made = Row(
        cell=cell,
        settings={"epochs": 200, "lr": 1e-3, "pq": "learned"},
        versions={"python": "3.11.7", "numpy": "2.4.6"},
        seed=cell.fold + 2**32 - 20,
        digest="0d655cf1",
        train_index=[0, 1, 2, 4],
        validation_index=None,
        test_index=[3, 5, 6],
        truth=[0, 1, 1],
        predictions=[[0, 1, 0]],
        accuracy=accuracy,
        duplicates={"test": 1, "other_class": 0},
        details={"epoch": 200, "seconds": 1.25, "history": {"loss": [0.6931, 0.1], "p": [[0.5, 1 / 3]]}},
        seconds=1.5,
    )
    return made._replace(**fields)


def several(count: int = 5) -> list[Row]:
    """Return rows of different folds."""
    return [row(CELL._replace(fold=fold), accuracy=(fold + 1) / 7) for fold in range(count)]
