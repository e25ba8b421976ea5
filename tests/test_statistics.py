"""Statistics of accuracies: spreads, tests between two models, and families of tests."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from minipinet.errors import UsageError
from minipinet.results.statistics import (
    Moments,
    Summary,
    compare,
    compare_independent,
    holm,
    summarise,
)
from tests.tolerances import CLOSED_FORM

RNG_SEED = 20261128
#: Accuracies of two models on the same two times five folds.
A = [[0.9, 0.8, 0.85, 0.95, 0.7], [0.85, 0.8, 0.9, 0.9, 0.8]]
B = [[0.8, 0.75, 0.85, 0.9, 0.75], [0.8, 0.7, 0.8, 0.95, 0.75]]
#: No accuracies, whatever the place.
WRONG: list[Any] = [
    [], [[]], [[None]], [0.5, 0.6], [["1", "0"]], [[math.nan, 1]], [[math.inf]], [[True, False]], [[1.1]], [[-0.1]],
    [[86.2, 85.0]], [[0.5, [0.5]]], [[1j]], None, 3, 0.5, "ab", ["ab"], [None], np.float64(0.5), np.array([0.5]),
]  # fmt: skip


def flat(table: list[list[float]]) -> list[float]:
    return [value for row in table for value in row]


# --- mean and spread


def test_case_084_the_two_kinds_of_spread_stand_apart() -> None:
    table = [[0.8, 1.0], [0.6, 0.8], [0.9, 1.0]]
    found = summarise(table)
    assert found.n == 6
    assert found.mean == pytest.approx(np.mean(table), rel=CLOSED_FORM)
    assert found.sd_folds == pytest.approx(math.sqrt((0.02 + 0.02 + 0.005) / 3), rel=CLOSED_FORM)
    assert found.sd_repeats == pytest.approx(np.std([0.9, 0.7, 0.95], ddof=1), rel=CLOSED_FORM)
    # The same folds in every repeat leave nothing to the seed, and the other way round.
    assert summarise([[0.5, 1.0], [0.5, 1.0]])[1:3] == (math.sqrt(0.125), 0.0)
    assert summarise([[0.5, 0.5], [1.0, 1.0]])[1:3] == (0.0, math.sqrt(0.125))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[0.75]], Summary(0.75, None, None, 1)),
        ([[0.5, 1.0]], Summary(0.75, math.sqrt(0.125), None, 2)),
        ([[0.5], [1.0]], Summary(0.75, None, math.sqrt(0.125), 2)),  # trials of one fold each
        ([[0.5, 1.0], [0.75]], Summary(0.75, math.sqrt(0.125), None, 3)),  # an unfinished repeat has no mean to count
        ([[0.5, None, 1.0], [], [None]], Summary(0.75, math.sqrt(0.125), None, 2)),
        ([[0.5, 1.0], [0.5, None], [1.0, 1.0]], Summary(0.8, math.sqrt(0.0625), math.sqrt(0.03125), 5)),
    ],
)
def test_a_store_may_be_unfinished(table: Any, expected: Summary) -> None:
    assert summarise(table) == expected


def test_variances_within_repeats_count_by_their_degrees_of_freedom() -> None:
    assert summarise([[0.5, 1.0], [0.7, 0.7, 0.7, 0.7]]).sd_folds == math.sqrt(0.125 / (1 + 3))


def test_equal_accuracies_have_a_spread_of_exactly_nothing() -> None:
    assert summarise([[0.684] * 10] * 3) == Summary(0.684, 0.0, 0.0, 30)


def test_arrays_do_and_stay_as_they_are() -> None:
    table = np.array(A, np.float32)
    before = table.copy()
    assert type(summarise(table).mean) is float  # type: ignore[arg-type]
    assert compare(table, table) == compare(table.tolist(), table.tolist())  # type: ignore[arg-type]
    np.testing.assert_array_equal(table, before)


# --- two models


def test_the_tests_are_scipys_and_the_papers() -> None:
    a, b = np.array(flat(A)), np.array(flat(B))
    found = compare(A, B, test_share=0.2)
    assert found.n == 10
    assert found.difference == pytest.approx(np.mean(a - b), rel=CLOSED_FORM)
    assert found.welch == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=CLOSED_FORM)
    assert found.paired == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=CLOSED_FORM)
    # Nadeau and Bengio's, with n_test / n_train of five folds, which is 1 / 4.
    t = np.mean(a - b) / math.sqrt((1 / 10 + 1 / 4) * np.var(a - b, ddof=1))
    assert found.corrected == pytest.approx(2 * stats.t.sf(t, 9), rel=CLOSED_FORM)


def test_the_share_of_ten_folds_is_the_default_and_none_is_the_paired_test() -> None:
    assert compare(A, B) == compare(A, B, test_share=0.1) != compare(A, B, test_share=0.2)
    found = compare(A, B, test_share=0)
    assert found.corrected == found.paired


def test_the_other_way_round_only_the_sign_changes() -> None:
    forth, back = compare(A, B), compare(B, A)
    assert back.difference == -forth.difference
    assert back[1:] == pytest.approx(forth[1:], rel=CLOSED_FORM)


def test_only_folds_that_both_have_are_compared() -> None:
    a: Any = [[0.9, None, 0.7, 0.8], [0.6], [1.0, 0.9]]
    b: Any = [[0.8, 0.1, None, 0.9, 0.2], [0.7, 0.3]]
    assert compare(a, b) == compare([[0.9, 0.8, 0.6]], [[0.8, 0.9, 0.7]])


def test_two_folds_are_enough_and_an_accuracy_of_0_is_one() -> None:
    found = compare([[0.0, 0.5]], [[0.25, 0.5]])
    assert (found.difference, found.n) == (-0.125, 2)
    assert found.paired == pytest.approx(stats.ttest_rel([0.0, 0.5], [0.25, 0.5]).pvalue, rel=CLOSED_FORM)


def test_without_common_folds_all_are_compared_and_nothing_is_paired() -> None:
    a: Any = [[0.9, 0.8, None, None], [1.0]]
    b: Any = [[None, None, 0.7, 0.6]]
    found = compare(a, b)
    assert found.difference == pytest.approx(0.25, rel=CLOSED_FORM)
    assert (found.n, found.paired, found.corrected) == (0, None, None)
    assert found.welch == compare_independent(a, b)
    assert found.welch == pytest.approx(stats.ttest_ind([0.9, 0.8, 1.0], [0.7, 0.6], equal_var=False).pvalue)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([[0.5]], [[0.9]], (-0.4, 1, 1.0, 1.0, 1.0)),  # one fold says nothing
        ([[0.9, 0.8]], [[0.9, 0.8]], (0.0, 2, 1.0, 1.0, 1.0)),
        ([[0.684] * 10], [[0.684] * 10], (0.0, 10, 1.0, 1.0, 1.0)),
        ([[0.7] * 3], [[0.6] * 3], (0.1, 3, 0.0, 0.0, 0.0)),
        # The differences are 0.1 but for rounding.
        ([[0.8, 0.9, 0.4]], [[0.7, 0.8, 0.3]], (0.1, 3, stats.ttest_ind([8, 9, 4], [7, 8, 3]).pvalue, 0.0, 0.0)),
        ([[0.1 + 0.2, 0.5]], [[0.3, 0.5]], (0.0, 2, 1.0, 1.0, 1.0)),  # equal but for rounding
    ],
)
def test_without_spread_the_answers_are_defined_and_warn_of_nothing(a: Any, b: Any, expected: Any) -> None:
    assert tuple(compare(a, b)) == pytest.approx(expected, rel=CLOSED_FORM, abs=1e-15)


def test_one_model_without_spread_is_tested_by_the_others() -> None:
    majority, other = [0.684] * 10, [0.85, 0.9, 0.8, 0.7, 0.75, 0.95, 0.85, 0.8, 0.9, 0.9]
    expected = stats.ttest_1samp(other, 0.684).pvalue  # Welch's degrees of freedom are those of the other alone
    assert compare([majority], [other])[2:4] == pytest.approx((expected, expected), rel=CLOSED_FORM)


def test_published_numbers_stand_for_accuracies() -> None:
    published = Moments(0.85, 0.06, 10)
    ours = Moments(float(np.mean(flat(A))), float(np.std(flat(A), ddof=1)), 10)
    assert compare_independent(A, published) == pytest.approx(compare_independent(ours, published), rel=CLOSED_FORM)
    assert compare_independent(published, A) == pytest.approx(compare_independent(A, published), rel=CLOSED_FORM)
    assert compare_independent(A, B) == pytest.approx(compare(A, B).welch, rel=CLOSED_FORM)
    expected = stats.ttest_ind_from_stats(0.85, 0.06, 10, 0.74, 0.02, 10, equal_var=False).pvalue
    assert compare_independent(published, Moments(0.74, 0.02, 10)) == expected
    assert compare_independent(Moments(0.684, 0.0, 10), Moments(0.684, 0, 10)) == 1.0
    assert compare_independent(Moments(0.684, 0.0, 10), Moments(0.685, 0, 10)) == 0.0
    assert compare_independent(Moments(0.684, 0.0, 1), [[0.9, 0.8]]) == 1.0
    assert compare_independent(Moments(0.3, 1e-17, 10), Moments(0.1 + 0.2, 1e-17, 10)) == 1.0  # rounding


# --- several tests


def test_holms_method_is_bonferronis_on_every_part_of_the_family() -> None:
    """A hypothesis is rejected when every set of hypotheses that holds it is, by the least of their p-values."""
    rng = np.random.default_rng(RNG_SEED)
    for m in range(1, 7):
        ps = np.round(rng.uniform(size=m) ** 3, 1 if m % 2 else 9).tolist()  # some with ties
        sets = [part for size in range(1, m + 1) for part in combinations(range(m), size)]
        worst = [max(min(1.0, len(s) * min(ps[i] for i in s)) for s in sets if k in s) for k in range(m)]
        assert holm(ps) == pytest.approx(worst, rel=CLOSED_FORM)


def test_holm_of_none_and_of_one() -> None:
    assert (holm([]), holm([0.3]), holm((1.0, 0.0))) == ([], [0.3], [1.0, 0.0])


# --- bad input


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_is_no_accuracies_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"^accuracies(\[\d\]\[\d\])?: expected"):
        summarise(wrong)
    with pytest.raises(UsageError, match=r"^a(\[\d\]\[\d\])?: expected"):
        compare(wrong, A)
    with pytest.raises(UsageError, match=r"^b(\[\d\]\[\d\])?: expected"):
        compare(A, wrong)
    with pytest.raises(UsageError, match=r"^b(\[\d\]\[\d\])?: expected"):
        compare_independent(A, wrong)


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, math.nan, None, "0.1", True])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(UsageError, match=r"^test_share: expected a finite number at least 0 and below 1, got"):
        compare(A, B, test_share=share)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (Moments(85.0, 0.1, 10), "mean"), (Moments(math.nan, 0.1, 10), "mean"), (Moments(0.5, -0.1, 10), "sd"),
        (Moments(0.5, math.inf, 10), "sd"), (Moments(0.5, None, 10), "sd"), (Moments(0.5, 0.1, 0), "n"),  # type: ignore[arg-type]
        (Moments(0.5, 0.1, 2.5), "n"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_moments_that_are_none_are_refused(wrong: Moments, name: str) -> None:
    with pytest.raises(UsageError, match=rf"^b\.{name}: expected"):
        compare_independent(A, wrong)


@pytest.mark.parametrize("wrong", [None, 0.5, "ab", [None], [1.5], [-0.1], [math.nan], ["0.5"], [True], [[0.5]]])
def test_p_values_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"^p_values(\[0\])?: expected"):
        holm(wrong)
