"""Rows that somebody edited or forged: one error with file, row and field, wherever they come in."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from minipinet.errors import DataError
from minipinet.experiments.exchange import HEADER, export_csv
from minipinet.experiments.row_check import check_row
from minipinet.experiments.store import cells_in, insert, open_store, rows
from tests.cli_calls import call
from tests.small_data import files
from tests.small_rows import CELL, row

DEEP = "[" * 100_000 + "]" * 100_000
#: Column, what somebody wrote there, and what is said of it. Test graphs are 3, 5 and 6, of which two are right.
FORGED: list[tuple[str, Any, str]] = [
    ("experiment", "other", "experiment: expected one of isomorphism, message-passing, comparison, got 'other'"),
    ("protocol", "lucky", "protocol: expected one of paper, released, fair, got 'lucky'"),
    ("system", "magic", "system: expected one of pinet, gcn-sum, gcn-dense, wl, patchy-san, got 'magic'"),
    *(
        (field, name, f'{field}: expected a name, without "/", "\\" and NUL and with no "." in front, got {name!r}')
        for field in ("dataset", "features")
        for name in ("", "x/../../evil", "/tmp/evil", "..\\evil", "..", ".hidden")
    ),
    ("dataset", "NCI1", "key: expected 'comparison/paper/pinet{}/NCI1:labels/repeat 0/fold 0', got "),
    ("variant", "3", "variant: expected settings as a JSON object, got '3'"),
    ("variant", DEEP, "variant: expected settings as a JSON object, got '[[["),
    ("variant", '{"epochs":"x"}', "variant: epochs: expected a whole number of at least 1, got 'x'"),
    ("variant", '{"short":1}', "variant: short: is no setting of pinet, which has epochs, "),
    ("variant", '{"self":1}', "variant: self: is no setting of pinet, which has epochs, "),
    ("shuffled", 2, "shuffled: expected 0 or 1, got 2"),
    ("size", -1, "size: expected a whole number from 0 to 2**63 - 1, got -1"),
    ("repeat", 2**40, "repeat: expected a whole number from 0 to 9999, got 1099511627776"),
    ("repeat", 10_000, "repeat: expected a whole number from 0 to 9999, got 10000"),
    ("fold", 1000, "fold: expected a whole number from 0 to 999, got 1000"),
    ("fold", -1, "fold: expected a whole number from 0 to 999, got -1"),
    ("settings", "3", "settings: expected a JSON object, got 3"),
    ("settings", "{", "settings: cannot be read as JSON: Expecting property name"),
    ("settings", '{"lr": NaN}', "settings: cannot be read as JSON: NaN is not strict JSON"),
    ("settings", '{"lr": 1e999}', "settings: cannot be read as JSON: 1e999 is beyond the range of numbers"),
    ("versions", "1", "versions: expected a JSON object of texts, got 1"),
    ("versions", '{"python": 3}', "versions: expected a JSON object of texts, got {'python': 3}"),
    ("seed", -1, "seed: expected a whole number from 0 to 2**63 - 1, got -1"),
    ("digest", "", "digest: expected a text, got ''"),
    ("train_index", "[]", "train_index: expected a list of different whole numbers, got []"),
    ("train_index", "[0, 0]", "train_index: expected a list of different whole numbers, got [0, 0]"),
    ("train_index", "[0, true]", "train_index: expected a list of different whole numbers, got [0, True]"),
    ("train_index", "[[0]]", "train_index: expected a list of different whole numbers, got [[0]]"),
    ("train_index", f"[{10**30}]", "train_index: expected a list of different whole numbers, got [1000"),
    ("train_index", "[0, 3]", "test_index: expected graphs that were not trained or chosen on, got [3, 5, 6]"),
    ("validation_index", "[6]", "test_index: expected graphs that were not trained or chosen on, got [3, 5, 6]"),
    ("validation_index", "0", "validation_index: expected null or a list of different whole numbers, got 0"),
    ("test_index", "[3, 5]", "truth: expected a class for each of 2 test graphs, got [0, 1, 1]"),
    ("truth", "[0, 1, -1]", "truth: expected a list of whole numbers, got [0, 1, -1]"),
    ("truth", "[0, 1]", "truth: expected a class for each of 3 test graphs, got [0, 1]"),
    ("truth", "[0, 1, 0]", "accuracy: expected 1.0, the share of right predictions, got 0.6666666666666666"),
    ("predictions", "[]", "predictions: expected a list of lists of whole numbers, got []"),
    ("predictions", "[[]]", "predictions: expected a list of lists of whole numbers, got [[]]"),
    ("predictions", "[0, 1, 0]", "predictions: expected a list of lists of whole numbers, got [0, 1, 0]"),
    ("predictions", "[[0, 1]]", "predictions: expected a class for each of 3 test graphs, got [0, 1]"),
    ("accuracy", 2.0, "accuracy: expected 0.6666666666666666, the share of right predictions, got 2.0"),
    ("accuracy", 7.5, "accuracy: expected 0.6666666666666666, the share of right predictions, got 7.5"),
    ("duplicates", "[]", "duplicates: expected the numbers test and other_class, got []"),
    ("duplicates", '{"test": 4, "other_class": 0}', "duplicates: expected other_class <= test <= 3, got "),
    ("details", "3", "details: expected a JSON object, in which a training is one and its history, got 3"),
    ("details", DEEP, "details: cannot be read as JSON: nested too deeply"),
    ("details", f'{{"a": {"[" * 30 + "]" * 30}}}', "details: cannot be read as JSON: nested too deeply"),
    ("details", '{"history": 3}', "details: expected a JSON object, in which a training is one and its history, got "),
    ("details", '{"trainings": [3]}', "details: expected a JSON object, in which a training is one and its history"),
    ("seconds", -1.0, "seconds: expected a number of at least 0, got -1.0"),
    ("seconds", float("inf"), "seconds: expected a number of at least 0, got inf"),
]
#: What SQLite alone can hold there.
IN_SQLITE: list[tuple[str, Any, str]] = [
    ("dataset", "a\0b", "dataset: expected a name, without "),
    ("fold", "x", "fold: expected a whole number from 0 to 999, got 'x'"),
    ("seconds", "x", "seconds: expected a number of at least 0, got 'x'"),
    ("accuracy", "x", "accuracy: expected a number from 0 to 1, got 'x'"),
    ("features", b"\xff", "features: expected a name, without "),
    ("settings", b"{}", "settings: cannot be read as JSON: expected text, got b'{}'"),
    ("digest", "CAST(x'ff' AS TEXT)", "digest: expected a text, got '\\udcff'"),
]
#: And what a line of text alone can.
IN_TEXT: list[tuple[str, Any, str]] = [
    ("fold", "x", "cannot be read: invalid literal for int()"),
    ("accuracy", "nan", "accuracy: expected 0.6666666666666666, the share of right predictions, got nan"),
    ("seconds", "nan", "seconds: expected a number of at least 0, got nan"),
    ("seed", 10**30, "seed: expected a whole number from 0 to 2**63 - 1, got 1000000"),
    ("seed", "9" * 5000, "cannot be read: Exceeds the limit"),
]


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fill(path: str) -> None:
    with open_store(path) as store:
        insert(store, row())


@pytest.mark.parametrize(("column", "value", "text"), [*FORGED, *IN_SQLITE])
def test_an_edited_store_is_one_error(column: str, value: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill("s")
    with closing(sqlite3.connect("s")) as edited, edited:
        raw = value if isinstance(value, str) and value.startswith("CAST(") else "?"
        edited.execute(f"UPDATE results SET {column} = {raw}", () if raw != "?" else (value,))
    for words in ([], ["--export", "x.csv"]):
        outcome = call(capsys, "results", "s", *words)
        assert (outcome.status, outcome.out) == (1, "")
        assert outcome.err.startswith(f"minipinet: error: s: {row().cell.key}: {text}")
        assert outcome.err.count("\n") == 1
    assert not Path("x.csv").exists()


@pytest.mark.parametrize(("column", "value", "text"), [*FORGED, *IN_TEXT])
def test_a_forged_line_is_one_error_and_makes_nothing(
    column: str, value: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill("s")
    with open_store("s") as store:
        insert(store, row(CELL._replace(fold=1)))
        export_csv(store, "x.csv")
    limit = csv.field_size_limit(2**30)
    table = list(csv.reader(io.StringIO(Path("x.csv").read_text(), newline="")))
    csv.field_size_limit(limit)
    table[2][HEADER.index(column)] = str(value)
    if column in row().cell._fields and not text.startswith("key") and column != "fold":
        place = f"{column}={value}"  # the key is no part of what is wrong
        table[2][0] = place
    table[2][-1] = hashlib.sha256("\0".join(table[2][:-1]).encode()).hexdigest()[:16]
    made = io.StringIO(newline="")
    csv.writer(made, lineterminator="\n").writerows(table)
    Path("x.csv").write_text(made.getvalue())
    before = files(Path())
    outcome = call(capsys, "results", "new", "--import", "x.csv")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.replace("fold 1", "fold 0").startswith(f"minipinet: error: x.csv, line 3: {text}")
    assert outcome.err.count("\n") == 1
    assert files(Path()) == before


def test_the_cells_of_an_edited_store_are_checked_too() -> None:
    fill("s")
    with closing(sqlite3.connect("s")) as edited, edited:
        edited.execute("UPDATE results SET fold = 1")
    with open_store("s", read_only=True) as store, pytest.raises(DataError, match=r"^s: comparison/.*/fold 0: key: "):
        cells_in(store)


def test_an_error_names_the_store_that_holds_the_row() -> None:
    fill("s")
    fill("other")
    with closing(sqlite3.connect("s")) as edited, edited:
        edited.execute("UPDATE results SET accuracy = 2")
    with open_store("s") as store, open_store("other") as other, pytest.raises(DataError, match=r"^s: "):
        list(zip(rows(other), rows(store), strict=True))


def test_a_row_of_several_trainings_has_their_mean() -> None:
    made = row(predictions=[[0, 1, 0], [1, 0, 0], [0, 1, 1]], accuracy=5 / 9)
    assert check_row(made) == made
    details = {"trainings": [{"history": {}}], "candidates": [{"settings": json.loads("{}")}]}
    assert check_row(made._replace(details=details)).details == details


def test_what_a_column_cannot_hold_is_no_silence() -> None:
    with pytest.raises(DataError, match=r"^s: is damaged: NOT NULL"), open_store("s") as store:
        insert(store, row(accuracy=float("nan")))
