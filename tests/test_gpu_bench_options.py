"""The command line of a card's benchmark: what it refuses, in one line and before anything is measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minipinet.datasets import load_dataset
from tests.gpu_scripts import module, scripts

__all__ = ["scripts"]  # a fixture


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--rounds 0", "argument --rounds: expected a whole number of at least 1, got '0'"),
        ("--rounds few", "argument --rounds: expected a whole number of at least 1, got 'few'"),
        ("--epochs 0", "argument --epochs: expected a whole number of at least 1, got '0'"),
        ("--megabytes 0", "argument --megabytes: expected a whole number of at least 1, got '0'"),
        ("--folds 1", "argument --folds: expected a whole number from 2 to 63, got '1'"),
        ("--folds 64", "argument --folds: expected a whole number from 2 to 63, got '64'"),
        ("--least 0", "argument --least: expected a number of seconds above 0, got '0'"),
        ("--least nan", "argument --least: expected a number of seconds above 0, got 'nan'"),
        ("--least inf", "argument --least: expected a number of seconds above 0, got 'inf'"),
        ("--minutes 0", "argument --minutes: expected a number of minutes above 0, got '0'"),
        ("--output no/report.json", "argument --output: expected a file in a folder that can be written to, got 'no/"),
        ("--output report.md", "argument --output: expected a file that does not end in .md, as the table's does, got"),
        ("--output .", "argument --output: expected a file that does not end in .md, as the table's does, got '.'"),
        ("--output folder", "argument --output: expected no folder at 'folder'"),
        ("--output other.json", "argument --output: expected no folder at 'other.md'"),
        ("--data-dir no", "argument --data-dir: expected a folder, got 'no'"),
        ("--envs other.json", "argument --envs: expected a folder, got 'other.json'"),
        ("--fold 3", "unrecognized arguments: --fold 3"),
        ("--datasets NCI2", "argument --datasets: invalid choice: 'NCI2'"),
    ],
)
def test_bad_use_is_one_line_before_anything_is_measured(
    words: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = module("gpu_bench")
    monkeypatch.setattr(bench, "card_problem", lambda: pytest.fail("the card was asked first"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.md").mkdir()
    with pytest.raises(SystemExit, match=r"^2$"):
        bench.main(words.split())
    said = capsys.readouterr().err
    assert said.startswith(f"gpu_bench: error: {reason}")
    assert said.count("\n") == 1


def test_a_folder_that_cannot_be_written_to_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = module("commandline")  # loaded before the question is answered otherwise
    monkeypatch.setattr(found.os, "access", lambda path, mode: mode != found.os.W_OK)
    with pytest.raises(SystemExit, match=r"^2$"):
        found.parse(["--peers"])
    said = capsys.readouterr().err
    assert "--output: expected a file in a folder that can be written to, got 'gpu_report.json'" in said


def test_every_option_has_help_and_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        module("commandline").parse(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    for told in (
        "'ENZYMES attributes' (all)",
        "need none",
        "(10)",
        "(200)",
        "(5)",
        "(0.2)",
        "(1024)",
        "(gpu_report.json)",
    ):
        assert told in said
    assert "/.cache/minipinet/peers)" in said


def test_as_many_folds_as_mutag_s_smaller_class_has_graphs() -> None:
    assert module("commandline").MOST_FOLDS == np.bincount(load_dataset("MUTAG").y).min()


def test_without_a_card_it_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = module("gpu_bench")
    monkeypatch.setattr(bench, "card_problem", lambda: "there is no NVIDIA card")
    assert bench.main(["--output", str(tmp_path / "report.json")]) == 1
    assert capsys.readouterr().err == "gpu_bench: there is no NVIDIA card\n"
    assert list(tmp_path.iterdir()) == []
