"""On a card: training there against the CPU, the same bits twice, capture, several folds. Skipped where there is none.

With MINIPINET_REQUIRE_GPU=1 a missing card is a failure: `scripts/gpu_check` sets it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from minipinet._array import card_problem
from minipinet.crossval import cross_validate
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import CardLauncher
from minipinet.cuda.training import Card
from minipinet.datasets import Dataset, load_dataset
from minipinet.datasets.isomorphism import isomorphism_dataset
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import TrainState, fit
from tests.small_data import same_bits
from tests.tolerances import relative_error, tree_error

PROBLEM = card_problem()
pytestmark = pytest.mark.skipif(
    PROBLEM is not None and os.environ.get("MINIPINET_REQUIRE_GPU") != "1", reason=f"no card: {PROBLEM}"
)


@pytest.fixture(autouse=True)
def required() -> None:
    assert PROBLEM is None, f"MINIPINET_REQUIRE_GPU=1, but {PROBLEM}"


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
    # Adam divides by the root of a running mean: where a gradient is small, rounding shows.
    assert tree_error(there.params, here.params) < 100 * allowed


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_two_runs_of_twenty_epochs_have_the_same_bits(dtype: str) -> None:
    first, second = (train(load_dataset("MUTAG"), epochs=20, dtype=dtype, device="cuda") for _ in range(2))
    assert same_bits((first.params, first.adam), (second.params, second.adam))
    assert [r.loss for r in first.history] == [r.loss for r in second.history]


def test_folds_at_once_are_those_of_each_alone() -> None:
    settings = Settings(hidden=20, out=8, epochs=3, device="cuda", validation=0.1, patience=1)
    together, alone = (cross_validate(load_dataset("MUTAG"), settings, 10, folds_at_once=K) for K in (10, 1))
    assert {fold.model.encoder.num_features for fold in together.folds} == {6, 7}
    for a, b in zip(together.folds, alone.folds, strict=True):
        assert relative_error([r.loss for r in a.history], [r.loss for r in b.history]) < 1e-4
        assert tree_error(a.model.params, b.model.params) < 1e-2


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
