"""minipinet: PiNet with hand-written forward and backward passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minipinet.estimator import PiNetClassifier as PiNetClassifier


def __getattr__(name: str) -> Any:
    # Looked up when they are asked for: either takes longer than this import, and the estimator needs scikit-learn.
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name == "PiNetClassifier":
        from minipinet.estimator import PiNetClassifier

        return PiNetClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
