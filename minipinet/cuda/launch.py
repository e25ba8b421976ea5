"""Kernels by name, on CuPy arrays: compiled once from the sources beside this file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from minipinet._array import Array, card_library
from minipinet._card import reason_of
from minipinet.cuda.cublas import Cublas, Turned
from minipinet.errors import notify

#: Threads of a block. No kernel shares anything in a block, so it is a matter of speed alone.
BLOCK = 128
SOURCES = ("batch", "propagation", "readout", "adam")
#: How the Notice begins that a step is not captured; the reason follows in brackets.
NOT_CAPTURED = "a training step could not be captured"
_REAL = {"float32": "float", "float64": "double"}


class Launcher(Protocol):
    """Where kernels run: on a card, or compiled for the host in a test."""

    xp: Any  #: array library of the arguments

    def __call__(self, kernel: str, elements: int, /, *arguments: Array | int | float | None) -> None:
        """Run a kernel with one thread for each of `elements`; None is a null pointer."""

    def product(self, a: Array, b: Array, out: Array, *, turned: Turned | None = None) -> None:
        """Write a b into `out`, for each place along the axes before the last two; all three are C-contiguous.

        The operand that `turned` names counts as its transpose, read where it lies.
        """

    def capture(self, run: Callable[[], None]) -> Callable[[], None] | None:
        """Return a function that does again what `run` does, after doing it once; None where only `run` itself can.

        A card is given `run` a second time to record it, which computes nothing.
        """


def source(name: str) -> str:
    """Return the text of a kernel file, what all of them begin with included.

    Examples
    --------
    >>> "propagate_forward" in source("propagation")
    True
    """
    folder = Path(__file__).parent
    return "".join((folder / file).read_text(encoding="utf-8") for file in ("common.h", f"{name}.cu"))


class CardLauncher:
    """Kernels on the current device and stream.

    Parameters
    ----------
    dtype : "float32" or "float64"
        Of every real array.
    """

    def __init__(self, dtype: str) -> None:
        self.xp = card_library()
        self._kernels = _compile(_REAL[dtype])
        self._cublas = Cublas(self.xp)

    def __call__(self, kernel: str, elements: int, *arguments: Array | int | float | None) -> None:
        """Run a kernel."""
        if elements:
            self._kernels[kernel]((-(-elements // BLOCK),), (BLOCK,), tuple(map(_argument, arguments)))

    def product(self, a: Array, b: Array, out: Array, *, turned: Turned | None = None) -> None:
        """Multiply, by cuBLAS itself.

        CuPy's own ``matmul`` copies operands that are not C-contiguous into memory that it allocates then, and any of
        its calls of cuBLAS is refused while a step is captured.
        """
        self._cublas.product(a, b, out, turned)

    def capture(self, run: Callable[[], None]) -> Callable[[], None] | None:
        """Return a function that replays what `run` launches; None, with a Notice, where it cannot be captured.

        `run` is run once before, so that kernels are compiled and libraries have their work space.
        """
        try:
            # Not blocking: while any other is captured, what other threads do on the default stream would fail.
            stream, here = self.xp.cuda.Stream(non_blocking=True), self.xp.cuda.get_current_stream()
            here.synchronize()  # from here on what lies in the buffers is there for every stream
            with stream:
                try:
                    run()
                except BaseException:
                    with suppress(Exception):  # what it launched is over before others write into the same buffers
                        stream.synchronize()
                    raise
                stream.synchronize()
                stream.begin_capture()
                try:
                    run()
                except BaseException:
                    with suppress(Exception):  # that the capture has ended is no reason
                        stream.end_capture()
                    raise
                graph = stream.end_capture()
        except Exception as error:  # of a driver, of a library that must not be captured, of a CuPy without graphs
            notify(f"{NOT_CAPTURED}, and is launched kernel by kernel ({reason_of(error)})")
            return None
        # On the stream that is the current one then: there the batches' numbers are written and the sums are read.
        return lambda: graph.launch()


def launcher(dtype: str) -> Launcher:
    """Return what runs kernels on the current card."""
    return CardLauncher(dtype)


def _argument(value: Array | int | float | None) -> Any:
    if value is None:
        return np.uintp(0)
    if isinstance(value, bool | int):
        return np.int64(value)
    return np.float64(value) if isinstance(value, float) else value


@lru_cache
def _compile(real: str) -> dict[str, Any]:
    """Compile every source for the current device; CuPy keeps the result on disk, so that this is slow once only."""
    library = card_library()
    kernels: dict[str, Any] = {}
    for file in SOURCES:
        module = library.RawModule(code=source(file), options=(f"-DREAL={real}",))
        kernels |= {name: module.get_function(name) for name in names(file)}
    return kernels


def names(file: str) -> list[str]:
    """Return the names of the kernels of a source file.

    Examples
    --------
    >>> names("adam")
    ['adam', 'next_batch']
    """
    words = source(file).split('extern "C" __global__ void ')[1:]
    return [text[: text.index("(")] for text in words]
