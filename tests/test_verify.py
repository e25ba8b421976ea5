"""The gradient checker is itself checked: by right pairs it must pass and by wrong ones it must catch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from minipinet._array import Array
from minipinet._tree import named_leaves, with_leaves
from minipinet.errors import UsageError
from minipinet.verify import Report, VerificationError, check_pair, verify_all
from minipinet.verify.measure import TOLERANCE
from minipinet.verify.pairs import Pair, layer_pairs, model_pairs
from tests import tolerances

pytestmark = pytest.mark.gradient

METHODS = ("central", "complex", "taylor")


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Small pairs, written here so that the checker is tested without the project's own.


def square_forward(x: Array) -> tuple[Array, Array]:
    return x * x, x


def square_backward(dout: Array, x: Array) -> Array:
    return 2 * x * dout


def linear_forward(x: Array) -> tuple[Array, None]:
    return 3 * x, None


def linear_backward(dout: Array, cache: None) -> Array:
    return 3 * dout


def sine_forward(x: Array) -> tuple[Array, Array]:
    return np.sin(x), x


def sine_backward(dout: Array, x: Array) -> Array:
    return np.cos(x) * dout


def softmax_forward(x: Array) -> tuple[Array, Array]:
    e = np.exp(x)
    out = e / e.sum(axis=0)
    return out, out


def softmax_backward(dout: Array, out: Array) -> Array:
    return out * (dout - (out * dout).sum(axis=0))


class AffineGrads(NamedTuple):
    dM: Array
    dW: Array
    db: Any


def affine_forward(M: Array, W: Array, b: Array | None) -> tuple[Array, Any]:
    return np.sin(M @ W + (0 if b is None else b)), (M, W, b)


def affine_backward(dout: Array, cache: Any) -> AffineGrads:
    M, W, b = cache
    d = dout * np.cos(M @ W + (0 if b is None else b))
    return AffineGrads(d @ W.T, M.T @ d, None if b is None else d.sum(axis=0))


def affine_inputs() -> dict[str, Array]:
    rng = generator(7)
    return {"M": rng.standard_normal((4, 3)), "W": rng.standard_normal((3, 2)), "b": rng.standard_normal(2)}


class ReluCache(NamedTuple):
    mask: Array


def relu_forward(x: Array) -> tuple[Array, ReluCache]:
    mask = x > 0
    return x * mask, ReluCache(mask)


def relu_backward(dout: Array, cache: ReluCache) -> Array:
    return dout * cache.mask


SMALL: dict[str, tuple[Any, Any]] = {
    "square": (square_forward, square_backward),
    "linear": (linear_forward, linear_backward),
    "sine": (sine_forward, sine_backward),
    "softmax": (softmax_forward, softmax_backward),
    "relu": (relu_forward, relu_backward),
}


def check(forward: Any, backward: Any, method: str = "central", **inputs: Any) -> Report:
    return check_pair(forward, backward, inputs, rng=generator(), method=method)


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


def scaled(backward: Any, factor: float) -> Callable[..., Any]:
    return lambda dout, cache: factor * backward(dout, cache)


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


# What cannot be compared is refused or skipped, and said.


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
    with pytest.raises(VerificationError, match="returned no dM"):
        check(affine_forward, lambda dout, c: (c[0], c[1], c[2]), **inputs)


def test_gradients_beside_the_inputs_are_said_to_be_unchecked() -> None:
    report = check(lambda M: (2 * M, None), lambda dout, _: {"dM": 2 * dout, "dp": 1.0}, M=np.ones(2))
    assert report.ok
    assert "not checked: dp" in str(report)


@pytest.mark.parametrize("bad", [np.arange(3), np.ones(3, bool), np.ones(3, complex), "text", np.array(["a"])])
def test_inputs_that_are_not_floating_point_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(UsageError, match=r"inputs: expected floating-point numbers in x\[1\]"):
        check(sine_forward, sine_backward, x=(np.ones(2), bad))


def test_unknown_method_and_forwards_that_refuse_complex_numbers() -> None:
    with pytest.raises(UsageError, match="method: expected one of central, complex, taylor"):
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


# The project's own pairs, spoilt one gradient at a time by a hundredth of a percent.


def spoilt(pair: Pair, which: int) -> Pair:
    """Return `pair` with its `which`-th gradient array multiplied by 1.0001."""

    def backward(dout: Any, cache: Any) -> Any:
        grads = pair.backward(dout, cache)
        leaves = [leaf for _, leaf in named_leaves(grads)]
        present = [k for k, leaf in enumerate(leaves) if leaf is not None]
        leaves[present[which]] = leaves[present[which]] * 1.0001
        return with_leaves(grads, iter(leaves))

    return pair._replace(backward=backward)


def own_pairs() -> list[Pair]:
    return layer_pairs(generator()) + model_pairs(generator())


@pytest.mark.parametrize("k", range(len(own_pairs())), ids=[pair.name for pair in own_pairs()])
def test_a_ten_thousandth_too_much_in_any_gradient_of_any_pair_is_caught(k: int) -> None:
    pair = own_pairs()[k]
    gradients = [g for path, g in named_leaves(pair.backward(*pair.forward(**pair.inputs))) if g is not None]
    # The bias before the column softmax moves all nodes alike: its gradient is zero.
    zero = [which for which, g in enumerate(gradients) if np.abs(g).max() < 1e-9]
    assert len(zero) == (1 if pair.name in ("pinet", "loss") else 0)
    for which in range(len(gradients)):
        bad = spoilt(pair, which)
        for method in pair.methods[-1:] if "taylor" in pair.methods else pair.methods:
            report = check_pair(bad.forward, bad.backward, bad.inputs, rng=generator(), method=method)
            assert report.ok == (which in zero), f"{pair.name}, gradient {which}, {method}"


# The engine of the command.


def test_verify_all_passes_and_names_every_pair() -> None:
    rows = verify_all(seed=5)
    assert all(row.ok for row in rows), [row.text for row in rows if not row.ok]
    assert {row.pair for row in rows} == {pair.name for pair in own_pairs()}
    assert all(row.tolerance == TOLERANCE[row.method] and row.seconds > 0 for row in rows)
    assert all(row.rate > tolerances.TAYLOR_RATE for row in rows if row.method == "taylor")
    assert max(row.worst for row in rows if row.method == "complex") < tolerances.GRADIENT_COMPLEX


@pytest.mark.parametrize("seed", range(3))
def test_verify_all_in_single_precision_compares_with_double(seed: int) -> None:
    rows = verify_all(dtype="float32", seed=seed)
    assert all(row.ok and row.method == "float32" for row in rows), [row.text for row in rows if not row.ok]
    assert 0 < max(row.worst for row in rows) < tolerances.GRADIENT_FLOAT32


def test_verify_all_in_single_precision_sees_a_gradient_that_is_wrong_or_of_another_dtype(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lifted(dout: Array, x: Array) -> Array:
        return sine_backward(dout, x).astype(np.float64)

    def wrong(dout: Array, x: Array) -> Array:
        return sine_backward(dout, x) * (1.001 if x.dtype == np.float32 else 1.0)

    def pairs(rng: np.random.Generator, dtype: str = "float64") -> list[Pair]:
        x = {"x": np.ones(3, dtype)}
        return [Pair("lifted", sine_forward, lifted, x, ()), Pair("wrong", sine_forward, wrong, x, ())]

    monkeypatch.setattr("minipinet.verify.suite.layer_pairs", pairs)
    rows = verify_all(model=False, dtype="float32")
    assert not any(row.ok for row in rows)
    assert "dx is float64 for float32 input" in rows[0].text
    assert "dx[" in rows[1].text
    assert "float64 (numeric)" in rows[1].text


def test_verify_all_selects_and_refuses() -> None:
    assert {row.pair for row in verify_all(["message_passing"], model=False)} == {
        "message_passing, A~ first",
        "message_passing, W first",
    }
    assert verify_all([]) == []
    assert all(not row.pair.startswith(("pinet", "loss")) for row in verify_all(model=False))
    refused: list[tuple[dict[str, Any], str]] = [
        ({"pairs": ["poool"]}, "pairs: expected"),
        ({"pairs": ["pinet"], "model": False}, "pairs: expected"),
        ({"dtype": "float16"}, "dtype: expected float64 or float32"),
        ({"seed": -1}, "seed: expected"),
    ]
    for arguments, message in refused:
        with pytest.raises(UsageError, match=message):
            verify_all(**arguments)


def test_verify_all_reports_a_pair_that_is_wrong_or_cannot_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_pairs(rng: np.random.Generator, dtype: str = "float64") -> list[Pair]:
        x = {"x": np.ones(3, dtype)}
        wrong = Pair("wrong", sine_forward, scaled(sine_backward, 1.0001), x, ("central", "taylor"))
        return [wrong, Pair("missing", sine_forward, lambda dout, cache: None, x, ("complex",))]

    monkeypatch.setattr("minipinet.verify.suite.layer_pairs", two_pairs)
    rows = verify_all(model=False)
    assert [(row.pair, row.ok) for row in rows] == [("wrong", False), ("wrong", False), ("missing", False)]
    assert "dx[" in rows[0].text
    assert "None for the gradient of x" in rows[2].text
