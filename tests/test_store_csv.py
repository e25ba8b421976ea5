"""The store as CSV: there and back to the bit, on into another store, and no line that was touched."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import lzma
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from minipinet.errors import DataError
from minipinet.experiments.exchange import HEADER, export_csv, import_csv
from minipinet.experiments.records import Cell
from minipinet.experiments.store import cells_in, insert, open_store, rows
from tests.small_rows import CELL, agreeing, row, several


def exported(folder: Path, made: list[object] | None = None) -> Path:
    with open_store(folder / "first") as store:
        for entry in made or several():
            insert(store, entry)  # type: ignore[arg-type]
        assert export_csv(store, folder / "rows.csv") == len(made or several())
    return folder / "rows.csv"


def test_a_store_goes_through_csv_unchanged(tmp_path: Path) -> None:
    odd = row(CELL._replace(dataset='a,b "c"\n'), details={"long": list(range(60_000))})
    path = exported(tmp_path, [odd, *several()])
    limit = csv.field_size_limit()
    with open_store(tmp_path / "second") as store:
        assert import_csv(store, path) == 6
        assert list(rows(store)) == [*several(), odd]
        assert import_csv(store, path) == 0
    assert csv.field_size_limit() == limit


def test_a_store_with_some_of_the_rows_gets_the_others(tmp_path: Path) -> None:
    path = exported(tmp_path)
    with open_store(tmp_path / "second") as store:
        own = several()[2]._replace(seconds=99.0, versions={"python": "3.13"})
        insert(store, own)
        assert import_csv(store, path) == 4
        assert list(rows(store))[2] == own


def test_another_result_for_a_cell_is_refused_and_nothing_is_added(tmp_path: Path) -> None:
    path = exported(tmp_path)
    with open_store(tmp_path / "second") as store:
        insert(store, agreeing(several()[2]._replace(accuracy=0.0)))
        with pytest.raises(
            DataError, match=r"rows.csv, line 4: the store has comparison/.*/fold 2 with another test_index$"
        ):
            import_csv(store, path)
        assert cells_in(store) == [several()[2].cell]
        assert not store.in_transaction


def edit(path: Path, line: int, column: str, value: str) -> None:
    table = list(csv.reader(io.StringIO(path.read_text(), newline="")))
    table[line - 1][HEADER.index(column)] = value
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(table)
    path.write_text(text.getvalue())


@pytest.mark.parametrize("column", HEADER)
def test_an_edited_field_is_refused_with_its_line(column: str, tmp_path: Path) -> None:
    path = exported(tmp_path)
    edit(path, 3, column, "9")
    with open_store(tmp_path / "second") as store:
        with pytest.raises(DataError, match=r"rows.csv, line 3: was changed: its checksum"):
            import_csv(store, path)
        assert cells_in(store) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "rows.csv, line 1: expected the columns key,experiment,"),
        (b"key,accuracy\nx,1\n", "rows.csv, line 1: expected the columns key,experiment,"),
        (b"\xff\xfe", "rows.csv: cannot be read as CSV: "),
    ],
)
def test_another_file_is_refused(content: bytes, text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with open_store(tmp_path / "second") as store, pytest.raises(DataError, match=text):
        import_csv(store, path)


def test_a_line_cut_short_is_refused(tmp_path: Path) -> None:
    path = exported(tmp_path)
    path.write_text(path.read_text()[:-40])
    with open_store(tmp_path / "second") as store, pytest.raises(DataError, match=r"rows.csv(, line 6)?: "):
        import_csv(store, path)


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_a_packed_file_is_the_plain_one_and_the_same_each_time(ending: str, tmp_path: Path) -> None:
    plain = exported(tmp_path)
    with open_store(tmp_path / "first") as store:
        packed = [tmp_path / f"rows-{n}.csv{ending}" for n in range(2)]
        assert [export_csv(store, path) for path in packed] == [5, 5]
    assert packed[0].read_bytes() == packed[1].read_bytes()
    unpack = gzip.decompress if ending == ".gz" else lzma.decompress
    assert unpack(packed[0].read_bytes()) == plain.read_bytes()
    with open_store(tmp_path / "second") as store:
        assert import_csv(store, packed[0]) == 5
        assert list(rows(store)) == several()


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_packed_parts_one_after_the_other_are_one_file(ending: str, tmp_path: Path) -> None:
    lines = exported(tmp_path).read_bytes().splitlines(keepends=True)
    pack = gzip.compress if ending == ".gz" else lzma.compress
    path = tmp_path / f"rows.csv{ending}"
    path.write_bytes(pack(b"".join(lines[:3])) + pack(b"".join(lines[3:])))
    with open_store(tmp_path / "second") as store:
        assert import_csv(store, path) == 5


@pytest.mark.parametrize("ending", [".gz", ".xz"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "plain", "behind", "empty"])
def test_a_damaged_packed_file_is_one_error_and_nothing_is_added(ending: str, damage: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.csv{ending}"
    with open_store(tmp_path / "first") as store:
        for entry in several():
            insert(store, entry)
        export_csv(store, path)
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 255
    damages = {
        "cut": data[:-20],
        "flipped": data,
        "plain": b"key,experiment\n",
        "behind": data + b"garbage",
        "empty": b"",
    }
    path.write_bytes(bytes(damages[damage]))
    with open_store(tmp_path / "second") as store:
        with pytest.raises(DataError, match=rf"rows.csv{ending}"):
            import_csv(store, path)
        assert cells_in(store) == []


def test_some_of_the_rows(tmp_path: Path) -> None:
    exported(tmp_path, [*several(), row(CELL._replace(dataset="NCI1"))])
    with open_store(tmp_path / "first") as store, open_store(tmp_path / "second") as other:
        assert export_csv(store, tmp_path / "some.csv", dataset="NCI1") == 1
        assert import_csv(other, tmp_path / "some.csv") == 1
        assert [cell.dataset for cell in cells_in(other)] == ["NCI1"]


def test_the_script_exports_each_part_and_all_of_them(tmp_path: Path) -> None:
    other = [row(CELL._replace(dataset="NCI1", shuffled=shuffled)) for shuffled in (0, 1)]
    trial = row(Cell("isomorphism", "paper", "wl", "isomorphism", features="constant", size=2))
    exported(tmp_path, [*several(), *other, trial])
    script = Path(__file__).parent.parent / "scripts" / "export_rows.py"
    folder = tmp_path / "rows"
    subprocess.run([sys.executable, script, tmp_path / "first", folder], check=True)
    assert sorted(path.name for path in folder.iterdir()) == [
        "comparison-paper-MUTAG.csv.xz",
        "comparison-paper-NCI1-shuffled.csv.xz",
        "comparison-paper-NCI1.csv.xz",
        "isomorphism-paper-constant.csv.xz",
    ]
    with open_store(tmp_path / "first") as store, open_store(tmp_path / "second") as second:
        assert sum(import_csv(second, path) for path in folder.iterdir()) == 8
        assert list(rows(second)) == list(rows(store))


def test_the_script_names_files_of_its_folder_alone_and_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "scripts"))
    name_files = importlib.import_module("export_rows").name_files
    for field in ("dataset", "features"):
        for name in ("x/../../evil", "x\\evil", "x\0"):
            cell = Cell(**{**CELL._asdict(), field: name})
            with pytest.raises(DataError, match=r"is not the name of a file in this folder$"):
                name_files([cell])
    with pytest.raises(DataError, match=r"^comparison-paper-a-shuffled\.csv\.xz: would be the file of "):
        name_files([CELL._replace(dataset="a", shuffled=1), CELL._replace(dataset="a-shuffled")])
    exported(tmp_path, [*several(1)])
    with closing(sqlite3.connect(tmp_path / "first")) as edited, edited:
        edited.execute("UPDATE results SET dataset = 'x/../../evil', key = replace(key, 'MUTAG', 'x/../../evil')")
    script = Path(__file__).parent.parent / "scripts" / "export_rows.py"
    command = [sys.executable, str(script), str(tmp_path / "first"), str(tmp_path / "deep" / "rows")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("export_rows: ")
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "deep").exists()
