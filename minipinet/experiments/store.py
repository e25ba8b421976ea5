"""The results store: one SQLite file, one row for each finished cell; a process that is killed costs no row."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from minipinet.errors import DataError, MinipinetError, UsageError
from minipinet.experiments.records import Cell, Row, to_text

#: An open store.
Store: TypeAlias = sqlite3.Connection

#: Marks the file as one of ours: "PiNe" in ASCII, where SQLite keeps the application's number.
APPLICATION = 0x50694E65
SCHEMA = 1

_PLAIN = {"seed": "INTEGER", "digest": "TEXT", "accuracy": "REAL", "seconds": "REAL"}
#: Every column with its type, in order: the key, the fields of `Cell`, and those of `Row`; JSON stands there as text.
COLUMNS = {
    "key": "TEXT",
    **{name: "INTEGER" if name in ("shuffled", "size", "repeat", "fold") else "TEXT" for name in Cell._fields},
    **{name: _PLAIN.get(name, "JSON") for name in Row._fields if name != "cell"},
}
_ORDER = ", ".join(Cell._fields)
#: Seconds to wait for another process that writes.
_PATIENCE = 60.0


@contextlib.contextmanager
def open_store(path: str | os.PathLike[str], *, read_only: bool = False) -> Iterator[Store]:
    """Open a results store, making it if there is none.

    Any number of processes may read while others write; each row is written whole or not at all, and is on the disk
    when :func:`insert` returns. The file must be on a local disk: SQLite's write-ahead log needs shared memory.

    Parameters
    ----------
    path : path
        Of the file; beside it stand ``-wal`` and ``-shm`` while it is open, and after a kill.
    read_only : bool
        Make and change nothing.

    Raises
    ------
    UsageError
        When there is something else under this name, or nothing and `read_only`.
    DataError
        For a store of another version, and a damaged one.
    MinipinetError
        When the file cannot be read or written, also later, inside the block.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(folder + "/results.sqlite") as store:
    ...     cells_in(store)
    []
    """
    path = Path(path)
    _check_file(path, read_only)
    # Symbolic links are followed, so that two names of one store share its log.
    uri = f"{path.resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    with _told(path):
        store = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
        with contextlib.closing(store):
            _check_schema(store, path, read_only)
            yield store


def insert(store: Store, row: Row) -> bool:
    """Add a row unless its key is there, in one transaction; return whether it was added."""
    marks = ", ".join("?" * len(COLUMNS))
    return store.execute(f"INSERT OR IGNORE INTO results VALUES ({marks})", to_values(row)).rowcount == 1


def cells_in(store: Store) -> list[Cell]:
    """Return the cells of all rows, in order."""
    return [Cell(*values) for values in store.execute(f"SELECT {_ORDER} FROM results ORDER BY {_ORDER}")]


def rows(store: Store, **fields: Any) -> Iterator[Row]:
    """Yield the rows whose cells have the given values, such as ``protocol="paper"``, in the order of their cells.

    What is added meanwhile is not seen.

    Raises
    ------
    UsageError
        For a name that is no field of a cell, nor ``key``.
    """
    unknown = fields.keys() - {"key", *Cell._fields}
    if unknown:
        raise UsageError(f"fields: expected names among key, {_ORDER}, got {', '.join(sorted(unknown))}")
    where = " AND ".join(f"{name} = ?" for name in fields)
    query = f"SELECT * FROM results {'WHERE ' + where if where else ''} ORDER BY {_ORDER}"
    return map(from_values, store.execute(query, tuple(fields.values())))


def to_values(row: Row) -> tuple[Any, ...]:
    """Return what the columns hold for a row."""
    found = {"key": row.cell.key, **row.cell._asdict(), **row._asdict()}
    return tuple(to_text(found[name]) if kind == "JSON" else found[name] for name, kind in COLUMNS.items())


def from_values(values: tuple[Any, ...]) -> Row:
    """Return the row of what the columns hold."""
    named = zip(COLUMNS.items(), values, strict=True)
    found = {name: json.loads(value) if kind == "JSON" else value for (name, kind), value in named}
    cell = Cell(*(found[name] for name in Cell._fields))
    return Row(cell, *(found[name] for name in Row._fields if name != "cell"))


def _check_file(path: Path, read_only: bool) -> None:
    """Refuse what cannot be a store before SQLite touches it."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        if read_only:
            raise UsageError(f"{path}: there is no results store") from None
        return
    except OSError as error:
        raise MinipinetError(f"{path}: cannot be used as a results store: {error.strerror}") from error
    if head not in (b"", b"SQLite format 3\0"):
        raise UsageError(f"{path}: is no results store of minipinet; name another file")


def _check_schema(store: Store, path: Path, read_only: bool) -> None:
    """Make the table in a new file; refuse a database that is not ours."""
    store.execute("PRAGMA busy_timeout")  # opens the file: what is wrong with it is told here
    if not read_only and _marks(store) == (0, 0, 0):
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("BEGIN IMMEDIATE")
        if _marks(store) == (0, 0, 0):  # once more: another process may have made it in the meantime
            columns = ", ".join(f"{name} {kind.replace('JSON', 'TEXT')} NOT NULL" for name, kind in COLUMNS.items())
            store.execute(f"CREATE TABLE results ({columns}, PRIMARY KEY (key))")
            store.execute(f"PRAGMA application_id = {APPLICATION}")
            store.execute(f"PRAGMA user_version = {SCHEMA}")
        store.execute("COMMIT")
    application, schema, _ = _marks(store)
    if application != APPLICATION:
        raise UsageError(f"{path}: is no results store of minipinet; name another file")
    if schema != SCHEMA:
        raise DataError(f"{path}: is a results store of another version (schema {schema}, known is {SCHEMA})")
    store.execute("PRAGMA synchronous = FULL")


def _marks(store: Store) -> tuple[int, int, int]:
    """Return the application's number, the schema's, and how many tables there are."""
    queries = ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    application, schema, tables = (int(store.execute(query).fetchone()[0]) for query in queries)
    return application, schema, tables


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one sentence that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:  # locked, disk full, no permission
        raise MinipinetError(f"{path}: cannot be used as a results store: {error}") from error
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path}: is damaged: {error}") from error
