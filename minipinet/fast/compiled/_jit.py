"""The compiler of the loops in this folder, Numba (an extra), and how many threads they run on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import parent_process
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

Loop = TypeVar("Loop", bound=Callable[..., object])

_two_threads = ContextVar("two_threads", default=False)


class _Told(event.Listener):  # type: ignore[misc]
    """Says on a terminal, once, why a first step takes so long; not in workers, whose parent has said it."""

    told = False

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith(__package__)
        if ours and not self.told and sys.stderr.isatty() and parent_process() is None:
            print("\nNumba compiles what this machine has not run before, for some 20 seconds.", file=sys.stderr)
            self.told = True

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Told())


def compiled(function: Loop) -> Loop:
    """Compile a function at its first call, for each kind of arguments, and keep it on disk.

    A product and a sum may be rounded once (`contract`); every sum is taken as it is written.
    """
    return _compiled(function, {"contract"})


def summing(function: Loop) -> Loop:
    """Compile a function whose sums along a row may be taken in the order that suits the processor, always the same.

    Not for differences that are meant as they stand: x - x - log1p(r) may come out as x - (x + log1p(r)).
    """
    return _compiled(function, {"contract", "reassoc"})


def halving(function: Loop) -> Loop:
    """Compile a function twice, with its `prange` loops on one thread and on two; the bits are the same.

    Sums, and other arithmetic of whole arrays, belong into functions that it calls: here Numba would make loops on both
    threads of them too.
    """
    twin = cast(Loop, FunctionType(function.__code__, function.__globals__, function.__name__))
    twin.__qualname__ = f"{function.__qualname__}_on_two"  # the name by which Numba keeps it on disk
    one, two = _compiled(function, {"contract"}), _compiled(twin, {"contract"}, parallel=True)

    @functools.wraps(function)
    def call(*arguments: Any) -> object:
        return (two if _two_threads.get() else one)(*arguments)

    return cast(Loop, call)


@contextmanager
def two_threads() -> Iterator[bool]:
    """Let what is `halving` run on two threads, if this machine's Numba can hand work over in less than it takes."""
    before = numba.get_num_threads()
    able = numba.config.NUMBA_NUM_THREADS >= 2 and _quick_threads()
    token = _two_threads.set(able)
    try:
        if able:
            numba.set_num_threads(2)
        yield able
    finally:
        _two_threads.reset(token)
        numba.set_num_threads(before)


@functools.cache
def _quick_threads() -> bool:
    # Numba's own pool of threads takes 0.15 ms to wake one; those of OpenMP and of TBB wait for a while.
    try:
        _in_two(np.zeros(2))
        return numba.threading_layer() in ("omp", "tbb")
    except ValueError:  # no pool of threads at all
        return False


def _compiled(function: Loop, freedom: set[str], parallel: bool = False) -> Loop:
    # NaN and infinity keep their meaning: a training that diverges has to show it.
    options = {"nogil": True, "error_model": "numpy", "fastmath": freedom, "parallel": parallel}
    try:
        return _jit(function, cache=True, **options)
    except RuntimeError:  # there is no folder that the compiled loop could be kept in
        return _jit(function, **options)


def _jit(function: Loop, **options: Any) -> Loop:
    compiled: Loop = numba.njit(**options)(function)
    return compiled


@functools.partial(_compiled, freedom=set(), parallel=True)
def _in_two(x: Any) -> None:
    for k in numba.prange(2):
        x[k] += 1
