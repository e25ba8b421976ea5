"""The file of a store: made whole or not at all, on a full disk too, and read where nothing can be written."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minipinet.errors import DataError, MinipinetError, UsageError
from minipinet.experiments import store as store_module
from minipinet.experiments.exchange import export_csv
from minipinet.experiments.store import insert, new_store, open_store, rows
from tests.cli_calls import call
from tests.small_data import files
from tests.small_rows import row, several


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, which looks like a full disk to the program."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 1000, 4096, 5000, 8192, 20_000])
def test_a_disk_that_fills_while_a_store_is_made_leaves_nothing(size: int, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store("s") as store:
        for made in several(40):
            insert(store, made)
        export_csv(store, "x.csv")
    before = files(Path())
    with largest_file(size):
        if size < 8192:
            with pytest.raises(MinipinetError, match=r"^new: cannot be used as a results store: "), open_store("new"):
                pass
        outcome = call(capsys, "results", "new", "--import", "x.csv")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("minipinet: error: new: cannot be used as a results store: ")
    assert outcome.err.count("\n") == 1
    assert files(Path()) == before
    assert call(capsys, "results", "new", "--import", "x.csv").err == "40 rows added from x.csv\n"


def test_a_new_store_appears_when_it_is_whole() -> None:
    with new_store("new") as store:
        insert(store, row())
        assert not Path("new").exists()
    assert files(Path()) == ["new"]
    with open_store("new") as store:
        assert list(rows(store)) == [row()]
        assert store.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with pytest.raises(DataError, match="NOT NULL"), new_store("other") as store:
        insert(store, row(accuracy=float("nan")))
    assert files(Path()) == ["new"]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_store_takes_no_name_that_is_taken(links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:  # as on FAT
        monkeypatch.setattr(os, "link", no_link)
    with new_store("new") as store:
        insert(store, row())
    with open_store("new", read_only=True) as store:
        assert list(rows(store)) == [row()]
    with pytest.raises(UsageError, match=r"^taken: something has this name meanwhile"), new_store("taken"):
        Path("taken").write_text("mine")
    assert Path("taken").read_text() == "mine"


def test_a_store_that_another_process_makes_first_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one makes it between the look and the making."""
    with open_store("s") as store:
        insert(store, row())
    monkeypatch.setattr(store_module, "_is_there", lambda *_: False)
    with open_store("s") as store:
        assert list(rows(store)) == [row()]


def test_a_link_to_a_store_that_is_to_be_made_stays_one() -> None:
    Path("folder").mkdir()
    Path("link").symlink_to("folder/s")
    with open_store("link") as store:
        insert(store, row())
    assert Path("link").is_symlink()
    assert files(Path()) == ["folder", "folder/s", "link"]


@pytest.mark.parametrize("content", [b"", "header"])
def test_a_reader_says_that_an_empty_file_is_no_store_yet(content: bytes | str) -> None:
    Path("s").write_bytes(b"")
    if content == "header":
        with store_module._connected(Path("s"), "rw", Path("s")) as store:
            store.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(UsageError, match=r"^s: there is no results store yet"), open_store("s", read_only=True):
        pass


@pytest.mark.parametrize("path", ["", "."])
@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_name_of_a_file_is_bad_use(path: str, read_only: bool) -> None:
    with (
        pytest.raises(UsageError, match=r"^store: expected the name of a file, got ''|^\.: is a folder"),
        open_store(path, read_only=read_only),
    ):
        pass
    assert files(Path()) == []


def finished() -> None:
    with open_store("s") as store:
        insert(store, row())


def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the folder one where SQLite cannot make `-shm`, even for root: a link has its name."""
    Path("s-shm").symlink_to("nothing")
    monkeypatch.setattr(os, "access", lambda *_: False)


def test_a_store_where_nothing_can_be_written_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    finished()
    Path("s-shm").symlink_to("nothing")
    refused = pytest.raises(MinipinetError, match="unable to open database file")
    with refused, open_store("s", read_only=True):  # the folder counts as one that can be written
        pass
    for name in ("s-shm", "s-wal"):  # the second is left by the attempt; a folder like that would not have it
        Path(name).unlink()
    unwritable(monkeypatch)
    with open_store("s", read_only=True) as store:
        assert list(rows(store)) == [row()]
    assert files(Path()) == ["s", "s-shm"]


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_log_beside_a_store_says_that_it_is_not_still(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    finished()
    unwritable(monkeypatch)
    Path(f"s{end}").write_bytes(b"a row that is not in the file yet")
    with pytest.raises(MinipinetError, match="cannot be used as a results store"), open_store("s", read_only=True):
        pass


def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    finished()
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("root may write everywhere")
        with open_store("s", read_only=True) as store:
            assert list(rows(store)) == [row()]
    finally:
        tmp_path.chmod(stat.S_IRWXU)
