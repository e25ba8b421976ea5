"""Tables from made-up rows: means by hand, what is missing, and what must not be mixed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from minipinet.baselines.system import system_named
from minipinet.experiments import comparison
from minipinet.experiments.plan import PTC, model_cell
from minipinet.experiments.records import to_variant
from minipinet.results.table import Count, Estimate, Line
from minipinet.results.tables import make_tables
from tests.table_rows import PLAIN, by_name, folds, line, made, trials


def test_mean_and_spreads_are_those_computed_by_hand() -> None:
    rows = folds([0.75, 1.0]) + folds([0.5, 0.75], repeat=1)
    tables = by_name(rows)
    sd = math.sqrt((0.125**2 * 4) / 2)  # two repeats of two folds, each an eighth from its repeat's mean
    assert line(tables["accuracy"], "pinet", "ours")["MUTAG"] == pytest.approx(Estimate(0.75, sd, 4, 20))
    found = line(tables["published"], "MUTAG", "pinet")
    assert found["cells"] == Count(4, 20)
    assert (found["accuracy"], found["sd folds"], found["sd repeats"]) == pytest.approx((0.75, sd, math.sqrt(2) / 8))
    assert (found["published"], found["its sd"]) == (0.879, 0.07)
    assert found["difference"] == pytest.approx(-0.129)
    assert found["within 1 sd"] is False
    assert tables["accuracy"].notes[0] == "unfinished: 4 of 540 cells are there"  # MUTAG twice


def test_one_fold_has_a_mean_and_no_spread() -> None:
    found = line(by_name(folds([0.9]))["published"], "MUTAG", "pinet")
    assert (found["accuracy"], found["sd folds"], found["sd repeats"]) == (0.9, None, None)
    assert found["within 1 sd"] is True


def test_within_is_by_our_spread_where_none_was_printed() -> None:
    # published .665 on PTC_MM without a spread; ours .7 with .1 and 0.01
    for half, within in ((0.1 / math.sqrt(2), True), (0.01 / math.sqrt(2), False)):
        tables = by_name(folds([0.7 - half, 0.7 + half], dataset="PTC_MM"))
        assert line(tables["published"], "PTC_MM", "pinet")["within 1 sd"] is within


def test_missing_models_and_data_sets_are_lines_and_columns_of_none() -> None:
    tables = by_name(folds([0.5] * 10))
    accuracy = tables["accuracy"]
    assert [column.title for column in accuracy.columns] == ["MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC"]
    assert [found.labels[0] for found in accuracy.lines if found.labels[1] == "ours"] == list(comparison.MODELS)
    assert line(accuracy, "wl", "ours") == dict.fromkeys(["MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC"])
    assert line(tables["published"], "MUTAG", "wl")["cells"] == Count(0, 10)
    assert line(tables["seconds"], "pinet") == {"MUTAG": Estimate(1.5, None, 10, 10), "all": 15.0}
    assert "tests" not in tables


def test_a_finished_experiment_does_not_say_unfinished() -> None:
    whole = [made(cell) for cell in comparison.list_cells(_plan())]
    tables = make_tables(whole)
    assert not [note for table in tables for note in table.notes if "unfinished" in note]
    assert all(None not in found.values for found in tables[0].lines)
    for table in make_tables(whole[:-1]):
        assert table.notes[0] == "unfinished: 479 of 480 cells are there"


def _plan() -> Any:
    from minipinet.experiments.plan import Plan

    pytest.importorskip("pynauty")
    return Plan()


def test_ptc_is_the_mean_of_its_parts_split_by_split() -> None:
    parts: dict[str, list[float | None]] = {
        "PTC_MM": [0.5, 0.75],
        "PTC_FM": [0.25, 0.5],
        "PTC_MR": [1.0, 0.5],
        "PTC_FR": [0.25, None],
    }
    rows = [made for part, values in parts.items() for made in folds(values, dataset=part)]
    found = by_name(rows)
    # only fold 0 has all four: (.5 + .25 + 1 + .25) / 4
    assert line(found["accuracy"], "pinet", "ours")["PTC"] == Estimate(0.5, None, 1, 10)
    rows += folds([None, 0.25], dataset="PTC_FR")
    found = by_name(rows)
    # fold 1: (.75 + .5 + .5 + .25) / 4 is .5 too: the parts vary, their mean does not
    assert line(found["accuracy"], "pinet", "ours")["PTC"] == Estimate(0.5, 0.0, 2, 10)
    assert line(found["published"], "PTC", "pinet")["published"] == 0.626
    assert (
        "PTC: the mean over its four parts, split by split; its spread is that of these means"
        in found["accuracy"].notes
    )
    assert [made.labels[0] for made in found["data"].lines] == list(PTC)


def test_parts_of_ptc_are_shown_themselves_until_all_four_are_there() -> None:
    rows = folds([0.5], dataset="PTC_MR") + folds([0.25], "wl", dataset="PTC_MR")
    tables = by_name(rows)
    titles = [column.title for column in tables["accuracy"].columns]
    assert titles == ["MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC", "PTC_MR"]
    assert [found.labels for found in tables["tests"].lines] == [("PTC_MR", "wl")]
    majority = line(tables["accuracy"], "majority class", "data")
    assert (majority["PTC"], majority["PTC_MR"]) == (None, 2 / 3)
    rows += [made for part in PTC if part != "PTC_MR" for model in ("pinet", "wl")
             for made in folds([0.5], model, dataset=part)]  # fmt: skip
    rows = [made._replace(truth=[0, 0, 0, 1]) if made.cell.dataset == "PTC_FR" else made for made in rows]
    tables = by_name(rows)
    assert [found.labels for found in tables["tests"].lines] == [("PTC", "wl")], "its parts would be tested twice"
    assert line(tables["accuracy"], "majority class", "data")["PTC"] == pytest.approx((3 * 2 / 3 + 3 / 4) / 4)
    assert [column.title for column in tables["seconds"].columns] == [*PTC, "all"]


def test_a_data_set_that_is_called_ptc_is_not_the_mean() -> None:
    rows = folds([0.25], dataset="PTC") + [made for part in PTC for made in folds([0.75], dataset=part)]
    accuracy = line(by_name(rows)["accuracy"], "pinet", "ours")
    assert (accuracy["PTC"].mean, accuracy["PTC (one set)"].mean) == (0.75, 0.25)


@pytest.mark.parametrize("other", [{"protocol": "fair"}, {"protocol": "released"}, {"shuffled": 1}])
def test_what_is_run_on_some_models_and_sets_alone_misses_no_others(other: dict[str, Any]) -> None:
    rows = folds([0.5] * 10, "wl", **other)
    if "fair" in other.values():  # its settings are chosen, fold by fold
        rows = [made._replace(settings=system_named("wl").settings) for made in rows]
    tables = by_name(rows)
    assert [found.labels for found in tables["accuracy"].lines if found.labels[1] == "ours"] == [("wl", "ours")]
    assert [found.labels[1] for found in tables["published"].lines] == ["wl"]
    assert not [note for table in tables.values() for note in table.notes if note.startswith("unfinished")]
    assert by_name(rows[:4])["accuracy"].notes[0] == "unfinished: 4 of 10 cells are there"


def test_other_settings_are_other_models() -> None:
    cell = model_cell(PLAIN, "pinet", quick=False)
    rows = [
        *folds([0.5]),
        *folds([0.25], quick=True),
        made(cell._replace(variant=to_variant(epochs=5)), 0.75),
        made(cell._replace(fold=1), 1.0, settings={**system_named("pinet").settings, "lr": 0.1}),
    ]
    accuracy = by_name(rows)["accuracy"]
    means = {found.labels[0]: found.values[0] for found in accuracy.lines if found.labels[1] == "ours"}
    assert {name: value.mean for name, value in means.items() if isinstance(value, Estimate)} == {
        "pinet": 0.5, "pinet (quick)": 0.25, "pinet epochs=5": 0.75, "pinet, was lr=0.1": 1.0,
    }  # fmt: skip
    others = folds([0.5], "gcn-sum", dataset="NCI1")
    lines = [found.labels for found in by_name(rows + others)["published"].lines if found.labels[0] == "NCI1"]
    assert lines == [("NCI1", model) for model in comparison.MODELS], "other models have lines where they have rows"
    published = [found.labels[0] for found in accuracy.lines if found.labels[1] == "published"]
    assert published == list(comparison.MODELS), "the published numbers stand beside no other model"


def test_keys_are_kept_apart() -> None:
    keys: list[dict[str, Any]] = [
        {}, {"shuffled": 1}, {"features": "degrees"}, {"protocol": "released"}, {"experiment": "message-passing"},
    ]  # fmt: skip
    rows = [
        made._replace(
            accuracy=(n + 1) / 8, settings={**made.settings, "steps_per_epoch": 1 if "protocol" in key else None}
        )
        for n, key in enumerate(keys)
        for made in folds([0.5], **key)
    ]
    tables = [table for table in make_tables(rows) if table.name == "accuracy"]
    assert [table.title for table in tables] == [
        "message-passing, protocol paper: accuracy",
        "comparison, protocol paper, features degrees: accuracy",
        "comparison, protocol paper: accuracy",
        "comparison, protocol paper, nodes shuffled: accuracy",
        "comparison, protocol released: accuracy",
    ]
    assert [line(table, "pinet", "ours")["MUTAG"].mean for table in tables] == [5 / 8, 3 / 8, 1 / 8, 2 / 8, 4 / 8]


def test_the_best_fixed_matrix_is_marked_where_all_four_are_finished() -> None:
    fixed = ("pinet-p1q0", "pinet-p1q1", "pinet-p0q0", "pinet-p0q1")
    rows = [
        made
        for model, value in zip(fixed, (0.5, 0.75, 0.75, 0.25), strict=True)
        for made in folds([value] * 10, model, experiment="message-passing")
    ]
    rows += folds([1.0] * 10, experiment="message-passing")
    table = by_name(rows)["accuracy"]
    marked = [
        made.labels[0] for made in table.lines if made.labels[1] == "ours" and getattr(made.values[0], "best", False)
    ]
    assert marked == ["pinet-p1q1", "pinet-p0q0"]
    assert line(table, "mean of the four fixed", "ours")["MUTAG"] == 0.5625
    assert line(table, "mean of the four fixed", "published")["MUTAG"] == pytest.approx((868 + 852 + 845 + 846) / 4000)
    assert line(table, "pinet-p1q0", "published")["MUTAG"].best
    unfinished = by_name(rows[1:])["accuracy"]
    assert not [value for found in unfinished.lines if found.labels[1] == "ours"
                for value in found.values if getattr(value, "best", 0)]  # fmt: skip
    assert ("mean of the four fixed", "ours") not in [found.labels for found in unfinished.lines]


def test_the_test_graphs_are_counted_once_whatever_the_number_of_models() -> None:
    rows = folds([0.5, 0.5]) + folds([0.5, 0.5, 0.5], "wl")
    rows[0] = rows[0]._replace(truth=[1, 1, 0, 0], duplicates={"test": 3, "other_class": 2})
    data = by_name(rows)["data"]
    assert data.lines == [Line(("MUTAG",), [Count(3, 10), 10, 6 / 10, 5, 2])]
    assert line(by_name(rows)["accuracy"], "majority class", "data")["MUTAG"] == 0.6


def test_quick_runs_are_finished_with_their_two_folds() -> None:
    rows = folds([0.5, 0.75], quick=True) + folds([0.25, 0.75], "wl", quick=True)
    tables = by_name(rows)
    assert [found.labels[0] for found in tables["seconds"].lines] == ["pinet (quick)", "wl (quick)"]
    assert [column.title for column in tables["accuracy"].columns] == ["MUTAG"]
    assert line(tables["published"], "MUTAG", "wl (quick)")["cells"] == Count(2, 2)
    assert line(tables["tests"], "MUTAG", "wl (quick)")["difference"] == 0.125
    assert "published: " not in " ".join(tables["published"].notes)
    assert not [note for table in tables.values() for note in table.notes if "unfinished" in note]


def test_rows_that_were_not_made_alike_are_told() -> None:
    one, two = folds([0.5, 0.5])
    mixed = [one, two._replace(digest="ff", versions={"source": "abc"})]
    assert by_name(mixed)["accuracy"].notes[1:3] == [
        "the rows were made by 2 versions of the program", "MUTAG: the rows are of different data under this name",
    ]  # fmt: skip
    assert "different data" not in " ".join(by_name(folds([0.5, 0.5]))["accuracy"].notes)
    drawn = [made._replace(digest=str(k)) for k, made in enumerate(trials([0.5, 0.5]))]
    assert "different data" not in " ".join(by_name(drawn)["sizes"].notes)


def test_no_rows_make_no_tables() -> None:
    assert make_tables([]) == []


def test_rows_in_any_order_make_the_same_tables() -> None:
    rows = folds([0.1, 0.2, 0.4]) + folds([0.3, 0.9, 0.5], "wl") + trials([0.7, 0.1])
    assert make_tables(reversed(rows)) == make_tables(rows)
