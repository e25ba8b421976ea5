"""Splits: each graph tested once, each class in its share, and clear words where that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from minipinet.errors import UsageError
from minipinet.splits import fold_seed, hold_out, stratified_folds


@given(st.lists(st.integers(5, 30), min_size=1, max_size=4), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_folds_partition_the_graphs_and_share_out_each_class(sizes: list[int], folds: int, seed: int) -> None:
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 7 - 3, sizes))
    pairs = stratified_folds(y, folds, seed)
    assert len(pairs) == folds
    assert sorted(np.concatenate([test for _, test in pairs])) == list(range(len(y)))
    for train, test in pairs:
        assert len(test) > 0
        assert sorted([*train, *test]) == list(range(len(y)))
        assert train.tolist() == sorted(train)
        for value, size in zip(np.unique(y), sizes, strict=True):
            assert size // folds <= np.count_nonzero(y[test] == value) <= -(-size // folds)


def test_folds_are_those_of_scikit_learn() -> None:
    y = np.array([1, 0, 0, 1, 1] * 6)
    theirs = StratifiedKFold(5, shuffle=True, random_state=11).split(y, y)
    for (train, test), (their_train, their_test) in zip(stratified_folds(y, 5, 11), theirs, strict=True):
        assert train.tolist() == their_train.tolist()
        assert test.tolist() == their_test.tolist()
        assert train.dtype == test.dtype == np.int64


def test_the_seed_decides_the_folds_and_the_names_of_the_classes_do_not() -> None:
    y = [0, 1] * 20
    first = stratified_folds(y, 4, 0)
    for again in (stratified_folds(y, 4, 0), stratified_folds([("a", "b")[c] for c in y], 4, 0)):
        assert all(np.array_equal(a, b) for a, b in zip(sum(first, ()), sum(again, ()), strict=True))
    assert any(a[1].tolist() != b[1].tolist() for a, b in zip(first, stratified_folds(y, 4, 1), strict=True))


@pytest.mark.parametrize(
    ("y", "folds", "message"),
    [
        (
            [0] * 20 + [1] * 3,
            10,
            r"folds: expected 2 to 3, as the smallest class has 3 graphs \(graphs by class: 0: 20, 1: 3\), got 10",
        ),
        (
            [0, 0, 0, 1, 1],
            10,
            r"folds: expected 2, as the smallest class has 2 graphs \(graphs by class: 0: 3, 1: 2\), got 10",
        ),
        ([0, 0, 0, 1], 2, r"at least 2 graphs of each class.*1: 1"),
        (["mutagen"] * 9 + ["not"] * 4, 5, r"'mutagen': 9, 'not': 4"),
        ([3] * 5, 6, r"expected 2 to 5"),
        ([0, 1] * 9, 1, r"folds: expected a whole number of at least 2, got 1"),
        ([0, 1] * 9, 0, r"folds: expected a whole number of at least 2, got 0"),
        ([0, 1] * 9, 2.0, r"folds: expected a whole number"),
        ([], 2, r"y: expected one class a graph"),
        ([[0], [1]], 2, r"y: expected one class a graph"),
    ],
)
def test_case_078_too_few_members_for_the_folds(y: Any, folds: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stratified_folds(y, folds, 0)


def test_case_078_fewer_folds_will_do() -> None:
    for y, folds in (([0] * 20 + [1] * 3, 3), ([0, 0, 0, 1, 1], 2)):
        for _, test in stratified_folds(y, folds, 0):
            assert {y[g] for g in test} == {0, 1}


def test_case_080_classes_one_after_the_other_in_the_file() -> None:
    y = np.repeat([0, 1], 50)
    for train, test in stratified_folds(y, 10, 0):
        assert np.bincount(y[test]).tolist() == [5, 5]
        assert np.bincount(y[train]).tolist() == [45, 45]


@given(st.integers(8, 60), st.floats(0.1, 0.9), st.integers(0, 2**32 - 1))
def test_hold_out_parts_the_training_graphs(n: int, share: float, seed: int) -> None:
    y = np.arange(100) % 2
    index = np.random.default_rng(seed).choice(100, n, replace=False)
    if len(set(y[index])) < 2 or min(np.bincount(y[index])) < 2 or not 2 <= np.ceil(round(share * n, 9)) <= n - 2:
        with pytest.raises(UsageError, match="validation"):
            hold_out(y, index, share, seed)
        return
    train, validation = hold_out(y, index, share, seed)
    assert sorted([*train, *validation]) == sorted(index)
    assert len(validation) == np.ceil(round(share * n, 9))
    for part in (train, validation):
        expected = np.bincount(y[index]) * len(part) / n
        assert np.abs(np.bincount(y[part], minlength=2) - expected).max() <= 1


def test_hold_out_says_what_is_too_small() -> None:
    for y, share in (([0] * 10 + [1], 0.3), ([0, 1] * 5, 0.01), ([0, 1] * 2, 0.9)):
        with pytest.raises(UsageError, match=r"validation: .*graphs by class: 0: \d+, 1: \d+"):
            hold_out(y, range(len(y)), share, 0)


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_a_share_of_whole_graphs_is_not_rounded_up_once_more(n: int) -> None:
    for percent in range(20, 80):
        _, validation = hold_out([0, 1] * (n // 2), range(n), percent / 100, 0)
        assert len(validation) == -(-percent * n // 100)
    assert len(hold_out([0, 1] * 50, range(100), 0.07, 0)[1]) == 7
    assert len(hold_out([0, 1] * 50, range(100), 0.1 + 0.2, 0)[1]) == 30


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"share": float("nan")}, "share: expected a finite number above 0 and below 1, got nan"),
    ({"share": "a"}, "share: expected a finite number"),
    ({"share": None}, "share: expected a finite number"),
    ({"share": True}, "share: expected a finite number"),
    ({"share": 0.0}, "share: expected a finite number above 0"),
    ({"share": 1}, "share: expected a finite number above 0 and below 1, got 1"),
    ({"share": -0.5}, "share: "),
    ({"index": []}, "index: expected at least one whole number"),
    ({"index": [0, 20]}, "index: expected numbers from 0 to 19, got 0 to 20"),
    ({"index": [-1, 3]}, "index: expected numbers from 0 to 19, got -1 to 3"),
    ({"index": [0.0, 1.0]}, "index: expected at least one whole number"),
    ({"index": [True, False]}, "index: expected at least one whole number"),
    ({"index": [[0], [1]]}, "index: expected at least one whole number"),
    ({"index": [[0], [1, 2]]}, "index: expected at least one whole number"),
    ({"index": None}, "index: expected at least one whole number"),
    ({"index": [0, 1, 2, 3, 3]}, "index: expected each graph once"),
    ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
    ({"seed": 2**32}, "seed: expected a whole number from 0 to 4294967295"),
    ({"seed": None}, "seed: expected a whole number"),
    ({"y": None}, "y: expected one class a graph"),
    ({"y": [0, None] * 10}, "y: expected one class a graph"),
    ({"y": [0, float("nan")] * 10}, "y: expected one class a graph"),
    ({"y": [[0], [1, 2]] * 10}, "y: expected one class a graph"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_arguments_of_hold_out_are_named(wrong: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {"y": [0, 1] * 10, "index": range(20), "share": 0.2, "seed": 0}
    with pytest.raises(UsageError, match=f"^{message}"):
        hold_out(**{**right, **wrong})


@pytest.mark.parametrize(("wrong", "message"), [case for case in WRONG if case[0].keys() <= {"y", "seed"}])
def test_wrong_arguments_of_stratified_folds_are_named(wrong: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {"y": [0, 1] * 10, "folds": 2, "seed": 0}
    with pytest.raises(UsageError, match=f"^{message}"):
        stratified_folds(**{**right, **wrong})


def test_classes_in_an_array_of_objects_are_classes() -> None:
    y = np.array(["a", "bc"] * 6, dtype=object)
    for (_, test), (_, expected) in zip(stratified_folds(y, 3, 0), stratified_folds(y.tolist(), 3, 0), strict=True):
        assert test.tolist() == expected.tolist()


def test_fold_seeds_differ_and_stay() -> None:
    seeds = [fold_seed(seed, fold) for seed in range(5) for fold in range(20)]
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert fold_seed(0, 3) == seeds[3]
