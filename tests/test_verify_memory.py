"""Memory that is shared, and numbers that are none: told by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from minipinet._array import Array
from minipinet.errors import UsageError
from minipinet.verify import DEFAULT_METHODS, VerificationError, check_pair
from tests.small_pairs import check, generator, scaled, sine_backward, sine_forward

pytestmark = pytest.mark.gradient


# Memory that is shared.


def test_a_gradient_that_shares_memory_with_anything_is_a_problem_unless_allowed() -> None:
    def identity(x: Array) -> tuple[Array, None]:
        return x.copy(), None

    def sum_forward(x: Array, y: Array) -> tuple[Array, None]:
        return x + y, None

    def one_for_both(dout: Array, _: None) -> dict[str, Array]:
        grad = dout.copy()
        return {"dx": grad, "dy": grad[:]}

    x = np.ones(3)
    cases: list[tuple[Any, Any, dict[str, Array], str]] = [
        (identity, lambda dout, _: dout, {"x": x}, "dx shares memory with dout"),
        (identity, lambda dout, _: dout[::-1][::-1], {"x": x}, "dx shares memory with dout"),
        (sum_forward, one_for_both, {"x": x, "y": x.copy()}, "dy shares memory with dx"),
        (lambda x: (x[:], None), lambda dout, _: dout.copy(), {"x": x}, "out shares memory with x"),
        (lambda x: (x.reshape(3, 1), None), lambda dout, _: dout[:, 0].copy(), {"x": x}, "out shares memory with x"),
    ]
    for forward, backward, inputs, message in cases:
        for method in DEFAULT_METHODS:
            report = check_pair(forward, backward, inputs, rng=generator(), method=method)
            assert [p.partition(":")[0] for p in report.problems] == [message]
            assert check_pair(forward, backward, inputs, rng=generator(), method=method, allow_shared=True).ok


def test_a_gradient_that_shares_memory_with_the_cache_or_an_input_is_a_problem() -> None:
    def half_square(x: Array) -> tuple[Array, Any]:
        return np.float64(0.5 * np.sum(x * x)), {"kept": x.copy(), "x": x}

    # Right for a cotangent of 1 only, but it is the memory that is looked at here.
    def of(key: str) -> Any:
        return lambda dout, cache: cache[key]

    for key, message in [("kept", "dx shares memory with cache['kept']"), ("x", "dx shares memory with x")]:
        report = check(half_square, of(key), x=np.ones(3))
        assert any(problem.startswith(message) for problem in report.problems)
        assert not any("shares" in p for p in check(half_square, lambda d, c: d * c["x"], x=np.ones(3)).problems)


def test_a_gradient_that_is_the_data_of_a_cached_sparse_matrix_is_a_problem() -> None:
    def forward(x: Array) -> tuple[Array, Any]:
        return x * 1.0, scipy.sparse.csr_array(np.diag(np.arange(1.0, 4.0)))

    report = check(forward, lambda dout, cache: cache.data, x=np.ones(3))
    assert any(problem.startswith("dx shares memory with cache") for problem in report.problems)


def test_a_gradient_that_repeats_its_own_memory_is_a_problem() -> None:
    def total(x: Array) -> tuple[Any, Any]:
        return np.float64(x.sum()), np.shape(x)

    def backward(dout: Any, shape: Any) -> Array:
        return np.broadcast_to(dout, shape)

    for x in (np.ones(3), np.ones((2, 3))):
        report = check(total, backward, x=x)
        assert [p.partition(",")[0] for p in report.problems] == ["dx repeats its own memory"]
        assert check_pair(total, backward, {"x": x}, rng=generator(), allow_shared=True).ok
        assert check(total, lambda dout, shape: np.full(shape, dout), x=x).ok


def test_tied_inputs_are_checked_each_by_itself_and_a_note_says_so() -> None:
    def forward(x: Array, y: Array) -> tuple[Array, Any]:
        return x * y, (x, y)

    def backward(dout: Array, cache: Any) -> dict[str, Array]:
        return {"dx": dout * cache[1], "dy": dout * cache[0]}

    tied = generator(1).standard_normal(5)
    for x, y in ((tied, tied), (tied[1:], tied[:-1])):
        report = check_pair(forward, backward, {"x": x, "y": y}, rng=generator())
        report.raise_if_failed()
        assert "x and y share memory: each is checked as if it stood by itself" in report.notes
    apart = check_pair(forward, backward, {"x": tied[::2][:2], "y": tied[1::2]}, rng=generator())
    assert apart.notes == ()
    once = np.broadcast_to(np.float64(0.5), (3, 2))
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 2)
    for x in (once, windows):
        report = check(sine_forward, sine_backward, x=x)
        report.raise_if_failed()
        assert len(report.entries) == 6
        assert "x repeats its memory: each entry is checked as if it stood by itself" in report.notes
    assert not check(sine_forward, scaled(sine_backward, 1.01), x=once).ok


# Numbers.


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_results_and_inputs_that_are_not_finite_are_refused_by_name(bad: float) -> None:
    def forward(x: Array) -> tuple[Array, Array]:
        out = np.sin(x)
        out[0, 1] = bad
        return out, x

    with pytest.raises(VerificationError, match=rf"forward returns {bad} at the point: out\[0, 1\] is {bad}"):
        check(forward, sine_backward, x=np.ones((2, 2)))
    with pytest.raises(VerificationError, match=f"forward returns {bad} at the point: out is {bad}"):
        check(lambda x: (np.float64(bad), x), sine_backward, x=np.ones(2))
    with pytest.raises(UsageError, match=rf"inputs: expected finite numbers, but x\[0\]\[1\] is {bad}"):
        check(sine_forward, sine_backward, x=[np.array([1.0, bad])])


def test_complex_input_is_refused_by_name_and_so_is_none_at_all() -> None:
    with pytest.raises(UsageError, match=r"numbers in x, got complex128 \(take its real and its imaginary part"):
        check(sine_forward, sine_backward, x=np.ones(2, complex))
    with pytest.raises(
        UsageError, match=r"inputs: expected at least one array or number to differentiate by, got none"
    ):
        check(sine_forward, sine_backward, x=[None])
