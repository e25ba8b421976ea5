"""Trainings epoch by epoch: each asks for its next one, and is given it alone or together with those of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from minipinet._array import Array
from minipinet.errors import CardError, DataError, DivergedError
from minipinet.fast.training import adam_step, training_threads
from minipinet.network import Network, Params
from minipinet.optim import AdamState
from minipinet.settings import Settings

_T = TypeVar("_T")

#: New parameters, Adam's new state, and over the epoch's graphs the sum of the losses and the number of right answers.
Trained: TypeAlias = tuple[Params, AdamState, float, int]


class Ask(NamedTuple):
    """The epoch that a training waits for."""

    params: Params
    adam: AdamState
    order: Array  #: (n,) int, the graphs to train on, one after the other
    here: Callable[[], Trained]  #: trains it where the network says


class Outcome(NamedTuple):
    """What a training is sent for it."""

    params: Params
    adam: AdamState
    loss: float  #: sum over the epoch's graphs, in nats
    right: int
    seconds: float  #: of epochs that were trained together, each has its equal share


#: A training as a generator: it yields an `Ask` for each epoch, is sent the `Outcome`, and returns what it came to.
Training: TypeAlias = Generator[Ask, Outcome, _T]


def together(
    trainings: Sequence[Training[_T]], epochs: Callable[[Mapping[int, Ask]], Mapping[int, Trained]]
) -> Generator[_T, None, None]:
    """Take several trainings from epoch to epoch, and give what each came to as it ends.

    Parameters
    ----------
    trainings : sequence of Training
    epochs : callable
        Trains an epoch of those that still go on, by their numbers in `trainings`.

    Raises
    ------
    DivergedError, DataError
        The one of the first training that diverged or, if none has, that came upon a DataError; after all others have
        come to their end.
    CardError
        When a card fails, which trains them all; the others have been handed their last epoch.

    Notes
    -----
    One BLAS thread, so that the bits do not depend on how busy or how large the machine is
    (`minipinet.fast.training.training_threads`).

    Examples
    --------
    >>> def training(name, epochs):
    ...     for _ in range(epochs):
    ...         yield Ask(None, None, None, None)
    ...     return name
    >>> trainings = [training("long", 3), training("short", 1)]
    >>> list(together(trainings, lambda asks: dict.fromkeys(asks, (None, None, 0.0, 0))))
    ['short', 'long']
    """
    outcomes: dict[int, Outcome | None] = dict.fromkeys(range(len(trainings)))
    failed: dict[tuple[bool, int], DivergedError | DataError] = {}
    lost: CardError | None = None
    with training_threads():
        while outcomes:
            asks: dict[int, Ask] = {}
            for k, outcome in outcomes.items():
                try:
                    asks[k] = next(trainings[k]) if outcome is None else trainings[k].send(outcome)
                except StopIteration as end:
                    yield end.value
                except (DivergedError, DataError) as error:
                    failed[isinstance(error, DataError), k] = error
                except CardError as error:  # told when the others have kept what they have
                    lost = lost or error
            if lost is not None:
                raise lost
            began = time.perf_counter()
            # Overflow is found by looking at the results, and told as a DivergedError.
            with np.errstate(over="ignore", invalid="ignore"):
                trained = epochs(asks) if asks else {}
            share = (time.perf_counter() - began) / max(len(asks), 1)
            outcomes = {k: Outcome(*found, share) for k, found in trained.items()}
    if failed:
        raise failed[min(failed)]


def alone(training: Training[_T]) -> _T:
    """Take one training to its end, each epoch where its network says, and return what it came to."""
    (result,) = together([training], lambda asks: {k: ask.here() for k, ask in asks.items()})
    return result


def train_batches(
    network: Network,
    settings: Settings,
    rng: np.random.Generator,
    params: Params,
    adam: AdamState,
    y: Array,
    order: Array,
) -> Trained:
    """Train an epoch on this processor: a step for each batch of graphs in this order."""
    loss, right = 0.0, 0
    batches = network.batches(order, settings.batch_size, rng)
    for at, batch in zip(range(0, len(order), settings.batch_size), batches, strict=True):
        chosen = order[at : at + settings.batch_size]
        _, cache = network.loss_forward(params, batch, y[chosen])
        log_probabilities = cache.cross_entropy.log_probabilities
        # A sum over graphs, without the penalty: the epoch's mean then weighs graphs, not batches.
        loss -= float(log_probabilities[np.arange(len(chosen)), y[chosen]].sum())
        right += int(np.count_nonzero(log_probabilities.argmax(axis=1) == y[chosen]))
        params, adam = adam_step(params, network.loss_backward(1.0, cache), adam, settings.lr)
    return params, adam, loss, right
