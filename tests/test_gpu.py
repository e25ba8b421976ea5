"""On a card: training, scores and gradients there against the CPU, the same bits twice, capture, several folds.

Skipped where there is none; with MINIPINET_REQUIRE_GPU=1, which `scripts/gpu_check` sets, that is a failure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet._array import card_library
from minipinet._card import card_problem
from minipinet._tree import named_leaves, with_leaves
from minipinet.crossval import cross_validate
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import CardLauncher
from minipinet.cuda.training import Card
from minipinet.datasets import Dataset, load_dataset
from minipinet.datasets.isomorphism import isomorphism_dataset
from minipinet.evaluation import evaluate
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import TrainState, fit
from minipinet.verify import verify_all
from minipinet.verify.card import on_card
from minipinet.verify.pairs import layer_pairs, model_pairs
from tests import device_stand_in
from tests.gpu_scripts import skip_or_fail
from tests.kernel_gradients import SHAPES, kernel_errors
from tests.small_data import same_bits
from tests.tolerances import relative_error, tree_error

PROBLEM = card_problem()


@pytest.fixture(autouse=True)
def card() -> None:
    if PROBLEM is not None:
        skip_or_fail(f"no card: {PROBLEM}")


def sets() -> list[Dataset]:
    return [load_dataset("MUTAG"), isomorphism_dataset(0)[::5]]


def train(data: Dataset, **settings: Any) -> TrainState:
    chosen = Settings(**({"hidden": 20, "out": 8, "epochs": 3} | settings))
    return fit(refine(data.graphs), data.y, np.arange(len(data)), chosen, C=data.num_classes)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(("dtype", "allowed"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("settings", [{}, {"pq": (1.0, 0.0), "l2": 1e-3}])
def test_training_is_that_on_the_cpu(which: int, dtype: str, allowed: float, settings: dict[str, Any]) -> None:
    data = sets()[which]
    here, there = (train(data, dtype=dtype, device=device, **settings) for device in ("cpu", "cuda"))
    assert relative_error([r.loss for r in there.history], [r.loss for r in here.history]) < allowed
    assert tree_error(there.params, here.params) < allowed


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(("dtype", "allowed"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernels_gradients_are_those_of_the_readable_pairs(
    which: int, dtype: str, allowed: float, shape: dict[str, Any]
) -> None:
    assert max(kernel_errors(CardLauncher(dtype), sets()[which], dtype, **shape)) < allowed


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_two_runs_of_twenty_epochs_have_the_same_bits(dtype: str) -> None:
    first, second = (train(load_dataset("MUTAG"), epochs=20, dtype=dtype, device="cuda") for _ in range(2))
    assert same_bits((first.params, first.adam), (second.params, second.adam))
    assert [r.loss for r in first.history] == [r.loss for r in second.history]


def test_folds_at_once_are_those_of_each_alone() -> None:
    settings = Settings(hidden=20, out=8, epochs=3, device="cuda", validation=0.1)
    together, alone = (cross_validate(load_dataset("MUTAG"), settings, 10, folds_at_once=K) for K in (10, 1))
    assert {fold.model.encoder.num_features for fold in together.folds} == {6, 7}
    for a, b in zip(together.folds, alone.folds, strict=True):
        assert relative_error([r.loss for r in a.history], [r.loss for r in b.history]) < 1e-4
        assert tree_error(a.model.params, b.model.params) < 1e-4


@pytest.mark.filterwarnings("error")  # the notice that a step could not be captured
def test_a_captured_step_does_what_the_launches_do() -> None:
    data = load_dataset("MUTAG")
    params = init_params(np.random.default_rng(0), data.num_features, 2, hidden=20, out=8)
    table, orders = graph_table(refine(data.graphs), data.y), [np.arange(188)[::-1], np.arange(100)]
    found: list[Any] = []
    for captured in (True, False):
        card = Card(CardLauncher("float32"), [table], [params] * 2, 188, Settings(), captured=captured)
        card.load([params] * 2, [adam_init(params)] * 2)
        sums = [card.epoch(orders) for _ in range(5)]
        found.append((sums, card.read()))
    (replayed, there), (launched, plain) = found
    assert all(
        same_bits(a, b) for one, other in zip(there, plain, strict=True) for a, b in zip(one, other, strict=True)
    )
    assert np.array_equal(replayed, launched)
    assert [adam.step for adam in there[1]] == [20, 10]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(("dtype", "allowed"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("settings", [{}, {"pq": (1.0, 0.0), "bias": True}])
def test_scores_are_those_of_the_cpu(which: int, dtype: str, allowed: float, settings: dict[str, Any]) -> None:
    data = sets()[which]
    quotient, index = refine(data.graphs), np.arange(len(data))
    state = train(data, dtype=dtype, **settings)
    pairs = Settings(**settings).pairs
    here, there = (evaluate(state.params, pairs, quotient, data.y, index, device=d) for d in ("cpu", "cuda"))
    assert (type(there.logits), there.logits.dtype) == (np.ndarray, np.dtype(dtype))
    assert relative_error(there.logits, here.logits) < allowed
    assert relative_error(there.loss, here.loss) < allowed


def test_validation_scores_are_those_of_the_cpu() -> None:
    data, index = load_dataset("MUTAG"), np.arange(188)
    settings = [Settings(hidden=20, out=8, epochs=3, dtype="float64", device=device) for device in ("cpu", "cuda")]
    here, there = (
        fit(refine(data.graphs), data.y, index[40:], chosen, C=2, validation_index=index[:40]) for chosen in settings
    )
    found, expected = ([r.validation_loss for r in state.history] for state in (there, here))
    assert relative_error(found, expected) < 1e-10


@pytest.mark.parametrize(("dtype", "allowed"), [("float64", 1e-10), ("float32", 1e-4)])
def test_every_readable_pair_is_that_of_the_cpu(dtype: str, allowed: float) -> None:
    for pair in layer_pairs(np.random.default_rng(0), dtype) + model_pairs(np.random.default_rng(0), dtype):
        found = []
        for one in (pair, on_card(pair)):
            out, cache = one.forward(**one.inputs)
            ones = with_leaves(out, iter([np.ones(np.shape(v), v.dtype)[()] for _, v in named_leaves(out)]))
            found.append((out, one.backward(ones, cache)))
        assert tree_error(found[1], found[0]) < allowed, pair.name


def test_every_gradient_passes_the_checker() -> None:
    rows = verify_all(dtype="float32", device="cuda")  # every check in float64, and float32's gradients against those
    assert [row.text for row in rows if not row.ok] == []


def test_the_stand_in_has_nothing_that_cupy_has_not() -> None:
    cupy = card_library()
    names = (*device_stand_in.FUNCTIONS, *device_stand_in.CONSTANTS)
    assert [name for name in names if not hasattr(cupy, name)] == []
    members = (*device_stand_in.ATTRIBUTES, *device_stand_in.METHODS)
    assert [name for name in members if not hasattr(cupy.ndarray, name)] == []
