"""Files on disk: written whole or not at all, strict JSON, and one writer to a folder."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minipinet.errors import DataError, MinipinetError, UsageError

try:
    import fcntl
except ImportError:  # Windows has no flock: two writers to one folder are not noticed there.
    fcntl = None  # type: ignore[assignment]


def as_path(value: Any, argument: str = "path", expected: str = "the path of a file") -> Path:
    """Return an argument that names a file or folder as a path; a UsageError if no file can have that name.

    Examples
    --------
    >>> as_path(None)
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: path: expected the path of a file, got None
    """
    try:
        text = os.fspath(value)
        usable = isinstance(text, str) and text != "" and b"\0" not in os.fsencode(text)
    except (TypeError, UnicodeError):
        usable = False
    if not usable:
        raise UsageError(f"{argument}: expected {expected}, got {value!r:.80}")
    return Path(text)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`; whatever happens on the way, a file there holds the old or the new content, whole.

    A file that holds the content already is left as it is. A symbolic link stays one: what it names is written. What
    cannot be replaced is written to as it stands: a pipe, a device, and a stream of this process such as
    ``/dev/stdout``, whatever it leads to.

    Raises
    ------
    UsageError
        If `path` is no path.
    MinipinetError
        When the file cannot be written (disk full, no such folder, no permission); nothing is left behind.
    """
    path = as_path(path)
    try:
        if (stream := _stream_of(path)) is not None:
            _write_to(os.dup(stream), content)
        elif path.exists() and not path.is_file() and not path.is_dir():
            _write_to(os.open(path, os.O_WRONLY), content)
        elif not _holds(path, content):
            _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise MinipinetError(f"{path}: cannot be written: {error.strerror or error}") from error


def _stream_of(path: Path) -> int | None:
    """Return the number of the open file of this process that `path` stands for, as ``/dev/stdout`` does for 1."""
    for _ in range(8):  # links on the way, of which Linux follows forty
        folder = os.path.realpath(path.parent)
        if path.name.isdecimal() and folder in ("/dev/fd", os.path.realpath("/proc/self/fd")):
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def _write_to(number: int, content: bytes) -> None:
    with open(number, "wb") as file:
        file.write(content)


def _replace(target: Path, content: bytes) -> None:
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def remove_partials(folder: Path, names: Iterable[str]) -> None:
    """Remove what a killed :func:`write_whole` of files with these names left in `folder`, and not below it."""
    ours = re.compile(rf"\.({'|'.join(map(re.escape, names))})\.\d+\.partial")
    for entry in folder.iterdir():
        if ours.fullmatch(entry.name) and entry.is_file():
            remove_file(entry)


def remove_file(path: Path) -> None:
    """Remove a file if it is there; a MinipinetError if it cannot be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise MinipinetError(f"{path}: cannot be removed: {error.strerror}") from error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, unless it is there; a MinipinetError if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MinipinetError(f"{folder}: cannot be made: {error.strerror}") from error


def to_plain(value: Any) -> Any:
    """Return `value` as dicts, lists, strings, numbers, booleans and None: what strict JSON knows.

    NumPy scalars and arrays, named tuples, dataclasses and paths are unfolded; NaN and infinities become None,
    because JSON has no word for them.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> to_plain({"accuracy": np.float32(0.5), "loss": float("nan"), "fold": np.arange(2)})
    {'accuracy': 0.5, 'loss': None, 'fold': [0, 1]}
    """
    if isinstance(value, np.ndarray | np.generic):
        return to_plain(value.tolist())
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return to_plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    raise TypeError(f"no JSON form for {type(value).__name__}")


def write_json(path: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Write `record` as strict JSON, one line for each of its entries."""
    lines = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in to_plain(record).items())
    write_whole(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON object in `path`; anything else there is a DataError."""
    try:
        record = json.loads(as_path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(record, dict):
        raise DataError(f"{path}: expected a JSON object, got {type(record).__name__}")
    return record


@contextlib.contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold `folder` against other processes; the system lets go of it when this process ends, however it ends.

    Raises
    ------
    UsageError
        When another process holds it.
    """
    try:
        file = (folder / ".lock").open("a")
    except OSError as error:
        raise MinipinetError(f"{folder}: cannot be written: {error.strerror}") from error
    with file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{folder}: another process is writing this run; wait for it or stop it") from None
            except OSError:  # a file system without locks: as without flock
                pass
        yield
