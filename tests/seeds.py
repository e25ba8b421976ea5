"""The seed of a run: MINIPINET_SEED draws other examples and other inputs, the same ones at every repetition.

Unset, hypothesis derives its examples from each test's name and the drawn inputs have the seeds written in the tests,
so that every run is the same. `MINIPINET_SEED=3 scripts/test` draws others; `scripts/soak.py` runs five such seeds.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import seed

GIVEN = os.environ.get("MINIPINET_SEED") or None
if GIVEN is not None and not GIVEN.isdecimal():
    raise pytest.UsageError(f"MINIPINET_SEED: expected a whole number, 0 or more, got {GIVEN!r}")
SEED = int(GIVEN or 0)


def shifted(number: int) -> int:
    """Return the seed that stands for `number` in this run: itself unless MINIPINET_SEED is set above 0."""
    return number + 1_000_000 * SEED


def profile() -> dict[str, Any]:
    """Return what the seed has to say in hypothesis's profile: no examples are kept from one run to the next."""
    return {"derandomize": GIVEN is None, "database": None}


def plant(test: Any) -> None:
    """Let hypothesis draw a test's examples from the seed, where one is set."""
    if GIVEN is not None and getattr(test, "is_hypothesis_test", False):
        seed(SEED)(test)
