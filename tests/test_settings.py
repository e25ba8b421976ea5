"""Settings: checked at once, kept in one form, to JSON and back."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from minipinet.errors import UsageError
from minipinet.settings import Settings


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("epochs", 0, "at least 1"),
        ("epochs", -3, "at least 1"),
        ("epochs", 2.0, "whole number"),
        ("epochs", "20", "whole number"),
        ("epochs", True, "whole number"),
        ("epochs", None, "whole number"),
        ("batch_size", 0, "at least 1"),
        ("hidden", 0, "at least 1"),
        ("hidden", 10**30, "from 1 to 1048576"),
        ("out", 2**20 + 1, "from 1 to 1048576"),
        ("out", 0, "at least 1"),
        ("lr", 0, "above 0"),
        ("lr", -1e-3, "above 0"),
        ("lr", float("nan"), "finite"),
        ("lr", float("inf"), "finite"),
        ("lr", "0.1", "finite number"),
        ("lr", 10**400, "finite number"),
        ("l2", -1.0, "at least 0"),
        ("l2", float("nan"), "finite"),
        ("validation", 1.0, "[0, 1)"),
        ("validation", -0.1, "[0, 1)"),
        ("seed", -1, "at least 0"),
        ("seed", 2**32, "from 0 to 4294967295"),
        ("seed", 1.5, "whole number"),
        ("init", "zeros", "he"),
        ("init", ["he"], "he"),
        ("dtype", "float16", "float32"),
        ("dtype", np.float32, "float32"),
        ("device", "gpu", "cpu"),
        ("bias", 1, "True or False"),
        ("merge", "yes", "True or False"),
        ("pq", "fixed", "learned"),
        ("pq", (0.5,), "pair"),
        ("pq", (0.5, 1.5), "[0, 1]"),
        ("pq", (-0.1, 0.5), "[0, 1]"),
        ("pq", (float("nan"), 0.5), "[0, 1]"),
        ("pq", [(0, 1)] * 3, "four"),
        ("pq", [(0, 1), (1, 0), (1, 1), (0, 2)], "[0, 1]"),
        ("pq", [(0, 1), (1,)], "pair"),
        ("pq", None, "learned"),
        ("pq", ("0.5", "1"), "pair"),
        ("pq", [("0", "1")] * 4, "four"),
        ("pq", (True, False), "pair"),
        ("pq", (0.5, True), "pair"),
        ("pq", np.array([True, False]), "pair"),
        ("pq", (10**400, 0), "[0, 1]"),
        ("pq", (0.5j, 0), "pair"),
        ("patience", 0, "at least 1"),
        ("steps_per_epoch", 0, "at least 1"),
        ("steps_per_epoch", 1.5, "whole number"),
    ],
)
def test_a_wrong_value_is_refused_by_name(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(UsageError) as refused:
        Settings(**{name: value})
    message = str(refused.value)
    assert message.startswith(f"{name}: ")
    assert allowed in message
    assert "\n" not in message


def test_case_113_zero_epochs_and_batch_size_zero_are_refused() -> None:
    for name in ("epochs", "batch_size"):
        wrong: dict[str, Any] = {name: 0}
        with pytest.raises(UsageError, match=f"{name}: expected a whole number of at least 1, got 0"):
            Settings(**wrong)


def test_patience_needs_a_validation_part() -> None:
    with pytest.raises(UsageError, match=r"patience.*validation > 0"):
        Settings(patience=5)
    assert Settings(patience=5, validation=0.1).patience == 5


def test_settings_are_frozen_and_numpy_values_become_plain() -> None:
    settings = Settings(epochs=np.int64(3), lr=np.float32(0.5), bias=np.bool_(True))  # type: ignore[arg-type]
    assert (type(settings.epochs), type(settings.lr), type(settings.bias)) == (int, float, bool)
    with pytest.raises(FrozenInstanceError):
        settings.epochs = 4  # type: ignore[misc]


def test_one_pair_means_that_pair_in_every_layer() -> None:
    settings = Settings(pq=(1, 0))
    assert settings == Settings(pq=((1.0, 0.0),) * 4)
    assert not settings.learned_pq
    assert settings.pairs is not None
    assert settings.pairs.tolist() == [[1.0, 0.0]] * 4
    assert Settings(pq=np.array([1.0, 0.0])) == settings  # type: ignore[arg-type]


def test_four_pairs_keep_their_order() -> None:
    settings = Settings(pq=((0, 1), (0.25, 0.5), (1, 0), (1, 1)))
    assert settings.pairs is not None
    assert settings.pairs.tolist() == [[0, 1], [0.25, 0.5], [1, 0], [1, 1]]


def test_learned_has_no_pairs() -> None:
    assert Settings().learned_pq
    assert Settings().pairs is None


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(pq=(0.1, 1 / 3), lr=1e-7, bias=True, seed=2**32 - 1, steps_per_epoch=1),
        Settings(pq=((0, 1), (1, 0), (1, 1), (0, 0)), validation=0.2, patience=3, dtype="float64", merge=False),
    ],
)
def test_json_round_trip(settings: Settings) -> None:
    text = json.dumps(settings.to_json(), allow_nan=False)
    assert set(json.loads(text)) == {field.name for field in fields(Settings)}
    assert Settings.from_json(json.loads(text)) == settings


def test_json_with_an_unknown_name_or_wrong_value_is_refused() -> None:
    with pytest.raises(UsageError, match="momentum"):
        Settings.from_json({"epochs": 3, "momentum": 0.9})
    with pytest.raises(UsageError, match="epochs"):
        Settings.from_json({"epochs": "3"})
    wrong: Any
    for wrong in (None, 3, "epochs", [("epochs", 3)], {1: 2, "epochs": 3}, {None: 1}):
        with pytest.raises(UsageError, match=r"^settings: expected "):
            Settings.from_json(wrong)


def test_json_from_before_a_setting_existed_means_its_default() -> None:
    values = Settings(epochs=3).to_json()
    del values["steps_per_epoch"]
    assert Settings.from_json(values) == Settings(epochs=3)


@pytest.mark.parametrize("name", ["epochs", "batch_size", "patience", "steps_per_epoch", "hidden", "out"])
def test_sizes_have_a_largest_value(name: str) -> None:
    def made(value: int) -> Settings:
        options: dict[str, Any] = {"validation": 0.1, name: value}
        return Settings(**options)

    largest = 2**20 if name in ("hidden", "out") else 2**31 - 1
    assert getattr(made(largest), name) == largest
    for value in (largest + 1, 10**12, 2**63, 2**70):
        with pytest.raises(UsageError, match=f"^{name}: expected a whole number from 1 to {largest}, got {value}"):
            made(value)
