"""joblib's processes, ended in an order in which nothing is left that its thread would stumble over."""

from __future__ import annotations

import threading
import time
import weakref
from concurrent.futures import Future
from typing import Any

from joblib.parallel import LokyBackend

#: Seconds to wait for a thread that hands tasks on in milliseconds, unless it has come to an end itself.
_PATIENCE = 10.0


class Processes(LokyBackend):  # type: ignore[misc]
    """The backend "loky", for one `joblib.Parallel`.

    A thread of the executor hands the tasks on to the processes. Told to end, it forgets those that are not done; when
    it still has one of them to hand on, it does not find it, and its traceback comes on the screen.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()  # again in a task's callback, which submits the next one
        self._ending = False
        self._submitted: weakref.WeakSet[Future[Any]] = weakref.WeakSet()  # those done are not kept

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
