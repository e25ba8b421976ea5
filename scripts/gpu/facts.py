"""What the times of a benchmark depend on, of the card."""

from __future__ import annotations

import subprocess
from typing import Any

from minipinet._array import card_library


def card_facts() -> dict[str, Any]:
    """Return the names and versions of the card, its driver and its libraries."""
    library = card_library()
    runtime = library.cuda.runtime
    return {
        "card": runtime.getDeviceProperties(library.cuda.Device().id)["name"].decode(),
        "driver": _driver(),
        "versions": {"CUDA": _cuda(runtime.runtimeGetVersion()), "cupy": library.__version__},
    }


def _driver() -> str:
    words = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
