"""In which form of `minipinet.fast` a test trains."""

from __future__ import annotations

import importlib

import pytest

from minipinet.fast import training


def use_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the form in NumPy ("numpy") or the compiled one ("numba", skipping the test without Numba)."""
    if form == "numba":
        pytest.importorskip("numba", reason="the compiled form needs Numba (the extra 'numba')")
        parts = {name: importlib.import_module(f"minipinet.fast.compiled.{name}") for name in training.PARTS}
    monkeypatch.setattr(training, "compiled_form", lambda: parts if form == "numba" else None)
