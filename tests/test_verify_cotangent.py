"""The backward as a function of its cotangent: linearity, zero, and the adjoint identity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.verify import DEFAULT_METHODS, VerificationError, verify_pair
from tests import tolerances
from tests.small_pairs import (
    SMALL,
    AffineGrads,
    affine_backward,
    affine_forward,
    affine_inputs,
    check,
    generator,
    relu_backward,
    relu_forward,
    scaled,
    sine_backward,
    sine_forward,
)

pytestmark = pytest.mark.gradient


@pytest.mark.parametrize("pair", SMALL)
@pytest.mark.parametrize("shape", [(4, 3), (40, 30), (5,), (0, 3), (1, 1), ()])
def test_right_pairs_pass_all_default_methods(pair: str, shape: tuple[int, ...]) -> None:
    for seed in range(5):
        x = generator(seed).standard_normal(shape or (1,) * (pair == "softmax"))  # softmax needs an axis
        found = verify_pair(*SMALL[pair], {"x": x}, rng=generator(seed))
        found.raise_if_failed()
        assert [report.method for report in found.reports] == list(DEFAULT_METHODS)
        assert found.reports[0].worst < tolerances.LINEAR


def clip(dout: Array) -> Array:
    return np.clip(dout, -100.0, 100.0)


def drop_small(dout: Array) -> Array:
    return np.where(np.abs(dout) < 1e-3, 0.0, dout)


def square(dout: Array) -> Array:
    return dout * np.abs(dout)


def lift(dout: Array) -> Array:
    return dout + 1e-7


@pytest.mark.parametrize("bend", [clip, drop_small, square, lift])
def test_a_backward_that_is_not_linear_in_its_cotangent_is_caught(bend: Any) -> None:
    for seed in range(10):
        x = generator(seed).standard_normal((4, 3))
        report = check(sine_forward, lambda dout, x: sine_backward(bend(dout), x), "linear", seed=seed, x=x)
        assert not report.ok
        assert "dx[" in report.problems[0]


def test_a_wrong_factor_is_linear_so_only_the_adjoint_identity_sees_it() -> None:
    x = generator(3).standard_normal((4, 3))
    found = verify_pair(sine_forward, scaled(sine_backward, 1.0001), {"x": x}, rng=generator(), methods=("linear",))
    assert found.ok
    for pair in SMALL:
        for seed in range(10):
            assert not check(SMALL[pair][0], scaled(SMALL[pair][1], 1.0001), "adjoint", seed=seed, x=x).ok


def test_a_backward_right_for_the_first_cotangents_only_is_caught_by_drawing_others() -> None:
    x = generator(3).standard_normal((4, 3))
    for method in ("linear", "adjoint"):
        kept: list[Array] = []

        def backward(dout: Array, x: Array, kept: list[Array] = kept) -> Array:
            kept[1:] = []
            kept.append(dout.copy())
            return sine_backward(kept[0], x)  # the first cotangent it ever saw

        assert not check(sine_forward, backward, method, x=x).ok
    kept = []
    assert check(sine_forward, backward, "central", x=x).ok  # that is why


def test_the_gradient_of_a_zero_cotangent_must_be_zero_exactly() -> None:
    def divided(dout: Array, x: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return sine_backward(dout, x) * (dout / dout)

    def lifted(dout: Array, x: Array) -> Array:
        return sine_backward(dout, x) + 1e-30

    x = np.ones((2, 2))
    assert "dx[0, 0]: backward of a zero cotangent gives nan, expected exactly 0" in str(
        check(sine_forward, divided, "linear", x=x)
    )
    assert "dx[0, 0]: backward of a zero cotangent gives 1e-30" in str(check(sine_forward, lifted, "linear", x=x))
    assert check(sine_forward, lambda d, x: -1.0 * sine_backward(d, x), "linear", x=x).ok  # -0 is 0


def test_infinite_and_undefined_gradients_fail_the_check_of_linearity() -> None:
    def infinite(dout: Array, x: Array) -> Array:
        return np.where(dout == 0, 0.0, np.copysign(np.inf, dout))

    def undefined(dout: Array, x: Array) -> Array:
        grad = sine_backward(dout, x)
        grad[1] = np.nan
        return grad

    for backward, what in ((infinite, r"inf at [0]"), (undefined, "nan at [1]")):
        for method in (*DEFAULT_METHODS, "complex"):
            [problem] = check(sine_forward, backward, method, x=np.ones(3)).problems
            assert problem.removeprefix("the gradient of x is ").removeprefix("-") == what
    large = check(sine_forward, lambda d, x: np.where(np.abs(d) > 1e5, np.nan, d * np.cos(x)), "linear", x=np.ones(3))
    assert large.problems[0].startswith("dx[0]: of a sum (analytic) nan")


@pytest.mark.parametrize("field", ["dM", "dW", "db"])
@pytest.mark.parametrize("method", ["adjoint", "linear"])
def test_the_wrong_one_of_several_gradients_is_named_with_its_entry(field: str, method: str) -> None:
    def backward(dout: Array, cache: Any) -> AffineGrads:
        grads = affine_backward(dout, cache)
        wrong = np.array(getattr(grads, field))
        wrong.flat[1] += 0.01 * (np.abs(wrong.flat[1]) if method == "linear" else wrong.flat[1])
        return grads._replace(**{field: wrong})

    report = check(affine_forward, backward, method, **affine_inputs())
    wrong = {e.where for e in report.entries if e.error > report.tolerance}
    assert {where.split("[")[0].split()[0] for where in wrong} == {field[1:]}
    assert f"{field}[{'1' if field == 'db' else '0, 1'}]: " in str(report)


def test_the_adjoint_identity_skips_and_counts_kinks() -> None:
    report = check(relu_forward, relu_backward, "adjoint", x=np.zeros((3, 2)))
    assert not report.ok
    assert report.skipped >= 4 * 3  # for each direction three steps, and more in fewer entries
    assert "x: 12 of 12 derivatives sit at a kink" in str(report)
    single = check(relu_forward, relu_backward, "adjoint", x=np.array([5e-6]))
    single.raise_if_failed()
    assert single.skipped == 4  # each direction once, then with a shorter step
    x = generator(3).standard_normal((4, 3))
    x[1] = 0.0  # an isolated node with zero features: directions in the other entries are compared
    mixed = check(relu_forward, relu_backward, "adjoint", x=x)
    mixed.raise_if_failed()
    assert mixed.skipped > 0
    assert len(mixed.entries) == 4 * 3
    near = check(relu_forward, relu_backward, "adjoint", x=np.array([5e-6, 0.5, -1.0]))
    assert near.ok
    assert near.skipped > 0


def test_a_verification_says_which_methods_failed_and_raises_by_choice() -> None:
    x = generator(3).standard_normal((4, 3))
    found = verify_pair(sine_forward, scaled(sine_backward, 1.01), {"x": x}, rng=generator(), name="spoilt")
    assert not found.ok
    lines = str(found).splitlines()
    assert lines[0] == "spoilt: FAILED"
    assert [line.split()[-1] for line in lines[2:6]] == ["ok", "FAILED", "FAILED", "FAILED"]
    assert "spoilt: FAILED (central: " in str(found)
    assert set(found.problems) == {p for r in found.reports for p in r.problems}
    with pytest.raises(VerificationError, match="spoilt: FAILED"):
        found.raise_if_failed()
    right = verify_pair(sine_forward, sine_backward, {"x": x.astype(np.float32)}, rng=generator())
    right.raise_if_failed()
    assert str(right).count("float32 input, checked on a float64 copy") == 1
