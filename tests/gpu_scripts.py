"""The scripts of a card's benchmark as tests import them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FACTS = {"card": "no card at all", "driver": "0.0", "versions": {"CUDA": "0.0"}}


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("scripts", "scripts/gpu", "scripts/peers"):
        monkeypatch.syspath_prepend(str(ROOT / folder))


def module(name: str) -> Any:
    return importlib.import_module(name)
