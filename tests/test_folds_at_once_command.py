"""`minipinet train --folds-at-once` on the host for a card."""

from __future__ import annotations

from pathlib import Path

import pytest

import minipinet._card
from tests.cli_calls import call, figures
from tests.small_data import files
from tests.small_folds import card, side_by_side

__all__ = ["card", "side_by_side"]  # fixtures

WORDS = ["train", "--folds", "3", "--epochs", "2", "--hidden", "4", "--out", "2"]


def test_the_command_trains_folds_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, side_by_side: list[int]
) -> None:
    on_card = [*WORDS, "--device", "cuda", "--json"]
    one = call(capsys, *on_card, "--run-dir", tmp_path / "one", "--jobs", "1")
    side_by_side.clear()
    three = call(capsys, *on_card, "--run-dir", tmp_path / "three", "--folds-at-once", "3")
    assert side_by_side == [3]
    assert figures(three.json) == figures(one.json)
    shown = three.err.splitlines()
    assert shown[0].startswith("1 of 6 epochs: fold 0, loss ")
    assert shown[-1].startswith("6 of 6 epochs: fold 2, loss ")
    assert [line.split()[0] for line in shown] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--folds-at-once 3", "expected 1 on the CPU (a card is device 'cuda' or 'auto'), got 3"),
        ("--folds-at-once 3 --device cpu", "expected 1 on the CPU (a card is device 'cuda' or 'auto'), got 3"),
        ("--folds-at-once 0 --device cuda", "expected a whole number of at least 1, got 0"),
        ("--folds-at-once 3 --device cuda --folds 0", "expected 1 with --folds 0, which has no folds, got 3"),
        ("--folds-at-once many", "expected a whole number of at least 1, got 'many'"),
    ],
)
def test_bad_use_is_one_line(
    words: str, reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = call(capsys, *WORDS, *words.split())
    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"minipinet: error: --folds-at-once: {reason}\n")
    assert files(tmp_path) == []


def test_jobs_beside_folds_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, *WORDS, "--folds-at-once", "3", "--device", "auto", "--jobs", "2")
    assert (outcome.status, outcome.err) == (
        2, "minipinet: error: --jobs: expected 1 where a card trains several folds at once, got 2\n",
    )  # fmt: skip


def test_auto_without_a_card_trains_fold_after_fold(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minipinet._card, "card_problem", lambda: "there is none")
    words = ["--device", "auto", "--folds-at-once", "3", "--jobs", "1", "--json", "--quiet"]
    outcome = call(capsys, *WORDS, *words, "--run-dir", tmp_path / "auto")
    assert (outcome.status, outcome.err) == (0, "note: device: 'auto' comes to 'cpu': there is none\n")
    cpu = call(capsys, *WORDS, "--jobs", "1", "--json", "--run-dir", tmp_path / "cpu")
    assert figures(outcome.json) == figures(cpu.json)
