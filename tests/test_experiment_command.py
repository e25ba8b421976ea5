"""``minipinet experiment``: quick runs of all three, misuse in one sentence, and going on after Ctrl-C."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from minipinet.errors import DivergedError, MinipinetError
from minipinet.experiments import schedule
from minipinet.experiments.cells import run_cell
from minipinet.experiments.records import EXPERIMENTS, Row, without_timings
from minipinet.experiments.store import insert, open_store, rows
from tests.cli_calls import call, finish, start

#: Models that need no extra.
CORE = {
    "isomorphism": ["pinet", "gcn-sum", "gcn-dense", "wl"],
    "message-passing": ["pinet", "pinet-p1q0", "pinet-p0q1"],
    "comparison": ["pinet", "pinet-manual", "gcn-sum", "gcn-dense", "wl"],
}


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINIPINET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MINIPINET_DATA", raising=False)


def content(path: str = "results.sqlite") -> list[Row]:
    with open_store(path, read_only=True) as store:
        return list(rows(store))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_runs_all_of_it_once(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["experiment", name, "--quick", "--jobs", 1, "--models", *CORE[name]]
    outcome = call(capsys, *words)
    assert outcome.status == 0, outcome.err
    made = content()
    assert {row.cell.experiment for row in made} == {name}
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["system", "settings", "data", "rows", "accuracy", "seconds"]
    assert lines[-1] == f"{len(made)} cells run, 0 found, in results.sqlite"
    assert outcome.err.splitlines()[-1].startswith(f"{len(made)} of {len(made)} cells: ")
    again = call(capsys, *words, "--json", "--quiet")
    assert (again.status, again.err) == (0, "")
    document = again.json
    assert (document["found"], document["added"], document["failed"]) == (len(made), 0, 0)
    assert sum(group["rows"] for group in document["groups"]) == len(made)
    assert [without_timings(row) for row in content()] == [without_timings(row) for row in made]


def test_patchy_san_is_one_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pynauty")
    for name in ("comparison", "isomorphism"):
        words = ["--models", "patchy-san", "--repeats", 1, "--quick", "--jobs", 1]
        assert call(capsys, "experiment", name, *words).status == 0
    assert {row.cell.system for row in content()} == {"patchy-san"}


@pytest.mark.parametrize("protocol", ["released", "fair"])
def test_other_protocols_run_too(protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--quick", "--jobs", 1, "--protocol", protocol, "--models", "pinet", "wl"]
    assert call(capsys, "experiment", "comparison", *words, "--shuffle-nodes").status == 0
    assert {(row.cell.protocol, row.cell.shuffled, len(row.predictions)) for row in content()} == {
        (protocol, 1, 3 if protocol == "fair" else 1)
    }


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("comparision", "unknown command 'comparision'; did you mean comparison? (see minipinet experiment --help)"),
        ("comparison --protocol fare", "--protocol: expected one of paper, released, fair, got 'fare'; "
         "did you mean fair?"),
        ("comparison --models wll", "--models: expected names among pinet, pinet-manual, gcn-sum, gcn-dense, wl, "
         "patchy-san, got 'wll'; did you mean wl?"),
        ("comparison --datasets MUTAGG", "data set 'MUTAGG': not known (`minipinet data list` shows what is); "
         "did you mean MUTAG?"),
        ("comparison --repeats two --quick", "--repeats: expected a whole number of at least 1, got 'two'"),
        ("comparison --jobs 0 --quick --models wl", "--jobs: expected a whole number of at least 1, got 0"),
        ("comparison --job 2", "unknown option --job; did you mean --jobs? "
         "(see minipinet experiment comparison --help)"),
        ("isomorphism --protocol fair", "--protocol: the isomorphism test has one of its own, so expected paper, "
         "got 'fair'"),
        ("comparison --quick --models wl --store notes.txt", "notes.txt: is no results store of minipinet; "
         "name another file"),
        ("comparison --quick --models wl --store=", "--store: expected the name of a file, got ''"),
        ("comparison --quick --models wl --store .", ".: is a folder; a results store is a file"),
        ("comparison --quick --models wl --data-dir none", "data_dir: expected a folder of data sets, got 'none' "
         "(No such file or directory)"),
    ],
)  # fmt: skip
def test_misuse_is_one_sentence(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.txt").write_text("not a store")
    outcome = call(capsys, "experiment", *words.split())
    assert (outcome.status, outcome.out) == (2, "")
    # Without the extra `kernels` a note tells first what is left out.
    lines = [line for line in outcome.err.splitlines() if not line.startswith("note: patchy-san needs")]
    assert lines[0] == f"minipinet: error: {text}".replace("error: data_dir", "error: --data-dir")
    assert not Path("results.sqlite").exists() or content() == []


def test_rows_of_another_process_are_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(cell: Any, data_dir: str | None) -> Row:
        made = run_cell(cell, data_dir)
        if cell.fold == 0:
            with open_store("results.sqlite") as store:
                insert(store, made)
        return made

    monkeypatch.setattr(schedule, "run_cell", meanwhile)
    words = ["experiment", "comparison", "--quick", "--jobs", 1, "--models", "pinet"]
    outcome = call(capsys, *words)
    assert outcome.status == 0
    last = "1 cell run, 0 found, 1 put there by another process meanwhile, in results.sqlite"
    assert outcome.out.splitlines()[-1] == last
    assert outcome.err.splitlines()[-1].startswith("2 of 2 cells: ")
    assert call(capsys, *words, "--json").json["others"] == 0


def test_cells_that_fail_are_told_and_the_others_are_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverges(cell: Any, data_dir: str | None) -> Row:
        if cell.fold == 1:
            raise DivergedError("training diverged in epoch 1")
        return run_cell(cell, data_dir)

    monkeypatch.setattr(schedule, "run_cell", diverges)
    outcome = call(capsys, "experiment", "comparison", "--quick", "--jobs", 1, "--models", "pinet", "--json")
    assert outcome.status == 1
    assert outcome.json["failures"] == [
        {"cell": 'comparison/paper/pinet{"epochs":2,"hidden":8,"out":4}/MUTAG:labels/repeat 0/fold 1',
         "reason": "training diverged in epoch 1"}
    ]  # fmt: skip
    assert outcome.err.splitlines()[-1].startswith(
        "minipinet: error: 1 cell failed, the others are in results.sqlite; the first is comparison/paper/pinet"
    )
    assert [row.cell.fold for row in content()] == [0]


def begun() -> bool:
    """Return whether a store has a row; it may be in the making."""
    try:
        return len(content()) > 0
    except MinipinetError:
        return False


def test_ctrl_c_ends_it_in_one_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    words = ["experiment", "comparison", "--quick", "--models", "pinet", "--repeats", "20", "--jobs", "2"]
    process = start(*words, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not begun():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    outcome = finish(process)
    assert (outcome.status, outcome.out) == (130, "")
    last = outcome.err.splitlines()[-1]
    assert last == "minipinet: interrupted; what is finished is in results.sqlite; the same command goes on"
    kept = content()
    assert 0 < len(kept) < 40
    again = finish(start(*words, "--json", cwd=tmp_path))
    assert again.status == 0
    assert again.json["found"] == len(kept)
    assert len(content()) == 40
