"""Scoring: each graph once, in the order asked for, whatever stands beside it."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.batch import make_batch
from minipinet.errors import UsageError
from minipinet.evaluation import evaluate, score
from minipinet.model import pinet_forward
from minipinet.train import fit, start
from tests.small_data import same_bits
from tests.small_training import ALL, DATA, QUOTIENT, SMALL, record_batches, train


def test_case_077_evaluation_visits_each_graph_once(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = record_batches(monkeypatch)
    params = start(SMALL, 2, 2).params
    index = np.array([3, 1, 20, 7, 8, 9, 2])
    results = []
    for batch_size in (1, 2, 3, 7, 100):
        visited.clear()
        results.append(evaluate(params, None, QUOTIENT, DATA.y, index, batch_size=batch_size))
        assert Counter(chain.from_iterable(visited)) == Counter(index.tolist())
        assert results[-1].accuracy == round(results[-1].accuracy * len(index)) / len(index)
    for result in results[1:]:
        assert same_bits(result.logits, results[0].logits)
        assert result.index.tolist() == index.tolist()
    assert results[0].predictions.tolist() == results[0].logits.argmax(axis=1).tolist()


def test_evaluation_is_in_the_order_asked_for() -> None:
    params = start(SMALL, 2, 2).params
    there, back = (evaluate(params, None, QUOTIENT, DATA.y, index) for index in (ALL, ALL[::-1]))
    assert same_bits(there.logits, np.ascontiguousarray(back.logits[::-1]))
    alone = pinet_forward(params, make_batch(QUOTIENT, [5]))[0]
    assert same_bits(alone[0], there.logits[5])
    assert same_bits(score(params, None, QUOTIENT, ALL), there.logits)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (DATA.y[:-1], "expected 24 whole numbers"),
        (DATA.y.astype(float), "dtype float64"),
        (DATA.y.astype(str), "whole numbers"),
        (DATA.y.astype(bool), "dtype bool"),
        (DATA.y[:, None], r"shape \(24, 1\)"),
        (DATA.y + 1, "classes 0 to 1, got 1 to 2"),
        (DATA.y - 1, "classes 0 to 1, got -1 to 0"),
    ],
)
def test_case_075_labels_that_are_no_class_numbers_are_refused(y: Array, message: str) -> None:
    params = start(SMALL, 2, 2).params
    with pytest.raises(UsageError, match=f"y: .*{message}"):
        fit(QUOTIENT, y, ALL, SMALL, C=2)
    with pytest.raises(UsageError, match=f"y: .*{message}"):
        evaluate(params, None, QUOTIENT, y, ALL)


@pytest.mark.parametrize("index", [[], [24], [-1], [0.5], [[0, 1]], ["a"], [True, False]])
def test_numbers_that_are_no_graphs_are_refused(index: Any) -> None:
    params = start(SMALL, 2, 2).params
    numbers = np.array(index)
    for call in (
        lambda: train(SMALL, numbers),
        lambda: evaluate(params, None, QUOTIENT, DATA.y, numbers),
        lambda: score(params, None, QUOTIENT, numbers),
    ):
        with pytest.raises(UsageError, match="index: expected"):
            call()
    with pytest.raises(UsageError, match="validation_index: expected"):
        train(SMALL, validation_index=numbers)


def test_weights_for_other_graphs_are_refused() -> None:
    state = start(SMALL, 3, 2)
    with pytest.raises(UsageError, match="params: expected weights for 2 features a node, got weights for 3"):
        evaluate(state.params, None, QUOTIENT, DATA.y, ALL)
    with pytest.raises(UsageError, match="params: expected weights for 2 features"):
        score(state.params, None, QUOTIENT, ALL)
    with pytest.raises(UsageError, match="params: expected weights for 2 features"):
        train(SMALL, state=state)


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, "4", None])
def test_wrong_batch_sizes_are_refused(batch_size: Any) -> None:
    params = start(SMALL, 2, 2).params
    with pytest.raises(UsageError, match="batch_size: expected a whole number of at least 1"):
        evaluate(params, None, QUOTIENT, DATA.y, ALL, batch_size=batch_size)
    with pytest.raises(UsageError, match="batch_size: expected a whole number of at least 1"):
        score(params, None, QUOTIENT, ALL, batch_size=batch_size)
