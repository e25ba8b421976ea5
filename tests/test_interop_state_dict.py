"""Weights as a state_dict in a safetensors file; the module that loads them is run by tests/test_docs.py."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from minipinet.errors import DataError, UsageError
from minipinet.interop.state_dict import from_state_dict, read_state_dict, to_state_dict, write_state_dict
from minipinet.predictor import PiNet
from tests.small_data import same_bits
from tests.small_doors import Tensor, logits, mutag, mutag_model

#: Models of every kind: learned and fixed (p, q), biases or none, both precisions.
KINDS: list[dict[str, Any]] = [
    {},
    {"bias": True},
    {"pq": (0.1, 1 / 3), "dtype": "float64"},
    {"pq": ((0.1, 0.2), (0, 1), (1, 0), (0.7, 0.3)), "bias": True},
]


def path_and_model(tmp_path: Path, **changes: Any) -> tuple[Path, PiNet]:
    model = mutag_model(**changes)
    write_state_dict(model, tmp_path / "weights")
    return tmp_path / "weights", model


@pytest.mark.parametrize("changes", KINDS, ids=str)
def test_weights_go_out_and_come_back(tmp_path: Path, changes: dict[str, Any]) -> None:
    path, model = path_and_model(tmp_path, **changes)
    again = read_state_dict(path, like=model)
    assert same_bits(again.params, model.params)
    assert again.settings == model.settings
    assert (again.classes, again.encoder, again.reading) == (model.classes, model.encoder, model.reading)
    np.testing.assert_array_equal(logits(again, mutag()), logits(model, mutag()))


def test_fixed_pairs_that_float32_does_not_hold_give_the_same_scores() -> None:
    model = mutag_model(pq=(1 / 3, 2 / 3))
    again = from_state_dict(to_state_dict(model), like=model)
    assert again.settings.pairs is not None
    assert abs(again.settings.pairs - model.settings.pairs).max() < 1e-7
    np.testing.assert_array_equal(logits(again, mutag()), logits(model, mutag()))


def test_the_model_to_compare_with_may_be_another(tmp_path: Path) -> None:
    path, model = path_and_model(tmp_path, bias=True, pq=(0.5, 0.5), dtype="float64", hidden=6, out=4)
    again = read_state_dict(path, like=mutag_model())
    assert (again.settings.hidden, again.settings.out, again.settings.dtype) == (6, 4, "float64")
    assert (again.settings.bias, again.settings.learned_pq) == (True, False)
    np.testing.assert_array_equal(logits(again, mutag()), logits(model, mutag()))
    again.save(tmp_path / "model")
    np.testing.assert_array_equal(logits(PiNet.load(tmp_path / "model"), mutag()), logits(model, mutag()))


def test_names_and_shapes_are_those_of_linear_layers(tmp_path: Path) -> None:
    path, model = path_and_model(tmp_path, bias=True, hidden=5, out=3)
    arrays = load_file(path)
    assert {name: array.shape for name, array in arrays.items()} == {
        "attention.0.weight": (5, 7),
        "attention.0.bias": (5,),
        "attention.1.weight": (3, 5),
        "attention.1.bias": (3,),
        "features.0.weight": (5, 7),
        "features.0.bias": (5,),
        "features.1.weight": (3, 5),
        "features.1.bias": (3,),
        "readout.weight": (2, 9),
        "readout.bias": (2,),
        "p_raw": (4,),
        "q_raw": (4,),
    }
    assert all(array.dtype == np.float32 and array.flags.c_contiguous for array in arrays.values())
    np.testing.assert_array_equal(arrays["attention.0.weight"], model.params.W_A0.T)
    np.testing.assert_array_equal(arrays["features.1.weight"], model.params.W_X1.T)
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    assert (metadata["format"], json.loads(metadata["classes"])) == ("pt", [-1, 1])


@pytest.mark.parametrize("pq", ["learned", (0.5, 0.25)])
def test_nothing_is_shared_or_changed(pq: Any) -> None:
    model = mutag_model(bias=True, pq=pq)
    before = [None if w is None else w.copy() for w in model.params]
    state = to_state_dict(model)
    again = from_state_dict(state, like=model)
    for array in state.values():
        array[:] = 0.5
    assert same_bits(tuple(model.params), tuple(before))
    assert same_bits(again.params, model.params)


def change(**changes: Any) -> dict[str, Any]:
    """Return a state with some arrays replaced, or left out where None stands."""
    state = to_state_dict(mutag_model()) | {name.replace("__", "."): array for name, array in changes.items()}
    return {name: array for name, array in state.items() if array is not None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"readout__weight": None}, r"state: expected 'readout.weight' in it, got 'attention.0.weight', "),
        ({"q_raw": None}, "state: expected 'q_raw' in it"),
        ({"readout__bias": np.zeros(2, np.float32)}, "state: expected 'attention.0.bias', .* in it"),
        ({"p": np.zeros(4, np.float32)}, "state: expected 'q' in it"),
        ({"lstm": np.zeros(4, np.float32)}, "state: expected only attention.0.weight, .* got 'lstm' too"),
        ({"p_raw": np.zeros(3, np.float32)}, r"state: expected p_raw of shape \(4,\) for .* got \(3,\)"),
        ({"p_raw": np.zeros(4)}, "state: expected all arrays of float32 or all of float64, got p_raw of float64"),
        ({"p_raw": np.array([0, 0, np.nan, 0], np.float32)}, "state: expected finite numbers, got others in p_raw"),
        ({"attention__1__weight": np.zeros((4, 5), np.float32)}, r"expected features.1.weight of shape \(4, 5\)"),
        (
            {"attention__0__weight": np.zeros((5, 9), np.float32)},
            r"of shape \(5, 7\) for 7 features, 2 classes and wid",
        ),
        ({"readout__weight": np.zeros((3, 9), np.float32)}, r"expected readout.weight of shape \(2, 9\)"),
        (
            {"attention__0__weight": np.array(3, np.float32)},
            r"expected attention.0.weight of two dimensions, got shape \(\)",
        ),
        ({"attention__0__weight": np.zeros((5, 7), np.float16)}, "all of float64, got attention.0.weight of float16"),
    ],
)
def test_a_state_that_is_none(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    state = change(**changes)
    with pytest.raises(UsageError, match=message):
        from_state_dict(state, like=mutag_model())
    save_file(state, tmp_path / "weights")
    with pytest.raises(DataError, match=f"weights: {message}" if message.startswith("state") else message):
        read_state_dict(tmp_path / "weights", like=mutag_model())


def test_tensors_will_do() -> None:
    model = mutag_model(pq=(0.5, 0.25))
    again = from_state_dict({name: Tensor(array) for name, array in to_state_dict(model).items()}, like=model)
    assert same_bits(again.params, model.params)
    assert again.settings == model.settings
    with pytest.raises(
        UsageError, match=r"state: expected a mapping of names to arrays, got minipinet.predictor.PiNet"
    ):
        from_state_dict(model, like=model)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="state: expected strings as names, got 1"):
        from_state_dict({1: np.zeros(1), "a": np.zeros(1)}, like=model)  # type: ignore[dict-item]
    with pytest.raises(
        DataError, match=r"state: readout\.weight: expected a dense tensor of real numbers, got dtype <U4"
    ):
        from_state_dict(to_state_dict(model) | {"readout.weight": np.array("text")}, like=model)


def test_fixed_pairs_outside_their_range() -> None:
    model = mutag_model(pq=(0.5, 0.5))
    state = to_state_dict(model) | {"q": np.array([0, 0, 2, 0], np.float32)}
    with pytest.raises(UsageError, match="pq: expected"):
        from_state_dict(state, like=model)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + b"\0" * 40, b"\x80\x04\x95"])
def test_files_that_are_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(DataError, match="weights: expected a safetensors file of weights"):
        read_state_dict(tmp_path / "weights", like=mutag_model())
    with pytest.raises(DataError, match="none: no such file"):
        read_state_dict(tmp_path / "none", like=mutag_model())
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_state_dict(tmp_path, like=mutag_model())


def test_a_file_cut_short(tmp_path: Path) -> None:
    path, model = path_and_model(tmp_path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataError, match="expected a safetensors file"):
        read_state_dict(path, like=model)


def test_settings_of_training_stay(tmp_path: Path) -> None:
    path, model = path_and_model(tmp_path)
    other = dataclasses.replace(model, settings=dataclasses.replace(model.settings, seed=7))
    assert read_state_dict(path, like=other).settings.seed == 7
