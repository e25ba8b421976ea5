"""Folds at once on the host for a card: a small data set, its settings, and which folds are side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.crossval import CrossValidation, cross_validate
from minipinet.cuda.training import Card
from minipinet.settings import Settings
from tests.kernels_on_host import use_host_card
from tests.small_data import two_kinds

#: Sixteen or seventeen graphs to train on: two batches in one fold, three in another.
DATA = two_kinds(25)
ALL = np.arange(25)
SMALL = Settings(epochs=4, batch_size=8, hidden=6, out=4, lr=1e-2, device="cuda")
STOPPING = replace(SMALL, epochs=40, lr=0.2, validation=0.2, patience=2)  # 4, 3 and 10 epochs


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that fills with the number of folds that are on each card."""
    numbers: list[int] = []
    made = Card.__init__

    def spy(self: Card, launch: Any, tables: Any, likes: Any, *rest: Any, **options: Any) -> None:
        numbers.append(len(likes))
        made(self, launch, tables, likes, *rest, **options)

    monkeypatch.setattr(Card, "__init__", spy)
    return numbers


def run(folder: Path | None = None, at_once: int = 3, settings: Settings = SMALL, **options: Any) -> CrossValidation:
    return cross_validate(
        DATA, settings, 3, folds_at_once=at_once, run_dir=folder, checkpoint_seconds=0, **options
    )  # fmt: skip
