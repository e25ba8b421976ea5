"""The fused readout, sums over graphs and the matrix product, where two of their cases meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.attention_readout import (
    FUSED_RANGE,
    attention_readout_backward,
    attention_readout_forward,
    fused_forward,
    stepwise_backward,
    stepwise_forward,
)
from minipinet.matmul import matmul_rows
from minipinet.pool import Pool, make_pool, max_by_graph, sum_by_graph, sum_by_state
from tests import tolerances
from tests.tolerances import relative_error, tree_error

STEP = 1e-30  # of a complex step: its square vanishes beside 1


def three_graphs(dtype: str = "float64") -> Pool:
    """Return a pool over five states: two entries, none, and three, one state shared."""
    count = np.array([[1.0], [2.0], [1.0], [1.0], [3.0]], dtype)
    return make_pool(np.array([0, 2, 2, 5]), np.array([0, 3, 1, 3, 4]), count, 5)


def inputs(C: int = 2, bias: bool = True) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shapes = {"H": (5, 3), "Z_X": (5, 2), "W_D": (6, C), "b_D": (C,)}
    drawn: dict[str, Any] = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return drawn if bias else {**drawn, "b_D": None}


@pytest.mark.parametrize("name", ["H", "Z_X", "W_D"])
def test_an_imaginary_step_in_one_argument_alone_passes_through_the_fused_form(name: str) -> None:
    arguments = inputs()
    stepped = {**arguments, name: arguments[name] * (1 + 1j * STEP)}
    logits, _ = fused_forward(**stepped, pool=three_graphs())
    complex_ones = {key: x.astype(complex) for key, x in stepped.items()}
    expected, _ = stepwise_forward(**complex_ones, pool=three_graphs())
    assert expected.imag.any()
    assert relative_error(logits.imag, expected.imag) < tolerances.FORMS_FLOAT64
    assert relative_error(logits.real, expected.real) < tolerances.FORMS_FLOAT64


@pytest.mark.parametrize("n", [0, 1, 16, 17, 47])
@pytest.mark.parametrize("dtypes", [("float64", "complex128"), ("complex128", "float64"), ("float32", "float32")])
def test_a_product_has_the_dtype_that_holds_both_factors(n: int, dtypes: tuple[str, str]) -> None:
    rng = np.random.default_rng(0)
    M, W = (rng.integers(-3, 4, shape).astype(dtype) for shape, dtype in zip([(n, 4), (4, 3)], dtypes, strict=True))
    M, W = (x * (1 + 2j) if x.dtype.kind == "c" else x for x in (M, W))
    product = matmul_rows(M, W)
    assert product.dtype == np.result_type(*dtypes)
    assert product.tolist() == (M @ W).tolist()  # whole numbers: exact in any order


@pytest.mark.parametrize("C", [1, 2])
def test_a_graph_without_nodes_has_the_same_bits_both_ways(C: int) -> None:
    # 0 and -0 are equal and differ in bits.
    arguments = inputs(C, bias=False)
    fused, _ = fused_forward(**arguments, pool=three_graphs())
    stepwise, _ = stepwise_forward(**arguments, pool=three_graphs())
    assert fused[1].tobytes() == stepwise[1].tobytes() == np.zeros(C).tobytes()


def test_without_bias_its_gradient_is_none_where_both_ways_are_taken() -> None:
    arguments = inputs(bias=False)
    arguments["H"][0] += FUSED_RANGE + 5  # a state of the first graph alone
    logits, cache = attention_readout_forward(**arguments, pool=three_graphs())
    assert cache.calm.tolist() == [False, True, True]
    expected, stepwise = stepwise_forward(**arguments, pool=three_graphs())
    assert relative_error(logits, expected) < tolerances.FORMS_FLOAT64
    dlogits = np.random.default_rng(1).standard_normal(logits.shape)
    grads = attention_readout_backward(dlogits, cache)
    assert grads.db_D is None
    assert tree_error(grads, stepwise_backward(dlogits, stepwise)) < tolerances.FORMS_FLOAT64


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("beyond", [False, True])
def test_the_range_of_the_fused_form_includes_its_end(beyond: bool, side: int) -> None:
    arguments = inputs()
    end = np.nextafter(FUSED_RANGE, np.inf) if beyond else FUSED_RANGE
    arguments["H"][0, 1] = side * end
    for H in (arguments["H"], np.where(np.arange(5)[:, None] == 4, 2 * FUSED_RANGE, arguments["H"])):
        _, cache = attention_readout_forward(**{**arguments, "H": H}, pool=three_graphs())
        assert cache.calm[0] == (not beyond)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_and_maxima_keep_the_dtype(dtype: str) -> None:
    pool = three_graphs(dtype)
    x: Array = np.array([[1.0, -2], [3, -4], [-5, 6], [-7, 8], [-9, 0]], dtype)
    expected = {
        max_by_graph: [[3, -2], [0, 0], [-5, 8]],
        sum_by_graph: [[4, -6], [0, 0], [-21, 14]],
        sum_by_state: [[1, -2], [-5, 6], [0, 0], [-4, 4], [-9, 0]],
    }
    for function, values in expected.items():
        assert function(x, pool).tolist() == values
        assert function(x, pool).dtype == dtype
        assert function(x[:0], make_pool(np.zeros(3, int), np.zeros(0, int), np.zeros((0, 1), dtype), 5)).dtype == dtype
