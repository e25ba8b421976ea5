"""The mathematics asks for every array function at the library of the arrays it is given, never at NumPy by habit.

A stand-in for a library of device arrays: it computes with NumPy, but as on a device its arrays refuse to meet host
arrays and NumPy's functions refuse them.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from minipinet._array import Array, xp_of
from minipinet._tree import named_leaves, with_leaves
from minipinet.attention_readout import (
    FUSED_RANGE,
    attention_readout_backward,
    attention_readout_forward,
    stepwise_backward,
    stepwise_forward,
)
from minipinet.batch import GraphBatch, make_batch
from minipinet.graphs import as_graph
from minipinet.model import loss_backward, loss_forward
from minipinet.optim import adam_init
from minipinet.params import PiNetParams, init_params
from minipinet.pool import take_pool
from minipinet.quotient import refine
from minipinet.union import disjoint_union
from minipinet.verify.pairs import example_batch, example_params, example_union
from tests import strategies, tolerances
from tests.tolerances import tree_error


class Device:
    """An array that lives elsewhere."""

    __array_ufunc__ = None

    def __init__(self, host: Any) -> None:
        self.host = host

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a device array was handed to NumPy")

    def __array_function__(self, *_: Any) -> Any:
        raise TypeError("a device array was handed to a function of NumPy")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return to_device(getattr(self.host, name))

    def __getitem__(self, key: Any) -> Any:
        return to_device(self.host[to_host(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.host[to_host(key)] = to_host(value)

    def __len__(self) -> int:
        return len(self.host)

    def __bool__(self) -> bool:
        return bool(self.host)

    def __int__(self) -> int:
        return int(self.host)


class DeviceSparse(Device):
    """A sparse matrix that lives elsewhere."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "host":
            object.__setattr__(self, name, value)
        else:
            self.host = self.host.copy()
            setattr(self.host, name, to_host(value))


def operation(name: str, turned: bool = False) -> Callable[..., Any]:
    """Return an operator of Python as a method; `turned` for the device array on the right."""
    function = getattr(operator, name)

    def method(self: Device, *others: Any) -> Any:
        operands = [self.host, *map(to_host, others)]
        return to_device(function(*operands[:: -1 if turned else 1]))

    return method


BOTH_SIDES = ("add", "sub", "mul", "truediv", "matmul", "pow", "and", "or", "eq", "ne", "lt", "le", "gt", "ge")
for name in (*BOTH_SIDES, "neg", "invert", "abs", "iadd", "isub", "imul", "itruediv"):
    setattr(Device, f"__{name}__", operation(f"__{name}__"))
    if name in BOTH_SIDES:
        setattr(Device, f"__r{name}__", operation(f"__{name}__", turned=True))


def to_device(x: Any) -> Any:
    """Move arrays, numbers of NumPy, matrices and functions over; leave everything else."""
    if scipy.sparse.issparse(x):
        return DeviceSparse(x)
    if isinstance(x, np.ndarray | np.generic):
        return Device(x)
    if callable(x) and not isinstance(x, type | np.dtype):
        return Function(x)
    return x


def to_host(x: Any) -> Any:
    """Bring the arguments of one call back; host arrays among them are the mistake this file looks for."""
    if isinstance(x, Device):
        return x.host
    if isinstance(x, np.ndarray | np.generic) or scipy.sparse.issparse(x):
        raise TypeError("a host array met a device array")
    if isinstance(x, tuple | list):
        return type(x)(to_host(item) for item in x)
    return x


class Function:
    """A function of the library, with its own functions (such as maximum.reduceat)."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named = {key: to_host(value) for key, value in kwargs.items()}
        return to_device(self.function(*map(to_host, args), **named))

    def __getattr__(self, name: str) -> Any:
        return to_device(getattr(self.function, name))


class Library(types.ModuleType):
    """A module whose functions take and give device arrays."""

    def __init__(self, name: str, host: Any) -> None:
        super().__init__(name)
        self.host = host

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.host, name)
        return (
            Function(found) if isinstance(found, type) and issubclass(found, scipy.sparse.sparray) else to_device(found)
        )


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the stand-in where the package looks for a library of device arrays."""
    monkeypatch.setitem(sys.modules, "cupy", Library("cupy", np))
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", Library("cupyx.scipy.sparse", scipy.sparse))
    monkeypatch.setattr(Device, "__module__", "cupy")
    monkeypatch.setattr(DeviceSparse, "__module__", "cupyx")


def moved(tree: Any) -> Any:
    return with_leaves(tree, (to_device(leaf) for _, leaf in named_leaves(tree)))


def brought_back(tree: Any) -> Any:
    """Bring a tree back, all of whose arrays must be on the device."""
    leaves = [leaf for _, leaf in named_leaves(tree)]
    assert all(leaf is None or isinstance(leaf, Device) for leaf in leaves)
    return with_leaves(tree, (None if leaf is None else leaf.host for leaf in leaves))


def batch_and_params(C: int) -> tuple[GraphBatch, PiNetParams]:
    rng = np.random.default_rng(0)
    return example_batch(example_union(rng)), example_params(rng, C, bias=True, learned_pq=True)


def test_the_stand_in_refuses_what_a_device_refuses() -> None:
    x: Any = Device(np.ones(3))
    assert xp_of(x) is sys.modules["cupy"]
    calls: list[Callable[[], Any]] = [
        lambda: np.exp(x),
        lambda: np.zeros_like(x),
        lambda: np.result_type(x, x),
        lambda: np.asarray(x),
        lambda: x + np.ones(3),
        lambda: x[np.arange(2)],
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()
    assert (x + 1).host.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("C", [2, 3])
def test_loss_and_gradient_stay_on_the_device_and_are_the_same(C: int) -> None:
    batch, params = batch_and_params(C)
    y = np.arange(batch.B) % C
    expected_loss, expected_cache = loss_forward(params, batch, y, l2=0.1)
    loss, cache = loss_forward(moved(params), moved(batch), to_device(y), l2=0.1)
    assert isinstance(loss, Device)
    assert abs(loss.host - expected_loss) < tolerances.CLOSED_FORM
    expected = loss_backward(1.0, expected_cache)
    assert tree_error(brought_back(loss_backward(1.0, cache)), expected) < tolerances.FORMS_FLOAT64


def test_both_ways_through_the_readout_stay_on_the_device() -> None:
    graphs = [as_graph(strategies.path(n), np.arange(n)[:, None]) for n in (3, 4, 0, 2)]
    pool = make_batch(refine(disjoint_union(graphs), merge=False), [0, 1, 2, 3], "float64").pool
    rng = np.random.default_rng(0)
    H, Z_X, W_D, b_D = (rng.standard_normal(shape) for shape in ((9, 3), (9, 2), (6, 2), (2,)))
    H[pool.state[pool.graph == 1]] += FUSED_RANGE + 5
    pairs: list[tuple[Any, Any]] = [
        (attention_readout_forward, attention_readout_backward),
        (stepwise_forward, stepwise_backward),
    ]
    for forward, backward in pairs:
        expected, expected_cache = forward(H, Z_X, W_D, b_D, pool)
        logits, cache = forward(*map(to_device, (H, Z_X, W_D, b_D)), moved(pool))
        assert tree_error(brought_back(logits), expected) < tolerances.FORMS_FLOAT64
        grads = brought_back(backward(to_device(np.ones((4, 2))), cache))
        assert tree_error(grads, backward(np.ones((4, 2)), expected_cache)) < tolerances.FORMS_FLOAT64


def test_pools_and_moments_stay_on_the_device() -> None:
    batch, params = batch_and_params(2)
    order: Array = np.array([2, 0])
    taken, expected = take_pool(moved(batch.pool), to_device(order)), take_pool(batch.pool, order)
    assert (brought_back(taken).counts != expected.counts).nnz == 0
    assert all((a == b).all() for a, b in zip(brought_back(taken)[:4], expected[:4], strict=True))
    state = adam_init(moved(params))
    assert tree_error(brought_back(state.m), adam_init(params).m) == 0
    without_bias = init_params(np.random.default_rng(0), 2, 2, hidden=3, out=2)
    assert [w is None for w in adam_init(moved(without_bias)).v] == [w is None for w in without_bias]
