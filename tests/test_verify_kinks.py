"""Kinks that no mask shows are skipped and counted; a wrong gradient is never taken for one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.verify import check_pair, verify_pair
from minipinet.verify.derivatives import entry_derivative
from minipinet.verify.kinks import _is_right
from minipinet.verify.probe import probe
from tests.small_pairs import check, generator, relu_backward, relu_forward, scaled, sine_backward, sine_forward
from tests.thinned import thinned

pytestmark = pytest.mark.gradient

DIFFERENCES = ("central", "adjoint", "taylor")
FACTORS = (1.01, 0.99, 1.0001, 0.9999)


def plain_relu_forward(x: Array) -> tuple[Array, Array]:
    return np.maximum(x, 0), x


def plain_relu_backward(dout: Array, x: Array) -> Array:
    return dout * (x > 0)


def abs_forward(x: Array) -> tuple[Array, Array]:
    return np.abs(x), x


def abs_backward(dout: Array, x: Array) -> Array:
    return dout * np.sign(x)


def net_forward(X: Array, W_0: Array, W_1: Array) -> tuple[Array, Any]:
    H = X @ W_0
    R = np.maximum(H, 0)
    return R @ W_1, (X, W_0, W_1, H, R)


def net_backward(dout: Array, cache: Any) -> dict[str, Array]:
    X, W_0, W_1, H, R = cache
    grad_H = (dout @ W_1.T) * (H > 0)
    return {"dX": grad_H @ W_0.T, "dW_0": X.T @ grad_H, "dW_1": R.T @ dout}


def scaled_net(factor: float) -> Callable[..., Any]:
    return lambda dout, cache: {key: factor * g for key, g in net_backward(dout, cache).items()}


KINKED = {"relu": (plain_relu_forward, plain_relu_backward), "abs": (abs_forward, abs_backward)}


def some_zeros(seed: int, shape: tuple[int, ...] = (6, 5)) -> Array:
    x = generator(seed).standard_normal(shape)
    x[generator(seed + 1000).random(shape) < 0.2] = 0.0
    return x


@pytest.mark.parametrize("method", DIFFERENCES)
@pytest.mark.parametrize("pair", KINKED)
def test_exact_zeros_without_a_mask_do_not_make_a_right_gradient_wrong(pair: str, method: str) -> None:
    for seed in range(25):
        x = some_zeros(seed)
        report = check(*KINKED[pair], method, seed=seed, x=x)
        report.raise_if_failed()
        if method == "central" and pair == "relu":
            assert report.skipped == np.sum(x == 0)
            assert len(report.entries) == np.sum(x != 0)


@pytest.mark.parametrize("method", DIFFERENCES)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("pair", KINKED)
def test_a_wrong_gradient_is_never_taken_for_a_kink(pair: str, factor: float, method: str) -> None:
    forward, backward = KINKED[pair]
    for seed in thinned(range(25), 3):
        for x in (some_zeros(seed), 1e-6 * generator(seed).standard_normal((4, 3))):
            report = check(forward, scaled(backward, factor), method, seed=seed, x=x)
            assert not report.ok
            assert "relative error" in str(report)


@pytest.mark.parametrize("method", DIFFERENCES)
def test_a_wrong_smooth_gradient_is_never_taken_for_a_kink(method: str) -> None:
    for factor in FACTORS:
        for seed in thinned(range(10)):
            for shape in ((3, 2), (21, 20)):
                x = generator(seed).standard_normal(shape)
                report = check(sine_forward, scaled(sine_backward, factor), method, seed=seed, x=x)
                assert "relative error" in str(report)
                assert report.skipped == 0


@pytest.mark.parametrize("method", DIFFERENCES)
def test_a_net_of_several_layers_with_a_lone_node_of_zero_features(method: str) -> None:
    for seed in thinned(range(10)):
        rng = generator(seed)
        inputs = {"X": rng.standard_normal((5, 3)), "W_0": rng.standard_normal((3, 4)), "W_1": np.ones((4, 2))}
        inputs["X"][2] = 0.0
        right = check_pair(net_forward, net_backward, inputs, rng=generator(seed), method=method)
        right.raise_if_failed()
        for factor in FACTORS:
            wrong = check_pair(net_forward, scaled_net(factor), inputs, rng=generator(seed), method=method)
            assert "relative error" in str(wrong)


def test_case_059_all_pre_activations_zero_without_a_mask_is_too_many_kinks_and_not_a_wrong_gradient() -> None:
    for seed in range(20):
        rng = generator(seed)
        inputs = {"X": rng.standard_normal((5, 3)), "W_0": np.zeros((3, 4)), "W_1": rng.standard_normal((4, 2))}
        report = check_pair(net_forward, net_backward, inputs, rng=generator(seed))
        assert not report.ok
        assert report.skipped >= 12
        assert [p.partition(";")[0] for p in report.problems] == [
            "W_0: 12 of 12 derivatives sit at a kink and could not be compared"
        ]


def test_the_limit_on_skipped_derivatives_holds_without_a_mask_too() -> None:
    x = np.array([0.0, 0.0, 0.5, -1.0, 0.0])
    assert "x: 3 of 5 derivatives sit at a kink" in str(check(plain_relu_forward, plain_relu_backward, x=x))
    loose = check_pair(plain_relu_forward, plain_relu_backward, {"x": x}, rng=generator(), max_skipped=0.6)
    loose.raise_if_failed()


def test_a_kink_within_the_step_is_settled_by_a_shorter_one_and_counted() -> None:
    x = np.array([3e-6, 0.5, -1.0, -2e-7])
    report = check(plain_relu_forward, plain_relu_backward, x=x)
    report.raise_if_failed()
    assert len(report.entries) == 4
    assert report.skipped == 2
    for factor in FACTORS:
        assert "dx[0]: backward" in str(check(plain_relu_forward, scaled(plain_relu_backward, factor), x=x))


def test_a_function_that_bends_much_within_the_step_is_settled_by_a_shorter_one() -> None:
    def forward(x: Array) -> tuple[Array, Array]:
        return np.sin(1000 * x), x  # truncation: h^2 1000^2 / 6 is more than is allowed

    def backward(dout: Array, x: Array) -> Array:
        return 1000 * np.cos(1000 * x) * dout

    for seed in range(10):
        x = generator(seed).standard_normal(5)
        report = check(forward, backward, seed=seed, x=x)
        report.raise_if_failed()
        assert report.skipped > 0
        assert not check(forward, scaled(backward, 1.0001), seed=seed, x=x).ok


def test_at_a_kink_only_what_the_slopes_can_explain_is_excused() -> None:
    def strange(at_zero: float) -> Any:
        return lambda dout, x: dout * np.where(x == 0, at_zero, x > 0)

    x = np.array([0.0, 0.5, -1.0])
    for allowed in (0.0, 0.5, 1.0):
        check(plain_relu_forward, strange(allowed), x=x).raise_if_failed()
    for wrong in (5.0, -3.0, 1.01, -0.01):
        assert "dx[0]: backward" in str(check(plain_relu_forward, strange(wrong), x=x))
    for wrong in (np.nan, np.inf):
        assert "the gradient of x is" in str(check(plain_relu_forward, strange(wrong), x=x))


def test_a_gradient_wrong_at_one_smooth_point_only_is_wrong() -> None:
    def at_zero(dout: Array, x: Array) -> Array:
        return dout * np.where(x == 0, 1.1, np.exp(10 * x))

    for offset in (0.0, *(10 ** (7 * generator(4).random(100)))):  # rounding of all sizes

        def forward(x: Array, offset: float = offset) -> tuple[Array, Array]:
            return offset + np.exp(10 * x) / 10, x  # bends enough for the slopes to differ by more than rounding

        assert "dx[0]: backward" in str(check(forward, at_zero, x=np.array([0.0, 0.05, -0.1])))


def test_a_gradient_wrong_on_one_side_of_a_kink_is_wrong() -> None:
    def leaky_forward(x: Array) -> tuple[Array, Array]:
        return np.maximum(x, 0.1 * x), x

    def half_wrong(dout: Array, x: Array, side: float) -> Array:
        return dout * np.where(x > 0, 1.0, 0.1) * np.where(side * x > 0, 1.01, 1.0)

    for seed in range(20):
        for side in (1.0, -1.0):
            x = -side * np.array([0.0, 1.0, 2.0, 3.0])  # right at each of these, and at 0 the slope behind
            report = check(leaky_forward, partial(half_wrong, side=side), seed=seed, x=x)
            assert [e.at for e in report.entries if e.error > report.tolerance] == [(0,)]


def test_a_kink_beside_the_end_of_the_functions_domain_is_still_told() -> None:
    def forward(x: Array) -> tuple[Array, Array]:
        return np.maximum(x[0], 0) + np.sqrt(x[1:]), x

    def backward(dout: Array, x: Array) -> Array:
        return np.concatenate([[dout.sum() * (x[0] > 0)], dout / (2 * np.sqrt(x[1:]))])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for seed in range(10):
            check(forward, backward, seed=seed, x=np.array([0.0, 2e-3, 1.0, 2.0])).raise_if_failed()
    assert told == []


def test_a_function_that_refuses_every_point_nearby_is_not_excused_and_does_not_break_the_check() -> None:
    point = np.array([0.0, 0.5, -1.0])

    def forward(x: Array) -> tuple[Array, Array]:
        if np.abs(x - point).max() > 2e-5:
            raise ValueError("too far")
        return plain_relu_forward(x)

    assert "dx[0]: backward" in str(check(forward, plain_relu_backward, x=point))


def test_a_point_nearby_may_lie_near_a_kink_of_its_own() -> None:
    point = probe("relu", plain_relu_forward, plain_relu_backward, {"x": np.array([5e-6, 1.0])}, generator())
    for at in range(2):
        derivative, _ = entry_derivative(point, 0, at, "central")
        assert derivative is not None
        assert _is_right(point, derivative, {0: np.eye(2)[at]}, 1e-6)


def test_the_search_for_kinks_ends_when_enough_is_wrong() -> None:
    calls: list[int] = []

    def forward(x: Array) -> tuple[Array, Array]:
        calls.append(1)
        return sine_forward(x)

    assert not check(forward, scaled(sine_backward, 2.0), x=np.ones(300)).ok
    assert len(calls) < 2 * 300 + 10 * 14 + 40


def test_steps_in_the_function_are_no_excuse() -> None:
    def stairs_forward(x: Array) -> tuple[Array, Array]:
        return x + np.floor(x), x

    x = np.array([0.5, 1.0])  # at 1 the function jumps: no slope there
    assert "dx[1]: backward" in str(check(stairs_forward, lambda dout, x: 1.0 * dout, x=x))


def test_taylor_without_masks_notes_kinks_inside_its_long_steps_and_with_masks_fails() -> None:
    x = np.array([2e-5, 0.5, -1.0, 0.7])  # Taylor's steps reach over 0, those of differences do not
    report = check(lambda x: (np.maximum(x, 0) + x**3, x), lambda d, x: d * ((x > 0) + 3 * x**2), "taylor", x=x)
    report.raise_if_failed()
    assert report.rate < 2.9
    [note] = report.notes
    assert note.startswith("the Taylor remainder ")
    assert note.endswith("but differences agree wherever they can be taken: a kink inside the steps")

    def masked_forward(x: Array) -> tuple[Array, Any]:
        return np.maximum(x, 0) + x**3, (x, x > -2)  # a mask, though not that of the kink

    masked = check(masked_forward, lambda d, c: d * ((c[0] > 0) + 3 * c[0] ** 2), "taylor", x=x)
    assert not masked.ok
    assert "the Taylor remainder falls with rate" in str(masked)


def test_a_mask_written_into_one_buffer_is_a_mask_all_the_same() -> None:
    mask = np.zeros(3, bool)

    def forward(x: Array) -> tuple[Array, Array]:
        np.greater(x, 0, out=mask)
        return x * mask, mask

    report = check(forward, lambda dout, mask: dout * mask, x=np.array([5e-6, 0.5, -1.0]))
    report.raise_if_failed()
    assert report.skipped == 1
    assert check(forward, lambda dout, mask: dout * mask, x=np.zeros(3)).skipped == 3 * 3  # as with any mask


def test_a_shorter_step_that_shows_rounding_only_settles_nothing() -> None:
    def forward(x: Array) -> tuple[Array, Array]:
        return 1e5 + 0.05 * np.abs(x), x  # within the shortest step the sum does not move

    assert not check(forward, lambda dout, x: 0.0 * dout, x=np.array([3e-6])).ok


def test_masked_kinks_in_few_entries_leave_directions_in_the_others() -> None:
    x = generator(3).standard_normal((40, 30))
    x[7] = 0.0
    found = verify_pair(relu_forward, relu_backward, {"x": x}, rng=generator())
    found.raise_if_failed()
    assert all(report.skipped > 0 for report in found.reports[1:])
    for factor in FACTORS:
        wrong = verify_pair(relu_forward, scaled(relu_backward, factor), {"x": x}, rng=generator())
        assert [report.ok for report in wrong.reports] == [True, False, False, False]
