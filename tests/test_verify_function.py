"""`verify_function`: scalar functions with their gradients in every form, right and wrong."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.errors import UsageError
from minipinet.verify import Verification, VerificationError, verify_function
from tests.small_pairs import generator

pytestmark = pytest.mark.gradient

METHODS = ("linear", "adjoint", "central", "complex", "taylor")


def loss(X: Array, W: Array, b: Array, y: Array) -> Any:
    """Mean cross-entropy of a linear classifier."""
    Z = X @ W + b
    return np.mean(np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(len(y)), y])


def loss_gradient(X: Array, W: Array, b: Array, y: Array) -> dict[str, Array]:
    Z = X @ W + b
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    P[np.arange(len(y)), y] -= 1
    P /= len(y)
    return {"dX": P @ W.T, "dW": X.T @ P, "db": P.sum(axis=0)}


def inputs(n: int = 5, d: int = 4, C: int = 3) -> dict[str, Array]:
    rng = generator(2)
    return {"X": rng.standard_normal((n, d)), "W": rng.standard_normal((d, C)), "b": rng.standard_normal(C)}


def verify(gradient: Any, function: Any = loss, given: dict[str, Any] | None = None, **settings: Any) -> Verification:
    given = inputs() if given is None else given
    y = np.arange(len(given["X"])) % 3
    return verify_function(partial(function, y=y), partial(gradient, y=y), given, rng=generator(), **settings)


class Grads(NamedTuple):
    dX: Array
    dW: Array
    db: Array


class Named(NamedTuple):
    X: Array
    W: Array
    b: Array


@pytest.mark.parametrize(
    "wrap", [dict, lambda g: Grads(**g), lambda g: Named(*g.values()), lambda g: {k[1:]: v for k, v in g.items()}]
)
def test_gradients_with_the_names_of_the_inputs_or_with_a_d_pass(wrap: Any) -> None:
    found = verify(lambda **given: wrap(loss_gradient(**given)))
    found.raise_if_failed()
    assert found.pair == "loss"
    assert [report.method for report in found.reports] == ["central", "taylor"]
    assert {entry.name for entry in found.reports[0].entries} == {"X", "W", "b"}
    found = verify(lambda **given: wrap({k: 1.0001 * v for k, v in loss_gradient(**given).items()}))
    assert [report.ok for report in found.reports] == [False, False]


def test_all_methods_may_be_asked_for() -> None:
    found = verify(loss_gradient, methods=("linear", "adjoint", "central", "complex", "taylor"))
    found.raise_if_failed()
    wrong = verify(lambda **given: {k: -g for k, g in loss_gradient(**given).items()}, methods=("adjoint", "complex"))
    assert not any(report.ok for report in wrong.reports)


def test_a_single_input_may_have_its_gradient_alone_and_be_a_tree() -> None:
    for x in (np.array([1.0, 2.0]), np.float64(0.5), 0.5, np.array(0.5)):
        verify_function(lambda x: np.sum(x**3), lambda x: 3 * x**2, {"x": x}, rng=generator()).raise_if_failed()
        assert not verify_function(lambda x: np.sum(x**3), lambda x: 3 * x, {"x": x}, rng=generator()).ok

    def function(tree: Any) -> float:
        return float(np.sum(tree["a"] * tree["b"][0]))

    def gradient(tree: Any) -> Any:
        return {"a": np.full(3, tree["b"][0]), "b": (np.sum(tree["a"]), None)}

    tree = {"a": np.arange(3.0), "b": (np.float64(2), None)}
    found = verify_function(function, gradient, {"tree": tree}, rng=generator())
    found.raise_if_failed()
    assert {entry.name for entry in found.reports[0].entries} == {"tree['a']", "tree['b'][0]"}


def test_the_numbers_shown_are_those_of_the_function_itself() -> None:
    found = verify_function(lambda x: np.sum(x * x), lambda x: x, {"x": np.array([1.0, 3.0])}, rng=generator())
    assert found.problems[0].startswith("dx[1]: gradient (analytic) 3, central difference (numeric) 6, ")


def test_one_entry_off_by_a_hundredth_in_a_large_weight_is_found_and_named() -> None:
    given = inputs(n=7, d=64, C=64)
    given["W"] /= 8  # or the classes that are out of the running have no gradient to speak of
    for at in ((0, 0), (17, 41), (63, 63)):

        def gradient(at: tuple[int, int] = at, **arrays: Any) -> Any:
            grads = loss_gradient(**arrays)
            grads["dW"][at] *= 1.01
            return grads

        found = verify(gradient, given=given)
        right = loss_gradient(**given, y=np.arange(7) % 3)["dW"][at]
        central = found.reports[0]
        assert central.problems[0].startswith(f"dW[{at[0]}, {at[1]}]: gradient (analytic) {1.01 * right:.10g}, ")
        wrong = [e for e in central.entries if e.error > central.tolerance]
        assert {e.name for e in wrong} == {"W"}
        assert len(wrong) >= 3  # that entry, and most of the four directions
        assert "dW along a random direction v = [" in central.problems[1]


def test_a_gradient_that_is_an_input_itself_is_shared_memory() -> None:
    def half(x: Array) -> Any:
        return 0.5 * np.sum(x * x)

    found = verify_function(half, lambda x: x, {"x": np.arange(3.0)}, rng=generator())
    assert [problem.partition(":")[0] for problem in found.problems] == ["dx shares memory with x"]
    verify_function(half, lambda x: x, {"x": np.arange(3.0)}, rng=generator(), allow_shared=True).raise_if_failed()
    verify_function(half, lambda x: x.copy(), {"x": np.arange(3.0)}, rng=generator()).raise_if_failed()


def test_functions_that_do_not_return_one_finite_float64_number_are_refused() -> None:
    x = {"x": np.ones(3)}
    for function, message in [
        (lambda x: x, r"expected one number, got an array of shape \(3,\)"),
        (lambda x: (x.sum(), x), "expected one number, got a tuple"),
        (lambda x: np.float32(x.sum()), "its value is float32"),
        (lambda x: int(x.sum()), "its value is int64"),
        (lambda x: np.log(x.sum() - 3 - 1e-300) if False else float("nan"), "the function returns nan at the point"),
    ]:
        with pytest.raises(VerificationError, match=message):
            verify_function(function, lambda x: 1.0 * x, x, rng=generator())
    with pytest.raises(VerificationError, match=r"the gradient returned no dW, db; it returned \['dX'\]"):
        verify(lambda **given: {"dX": given["X"]})
    with pytest.raises(UsageError, match="inputs: expected floating-point numbers in x"):
        verify_function(lambda x: x, lambda x: x, {"x": 1}, rng=generator())


def test_a_function_that_draws_or_changes_its_argument_is_refused() -> None:
    rng = generator(5)

    def noisy(x: Array) -> Any:
        return np.sum(x) + rng.random()

    def in_place(x: Array) -> Any:
        x *= 2
        return np.sum(x)

    x = np.ones(3)
    with pytest.raises(VerificationError, match="noisy: two calls of the function"):
        verify_function(noisy, lambda x: np.ones(3), {"x": x}, rng=generator())
    with pytest.raises(VerificationError, match="in_place: the function changed its argument x"):
        verify_function(in_place, lambda x: np.full(3, 2.0), {"x": x}, rng=generator())
    assert x.tolist() == [1, 1, 1]


def test_a_cotangent_of_another_shape_is_refused() -> None:
    from minipinet.verify import check_pair

    def twice(x: Array) -> tuple[Array, None]:
        return 2 * x, None

    fixed = np.array([1.0, -2.0, 3.0])
    report = check_pair(twice, lambda d, _: 2 * d, {"x": np.ones(3)}, rng=generator(), cotangent=fixed)
    assert sorted(e.analytic for e in report.entries) == [-4, 2, 6]
    with pytest.raises(
        UsageError, match=r"cotangent: expected shapes \[\(3,\)\] as the forward's out has, got \[\(2,\)\]"
    ):
        check_pair(twice, lambda d, _: 2 * d, {"x": np.ones(3)}, rng=generator(), cotangent=np.ones(2))


def test_nothing_is_said_of_a_forward_or_a_backward() -> None:
    found = verify(lambda **given: {k: 1.01 * v for k, v in loss_gradient(**given).items()}, methods=METHODS)
    for text in (str(found), *map(str, found.reports), *found.problems):
        assert "backward" not in text
        assert "forward" not in text
    assert any("gradient (analytic)" in problem for problem in found.problems)


def test_arguments_of_the_function_are_those_of_the_inputs() -> None:
    with pytest.raises(UsageError, match=r"inputs: <lambda> needs k too: give it, or bind"):
        verify_function(lambda x, k: k * np.sum(x), lambda x, k: k, {"x": np.ones(2)}, rng=generator())
    with pytest.raises(UsageError, match=r"inputs: <lambda> has no argument z; it takes x"):
        verify_function(lambda x: np.sum(x), lambda x: x, {"x": np.ones(2), "z": 1.0}, rng=generator())
    with pytest.raises(VerificationError, match=r"the gradient returned dz, but the function has no such argument"):
        verify_function(lambda x: np.sum(x), lambda x: {"x": np.ones(2), "z": 1.0}, {"x": np.ones(2)}, rng=generator())
