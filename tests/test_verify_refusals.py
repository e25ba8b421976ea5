"""What the gradient checker cannot compare, it skips and counts, or refuses by name."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.errors import UsageError
from minipinet.verify import VerificationError
from tests.small_pairs import (
    METHODS,
    ReluCache,
    affine_backward,
    affine_forward,
    affine_inputs,
    check,
    generator,
    linear_forward,
    relu_backward,
    relu_forward,
    scaled,
    sine_backward,
    sine_forward,
)

pytestmark = pytest.mark.gradient


def test_case_059_a_corner_is_skipped_counted_and_fails_if_there_are_too_many() -> None:
    def forward(W: Array) -> tuple[Array, ReluCache]:
        return relu_forward(np.ones((2, 3)) @ W)

    def backward(dout: Array, cache: ReluCache) -> Array:
        return np.ones((3, 2)) @ relu_backward(dout, cache)

    for method in METHODS:  # all pre-activations are 0
        report = check(forward, backward, method, W=np.zeros((3, 2)))
        assert not report.ok
        assert report.skipped > 0
        assert "sit at a kink" in str(report)
        assert "relative error" not in str(report)  # a right gradient is not called wrong


def test_case_059_a_few_corners_are_skipped_and_the_rest_is_compared() -> None:
    x = generator(3).standard_normal((4, 3))
    x[1] = 0.0  # an isolated node with zero features
    report = check(relu_forward, relu_backward, x=x)
    assert report.ok
    assert len(report.entries) == 9
    assert report.skipped == 3 * 3  # three steps, each shorter, for each of three entries
    wrong = check(relu_forward, scaled(relu_backward, 1.0001), x=x)
    assert not wrong.ok


def test_case_059_the_limit_on_skipped_entries_is_per_array() -> None:
    def forward(x: Array, y: Array) -> tuple[Array, Any]:
        return relu_forward(x)[0], (relu_forward(x)[1], y)

    def backward(dout: Array, cache: Any) -> dict[str, Array]:
        return {"dx": relu_backward(dout, cache[0]), "dy": np.zeros(100)}

    assert not check(forward, backward, x=np.zeros(3), y=np.ones(100)).ok


def test_case_059_a_step_that_reaches_over_a_corner_is_drawn_again_shorter() -> None:
    report = check(relu_forward, relu_backward, x=np.array([5e-6, 0.5, -1.0]))
    assert report.ok
    assert len(report.entries) == 3
    assert report.skipped == 1


def test_case_059_a_direction_that_reaches_over_corners_is_drawn_again_shorter() -> None:
    x = 5e-6 * np.sign(generator(3).standard_normal((40, 30)))
    report = check(relu_forward, relu_backward, x=x)
    assert report.ok
    assert len(report.entries) == 4
    assert report.skipped == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("method", METHODS)
def test_case_060_single_and_half_precision_is_copied_to_float64_and_said(dtype: Any, method: str) -> None:
    x = generator(3).standard_normal((4, 3)).astype(dtype)
    seen = set()

    def forward(x: Array) -> tuple[Array, Array]:
        seen.add(x.dtype)
        return sine_forward(x)

    report = check(forward, sine_backward, method, x=x)
    assert report.ok
    assert f"x: {np.dtype(dtype).name} input, checked on a float64 copy" in str(report)
    assert np.dtype(dtype) not in seen
    assert x.dtype == dtype
    assert not check(sine_forward, scaled(sine_backward, 1.0001), method, x=x).ok


def test_case_060_a_forward_or_backward_that_falls_to_single_precision_is_refused() -> None:
    with pytest.raises(VerificationError, match="forward's out is float32"):
        check(lambda x: (np.sin(x).astype(np.float32), x), sine_backward, x=np.ones(3))
    with pytest.raises(VerificationError, match="gradient of x is float32"):
        check(sine_forward, lambda dout, x: sine_backward(dout, x).astype(np.float32), x=np.ones(3))


def test_case_061_dropout_is_refused_by_name() -> None:
    rng = generator(1)

    def dropout_forward(x: Array) -> tuple[Array, Array]:
        keep = (rng.random(x.shape) < 0.5) * 2.0
        return x * keep, keep

    with pytest.raises(VerificationError, match=r"dropout: two calls of the forward .* gave different"):
        check(dropout_forward, lambda dout, keep: dout * keep, x=np.ones((4, 3)))


def test_case_061_state_that_changes_between_calls_is_refused() -> None:
    calls = []

    def counting(x: Array) -> tuple[Array, Array]:
        calls.append(1)
        return x * (1.0 if len(calls) < 6 else 1.5), x  # changes only after the first calls

    with pytest.raises(VerificationError, match="two calls of the forward"):
        check(counting, lambda dout, x: dout, x=np.ones(3))

    def hidden(x: Array) -> tuple[Array, Array]:
        calls.append(1)
        return x * 1.0, np.array(float(len(calls)))  # the output stays, the cache does not

    with pytest.raises(VerificationError, match="gave different cache"):
        check(hidden, lambda dout, x: dout, x=np.ones(3))
    factors = iter([3, 3.5])
    with pytest.raises(VerificationError, match="two calls of the backward"):
        check(linear_forward, lambda dout, _: next(factors) * dout, x=np.ones(3))


def test_arguments_are_not_changed_and_a_pair_that_changes_them_is_refused() -> None:
    x = generator(3).standard_normal((4, 3))
    x.setflags(write=False)
    before = x.copy()
    for method in METHODS:
        check(sine_forward, sine_backward, method, x=x).raise_if_failed()
    assert np.array_equal(x, before)

    def forward_in_place(x: Array) -> tuple[Array, Array]:
        x *= 1.5
        return x * 1.0, x

    def backward_on_dout(dout: Array, x: Array) -> Array:
        dout *= np.cos(x)
        return dout

    def backward_on_cache(dout: Array, x: Array) -> Array:
        np.cos(x, out=x)
        return dout * x

    with pytest.raises(VerificationError, match="forward changed its argument x"):
        check(forward_in_place, lambda dout, x: 1.5 * dout, x=x)
    with pytest.raises(VerificationError, match="backward changed dout"):
        check(sine_forward, backward_on_dout, x=x)
    with pytest.raises(VerificationError, match="backward changed cache"):
        check(sine_forward, backward_on_cache, x=x)
    assert np.array_equal(x, before)


def test_missing_and_misshapen_gradients_are_refused_by_name() -> None:
    inputs = affine_inputs()
    with pytest.raises(VerificationError, match=r"returned no db; it returned \['dM', 'dW'\]"):
        check(affine_forward, lambda dout, c: {"dM": c[0], "dW": c[1]}, **inputs)
    with pytest.raises(VerificationError, match="None for the gradient of b"):
        check(affine_forward, lambda dout, c: affine_backward(dout, c)._replace(db=None), **inputs)
    with pytest.raises(VerificationError, match=r"gradient of W has shape \(2, 3\), expected \(3, 2\)"):
        check(affine_forward, lambda dout, c: affine_backward(dout, c)._replace(dW=np.ones((2, 3))), **inputs)
    returned: list[tuple[Any, str]] = [((1.0, 2.0, 3.0), "a tuple"), ([1.0], "a list"), (None, "None"), (1, "an int")]
    for value, kind in returned:
        expected = f"affine: backward returned {kind}; expected a dict or NamedTuple with dM, dW, db"
        with pytest.raises(VerificationError, match=expected):
            check(affine_forward, lambda dout, c, value=value: value, **inputs)


def test_gradients_of_bound_arguments_are_said_to_be_unchecked_and_of_unknown_ones_refused() -> None:
    def forward(M: Array, p: float) -> tuple[Array, None]:
        return p * M, None

    def backward(dout: Array, _: None, name: str = "dp") -> dict[str, Any]:
        return {"dM": 2 * dout, name: 1.0}

    for bound in (partial(forward, p=2.0), lambda M, **rest: forward(M, 2.0)):
        report = check(bound, backward, M=np.ones(2))
        assert report.ok
        assert "not checked: dp" in str(report)
    for name in ("dq", "d_p", "P"):
        with pytest.raises(VerificationError, match=f"backward returned {name}, but forward has no such argument; it"):
            check(partial(forward, p=2.0), partial(backward, name=name), M=np.ones(2))


def test_gradients_built_another_way_than_their_input_are_refused() -> None:
    def forward(tree: Any) -> tuple[Array, Any]:
        return tree["a"] * tree["b"], tree

    def backward(dout: Array, tree: Any, a: str, b: str) -> Any:
        return {a: dout * tree["b"], b: dout * tree["a"]}

    tree = {"a": np.arange(1.0, 4.0), "b": np.ones(3)}
    for names in ("a", "b"), ("da", "db"):
        check(forward, partial(backward, a=names[0], b=names[1]), tree=tree).raise_if_failed()
    for names in ("a", "c"), ("dA", "db"):
        with pytest.raises(
            VerificationError, match=r"dtree holds \['.*'\] \(2 in all\), expected \['a'\], \['b'\] \(2"
        ):
            check(forward, partial(backward, a=names[0], b=names[1]), tree=tree)
    for wrong in ({"dy": np.ones(3)}, (np.ones(3),), [np.ones(3)]):
        with pytest.raises(VerificationError, match=r"dx holds .* \(1 in all\), expected one array"):
            check(sine_forward, lambda dout, x, wrong=wrong: wrong, x=np.ones(3))
    with pytest.raises(VerificationError, match=r"dx is a list of numbers, expected an array: return np.array\(dx\)"):
        check(sine_forward, lambda dout, x: [1.0, 2.0, 3.0], x=np.ones(3))


def test_lists_of_numbers_and_names_that_the_forward_does_not_take_are_refused() -> None:
    inputs = affine_inputs()
    with pytest.raises(UsageError, match=r"inputs: b is a list of numbers: pass np.array\(b\)"):
        check(affine_forward, affine_backward, **{**inputs, "b": [0.5, 1.0]})
    with pytest.raises(UsageError, match=r"inputs: t\['W'\] is a list of numbers"):
        check(lambda t: (t["W"], None), lambda d, _: {"W": d}, t={"W": [[0.5, 1.0], [1.0, 2.0]]})
    with pytest.raises(UsageError, match="inputs: affine has no argument w; it takes M, W, b"):
        check(affine_forward, affine_backward, **{**inputs, "w": 1.0})
    with pytest.raises(UsageError, match="inputs: affine needs W, b too: give it, or bind"):
        check(affine_forward, affine_backward, M=inputs["M"])
    with pytest.raises(UsageError, match=r"or make it float\)"):
        check(sine_forward, sine_backward, x=np.arange(3))
    check(lambda **k: sine_forward(**k), sine_backward, x=np.ones(2)).raise_if_failed()


@pytest.mark.parametrize("bad", [np.arange(3), np.ones(3, bool), np.ones(3, complex), "text", np.array(["a"])])
def test_inputs_that_are_not_floating_point_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(UsageError, match=r"inputs: expected floating-point numbers in x\[1\]"):
        check(sine_forward, sine_backward, x=(np.ones(2), bad))


def test_unknown_method_and_forwards_that_refuse_complex_numbers() -> None:
    with pytest.raises(UsageError, match="method: expected one of central, complex, taylor, adjoint, linear"):
        check(sine_forward, sine_backward, "forward", x=np.ones(2))
    with pytest.raises(UsageError, match="method"):
        check(sine_forward, sine_backward, "float32", x=np.ones(2))

    def real_only(x: Array) -> tuple[Array, Array]:
        out = np.empty(x.shape)
        out[:] = np.sin(x)
        return out, x

    with pytest.raises(VerificationError, match="cannot take complex numbers"):
        check(real_only, sine_backward, "complex", x=np.ones(2))


def test_the_name_is_the_forwards_also_behind_partial() -> None:
    def scale_forward(x: Array, by: float) -> tuple[Array, float]:
        return by * x, by

    report = check(partial(scale_forward, by=2.0), lambda dout, by: by * dout, x=np.ones(2))
    assert report.pair == "scale"
    assert report.ok
