"""minipinet: PiNet with hand-written forward and backward passes."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    # Looked up when it is asked for: reading the installed metadata takes longer than this import.
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
