"""The tables of tests: what is paired with what, the adjustment of each line, and what is not tested."""

from __future__ import annotations

from typing import Any

import pytest

from minipinet.experiments.plan import PTC
from minipinet.experiments.records import Row
from minipinet.results.statistics import compare, compare_independent, holm
from minipinet.results.table import Count
from tests.table_rows import by_name, folds, line, trials

NONE = {"difference": None, "Welch": None, "paired": None, "corrected": None, "Holm": None}


def test_tests_are_on_the_folds_that_both_have() -> None:
    a, b, c = [0.9, 0.8, 1.0, 0.9], [0.8, 0.8, 0.9, 0.8, 0.1], [None, 0.7, 0.8, 0.75]
    table = by_name(folds(a) + folds(b, "wl") + folds(c, "gcn-sum"))["tests"]
    wl, gcn = compare([a], [b]), compare([a], [c])
    adjusted = holm([gcn.corrected or 0, wl.corrected or 0])
    assert [found.labels for found in table.lines] == [("MUTAG", "gcn-sum"), ("MUTAG", "wl")]
    assert list(line(table, "MUTAG", "wl").values()) == [wl.difference, Count(4, 10), *wl[2:], adjusted[1]]
    assert list(line(table, "MUTAG", "gcn-sum").values()) == [gcn.difference, Count(3, 10), *gcn[2:], adjusted[0]]
    assert wl.difference == pytest.approx(0.075)
    assert table.notes[0].startswith("unfinished")


def test_each_line_has_the_adjustment_of_its_own_test() -> None:
    a, b, c = [0.9, 0.8, 1.0, 0.9], [0.8, 0.8, 0.9, 0.8], [0.2, 0.1, 0.4, 0.1]
    table = by_name(folds(a) + folds(b, "wl") + folds(c, "gcn-sum"))["tests"]
    close, far = line(table, "MUTAG", "wl"), line(table, "MUTAG", "gcn-sum")
    assert far["corrected"] < close["corrected"] / 10
    assert (far["Holm"], close["Holm"]) == (2 * far["corrected"], close["corrected"])


def test_without_common_folds_nothing_is_tested() -> None:
    table = by_name(folds([0.5]) + folds([None, 0.75], "wl"))["tests"]
    assert list(line(table, "MUTAG", "wl").values()) == [None, Count(0, 10), None, None, None, None]


def test_repeats_are_paired_by_their_number() -> None:
    rows = folds([0.5, 0.75], repeat=1) + folds([0.25, 0.25], "wl") + folds([0.5, 0.5], "wl", repeat=1)
    found = line(by_name(rows)["tests"], "MUTAG", "wl")
    assert (found["difference"], found["common"]) == (0.125, Count(2, 20))


# --- the isomorphism test


def test_trials_are_paired_at_each_size() -> None:
    a, b, c = [0.9, 0.8, 1.0, 0.9], [0.8, 0.8, 0.9, 0.8, 0.1], [0.2, 0.4, 0.1, 0.3]
    rows = trials(a, size=1) + trials(b, "wl", size=1) + trials(a, size=2) + trials(c, "gcn-sum", size=2)
    rows += trials([0.5], size=4) + trials([0.5], "wl", size=6) + trials([0.1] * 4, epochs=500)
    table = by_name(rows)["tests"]
    assert table.title == "isomorphism, protocol paper, features constant: PiNet against each other model"
    assert [found.labels for found in table.lines] == [("1", "wl"), ("2", "gcn-sum")], "where both have trials"
    wl, gcn = compare([a], [b], test_share=0), compare([a], [c], test_share=0)
    assert wl.corrected == wl.paired, "each trial draws its graphs"
    assert wl.welch == compare_independent([a], [b[:4]])
    adjusted = holm([wl.paired or 0, gcn.paired or 0])
    assert adjusted[1] == 2 * (gcn.paired or 0), "over the whole table, not over a size"
    assert list(line(table, "1", "wl").values()) == [wl.difference, Count(4, 10), *wl[2:], adjusted[0]]
    assert list(line(table, "2", "gcn-sum").values()) == [gcn.difference, Count(4, 10), *gcn[2:], adjusted[1]]
    assert not [note for note in table.notes if "not tested" in note]
    constant = line(by_name(trials([1.0] * 10) + trials([0.2] * 10, "wl"))["tests"], "1", "wl")
    assert (constant["difference"], constant["paired"], constant["Holm"]) == (0.8, 0.0, 0.0), "as a note says"
    assert any("where the differences do not vary, p is the limit, 0 or 1" in note for note in table.notes)


def test_trials_are_paired_by_their_number() -> None:
    some = [row for row in trials([0.9, 0.8, 1.0, 0.9], "wl") if row.cell.repeat in (1, 3)]
    found = line(by_name(trials([0.5, 0.25, 0.5]) + some)["tests"], "1", "wl")
    assert (found["difference"], found["common"]) == (pytest.approx(0.25 - 0.8), Count(1, 10))


# --- rows of different data under one name


def other_data(rows: list[Row], digest: str = "ff") -> list[Row]:
    return [row._replace(digest=digest) for row in rows]


def assert_not_tested(rows: list[Row], *labels: str, dataset: str) -> None:
    table = by_name(rows)["tests"]
    found = line(table, *labels)
    assert found.pop("common").n == 0
    assert found == NONE
    assert f"{dataset}: not tested, since its rows are of different data and make no pairs" in table.notes
    assert f"{dataset}: the rows are of different data under this name" in table.notes


def test_rows_of_different_data_are_not_tested() -> None:
    a, b = [0.9, 0.8, 1.0, 0.9], [0.2, 0.1, 0.4, 0.1]
    assert_not_tested(folds(a) + other_data(folds(b, "wl")), "MUTAG", "wl", dataset="MUTAG")
    assert_not_tested(trials(a) + other_data(trials(b, "wl")), "1", "wl", dataset="isomorphism")
    drawn = [row._replace(digest=str(row.cell.repeat)) for row in trials(a) + trials(b, "wl")]
    assert line(by_name(drawn)["tests"], "1", "wl")["Holm"] < 0.05, "the data of a trial differ from those of another"


def test_other_data_sets_are_tested_still_and_adjusted_for_alone() -> None:
    a, b = [0.9, 0.8, 1.0, 0.9], [0.8, 0.8, 0.9, 0.8]
    sound = folds(a, dataset="NCI1") + folds(b, "wl", dataset="NCI1")
    found = line(by_name(folds(a) + other_data(folds(b, "wl")) + sound)["tests"], "NCI1", "wl")
    assert found["Holm"] == found["corrected"] == compare([a], [b]).corrected


@pytest.mark.parametrize("part", PTC)
def test_ptc_is_not_tested_where_a_part_is_of_different_data(part: str) -> None:
    rows: list[Any] = [row for name in PTC for row in folds([0.5, 0.75], dataset=name)]
    for name in PTC:
        one = folds([0.25, 0.25], "wl", dataset=name)
        rows += other_data(one) if name == part else one
    found = by_name(rows)["tests"]
    assert list(line(found, "PTC", "wl").values()) == [None, Count(0, 10), None, None, None, None]
    assert "PTC: not tested, since its rows are of different data and make no pairs" in found.notes
