"""``minipinet report``: where the page goes, whose data are drawn, and what is refused with which status."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from minipinet.datasets import load_dataset
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.cli_calls import call, finish, start
from tests.small_reports import Page, cross_validated
from tests.tu_files import write_folder

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "mutag"
    train_pinet(load_dataset("MUTAG"), Settings(epochs=2, hidden=6, out=4), run_dir=folder)
    return folder


def test_the_page_goes_into_the_run_and_its_name_to_standard_output(
    capsys: Capture, run_dir: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(run_dir, tmp_path / "run")
    outcome = call(capsys, "report", folder, "--graphs", 3)
    assert (outcome.status, outcome.out, outcome.err) == (0, f"{folder / 'report.html'}\n", "")
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert page.texts("h1") == ["PiNet on MUTAG: one model on all graphs"]
    assert len(page.texts("article")) == 3
    # A run with a page in it is still a run.
    assert call(capsys, "evaluate", folder, "MUTAG").status == 0
    assert call(capsys, "report", folder, "--output", tmp_path / "again.html", "--graphs", 3).status == 0
    assert (tmp_path / "again.html").read_bytes() == (folder / "report.html").read_bytes()


def test_standard_output_may_be_the_page(run_dir: Path, tmp_path: Path) -> None:
    words = ("report", run_dir, "--output", "/dev/stdout", "--graphs", 0)
    piped = finish(start(*words, cwd=tmp_path))
    assert (piped.status, piped.err) == (0, "")
    assert piped.out.startswith("<!doctype html>")
    assert piped.out.endswith("</html>\n")
    with (tmp_path / "page.html").open("w") as file:
        assert finish(start(*words, cwd=tmp_path, stdout=file)).status == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == piped.out


def test_data_that_are_not_found_leave_the_graphs_out_unless_they_were_named(capsys: Capture, tmp_path: Path) -> None:
    folder = cross_validated(tmp_path / "run")  # its data set was never a file
    output = tmp_path / "page.html"
    outcome = call(capsys, "report", folder, "--output", output)
    assert outcome.status == 0
    assert outcome.err.startswith("note: no graphs are drawn, --data can name the run's data: ")
    assert Page(output.read_text(encoding="utf-8")).texts("article") == []
    outcome = call(capsys, "report", folder, "--output", output, "--data", "two kinds")
    assert outcome.status == 2
    assert "two kinds" in outcome.err
    outcome = call(capsys, "report", folder, "--output", output, "--data", "MUTAG")
    assert outcome.status == 2, "MUTAG has no attributes, of which the run's features are"
    assert "attributes" in outcome.err


def test_other_data_of_the_runs_name_are_not_drawn(capsys: Capture, run_dir: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "data" / "MUTAG", name="MUTAG")
    words = ("report", run_dir, "--output", tmp_path / "page.html", "--data-dir", tmp_path / "data")
    outcome = call(capsys, *words)
    assert outcome.status == 0
    assert "what is called MUTAG here is not the run's data" in outcome.err
    outcome = call(capsys, *words, "--data", "MUTAG")
    assert outcome.status == 1
    assert "MUTAG: is not what the run in" in outcome.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nowhere"], "RUN: there is no folder nowhere"),
        ([""], "RUN: there is no folder ''"),
        (["empty"], "run_dir: there is no run in empty"),
        (["other"], "other: is not empty and holds no run of minipinet"),
        (["{run}", "--graphs", "few"], "--graphs: expected a whole number of at least 0, got 'few'"),
        (["{run}", "--graphs", "-1"], "--graphs: expected a whole number of at least 0, got -1"),
        (["{run}", "--output", "empty"], "--output: expected the name of a file, got 'empty'"),
        (["{run}", "--output", ""], "--output: expected the name of a file, got ''"),
        (["{run}", "--dark"], "unknown option --dark"),
        ([], "the following arguments are required: RUN"),
    ],
)
def test_bad_use_is_refused_with_status_2(
    capsys: Capture, run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("other").mkdir()
    Path("other", "notes.txt").write_text("mine", encoding="utf-8")
    outcome = call(capsys, "report", *(word.format(run=run_dir) for word in words))
    assert (outcome.status, outcome.out) == (2, "")
    assert reason in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "other"]


def test_a_folder_that_cannot_be_written_is_a_failure(capsys: Capture, run_dir: Path, tmp_path: Path) -> None:
    outcome = call(capsys, "report", run_dir, "--output", tmp_path / "no" / "page.html", "--graphs", 0)
    assert (outcome.status, outcome.out) == (1, "")
    assert "page.html: cannot be written: No such file or directory" in outcome.err
