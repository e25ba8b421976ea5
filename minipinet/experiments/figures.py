"""The figures of the experiments, from the rows of a store."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from minipinet.errors import UsageError
from minipinet.experiments.records import Row


def draw_figures(rows: Iterable[Row], folder: Path) -> list[Path]:
    """Write every figure that the rows have data for, as PNG and SVG, and return the paths (none are drawn yet).

    Raises
    ------
    UsageError
        Without matplotlib.
    """
    _matplotlib()
    return []


def _matplotlib() -> ModuleType:
    try:
        return importlib.import_module("matplotlib")
    except ImportError as error:
        raise UsageError(f"figures need matplotlib: pip install 'minipinet[figures]' ({error})") from error
