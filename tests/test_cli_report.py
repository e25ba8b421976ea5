"""``minipinet report``: where the page goes, whose data are drawn, and what is refused with which status."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from minipinet.datasets import load_dataset
from minipinet.errors import UsageError
from minipinet.report import make_report, write_report
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.cli_calls import call, finish, start
from tests.small_doors import hide
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
    assert outcome.err.startswith("note: no graphs are drawn: ")
    assert "--data can name the run's data, and minipinet.report.write_report takes graphs in memory" in outcome.err
    assert "as dataset=" in outcome.err
    page = Page(output.read_text(encoding="utf-8"))
    assert page.texts("article") == []
    assert any("minipinet.report.write_report has dataset= for graphs in memory" in text for text in page.texts("p"))
    outcome = call(capsys, "report", folder, "--output", output, "--data", "two kinds")
    assert outcome.status == 2
    assert "two kinds" in outcome.err
    outcome = call(capsys, "report", folder, "--output", output, "--data", "MUTAG")
    assert outcome.status == 2, "MUTAG has no attributes, of which the run's features are"
    assert "attributes" in outcome.err


def test_other_data_of_the_runs_name_are_not_drawn(
    capsys: Capture, run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "data" / "MUTAG", name="MUTAG")
    words = ("report", run_dir, "--output", tmp_path / "page.html", "--data-dir", tmp_path / "data")
    for more in ((), ("--data", "MUTAG")):
        outcome = call(capsys, *words, *more)
        assert (outcome.status, outcome.out) == (1, "")
        assert "MUTAG: is not what the run in" in outcome.err
    monkeypatch.setenv("MINIPINET_DATA", str(tmp_path / "data"))  # nobody named them: a page without graphs
    outcome = call(capsys, *words[:4])
    assert outcome.status == 0
    assert "no graphs are drawn: what is called MUTAG here is not the run's data (--data can name" in outcome.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--data-dir", "nope"], "--data-dir: expected a folder of data sets, got 'nope' (No such file or directory)"),
        (["--data-dir", "empty"], "--data-dir: data set 'MUTAG': not in the folder 'empty'"),
        (["--data-dir", ""], "--data-dir: expected a folder of data sets, got ''"),
        (["--data", "nope"], "data set 'nope': not "),
        (["--data", ""], "--data: expected a data set's name or path, got ''"),
        (["--data", "MUTAG", "--data-dir", "nope"], "--data-dir: expected a folder of data sets, got 'nope'"),
    ],
)
def test_data_named_in_vain_leave_a_good_page_as_it_was(
    capsys: Capture, run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    page = Path(shutil.copytree(run_dir, tmp_path / "run")) / "report.html"
    page.write_text("a good page", encoding="utf-8")
    outcome = call(capsys, "report", "run", *words)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"minipinet: error: {reason}")
    assert page.read_text(encoding="utf-8") == "a good page"


def test_no_file_of_a_run_becomes_the_page(capsys: Capture, run_dir: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(run_dir, tmp_path / "run")
    folds = cross_validated(tmp_path / "folds")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.name for path in before} == {
        "run.json",
        "log.jsonl",
        "checkpoint.safetensors",
        "model.safetensors",
        ".lock",
    }
    (folder / "report.html").symlink_to("run.json")
    (folder / "fold-00").symlink_to(folds / "fold-00")  # a folder by another name is the same folder
    for output in (*before, folder / "fold-00" / "log.jsonl", folder / "report.html"):
        outcome = call(capsys, "report", folder, "--graphs", 0, "--output", output)
        assert (outcome.status, outcome.out) == (2, "")
        assert "--output: expected another file than those of the run in " in outcome.err
        with pytest.raises(UsageError, match=r"^output: expected another file than those of the run in "):
            write_report(folder, output, graphs=0)
    with pytest.raises(UsageError, match=r"^output: expected another file than those of the run in "):
        write_report(folder, graphs=0)
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_model_is_no_run_but_may_be_in_one(capsys: Capture, run_dir: Path, tmp_path: Path) -> None:
    needed = "a report needs run.json and log.jsonl beside a model"
    model = run_dir / "model.safetensors"
    outcome = call(capsys, "report", model)
    said = f"RUN: expected the folder of a run, got {model}: a model, but {needed}; the run is in {run_dir}"
    assert (outcome.status, outcome.err) == (2, f"minipinet: error: {said}\n")
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(model, alone)
    outcome = call(capsys, "report", alone)
    assert outcome.status == 2
    assert outcome.err.startswith(f"minipinet: error: RUN: {alone}: is not empty and holds no run of minipinet")
    assert outcome.err.endswith(f"; {needed}\n")
    outcome = call(capsys, "report", alone / "model.safetensors")
    assert outcome.err.endswith(f"/model.safetensors: a model, but {needed}\n")
    (alone / "notes.txt").write_text("mine", encoding="utf-8")
    outcome = call(capsys, "report", alone / "notes.txt")
    assert outcome.err.endswith(f"RUN: expected the folder of a run, got {alone / 'notes.txt'}: a file\n")


def test_the_folder_of_a_fold_is_in_a_run(capsys: Capture, tmp_path: Path) -> None:
    folder = cross_validated(tmp_path / "run")
    for place in (folder / "fold-00", folder / "fold-00" / "model.safetensors"):
        outcome = call(capsys, "report", place)
        assert outcome.status == 2
        assert outcome.err.startswith("minipinet: error: RUN: ")
        assert outcome.err.endswith(f"; the run is in {folder}\n")


def test_without_matplotlib(capsys: Capture, run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "matplotlib")
    outcome = call(capsys, "report", run_dir, "--output", tmp_path / "page.html")
    assert (outcome.status, outcome.out) == (2, "")
    text = "minipinet report needs matplotlib: pip install 'minipinet[figures]'"
    assert outcome.err.startswith(f"minipinet: error: {text}")
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(UsageError, match=r"^make_report needs matplotlib: pip install 'minipinet\[figures\]'"):
        make_report(run_dir)


@pytest.mark.parametrize("dataset", [3, "MUTAG", []])
def test_data_that_are_none(run_dir: Path, tmp_path: Path, dataset: Any) -> None:
    with pytest.raises(UsageError, match=r"^dataset: expected a Dataset or None, got "):
        make_report(run_dir, dataset=dataset)
    for output in (3, "", b"x"):
        with pytest.raises(UsageError, match=r"^output: expected the path of a file, got "):
            write_report(run_dir, output)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^run_dir: expected the path of a folder, got None"):
        write_report(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nowhere"], "RUN: there is no folder nowhere"),
        ([""], "RUN: there is no folder ''"),
        (["empty"], "RUN: there is no run in empty"),
        (["other"], "RUN: other: is not empty and holds no run of minipinet"),
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
