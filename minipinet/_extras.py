"""Libraries that are extras: imported where they are used, or one sentence on how to get them."""

from __future__ import annotations

import importlib
from types import ModuleType

from minipinet.errors import MissingLibraryError


def library(module: str, purpose: str, install: str) -> ModuleType:
    """Import an optional library, or say what to install.

    Examples
    --------
    >>> library("no_such", "to_nothing", "pip install nothing")
    Traceback (most recent call last):
    ...
    minipinet.errors.MissingLibraryError: to_nothing needs no_such: pip install nothing (No module named 'no_such')
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:  # OSError: a compiled part that does not fit
        raise MissingLibraryError(f"{purpose} needs {module}: {install} ({error})") from error


def sklearn(part: str, purpose: str) -> ModuleType:
    """Import a part of scikit-learn, or say how to install it.

    Examples
    --------
    >>> sklearn("model_selection", "cross-validation").__name__
    'sklearn.model_selection'
    """
    return library(f"sklearn.{part}", purpose, "pip install 'minipinet[sklearn]'")
