"""Which passes of `minipinet.fast` a test takes."""

from __future__ import annotations

import importlib

import pytest

from minipinet.fast import passes


def use_passes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the passes in NumPy ("numpy") or compiled ("numba", skipping the test without Numba)."""
    if form == "numba":
        pytest.importorskip("numba", reason="compiled passes need Numba (the extra 'numba')")
    compiled = importlib.import_module("minipinet.fast.numba_passes") if form == "numba" else None
    monkeypatch.setattr(passes, "compiled_passes", lambda: compiled)
