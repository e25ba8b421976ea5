"""The only file that knows Dask: the same tasks on the workers of a cluster."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Sequence
from types import ModuleType
from typing import Any, TypeVar

from minipinet.errors import MinipinetError, UsageError

_T = TypeVar("_T")

#: Seconds to wait for an answer from the scheduler.
_PATIENCE = 10


def run_on_cluster(
    function: Callable[..., _T], tasks: Sequence[tuple[Any, ...]], address: str
) -> Generator[_T, None, None]:
    """Call `function` with each tuple of arguments on a Dask cluster, and give the results as they come.

    Dask runs a task again whose worker is lost. Close the iterator if it is not used up: what is left is cancelled.

    Parameters
    ----------
    function : callable
        Of a module that the workers can import.
    tasks : sequence of tuple
        Arguments, which are pickled on their way: connect to a cluster of your own only.
    address : str
        Of the scheduler, such as ``"tcp://10.0.0.1:8786"``.

    Raises
    ------
    UsageError
        Without the extra ``cluster``; when no scheduler answers; for workers of several threads, between which
        the number of BLAS threads, and with it the last bits, would be a matter of chance.
    MinipinetError
        When the cluster is lost, or one task has cost several workers. What `function` raises comes through as it is.
    """
    if not tasks:
        return
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:  # no answer; no address
        raise UsageError(f"scheduler: there is no Dask scheduler at {address!r} ({error})") from error
    with client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        threads = max((worker["nthreads"] for worker in workers.values()), default=1)
        if threads > 1:
            raise UsageError(
                f"scheduler: expected workers of one thread (dask worker --nthreads 1), got one of {threads}"
            )
        futures = client.map(function, *zip(*tasks, strict=True), pure=False)
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                yield future.result()
                future.release()
        except distributed.KilledWorker as error:
            raise MinipinetError(
                f"scheduler: one task has cost several workers, perhaps for want of memory ({error})"
            ) from None
        except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
            raise MinipinetError(f"scheduler: the cluster at {address} was lost") from error
        finally:
            client.cancel(futures, force=True)


def _distributed() -> ModuleType:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise UsageError(f"scheduler: needs Dask: pip install 'minipinet[cluster]' ({error})") from error
