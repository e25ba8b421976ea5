"""The errors and notices that minipinet raises: one sentence each, naming what was wrong and what is right."""

from __future__ import annotations


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
