"""``minipinet results``: what it prints, the files it writes, misuse in one sentence, and stores in every state."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
import threading
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from minipinet.cli.formats import FORMATS, to_markdown, to_text
from minipinet.experiments.records import Row
from minipinet.experiments.store import insert, open_store, rows
from minipinet.results.tables import make_tables
from tests.cli_calls import call
from tests.small_doors import hide
from tests.small_rows import agreeing
from tests.table_rows import folds, trials


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINIPINET_CACHE", str(tmp_path / "cache"))


def fill(made: Sequence[Row], path: str = "results.sqlite") -> None:
    with open_store(path) as store:
        for row in made:
            assert insert(store, row)


# A store holds rows whose accuracy is that of their predictions.
MADE = [agreeing(row) for row in (*folds([0.75, 1.0]), *folds([0.5, 0.75], "wl"), *trials([0.25]))]


@pytest.mark.parametrize("name", FORMATS)
def test_prints_the_tables_in_every_format(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    expected = FORMATS[name](make_tables(MADE))
    outcome = call(capsys, "results", "results.sqlite", "--format", name)
    assert (outcome.status, outcome.out, outcome.err) == (0, expected, "")
    written = call(capsys, "results", "results.sqlite", "--format", name, "--output", "tables")
    assert (written.status, written.out, written.err) == (0, "", "")
    assert Path("tables").read_bytes() == expected.encode()


def test_text_is_the_default_and_an_experiment_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    outcome = call(capsys, "results", "results.sqlite", "--experiment", "isomorphism")
    assert outcome.out == to_text(make_tables(MADE[-1:]))
    assert "comparison" not in outcome.out


def test_json_is_strict_and_has_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    words = ["results", "results.sqlite", "--json", "--export", "x.csv", "--output", "t.md", "--format", "markdown"]
    outcome = call(capsys, *words)
    assert (outcome.status, outcome.err) == (0, "")
    document = outcome.json
    assert {name: document[name] for name in ("rows", "added", "exported", "output", "figures")} == {
        "rows": 5, "added": None, "exported": 5, "output": "t.md", "figures": None,
    }  # fmt: skip
    first = next(table for table in document["tables"] if table["title"] == "comparison, protocol paper: accuracy")
    line = dict(zip(first["header"], first["lines"][0], strict=True))
    assert line["MUTAG"] == {"mean": 0.875, "sd": pytest.approx(0.1767767), "n": 2, "of": 10, "best": False}
    assert line["NCI1"] is None
    assert Path("t.md").read_text() == to_markdown(make_tables(MADE))


def test_rows_go_out_and_into_another_store(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    outcome = call(
        capsys, "results", "results.sqlite", "--experiment", "comparison", "--export", "x.csv.gz", "--output", "t"
    )
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "4 rows written to x.csv.gz\n")
    made = call(capsys, "results", "new.sqlite", "--import", "x.csv.gz")
    assert (made.status, made.err) == (0, "4 rows added from x.csv.gz\n")
    assert made.out == to_text(make_tables(MADE[:4]))
    assert call(capsys, "results", "new.sqlite", "--import", "x.csv.gz").err == "0 rows added from x.csv.gz\n"
    with open_store("new.sqlite", read_only=True) as store:
        assert list(rows(store)) == MADE[:4]


def test_an_edited_export_is_refused_and_nothing_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    call(capsys, "results", "results.sqlite", "--export", "x.csv")
    Path("x.csv").write_text(Path("x.csv").read_text().replace("0.75", "0.95"))
    outcome = call(capsys, "results", "new.sqlite", "--import", "x.csv")
    assert (outcome.status, outcome.out) == (1, "")
    assert re.fullmatch(
        r"minipinet: error: x.csv, line \d: was changed: its checksum is not that of its fields\n", outcome.err
    )
    assert not list(Path().glob("new.sqlite*"))  # it would have been made for these rows
    with open_store("new.sqlite"):
        pass
    assert call(capsys, "results", "new.sqlite", "--import", "x.csv").status == 1
    with open_store("new.sqlite", read_only=True) as store:
        assert list(rows(store)) == []


def test_several_files_of_rows_make_one_store(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    call(capsys, "results", "results.sqlite", "--experiment", "comparison", "--export", "a.csv.xz")
    call(capsys, "results", "results.sqlite", "--export", "b.csv")
    made = call(capsys, "results", "new.sqlite", "--import", "a.csv.xz", "b.csv")
    assert made.err == f"{len(MADE)} rows added from a.csv.xz, b.csv\n"
    with open_store("new.sqlite", read_only=True) as store, open_store("results.sqlite", read_only=True) as first:
        assert list(rows(store)) == list(rows(first))
    Path("c.csv").write_text("not rows")
    with open_store("other.sqlite") as store:
        insert(store, MADE[-1])
    for name in ("other.sqlite", "none.sqlite"):
        outcome = call(capsys, "results", name, "--import", "a.csv.xz", "c.csv")
        assert outcome.status == 1
    with open_store("other.sqlite", read_only=True) as store:  # all files or none
        assert list(rows(store)) == MADE[-1:]
    assert not list(Path().glob("*none*"))


@pytest.mark.parametrize("words", [[], ["--experiment", "message-passing"], ["--format", "latex"]])
def test_a_store_without_rows_says_so(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE if "--experiment" in words else [])
    outcome = call(capsys, "results", "results.sqlite", *words)
    of = " of message-passing" if "--experiment" in words else ""
    assert (outcome.status, outcome.out, outcome.err) == (0, "", f"results.sqlite: no rows{of}\n")
    assert call(capsys, "results", "results.sqlite", *words[:2], "--json", "--output", "t").json["tables"] == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("none.sqlite", "none.sqlite: there is no results store"),
        ("notes.txt", "notes.txt: is no results store of minipinet; name another file"),
        (".", ".: is a folder; a results store is a file"),
        ("results.sqlite --output .", "--output: expected a file, got the folder ."),
        ("results.sqlite --export .", "--export: expected a file, got the folder ."),
        ("results.sqlite --import .", "--import: expected a file, got the folder ."),
        ("results.sqlite --output=", "--output: expected the name of a file, got ''"),
        ("results.sqlite --export=", "--export: expected the name of a file, got ''"),
        ("results.sqlite --import=", "--import: there is no file ''"),
        ("results.sqlite --figures=", "--figures: expected the name of a folder, got ''"),
        ("results.sqlite --format pdf", "--format: expected one of text, markdown, latex, csv, got 'pdf'"),
        ("results.sqlite --format markdwn",
         "--format: expected one of text, markdown, latex, csv, got 'markdwn'; did you mean markdown?"),
        ("results.sqlite --experiment comparision",
         "--experiment: expected one of isomorphism, message-passing, comparison, got 'comparision'; "
         "did you mean comparison?"),
        ("results.sqlite --json --format csv",
         "--json: has a form of its own, so --format needs --output beside it"),
        ("results.sqlite --output results.sqlite",
         "--output: expected another file than the store, got results.sqlite"),
        ("results.sqlite --export ./results.sqlite-wal",
         "--export: expected another file than the store, got ./results.sqlite-wal"),
        ("results.sqlite --export results.sqlite-journal",
         "--export: expected another file than the store, got results.sqlite-journal"),
        ("results.sqlite --output a.tex --figures a.tex",
         "--figures: expected another name than that of --output, got a.tex"),
        ("results.sqlite --export a --figures ./a/figures",
         "--figures: expected another name than that of --export, got ./a/figures"),
        ("results.sqlite --figures results.sqlite",
         "--figures: expected another name than the store, got results.sqlite"),
        ("new.sqlite --import notes.txt --figures new.sqlite-wal",
         "--figures: expected another name than the store, got new.sqlite-wal"),
        ("results.sqlite --export x --output x", "--output: expected another file than that of --export, got x"),
        ("results.sqlite --import none.csv", "--import: there is no file none.csv"),
        ("new.sqlite --import none.csv", "--import: there is no file none.csv"),
        ("results.sqlite --figure x",
         "unknown option --figure; did you mean --figures? (see minipinet results --help)"),
        ("", "the following arguments are required: STORE (see minipinet results --help)"),
    ],
)  # fmt: skip
def test_misuse_is_one_sentence_and_changes_nothing(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    Path("notes.txt").write_text("not a store")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    outcome = call(capsys, "results", *words.split())
    assert (outcome.out, outcome.err) == ("", f"minipinet: error: {text}\n")
    assert outcome.status == 2
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--output no/t", "no/t: cannot be written: No such file or directory"),
        ("--export no/x.csv", "no/x.csv: cannot be written: No such file or directory"),
        ("--figures notes.txt", "notes.txt: cannot be made: File exists"),
        ("--export a.csv --output no/t", "no/t: cannot be written: No such file or directory"),
        ("--output a --export no/x.csv", "no/x.csv: cannot be written: No such file or directory"),
        ("--export a.csv --output notes.txt/t", "notes.txt/t: cannot be written: Not a directory"),
        ("--export a.csv --output a.tex --figures notes.txt/figures", "notes.txt/figures: cannot be made: File exists"),
        ("--import notes.txt", "notes.txt, line 1: expected the columns key,experiment,"),
    ],
)
def test_what_cannot_be_read_or_written_is_a_failure(
    words: str, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(MADE)
    Path("notes.txt").write_text("not a table")
    draw(monkeypatch, [])
    outcome = call(capsys, "results", "results.sqlite", *words.split())
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"minipinet: error: {text}")
    assert outcome.err.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["notes.txt", "results.sqlite"]


def test_a_row_that_somebody_edited_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    for column, value, text in (
        ("details", "{", "details: cannot be read as JSON: Expecting property name"),
        ("variant", "oops", "variant: expected settings as a JSON object, got 'oops'"),
        ("variant", "[]", "variant: expected settings as a JSON object, got '[]'"),
        ("features", b"\xff", "features: expected a name, without "),
    ):
        shutil.copy("results.sqlite", "edited.sqlite")
        with sqlite3.connect("edited.sqlite") as store:
            store.execute(f"UPDATE results SET {column} = ? WHERE system = 'pinet'", (value,))
        store.close()
        outcome = call(capsys, "results", "edited.sqlite")
        assert (outcome.status, outcome.out) == (1, "")
        where = "edited.sqlite: comparison/paper/pinet{}/MUTAG:labels/repeat 0/fold 0: "
        assert outcome.err.startswith(f"minipinet: error: {where}{text}")


def test_reading_leaves_a_store_that_is_being_written_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE[:2])
    with open_store("results.sqlite") as store:
        insert(store, MADE[2])
        store.execute("BEGIN IMMEDIATE")
        insert(store, MADE[3])
        before = [Path(name).read_bytes() for name in ("results.sqlite", "results.sqlite-wal")]
        outcome = call(capsys, "results", "results.sqlite")
        assert (outcome.status, outcome.out, outcome.err) == (0, to_text(make_tables(MADE[:3])), "")
        assert [Path(name).read_bytes() for name in ("results.sqlite", "results.sqlite-wal")] == before
        store.execute("COMMIT")
        assert call(capsys, "results", "results.sqlite").out == to_text(make_tables(MADE[:4]))


def draw(monkeypatch: pytest.MonkeyPatch, calls: list[Any]) -> None:
    """Draw empty figures in place of the true ones, which need matplotlib."""
    module: Any = types.ModuleType("minipinet.results.figures")

    def draw_figures(found: Sequence[Row], folder: Path) -> list[Path]:
        calls.append((list(found), folder))
        return [folder / "a.png", folder / "a.svg"]

    module.draw_figures = draw_figures
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_figures_are_drawn_of_the_rows_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(MADE)
    calls: list[Any] = []
    draw(monkeypatch, calls)
    assert call(capsys, "results", "results.sqlite", "--figures", ".").err == "2 files in .\n"
    words = ["results", "results.sqlite", "--experiment", "isomorphism", "--figures", "new/figures", "--json"]
    outcome = call(capsys, *words)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.json["figures"] == ["new/figures/a.png", "new/figures/a.svg"]
    assert calls[1:] == [(MADE[-1:], Path("new/figures"))]
    assert Path("new/figures").is_dir()


@pytest.mark.parametrize("option", ["--output", "--export"])
def test_a_pipe_is_written_to_and_stays_one(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    os.mkfifo("pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    assert call(capsys, "results", "results.sqlite", option, "pipe").status == 0
    reader.join(timeout=30)
    assert Path("pipe").is_fifo()
    call(capsys, "results", "results.sqlite", option, "file")
    assert got == [Path("file").read_bytes()]


def test_rows_may_come_through_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    call(capsys, "results", "results.sqlite", "--export", "x.csv")
    os.mkfifo("pipe")
    threading.Thread(target=lambda: Path("pipe").write_bytes(Path("x.csv").read_bytes()), daemon=True).start()
    assert call(capsys, "results", "new.sqlite", "--import", "pipe").err == f"{len(MADE)} rows added from pipe\n"


def test_a_pipe_is_no_store(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    for words in ([], ["--import", "pipe"]):
        outcome = call(capsys, "results", "pipe", *words)
        assert outcome.status == 2
    assert Path("pipe").is_fifo()


def test_what_a_quick_run_made_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["experiment", "comparison", "--quick", "--jobs", 1, "--models", "pinet", "pinet-manual", "wl", "--quiet"]
    assert call(capsys, *words).status == 0
    outcome = call(capsys, "results", "results.sqlite", "--json")
    tables = {table["name"]: table for table in outcome.json["tables"]}
    assert [line[0] for line in tables["seconds"]["lines"]] == ["pinet (quick)", "pinet-manual (quick)", "wl (quick)"]
    assert not [note for table in tables.values() for note in table["notes"] if "unfinished" in note]
    with open_store("results.sqlite", read_only=True) as store:
        found = [row.accuracy for row in rows(store, system="wl")]
    (line,) = [line for line in tables["accuracy"]["lines"] if line[0] == "wl (quick)"]
    assert line[2]["mean"] == pytest.approx(sum(found) / 2)
    assert json.dumps(outcome.json).isascii()


def test_figures_without_matplotlib_are_refused_before_anything_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(MADE)
    hide(monkeypatch, "matplotlib")
    outcome = call(capsys, "results", "results.sqlite", "--output", "tables.md", "--figures", "figures")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(
        "minipinet: error: minipinet results --figures needs matplotlib: pip install 'minipinet[figures]'"
    )
    assert not Path("tables.md").exists()
    assert not Path("figures").exists()


@pytest.mark.parametrize("option", ["--output", "--export"])
def test_a_file_of_a_run_is_not_written_over(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(MADE)
    Path("run.json").write_text("{}")  # makes the folder that of a run
    outcome = call(capsys, "results", "results.sqlite", option, "run.json")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"minipinet: error: {option}: expected another file than those of the run in ")
    assert Path("run.json").read_text() == "{}"
