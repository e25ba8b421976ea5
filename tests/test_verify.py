"""The gradient checker is itself checked: by right pairs it must pass and by wrong ones it must catch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.verify import VerificationError
from tests import tolerances
from tests.small_pairs import (
    METHODS,
    SMALL,
    AffineGrads,
    affine_backward,
    affine_forward,
    affine_inputs,
    check,
    generator,
    relu_forward,
    scaled,
    sine_backward,
    sine_forward,
    softmax_backward,
    softmax_forward,
)

pytestmark = pytest.mark.gradient


# Right pairs pass.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pair", SMALL)
@pytest.mark.parametrize("shape", [(4, 3), (40, 30), (5,), (0, 3), (1, 1)])
def test_right_pairs_pass(pair: str, method: str, shape: tuple[int, ...]) -> None:
    report = check(*SMALL[pair], method, x=generator(3).standard_normal(shape))
    report.raise_if_failed()
    assert report.worst < tolerances.GRADIENT_CENTRAL


@pytest.mark.parametrize("method", METHODS)
def test_right_pair_of_several_arguments_passes(method: str) -> None:
    check(affine_forward, affine_backward, method, **affine_inputs()).raise_if_failed()
    check(affine_forward, affine_backward, method, **{**affine_inputs(), "b": None}).raise_if_failed()


def test_taylor_rate_is_three_where_there_is_one_and_smallness_decides_elsewhere() -> None:
    x = generator(3).standard_normal((4, 3))
    assert check(sine_forward, sine_backward, "taylor", x=x).rate == pytest.approx(3, abs=0.02)
    for pair in ("linear", "square"):  # no third derivative: the remainder is rounding
        report = check(*SMALL[pair], "taylor", x=x)
        assert math.isnan(report.rate)
        assert report.ok
        assert report.worst < 1e-12


def test_scalars_and_zero_dimensional_arrays_and_trees() -> None:
    def forward(tree: Any, t: Any) -> tuple[Any, Any]:
        a, (b, none), k = tree["a"], tree["b"], tree["k"]
        assert none is None
        assert isinstance(t, float | complex)
        return {"u": a * b, "v": (np.sin(t) * k[0],)}, (a, b, t, k)

    def backward(dout: Any, cache: Any) -> dict[str, Any]:
        a, b, t, k = cache
        du, dv = dout["u"], dout["v"][0]
        dtree = {"a": du * b, "b": ((du * a).sum(), None), "k": [np.sin(t) * dv]}
        return {"dtree": dtree, "dt": (np.cos(t) * k[0] * dv).sum()}

    tree = {"a": np.arange(3.0), "b": (np.array(2.0), None), "k": [np.ones((2, 2))]}
    for method in METHODS:
        report = check(forward, backward, method, tree=tree, t=0.5)
        report.raise_if_failed()
        if method != "taylor":
            assert {entry.name for entry in report.entries} == {"tree['a']", "tree['b'][0]", "tree['k'][0]", "t"}


def test_same_generator_seed_same_report() -> None:
    x = generator(3).standard_normal((40, 30))
    assert check(sine_forward, sine_backward, x=x).entries == check(sine_forward, sine_backward, x=x).entries


# Wrong pairs are caught.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pair", SMALL)
@pytest.mark.parametrize("shape", [(4, 3), (40, 30)])
@pytest.mark.parametrize("factor", [1.0001, 0.9999, 2.0, 0.0, -1.0])
def test_scale_errors_are_caught(pair: str, method: str, shape: tuple[int, ...], factor: float) -> None:
    forward, backward = SMALL[pair]
    report = check(forward, scaled(backward, factor), method, x=generator(3).standard_normal(shape))
    assert not report.ok
    with pytest.raises(VerificationError, match="relative error"):
        report.raise_if_failed()


@pytest.mark.parametrize("method", METHODS)
def test_softmax_backward_of_zero_is_caught_although_a_cotangent_of_ones_is_blind_to_it(method: str) -> None:
    x = generator(3).standard_normal((4, 3))
    right = softmax_backward(np.ones((4, 3)), softmax_forward(x)[1])
    assert np.abs(right).max() < 1e-15  # that is why the cotangent must be random
    assert not check(softmax_forward, lambda dout, out: 0 * dout, method, x=x).ok
    assert not check(softmax_forward, lambda dout, out: out * dout, method, x=x).ok


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("field", ["dM", "dW", "db"])
def test_one_wrong_gradient_among_several_is_named(method: str, field: str) -> None:
    def backward(dout: Array, cache: Any) -> AffineGrads:
        grads = affine_backward(dout, cache)
        return grads._replace(**{field: 1.0001 * getattr(grads, field)})

    report = check(affine_forward, backward, method, **affine_inputs())
    assert not report.ok
    differences = [e for e in report.entries if e.name != "all arrays" and e.error > tolerances.GRADIENT_CENTRAL]
    assert {f"d{e.name}" for e in differences} == {field}


@pytest.mark.parametrize("wrong", ["transposed", "no mask", "mask of the other sign"])
def test_structural_errors_are_caught(wrong: str) -> None:
    x = generator(3).standard_normal((3, 3))
    A = generator(4).standard_normal((3, 3))
    if wrong == "transposed":
        assert not check(lambda x: (A @ x, None), lambda dout, _: A @ dout, x=x).ok
        assert check(lambda x: (A @ x, None), lambda dout, _: A.T @ dout, x=x).ok
    else:
        backward = (lambda d, c: d) if wrong == "no mask" else (lambda d, c: d * ~c.mask)
        assert not check(relu_forward, backward, x=x).ok


def test_nan_is_a_failure() -> None:
    for method in METHODS:
        assert not check(sine_forward, lambda dout, x: dout * np.nan, method, x=np.ones(3)).ok


def test_case_063_the_message_names_parameter_index_and_both_numbers_worst_first() -> None:
    def backward(dout: Array, cache: Any) -> AffineGrads:
        grads = affine_backward(dout, cache)
        wrong_b, wrong_W = np.array([0, 0.5]), np.zeros((3, 2))
        wrong_W[2, 0] = 0.001
        return grads._replace(db=grads.db + wrong_b, dW=grads.dW + wrong_W)

    right = check(affine_forward, affine_backward, **affine_inputs())
    [b_1] = [e for e in right.entries if e.where == "b[1]"]
    with pytest.raises(VerificationError) as caught:
        check(affine_forward, backward, **affine_inputs()).raise_if_failed()
    header, first, second = str(caught.value).splitlines()[:3]
    assert header.startswith("affine: FAILED (central: ")
    assert first.strip().startswith("db[1]: backward (analytic) ")
    assert f"backward (analytic) {b_1.analytic + 0.5:.10g}, " in first
    assert f"central difference (numeric) {b_1.numeric:.10g}, relative error " in first
    assert second.strip().startswith("dW[2, 0]: ")


@pytest.mark.parametrize("at", [(0, 0), (41, 17), (69, 30)])
def test_case_063_one_wrong_entry_of_a_large_array_is_named_too(at: tuple[int, int]) -> None:
    x = generator(3).standard_normal((70, 31))

    def backward(dout: Array, x: Array) -> Array:
        d = sine_backward(dout, x)
        d[at] += 1.0
        return d

    for method in METHODS:
        report = check(sine_forward, backward, method, x=x)
        assert not report.ok
        assert f"dx[{at[0]}, {at[1]}]: backward" in str(report)
