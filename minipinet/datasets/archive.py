"""The files of one data set, out of a folder or a zip, in memory: nothing is ever unpacked to disk."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path
from typing import NamedTuple, TypeVar

from minipinet.errors import DataError

Member = TypeVar("Member")

#: The files that a TU data set may hold: NAME_A.txt, NAME_graph_indicator.txt, ...
ROLES = (
    "A",
    "graph_indicator",
    "graph_labels",
    "node_labels",
    "node_attributes",
    "edge_labels",
    "edge_attributes",
    "graph_attributes",
)
#: The files of one data set may take this many bytes; those of the largest sets take some hundred million.
MAX_UNPACKED = 2**30
#: A zip may unpack to this many times its size (those of the collection: 5 to 10), and this many bytes more.
_MOST_PACKED = 100
_ALWAYS_UNPACKED = 2**24


class TUFiles(NamedTuple):
    """The raw files of one data set.

    Attributes
    ----------
    name : str
        The data set's own name: what stands before ``_A.txt``.
    where : str
        The folder or zip they came from, for messages.
    contents : dict of str to bytes
        From role (see ``ROLES``) to content.
    """

    name: str
    where: str
    contents: dict[str, bytes]

    def path(self, role: str) -> str:
        """Name of the file of this role in messages."""
        return f"{self.where}/{self.name}_{role}.txt"


def is_zip(path: Path) -> bool:
    """Return whether a path is called a zip."""
    return path.suffix.lower() == ".zip"


def holds_set(path: Path) -> bool:
    """Return whether there is a file NAME_A.txt in a folder or zip; False for what cannot be read."""
    try:
        if path.is_dir():
            return any(path.glob("*_A.txt"))
        if not path.is_file():  # opening a pipe would wait for ever
            return False
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("_A.txt") for name in archive.namelist())
    except Exception:  # see unzip
        return False


def read_files(path: Path) -> TUFiles:
    """Read the files of the data set in the folder or zip `path`.

    Raises
    ------
    DataError
        If they cannot be read, or `path` holds no data set or more than one.
    """
    where = str(path)
    try:
        if not path.is_dir():
            return unzip(read_bytes(path), where)
        name, files = _pick([(file.name, file) for file in sorted(path.iterdir()) if not file.is_dir()], where)
        return TUFiles(name, where, {role: read_bytes(file) for role, file in files.items()})
    except OSError as error:
        raise DataError(f"{error.filename or where}: cannot be read: {error.strerror or error}") from error


def read_bytes(path: Path, *, max_bytes: int = MAX_UNPACKED) -> bytes:
    """Read a file of a data set, which a pipe or device is not: reading one may never end.

    Raises
    ------
    DataError
        If `path` is no regular file, or too big.
    OSError
        If it is not there or cannot be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{path}: expected a file or folder, got a pipe, device or the like")
    if status.st_size > max_bytes:
        raise DataError(f"{path}: expected at most {max_bytes} bytes, got {status.st_size}")
    return path.read_bytes()


def unzip(raw: bytes, where: str, *, max_bytes: int = MAX_UNPACKED) -> TUFiles:
    """Read the files of the data set in a zip that is already in memory.

    Parameters
    ----------
    raw : bytes
        The zip.
    where : str
        Its path or address in messages.
    max_bytes : int
        Largest total size of the unpacked files; less for a small zip that unpacks to a large multiple of its size.

    Raises
    ------
    DataError
        If it is no zip, is cut short or damaged, is encrypted, is too big, or holds no data set or several.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            name, files = _pick([(info.filename, info) for info in archive.infolist() if not info.is_dir()], where)
            if any(info.flag_bits & 1 for info in files.values()):
                raise DataError(f"{where}: the zip is encrypted; expected one without a password")
            # zipfile never reads past the sizes that the zip declares, so checking those is enough.
            size = sum(info.file_size for info in files.values())
            most = min(max_bytes, _ALWAYS_UNPACKED + _MOST_PACKED * len(raw))
            if size > most:
                raise DataError(f"{where}: expected at most {most} bytes of unpacked files, got {size}")
            return TUFiles(name, where, {role: archive.read(info) for role, info in files.items()})
    except DataError:
        raise
    except Exception as error:  # a damaged zip fails in a dozen ways: BadZipFile, zlib.error, RuntimeError, ...
        raise DataError(f"{where}: {_what_is(raw)} ({error})") from error


def _what_is(raw: bytes) -> str:
    if not raw:
        return "expected a zip, got an empty file"
    if raw.lstrip()[:1] == b"<":
        return "expected a zip, got a web page"
    return "the zip is cut short or damaged" if raw.startswith(b"PK") else "expected a zip, got something else"


def _pick(members: list[tuple[str, Member]], where: str) -> tuple[str, dict[str, Member]]:
    """Choose the files of the one data set among members given with their paths inside the folder or zip."""
    found: dict[tuple[str, str], list[Member]] = {}
    for path, member in members:
        # Doubled slashes and Windows' backslashes occur; macOS adds a folder "__MACOSX" and a "._" file to each file.
        *folders, file = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")] or [""]
        if not (".." in folders or "__MACOSX" in folders or file.startswith("._")):
            found.setdefault(("/".join(folders), file), []).append(member)
    sets = [key for key in found if key[1].endswith("_A.txt")]
    if len(sets) != 1:
        names = ", ".join(sorted(file for _, file in sets)) or "none"
        raise DataError(f"{where}: expected the files of one TU data set, so one NAME_A.txt; got {names}")
    folder, file = sets[0]
    name = file.removesuffix("_A.txt")
    if not name.strip() or not name.isprintable():
        raise DataError(f"{where}: expected a file NAME_A.txt with a printable name, got {file!r:.80}")
    keys = {role: (folder, f"{name}_{role}.txt") for role in ROLES}
    for key in keys.values():
        if len(found.get(key, [])) > 1:
            raise DataError(f"{where}: holds {key[1]} twice")
    return name, {role: found[key][0] for role, key in keys.items() if key in found}
