"""What training calls in each step, batches, loss, gradients and Adam: compiled where Numba is installed, else NumPy.

The two forms have the same functions: `minipinet.fast.compiled` needs the extra `numba`; the modules beside it and
`minipinet.optim` serve elsewhere.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import parent_process
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet import optim
from minipinet._array import Array
from minipinet.batch import chosen_graphs
from minipinet.errors import UsageError, notify
from minipinet.fast import batch as numpy_batch
from minipinet.fast import model
from minipinet.fast.batch import FastBatch
from minipinet.network import Params
from minipinet.optim import AdamState
from minipinet.params import PiNetParams
from minipinet.quotient import Quotient

#: The modules of the compiled form.
PARTS = ("model", "adam", "selection")


@functools.cache
def compiled_form() -> dict[str, ModuleType] | None:
    """Return the modules of the compiled form by name, or None without Numba or with ``MINIPINET_NUMBA=0``.

    A Numba that cannot be used is passed over, with a notice. It compiles a function at its first call, for some 20
    seconds in all, and keeps it on disk.
    """
    if os.environ.get("MINIPINET_NUMBA") == "0" or importlib.util.find_spec("numba") is None:
        return None
    try:
        parts = {name: importlib.import_module(f"minipinet.fast.compiled.{name}") for name in PARTS}
        # Compile one now: what does not fit together would end a training in its first step.
        parts["model"].gates_forward(*np.zeros((2, 4), np.float32))
        return parts
    except Exception as error:  # whatever an installation that does not fit (another NumPy's, say) comes to
        notify(f"Numba is installed and cannot be used, so training is slower than it could be: {error}")
        return None


def compiled_for(*trees: Params) -> dict[str, ModuleType] | None:
    """Return the compiled form if it takes arrays like these: NumPy's in C order, floats of one dtype.

    Examples
    --------
    >>> from minipinet.params import init_params
    >>> params = init_params(np.random.default_rng(0), d=2, C=2, hidden=3, out=2)
    >>> compiled_for(params._replace(W_D=params.W_D.astype(complex))) is None
    True
    """
    kinds = {
        x.dtype.char if type(x) is np.ndarray and x.flags.carray else ""
        for tree in trees
        for x in tree
        if x is not None
    }
    return compiled_form() if kinds in ({"f"}, {"d"}) else None


@contextmanager
def training_threads(threads: int | None = None) -> Iterator[None]:
    """Compute on one thread or, asked for two, the compiled form on two; the bits are the same.

    Parameters
    ----------
    threads : 1 or 2, optional
        Default: what the environment's ``MINIPINET_THREADS`` says, else 1. Each stack has a thread to itself, and each
        half of the readout's rows. Products of BLAS have one in either case: its bits depend on their number.

    Raises
    ------
    UsageError
        If the environment says neither 1 nor 2.
    """
    threads = threads_asked() if threads is None else threads
    compiled = compiled_form() if threads == 2 else None
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(limits=1))
        if threads == 2 and not (compiled and stack.enter_context(compiled["model"].two_threads())):
            _say_that_one_thread_is_left()
        yield


def threads_asked() -> int:
    """Return what ``MINIPINET_THREADS`` says, 1 without it; a UsageError if that is neither 1 nor 2."""
    asked = os.environ.get("MINIPINET_THREADS", "1")
    if asked not in ("1", "2"):
        raise UsageError(f"MINIPINET_THREADS: expected 1 or 2, got {asked!r:.40}")
    return int(asked)


@functools.cache
def _say_that_one_thread_is_left() -> None:
    if parent_process() is None:  # the workers of --jobs have a processor each
        notify("MINIPINET_THREADS=2 takes two processors and Numba with OpenMP or TBB: training goes on with one")


def make_fast_batches(
    quotient: Quotient, index: Sequence[int] | Array, batch_size: int, dtype: str = "float32"
) -> Iterator[FastBatch]:
    """Cut `index` into batches and build one after the other; arguments and errors as for `make_batches`."""
    compiled = compiled_form()
    if compiled is None:
        yield from numpy_batch.make_fast_batches(quotient, index, batch_size, dtype)
        return
    index, batch_size = chosen_graphs(quotient, index, batch_size, dtype)
    select = compiled["selection"].selector(quotient, dtype)
    for at in range(0, len(index), batch_size):
        yield select(index[at : at + batch_size])


def loss_forward(
    params: PiNetParams, batch: FastBatch, y: Array, pq: Array | None = None, l2: float = 0.0
) -> tuple[Array, Any]:
    """Return the loss that training minimises, and a cache, as :func:`minipinet.model.loss_forward` does."""
    compiled = compiled_for(params)
    form = model if compiled is None or batch.X.dtype != params.W_D.dtype else compiled["model"]
    result: tuple[Array, Any] = form.loss_forward(params, batch, y, pq, l2)
    return result


def loss_backward(dloss: Any, cache: Any) -> PiNetParams:
    """Return the gradient of every parameter for a cotangent of the loss (1 to train)."""
    if isinstance(cache, model.LossCache):
        return model.loss_backward(dloss, cache)
    compiled = compiled_form()
    assert compiled is not None  # the cache is its own
    grads: PiNetParams = compiled["model"].loss_backward(dloss, cache)
    return grads


def adam_step(params: Params, grads: Params, state: AdamState, lr: float = 1e-3) -> tuple[Params, AdamState]:
    """Take one step as :func:`minipinet.optim.adam_step` does."""
    compiled = compiled_for(params, grads, state.m, state.v)
    if compiled is None:
        return optim.adam_step(params, grads, state, lr)
    result: tuple[Params, AdamState] = compiled["adam"].adam_step(params, grads, state, lr)
    return result
