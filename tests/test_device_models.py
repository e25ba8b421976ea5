"""Where folds are tested and an estimator computes: on the card that `device` names, by the host's kernels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minipinet._card
from minipinet import PiNetClassifier
from minipinet.crossval import cross_validate
from minipinet.errors import Notice, UsageError
from minipinet.settings import Settings
from tests.kernels_on_host import use_host_card
from tests.small_data import two_kinds
from tests.test_device_scores import watch
from tests.tolerances import FORMS_FLOAT64, relative_error

DATA = two_kinds(24)
SMALL = Settings(epochs=1, batch_size=8, hidden=6, out=4, dtype="float64")
SHAPE: dict[str, Any] = {"epochs": 1, "hidden": 6, "out": 4, "dtype": "float64", "random_state": 0}


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the host stand in for a card; return where each batch is scored, as it happens."""
    use_host_card(monkeypatch)
    return watch(monkeypatch)


@pytest.mark.parametrize("at_once", [1, 3])
def test_folds_are_tested_where_they_are_trained(at_once: int, card: list[str]) -> None:
    here, there = (
        cross_validate(DATA, replace(SMALL, device=device), 3, folds_at_once=at_once if device == "cuda" else 1)
        for device in ("cpu", "cuda")
    )
    assert card == ["cpu"] * 3 + ["cuda"] * 3
    for a, b in zip(here.folds, there.folds, strict=True):
        assert relative_error(b.loss, a.loss) < 1e-9
        assert (type(b.loss), type(b.predictions)) == (float, np.ndarray)
        assert b.predictions.tolist() == a.predictions.tolist()


def test_an_estimator_computes_where_its_device_says(card: list[str]) -> None:
    graphs = list(DATA)
    clf = PiNetClassifier(device="cuda", **SHAPE).fit(graphs, DATA.labels)
    found = clf.predict_proba(graphs), clf.transform(graphs)
    labels = clf.predict(graphs).tolist()
    assert card == ["cuda"] * 3
    clf.set_params(device="cpu")
    assert all(isinstance(table, np.ndarray) for table in found)
    assert relative_error(found[0], clf.predict_proba(graphs)) < FORMS_FLOAT64
    assert relative_error(found[1], clf.transform(graphs)) < FORMS_FLOAT64
    assert labels == clf.predict(graphs).tolist()
    assert card[3:] == ["cpu"] * 3
    clf.set_params(device="cuda").attention(graphs[0])
    assert card[6:] == ["cpu"]


@pytest.mark.usefixtures("card")
def test_an_estimator_from_a_card_is_used_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = list(DATA)
    fitted = PiNetClassifier(device="cuda", **SHAPE).fit(graphs, DATA.labels)
    fitted.save(tmp_path / "model.safetensors")
    loaded = PiNetClassifier.load(tmp_path / "model.safetensors")
    assert loaded.device == "auto"
    monkeypatch.setattr(minipinet._card, "card_problem", lambda: "the card is gone")
    with pytest.raises(UsageError, match=r"^device: 'cuda' cannot be used here: the card is gone$"):
        fitted.predict(graphs)
    with pytest.warns(Notice, match=r"^device: 'auto' comes to 'cpu': the card is gone$"):
        found = loaded.predict(graphs)
    assert found.tolist() == fitted.set_params(device="cpu").predict(graphs).tolist()
