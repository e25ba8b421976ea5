"""The results store: whole rows or none, readers meanwhile, other files refused."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minipinet.errors import DataError, MinipinetError, UsageError
from minipinet.experiments.columns import COLUMNS
from minipinet.experiments.records import Cell
from minipinet.experiments.store import cells_in, insert, open_store, rows
from tests.small_data import ROOT, command, environment
from tests.small_rows import CELL, agreeing, row, several


def test_a_row_comes_back_equal(tmp_path: Path) -> None:
    odd = agreeing(
        row(CELL._replace(dataset="a:b c'", variant='{"pq":[1.0,0.0]}', fold=7), accuracy=1 / 49, validation_index=[8])
    )
    with open_store(tmp_path / "s.sqlite") as store:
        assert insert(store, row())
        assert insert(store, odd)
        assert list(rows(store)) == [row(), odd]
    with open_store(tmp_path / "s.sqlite", read_only=True) as store:
        assert list(rows(store, fold=7)) == [odd]
        assert list(rows(store, key=odd.cell.key, experiment="comparison")) == [odd]
        assert list(rows(store, fold=8)) == []
        assert cells_in(store) == [row().cell, odd.cell]


def test_the_first_row_of_a_key_stays(tmp_path: Path) -> None:
    with open_store(tmp_path / "s") as store:
        assert insert(store, agreeing(row(accuracy=0.25)))
        assert not insert(store, agreeing(row(accuracy=0.75)))
        assert [found.accuracy for found in rows(store)] == [0.25]


def test_rows_come_in_the_order_of_their_cells(tmp_path: Path) -> None:
    with open_store(tmp_path / "s") as store:
        for made in reversed(several(12)):
            insert(store, made)
        assert list(rows(store)) == several(12)
        with pytest.raises(
            UsageError, match=r"^fields: expected names among key, experiment, .*, got accuracy, seconds"
        ):
            rows(store, seconds=1, accuracy=2)


def others_of(cell: Cell) -> Iterator[list[Any]]:
    for place, value in enumerate(cell):
        yield [*cell[:place], value + 1 if isinstance(value, int) else "x", *cell[place + 1 :]]


def test_every_field_of_a_cell_counts_in_its_key() -> None:
    others = [Cell(*values) for values in others_of(CELL)]
    assert len({cell.key for cell in [CELL, *others]}) == 1 + len(Cell._fields)


def test_readers_see_what_is_there_while_a_writer_is_at_work(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with open_store(path) as writer, open_store(path, read_only=True) as reader:
        insert(writer, row())
        assert len(cells_in(reader)) == 1
        writer.execute("BEGIN IMMEDIATE")
        insert(writer, row(CELL._replace(fold=1)))
        assert len(cells_in(reader)) == 1
        writer.execute("COMMIT")
        assert len(cells_in(reader)) == 2


def test_a_reader_on_its_way_through_the_rows_holds_up_no_writer(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with open_store(path) as writer, open_store(path, read_only=True) as reader:
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,), "on the disk when insert returns"
        for made in several(3):
            insert(writer, made)
        found = rows(reader)
        first = next(found)
        assert insert(writer, row(CELL._replace(fold=9)))
        assert [first, *found] == several(3)


def test_two_writers_wait_for_each_other(tmp_path: Path) -> None:
    with open_store(tmp_path / "s") as store:
        insert(store, row())

    def write(repeat: int) -> None:
        with open_store(tmp_path / "s") as own:
            for made in several(20):
                insert(own, made._replace(cell=made.cell._replace(repeat=repeat % 2)))

    threads = [threading.Thread(target=write, args=(repeat,)) for repeat in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(tmp_path / "s", read_only=True) as store:
        assert len(list(rows(store))) == len(set(cells_in(store))) == 40


KILLED = """
import os, signal, sys
from minipinet.experiments.store import insert, open_store
from tests.small_rows import several
with open_store(sys.argv[1]) as store:
    for number, made in enumerate(several(9)):
        if number == 5:
            store.execute("BEGIN IMMEDIATE")  # and never the end of it
        insert(store, made)
        if number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_is_killed_leaves_whole_rows(tmp_path: Path) -> None:
    path = tmp_path / "s"
    run = subprocess.run(command(KILLED, path), cwd=ROOT, env=environment(), check=False)
    assert run.returncode == -9
    with open_store(path) as store:
        assert list(rows(store)) == several(5)
        assert [insert(store, made) for made in several(9)] == [False] * 5 + [True] * 4


def write_text(path: Path) -> None:
    path.write_text("SQLite is not what this is")


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE results (key TEXT)")


def other_schema(path: Path) -> None:
    with open_store(path) as store:
        store.execute("PRAGMA user_version = 99")


def damaged(path: Path) -> None:
    with open_store(path) as store:
        for made in several(50):
            insert(store, made)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (write_text, UsageError, "is no results store of minipinet; name another file"),
        (other_database, UsageError, "is no results store of minipinet; name another file"),
        (other_schema, DataError, r"is a results store of another version \(schema 99, known is 1\)"),
        (damaged, DataError, "is damaged: "),
        (Path.mkdir, UsageError, "is a folder; a results store is a file"),
        (os.mkfifo, UsageError, "is no results store of minipinet; name another file"),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_no_store_is_refused_and_left_alone(
    make: Callable[[Path], None], error: type[Exception], text: str, read_only: bool, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(error, match=f"^{path}: {text}"), open_store(path, read_only=read_only) as store:
        list(rows(store))
    assert not path.is_file() or path.read_bytes() == before


def test_a_reader_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no results store"), open_store(tmp_path / "s", read_only=True):
        pass
    assert list(tmp_path.iterdir()) == []
    with open_store(tmp_path / "s"):
        pass
    with open_store(tmp_path / "s", read_only=True) as store, pytest.raises(sqlite3.OperationalError):
        insert(store, row())


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(MinipinetError, match=r"/no/s: cannot be used as a results store: "),
        open_store(tmp_path / "no" / "s"),
    ):
        pass


@pytest.mark.parametrize("content", [b"", "header"])
def test_a_store_whose_making_was_cut_off_is_made(content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA journal_mode = WAL")
    with open_store(path) as store:
        assert insert(store, row())


def test_names_of_files_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=ro#%41.sqlite"
    with open_store(path) as store:
        insert(store, row())
    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208


def test_the_columns_are_those_of_cells_and_rows() -> None:
    assert list(COLUMNS) == [
        "key", "experiment", "protocol", "system", "dataset", "variant", "features", "shuffled", "size", "repeat",
        "fold", "settings", "versions", "seed", "digest", "train_index", "validation_index", "test_index", "truth",
        "predictions", "accuracy", "duplicates", "details", "seconds",
    ]  # fmt: skip
