"""What a pair must keep to: each breach is refused by name, and the caller's arrays end as they were."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from minipinet._array import Array
from minipinet.verify import DEFAULT_METHODS, VerificationError, check_pair, verify_pair
from minipinet.verify.contract import same_bits
from tests.small_pairs import check, generator, linear_backward, linear_forward, sine_backward, sine_forward

pytestmark = pytest.mark.gradient

# Same arguments, same bits.


def alternating(values: Any) -> Callable[[], Any]:
    forever: Iterator[Any] = (value for _ in range(1000) for value in values)
    return lambda: next(forever)


def test_same_bits_looks_at_signs_payloads_dtypes_and_structure() -> None:
    payload = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert same_bits(payload, payload.copy())
    assert not same_bits(payload, np.array([np.nan]))
    assert same_bits(np.array([0.0, np.nan]), np.array([0.0, np.nan]))
    assert not same_bits(np.array([0.0]), np.array([-0.0]))
    assert not same_bits(0.0, -0.0)
    assert not same_bits(np.ones(2), np.ones(2, np.float32))
    assert not same_bits(np.zeros(2), np.zeros(2, np.int64))
    assert not same_bits(np.ones(2), np.ones((2, 1)))
    assert not same_bits(None, np.ones(2))
    assert same_bits(np.array([None, "a"]), np.array([None, "a"]))
    assert same_bits(np.array([np.nan], np.longdouble), np.array([np.nan], np.longdouble))
    assert not same_bits("a", "b")
    matrix = scipy.sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0]]))
    moved = scipy.sparse.csr_array(np.array([[1.0, 0.0], [2.0, 0.0]]))
    assert same_bits(matrix, matrix.copy())
    assert not same_bits(matrix, moved)
    assert not same_bits(matrix, matrix.tocsc())
    assert not same_bits(matrix.tocoo(), moved.tocoo())
    one = scipy.sparse.eye_array(2, format="csr")
    assert not same_bits(one, one.tocsc())
    assert not same_bits(one, one.toarray())


@pytest.mark.parametrize(
    "values", [(0.0, -0.0), (np.nan, -np.nan), (np.float64(1), np.float32(1)), (1.0, 1.0 + 2**-52), (1.0, None)]
)
def test_forwards_whose_calls_differ_in_one_bit_are_refused(values: tuple[Any, Any]) -> None:
    draw = alternating(values)
    with pytest.raises(VerificationError, match=r"two calls of the forward .* gave different cache"):
        check(lambda x: (x * 1.0, draw()), lambda dout, _: 1.0 * dout, x=np.ones(2))


@pytest.mark.parametrize("values", [(0.0, -0.0), (1.0, 1.0 + 2**-52)])
def test_backwards_whose_calls_differ_in_one_bit_are_refused(values: tuple[Any, Any]) -> None:
    draw = alternating(values)
    with pytest.raises(VerificationError, match=r"two calls of the backward .* gave different gradient of x"):
        check(linear_forward, lambda dout, _: draw() * np.abs(dout), x=np.ones(2))


def test_results_of_another_form_are_refused() -> None:
    draw = alternating([(1.0,), (1.0, 2.0)])
    with pytest.raises(VerificationError, match=r"two calls of the forward .* gave different trees"):
        check(lambda x: (x * 1.0, draw()), lambda dout, _: 1.0 * dout, x=np.ones(2))
    with pytest.raises(VerificationError, match=r"forward returned ndarray, expected \(out, cache\)"):
        check(lambda x: 2 * x, linear_backward, x=np.ones(2))


def test_gradients_that_pile_up_in_one_buffer_are_refused() -> None:
    total = np.zeros(2)

    def backward(dout: Array, _: None) -> Array:
        total[...] += 3 * dout
        return total

    with pytest.raises(VerificationError, match=r"two calls of the backward"):
        check(linear_forward, backward, x=np.ones(2))


def test_results_written_into_one_buffer_are_compared_all_the_same_and_told() -> None:
    buffer = np.zeros(2)

    def forward(x: Array) -> tuple[Array, None]:
        np.multiply(x, 3, out=buffer)
        return buffer, None

    def backward(dout: Array, _: None) -> Array:
        np.multiply(dout, 3, out=buffer)
        return buffer

    for method in DEFAULT_METHODS:
        pairs: list[tuple[Any, Any, str]] = [(forward, linear_backward, "out"), (linear_forward, backward, "dx")]
        for one, other, what in pairs:
            report = check(one, other, method, x=np.ones(2))
            assert [p.partition(":")[0] for p in report.problems] == [f"{what} lies in the same buffer at each call"]
            assert check_pair(one, other, {"x": np.ones(2)}, rng=generator(), method=method, allow_shared=True).ok


@pytest.mark.parametrize("library", ["NumPy", "Python"])
@pytest.mark.parametrize("which", ["forward", "backward"])
def test_case_061_draws_from_a_global_generator_are_refused(library: str, which: str) -> None:
    def draw() -> float:
        return float(np.random.random()) if library == "NumPy" else random.random()  # noqa: NPY002

    def forward(x: Array) -> tuple[Array, None]:
        return (3 + (draw() if which == "forward" else 0.0)) * x, None

    def backward(dout: Array, _: None) -> Array:
        return (3 + (draw() if which == "backward" else 0.0)) * dout

    before = np.random.get_state(legacy=False), random.getstate()  # noqa: NPY002
    try:
        with pytest.raises(VerificationError, match=rf"two calls of the {which} .*; only a deterministic function"):
            check(forward, backward, x=np.ones(2))
    finally:
        np.random.set_state(before[0])  # noqa: NPY002
        random.setstate(before[1])


@pytest.mark.parametrize("method", ["adjoint", "central", "taylor"])
def test_case_061_a_dropout_that_seldom_strikes_is_refused_and_not_called_a_wrong_gradient(method: str) -> None:
    for strikes in (5, 7):
        calls: list[int] = []

        def dropout_forward(x: Array, calls: list[int] = calls, strikes: int = strikes) -> tuple[Array, None]:
            calls.append(1)
            return x * (len(calls) % strikes != 0), None

        with pytest.raises(VerificationError, match=r"dropout: two calls of the forward"):
            check(dropout_forward, lambda dout, _: 1.0 * dout, method, x=np.ones(6))


def test_case_061_a_generator_kept_in_a_closure_is_refused_also_when_it_matters_later_only() -> None:
    rng = generator(1)

    def noisy(x: Array) -> tuple[Array, Array]:
        return x + 1e-9 * rng.standard_normal(x.shape), x

    with pytest.raises(VerificationError, match="noisy: two calls of the forward"):
        check(noisy, lambda dout, x: 1.0 * dout, x=np.ones(3))
    calls: list[int] = []

    def backward(dout: Array, _: None) -> Array:
        calls.append(1)
        return (3.0 if len(calls) < 3 else 3.5) * dout  # changes after the two first calls

    with pytest.raises(VerificationError, match=r"two calls of the backward"):
        check(linear_forward, backward, x=np.ones(3))


def test_the_check_itself_leaves_the_global_generators_alone() -> None:
    def states() -> tuple[Any, ...]:
        numpy = np.random.get_state(legacy=False)  # noqa: NPY002
        return numpy["state"]["key"].tobytes(), numpy["state"]["pos"], random.getstate()

    before = states()
    verify_pair(sine_forward, sine_backward, {"x": np.ones(3)}, rng=generator()).raise_if_failed()
    assert states() == before


# Arguments are left as they came.


@pytest.mark.parametrize("method", DEFAULT_METHODS)
@pytest.mark.parametrize("call", [1, 2, 3, 5])
def test_an_argument_changed_on_one_call_only_is_refused(method: str, call: int) -> None:
    calls: list[int] = []

    def forward(x: Array) -> tuple[Array, Array]:
        calls.append(1)
        kept = x.copy()
        if len(calls) == call:
            x[0] += 1.0
        return sine_forward(kept)

    with pytest.raises(VerificationError, match="forward changed its argument x"):
        check(forward, sine_backward, method, x=np.ones(3))


@pytest.mark.parametrize("what", ["dout", "cache"])
def test_a_cotangent_or_cache_changed_on_a_later_call_is_refused(what: str) -> None:
    calls: list[int] = []

    def backward(dout: Array, x: Array) -> Array:
        calls.append(1)
        grad = sine_backward(dout, x)
        if len(calls) == 4:
            (dout if what == "dout" else x)[0] += 1.0
        return grad

    with pytest.raises(VerificationError, match=f"backward changed {what}"):
        check(sine_forward, backward, "linear", x=np.ones(3))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, None])
@pytest.mark.parametrize("method", DEFAULT_METHODS)
@pytest.mark.parametrize(("frozen", "last"), [(False, 0.0), (True, 0.0), (False, 1.0), (True, 1.0)])
def test_the_callers_arrays_keep_their_bits_on_every_way_out(
    error: Any, method: str, frozen: bool, last: float
) -> None:
    own = generator(3).standard_normal((3, 4))
    W = own[:, ::2]
    W.setflags(write=not frozen)
    before = own.copy()
    calls: list[int] = []

    def forward(W: Array) -> tuple[Array, Array]:
        own[:, ::2] = W + last  # a layer that holds the caller's array, and sets it to what it is given
        calls.append(1)
        if error is not None and len(calls) == 4:
            raise error("in the middle")
        return sine_forward(W.copy())

    tree = {"a": [W, None], "b": (1.5,)}
    inputs = {"W": W, "rest": tree}

    def both(W: Array, rest: Any) -> tuple[Array, Array]:
        return forward(W)

    def backward(dout: Array, x: Array) -> Any:
        return {"dW": sine_backward(dout, x), "drest": {"a": [0.0 * x, None], "b": (0.0,)}}

    if error is None:
        report = check_pair(both, backward, inputs, rng=generator(), method=method)
        report.raise_if_failed()
        said = "W: the pair wrote into the caller's own array, which was put back as it was" in report.notes
        assert said is (last != 0)  # else the last call of all, at W itself, has left it right
    else:
        with pytest.raises(error, match="in the middle"):
            check_pair(both, backward, inputs, rng=generator(), method=method)
    assert own.tobytes() == before.tobytes()
    assert W.flags.writeable is not frozen
    assert inputs["W"] is W
    assert inputs["rest"] is tree
    assert tree["a"][0] is W
    assert tree == {"a": [W, None], "b": (1.5,)}
