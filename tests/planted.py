"""Faults that the tests for a card plant. Where the line of one is gone, the test that plants it fails.

It fails by what pytest raises for that, which is no `Exception`: nobody takes it for what a fault does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

import pytest

from minipinet.errors import UsageError
from minipinet.verify.planted import PlantedBug, plant


def with_fault(text: str, where: str, right: str, wrong: str) -> str:
    """Return a text in which `wrong` stands for `right`, which must be there once."""
    if text.count(right) != 1:
        pytest.fail(f"{where}: the line is gone: expected {right!r} once, found it {text.count(right)} times")
    return text.replace(right, wrong)


def planted(module: str, function: str, line: str, bug: str) -> PlantedBug:
    """Return a fault in a module of the package: a line, and what stands there instead."""
    return PlantedBug(bug, "device", f"minipinet.{module}", function, line, bug, "a habit from NumPy")


def copy_with(bug: PlantedBug | None, sources: Mapping[str, str] | None = None) -> dict[str, ModuleType]:
    """Return the modules of a copy with a fault in one of them, as `plant` does."""
    try:
        return plant(bug, sources)
    except UsageError as reason:
        pytest.fail(f"the line is gone: {reason}")
