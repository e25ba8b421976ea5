"""How much a run of the tests tries: a part of the longest tables and searches, or all with MINIPINET_WHOLE=1.

A part is every second or third case, and fewer of hypothesis's examples: always the same ones, so that it is a smaller
run and no other one. `scripts/soak.py`, which draws other inputs too, runs all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tests.flags import flag

WHOLE = flag("MINIPINET_WHOLE", "where all shall be tried")

T = TypeVar("T")


def thinned(cases: Iterable[T], step: int = 2) -> list[T]:
    """Return every `step`-th case, from the first on; all in a whole run."""
    return list(cases)[:: 1 if WHOLE else step]


def examples(whole: int) -> int:
    """Return how many examples a search takes that has so many in a whole run."""
    return whole if WHOLE else -(-whole * 3 // 5)
