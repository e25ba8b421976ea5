"""The only file that knows CuPy: which array library an array belongs to, and the way between host and device."""

from __future__ import annotations

import importlib
import re
from copy import copy
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from minipinet._tree import named_leaves, with_leaves

#: A NumPy array on the CPU or a CuPy array on a GPU; docstrings give shape and dtype.
Array: TypeAlias = Any
#: A CSR matrix of SciPy (``csr_array``) or of CuPy (``cupyx.scipy.sparse.csr_matrix``).
Sparse: TypeAlias = Any


def xp_of(x: Any) -> ModuleType:
    """Return the module (``numpy`` or ``cupy``) whose functions work on `x`, without importing CuPy for NumPy."""
    return card_library() if library_of(type(x)) in ON_CARD else np


#: What lies on a card, by the package that its type is from, and what brings it over.
ON_CARD = {"cupy": ("an array", "cupy.asnumpy"), "cupyx": ("a sparse matrix", "its method get")}
#: Where the errors of a card come from: its libraries, and this project's calls of cuBLAS.
CARD_ERRORS = re.compile(r"(cupy|cupyx|cupy_backends|cuda|minipinet\.cuda)\.")


def library_of(kind: type) -> str:
    """Return the name of the package that a type is from.

    Examples
    --------
    >>> library_of(scipy.sparse.csr_array)
    'scipy'
    """
    return kind.__module__.partition(".")[0]


def csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Sparse:
    """Return a CSR matrix where its arrays are: SciPy's ``csr_array``, or CuPy's ``csr_matrix``, which every CuPy has.

    Examples
    --------
    >>> csr(np.array([2.0]), np.array([1]), np.array([0, 1]), (1, 2)).toarray().tolist()
    [[0.0, 2.0]]
    """
    build = scipy.sparse.csr_array if xp_of(data) is np else _card_sparse().csr_matrix
    return build((data, indices, indptr), shape=shape)


def csc(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Sparse:
    """Return a CSC matrix likewise."""
    build = scipy.sparse.csc_array if xp_of(data) is np else _card_sparse().csc_matrix
    return build((data, indices, indptr), shape=shape)


def _card_sparse() -> ModuleType:
    return importlib.import_module("cupyx.scipy.sparse")


def repeat(x: Array, counts: Array) -> Array:
    """Return each entry of a row `x` as often as its count says; CuPy's own ``repeat`` takes no array of counts.

    Examples
    --------
    >>> repeat(np.array([5, 6, 7]), np.array([2, 0, 1])).tolist()
    [5, 5, 7]
    """
    xp = xp_of(x)
    if xp is np:
        return np.repeat(x, counts)
    return x[xp.searchsorted(xp.cumsum(counts), xp.arange(int(counts.sum())), side="right")]


def segment_maxima(x: Array, ptr: Array, segment: Array) -> Array:
    """Return the greatest entry of each column in each stretch of rows, (E, F) to (B, F); 0 where a stretch is empty.

    Parameters
    ----------
    x : (E, F) array
    ptr : (B + 1,) int array
        Where the stretches begin, and where the last one ends.
    segment : (E,) int array
        The stretch of each row: CuPy has no ``maximum.reduceat``, which would need `ptr` alone.

    Examples
    --------
    >>> segment_maxima(np.array([[1.0], [3.0]]), np.array([0, 0, 2]), np.array([1, 1])).tolist()
    [[0.0], [3.0]]
    """
    xp, filled = xp_of(x), ptr[:-1] < ptr[1:]
    shape = len(ptr) - 1, x.shape[1]
    if xp is np:
        out = np.zeros(shape, x.dtype)
        if len(x):
            out[filled] = np.maximum.reduceat(x, ptr[:-1][filled], axis=0)
        return out
    out = xp.full(shape, -xp.inf, x.dtype)
    xp.maximum.at(out, segment, x)
    return xp.where(filled[:, None], out, 0)


def with_data(A: Sparse, data: Array) -> Sparse:
    """Return a matrix with the structure of `A` and other values, sharing the index arrays.

    A shallow copy: building a matrix anew checks its indices again, which takes longer than a small product.
    """
    B = copy(A)
    B.data = data
    return B


def card_library() -> ModuleType:
    """Return the array library of a card: CuPy."""
    return importlib.import_module("cupy")


def to_card(tree: Any) -> Any:
    """Return a tree with each of its arrays, NumPy numbers and CSR and CSC matrices on the card, the rest as it is.

    What is there already stays, and what several places of the tree share is moved once.
    """
    moved: dict[Any, Array] = {}

    def move(x: Any) -> Any:
        if scipy.sparse.issparse(x):
            build = {"csr": csr, "csc": csc}[x.format]
            return build(move(x.data), move(x.indices), move(x.indptr), x.shape)
        if not isinstance(x, np.ndarray):
            return card_library().asarray(x) if isinstance(x, np.generic) else x
        place = x.ctypes.data, x.shape, x.strides, x.dtype
        if place not in moved:
            moved[place] = card_library().asarray(x)
        return moved[place]

    return with_leaves(tree, (move(leaf) for _, leaf in named_leaves(tree)))


def to_host(tree: Any) -> Any:
    """Return a tree with each array that is on the card copied to NumPy, numbers as numbers; the rest as it is."""

    def move(x: Any) -> Any:
        return x if xp_of(x) is np else card_library().asnumpy(x)[()]

    return with_leaves(tree, (move(leaf) for _, leaf in named_leaves(tree)))


def on_device(tree: Any, device: str) -> Any:
    """Return a tree of NumPy arrays where `device`, ``"cpu"`` or ``"cuda"``, computes: itself, or as `to_card` does.

    Examples
    --------
    >>> on_device((1, None), "cpu")
    (1, None)
    """
    return to_card(tree) if device == "cuda" else tree
