"""One cell: a pure function of what it says, and a row that proves what was done."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from minipinet.crossval import cross_validate
from minipinet.datasets import load_dataset
from minipinet.errors import UsageError
from minipinet.experiments.cells import differences, run_cell, split_of, versions
from minipinet.experiments.columns import from_values, to_values
from minipinet.experiments.data import load_cell_data
from minipinet.experiments.records import PROTOCOLS, Cell, Row, to_variant, without_timings
from minipinet.settings import Settings

SMALL: dict[str, Any] = {"epochs": 2, "hidden": 4, "out": 2}
CELL = Cell("comparison", "paper", "pinet", "MUTAG", variant=to_variant(**SMALL), fold=3)
ISOMORPHISM = Cell("isomorphism", "paper", "pinet", "isomorphism", to_variant(**SMALL, batch_size=5), "random", size=1)


@pytest.fixture(scope="module")
def row() -> Row:
    return run_cell(CELL)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_row_proves_its_own_accuracy(protocol: str) -> None:
    row = run_cell(CELL._replace(protocol=protocol))
    parts = [row.train_index, row.validation_index or [], row.test_index]
    everyone = sorted(number for part in parts for number in part)
    assert everyone == list(range(188)), "each graph is in one part, and in one alone"
    y = load_dataset("MUTAG").y
    assert row.truth == y[row.test_index].tolist()
    assert len(row.predictions) == (3 if protocol == "fair" else 1)
    assert row.accuracy == np.mean(np.array(row.predictions) == row.truth)
    assert (row.accuracy * len(row.truth) * len(row.predictions)) % 1 == pytest.approx(0, abs=1e-9)
    assert row.settings.keys() >= {"epochs", "batch_size", "lr", "pq", "dtype"}
    assert row.digest == load_dataset("MUTAG").digest
    assert row.versions == versions()
    assert 0 < row.duplicates["test"] < 19
    assert differences(row) == []


def test_a_row_is_the_fold_of_train(row: Row) -> None:
    fold = cross_validate(load_dataset("MUTAG"), Settings(**SMALL), folds=10).folds[3]
    assert row.test_index == fold.test_index.tolist()
    assert row.predictions == [fold.predictions.tolist()]
    assert row.accuracy == fold.accuracy


def test_a_cell_gives_the_same_row_again_and_through_text(row: Row) -> None:
    assert without_timings(run_cell(CELL)) == without_timings(row)
    assert from_values(to_values(row)) == row
    assert json.loads(json.dumps(row, allow_nan=False)) == [list(row.cell), *row[1:]]


def test_repeat_and_fold_decide_the_splits_and_the_system_does_not(row: Row) -> None:
    other = run_cell(CELL._replace(system="wl", variant=to_variant(rounds=[1], C=[1.0])))
    assert (other.train_index, other.test_index, other.seed) == (row.train_index, row.test_index, row.seed)
    for cell in (CELL._replace(repeat=1), CELL._replace(fold=4)):
        changed = run_cell(cell)
        assert changed.test_index != row.test_index
        assert changed.seed != row.seed


def test_permutations_of_five_graphs_train_and_test() -> None:
    row = run_cell(ISOMORPHISM)
    assert row.train_index == [0, 100, 200, 300, 400]
    assert row.test_index == [100 * c + i for c in range(5) for i in range(20, 100)]
    assert row.duplicates == {"test": 400, "other_class": 0}
    larger = run_cell(ISOMORPHISM._replace(size=20))
    assert len(larger.train_index) == 100
    assert (larger.test_index, larger.digest) == (row.test_index, row.digest)
    assert run_cell(ISOMORPHISM._replace(repeat=1)).digest != row.digest
    for size in (0, 21):
        with pytest.raises(UsageError, match=r"^size: expected 1 to 20 training graphs of each class, got"):
            run_cell(ISOMORPHISM._replace(size=size))


def test_an_invariant_system_does_not_see_shuffled_nodes(row: Row) -> None:
    shuffled = run_cell(CELL._replace(shuffled=1))
    assert shuffled.digest != row.digest
    assert shuffled.predictions == row.predictions
    assert shuffled.test_index == row.test_index


def test_what_is_not_the_same_any_more_is_named(row: Row) -> None:
    assert differences(row._replace(settings={**row.settings, "lr": 0.5})) == ["lr was 0.5 and is now 0.001"]
    assert differences(row._replace(seed=1)) == ["another seed"]
    assert differences(row._replace(test_index=row.train_index)) == ["other test graphs"]
    assert differences(row._replace(digest="abc"))[0].startswith("other data (digest abc..., here 0d655cf12110")
    fair = run_cell(CELL._replace(protocol="fair"))
    assert differences(fair) == []
    assert differences(fair._replace(settings={**fair.settings, "pq": 3})) != []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"fold": 10}, "^fold: expected 0 to 9, got 10"),
        ({"protocol": "papr"}, "^protocol: expected one of paper, released, fair, got 'papr'; did you mean paper"),
        ({"system": "pin"}, "^'pin': is none of pinet"),
        ({"variant": '{"epoch":1}'}, "^epoch: is no setting of pinet"),
        ({"dataset": "MUTAGG"}, "^data set 'MUTAGG': not known"),
        ({"features": "colour"}, "^features: expected"),
    ],
)
def test_a_wrong_cell_is_one_sentence(change: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        run_cell(CELL._replace(**change))


def test_the_data_of_a_cell_are_kept_in_memory() -> None:
    assert load_cell_data(CELL) is load_cell_data(CELL._replace(repeat=4, system="wl"))
    assert split_of(CELL, load_cell_data(CELL).dataset) is split_of(CELL, load_cell_data(CELL).dataset)
