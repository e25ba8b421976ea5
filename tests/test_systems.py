"""What every system keeps to, and PiNet as one of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minipinet._tree import named_leaves
from minipinet.baselines.node_order import shuffle_nodes
from minipinet.baselines.pinet import PiNetSystem
from minipinet.baselines.system import SYSTEMS, System, system_named
from minipinet.baselines.training import histories
from minipinet.crossval import cross_validate
from minipinet.datasets import Dataset, load_dataset
from minipinet.errors import UsageError
from minipinet.experiments.records import to_text
from minipinet.settings import Settings
from minipinet.splits import fold_seed, stratified_folds
from minipinet.train import EpochRecord
from tests.small_data import two_kinds

DATA = two_kinds()
TRAIN, TEST = np.arange(16), np.arange(16, 24)
#: Short trainings on MUTAG, as wide as the paper's: sums in another order would show in the last bits.
EARLY: dict[str, dict[str, Any]] = {
    "pinet": {"epochs": 5},
    "gcn-sum": {"epochs": 5},
    "gcn-dense": {"epochs": 3},
    "wl": {"rounds": [0, 2], "C": [1.0]},
    "patchy-san": {"epochs": 3, "labellings": ["nauty"], "widths": [1.0], "sizes": [5]},
}
SMALL = {"epochs": 4, "batch_size": 7, "hidden": 6, "out": 4, "lr": 1e-2}


def other_labels(data: Dataset, test: np.ndarray) -> Dataset:
    y = data.y.copy()
    y[test] = 1 - y[test]
    return replace(data, y=y)


def quick(short: str) -> System:
    """Return a system that takes a moment."""
    system = system_named(short)
    return system_named(short, **{name: value for name, value in SMALL.items() if name in system.settings})


@pytest.mark.parametrize("short", SYSTEMS)
def test_settings_are_json_and_make_the_system_again(short: str) -> None:
    system = system_named(short)
    settings = json.loads(json.dumps(system.settings, allow_nan=False))
    assert system_named(short, **settings) == system
    assert isinstance(system.name, str)
    assert system.grid()[0] == system


@pytest.mark.parametrize("short", SYSTEMS)
def test_a_fit_repeats_itself_and_looks_at_no_label_outside(short: str) -> None:
    pytest.importorskip("pynauty") if short == "patchy-san" else None
    system = quick(short)
    state = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    before = DATA.y.tobytes(), DATA.graphs.X.tobytes(), TRAIN.tobytes()
    fitted = system.fit(DATA, TRAIN, seed=3)
    again = system.fit(other_labels(DATA, TEST), TRAIN, seed=3)
    predictions = fitted.predict(TEST)
    assert predictions.dtype == np.int64
    assert predictions.shape == TEST.shape
    assert set(predictions.tolist()) <= {0, 1}
    assert predictions.tolist() == again.predict(TEST).tolist()
    assert fitted.predict(TEST[::-1]).tolist() == predictions[::-1].tolist()
    details = [json.loads(json.dumps(dict(f.details), allow_nan=False)) for f in (fitted, again)]
    assert all(entry.pop("seconds") >= 0 for entry in details)
    assert details[0] == details[1]
    assert (DATA.y.tobytes(), DATA.graphs.X.tobytes(), TRAIN.tobytes()) == before
    assert np.array_equal(state, np.random.get_state(legacy=False)["state"]["key"])  # noqa: NPY002


def trained(short: str, data: Dataset, train: np.ndarray, test: np.ndarray) -> str:
    """Return all that comes of a training, as text that is equal for equal bits."""
    fitted = system_named(short, **EARLY[short]).fit(data, train, seed=0)
    details = {name: value for name, value in fitted.details.items() if name != "seconds"}
    weights = getattr(getattr(fitted, "gcn", fitted), "params", ())
    return to_text(
        [details, fitted.predict(test), [np.asarray(x, float).tobytes().hex() for _, x in named_leaves(weights)]]
    )


@pytest.mark.parametrize("short", SYSTEMS)
def test_a_training_has_the_same_bits_whatever_the_other_graphs_are_and_where(short: str) -> None:
    """Not only their labels: graphs that are not trained on do not touch the last bit, in the middle or left out."""
    pytest.importorskip("pynauty") if short == "patchy-san" else None
    data = load_dataset("MUTAG")[:90]
    train, test = np.arange(10, 70), np.arange(70, 90)
    expected = trained(short, data, train, test)
    order = np.concatenate([test, np.arange(10), train])  # tested graphs first
    place = np.argsort(order)
    assert trained(short, data[order], place[train], place[test]) == expected
    kept = np.concatenate([train, test])  # ten that are in neither part left out
    assert trained(short, data[kept], np.arange(60), np.arange(60, 80)) == expected


def test_the_shuffle_of_training_graphs_does_not_depend_on_the_others() -> None:
    data = load_dataset("MUTAG")[:90]
    system = system_named("gcn-dense", epochs=3, shuffle_nodes=True)
    train, validation, test = np.arange(10, 60), np.arange(60, 70), np.arange(70, 90)

    def fitted(data: Dataset, train: np.ndarray, validation: np.ndarray) -> Any:
        made: Any = system.fit(data, train, seed=0, validation=validation)
        details = {name: value for name, value in made.details.items() if name != "seconds"}
        return to_text([details, [np.asarray(x, float).tobytes().hex() for _, x in named_leaves(made.gcn.params)]])

    expected = fitted(data, train, validation)
    order = np.concatenate([test, np.arange(10), validation, train])
    place = np.argsort(order)
    assert fitted(data[order], place[train], place[validation]) == expected
    kept = np.concatenate([train, validation])  # no graph but those of the training
    assert fitted(data[kept], np.arange(50), np.arange(50, 60)) == expected
    renumbered = shuffle_nodes(data, np.random.default_rng(0))
    assert fitted(renumbered, train, validation) != expected


@pytest.mark.parametrize("short", SYSTEMS)
def test_a_training_has_the_same_bits_whatever_the_order_of_nodes_but_for_gcn_dense(short: str) -> None:
    pytest.importorskip("pynauty") if short == "patchy-san" else None
    data = load_dataset("MUTAG")[:90]
    train, test = np.arange(70), np.arange(70, 90)
    renumbered = shuffle_nodes(data, np.random.default_rng(0))
    same = trained(short, renumbered, train, test) == trained(short, data, train, test)
    assert same == (short != "gcn-dense")


@pytest.mark.parametrize("short", SYSTEMS)
def test_validation_graphs_are_scored_and_reported(short: str) -> None:
    pytest.importorskip("pynauty") if short == "patchy-san" else None
    fitted = quick(short).fit(DATA, TRAIN[:10], seed=0, validation=TRAIN[10:])
    assert 0 <= fitted.details["validation_accuracy"] <= 1


def test_pinet_is_the_one_of_train() -> None:
    """The folds and numbers of `minipinet train`, to the last bit."""
    settings = Settings(**SMALL)  # type: ignore[arg-type]
    expected = cross_validate(DATA, settings, folds=3)
    for fold, (train, test) in enumerate(stratified_folds(DATA.labels, 3, 0)):
        fitted = PiNetSystem(**SMALL).fit(DATA, train, seed=fold_seed(0, fold))  # type: ignore[arg-type]
        result = expected.folds[fold]
        assert fitted.predict(test).tolist() == result.predictions.tolist()
        assert fitted.details["epoch"] == 4
        assert fitted.details["history"]["loss"] == [float(f"{record.loss:.6g}") for record in result.history]
        assert np.shape(fitted.details["history"]["p"]) == (4, 4)


def test_pinet_keeps_the_epoch_that_was_best_on_the_validation_graphs() -> None:
    system = PiNetSystem(epochs=12, batch_size=7, hidden=6, out=4, lr=0.1)
    fitted = system.fit(DATA, TRAIN[:10], seed=1, validation=TRAIN[10:])
    history = fitted.details["history"]
    losses = history["validation_loss"]
    assert len(losses) == 12
    assert fitted.details["epoch"] == 1 + int(np.argmin(losses)) < 12
    assert fitted.details["validation_accuracy"] == np.mean(fitted.predict(TRAIN[10:]) == DATA.y[TRAIN[10:]])


def test_pinets_grid_is_the_papers_search() -> None:
    assert len({str(system.pq) for system in PiNetSystem().grid()}) == len(PiNetSystem().grid()) == 5
    grid = PiNetSystem(pq=(1, 1), epochs=3).grid()
    assert grid[0] == PiNetSystem(pq=(1, 1), epochs=3)
    assert len(grid) == len(set(grid)) == 5


def test_long_histories_are_thinned_and_end_with_the_last_epoch() -> None:
    records = tuple(EpochRecord(epoch, 1 / epoch, 0.5, (), (), 0.1) for epoch in range(1, 1002))
    history = histories(records)
    assert history["epoch"] == [*range(6, 1001, 6), 1001]
    assert history["loss"][:2] == [0.166667, 0.0833333]
    assert history.keys() == {"epoch", "loss", "accuracy"}
    assert histories(records[:200])["epoch"] == list(range(1, 201))


def test_unknown_names_and_settings_are_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"^'gcn-sun': is none of pinet, .*; did you mean gcn-sum\?$"):
        system_named("gcn-sun")
    with pytest.raises(
        UsageError, match=r"^epoch: is no setting of pinet, which has epochs, .*; did you mean epochs\?$"
    ):
        system_named("pinet", epoch=3)
    with pytest.raises(UsageError, match=r"^epochs: expected a whole number of at least 1, got 0"):
        system_named("pinet", epochs=0)


@pytest.mark.parametrize(
    ("short", "setting", "value", "text"),
    [
        ("wl", "rounds", 5, "expected a list of values to choose from, got 5"),
        ("wl", "C", 1.0, "expected a list of values to choose from, got 1.0"),
        ("wl", "C", [], "expected a list of values to choose from, got []"),
        ("wl", "C", [10**400], "expected a finite number above 0, got 1000"),
        ("wl", "rounds", {"1": 2}, "expected a list of values to choose from, got {'1': 2}"),
        ("wl", "normalise", 5, "expected True or False, got 5"),
        ("patchy-san", "labellings", 5, "expected a list of values to choose from, got 5"),
        ("patchy-san", "labellings", "nauty", "expected a list of values to choose from, got 'nauty'"),
        ("patchy-san", "labellings", [["nauty"]], "expected 'betweenness' or 'nauty', got ['nauty']"),
        ("patchy-san", "widths", 1.0, "expected a list of values to choose from, got 1.0"),
        ("patchy-san", "sizes", 5, "expected a list of values to choose from, got 5"),
        ("patchy-san", "sizes", [None], "expected a whole number of at least 1, got None"),
        ("wl", "short", 1, "is no setting of wl, which has rounds, C, inner_folds, normalise"),
    ],
)
def test_a_wrong_value_of_a_setting_is_one_sentence_that_names_it(
    short: str, setting: str, value: Any, text: str
) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(f'{setting}: {text}')}"):
        system_named(short, **{setting: value})


def test_a_name_of_a_system_is_text() -> None:
    with pytest.raises(UsageError, match=r"^\['wl'\]: is none of pinet, "):
        system_named(["wl"])  # type: ignore[arg-type]
