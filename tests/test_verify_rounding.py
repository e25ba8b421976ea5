"""What rounding explains is no error; what it hides is said; and nothing else gets through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.verify import check_pair, verify_function, verify_pair
from minipinet.verify.derivatives import norm
from tests.small_pairs import check, generator, scaled, sine_backward, sine_forward

pytestmark = pytest.mark.gradient

ALL = ("linear", "adjoint", "central", "complex", "taylor")


def bowl(x: Array) -> Any:
    return np.sum((x - 1) ** 2)


def softmax_forward(x: Array) -> tuple[Array, Array]:
    e = np.exp(x - np.max(x.real))
    return e / e.sum(), e / e.sum()


def softmax_backward(dout: Array, p: Array) -> Array:
    return p * (dout - (dout * p).sum())


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_at_a_minimum_rounding_is_no_error_and_a_note_says_how_large_it_is(n: int) -> None:
    at = {"x": np.ones(n)}
    found = verify_function(bowl, lambda x: 2 * (x - 1), at, rng=generator(), methods=ALL)
    found.raise_if_failed()
    assert "the derivatives of x, beside" in str(found)
    assert "are zero but for rounding (" in str(found)
    a = generator(n).standard_normal(n)
    verify_function(
        lambda x: np.sum((x - a) ** 2), lambda x: 2 * (x - a), {"x": a}, rng=generator(), methods=ALL
    ).raise_if_failed()
    wrong = verify_function(bowl, lambda x: 2 * (x - 1) + 1e-9, at, rng=generator(), methods=ALL)
    assert [r.ok for r in wrong.reports] == [True, False, False, False, False]  # linear in its cotangent it is


@pytest.mark.parametrize("size", [1.0, 100.0, 1000.0])
def test_large_logits_leave_rounding_only(size: float) -> None:
    for seed in range(10):
        x = size * generator(seed).standard_normal(6)
        found = verify_pair(softmax_forward, softmax_backward, {"x": x}, rng=generator(seed), methods=ALL)
        found.raise_if_failed()
    assert not check(softmax_forward, scaled(softmax_backward, 1.0001), x=np.array([size, size, 0.0])).ok


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, -1e6])
def test_outputs_with_a_large_offset(offset: float) -> None:
    A = generator(9).standard_normal((5, 4))
    for seed in range(10):
        x = {"x": generator(seed).standard_normal(4)}

        def forward(x: Array) -> tuple[Array, None]:
            return A @ x + offset, None

        verify_pair(forward, lambda dout, _: A.T @ dout, x, rng=generator(seed)).raise_if_failed()
        wrong = verify_pair(forward, lambda dout, _: 1.01 * (A.T @ dout), x, rng=generator(seed))
        assert [r.ok for r in wrong.reports] == [True, False, False, False]


def small_and_large(share: float, factor: float, method: str) -> Any:
    return verify_function(
        lambda x, y: np.sin(x) + share * np.sin(y),
        lambda x, y: {"dx": np.cos(x), "dy": factor * share * np.cos(y)},
        {"x": 0.3, "y": 0.7},
        rng=generator(),
        methods=[method],
    ).reports[0]


@pytest.mark.parametrize("share", [1.0, 1e-3, 1e-4, 1e-5])
def test_small_derivatives_beside_large_ones_are_measured_by_their_own_size(share: float) -> None:
    for method in ("central", "adjoint", "complex"):
        assert small_and_large(share, 1.0, method).notes == ()
        for factor in (0.0, 1.0001, 0.9999):
            assert not small_and_large(share, factor, method).ok


def test_what_rounding_hides_is_said() -> None:
    assert not small_and_large(1e-10, 0.0, "central").ok
    assert not small_and_large(1e-10, 1.0001, "complex").ok
    for share, what in (
        (1e-10, "at most 8e-11, and rounding lets them be checked to "),
        (1e-13, "zero but for rounding"),
    ):
        for factor in (1.0, 1.01):
            report = small_and_large(share, factor, "central")
            assert report.ok
            [note] = report.notes
            assert note.startswith(f"the derivatives of y, beside 1e+00 for the largest, are {what}")
            assert "check it alone, or with method='complex'" in note


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1.0, 1e30, 1e150])
@pytest.mark.parametrize("method", ALL)
def test_functions_of_any_size(size: float, method: str) -> None:
    def forward(x: Array) -> tuple[Array, Array]:
        return size * np.sin(x), x

    def backward(dout: Array, x: Array) -> Array:
        return size * np.cos(x) * dout

    for n in (4, 1000):
        x = generator(1).standard_normal(n)
        check(forward, backward, method, x=x).raise_if_failed()
        if method != "linear":
            assert not check(forward, scaled(backward, 1.0001), method, x=x).ok


@pytest.mark.parametrize("size", [1e100, 1e160, 1e300])
def test_huge_inputs_raise_no_warning(size: float) -> None:
    for method in ALL:
        right = check(lambda x: (3 * x, None), lambda dout, _: 3 * dout, method, x=np.full(3, size))
        right.raise_if_failed()
        if method != "linear":
            assert not check(lambda x: (3 * x, None), lambda dout, _: 3.001 * dout, method, x=np.full(3, size)).ok


def test_truncation_of_a_step_is_extrapolated_where_a_shorter_one_would_be_rounding() -> None:
    def forward(x: Array) -> tuple[Array, Array]:
        return 1e6 + np.sin(1000 * x), x

    def backward(dout: Array, x: Array) -> Array:
        return 1000 * np.cos(1000 * x) * dout

    for seed in range(10):
        x = generator(seed).random(5)
        check(forward, backward, seed=seed, x=x).raise_if_failed()
        assert not check(forward, scaled(backward, 1.0001), seed=seed, x=x).ok


def test_a_step_that_leaves_the_domain_is_told_unless_a_shorter_one_does_not() -> None:
    def forward(x: Array) -> tuple[Array, Array]:
        return np.sqrt(x), x

    def backward(dout: Array, x: Array) -> Array:
        return dout / (2 * np.sqrt(x))

    for method in ("central", "adjoint"):
        check(forward, backward, method, x=np.array([2e-6, 1.0, 2.0])).raise_if_failed()
    report = check(lambda x: (x * np.sqrt(x), x), lambda d, x: 1.5 * d * np.sqrt(x), x=np.array([0.0, 1.0, 2.0]))
    [problem] = report.problems
    assert problem.startswith("dx[0]: the forward is not finite a step of 2e-05 from the point, so nothing")


def test_the_norm_neither_overflows_nor_vanishes() -> None:
    for size in (1e-200, 1.0, 1e200):
        assert norm([np.array([3 * size]), np.float64(4 * size)]) == pytest.approx(5 * size)
    assert norm([]) == norm([np.zeros(2)]) == 0
    assert norm([np.array([np.inf, 1.0])]) == np.inf


def test_one_entry_in_many_is_found_from_about_the_tolerance_times_the_root_of_the_number() -> None:
    N = 40_000
    x = generator(1).standard_normal(N)

    def one_off(error: float) -> Any:
        def backward(dout: Array, x: Array) -> Array:
            grad = sine_backward(dout, x)
            grad[np.argmax(np.abs(grad))] *= 1 + error
            return grad

        return check_pair(sine_forward, backward, {"x": x}, rng=generator())

    limit = 1e-6 * np.sqrt(N)
    assert not one_off(10 * limit).ok
    assert one_off(limit / 10).ok


def test_an_offset_that_hides_much_is_no_error_and_is_told() -> None:
    A = generator(9).standard_normal((5, 4))
    for seed in range(5):
        x = {"x": generator(seed).standard_normal(4)}
        found = verify_pair(lambda x: (A @ x + 1e9, None), lambda dout, _: A.T @ dout, x, rng=generator(seed))
        found.raise_if_failed()
        assert "rounding lets them be checked to" in str(found)
        assert found.reports[3].notes == ()  # Taylor takes its remainder for rounding, not for a kink
