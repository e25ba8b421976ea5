"""The errors and notices that minipinet raises: one sentence each, naming what was wrong and what is right."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


class MinipinetError(Exception):
    """Base of every error raised on purpose; the command line prints it without a traceback (exit status 1)."""


class UsageError(MinipinetError, ValueError):
    """An argument is wrong: the message names it, what is allowed and what came (exit status 2)."""


class DataError(MinipinetError, ValueError):
    """A file or an input graph is malformed: the message names file and line, or graph and node."""


class DownloadError(MinipinetError, OSError):
    """A data set could not be fetched: the message names the address and the reason."""


class DivergedError(MinipinetError, ArithmeticError):
    """Training produced a NaN or an infinity: the message names the epoch and the quantity."""


class Notice(UserWarning):
    """Something was repaired or assumed on the way in (repeated edges dropped, an arc made symmetric)."""


def notify_changes(argument: str, changes: Iterable[tuple[int, str]], stacklevel: int) -> None:
    """Give a Notice for each change of an argument that was made at all; `stacklevel` counts from the caller.

    Parameters
    ----------
    argument : str
        What was changed.
    changes : iterable of (int, str)
        How often something was changed, and what to say of it.
    stacklevel : int
        As for ``warnings.warn`` where this is called.

    Examples
    --------
    >>> import pytest
    >>> with pytest.warns(Notice, match="^A: 2 weights set to 1$"):
    ...     notify_changes("A", [(2, "2 weights set to 1"), (0, "0 entries added")], stacklevel=1)
    """
    for count, text in changes:
        if count:
            warnings.warn(f"{argument}: {text}", Notice, stacklevel=stacklevel + 1)
