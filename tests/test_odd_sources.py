"""Data sets from where none should be, or that are not what they seem: one error at once, or the right files."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from minipinet.datasets import load_dataset
from minipinet.datasets.archive import read_bytes, read_files, unzip
from minipinet.datasets.tables import read_table
from minipinet.datasets.tu import parse_tu
from minipinet.errors import DataError
from tests.tu_files import toy_files, write_folder, zip_bytes


def zip_of(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of members whose names may come more than once."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("role", ["A", "graph_indicator", "graph_labels", "node_labels"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_same_name_twice_in_a_zip(role: str) -> None:
    twice = [*toy_files().items(), (f"TOY_{role}.txt", b"2\n2\n")]
    with pytest.raises(DataError, match=f"^/x.zip: holds TOY_{role}.txt twice$"):
        unzip(zip_of(twice), "/x.zip")
    harmless = [*toy_files().items(), ("README.txt", b"1"), ("README.txt", b"2"), ("TOY/", b""), ("TOY/", b"")]
    assert unzip(zip_of(harmless), "/x.zip").contents == unzip(zip_bytes(toy_files()), "/x.zip").contents


def test_what_is_no_regular_file_is_never_read(tmp_path: Path) -> None:
    """Reading a pipe would wait for ever, and some devices never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(DataError, match=f"^{path}: expected a file or folder, got a pipe, device or the like$"):
            load_dataset(path)
    folder = write_folder(tmp_path / "TOY")
    (folder / "TOY_node_labels.txt").unlink()
    (folder / "TOY_node_labels.txt").symlink_to(pipe)  # an optional one too: it was not left out
    with pytest.raises(DataError, match=r"TOY_node_labels.txt: expected a file or folder, got a pipe"):
        load_dataset(folder)


def test_a_link_to_a_file_is_one(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "TOY")
    (tmp_path / "link").symlink_to(folder)
    (folder / "TOY_A.txt").rename(tmp_path / "elsewhere")
    (folder / "TOY_A.txt").symlink_to(tmp_path / "elsewhere")
    assert len(load_dataset(tmp_path / "link")) == 2


def test_a_file_too_big_is_refused_unread(tmp_path: Path) -> None:
    sparse = tmp_path / "huge.zip"
    with sparse.open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(DataError, match=f"^{sparse}: expected at most 1073741824 bytes, got 1099511627776$"):
        read_files(sparse)
    sparse.write_bytes(b"1234")
    assert read_bytes(sparse, max_bytes=4) == b"1234"
    with pytest.raises(DataError, match="expected at most 3 bytes, got 4"):
        read_bytes(sparse, max_bytes=3)


def test_a_small_zip_does_not_unpack_to_much() -> None:
    ones = b"1\n" * 2**23
    small = zip_of([*toy_files({"graph_indicator": ones}).items()])
    assert len(small) < 10**5
    most = 2**24 + 100 * len(small)
    assert len(unzip(small, "/x.zip").contents["graph_indicator"]) == 2**24
    large = zip_of([*toy_files({"graph_indicator": ones, "node_labels": ones}).items()])
    with pytest.raises(DataError, match=r"^/x.zip: expected at most \d+ bytes of unpacked files, got 33554\d+$"):
        unzip(large, "/x.zip")
    # A zip that is as large as its files, or nearly, may hold more than that.
    stored = zip_of([*toy_files({"graph_indicator": ones, "node_labels": ones}).items()], zipfile.ZIP_STORED)
    assert sum(map(len, unzip(stored, "/x.zip").contents.values())) > most


def test_macos_folders_in_a_zip_do_not_count() -> None:
    ours = unzip(zip_bytes(toy_files()), "/x.zip")
    for copy in ("__MACOSX/TOY_A.txt", "__MACOSX/TOY/TOY_A.txt", "TOY/__MACOSX/TOY_A.txt"):
        assert unzip(zip_bytes({**toy_files(), copy: b"no"}), "/x.zip") == ours


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\tb", "a\x1b[31m", "TOY/"])
def test_a_data_set_needs_a_name_that_can_be_printed(name: str) -> None:
    with pytest.raises(DataError, match=r"^/x.zip: expected a file NAME_A.txt with a printable name, got '") as error:
        unzip(zip_bytes(toy_files(name=name)), "/x.zip")
    assert str(error.value).isprintable()
    assert unzip(zip_bytes(toy_files(name="größer 2")), "/x.zip").name == "größer 2"


@pytest.mark.parametrize("value", ["٢", "１", "1٢", "-١"])
def test_digits_of_other_scripts_are_named_with_their_line(value: str) -> None:
    for whole in (True, False):
        with pytest.raises(DataError, match=r"^x_A.txt, line 2: expected a .* number, got '"):
            read_table(f"1, 2\n{value}, 3\n".encode(), "x_A.txt", whole=whole)


@pytest.mark.parametrize("end", ["\x1a", "\r\n\x1a", "\r\n\x1a\x1a\x1a", "\n\x1a\n", "\n \x1a \n"])
def test_the_end_mark_of_dos_is_no_value(end: str) -> None:
    assert read_table(f"1, 2\r\n3, 4{end}".encode(), "x_A.txt").tolist() == [[1, 2], [3, 4]]
    assert len(parse_tu(unzip(zip_bytes(toy_files({"graph_labels": f"1\n-1{end}"})), "/x.zip")).ptr) == 3
    with pytest.raises(DataError, match=r"^x_A.txt, line 1: expected a whole number"):
        read_table(b"1, 2\x1a\n3, 4\n", "x_A.txt")


def test_lengths_are_compared_before_tables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long file among short ones does not take up its many times larger table first."""
    read = []

    def spy(raw: bytes, where: str, **options: Any) -> Any:
        read.append(where)
        return read_table(raw, where, **options)

    monkeypatch.setattr("minipinet.datasets.tu.read_table", spy)
    for role in ("node_labels", "node_attributes"):
        with pytest.raises(DataError, match=f"TOY_{role}.txt: expected 5 lines, .*found 100000$"):
            parse_tu(unzip(zip_bytes(toy_files({"node_labels": "0\n" * 5, role: "1\n" * 10**5})), "/x.zip"))
    assert not any("node" in where for where in read)
    assert parse_tu(unzip(zip_bytes(toy_files()), "/x.zip")).node_labels is not None
    assert any("node" in where for where in read)
