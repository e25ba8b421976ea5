"""Training: mini-batch Adam on the mean cross-entropy, one epoch after the other, each a step from state to state."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._array import Array
from minipinet.errors import DivergedError, UsageError
from minipinet.model import PiNetParams, init_params, loss_backward, loss_forward, pinet_forward, pq_values
from minipinet.optim import AdamState, adam_init, adam_step
from minipinet.quotient import GraphBatch, Quotient, make_batch
from minipinet.readout import softmax_cross_entropy_forward
from minipinet.settings import Settings

#: Graphs scored at a time; a graph's scores do not depend on it.
SCORED_AT_ONCE = 256


class EpochRecord(NamedTuple):
    """What one epoch did."""

    epoch: int  #: 1 for the first
    loss: float  #: mean cross-entropy over the training graphs in nats, each taken just before its batch's step
    accuracy: float  #: share of the training graphs labelled rightly, likewise
    p: tuple[float, ...]  #: after the epoch, in the order A0, A1, X0, X1
    q: tuple[float, ...]
    seconds: float  #: wall time, validation included
    validation_loss: float | None = None  #: nats, after the epoch
    validation_accuracy: float | None = None


class Best(NamedTuple):
    """The epoch with the lowest validation loss so far (the earliest among equals)."""

    epoch: int
    loss: float
    params: PiNetParams


class TrainState(NamedTuple):
    """Everything needed to go on training: plain data, which no function here changes."""

    params: PiNetParams
    adam: AdamState
    epoch: int  #: epochs done
    rng: np.random.Generator  #: decides the order of the graphs from here on
    history: tuple[EpochRecord, ...]
    best: Best | None  #: None unless settings.patience is set


class Evaluation(NamedTuple):
    """Some graphs, each scored once, in the order asked for."""

    index: Array  #: (n,) int64, numbers of the graphs
    logits: Array  #: (n, C)
    predictions: Array  #: (n,) int64, classes 0 to C - 1
    loss: float  #: mean cross-entropy in nats
    accuracy: float  #: share of right predictions


OnEpoch: TypeAlias = Callable[[TrainState], None]


def start(settings: Settings, d: int, C: int) -> TrainState:
    """Return the state before the first epoch.

    Parameters
    ----------
    settings : Settings
    d : int
        Number of features of a node.
    C : int
        Number of classes.

    Returns
    -------
    TrainState
        The generator comes from `settings.seed`; the initial weights are its first draws.
    """
    rng = np.random.default_rng(settings.seed)
    params = init_params(
        rng,
        d,
        C,
        hidden=settings.hidden,
        out=settings.out,
        bias=settings.bias,
        learned_pq=settings.learned_pq,
        init=settings.init,
        dtype=settings.dtype,
    )
    return TrainState(params, adam_init(params), 0, rng, (), None)


def fit(
    quotient: Quotient,
    y: Array,
    index: Array,
    settings: Settings,
    *,
    C: int,
    state: TrainState | None = None,
    validation_index: Array | None = None,
    on_epoch: OnEpoch | None = None,
) -> TrainState:
    """Train until `settings.epochs`, or until the validation loss has not fallen for `settings.patience` epochs.

    Parameters
    ----------
    quotient : Quotient
        G graphs.
    y : (G,) int array
        Class of each graph, 0 to C - 1.
    index : (n,) int array
        The graphs to train on. Each epoch visits each once, in an order drawn anew; the last batch may be short.
    settings : Settings
        Read: epochs, batch_size, lr, l2, pq, dtype, patience; the rest decides the start.
    C : int
        Number of classes.
    state : TrainState, optional
        Where to go on; the bits are those of a run without a break. Default: ``start(settings, d, C)``.
    validation_index : (m,) int array, optional
        Graphs scored after each epoch and never trained on.
    on_epoch : callable, optional
        Called with the state after each epoch.

    Returns
    -------
    TrainState
        After the last epoch; :func:`chosen_params` tells which weights to keep.

    Raises
    ------
    DivergedError
        When the loss or a weight becomes NaN or infinite, naming the epoch; `on_epoch` never sees that epoch.
    UsageError
        For labels or graph numbers that do not fit.

    Notes
    -----
    One BLAS thread, so that the bits do not depend on how busy or how large the machine is.
    """
    index, y = _graph_numbers("index", index, quotient), _class_numbers(y, quotient, C)
    validation = _validation_part(validation_index, quotient, settings)
    # Overflow is found by looking at the results, and told as a DivergedError.
    with threadpool_limits(limits=1), np.errstate(over="ignore", invalid="ignore"):
        if state is None:
            state = start(settings, quotient.X.shape[1], C)
        while not is_finished(state, settings):
            state = _epoch(state, quotient, y, index, settings, validation)
            if on_epoch is not None:
                on_epoch(state)
    return state


def is_finished(state: TrainState, settings: Settings) -> bool:
    """Return whether :func:`fit` has nothing left to do."""
    if settings.patience is not None and state.best is not None:
        return state.epoch >= min(settings.epochs, state.best.epoch + settings.patience)
    return state.epoch >= settings.epochs


def chosen_params(state: TrainState) -> tuple[PiNetParams, int]:
    """Return the weights to keep and the epoch they are from: the best one's with early stopping, else the last's."""
    return (state.params, state.epoch) if state.best is None else (state.best.params, state.best.epoch)


def evaluate(
    params: PiNetParams,
    pq: Array | None,
    quotient: Quotient,
    y: Array,
    index: Array,
    *,
    batch_size: int = SCORED_AT_ONCE,
) -> Evaluation:
    """Score each of the given graphs once.

    Parameters
    ----------
    params : PiNetParams
        Their dtype is the dtype of the computation.
    pq : (4, 2) array or None
        Fixed (p, q) of the layers (``settings.pairs``); None when they are learned.
    quotient : Quotient
        G graphs.
    y : (G,) int array
        Class of each graph, 0 to C - 1.
    index : (n,) int array
        The graphs to score.
    batch_size : int
        Graphs at a time; the scores do not depend on it.

    Returns
    -------
    Evaluation
    """
    index, y = _graph_numbers("index", index, quotient), _class_numbers(y, quotient, params.W_D.shape[1])
    return _score(params, pq, _batches(quotient, index, batch_size, str(params.W_D.dtype)), y, index)


def score(
    params: PiNetParams, pq: Array | None, quotient: Quotient, index: Array, *, batch_size: int = SCORED_AT_ONCE
) -> Array:
    """Return the logits (n, C) of graphs whose classes need not be known; arguments as in :func:`evaluate`."""
    index = _graph_numbers("index", index, quotient)
    with threadpool_limits(limits=1):
        return _logits(params, pq, _batches(quotient, index, batch_size, str(params.W_D.dtype)))


def _epoch(
    state: TrainState,
    quotient: Quotient,
    y: Array,
    index: Array,
    settings: Settings,
    validation: tuple[Array, list[GraphBatch]] | None,
) -> TrainState:
    began, epoch = time.perf_counter(), state.epoch + 1
    # A generator of its own: `state` stays what it was.
    rng = copy.deepcopy(state.rng)
    order = index[rng.permutation(len(index))]
    params, adam, pairs = state.params, state.adam, settings.pairs
    loss, right = 0.0, 0
    for at in range(0, len(order), settings.batch_size):
        chosen = order[at : at + settings.batch_size]
        batch = make_batch(quotient, chosen, settings.dtype)
        minimised, logits, cache = loss_forward(params, batch, y[chosen], pairs, settings.l2)
        if not math.isfinite(minimised):
            raise _diverged(epoch, f"the loss became {float(minimised)}", settings)
        # A sum over graphs, without the penalty: the epoch's mean then weighs graphs, not batches.
        loss -= float(cache.cross_entropy.log_probabilities[np.arange(len(chosen)), y[chosen]].sum())
        right += int(np.count_nonzero(logits.argmax(axis=1) == y[chosen]))
        params, adam = adam_step(params, loss_backward(cache), adam, settings.lr)
    for name, values in params._asdict().items():
        if values is not None and not np.isfinite(values).all():
            raise _diverged(epoch, f"{name} is no longer finite", settings)
    held_out = None
    if validation is not None:
        held_out = _score(params, pairs, validation[1], y, validation[0])
    p, q = (tuple(map(float, column)) for column in np.asarray(pq_values(params, pairs)).T)
    record = EpochRecord(
        epoch,
        loss / len(index),
        right / len(index),
        p,
        q,
        time.perf_counter() - began,
        None if held_out is None else held_out.loss,
        None if held_out is None else held_out.accuracy,
    )
    best = state.best
    if settings.patience is not None and held_out is not None and (best is None or held_out.loss < best.loss):
        best = Best(epoch, held_out.loss, params)
    return TrainState(params, adam, epoch, rng, (*state.history, record), best)


def _diverged(epoch: int, what: str, settings: Settings) -> DivergedError:
    return DivergedError(f"training diverged in epoch {epoch}: {what}; try a smaller lr (it is {settings.lr:g})")


def _batches(quotient: Quotient, index: Array, batch_size: int, dtype: str) -> list[GraphBatch]:
    return [make_batch(quotient, index[at : at + batch_size], dtype) for at in range(0, len(index), batch_size)]


def _logits(params: PiNetParams, pq: Array | None, batches: list[GraphBatch]) -> Array:
    return np.concatenate([pinet_forward(params, batch, pq)[0] for batch in batches])


def _score(params: PiNetParams, pq: Array | None, batches: list[GraphBatch], y: Array, index: Array) -> Evaluation:
    with threadpool_limits(limits=1):
        logits = _logits(params, pq, batches)
    predictions = logits.argmax(axis=1)
    loss, _ = softmax_cross_entropy_forward(logits, y[index])
    return Evaluation(index, logits, predictions, float(loss), float(np.mean(predictions == y[index])))


def _validation_part(
    index: Array | None, quotient: Quotient, settings: Settings
) -> tuple[Array, list[GraphBatch]] | None:
    """Return the held-out graphs and their batches, which are built once and scored after each epoch."""
    if index is None:
        if settings.patience is not None:
            raise UsageError("validation_index: early stopping (patience) needs graphs to validate on, got None")
        return None
    index = _graph_numbers("validation_index", index, quotient)
    return index, _batches(quotient, index, SCORED_AT_ONCE, settings.dtype)


def _graph_numbers(name: str, index: Array, quotient: Quotient) -> Array:
    G = quotient.counts.shape[0]
    numbers = np.asarray(index)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        raise UsageError(f"{name}: expected at least one graph number, in one row; got {index!r:.80}")
    if numbers.min() < 0 or numbers.max() >= G:
        raise UsageError(f"{name}: expected numbers from 0 to {G - 1}, got {numbers.min()} to {numbers.max()}")
    return numbers.astype(np.int64)


def _class_numbers(y: Array, quotient: Quotient, C: int) -> Array:
    G = quotient.counts.shape[0]
    classes = np.asarray(y)
    if classes.shape != (G,) or classes.dtype.kind not in "iu":
        raise UsageError(
            f"y: expected {G} whole numbers, one a graph; got shape {classes.shape}, dtype {classes.dtype}"
        )
    if G and (classes.min() < 0 or classes.max() >= C):
        raise UsageError(f"y: expected classes 0 to {C - 1}, got {classes.min()} to {classes.max()}")
    return classes.astype(np.int64)
