"""Environment variables that are set or not."""

from __future__ import annotations

import os

import pytest


def flag(name: str, meaning: str) -> bool:
    """Return whether a variable is 1, not 0, empty or unset; a UsageError of pytest's for anything else."""
    value = os.environ.get(name, "")
    if value not in ("", "0", "1"):
        raise pytest.UsageError(f"{name}: expected 1 {meaning}, else 0 or nothing, got {value!r}")
    return value == "1"
