"""Standard streams that the caller closed: the others say what they say otherwise, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.small_data import environment


def shell(words: str, closed: str, folder: Path) -> tuple[int, str, str]:
    """Run ``minipinet WORDS`` with streams closed as a shell does it."""
    line = f'exec "{sys.executable}" -W error -m minipinet {words} {closed}'
    done = subprocess.run(
        line, shell=True, cwd=folder, env=environment(), text=True, capture_output=True, check=False, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@cache
def with_streams(words: str) -> tuple[int, str, str]:
    return shell(words, "", Path.cwd())


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("words", "expected"), [("data list", 0), ("--help", 0), ("data info NONESUCH", 2)])
def test_closed_streams_change_nothing_in_the_others(words: str, expected: int, closed: str, tmp_path: Path) -> None:
    status, out, err = with_streams(words)
    assert (status, out == "", err == "") == (expected, expected == 2, expected == 0)
    streams = closed.split()
    assert shell(words, closed, tmp_path) == (
        expected,
        "" if ">&-" in streams else out,
        "" if "2>&-" in streams else err,
    )


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_run_without_streams_is_a_run(closed: str, jobs: int, tmp_path: Path) -> None:
    words = f"train --epochs 1 --hidden 3 --out 2 --folds 2 --jobs {jobs} --run-dir run"
    status, out, err = shell(words, closed, tmp_path)
    assert (status, err) == (0, "")
    assert out.endswith("saved in run\n") if closed == "2>&-" else out == ""
    for name in ("run.json", "fold-01/log.jsonl", "fold-01/model.safetensors"):
        assert (tmp_path / "run" / name).stat().st_size > 0
