"""What each experiment consists of."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections import Counter
from typing import Any

import pytest

from minipinet.baselines.system import system_named
from minipinet.errors import Notice, UsageError
from minipinet.experiments import comparison, isomorphism, message_passing
from minipinet.experiments.plan import DATASETS, MODELS, QUICK, Plan
from minipinet.experiments.records import EXPERIMENTS, Cell

ALL = {module.NAME: module.list_cells for module in (isomorphism, message_passing, comparison)}


@pytest.fixture(autouse=True)
def pynauty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the lists those of a machine that has every extra."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found("json" if name == "pynauty" else name))


def counts(cells: list[Cell], *names: str) -> Counter[Any]:
    return Counter(tuple(getattr(cell, name) for name in names) for cell in cells)


def test_there_are_the_three() -> None:
    assert tuple(ALL) == EXPERIMENTS
    for name, list_cells in ALL.items():
        assert {cell.experiment for cell in list_cells(Plan())} == {name}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_cell_is_there_twice_and_each_has_a_system(name: str, quick: bool) -> None:
    cells = ALL[name](Plan(quick=quick))
    assert len({cell.key for cell in cells}) == len(cells) > 0
    for system, variant in {(cell.system, cell.variant) for cell in cells}:
        settings = system_named(system, **json.loads(variant)).settings
        assert settings.get("epochs", 0) <= (5 if quick else 4000)
    if quick:
        assert len(cells) < 100
        assert {cell.dataset for cell in cells} <= {"MUTAG", "isomorphism"}, "quick runs need no other files"


def test_quick_changes_what_every_system_has() -> None:
    assert QUICK.keys() == {system for system, _ in MODELS.values()}


def test_the_comparison_has_every_system_on_every_data_set() -> None:
    cells = comparison.list_cells(Plan(repeats=2))
    assert counts(cells, "dataset") == {(name,): 6 * 10 * 2 for name in DATASETS}
    assert counts(cells, "system") == {
        ("pinet",): 2 * 160, ("gcn-sum",): 160, ("gcn-dense",): 160, ("wl",): 160, ("patchy-san",): 160,
    }  # fmt: skip
    manual = {(cell.dataset, cell.variant) for cell in cells if "pq" in cell.variant}
    assert manual == {
        ("MUTAG", '{"pq":[1.0,0.0]}'), ("PROTEINS", '{"pq":[1.0,0.0]}'),
        ("NCI1", '{"pq":[1.0,1.0]}'), ("NCI109", '{"pq":[1.0,1.0]}'),
        *((name, '{"pq":[0.0,0.0]}') for name in ("PTC_MM", "PTC_FM", "PTC_MR", "PTC_FR")),
    }  # fmt: skip
    assert not [cell for cell in comparison.list_cells(Plan(protocol="fair")) if "pq" in cell.variant]


def test_the_matrices_are_four_and_the_learned_one() -> None:
    cells = message_passing.list_cells(Plan(protocol="released", datasets=["PTC"], shuffled=True))
    assert {cell.dataset for cell in cells} == {"PTC_MM", "PTC_FM", "PTC_MR", "PTC_FR"}
    corners = {f'{{"pq":[{p},{q}]}}' for p in ("0.0", "1.0") for q in ("0.0", "1.0")}
    assert {cell.variant for cell in cells} == {"{}", *corners}
    assert {(cell.protocol, cell.shuffled, cell.repeat) for cell in cells} == {("released", 1, 0)}


def test_the_isomorphism_test_has_sizes_trials_features_and_steps() -> None:
    cells = isomorphism.list_cells(Plan())
    assert {cell.features for cell in cells} == {"random", "balanced", "constant"}
    assert {cell.repeat for cell in cells} == set(range(10))
    assert {cell.size for cell in cells} == {1, *range(2, 21, 2)}
    assert {cell.system for cell in cells} == {"pinet", "gcn-sum", "gcn-dense", "wl", "patchy-san"}
    for cell in cells:
        variant = json.loads(cell.variant)
        assert variant.get("batch_size", 5) == 5
        assert "batch_size" in variant or cell.system == "wl"
    steps = [cell for cell in cells if "epochs" in cell.variant]
    assert {(cell.size, cell.features) for cell in steps} == {(1, "constant")}
    assert {json.loads(cell.variant)["epochs"] for cell in steps} == {20, 50, 100, 500, 1000, 2000, 4000}
    assert len(steps) == 10 * 7 * 4


@pytest.mark.parametrize(
    ("name", "plan", "text"),
    [
        (
            "comparison",
            Plan(models=["gcn"]),
            r"^models: expected names among pinet, .*, got 'gcn'; did you mean gcn-sum",
        ),
        ("comparison", Plan(datasets=["MUTAGG"]), r"^data set 'MUTAGG': not known .*did you mean MUTAG\?"),
        ("comparison", Plan(protocol="fare"), r"^protocol: expected one of paper, .*; did you mean fair\?"),
        ("comparison", Plan(repeats=0), r"^repeats: expected a whole number of at least 1, got 0"),
        ("message-passing", Plan(protocol="fair"), r"^protocol: expected paper or released, got 'fair', which"),
        ("message-passing", Plan(models=["wl"]), r"^models: expected names among pinet, "),
        ("isomorphism", Plan(protocol="released"), r"^protocol: the isomorphism test has one of its own"),
        ("isomorphism", Plan(datasets=["random", "ones"]), r"^datasets: expected names among random, .*, got 'ones'"),
        ("isomorphism", Plan(repeats=-1), r"^repeats: expected"),
        (
            "isomorphism",
            Plan(repeats=2**31 - 1, models=["pinet", "wl"]),
            r"^repeats: expected at most 1369, with 73 cells each, got 2147483647, which are 156766306231 cells$",
        ),
        (
            "comparison",
            Plan(repeats=2**31 - 1, models=["wl"], datasets=["MUTAG"]),
            r"^repeats: expected at most 10000, with 10 cells each, got 2147483647, which are 21474836470 cells$",
        ),
        ("message-passing", Plan(repeats=251), r"^repeats: expected at most 250, with 400 cells each, got 251, which"),
    ],
)
def test_what_there_is_not_is_one_sentence(name: str, plan: Plan, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        ALL[name](plan)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("quick", [False, True])
def test_cells_are_counted_as_they_are_listed(name: str, quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(repeats=3, quick=quick, models=["pinet"])
    cells = ALL[name](plan)
    monkeypatch.setattr("minipinet.experiments.plan.CELLS", len(cells))
    assert ALL[name](plan) == cells
    monkeypatch.setattr("minipinet.experiments.plan.CELLS", len(cells) - 1)
    with pytest.raises(UsageError, match=f"^repeats: expected at most 2, .* got 3, which are {len(cells)} cells$"):
        ALL[name](plan)


def test_patchy_san_is_left_out_aloud_where_it_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.warns(Notice, match=r"^patchy-san needs the package pynauty: pip install .*; it is left out"):
        cells = comparison.list_cells(Plan())
    assert "patchy-san" not in {cell.system for cell in cells}
    with pytest.raises(UsageError, match=r"^models: patchy-san needs the package pynauty"):
        comparison.list_cells(Plan(models=["patchy-san"]))
    with warnings.catch_warnings(action="error"):
        comparison.list_cells(Plan(models=["wl"]))
