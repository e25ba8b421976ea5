"""What scripts/gpu_check says before it starts a test, and what it starts then."""

from __future__ import annotations

import os
import re
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


def program(folder: Path, text: str, name: str = "python") -> str:
    """Make a program that writes down what it is asked for, in a line of `asked`, and goes on as `text` says."""
    file = folder / name
    file.write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder}/asked"\n{text}\n', encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def asked(folder: Path) -> list[str]:
    """Return what such programs were asked for, but for the version, which comes first."""
    version, *lines = (folder / "asked").read_text(encoding="utf-8").splitlines()
    assert version.startswith("python -c ")
    return lines


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
    """By a Python that fails in one of them, and wherever a missing card would be no failure."""
    python = program(
        tmp_path,
        f'[ "$MINIPINET_REQUIRE_GPU" = 1 ] || exit 1; case "$*" in *"{fails or "nothing at all"}"*) exit 3 ;; esac',
    )
    done = gpu_check("--rounds", "2", python=python, folder=tmp_path, MINIPINET_REQUIRE_GPU="0")
    assert (done.returncode, done.stdout, done.stderr) == (int(bool(fails)), "", "")
    ready, tests, bench = asked(tmp_path)
    assert "/scripts/gpu/ready.py" in ready
    assert tests.startswith("python -m pytest ")
    assert "tests/test_gpu.py" in tests
    assert "/scripts/gpu_bench.py" in bench
    assert ready.endswith(" --rounds 2")
    assert bench.endswith(ready.partition("ready.py")[2])


@pytest.mark.parametrize("ended", [124, 137])
def test_tests_that_take_too_long_are_ended_and_the_benchmark_is_started(ended: int, tmp_path: Path) -> None:
    """By a `timeout` that writes down what it is asked for, and says at once that the time is up."""
    python = program(tmp_path, "exit 0")
    program(tmp_path, f"exit {ended}", "timeout")
    done = gpu_check(python=python, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpu_check: the tests were ended after 5 minutes\n"
    _, tests, bench = asked(tmp_path)
    assert tests.startswith(f"timeout --foreground -s INT -k 20 300 {tmp_path}/python -m pytest ")
    assert re.search(r" --minutes [89]\b", bench), "what is left of nine"


def test_the_time_is_that_since_the_start_whatever_the_environment_says(tmp_path: Path) -> None:
    done = gpu_check(python=program(tmp_path, ""), SECONDS="600")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r" --minutes [89]\b", asked(tmp_path)[-1])


@pytest.mark.parametrize(("python", "path"), [("bin/python", ""), ("python", "bin:")])
def test_a_python_may_be_named_from_where_the_check_is_started(python: str, path: str, tmp_path: Path) -> None:
    """By its file, and by a folder on the PATH."""
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "")
    done = gpu_check(python=python, folder=tmp_path, PATH=path + os.environ["PATH"])
    assert (done.returncode, done.stderr) == (0, "")
    assert len(asked(tmp_path / "bin")) == 3


@pytest.mark.parametrize("python", ["/nonexistent/python", "python -X dev"])
def test_a_python_that_is_not_there_is_one_line(python: str) -> None:
    done = gpu_check(python=python)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"gpu_check: there is no program {python} (PYTHON=FILE chooses a Python)\n"


def test_nothing_is_started_where_something_is_missing(tmp_path: Path) -> None:
    assert gpu_check(python=program(tmp_path, '[ "$1" = -c ]')).returncode == 1
    assert len(asked(tmp_path)) == 1


@pytest.mark.parametrize(
    ("absent", "told"),
    [
        ((), []),
        (
            ("pytest", "hypothesis"),
            ["not installed: pytest, hypothesis (pip install '.[test,cuda13]' in the project's folder, or cuda12)"],
        ),
        (
            ("numpy", "cupy"),
            [
                "not installed: numpy (pip install '.[test,cuda13]' in the project's folder, or cuda12)",
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


def test_an_old_python_is_told_before_it_reads_anything(tmp_path: Path) -> None:
    python = program(tmp_path, 'if [ "$1" = -V ]; then echo Python 2.7.18 >&2; else exit 1; fi')
    done = gpu_check(python=python)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpu_check: expected Python 3.11 or later, got Python 2.7.18 (PYTHON=FILE chooses another)\n"
    assert asked(tmp_path) == ["python -V"]


def test_the_oldest_python_is_the_project_s() -> None:
    asked = (ROOT / "scripts" / "gpu_check").read_text(encoding="utf-8")
    oldest = re.findall(
        r"^requires-python = \">=3\.(\d+)\"$", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    assert re.findall(r"version_info < \(3, (\d+)\)", asked) == re.findall(r"Python 3\.(\d+) or later", asked) == oldest
