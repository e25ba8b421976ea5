"""The project's own pairs under the checker, spoilt and not, and the engine of `minipinet verify`."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet._tree import named_leaves, with_leaves
from minipinet.errors import UsageError
from minipinet.verify import Row, check_pair, verify_all
from minipinet.verify.fast_pairs import fast_pairs
from minipinet.verify.measure import TOLERANCE
from minipinet.verify.pairs import Pair, layer_pairs, model_pairs
from minipinet.verify.planted import PlantedBug, plant
from tests import tolerances
from tests.small_pairs import (
    generator,
    scaled,
    sine_backward,
    sine_forward,
)
from tests.thinned import thinned

pytestmark = pytest.mark.gradient


# The project's own pairs, spoilt one gradient at a time by a hundredth of a percent.


def spoilt(pair: Pair, which: int) -> Pair:
    """Return `pair` with its `which`-th gradient array multiplied by 1.0001."""

    def backward(dout: Any, cache: Any) -> Any:
        grads = pair.backward(dout, cache)
        leaves = [leaf for _, leaf in named_leaves(grads)]
        present = [k for k, leaf in enumerate(leaves) if leaf is not None]
        leaves[present[which]] = leaves[present[which]] * 1.0001
        return with_leaves(grads, iter(leaves))

    return pair._replace(backward=backward)


def no_pairs(*_: Any, **__: Any) -> list[Pair]:
    return []


def own_pairs() -> list[Pair]:
    return layer_pairs(generator()) + model_pairs(generator()) + fast_pairs(generator())


@pytest.mark.parametrize("k", range(len(own_pairs())), ids=[pair.name for pair in own_pairs()])
def test_a_ten_thousandth_too_much_in_any_gradient_of_any_pair_is_caught(k: int) -> None:
    pair = own_pairs()[k]
    gradients = [g for path, g in named_leaves(pair.backward(*pair.forward(**pair.inputs))) if g is not None]
    # The bias before the column softmax moves all nodes alike: its gradient is zero.
    zero = [which for which, g in enumerate(gradients) if np.abs(g).max() < 1e-9]
    assert len(zero) == (pair.name in ("pinet", "loss") or (".loss" in pair.name and "fixed" not in pair.name))
    methods = pair.methods[-1:] if "taylor" in pair.methods else pair.methods
    long = thinned(range(len(gradients)), 3)
    for which in range(len(gradients)):
        bad = spoilt(pair, which)
        for method in ("adjoint", *(methods if which in long else ())):
            report = check_pair(bad.forward, bad.backward, bad.inputs, rng=generator(), method=method)
            assert report.ok == (which in zero), f"{pair.name}, gradient {which}, {method}"


def test_another_way_taken_by_the_backward_where_the_widths_are_equal_is_seen_by_the_square_pair_alone() -> None:
    bug = PlantedBug(
        "way of equal widths",
        "backward line",
        "minipinet.propagation",
        "message_passing_backward",
        "if W.shape[0] < W.shape[1]:",
        "if W.shape[0] <= W.shape[1]:",
        "the cache is that of the other way",
    )
    spoilt_pairs = plant(bug)["minipinet.verify.pairs"].layer_pairs(generator())
    wrong = [
        pair.name
        for pair in spoilt_pairs
        if not check_pair(pair.forward, pair.backward, pair.inputs, rng=generator(), name=pair.name).ok
    ]
    assert wrong == ["message_passing.square"]


# The engine of the command.


@cache
def rows_of(seed: int) -> list[Row]:
    return verify_all(seed=seed)


def test_verify_all_passes_and_names_every_pair() -> None:
    rows = rows_of(0)
    assert all(row.ok for row in rows), [row.text for row in rows if not row.ok]
    assert {(row.pair, row.method) for row in rows} == {
        (pair.name, method) for pair in own_pairs() for method in ("linear", "adjoint", *pair.methods)
    }
    assert max(row.worst for row in rows if row.method == "linear") < tolerances.LINEAR
    assert all(row.tolerance == TOLERANCE[row.method] and row.seconds > 0 for row in rows)
    assert all(row.rate > tolerances.TAYLOR_RATE for row in rows if row.method == "taylor")
    assert max(row.worst for row in rows if row.method == "complex") < tolerances.GRADIENT_COMPLEX


@pytest.mark.parametrize("seed", thinned(range(2)))
def test_verify_all_in_single_precision_compares_with_double(seed: int) -> None:
    rows = verify_all(dtype="float32", seed=seed)
    assert all(row.ok for row in rows), [row.text for row in rows if not row.ok]
    single = [row for row in rows if row.method == "float32"]
    assert [row.pair for row in single] == [pair.name for pair in own_pairs()]
    assert 0 < max(row.worst for row in single) < tolerances.GRADIENT_FLOAT32
    double = rows_of(seed)
    assert [(r.pair, r.method, r.worst) for r in rows if r not in single] == [
        (r.pair, r.method, r.worst) for r in double
    ]


def test_verify_all_in_single_precision_sees_a_gradient_that_is_wrong_or_of_another_dtype(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lifted(dout: Array, x: Array) -> Array:
        return sine_backward(dout, x).astype(np.float64)

    def wrong(dout: Array, x: Array) -> Array:
        return sine_backward(dout, x) * (1.001 if x.dtype == np.float32 else 1.0)

    def pairs(rng: np.random.Generator, dtype: str = "float64") -> list[Pair]:
        x = {"x": np.ones(3, dtype)}
        return [Pair("lifted", sine_forward, lifted, x, ()), Pair("wrong", sine_forward, wrong, x, ())]

    monkeypatch.setattr("minipinet.verify.suite.layer_pairs", pairs)
    monkeypatch.setattr("minipinet.verify.suite.fast_pairs", no_pairs)
    rows = verify_all(model=False, dtype="float32")
    single = [row for row in rows if row.method == "float32"]
    assert [row.ok for row in rows] == [row not in single for row in rows]
    assert "dx is float64 for float32 input" in single[0].text
    assert "dx[" in single[1].text
    assert "float64 (numeric)" in single[1].text


def test_a_gradient_wrong_in_both_precisions_is_wrong_in_single_precision_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def pairs(rng: np.random.Generator, dtype: str = "float64") -> list[Pair]:
        return [Pair("wrong", sine_forward, scaled(sine_backward, 1.01), {"x": np.ones(3, dtype)}, ("central",))]

    monkeypatch.setattr("minipinet.verify.suite.layer_pairs", pairs)
    monkeypatch.setattr("minipinet.verify.suite.fast_pairs", no_pairs)
    rows = verify_all(model=False, dtype="float32")
    assert {row.method: row.ok for row in rows} == {
        "linear": True,
        "adjoint": False,
        "central": False,
        "float32": True,
    }


def test_verify_all_selects_and_refuses() -> None:
    assert {row.pair for row in verify_all(["message_passing"], model=False)} == {
        "message_passing.A_first",
        "message_passing.W_first",
        "message_passing.square",
    }
    assert verify_all([]) == []
    assert all(not row.pair.startswith(("pinet", "loss", "fast.loss", "compiled")) for row in verify_all(model=False))
    refused: list[tuple[dict[str, Any], str]] = [
        ({"pairs": ["poool"]}, "pairs: expected"),
        *(
            ({"pairs": [name], "model": False}, f"pairs: '{name}' is part of the whole network, which model=False")
            for name in ("pinet", "pinet.fixed_pq", "loss", "fast.loss")
        ),
        ({"dtype": "float16"}, "dtype: expected float64 or float32"),
        ({"seed": -1}, "seed: expected"),
    ]
    for arguments, message in refused:
        with pytest.raises(UsageError, match=message):
            verify_all(**arguments)


def test_verify_all_reports_a_pair_that_is_wrong_or_cannot_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_pairs(rng: np.random.Generator, dtype: str = "float64") -> list[Pair]:
        x = {"x": np.ones(3, dtype)}
        wrong = Pair("wrong", sine_forward, scaled(sine_backward, 1.0001), x, ("central", "taylor"))
        missing = Pair("missing", sine_forward, lambda dout, cache: None, x, ("complex",))
        return [wrong, missing, Pair("raises", sine_forward, lambda dout, cache: cache["x"], x, ()), wrong]

    monkeypatch.setattr("minipinet.verify.suite.layer_pairs", two_pairs)
    monkeypatch.setattr("minipinet.verify.suite.fast_pairs", no_pairs)
    rows = verify_all(model=False)
    rows_of_the_first = [(row.pair, row.method, row.ok) for row in rows[:4]]
    assert [(row.pair, row.method, row.ok) for row in rows] == [
        ("wrong", "linear", True),  # a factor is linear
        ("wrong", "adjoint", False),
        ("wrong", "central", False),
        ("wrong", "taylor", False),
        ("missing", "linear", False),
        ("missing", "adjoint", False),
        ("missing", "complex", False),
        ("raises", "linear", False),
        ("raises", "adjoint", False),
        *rows_of_the_first,
    ]
    assert [math.isnan(row.worst) for row in rows] == [row.pair in ("missing", "raises") for row in rows]
    assert "IndexError: only integers" in rows[7].text
    assert "dx[" in rows[2].text
    assert "None for the gradient of x" in rows[6].text
