"""What the figures show, apart from how they are drawn: means by hand, what is left out, what is missing."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from minipinet.errors import DataError
from minipinet.experiments.plan import PTC
from minipinet.experiments.records import Row
from minipinet.results.figure_data import (
    Curves,
    Group,
    all_paths,
    curves_caption,
    curves_of,
    fold_caption,
    fold_groups,
    path_of,
)  # fmt: skip
from minipinet.results.fold_results import make_fold_results
from minipinet.results.isomorphism_tables import size_table, steps_table
from minipinet.results.naming import name_row
from minipinet.results.published import Published
from minipinet.results.table import Estimate, Key, Result
from tests.table_rows import folds, trials

FOUR = ("pinet-p1q0", "pinet-p1q1", "pinet-p0q0", "pinet-p0q1")
COMPARISON = Key("comparison", "paper", "labels", 0)
MATRICES = Key("message-passing", "paper", "labels", 0)


def results(rows: list[Row]) -> list[Result]:
    return [Result(name_row(row), row) for row in rows]


def groups_of(key: Key, rows: list[Row], *, parts: bool = True) -> dict[str, Group]:
    return {group.dataset: group for group in fold_groups(make_fold_results(key, results(rows)), parts=parts)}


def matrices(values: dict[str, list[float | None]], dataset: str = "MUTAG") -> list[Row]:
    return [row for model, found in values.items()
            for row in folds(found, model, experiment="message-passing", dataset=dataset)]  # fmt: skip


def history(p: float, q: float, epochs: int = 2) -> dict[str, Any]:
    """Return a history in which p and q of layer k are those given plus k eighths in every epoch."""
    of = [[[value + k / 8 for k in range(4)]] * epochs for value in (p, q)]
    return {"epoch": list(range(1, epochs + 1)), "p": of[0], "q": of[1]}


def learned(n: int = 2, **places: Any) -> list[Row]:
    rows = folds([0.5] * n, **places)
    return [row._replace(details={"history": history(0.6 + 0.01 * row.cell.fold, 0.4)}) for row in rows]


def test_fold_groups_hold_the_means_spreads_and_published_numbers() -> None:
    rows = folds([0.75, 1.0, 0.5]) + folds([0.25], "wl") + folds([0.5, 0.75], "pinet-p1q0")
    group = groups_of(COMPARISON, [row._replace(truth=[0, 1, 1, 1]) for row in rows])["MUTAG"]
    assert group.ours["pinet"] == pytest.approx(Estimate(0.75, 0.25, 3, 10))
    assert group.ours["wl"] == Estimate(0.25, None, 1, 10)
    assert group.ours["pinet-manual"] == pytest.approx(Estimate(0.625, math.sqrt(1 / 32), 2, 10))
    assert list(group.ours) == ["pinet", "pinet-manual", "wl"], "what is missing has no dot"
    assert group.published["wl"] == Published(0.684, 0.0)
    assert group.published["gcn-sum"].mean == 0.863, "published numbers stand where ours are missing"
    assert group.majority == 0.75
    assert group.manual is None


def test_parts_of_ptc_stand_beside_their_mean_only_where_asked() -> None:
    rows = [
        row for part, value in zip(PTC, (0.25, 0.5, 0.5, 0.75), strict=True) for row in folds([value], dataset=part)
    ]
    rows += folds([0.5]) + folds([0.5], dataset="NCI1")
    assert list(groups_of(COMPARISON, rows)) == ["MUTAG", "NCI1", "PTC", *PTC]
    assert list(groups_of(COMPARISON, rows, parts=False)) == ["MUTAG", "NCI1", "PTC"]
    assert groups_of(COMPARISON, rows, parts=False)["PTC"].ours["pinet"] == Estimate(0.5, None, 1, 10)
    incomplete = [row for row in rows if row.cell.dataset != "PTC_FR"]
    assert list(groups_of(COMPARISON, incomplete, parts=False)) == ["MUTAG", "NCI1", *PTC[:3]]


def test_the_mean_of_the_manual_search_needs_all_folds_of_all_four() -> None:
    values: dict[str, list[float | None]] = {
        model: [value] * 10 for model, value in zip(FOUR, (0.5, 0.75, 0.25, 1.0), strict=True)
    }
    assert groups_of(MATRICES, matrices({**values, "pinet": [1.0] * 10}))["MUTAG"].manual == 0.625
    assert groups_of(MATRICES, matrices({**values, "pinet-p0q1": [1.0] * 9}))["MUTAG"].manual is None
    assert groups_of(MATRICES, matrices({model: values[model] for model in FOUR[:3]}))["MUTAG"].manual is None


def test_captions_count_every_row_once_and_say_what_is_missing() -> None:
    rows = [row for part in PTC for row in folds([0.5, 0.5], dataset=part)] + folds([0.5] * 3)
    of_folds = make_fold_results(COMPARISON, results(rows))
    for parts in (False, True):
        caption = fold_caption(of_folds, fold_groups(of_folds, parts=parts))
        assert caption == "comparison, protocol paper: 11 rows; unfinished: 11 of 480 cells are there"
    whole = make_fold_results(COMPARISON, results(folds([0.5, 1.0], quick=True)))
    assert fold_caption(whole, fold_groups(whole, parts=False)) == "comparison, protocol paper: 2 rows"


def iso(rows: list[Row], features: str) -> tuple[Key, list[Result]]:
    rows = [row._replace(cell=row.cell._replace(features=features)) for row in rows]
    return Key("isomorphism", "paper", features, 0), results(rows)


def test_curves_hold_mean_and_spread_over_trials() -> None:
    rows = trials([0.25, 0.75]) + trials([1.0] * 10, size=2) + trials([0.2], "wl", size=2) + trials([0.5], epochs=500)
    found = curves_of(size_table(*iso(rows, "constant")))
    assert found.ours["pinet"] == {
        1: pytest.approx(Estimate(0.5, math.sqrt(1 / 8), 2, 10)),
        2: Estimate(1.0, 0.0, 10, 10),
    }
    assert found.ours["wl"] == {2: Estimate(0.2, None, 1, 10)}
    assert found.ours["gcn-sum"] == {}
    assert not any(found.published.values()), "the published numbers are of random labels"
    assert found.unfinished == "unfinished: 13 of 660 cells are there"
    steps = curves_of(steps_table(*iso(rows, "constant")))
    assert steps.ours["pinet"] == {
        200: pytest.approx(Estimate(0.5, math.sqrt(1 / 8), 2, 10)),
        500: Estimate(0.5, None, 1, 10),
    }
    assert "wl" not in steps.ours


def test_published_curves_stand_beside_random_labels() -> None:
    found = curves_of(size_table(*iso(trials([0.25]), "random")))
    assert found.published["pinet-p1q0"][2] == 0.70
    assert found.published["patchy-san"][20] == 0.31
    assert sorted(found.published["wl"]) == list(range(2, 21, 2))
    assert found.published["pinet"] == {}  # theirs had p and q fixed
    assert found.ours["pinet"] == {1: Estimate(0.25, None, 1, 10)}


def test_a_caption_of_curves_says_where_rows_are_missing() -> None:
    one, two = Estimate(0.5, 0.1, 10, 10), Estimate(0.5, None, 1, 10)
    panels = [
        Curves("random", {"pinet": {1: one, 2: one}}, {}, ""),
        Curves("constant", {"pinet": {1: two}, "wl": {}}, {}, "unfinished: 1 of 20 cells are there"),
    ]
    found = curves_caption(Key("isomorphism", "paper", "labels", 1), panels)
    assert (
        found == "isomorphism, protocol paper, nodes shuffled: 21 rows; constant, unfinished: 1 of 20 cells are there"
    )


def test_a_path_begins_at_one_half_and_keeps_the_order_of_layers() -> None:
    path = path_of(history(0.5, 0.25))
    assert path.shape == (3, 4, 2)
    assert (path[0] == 0.5).all()
    np.testing.assert_array_equal(path[1:, :, 0], [[0.5, 0.625, 0.75, 0.875]] * 2)
    np.testing.assert_array_equal(path[1:, :, 1], [[0.25, 0.375, 0.5, 0.625]] * 2)


@pytest.mark.parametrize(
    "wrong", [{"p": [[0.5]]}, {"p": [[0.5] * 4], "q": [[0.5] * 3]}, {"p": [[0.5] * 4], "q": [[0.5] * 4] * 2},
              {"p": "x", "q": [[0.5] * 4]}, {"p": [[{}] * 4], "q": [[0.5] * 4]},
              {"p": [[10**400] * 4], "q": [[0.5] * 4]}]
)  # fmt: skip
def test_a_history_that_is_none_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"^history: expected p and q of four layers for each epoch, got "):
        path_of(wrong)
    forged = [row._replace(details={"history": {"p": [], "q": [], **wrong}}) for row in folds([0.5])]
    where = "comparison/paper/pinet{}/MUTAG:labels/repeat 0/fold 0: details: history: expected p and q"
    with pytest.raises(DataError, match=f"^{re.escape(where)}"):
        all_paths([(COMPARISON, results(forged))])


def test_a_split_of_two_experiments_counts_once() -> None:
    groups = [(COMPARISON, results(learned(2))), (MATRICES, results(learned(3, experiment="message-passing")))]
    (found,) = all_paths(groups)
    assert (found.key, found.dataset, found.model) == (COMPARISON._replace(experiment="paths"), "MUTAG", "pinet")
    assert (found.rows, found.of, len(found.paths)) == (3, 10, 3)
    assert [path[1, 0, 0] for path in found.paths] == pytest.approx([0.6, 0.61, 0.62])
    (again,) = all_paths([(key, rows[::-1]) for key, rows in groups[::-1]])
    np.testing.assert_array_equal(again.paths, found.paths)


def test_paths_are_those_of_learned_p_and_q_alone() -> None:
    fixed = [row._replace(details={"history": history(1, 0)}) for row in folds([0.5], "pinet-p1q0")]
    others = folds([0.5], "wl") + folds([0.5], "gcn-sum")
    bare = [row._replace(details={}) for row in folds([0.5])]
    assert all_paths([(COMPARISON, results(fixed + others + bare))]) == []


def test_what_is_never_mixed_has_paths_of_its_own() -> None:
    shuffled = COMPARISON._replace(shuffled=1)
    rows = learned(2) + learned(2, quick=True) + learned(1, dataset="NCI1") + learned(1, repeat=1)
    found = all_paths([(shuffled, results(learned(1, shuffled=1))), (COMPARISON, results(rows))])
    assert [(one.dataset, one.model, one.key.shuffled, one.rows, one.of) for one in found] == [
        ("MUTAG", "pinet", 0, 3, 20), ("MUTAG", "pinet (quick)", 0, 2, 2), ("NCI1", "pinet", 0, 1, 10),
        ("MUTAG", "pinet", 1, 1, 10),
    ]  # fmt: skip


def test_protocol_fair_has_a_path_for_each_of_its_trainings() -> None:
    (row,) = learned(1, protocol="fair")
    trainings = [{"history": history(value, 0.5)} for value in (0.6, 0.7, 0.8)]
    row = row._replace(details={"candidates": [], "trainings": trainings})
    (found,) = all_paths([(COMPARISON._replace(protocol="fair"), results([row]))])
    assert [path[-1, 0, 0] for path in found.paths] == [0.6, 0.7, 0.8]
    assert (found.rows, found.of) == (1, 10)
