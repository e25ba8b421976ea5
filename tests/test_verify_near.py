"""Kinks near the point: nearer than the usual step, many at once, and what a gradient may be at one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.verify import check_pair, verify_function, verify_pair
from tests.small_pairs import generator, scaled

pytestmark = pytest.mark.gradient


def relu_forward(x: Array) -> tuple[Array, Array]:
    return np.maximum(x, 0), x


def relu_backward(dout: Array, x: Array) -> Array:
    return dout * (x > 0)


def sort_forward(x: Array) -> tuple[Array, Array]:
    return np.sort(x), np.argsort(x)


def sort_backward(dout: Array, order: Array) -> Array:
    grad = np.zeros(len(order))
    grad[order] = dout
    return grad


@pytest.mark.parametrize(
    ("slopes", "at_zero"),
    [((0.99, 1.01), 0.0), ((1000.0, 1001.0), 0.0), ((1000.0, 1001.0), 2000.0), ((0.9, 1.0), 0.0), ((0.9, 1.0), 1.01)],
)
def test_at_a_kink_a_gradient_must_lie_between_the_slopes(slopes: tuple[float, float], at_zero: float) -> None:
    behind, ahead = slopes

    def function(x: Array) -> Any:
        return np.sum(np.where(x > 0, ahead * x, behind * x))

    def gradient(value: float) -> Callable[[Array], Array]:
        return lambda x: np.where(x > 0, ahead, np.where(x < 0, behind, value))

    for x in (np.float64(0), np.array([0.0, 0.5, -1.0])):
        wrong = verify_function(function, gradient(at_zero), {"x": x}, rng=generator())
        assert f"gradient (analytic) {at_zero:g}, central difference (numeric) {(ahead + behind) / 2:g}" in str(wrong)
    for value in (behind, ahead, (ahead + behind) / 2, 0.9 * behind + 0.1 * ahead):
        verify_function(function, gradient(value), {"x": x}, rng=generator()).raise_if_failed()


@pytest.mark.parametrize("at", [3e-7, 2e-7, -2e-7, 1e-8, -1e-8, 1e-9, 1e-12])
def test_kinks_nearer_than_any_step_give_no_false_alarm(at: float) -> None:
    for seed in range(10):
        x = generator(seed).standard_normal(50)
        x[7] = at
        verify_pair(relu_forward, relu_backward, {"x": x}, rng=generator(seed)).raise_if_failed()
        for method in ("adjoint", "central", "taylor"):
            wrong = check_pair(
                relu_forward, scaled(relu_backward, 1.0001), {"x": x}, rng=generator(seed), method=method
            )
            assert "relative error" in str(wrong)


@pytest.mark.parametrize(
    ("forward", "backward", "N"), [(relu_forward, relu_backward, 50_000), (sort_forward, sort_backward, 5000)]
)
def test_kinks_among_many_entries_give_no_false_alarm(forward: Any, backward: Any, N: int) -> None:
    for seed in range(4):
        x = {"x": generator(seed).standard_normal(N)}
        verify_pair(forward, backward, x, rng=generator(seed)).raise_if_failed()
        wrong = check_pair(forward, scaled(backward, 1.0001), x, rng=generator(seed))
        assert "relative error" in str(wrong)


def test_a_maximum_of_equal_rows_is_at_a_kink_and_not_wrong() -> None:
    def forward(X: Array) -> tuple[Array, Array]:
        return X.max(axis=0), X

    def backward(dout: Array, X: Array) -> Array:
        grad = np.zeros(X.shape)
        grad[X.argmax(axis=0), np.arange(X.shape[1])] = dout
        return grad

    found = verify_pair(forward, backward, {"X": np.ones((4, 3))}, rng=generator())
    assert not found.ok
    assert {problem.partition(";")[0] for problem in found.problems} == {
        "X: 12 of 12 derivatives sit at a kink and could not be compared"
    }
    X = generator(1).standard_normal((4, 3))
    X[:, 0] = 1.0  # one column of three
    verify_pair(forward, backward, {"X": X}, rng=generator()).raise_if_failed()
    assert "relative error" in str(verify_pair(forward, scaled(backward, 1.0001), {"X": X}, rng=generator()))


def test_many_exact_zeros_with_a_mask_leave_taylor_something_to_see() -> None:
    def forward(x: Array) -> tuple[Array, Any]:
        mask = x > 0
        return x * mask + x**3, (mask, x)

    def backward(dout: Array, cache: Any) -> Array:
        mask, x = cache
        return dout * (mask + 3 * x**2)

    for seed in range(5):
        x = generator(seed).standard_normal(1000)
        x[generator(seed).choice(1000, 100, replace=False)] = 0.0
        report = check_pair(forward, backward, {"x": x}, rng=generator(seed), method="taylor")
        report.raise_if_failed()
        assert len(report.entries) == 4
        assert report.rate > 2.9
        wrong = check_pair(forward, scaled(backward, 1.0001), {"x": x}, rng=generator(seed), method="taylor")
        assert "the Taylor remainder" in str(wrong)
