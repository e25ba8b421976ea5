"""The results store: one SQLite file, one row for each finished cell; a process that is killed costs no row."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from minipinet._files import as_path
from minipinet.errors import DataError, MinipinetError, UsageError
from minipinet.experiments.columns import COLUMNS, from_values, to_cell, to_values
from minipinet.experiments.records import Cell, Row

_T = TypeVar("_T")

#: Marks the file as one of ours: "PiNe" in ASCII, where SQLite keeps the application's number.
APPLICATION = 0x50694E65
SCHEMA = 1

_ORDER = ", ".join(Cell._fields)
#: Seconds to wait for another process that writes.
_PATIENCE = 60.0


class Store(sqlite3.Connection):
    """An open store."""

    path: Path  #: as it was given, for messages


@contextlib.contextmanager
def open_store(path: str | os.PathLike[str], *, read_only: bool = False) -> Iterator[Store]:
    """Open a results store, making it if there is none; a new one appears under its name whole.

    Any number of processes may read while others write; each row is written whole or not at all, and is on the disk
    when :func:`insert` returns. The file must be on a local disk: SQLite's write-ahead log needs shared memory.

    Parameters
    ----------
    path : path
        Of the file; beside it stand ``-wal`` and ``-shm`` while it is open, and after a kill.
    read_only : bool
        Make and change nothing. A store in a folder that cannot be written, such as one on a read-only medium, is read
        as a file that nobody changes, unless a writer's log stands beside it.

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
    place = as_path(path, "store", "the name of a file")
    if not _is_there(place, read_only) and not read_only:
        try:
            with new_store(path):
                pass
        except UsageError:
            if not place.exists():
                raise
    still = read_only and _is_still(place.resolve())
    with _connected(place, f"{'ro' if read_only else 'rw'}{'&immutable=1' if still else ''}", place) as store:
        store.execute("PRAGMA busy_timeout")  # opens the file: what is wrong with it is told here
        if not read_only and _marks(store) == (0, 0, 0):
            store.execute("PRAGMA journal_mode = WAL")
            _make_table(store)
        _check_schema(store)
        store.execute("PRAGMA synchronous = FULL")
        yield store


@contextlib.contextmanager
def new_store(path: str | os.PathLike[str]) -> Iterator[Store]:
    """Make a store that appears under its name when the block ends, whole, and not at all when the block raises.

    Raises
    ------
    UsageError
        When something has this name by then.
    MinipinetError
        When the file cannot be written.
    """
    place = as_path(path, "store", "the name of a file")
    target = place.resolve()  # of a symbolic link, which stays one
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    except OSError as error:
        raise MinipinetError(f"{path}: cannot be used as a results store: {error.strerror}") from error
    with folder:
        made = Path(folder.name) / target.name
        with _connected(made, "rwc", place) as store:
            _make_table(store)
            yield store
            store.execute("PRAGMA journal_mode = WAL")  # last, so that the one file holds all
        try:
            _give_name(made, target)
        except FileExistsError:
            raise UsageError(f"{path}: something has this name meanwhile; try again") from None
        except OSError as error:
            raise MinipinetError(f"{path}: cannot be used as a results store: {error.strerror}") from error


def insert(store: Store, row: Row) -> bool:
    """Add a row unless its key is there, in one transaction; return whether it was added."""
    marks = ", ".join("?" * len(COLUMNS))
    query = f"INSERT INTO results VALUES ({marks}) ON CONFLICT (key) DO NOTHING"
    return store.execute(query, to_values(row)).rowcount == 1


def cells_in(store: Store) -> list[Cell]:
    """Return the cells of all rows, in order."""
    found = store.execute(f"SELECT key, {_ORDER} FROM results ORDER BY {_ORDER}")
    return [_located(store, to_cell, key, values) for key, *values in found]


def rows(store: Store, **fields: Any) -> Iterator[Row]:
    """Yield the rows whose cells have the given values, such as ``protocol="paper"``, in the order of their cells.

    What is added meanwhile is not seen.

    Raises
    ------
    UsageError
        For a name that is no field of a cell, nor ``key``.
    DataError
        On the way, for a row that somebody edited, naming file, key and field.
    """
    unknown = fields.keys() - {"key", *Cell._fields}
    if unknown:
        raise UsageError(f"fields: expected names among key, {_ORDER}, got {', '.join(sorted(unknown))}")
    where = " AND ".join(f"{name} = ?" for name in fields)
    query = f"SELECT * FROM results {'WHERE ' + where if where else ''} ORDER BY {_ORDER}"
    found = store.execute(query, tuple(fields.values()))
    return (_located(store, _to_row, values[0], values) for values in found)


def _to_row(_: Any, values: Sequence[Any]) -> Row:
    return from_values(values)


def _located(store: Store, read: Callable[[Any, Sequence[Any]], _T], key: Any, values: Sequence[Any]) -> _T:
    """Return what `read` makes of a row, with file and key in front of its errors."""
    try:
        return read(key, values)
    except DataError as error:
        raise DataError(f"{store.path}: {key}: {error}") from error


def _is_there(place: Path, read_only: bool) -> bool:
    """Return whether there is a file that may be a store; refuse what cannot be one before SQLite touches it."""
    if place.is_dir():
        raise UsageError(f"{place}: is a folder; a results store is a file")
    if not place.exists():
        if read_only:
            raise UsageError(f"{place}: there is no results store")
        return False
    head = None
    if place.is_file():  # reading a pipe would wait for whoever writes it
        try:
            with place.open("rb") as file:
                head = file.read(16)
        except OSError as error:
            raise MinipinetError(f"{place}: cannot be used as a results store: {error.strerror}") from error
    if head not in (b"", b"SQLite format 3\0"):
        raise UsageError(f"{place}: is no results store of minipinet; name another file")
    return True


def _is_still(file: Path) -> bool:
    """Return whether nobody changes a file: SQLite could not open it otherwise, for want of a place for `-shm`."""
    logs = [file.with_name(file.name + end) for end in ("-wal", "-journal")]
    return not os.access(file.parent, os.W_OK) and not any(log.exists() and log.stat().st_size for log in logs)


def _give_name(made: Path, target: Path) -> None:
    """Give a file its name unless something has it."""
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError from None
        made.rename(target)


def _make_table(store: Store) -> None:
    """Make the table unless another process has."""
    store.execute("BEGIN IMMEDIATE")
    if _marks(store) == (0, 0, 0):
        columns = ", ".join(f"{name} {kind.replace('JSON', 'TEXT')} NOT NULL" for name, kind in COLUMNS.items())
        store.execute(f"CREATE TABLE results ({columns}, PRIMARY KEY (key))")
        store.execute(f"PRAGMA application_id = {APPLICATION}")
        store.execute(f"PRAGMA user_version = {SCHEMA}")
    store.execute("COMMIT")


def _check_schema(store: Store) -> None:
    """Refuse a database that is not ours."""
    application, schema, tables = _marks(store)
    if (application, schema, tables) == (0, 0, 0):
        raise UsageError(f"{store.path}: there is no results store yet, only an empty file")
    if application != APPLICATION:
        raise UsageError(f"{store.path}: is no results store of minipinet; name another file")
    if schema != SCHEMA:
        raise DataError(f"{store.path}: is a results store of another version (schema {schema}, known is {SCHEMA})")


@contextlib.contextmanager
def _connected(file: Path, mode: str, path: Path) -> Iterator[Store]:
    """Open a database, and tell SQLite's errors as those of `path`, now and in the block."""
    # Symbolic links are followed, so that two names of one store share its log.
    uri = f"{file.resolve().as_uri()}?mode={mode}"
    with _told(path):
        store = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None, factory=Store)
        with contextlib.closing(store):
            store.path = path
            # What is no UTF-8 comes as text that no row may hold, and is refused with its key.
            store.text_factory = lambda text: text.decode(errors="surrogateescape")
            yield store


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
