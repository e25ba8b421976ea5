"""Calling the command line in this process and in others: shared by the tests of the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minipinet.cli import main

ROOT = Path(__file__).resolve().parent.parent
#: A training that takes a moment.
TINY = ("--epochs", "2", "--hidden", "4", "--out", "2", "--jobs", "1")


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one strict JSON document on standard output."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not strict JSON")

        document = json.loads(self.out, parse_constant=refuse)
        assert isinstance(document, dict)
        return document


def call(capsys: pytest.CaptureFixture[str], *words: object) -> Outcome:
    """Run ``minipinet WORDS`` in this process."""
    capsys.readouterr()
    status = main([str(word) for word in words])
    return Outcome(status, *capsys.readouterr())


def start(*words: object, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """Start ``python -m minipinet WORDS`` in a process group of its own, warnings being errors."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "minipinet", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})},
        text=True,
        start_new_session=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def finish(process: subprocess.Popen[str]) -> Outcome:
    out, err = process.communicate(timeout=120)
    return Outcome(process.returncode, out or "", err or "")


def figures(document: dict[str, Any]) -> dict[str, Any]:
    """Return what two runs of the same settings must agree in: everything but place, command and time."""

    def without_time(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without_time(entry) for name, entry in value.items() if name != "seconds"}
        return [without_time(entry) for entry in value] if isinstance(value, list) else value

    kept: dict[str, Any] = without_time({k: v for k, v in document.items() if k not in ("run_dir", "command")})
    return kept
