"""Convolution and dropout: values in closed form, SciPy's values, and gradients by the checker."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.signal import correlate

from minipinet._array import Array
from minipinet.baselines.convolution import (
    convolution_backward,
    convolution_forward,
    dropout_backward,
    dropout_forward,
)
from minipinet.verify import check_pair
from tests import tolerances

#: B, L, S, stride: overlapping, side by side, with gaps, with places at the end that no window reaches, one window.
SHAPES = [(3, 9, 4, 1), (2, 12, 3, 3), (2, 11, 2, 3), (2, 10, 4, 3), (4, 5, 5, 1), (1, 1, 1, 1)]


def drawn(B: int, L: int, S: int, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {
        "M": rng.standard_normal((B, L, 3)),
        "W": rng.standard_normal((S, 3, 2)),
        "b": rng.standard_normal(2),
    }


@pytest.mark.parametrize(("B", "L", "S", "stride"), SHAPES)
def test_convolution_is_the_correlation_of_scipy(B: int, L: int, S: int, stride: int) -> None:
    inputs = drawn(B, L, S)
    H, _ = convolution_forward(**inputs, stride=stride)
    for g in range(B):
        for f in range(2):
            expected = correlate(inputs["M"][g], inputs["W"][:, :, f], mode="valid")[::stride, 0] + inputs["b"][f]
            assert tolerances.relative_error(H[g, :, f], expected) < tolerances.ORACLE_FLOAT64


@pytest.mark.gradient
@pytest.mark.parametrize("method", ["central", "complex", "taylor"])
@pytest.mark.parametrize(("B", "L", "S", "stride"), SHAPES)
def test_the_gradient_of_convolution(B: int, L: int, S: int, stride: int, method: str) -> None:
    forward = partial(convolution_forward, stride=stride)
    inputs = drawn(B, L, S, seed=1)
    report = check_pair(forward, convolution_backward, inputs, rng=np.random.default_rng(0), method=method)
    assert report.ok, str(report)


@pytest.mark.gradient
@pytest.mark.parametrize("method", ["central", "complex", "taylor"])
def test_the_gradient_of_dropout(method: str) -> None:
    rng = np.random.default_rng(0)
    forward = partial(dropout_forward, kept=rng.random((4, 5)) < 0.7, rate=0.3)
    inputs = {"M": rng.standard_normal((4, 5))}
    report = check_pair(forward, dropout_backward, inputs, rng=rng, method=method)
    assert report.ok, str(report)


@pytest.mark.gradient
def test_gradients_that_are_a_little_wrong_are_found() -> None:
    inputs = drawn(3, 9, 4)

    def off(name: str, dH: Array, cache: object) -> object:
        grads = convolution_backward(dH, cache)  # type: ignore[arg-type]
        return grads._replace(**{name: getattr(grads, name) * 1.0001})

    for name in ("dM", "dW", "db"):
        report = check_pair(convolution_forward, partial(off, name), inputs, rng=np.random.default_rng(0))
        assert not report.ok


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_and_gradients_keep_the_dtype(dtype: str) -> None:
    inputs = {name: array.astype(dtype) for name, array in drawn(2, 6, 3).items()}
    H, cache = convolution_forward(**inputs)
    assert {a.dtype for a in (H, *convolution_backward(H, cache))} == {np.dtype(dtype)}
    Z, dropped = dropout_forward(H[0], np.ones(H[0].shape, bool))
    assert {Z.dtype, dropout_backward(Z, dropped).dtype} == {np.dtype(dtype)}


def test_a_sequence_is_convolved_without_regard_to_the_others() -> None:
    rng = np.random.default_rng(0)
    M, W = rng.standard_normal((50, 37, 3)), rng.standard_normal((37, 3, 5))
    H, _ = convolution_forward(M, W, np.zeros(5))
    for g in range(50):  # a single row, which BLAS multiplies in another way
        assert np.array_equal(convolution_forward(M[g : g + 1], W, np.zeros(5))[0][0], H[g])


def test_dropout_drops_what_the_mask_says_and_keeps_the_mean() -> None:
    kept = np.random.default_rng(0).random((1000, 1)) < 0.8
    Z, _ = dropout_forward(np.ones((1000, 1)), kept, rate=0.2)
    assert np.array_equal(Z != 0, kept)
    assert set(Z.ravel()) == {0, 1 / 0.8}
