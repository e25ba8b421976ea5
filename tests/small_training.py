"""Short trainings on a small data set: shared by the tests of training and scoring."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import minipinet.evaluation
import minipinet.pinet_network
from minipinet._array import Array
from minipinet.batch import make_batches
from minipinet.fast.batch import make_fast_batches
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import TrainState, fit
from tests.small_data import two_kinds

SMALL = Settings(epochs=3, batch_size=7, hidden=6, out=4, lr=1e-2)
DATA = two_kinds(24)
QUOTIENT = refine(DATA.graphs)
ALL = np.arange(24)


def train(settings: Settings, index: Array = ALL, **options: Any) -> TrainState:
    """Train on some graphs of the small data set."""
    return fit(QUOTIENT, DATA.y, index, settings, C=2, **options)


def record_batches(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return a list that fills with the graph numbers of each batch made from now on."""
    batches: list[list[int]] = []

    def recording(make: Any, quotient: Any, index: Array, batch_size: int, dtype: str = "float32") -> Any:
        batches.extend(index[at : at + batch_size].tolist() for at in range(0, len(index), batch_size))
        return make(quotient, index, batch_size, dtype)

    monkeypatch.setattr(minipinet.pinet_network, "make_batches", partial(recording, make_batches))
    monkeypatch.setattr(minipinet.pinet_network, "make_fast_batches", partial(recording, make_fast_batches))
    monkeypatch.setattr(minipinet.evaluation, "make_batches", partial(recording, make_batches))
    return batches
