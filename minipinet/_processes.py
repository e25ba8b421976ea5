"""Tasks in several processes: interrupted in one place, and never in the way of the next call."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from minipinet.errors import MinipinetError, notify

_T = TypeVar("_T")

_WATCH_SECONDS = 0.5


class ProcessLostError(MinipinetError):
    """One of the processes was ended from outside, and took the tasks that were not finished with it."""


def run_tasks(function: Callable[..., _T], tasks: Iterable[tuple[Any, ...]], jobs: int) -> Generator[_T, None, None]:
    """Call `function` with each tuple of arguments, and give the results as they come; with one job, in order.

    Close the iterator if it is not used up: then the processes have ended when the closing returns.

    Raises
    ------
    ProcessLostError
        When a process was ended from outside. What `function` raises comes through as it is.

    Examples
    --------
    >>> list(run_tasks(pow, [(2, 3), (3, 2)], jobs=1))
    [8, 9]
    """
    if jobs == 1:
        yield from (function(*task) for task in tasks)
        return
    from joblib import Parallel, delayed, parallel

    from minipinet._loky import Processes

    if parallel.mp is None:
        notify("jobs: joblib can start no processes here (its JOBLIB_MULTIPROCESSING=0 says so), so this one does all")

    # Arrays go to the processes as they are: no files, and the same memory layout as with one job.
    options = {"n_jobs": jobs, "max_nbytes": None, "initializer": _end_with, "initargs": (os.getpid(),)}
    with _interrupts_held():  # starts the processes, which the next call finds
        Parallel(backend=Processes(), **options)([delayed(int)()] * jobs)
    results = None
    try:
        parallel = Parallel(backend=Processes(), return_as="generator_unordered", **options)
        results = parallel(delayed(function)(*task) for task in tasks)
        # Not `yield from`, which would close `results` first, outside of the filter below.
        for result in results:  # noqa: UP028
            yield result
    except BrokenProcessPool:
        raise ProcessLostError(
            "jobs: one of the processes was ended from outside, perhaps for want of memory; fewer jobs need less"
        ) from None
    finally:
        if results is not None:
            with warnings.catch_warnings():
                # joblib warns that tasks were left undone, which is what closing is for.
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def _end_with(owner: int) -> None:
    """End this process when `owner`, its parent, has ended, whatever this one is doing or waiting for.

    Its pipes would not tell: it holds both ends of those that it reads its tasks from. The process `owner` may be
    killed at any moment, so it cannot tell either.
    """

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back for a moment: processes started in it never see one, and this process sees it at the end.

    Ctrl-C goes to every process of a terminal. The one that waits for the others ends them; without this each of them
    would print a traceback of its own.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    for tracker in (resource_tracker, loky_tracker):
        tracker.ensure_running()  # begun below, some versions of them would let interrupts through again
    # Processes take over the mask of signals but no handler. A mask is for one thread, and a signal for any, so this
    # process needs a handler, which only its main thread may set.
    held: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    handles = handler is not None and threading.current_thread() is threading.main_thread()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        if handles:
            signal.signal(signal.SIGINT, lambda number, _: held.append(number))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if handles:
            signal.signal(signal.SIGINT, handler)
            if held:
                signal.raise_signal(signal.SIGINT)
