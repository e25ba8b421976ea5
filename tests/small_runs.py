"""Runs in folders, and whether two of them hold the same: shared by the tests of run folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from minipinet.checkpoint import load_checkpoint
from minipinet.crossval import cross_validate
from minipinet.settings import Settings
from tests.small_data import files, same_bits, two_kinds, without_seconds

SMALL = Settings(epochs=4, batch_size=7, hidden=6, out=4, lr=1e-2)
DATA = two_kinds(24)
FOLD_FILES = ["checkpoint.safetensors", "log.jsonl", "model.safetensors"]


def strict(text: str) -> Any:
    """Parse JSON, refusing the words that are not JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def run(folder: Path, settings: Settings = SMALL, **options: Any) -> None:
    """Cross-validate the small data set in a folder."""
    cross_validate(DATA, settings, folds=3, run_dir=folder, **options)


def stamps(folder: Path) -> dict[str, int]:
    """Return when each file below a folder was last written."""
    return {name: (folder / name).stat().st_mtime_ns for name in files(folder) if (folder / name).is_file()}


def same_run(a: Path, b: Path) -> bool:
    """Return whether two run folders hold the same files with the same bits, seconds apart."""
    if files(a) != files(b):
        return False
    for name in files(a):
        if name.endswith("model.safetensors") and (a / name).read_bytes() != (b / name).read_bytes():
            return False
        if name.endswith("checkpoint.safetensors"):
            first, second = (load_checkpoint(folder / name) for folder in (a, b))
            s, t = first.state, second.state
            if not same_bits((s.params, s.adam, s.best), (t.params, t.adam, t.best)):
                return False
            if (first.settings, first.extra, s.epoch) != (second.settings, second.extra, t.epoch):
                return False
            if s.rng.bit_generator.state != t.rng.bit_generator.state:
                return False
            if without_seconds(s.history) != without_seconds(t.history):
                return False
    return True
