"""What tests of the part for a card share: its scripts as modules, and what is missing where it must not be."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = "MINIPINET_REQUIRE_GPU"
FACTS = {"card": "no card at all", "driver": "0.0", "versions": {"CUDA": "0.0"}}


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("scripts", "scripts/gpu", "scripts/peers"):
        monkeypatch.syspath_prepend(str(ROOT / folder))


def module(name: str) -> Any:
    return importlib.import_module(name)


def skip_or_fail(reason: str) -> NoReturn:
    """Skip a test; where `scripts/gpu_check` runs it, which sets MINIPINET_REQUIRE_GPU=1, let it fail."""
    if gpu_required():
        pytest.fail(f"{REQUIRED}=1, but {reason}")
    pytest.skip(reason)


def gpu_required() -> bool:
    """Return whether MINIPINET_REQUIRE_GPU is 1, not 0, empty or unset; a UsageError of pytest's for anything else."""
    value = os.environ.get(REQUIRED, "")
    if value not in ("", "0", "1"):
        raise pytest.UsageError(f"{REQUIRED}: expected 1 where a card must be there, else 0 or nothing, got {value!r}")
    return value == "1"
