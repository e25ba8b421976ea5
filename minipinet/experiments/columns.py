"""A row as the values of columns, the same in the store and in CSV, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minipinet.errors import DataError
from minipinet.experiments.records import Cell, Row, to_text
from minipinet.experiments.row_check import check_cell, check_row, parse_json

_PLAIN = {"seed": "INTEGER", "digest": "TEXT", "accuracy": "REAL", "seconds": "REAL"}
#: Every column with its type, in order: the key, the fields of `Cell`, and those of `Row`; JSON stands there as text.
COLUMNS = {
    "key": "TEXT",
    **{name: "INTEGER" if name in ("shuffled", "size", "repeat", "fold") else "TEXT" for name in Cell._fields},
    **{name: _PLAIN.get(name, "JSON") for name in Row._fields if name != "cell"},
}


def to_values(row: Row) -> tuple[Any, ...]:
    """Return what the columns hold for a row."""
    found = {"key": row.cell.key, **row.cell._asdict(), **row._asdict()}
    return tuple(to_text(found[name]) if kind == "JSON" else found[name] for name, kind in COLUMNS.items())


def from_values(values: Sequence[Any]) -> Row:
    """Return the row of what the columns hold; a DataError names the field that no row has so."""
    found = {}
    for (name, kind), value in zip(COLUMNS.items(), values, strict=True):
        try:
            found[name] = parse_json(value) if kind == "JSON" else value
        except ValueError as error:
            raise DataError(f"{name}: cannot be read as JSON: {error}") from error
    cell = to_cell(found["key"], [found[name] for name in Cell._fields])
    return check_row(Row(cell, *(found[name] for name in Row._fields if name != "cell")))


def to_cell(key: Any, values: Sequence[Any]) -> Cell:
    """Return the cell of these fields; a DataError when they cannot be one, or when `key` is that of another."""
    cell = check_cell(Cell(*values))
    if cell.key != key:
        raise DataError(f"key: expected {cell.key!r}, got {key!r}")
    return cell
