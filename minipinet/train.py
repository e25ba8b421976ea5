"""Training: mini-batch Adam on the mean cross-entropy, one epoch after the other, each a step from state to state.

`fit` trains PiNet; `fit_network` is the loop, for any network.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from minipinet._array import Array
from minipinet._host import numbers_below, refuse_card
from minipinet.errors import UsageError
from minipinet.evaluation import SCORED_AT_ONCE, check_width, class_numbers, score_batches
from minipinet.lockstep import Ask, Training, alone, train_batches
from minipinet.network import Batch, Network, Params
from minipinet.optim import AdamState, adam_init
from minipinet.pinet_network import init_pinet, pinet_network
from minipinet.quotient import Quotient
from minipinet.settings import Settings, whole
from minipinet.splits import check_classes
from minipinet.state_check import check_finite, check_state, named_arrays


class EpochRecord(NamedTuple):
    """What one epoch did."""

    epoch: int  #: 1 for the first
    loss: float  #: mean cross-entropy over the epoch's graphs in nats, each taken just before its batch's step
    accuracy: float  #: share of the epoch's graphs labelled rightly, likewise
    p: tuple[float, ...]  #: after the epoch, in the order A0, A1, X0, X1; empty for a network that has none
    q: tuple[float, ...]
    seconds: float  #: wall time, validation included
    validation_loss: float | None = None  #: nats, after the epoch
    validation_accuracy: float | None = None


class Best(NamedTuple):
    """The epoch with the lowest validation loss so far (the earliest among equals)."""

    epoch: int
    loss: float
    params: Params


class TrainState(NamedTuple):
    """Everything needed to go on training: plain data, which no function here changes."""

    params: Params
    adam: AdamState
    epoch: int  #: epochs done
    rng: np.random.Generator  #: decides the order of the graphs from here on
    history: tuple[EpochRecord, ...]
    best: Best | None  #: None unless settings.patience is set

    def __repr__(self) -> str:
        last = f": loss {self.history[-1].loss:.4f}, accuracy {self.history[-1].accuracy:.3f}" if self.history else ""
        return f"TrainState(epoch {self.epoch}{last})"


class _Validation(NamedTuple):
    """The held-out graphs, and their batches: made once, scored after each epoch."""

    index: Array
    batches: list[Batch]


OnEpoch: TypeAlias = Callable[[TrainState], None]


def start(settings: Settings, d: int, C: int) -> TrainState:
    """Return PiNet's state before the first epoch.

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
    return _start(partial(init_pinet, settings=settings, d=d, C=C), settings.seed)


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
    """Train PiNet until `settings.epochs`, or until the validation loss has not fallen for `settings.patience` epochs.

    Parameters
    ----------
    quotient : Quotient
        G graphs.
    y : (G,) int array
        Class of each graph, 0 to C - 1.
    index : (n,) int array
        The graphs to train on. Each epoch visits each once, in an order drawn anew; the last batch may be short. With
        `settings.steps_per_epoch` it ends after so many batches. A graph may be there twice on the CPU alone.
    settings : Settings
        Read: epochs, batch_size, steps_per_epoch, lr, l2, pq, dtype, patience; the rest decides the start.
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
        When the loss, a weight or a moment of Adam's becomes NaN or infinite, naming the epoch; `on_epoch` never sees
        that epoch.
    CardError
        When a card fails.
    UsageError
        For labels, graph numbers or a state that do not fit, and training graphs of a single class.

    Notes
    -----
    One BLAS thread, so that the bits do not depend on how busy or how large the machine is.
    """
    refuse_card("state", state)
    if state is not None:
        check_width(state.params, quotient)
        check_state(state.params, state.adam, settings, whole("C", C))
    network = pinet_network(quotient, settings, C)
    return fit_network(network, y, index, settings, state=state, validation_index=validation_index, on_epoch=on_epoch)


def fit_network(
    network: Network,
    y: Array,
    index: Array,
    settings: Settings,
    *,
    state: TrainState | None = None,
    validation_index: Array | None = None,
    on_epoch: OnEpoch | None = None,
) -> TrainState:
    """Train any network; arguments, result, errors and notes as for :func:`fit`.

    Of the settings it reads epochs, batch_size, steps_per_epoch, lr, seed and patience; the network has read the rest.
    """
    return alone(training(network, y, index, settings, state, validation_index, on_epoch))


def training(
    network: Network,
    y: Array,
    index: Array,
    settings: Settings,
    state: TrainState | None,
    validation_index: Array | None,
    on_epoch: OnEpoch | None,
) -> Training[TrainState]:
    """Train as :func:`fit_network` does, each epoch being left to who runs this generator (`minipinet.lockstep`)."""
    refuse_card("state", state)
    index, y = numbers_below("index", index, network.G), class_numbers(y, network.G, network.C)
    check_classes("y", y[index])
    if network.epoch is not None and np.bincount(index).max() > 1:
        # What a card has room for is the largest batch of different graphs.
        raise UsageError(f"index: expected different graphs on a card, got graph {np.bincount(index).argmax()} again")
    validation = _validation(validation_index, network, settings)
    if state is None:
        state = _start(network.init, settings.seed)
    while not is_finished(state, settings):
        state = yield from _epoch(state, network, y, index, settings, validation)
        if on_epoch is not None:
            on_epoch(state)
    return state


def is_finished(state: TrainState, settings: Settings) -> bool:
    """Return whether :func:`fit` has nothing left to do."""
    if settings.patience is not None and state.best is not None:
        return state.epoch >= min(settings.epochs, state.best.epoch + settings.patience)
    return state.epoch >= settings.epochs


def chosen_params(state: TrainState) -> tuple[Params, int]:
    """Return the weights to keep and the epoch they are from: the best one's with early stopping, else the last's."""
    return (state.params, state.epoch) if state.best is None else (state.best.params, state.best.epoch)


def _start(init: Callable[[np.random.Generator], Params], seed: int) -> TrainState:
    rng = np.random.default_rng(seed)
    params = init(rng)
    return TrainState(params, adam_init(params), 0, rng, (), None)


def _epoch(
    state: TrainState, network: Network, y: Array, index: Array, settings: Settings, validation: _Validation | None
) -> Training[TrainState]:
    began, epoch = time.perf_counter(), state.epoch + 1
    # A generator of its own: `state` stays what it was.
    rng = copy.deepcopy(state.rng)
    order = index[rng.permutation(len(index))]
    if settings.steps_per_epoch is not None:
        order = order[: settings.steps_per_epoch * settings.batch_size]
    if network.epoch is None:
        train = partial(train_batches, network, settings, rng)
    else:
        train = partial(network.epoch, settings)
    drawn = time.perf_counter() - began
    params, adam, loss, right, elsewhere = yield Ask(
        state.params, state.adam, order, partial(train, state.params, state.adam, y, order)
    )
    began = time.perf_counter()
    best = state.best
    scores: tuple[float | None, float | None] = (None, None)
    # The moments too: where one is infinite, its weight stands still and looks well.
    for name, values in [("the loss", loss), *named_arrays(params, adam)]:
        check_finite(name, values, epoch, settings)
    if validation is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            placed = network.placed(params)
            held_out = score_batches(network.scores, placed, validation.batches, y, validation.index)
        check_finite("the validation loss", held_out.loss, epoch, settings)
        scores = held_out.loss, held_out.accuracy
        if settings.patience is not None and (best is None or held_out.loss < best.loss):
            best = Best(epoch, held_out.loss, params)
    p, q = (tuple(map(float, column)) for column in network.pq(params).T)
    seconds = drawn + elsewhere + time.perf_counter() - began
    record = EpochRecord(epoch, loss / len(order), right / len(order), p, q, seconds, *scores)
    return TrainState(params, adam, epoch, rng, (*state.history, record), best)


def _validation(index: Array | None, network: Network, settings: Settings) -> _Validation | None:
    if index is None:
        if settings.patience is not None:
            raise UsageError("validation_index: early stopping (patience) needs graphs to validate on, got None")
        return None
    index = numbers_below("validation_index", index, network.G)
    return _Validation(index, list(network.batches(index, SCORED_AT_ONCE, None)))
