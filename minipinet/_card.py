"""What fails on a card after it was found to work: one sentence, with what to try, in place of a library's error."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from minipinet._array import CARD_ERRORS, INSTALL, NO_LIBRARY, card_library, reason_of, try_card
from minipinet.errors import CardError

#: What libraries say where the memory of a card is short.
_NO_MEMORY = re.compile("OutOfMemory|out of memory|ALLOC_FAILED", re.IGNORECASE)


@contextlib.contextmanager
def card_failures(smaller: str) -> Iterator[None]:
    """Raise what fails on a card in here as a CardError, chained to the error of the library; all else as it is.

    Parameters
    ----------
    smaller : str
        What needs less memory, or has more of it: what to try where a card has too little.

    Examples
    --------
    >>> with card_failures("fewer graphs at a time"):
    ...     print("no card is asked for anything")
    no card is asked for anything
    """
    try:
        yield
    except Exception as error:
        # What loads a library says only by its text that it is one of a card's.
        of_card = CARD_ERRORS.match(f"{type(error).__module__}.") or _lacks_library(error)
        if isinstance(error, CardError) or not of_card:
            raise
        try_card.cache_clear()  # whoever asks for a card again has it tried again
        raise CardError(_sentence(error, smaller)) from error


def _lacks_library(error: Exception) -> bool:
    return isinstance(error, ImportError | OSError | RuntimeError) and NO_LIBRARY.search(str(error)) is not None


def _sentence(error: Exception, smaller: str) -> str:
    reason, card = reason_of(error), _card()
    if _lacks_library(error) or NO_LIBRARY.search(reason):
        return f"device: 'cuda' lacks a library of NVIDIA's on {card}: {INSTALL} ({reason})"
    if _NO_MEMORY.search(reason):
        return f"device: 'cuda' ran out of memory on {card} ({reason}); try {smaller}, or device 'cpu'"
    return f"device: 'cuda' failed on {card} ({reason}); try again in a new process, or device 'cpu'"


def _card() -> str:
    """Return which card is in use, if it still answers."""
    try:
        return f"card {int(card_library().cuda.Device().id)}"
    except Exception:  # after a failure every call may fail
        return "the card"
