"""What the stand-in for a card is asked for, counted: operations, what waits for one, what is sent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.device_stand_in import BOTH_SIDES, Device, DeviceSparse, Function


def record(
    monkeypatch: pytest.MonkeyPatch, found: list[str], owner: Any, method: str, name: Callable[..., str | None]
) -> None:
    """Let a method add to a list what `name` makes of its arguments, if it makes anything of them, at each call."""
    plain = getattr(owner, method)

    def recorded(*args: Any, **kwargs: Any) -> Any:
        if what := name(*args, **kwargs):
            found.append(what)
        return plain(*args, **kwargs)

    monkeypatch.setattr(owner, method, recorded)


def count_operations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with what would start work on a card; views, shapes and dtypes do not."""
    counted: list[str] = []
    free = "ndarray.reshape", "ndarray.transpose", "ndarray.astype", "result_type", "finfo", "empty"

    def function(called: Function, *_: Any, **__: Any) -> str | None:
        return None if called.name in free else called.name

    def index(_: Device, key: Any) -> str | None:
        keys = key if isinstance(key, tuple) else (key,)
        return "__getitem__" if any(isinstance(part, Device) for part in keys) else None

    record(monkeypatch, counted, Function, "__call__", function)
    record(monkeypatch, counted, Device, "__getitem__", index)
    record(monkeypatch, counted, DeviceSparse, "__matmul__", lambda *_: "__matmul__")
    operators = [f"__{turn}{name}__" for name in BOTH_SIDES for turn in ("", "r")]
    unary = [f"__{name}__" for name in ("neg", "invert", "abs", "iadd", "isub", "imul", "itruediv")]
    for name in (*operators, *unary, "__setitem__"):
        record(monkeypatch, counted, Device, name, lambda *_, name=name: name)
    return counted


def count_waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with what makes the host wait for a card: numbers asked for, and copies back."""
    waits: list[str] = []

    def to_list(called: Function, *_: Any, **__: Any) -> str | None:
        return "tolist" if called.name == "ndarray.tolist" else None

    record(monkeypatch, waits, Device, "__bool__", lambda _: "bool")
    record(monkeypatch, waits, Device, "__int__", lambda _: "int")
    record(monkeypatch, waits, Function, "__call__", to_list)
    record(monkeypatch, waits, sys.modules["cupy"], "asnumpy", lambda _: "asnumpy")
    return waits


def count_uploads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with the shapes of what is copied to a card; nothing gets there but by `asarray`."""
    uploads: list[str] = []

    def shape(x: Any) -> str | None:
        return None if isinstance(x, Device | DeviceSparse) else str(np.shape(x))

    record(monkeypatch, uploads, sys.modules["cupy"], "asarray", shape)
    return uploads
