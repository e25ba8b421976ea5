"""States that do not fit the settings, and what is no longer finite: told alike on either device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet.datasets import load_dataset
from minipinet.errors import DivergedError, UsageError
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import TrainState, fit, start
from tests.kernels_on_host import use_host_card

DATA = load_dataset("MUTAG")[::6]


def train(device: str, state: TrainState | None = None, scale: float = 1.0, **changes: Any) -> TrainState:
    settings = Settings(**({"epochs": 1, "hidden": 4, "out": 2} | changes), device=device)
    quotient = refine(DATA.graphs)
    return fit(
        quotient._replace(X=quotient.X * scale), DATA.y, np.arange(len(DATA)), settings, C=2, state=state
    )  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_state_of_another_dtype_or_number_of_classes_is_refused(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)
    d = DATA.num_features
    for ours, theirs in (("float32", "float64"), ("float64", "float32")):
        state = start(Settings(hidden=4, out=2, dtype=theirs), d, 2)
        with pytest.raises(UsageError, match=rf"^state: expected {ours}, as settings\.dtype is, got {theirs} in W_"):
            train(device, state, dtype=ours)
        mixed = start(Settings(hidden=4, out=2, dtype=ours), d, 2)._replace(adam=state.adam)
        with pytest.raises(UsageError, match=rf"got {theirs} in Adam's m of W_"):
            train(device, mixed, dtype=ours)
    for C in (1, 3):
        with pytest.raises(UsageError, match=rf"^state: expected weights for C = 2 classes, got weights for {C}$"):
            train(device, start(Settings(hidden=4, out=2), d, C))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_infinite_moment_is_told(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)
    assert train(device).epoch == 1
    with pytest.raises(DivergedError, match=r"epoch 1: Adam's v of W_X0 is no longer finite"):
        train(device, scale=1e25, pq=(1.0, 0.0))
