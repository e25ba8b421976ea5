"""A results store as CSV: to read elsewhere, and to go on elsewhere with the run that it holds."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minipinet._files import as_path, write_whole
from minipinet.errors import DataError
from minipinet.experiments.columns import COLUMNS, from_values, to_values
from minipinet.experiments.records import Row, without_timings
from minipinet.experiments.store import Store, insert, rows

#: The columns of the file: those of the store, and a checksum of the line before it.
HEADER = [*COLUMNS, "checksum"]
_FROM_TEXT = {"INTEGER": int, "REAL": float, "TEXT": str, "JSON": str}
#: Letters of a field; lists of graph numbers pass what the module `csv` allows by itself.
_LONGEST_FIELD = 2**30


def _unpack_xz(data: bytes) -> bytes:
    """Return what is packed in `data`, all of it: `lzma.decompress` is silent about what stands behind."""
    parts: list[bytes] = []
    while data or not parts:
        unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        parts.append(unpack.decompress(data))
        if not unpack.eof:
            raise EOFError("the packed data end early")
        data = unpack.unused_data
    return b"".join(parts)


#: What packs and unpacks a file of this ending; any other is plain text. No time of day in the file: the same rows give
#: the same bytes.
_PACK = {".gz": lambda data: gzip.compress(data, mtime=0), ".xz": lzma.compress}
_UNPACK = {".gz": gzip.decompress, ".xz": _unpack_xz}


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
    path = as_path(path)
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


def import_csv(store: Store, *paths: str | os.PathLike[str]) -> int:
    """Add the rows of files that :func:`export_csv` wrote, plain or packed, all or none, and return how many were new.

    Rows that the store has already, to the same result (times and versions aside), stay as they are.

    Raises
    ------
    DataError
        Naming file and line: for a row that was changed, one whose fields cannot be those of a row, and one whose cell
        has another result in the store; for a file with other columns.
    """
    added = 0
    store.execute("BEGIN IMMEDIATE")
    try:
        for path in map(as_path, paths):
            for line, row in _read(path):
                if insert(store, row):
                    added += 1
                elif (difference := _difference(row, next(rows(store, key=row.cell.key)))) is not None:
                    raise DataError(f"{path}, line {line}: the store has {row.cell.key} with another {difference}")
        store.execute("COMMIT")
    except BaseException:
        if store.in_transaction:  # a full disk ends it by itself
            store.execute("ROLLBACK")
        raise
    return added


def _read(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file with their line numbers."""
    try:
        data = path.read_bytes()
        text = (_UNPACK[path.suffix](data) if path.suffix in _UNPACK else data).decode()
        with _long_fields():
            reader = csv.reader(io.StringIO(text, newline=""), strict=True)
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
        values = [_FROM_TEXT[kind](cell) for kind, cell in zip(COLUMNS.values(), cells, strict=True)]
        return from_values(tuple(values))
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    except ValueError as error:  # no number
        raise DataError(f"{where}: cannot be read: {error}") from error


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
