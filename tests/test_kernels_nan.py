"""What is not a number stays so in the kernels of the readout, as in the pairs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels_on_host import HostLauncher


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_a_number_stays_so(dtype: str) -> None:
    launch, nan = HostLauncher(dtype), np.nan
    start = np.array([0, 2], np.int32)
    H = np.array([[[[1.0], [1.0]], [[nan], [-1.0]]]], dtype)  # a stack of attention and one of features: (1, 2, 2, 1)
    Z_A, P, graph = np.ones((1, 2, 1), dtype), np.zeros((1, 1, 1, 1), dtype), np.zeros((1, 2), np.int32)
    launch("pool_forward", 1, Z_A, H, start, P, 1, 1, 2, 1, 2)
    assert np.isnan(P).all()
    dH = np.zeros_like(H)
    launch("pool_backward", 4, np.full_like(P, 2.0), Z_A, H, graph, dH, 1, 1, 2, 1)
    assert np.array_equal(dH.ravel(), [nan, 0, 0, 0], equal_nan=True)
    launch("pool_backward", 4, np.full_like(P, nan), Z_A, H, graph, dH, 1, 1, 2, 1)
    assert np.isnan(dH).all()
    dR = np.array([nan, 2.0, 2.0], dtype)
    launch("relu_backward", 3, dR, np.array([0.0, 0.0, 1.0], dtype), 3)
    assert np.array_equal(dR, [nan, 0, 2], equal_nan=True)
