"""What scripts/gpu_check says before it starts a test, and what it starts then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minipinet._card
from tests.gpu_scripts import ROOT, module, scripts

__all__ = ["scripts"]  # a fixture


def gpu_check(*words: str, python: str = sys.executable, folder: Path | None = None, **variables: str) -> Any:
    environment = os.environ | {"PYTHON": python} | variables
    command = ["bash", str(ROOT / "scripts" / "gpu_check"), *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)


def test_help_is_all_that_is_asked_for() -> None:
    done = gpu_check("--rounds", "2", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: gpu_check ")
    assert done.stdout.count("usage: ") == 1
    assert "passed" not in done.stdout


@pytest.mark.parametrize(
    "words", [["--rounds", "0"], ["--data-dir", "/no/such"], ["--envs", "/no/such"], ["--nothing"]]
)
def test_bad_use_is_one_line_before_any_test(words: list[str]) -> None:
    done = gpu_check(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gpu_check: error: ")
    assert words[0] in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_card_is_one_line_before_any_test() -> None:
    problem = minipinet._card.card_problem()
    if problem is None:
        pytest.skip("there is a card")
    done = gpu_check()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gpu_check: ")
    assert done.stderr.endswith(f"{problem}\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("fails", ["", "pytest", "gpu_bench"])
def test_tests_and_benchmark_are_both_started(fails: str, tmp_path: Path) -> None:
    """By a Python that writes down what it is asked for, and fails in one of them."""
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\necho "$MINIPINET_REQUIRE_GPU $*" >> "{tmp_path}/asked"\n'
        f'case "$*" in *"{fails or "nothing at all"}"*) exit 3 ;; esac\n', encoding="utf-8",
    )  # fmt: skip
    python.chmod(0o755)
    done = gpu_check("--rounds", "2", python=str(python), folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (int(bool(fails)), "", "")
    ready, tests, bench = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert "/scripts/gpu/ready.py" in ready
    assert tests.startswith("1 -m pytest ")
    assert "tests/test_gpu.py" in tests
    assert "/scripts/gpu_bench.py" in bench
    assert ready.endswith(" --rounds 2")
    assert bench.endswith(ready.partition("ready.py")[2])


def test_tests_that_take_too_long_are_ended_and_the_benchmark_is_started(tmp_path: Path) -> None:
    """By a `timeout` that writes down what it is asked for, and says at once that the time is up."""
    for name, status in (("timeout", 124), ("python", 0)):
        file = tmp_path / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/asked"\nexit {status}\n', encoding="utf-8")
        file.chmod(0o755)
    done = gpu_check(python=str(tmp_path / "python"), PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpu_check: the tests were ended after 5 minutes\n"
    _, tests, bench = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert tests.startswith(f"timeout --foreground -s INT -k 20 300 {tmp_path}/python -m pytest ")
    assert " --minutes 4" in bench


@pytest.mark.parametrize("python", ["/nonexistent/python", "python -X dev"])
def test_a_python_that_is_not_there_is_one_line(python: str) -> None:
    done = gpu_check(python=python)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"gpu_check: there is no program {python} (PYTHON=FILE chooses a Python)\n"


def test_nothing_is_started_where_something_is_missing(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$*" >> "{tmp_path}/asked"\nexit 1\n', encoding="utf-8")
    python.chmod(0o755)
    assert gpu_check(python=str(python)).returncode == 1
    assert len((tmp_path / "asked").read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("absent", "told"),
    [
        ((), []),
        (
            ("pytest", "hypothesis"),
            ["not installed: pytest, hypothesis (pip install '.[test,cuda12]' in the project's folder)"],
        ),
        (
            ("numpy", "cupy"),
            [
                "not installed: numpy (pip install '.[test,cuda12]' in the project's folder)",
                "CuPy is not installed either",
            ],
        ),
        (("g++",), ["there is no g++ to compile the kernels with"]),
        (("card", "g++"), ["there is no g++ to compile the kernels with", "there is no card"]),
    ],
)
def test_what_is_missing_is_told(absent: tuple[str, ...], told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ready = module("ready")
    monkeypatch.setattr(ready.importlib.util, "find_spec", lambda name: None if name in absent else name)
    monkeypatch.setattr(ready.shutil, "which", lambda name: None if name in absent else name)
    monkeypatch.setattr(minipinet._card, "card_problem", lambda: "there is no card" if "card" in absent else None)
    assert ready.missing() == told


def test_an_old_python_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ready = module("ready")
    monkeypatch.setattr(ready, "OLDEST_PYTHON", (9, 0))
    here = ".".join(map(str, sys.version_info[:2]))
    assert ready.main([]) == 1
    said = f"gpu_check: expected Python 9.0 or later, got {here} (PYTHON=FILE chooses another)\n"
    assert capsys.readouterr().err == said


def test_the_oldest_python_is_the_project_s() -> None:
    oldest = ".".join(map(str, module("ready").OLDEST_PYTHON))
    assert f'requires-python = ">={oldest}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
