"""The compiler of the loops in this folder, Numba (an extra), and how many threads they run on."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import parent_process
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from minipinet.errors import notify

Loop = TypeVar("Loop", bound=Callable[..., object])

_two_threads = ContextVar("two_threads", default=False)


#: Of all that is compiled here: Numba itself looks at the file of a function alone, and not at what it calls.
_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


class _Kept(FunctionCache):  # type: ignore[misc]
    """Compiled functions on disk; what cannot be read is compiled anew, and what cannot be written is left.

    A pair of files for each kind of arguments: with one index for all of them, two processes that compile at once can
    come by each other's code.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            self._take_files_of(sig, target_context.codegen())
            return super().load_overload(sig, target_context)
        except Exception:  # a file that was cut short or damaged
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._take_files_of(sig, data.codegen)
            super().save_overload(sig, data)
        except OSError as error:
            _say_once(
                f"what Numba compiles cannot be kept in {self.cache_path}, so the next run does it again: {error}"
            )

    def _take_files_of(self, sig: Any, codegen: Any) -> None:
        kind = hashlib.sha256(repr((str(sig), codegen.magic_tuple(), _DIGEST)).encode()).hexdigest()[:16]
        base, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = IndexDataCacheFile(self._cache_path, f"{base}-{kind}", stamp)


@functools.cache
def _say_once(text: str) -> None:
    notify(text)


class _Told(event.Listener):  # type: ignore[misc]
    """Says on a terminal, once, why a first step takes so long; not in workers, whose parent has said it."""

    told = False

    def on_start(self, event: Any) -> None:
        ours = (event.data["dispatcher"].py_func.__module__ or "").startswith(__package__)
        if ours and not self.told and parent_process() is None and sys.stderr is not None and sys.stderr.isatty():
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
    able = numba.config.NUMBA_NUM_THREADS >= 2 and _quick_threads()
    if not able:
        yield False
        return
    before, token = numba.get_num_threads(), _two_threads.set(True)
    try:
        numba.set_num_threads(2)
        yield True
    finally:
        _two_threads.reset(token)
        numba.set_num_threads(before)


_asking = Lock()


def _quick_threads() -> bool:
    with _asking:  # Numba's own pool ends a process in which two threads come to it at once
        return _threads_are_quick()


@functools.cache
def _threads_are_quick() -> bool:
    # Numba's own pool of threads takes 0.15 ms to wake one; those of OpenMP and of TBB wait for a while.
    try:
        _in_two(np.zeros(2))
        return numba.threading_layer() in ("omp", "tbb")
    except ValueError:  # no pool of threads, or not the one that the environment asks for
        return False


def _compiled(function: Loop, freedom: set[str], parallel: bool = False) -> Loop:
    # NaN and infinity keep their meaning: a training that diverges has to show it.
    loop: Any = numba.njit(nogil=True, error_model="numpy", fastmath=freedom, parallel=parallel)(function)
    with suppress(RuntimeError):  # there is no folder that the compiled loop could be kept in
        loop._cache = _Kept(function)
    return cast(Loop, loop)


@functools.partial(_compiled, freedom=set(), parallel=True)
def _in_two(x: Any) -> None:
    for k in numba.prange(2):
        x[k] += 1
