"""Rows of a store, made up: shared by the tests of the store and of what reads it."""

from __future__ import annotations

from fractions import Fraction
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


def agreeing(made: Row) -> Row:
    """Return a row with as many test graphs as its accuracy needs, none of them trained on, and that many right."""
    share = Fraction(made.accuracy).limit_denominator(1000)
    right, tested = share.numerator, share.denominator
    assert right / tested == made.accuracy, "a store holds accuracies that are shares of some graphs"
    return made._replace(
        test_index=list(range(1000, 1000 + tested)),
        truth=[1] * tested,
        predictions=[[1] * right + [0] * (tested - right)],
        duplicates={"test": 1, "other_class": 0},
    )


def several(count: int = 5) -> list[Row]:
    """Return rows of different folds."""
    return [agreeing(row(CELL._replace(fold=fold), accuracy=(fold % 7 + 1) / 7)) for fold in range(count)]
