"""Products by cuBLAS, NVIDIA's library, called through ctypes: CuPy refuses its own door to it in a captured step."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import weakref
from ctypes import POINTER, c_double, c_float, c_int, c_longlong, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from minipinet._array import Array

#: An operand of a product.
Turned: TypeAlias = Literal["a", "b"]
#: Work space in bytes: what NVIDIA asks for on Hopper, and more than older cards need.
WORKSPACE = 32 * 2**20
#: cublasStatus_t
STATUS = {
    1: "CUBLAS_STATUS_NOT_INITIALIZED",
    3: "CUBLAS_STATUS_ALLOC_FAILED",
    7: "CUBLAS_STATUS_INVALID_VALUE",
    8: "CUBLAS_STATUS_ARCH_MISMATCH",
    11: "CUBLAS_STATUS_MAPPING_ERROR",
    13: "CUBLAS_STATUS_EXECUTION_FAILED",
    14: "CUBLAS_STATUS_INTERNAL_ERROR",
    15: "CUBLAS_STATUS_NOT_SUPPORTED",
    16: "CUBLAS_STATUS_LICENSE_ERROR",
}
_HOST_POINTERS, _DEFAULT_MATH = 0, 0  # CUBLAS_POINTER_MODE_HOST, CUBLAS_DEFAULT_MATH: no TF32


def _product(kind: Any) -> list[Any]:
    operand = [c_void_p, c_int, c_longlong]
    return [c_void_p, *[c_int] * 5, POINTER(kind), *operand, *operand, POINTER(kind), *operand, c_int]


_ARGUMENTS: dict[str, list[Any]] = {
    "cublasCreate_v2": [POINTER(c_void_p)],
    "cublasDestroy_v2": [c_void_p],
    "cublasSetStream_v2": [c_void_p, c_void_p],
    "cublasSetWorkspace_v2": [c_void_p, c_void_p, c_size_t],
    "cublasSetPointerMode_v2": [c_void_p, c_int],
    "cublasSetMathMode": [c_void_p, c_int],
    "cublasSgemmStridedBatched": _product(c_float),
    "cublasDgemmStridedBatched": _product(c_double),
}


class CublasError(RuntimeError):
    """The library refused a call: the message names the call and the library's reason."""


class Cublas:
    """A handle of cuBLAS on the current card, with a work space of its own.

    That nothing is allocated lets a captured step hold its products. With a work space for each handle, and without
    atomics (the library's default), NVIDIA promises the same bits in every run on one kind of card and version.

    Parameters
    ----------
    xp : module
        CuPy.

    Raises
    ------
    OSError
        Where the library is not found.
    CublasError
        Where it refuses a call, with its name for the reason.
    """

    def __init__(self, xp: Any) -> None:
        self._xp, self._library = xp, load(xp.cuda.runtime.runtimeGetVersion() // 1000)
        self._workspace = xp.empty(WORKSPACE, "uint8")
        self._handle = c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        # Not when Python ends: the driver may have gone before.
        weakref.finalize(self, self._library.cublasDestroy_v2, self._handle).atexit = False
        self._call("cublasSetPointerMode_v2", self._handle, _HOST_POINTERS)
        self._call("cublasSetMathMode", self._handle, _DEFAULT_MATH)

    def product(self, a: Array, b: Array, out: Array, turned: Turned | None = None) -> None:
        """Write a b into `out` on the current stream, as :meth:`minipinet.cuda.launch.Launcher.product` has it."""
        if not out.size:
            return
        (rows, columns), inner = out.shape[-2:], a.shape[-2 if turned == "a" else -1]
        if not inner:
            out[...] = 0
            return
        self._call("cublasSetStream_v2", self._handle, self._xp.cuda.get_current_stream().ptr)
        # After each choice of a stream, which takes the library's own work space again.
        self._call("cublasSetWorkspace_v2", self._handle, self._workspace.data.ptr, WORKSPACE)
        letter, kind = ("S", c_float) if out.dtype == np.float32 else ("D", c_double)
        # The library goes down columns, so that it takes each array for its transpose: out^T = b^T a^T.
        second, first, last = ((x.data.ptr, x.shape[-1], x.shape[-2] * x.shape[-1]) for x in (b, a, out))
        self._call(
            f"cublas{letter}gemmStridedBatched", self._handle, int(turned == "b"), int(turned == "a"),
            columns, rows, inner, kind(1), *second, *first, kind(0), *last, out.size // (rows * columns),
        )  # fmt: skip

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise CublasError(f"{name}: {STATUS.get(status, f'status {status}')}")


def load(major: int) -> ctypes.CDLL:
    """Return cuBLAS for this version of CUDA, the one that CuPy uses, with the arguments of its functions declared."""
    tried = [f"libcublas.so.{major}", f"cublas64_{major}.dll"]
    # What newer CuPys find NVIDIA's libraries with; where it is not there, or finds nothing, the system may.
    with contextlib.suppress(Exception):
        found = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib("cublas").abs_path
        if Path(found).name.startswith(tuple(tried)):  # else another's: PyTorch may bring that of a newer CUDA
            tried.insert(0, found)
    for name in tried:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        for function, arguments in _ARGUMENTS.items():
            getattr(library, function).argtypes = arguments
        return library
    raise OSError(f"cuBLAS is not found: tried {', '.join(tried)}")
