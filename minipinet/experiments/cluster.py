"""The only file that knows Dask: the same tasks on the workers of a cluster."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from minipinet.errors import MinipinetError, UsageError, notify

_T = TypeVar("_T")

#: Seconds to wait for an answer from the scheduler.
_PATIENCE = 10
#: Seconds to wait for a first worker without a word.
_SILENCE = 5


@contextlib.contextmanager
def cluster_at(address: str) -> Iterator[Any]:
    """Give a client of the Dask cluster at an address, closed when the block ends.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``"tcp://10.0.0.1:8786"``.

    Raises
    ------
    UsageError
        Without the extra ``cluster``; for what is no address; when no scheduler answers.
    """
    distributed = _distributed()
    try:
        _check_address(distributed, address)  # a client that fails over it would print a traceback when it goes
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:  # no answer; no address
        raise UsageError(f"scheduler: there is no Dask scheduler at {address!r} ({error})") from error
    with client:
        yield client


def run_on_cluster(
    function: Callable[..., _T], tasks: Sequence[tuple[Any, ...]], client: Any
) -> Generator[_T, None, None]:
    """Call `function` with each tuple of arguments on a Dask cluster, and give the results as they come.

    Dask runs a task again whose worker is lost. Close the iterator if it is not used up: what is left is cancelled.

    Parameters
    ----------
    function : callable
        Of a module that the workers can import.
    tasks : sequence of tuple
        Arguments, which are pickled on their way: connect to a cluster of your own only.
    client
        From :func:`cluster_at`. While there is no worker it is waited for, with a `Notice` after some seconds.

    Raises
    ------
    UsageError
        For workers of several threads, between which the number of BLAS threads, and with it the last bits, would be a
        matter of chance; a worker that comes later is refused by its first task.
    MinipinetError
        When the cluster is lost, or one task has cost several workers.
    Exception
        What `function` raises; a MinipinetError says that it comes from a worker, and from which.
    """
    if not tasks:
        return
    distributed = _distributed()
    _wait_for_a_worker(distributed, client)
    futures = client.map(partial(_call_alone, function), *zip(*tasks, strict=True), pure=False)
    try:
        for future in distributed.as_completed(futures, loop=client.loop):
            yield future.result()
            future.release()
    except distributed.KilledWorker as error:
        raise MinipinetError(
            f"scheduler: one task has cost several workers, perhaps for want of memory ({error})"
        ) from None
    except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
        raise MinipinetError(f"scheduler: the cluster at {client.scheduler.address} was lost") from error
    finally:
        client.cancel(futures, force=True)


def _check_address(distributed: ModuleType, address: str) -> None:
    """Raise a ValueError for what is no address of a scheduler, and one that needs certificates that are not there."""
    _, port = distributed.comm.get_address_host_port(address)
    if not 0 < port < 2**16:
        raise ValueError(f"expected a port from 1 to 65535, got {port}")
    encrypted = address.startswith(("tls://", "wss://"))
    if encrypted and not distributed.Security().get_connection_args("client").get("ssl_context"):
        raise ValueError("Dask's configuration names no certificates")


def _wait_for_a_worker(distributed: ModuleType, client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=_SILENCE)
    except distributed.TimeoutError:
        notify(f"waiting for workers at {client.scheduler.address}")
        client.wait_for_workers(1)


def _call_alone(function: Callable[..., _T], *task: Any) -> _T:
    """Call a function in a worker, which must have one thread: the check is there, since workers come and go."""
    threads = _distributed().get_worker().state.nthreads
    if threads > 1:
        raise UsageError(f"scheduler: expected workers of one thread (dask worker --nthreads 1), got one of {threads}")
    try:
        return function(*task)
    except MinipinetError as error:  # which may be no error elsewhere, such as a folder that is not there
        raise type(error)(f"{error} (on a worker, at {_distributed().get_worker().address})") from None


def _distributed() -> ModuleType:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise UsageError(f"scheduler: needs Dask: pip install 'minipinet[cluster]' ({error})") from error
