"""The kernels of the readout at their edges: what is no number, scores far from 0, ReLU at 0, equal logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet._array import to_card, to_host
from minipinet.attention import column_softmax_forward
from minipinet.pool import make_pool
from minipinet.propagation import relu_backward, relu_forward
from minipinet.readout import softmax_cross_entropy_backward, softmax_cross_entropy_forward
from tests.device_stand_in import use_stand_in
from tests.kernels_on_host import HostLauncher
from tests.planted_kernels import kernels_with
from tests.tolerances import FORMS_FLOAT32, FORMS_FLOAT64, relative_error

#: More rows than the largest batch of PROTEINS has.
ROWS = 10_000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_a_number_stays_so(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    launch, nan = HostLauncher(dtype), np.nan
    start = to_card(np.array([0, 2], np.int32))
    one = np.array([0, 1], np.int32)  # a graph of one row
    # A stack of attention and one of features: (1, 2, 2, 1).
    H = to_card(np.array([[[[1.0], [1.0]], [[nan], [-1.0]]]], dtype))
    Z_A, P, graph = to_card((np.ones((1, 2, 1), dtype), np.zeros((1, 1, 1, 1), dtype), np.zeros((1, 2), np.int32)))
    launch("pool_forward", 1, Z_A, H, start, P, 1, 1, 2, 1, 2)
    assert np.isnan(to_host(P)).all()
    dH = to_card(np.zeros(H.shape, dtype))
    twos, nans = to_card((np.full(P.shape, 2.0, dtype), np.full(P.shape, nan, dtype)))
    launch("pool_backward", 4, twos, twos, Z_A, H, graph, dH, 1, 1, 2, 1)
    assert np.array_equal(to_host(dH).ravel(), [nan, 0, 0, 0], equal_nan=True)
    launch("pool_backward", 4, nans, nans, Z_A, H, graph, dH, 1, 1, 2, 1)
    assert np.isnan(to_host(dH)).all()
    launch("softmax_forward", 1, H, to_card(np.ones((1, 2), dtype)), start, Z_A, 1, 1, 2, 1, 2)
    assert np.array_equal(to_host(Z_A).ravel(), [0.5, 0.5])
    launch(
        "softmax_forward", 1, to_card(np.full(4, nan, dtype)), *to_card((np.ones(2, dtype), one)), Z_A, 1, 1, 2, 1, 2
    )
    assert np.array_equal(to_host(Z_A).ravel(), [nan, 0.5], equal_nan=True)
    dR, R = to_card((np.array([nan, 2.0, 2.0], dtype), np.array([0.0, 0.0, 1.0], dtype)))
    launch("relu_backward", 3, dR, R, 3)
    assert np.array_equal(to_host(dR), [nan, 0, 2], equal_nan=True)


#: Kernels that add up rows, the type of these and of the sum, and the sizes of one sum, in one part or of as many.
SUMS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "logits_bias_backward": ("float32", "float32", (1, ROWS, 1)),
    "sum_parts": ("float32", "float64", (1, ROWS, 1, 1)),
    "bias_backward": ("float64", "float32", (1, 1, ROWS)),
    "gate_backward": ("float64", "float32", (1, ROWS)),
}


@pytest.mark.parametrize("kernel", SUMS)
def test_long_sums_of_single_precision_are_taken_in_double(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many rows a sum in single precision would be off by 1e-4, more than the gradients are held to."""
    use_stand_in(monkeypatch)
    dtype, of_sum, sizes = SUMS[kernel]
    x = (1 + np.arange(ROWS) % 7 / 70).astype(dtype)
    out = to_card(np.zeros(1, of_sum))
    halves = [to_card(np.full(1, 0.5, "float32"))] * (kernel == "gate_backward")  # p, where the gate's slope is 1
    HostLauncher("float32")(kernel, 1, to_card(x), *halves, out, *sizes)
    assert relative_error(to_host(out), x.sum(dtype="float64", keepdims=True)) < 1e-7


def test_adam_s_rates_are_rounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 - beta2 is 0.001, of which single precision keeps seven digits; of 1 less a rounded beta2 it keeps five."""
    use_stand_in(monkeypatch)
    steps, ends, identifier = to_card((np.zeros(1, np.int64), np.array([3]), np.zeros((1, 1), np.int32)))
    g = np.array([1e-3, -0.5, 20.0], "float32")
    w, dw, m, v = to_card((np.zeros(3, "float32"), g, np.zeros(3, "float32"), np.zeros(3, "float32")))
    HostLauncher("float32")(
        "adam", 3, w, dw, m, v, steps, identifier, ends, 1, 1, 1, 0, 1e-3, 0.0, 0.9, 0.999, 1e-8,
        np.log(0.9), np.log(0.999),
    )  # fmt: skip
    for found, expected in ((m, 0.1 * g), (v, 0.001 * g.astype("float64") ** 2), (w, -1e-3 * g / (abs(g) + 1e-8))):
        assert relative_error(to_host(found), expected) < 5e-7


def softmax_error_far_from_0(dtype: str, kernels: dict[str, Any] | None = None) -> float:
    """Compare the softmax of graphs of two rows: far below 0, far above it, on both sides, close together and not."""
    rows, ptr = [-2000, -2001, -1000, -3000, 2000, 2001, 2000, -1000], np.array([0, 2, 4, 6, 8], np.int32)
    H, count = np.array([rows, [0] * 8], dtype).reshape(1, 2, 8, 1), np.array([[1, 2] * 4], dtype)
    attention, counts, start, Z_A = to_card((H, count, ptr, np.full((1, 8, 1), np.nan, dtype)))
    HostLauncher(dtype, kernels)("softmax_forward", 4, attention, counts, start, Z_A, 1, 4, 8, 1, 5)
    expected, _ = column_softmax_forward(H[0, 0], make_pool(ptr, np.arange(8), count.T, 8))
    return relative_error(to_host(Z_A)[0], expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_softmax_of_rows_far_from_0(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    assert softmax_error_far_from_0(dtype) < (FORMS_FLOAT32 if dtype == "float32" else FORMS_FLOAT64)


@pytest.mark.parametrize("wrong", ["", "x[r * F] < 0 ||"])
def test_a_softmax_whose_maximum_begins_elsewhere_is_seen(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    (kernels,) = kernels_with(("softmax_forward", "r == from ||", wrong))
    assert not softmax_error_far_from_0("float64", kernels) < FORMS_FLOAT64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_slope_of_relu_at_0_is_0(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    launch, features = HostLauncher(dtype), np.array([0.0, -0.0, 1.0, -1.0], dtype)
    _, mask = relu_forward(features)
    # One graph of four rows, with one column of attention and one of features: (1, 2, 4, 1).
    H = to_card(np.stack([np.zeros(4, dtype), features])[None, :, :, None])
    dP, Z_A = to_card((np.full((1, 1, 1, 1), 2.0, dtype), np.full((1, 4, 1), 0.25, dtype)))
    dH = to_card(np.zeros(H.shape, dtype))
    launch("pool_backward", 8, dP, dP, Z_A, H, to_card(np.zeros((1, 4), np.int32)), dH, 1, 1, 4, 1)
    assert to_host(dH).ravel()[4:].tolist() == relu_backward(np.full(4, 0.5), mask).tolist() == [0, 0, 0.5, 0]
    dR = to_card(np.full(4, 0.5, dtype))
    launch("relu_backward", 4, dR, to_card(np.maximum(features, 0)), 4)
    assert to_host(dR).tolist() == [0, 0, 0.5, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bias", [None, (0.0, 1.0, 1.0)])
def test_of_equal_logits_the_first_is_the_answer(
    dtype: str, bias: tuple[float, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_stand_in(monkeypatch)
    Z, y, id = np.full((3, 3), 0.25, dtype), np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32)
    b = None if bias is None else np.array(bias, dtype)
    logits, b_D, classes, ids, dlogits, loss, right = to_card((Z, b, y, id, np.ones_like(Z), np.ones(3), np.ones(3)))
    HostLauncher(dtype)("cross_entropy", 3, logits, b_D, classes, ids, dlogits, loss, right, 1, 3, 3)
    Z += 0 if b is None else b
    mean, cache = softmax_cross_entropy_forward(Z, y)
    assert to_host(right).tolist() == (Z.argmax(axis=1) == y).tolist()
    assert relative_error(to_host(loss).mean(), mean) < FORMS_FLOAT32
    assert relative_error(to_host(dlogits), softmax_cross_entropy_backward(np.float64(1), cache)) < FORMS_FLOAT32
