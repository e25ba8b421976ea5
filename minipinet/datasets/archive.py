"""The files of one data set, out of a folder or a zip, in memory: nothing is ever unpacked to disk."""

from __future__ import annotations

import io
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
#: The unpacked files of one data set may take this many bytes; those of the largest sets take some hundred million.
MAX_UNPACKED = 2**31


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
            return unzip(path.read_bytes(), where)
        name, files = _pick({file.name: file for file in sorted(path.iterdir()) if file.is_file()}, where)
        return TUFiles(name, where, {role: file.read_bytes() for role, file in files.items()})
    except OSError as error:
        raise DataError(f"{error.filename or where}: cannot be read: {error.strerror or error}") from error


def unzip(raw: bytes, where: str, *, max_bytes: int = MAX_UNPACKED) -> TUFiles:
    """Read the files of the data set in a zip that is already in memory.

    Parameters
    ----------
    raw : bytes
        The zip.
    where : str
        Its path or address in messages.
    max_bytes : int
        Largest total size of the unpacked files.

    Raises
    ------
    DataError
        If it is no zip, is cut short or damaged, is encrypted, is too big, or holds no data set or several.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            name, files = _pick({info.filename: info for info in archive.infolist()}, where)
            if any(info.flag_bits & 1 for info in files.values()):
                raise DataError(f"{where}: the zip is encrypted; expected one without a password")
            # zipfile never reads past the sizes that the zip declares, so checking those is enough.
            size = sum(info.file_size for info in files.values())
            if size > max_bytes:
                raise DataError(f"{where}: expected at most {max_bytes} bytes of unpacked files, got {size}")
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


def _pick(members: dict[str, Member], where: str) -> tuple[str, dict[str, Member]]:
    """Choose the files of the one data set among members given by their paths inside the folder or zip."""
    found = {}
    for path, member in members.items():
        # Doubled slashes and Windows' backslashes occur; macOS adds a "._" file to each file.
        *folders, file = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")] or [""]
        if ".." in folders or file.startswith("._"):
            continue
        key = ("/".join(folders), file)
        if key in found:
            raise DataError(f"{where}: holds {file} twice")
        found[key] = member
    sets = [key for key in found if key[1].endswith("_A.txt")]
    if len(sets) != 1:
        names = ", ".join(sorted(file for _, file in sets)) or "none"
        raise DataError(f"{where}: expected the files of one TU data set, so one NAME_A.txt; got {names}")
    folder, file = sets[0]
    name = file.removesuffix("_A.txt")
    keys = {role: (folder, f"{name}_{role}.txt") for role in ROLES}
    return name, {role: found[key] for role, key in keys.items() if key in found}
