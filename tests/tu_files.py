"""A small TU data set for tests, to be written as a folder or a zip after changing what a test is about."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

#: Two graphs: a path of three nodes, class 1, and an edge, class -1.
TOY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n1\n2\n0\n1\n",
}


def toy_files(changes: dict[str, str | bytes | None] | None = None, name: str = "TOY") -> dict[str, bytes]:
    """Return file name to content; `changes` replaces files by role, or removes those set to None."""
    contents = {**TOY, **(changes or {})}
    return {
        f"{name}_{role}.txt": content if isinstance(content, bytes) else content.encode()
        for role, content in contents.items()
        if content is not None
    }


def write_folder(folder: Path, changes: dict[str, str | bytes | None] | None = None, name: str = "TOY") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in toy_files(changes, name).items():
        (folder / file).write_bytes(content)
    return folder


def zip_bytes(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def toy_zip(changes: dict[str, str | bytes | None] | None = None, name: str = "TOY") -> bytes:
    return zip_bytes({f"{name}//{file}": content for file, content in toy_files(changes, name).items()})
