"""What tests of the part for a card share: its scripts as modules, and what is missing where it must not be."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.flags import flag

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
    return flag(REQUIRED, "where a card must be there")
