"""Whether a card can be computed on, and what is said where it cannot."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._array import card_problem, check_device
from minipinet.errors import Notice, UsageError


def stand_in(count: Any = 1, total: int = 6) -> types.ModuleType:
    """Return a module named like the card's library, as far as it is asked."""
    module = types.ModuleType("cupy")
    module.__spec__ = importlib.machinery.ModuleSpec("cupy", None)

    def devices() -> int:
        if isinstance(count, Exception):
            raise count
        return int(count)

    module.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=devices))  # type: ignore[attr-defined]
    module.arange = lambda n: np.array([total])  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("library", "problem"),
    [
        (stand_in(0), "there is no NVIDIA card"),
        (
            stand_in(RuntimeError("no driver\nat all")),
            r"CuPy finds no card that works \(RuntimeError: no driver at all\)",
        ),
        (stand_in(1, 7), "the card adds 0, 1, 2 and 3 up to 7"),
        (None, "CuPy is not installed: pip install 'minipinet"),
    ],
)
def test_case_098_what_is_missing_is_said(
    library: types.ModuleType | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library is None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    else:
        monkeypatch.setitem(sys.modules, "cupy", library)
    with pytest.raises(UsageError, match=f"^device: 'cuda' cannot be used here: {problem}"):
        check_device("cuda")
    with pytest.warns(Notice, match=f"^device: 'auto' comes to 'cpu': {problem}"):
        assert check_device("auto") == "cpu"
    assert check_device("cpu") == "cpu"


def test_case_098_a_library_that_breaks_on_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cupy.py").write_text("raise OSError('libcuda.so.1: no such file')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert card_problem() == "CuPy finds no card that works (OSError: libcuda.so.1: no such file)"


def test_a_card_that_works_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", stand_in())
    assert card_problem() is None
    assert check_device("auto") == check_device("cuda") == "cuda"
