"""A stand-in for CuPy, strict: its arrays compute with NumPy, but refuse whatever CuPy's refuse, and a little more.

As on a card, arrays do not meet NumPy's arrays and are not taken by NumPy's functions; a function, a method or an
argument that is not in the tables below does not exist, be it that CuPy has none or that nobody has looked it up;
a sparse matrix is CSR or CSC of floats, with sorted columns. More than CuPy asks: no number of NumPy and no list of
numbers meets an array, and ``float()`` of an array is refused, since each is a copy. ``bool()``, ``int()`` and
``tolist()`` are left, since a way to take or a size must be known on the host, and ``asarray``, by which alone data go
to the card: `tests.device_counts` counts them.
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

from minipinet._tree import named_leaves, with_leaves

#: CuPy's functions, each with the names of the arguments that it has too; looked up in CuPy 13.6.
FUNCTIONS: dict[str, set[str]] = {
    "arange": {"dtype"},
    "ascontiguousarray": {"dtype"},
    "clip": {"out"},
    "concatenate": {"axis", "out"},
    "cumsum": {"axis", "dtype", "out"},
    "diff": {"axis"},
    "divide": {"out"},
    "einsum": set(),
    "empty": {"dtype"},
    "empty_like": {"dtype"},
    "exp": {"out"},
    "expm1": {"out"},
    "finfo": set(),
    "flatnonzero": set(),
    "full": {"dtype"},
    "log1p": {"out"},
    "logaddexp": {"out"},
    "matmul": {"out"},
    "maximum": {"out"},
    "multiply": {"out"},
    "ones": {"dtype"},
    "repeat": {"axis"},
    "result_type": set(),
    "searchsorted": {"side"},
    "sqrt": {"out"},
    "stack": {"axis", "out"},
    "vdot": set(),
    "where": set(),
    "zeros": {"dtype"},
    "zeros_like": {"dtype"},
}
#: What else the library has.
CONSTANTS = ("inf", "nan", "newaxis", "float32", "float64", "int32", "int64")
#: Methods of functions: ``reduceat`` and ``reduce`` of maxima, for one, are not there.
UFUNC_METHODS = {"add": {"at", "reduceat"}, "maximum": {"at"}}
#: Attributes of an array.
ATTRIBUTES = ("T", "dtype", "imag", "itemsize", "nbytes", "ndim", "real", "shape", "size")
#: Methods of an array, with the arguments they have: ``max`` has no ``initial`` and ``sum`` no ``where``.
METHODS: dict[str, set[str]] = {
    "all": {"axis", "out", "keepdims"},
    "any": {"axis", "out", "keepdims"},
    "argmax": {"axis", "out", "keepdims"},
    "astype": {"copy"},
    "copy": set(),
    "max": {"axis", "out", "keepdims"},
    "mean": {"axis", "dtype", "out", "keepdims"},
    "ravel": set(),
    "reshape": set(),
    "sum": {"axis", "dtype", "out", "keepdims"},
    "tolist": set(),
    "transpose": set(),
}
SPARSE_ATTRIBUTES = ("T", "data", "dtype", "format", "indices", "indptr", "nnz", "shape")


class Device:
    """An array that lives elsewhere; a number is one without dimensions, as on a card."""

    __module__ = "cupy"
    __array_ufunc__ = None

    def __init__(self, host: Any) -> None:
        self.host = np.asarray(host)

    @property
    def data(self) -> Any:
        """Where it lies: what a kernel is given."""
        return types.SimpleNamespace(ptr=self.host.ctypes.data)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a device array was handed to NumPy")

    def __array_function__(self, *_: Any) -> Any:
        raise TypeError("a device array was handed to a function of NumPy")

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES:
            return to_device(getattr(self.host, name))
        if name in METHODS:
            return Function(f"ndarray.{name}", getattr(self.host, name), METHODS[name])
        raise AttributeError(f"no device array has {name}")

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

    def __float__(self) -> float:
        raise TypeError("a number was copied from the device, unasked")


class DeviceSparse:
    """A CSR or CSC matrix that lives elsewhere."""

    __module__ = "cupyx"
    __array_ufunc__ = None

    def __init__(self, host: Any) -> None:
        assert host.format in ("csr", "csc")
        self.host = host

    def __getattr__(self, name: str) -> Any:
        if name in SPARSE_ATTRIBUTES:
            return to_device(getattr(self.host, name))
        raise AttributeError(f"no device matrix has {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "host":
            object.__setattr__(self, name, value)
        else:
            assert name == "data"
            self.host = self.host.copy()
            self.host.data = to_host(value)

    def __matmul__(self, other: Any) -> Any:
        # CuPy would sort the entries of such a matrix, in place and at each product.
        assert sorted_columns(self.host), "the columns of a row are not in order"
        return to_device(self.host @ to_host(other))


def sorted_columns(A: Any) -> bool:
    rows = np.repeat(np.arange(len(A.indptr) - 1), np.diff(A.indptr))
    return bool(np.all(np.diff(rows * (1 + max(A.shape)) + A.indices) > 0))


def sparse(format: str) -> Callable[..., Any]:
    """Return the constructor of one format, from three arrays."""

    def build(parts: Any, *, shape: tuple[int, int]) -> DeviceSparse:
        data, indices, indptr = map(to_host, parts)
        if data.dtype.char not in "?fdFD":
            raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
        parts = data, indices.astype("i", copy=False), indptr.astype("i", copy=False)
        return DeviceSparse(getattr(scipy.sparse, f"{format}_matrix")(parts, shape=shape))

    return build


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
    """Move arrays, numbers of NumPy and matrices over; leave everything else."""
    if scipy.sparse.issparse(x):
        return DeviceSparse(x)
    return Device(x) if isinstance(x, np.ndarray | np.generic) else x


def to_host(x: Any) -> Any:
    """Bring the arguments of one call back; host arrays among them are the mistake that is looked for."""
    if isinstance(x, Device | DeviceSparse):
        return x.host
    if isinstance(x, np.ndarray | np.generic) or scipy.sparse.issparse(x):
        raise TypeError("a host array met a device array")
    if isinstance(x, list) and any(isinstance(item, int | float | complex) for item in x):
        raise TypeError("a list of numbers met a device array")
    if isinstance(x, tuple | list):
        return type(x)(to_host(item) for item in x)
    return x


class Function:
    """A function of the library, with its own functions (such as maximum.at)."""

    def __init__(self, name: str, function: Any, arguments: set[str]) -> None:
        self.name, self.function, self.arguments = name, function, arguments

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        unknown = set(kwargs) - self.arguments
        if unknown:
            raise TypeError(f"{self.name}: no argument {', '.join(sorted(unknown))} on the device")
        if self.name == "maximum.at" and args[0].dtype not in ("float32", "float64"):
            raise TypeError("maximum.at only supports float32 and float64 here")
        if self.name == "repeat" and isinstance(args[1], Device):
            raise ValueError("an array of the device cannot be specified as `repeats` argument")
        return to_device(self.function(*map(to_host, args), **{key: to_host(value) for key, value in kwargs.items()}))

    def __getattr__(self, name: str) -> Any:
        if name not in UFUNC_METHODS.get(self.name, ()):
            raise NotImplementedError(f"{self.name}.{name} is not supported on the device")
        return Function(f"{self.name}.{name}", getattr(self.function, name), {"axis", "out"})


def asarray(x: Any) -> Any:
    """Copy an array to the device, in the open: what CuPy's own does."""
    return x if isinstance(x, Device) else Device(np.array(x))


def asnumpy(x: Any) -> Any:
    """Copy an array from the device, in the open."""
    return np.array(to_host(x))


class Library(types.ModuleType):
    """A module that has what is named above."""

    def __getattr__(self, name: str) -> Any:
        if name in FUNCTIONS:
            return Function(name, getattr(np, name), FUNCTIONS[name])
        if name in CONSTANTS:
            return getattr(np, name)
        raise AttributeError(f"no {name} on the device")


def use_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the stand-in where the package looks for CuPy."""
    cupy, matrices = Library("cupy"), types.ModuleType("cupyx.scipy.sparse")
    vars(cupy).update(asarray=asarray, asnumpy=asnumpy)
    vars(matrices).update(csr_matrix=sparse("csr"), csc_matrix=sparse("csc"))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", matrices)
    monkeypatch.setattr("minipinet._card.card_problem", lambda: None)


def brought_back(tree: Any) -> Any:
    """Bring a tree back, all of whose arrays and numbers must be on the device."""
    leaves = [leaf for _, leaf in named_leaves(tree)]
    assert all(leaf is None or isinstance(leaf, Device | DeviceSparse) for leaf in leaves)
    return with_leaves(tree, (None if leaf is None else leaf.host for leaf in leaves))


def host_leaves(tree: Any) -> list[str]:
    """Return the names of the arrays of a tree that are on the host."""
    return [
        path for path, leaf in named_leaves(tree)
        if isinstance(leaf, np.ndarray | np.generic) or scipy.sparse.issparse(leaf)
    ]  # fmt: skip
