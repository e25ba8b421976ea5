"""joblib's processes, begun and ended in an order in which nothing is left that its thread would stumble over."""

from __future__ import annotations

import math
import threading
import time
import weakref
from concurrent.futures import Future
from typing import Any

from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend

#: Seconds without work after which processes end by themselves: joblib's own.
IDLE = 300.0
#: Seconds to wait for a thread that hands tasks on in milliseconds, unless it has come to an end itself.
_PATIENCE = 10.0


class Processes(LokyBackend):  # type: ignore[misc]
    """The backend "loky", for one `joblib.Parallel`.

    A thread of the executor hands the tasks on to the processes. Told to end, it forgets those that are not done; when
    it still has one of them to hand on, it does not find it, and its traceback comes on the screen.

    Processes without work end by themselves after a while. When there are tasks again at that moment, the thread warns,
    and where warnings are errors it ends by that, so that nobody does the tasks and their caller waits for ever. So
    those that have been idle for half of that time are not used again.
    """

    _idle_since = math.inf  # of all instances, which have the same processes; at first there are none

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()  # again in a task's callback, which submits the next one
        self._ending = False
        self._submitted: weakref.WeakSet[Future[Any]] = weakref.WeakSet()  # those done are not kept

    def configure(self, *arguments: Any, **options: Any) -> int:
        """Find processes for so many jobs, or start them."""
        if time.monotonic() - Processes._idle_since > IDLE / 2:
            get_reusable_executor(reuse=True).shutdown(wait=True)
        jobs: int = super().configure(*arguments, idle_worker_timeout=IDLE, **options)
        return jobs

    def terminate(self) -> None:
        """Leave the processes for the next call."""
        super().terminate()
        Processes._idle_since = time.monotonic()

    def submit(self, func: Any, callback: Any = None) -> Future[Any]:
        """Submit a task; while the processes are ended, one that nobody does."""
        with self._lock:
            if self._ending:
                return Future()
            future: Future[Any] = super().submit(func, callback)
            self._submitted.add(future)
            return future

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """End the processes, as soon as all tasks have been handed on, for which there is always room."""
        with self._lock:
            self._ending = True
        given_up = time.monotonic() + _PATIENCE
        while time.monotonic() < given_up and not all(f.running() or f.done() for f in self._submitted):
            time.sleep(0.001)
        super().abort_everything(ensure_ready)
