"""The errors and notices that minipinet raises: one sentence each, naming what was wrong and what is right."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable


class MinipinetError(Exception):
    """Base of every error raised on purpose; the command line prints it without a traceback (exit status 1)."""


class UsageError(MinipinetError, ValueError):
    """An argument is wrong: the message names it, what is allowed and what came (exit status 2)."""


class MissingLibraryError(UsageError, ImportError):
    """A library that is an extra is not installed: the message names it, and how to get it."""


class DeviceError(UsageError):
    """The device that was asked for cannot be used here: the message says why."""


class DataError(MinipinetError, ValueError):
    """A file or an input graph is malformed: the message names file and line, or graph and node."""


class DownloadError(MinipinetError, OSError):
    """A data set could not be fetched: the message names the address and the reason."""


class DivergedError(MinipinetError, ArithmeticError):
    """Training produced a NaN or an infinity: the message names the epoch and the quantity."""


class CardError(MinipinetError, RuntimeError):
    """A card that had been found to work failed: the message says how, on which card and what to try."""


class Notice(UserWarning):
    """Something was repaired or assumed on the way in (repeated edges dropped, an arc made symmetric)."""


#: Packages whose lines are nobody's own: a call from one of them was asked for further out.
_LIBRARIES = {"minipinet", "sklearn", "joblib", "contextlib"}


def notify(text: str) -> None:
    """Give a Notice at the line that called into the package, however deep inside it was found out.

    Lines of scikit-learn and joblib, which call an estimator for the user, are passed over too.

    Examples
    --------
    >>> import pytest
    >>> with pytest.warns(Notice, match="^1 graph has no node$"):
    ...     notify("1 graph has no node")
    """
    frame = sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES:
        frame = frame.f_back
    place, names = frame.f_code.co_filename, frame.f_globals
    registry = names.setdefault("__warningregistry__", {})  # where Python notes what it has shown already
    # Code that `exec` runs may have no name, and a warning of module None is not shown.
    module = names.get("__name__") or "<string>"
    warnings.warn_explicit(text, Notice, place, frame.f_lineno, module, registry)


def notify_changes(argument: str, changes: Iterable[tuple[int, str]]) -> None:
    """Give a Notice for each change of an argument that was made at all.

    Parameters
    ----------
    argument : str
        What was changed.
    changes : iterable of (int, str)
        How often something was changed, and what to say of it.

    Examples
    --------
    >>> import pytest
    >>> with pytest.warns(Notice, match="^A: 2 weights set to 1$"):
    ...     notify_changes("A", [(2, "2 weights set to 1"), (0, "0 entries added")])
    """
    for count, text in changes:
        if count:
            notify(f"{argument}: {text}")
