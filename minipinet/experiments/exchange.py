"""A results store as CSV: to read elsewhere, and to go on elsewhere with the run that it holds."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import json
import lzma
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minipinet._files import write_whole
from minipinet.baselines.system import SYSTEMS
from minipinet.errors import DataError
from minipinet.experiments.records import EXPERIMENTS, PROTOCOLS, Row, without_timings
from minipinet.experiments.store import COLUMNS, Store, from_values, insert, rows, to_values

#: The columns of the file: those of the store, and a checksum of the line before it.
HEADER = [*COLUMNS, "checksum"]
_FROM_TEXT = {"INTEGER": int, "REAL": float, "TEXT": str, "JSON": str}
#: Letters of a field; lists of graph numbers pass what the module `csv` allows by itself.
_LONGEST_FIELD = 2**30


#: What opens and packs a file of this ending; any other is plain text.
_OPEN: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
#: No time of day in the file: the same rows give the same bytes.
_PACK = {".gz": lambda data: gzip.compress(data, mtime=0), ".xz": lzma.compress}


def export_csv(store: Store, path: str | os.PathLike[str], **fields: Any) -> int:
    """Write rows as one CSV file, whole or not at all, and return how many.

    Numbers are written so that reading them gives the same bits. The last column is a checksum of the others.

    Parameters
    ----------
    store : Store
    path : path
        With the ending ``.gz`` or ``.xz`` the file is packed, to about a seventh of its size.
    **fields
        Values of columns that the rows must have, as for :func:`minipinet.experiments.store.rows`.
    """
    path = Path(path)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    count = 0
    for row in rows(store, **fields):
        cells = [str(value) for value in to_values(row)]
        writer.writerow([*cells, _checksum(cells)])
        count += 1
    data = text.getvalue().encode()
    write_whole(path, _PACK[path.suffix](data) if path.suffix in _PACK else data)
    return count


def import_csv(store: Store, path: str | os.PathLike[str]) -> int:
    """Add the rows of a file that :func:`export_csv` wrote, plain or packed, all or none, and return how many were new.

    Rows that the store has already, to the same result (times and versions aside), stay as they are.

    Raises
    ------
    DataError
        Naming the line: for a row that was changed, one of an unknown experiment, protocol or system, and one whose
        cell has another result in the store; for a file with other columns.
    """
    path = Path(path)
    added = 0
    store.execute("BEGIN IMMEDIATE")
    try:
        for line, row in _read(path):
            if insert(store, row):
                added += 1
            elif (difference := _difference(row, next(rows(store, key=row.cell.key)))) is not None:
                raise DataError(f"{path}, line {line}: the store has {row.cell.key} with another {difference}")
        store.execute("COMMIT")
    except BaseException:
        store.execute("ROLLBACK")
        raise
    return added


def _read(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file with their line numbers."""
    try:
        with _OPEN.get(path.suffix, open)(path, "rt", encoding="utf-8", newline="") as file, _long_fields():
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            if header != HEADER:
                raise DataError(f"{path}, line 1: expected the columns {','.join(HEADER):.60}..., got {header!r:.60}")
            for cells in reader:
                yield reader.line_num, _row(cells, f"{path}, line {reader.line_num}")
    except (OSError, EOFError, UnicodeError, csv.Error, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read as CSV: {error}") from error


def _row(cells: list[str], where: str) -> Row:
    if len(cells) != len(HEADER):
        raise DataError(f"{where}: expected {len(HEADER)} fields, got {len(cells)}")
    *cells, checksum = cells
    if _checksum(cells) != checksum:
        raise DataError(f"{where}: was changed: its checksum is not that of its fields")
    try:
        row = from_values(tuple(_FROM_TEXT[kind](cell) for kind, cell in zip(COLUMNS.values(), cells, strict=True)))
    except (ValueError, json.JSONDecodeError) as error:
        raise DataError(f"{where}: cannot be read: {error}") from error
    for name, known in (("experiment", EXPERIMENTS), ("protocol", PROTOCOLS), ("system", SYSTEMS)):
        if getattr(row.cell, name) not in known:
            raise DataError(f"{where}: {name}: expected one of {', '.join(known)}, got {getattr(row.cell, name)!r}")
    if row.cell.key != cells[0]:
        raise DataError(f"{where}: expected the key {row.cell.key!r}, got {cells[0]!r}")
    return row


def _checksum(cells: list[str]) -> str:
    return hashlib.sha256("\0".join(cells).encode()).hexdigest()[:16]


def _difference(row: Row, other: Row) -> str | None:
    """Return the name of the first entry in which two rows are not the same result."""
    pairs = zip(Row._fields, without_timings(row), without_timings(other), strict=True)
    return next((name for name, a, b in pairs if a != b and name != "versions"), None)


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)
