"""Epochs on a card for trainings that wait for them: of one model, or of several folds at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from minipinet._array import Array
from minipinet._card import card_failures
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import launcher
from minipinet.cuda.training import Card
from minipinet.lockstep import Ask, Trained
from minipinet.optim import AdamState
from minipinet.params import PiNetParams
from minipinet.quotient import Quotient
from minipinet.settings import Settings

#: Parameters, Adam's state, and the graphs to train on in their order.
Wanted: TypeAlias = tuple[PiNetParams, AdamState, Array]


class FoldsOnCard:
    """What trains an epoch of several folds at once, as :func:`minipinet.lockstep.together` asks for it.

    The data set goes to the card in the first call, with the folds that wait then; one that has ended stays there and
    idles. Parameters and moments go only when they are not those that the last call returned.

    Parameters
    ----------
    quotients : sequence of Quotient
        The data set as each fold has it encoded; folds with the same encoding may share one object, and then do so on
        the card.
    y : (G,) int array
    settings : Settings
        Read: batch_size, lr, l2, pq, dtype.
    """

    def __init__(self, quotients: Sequence[Quotient], y: Array, settings: Settings) -> None:
        self.quotients, self.y, self.settings = quotients, y, settings
        self._card: Card | None = None
        self._first: dict[int, int] = {}  # number on the card of each fold's graph 0
        self._held: dict[int, tuple[PiNetParams, AdamState]] = {}

    def __call__(self, asks: Mapping[int, Ask]) -> dict[int, Trained]:
        """Train an epoch of the folds that ask for one, by their numbers."""
        return self.epoch({k: ask[:3] for k, ask in asks.items()})

    def epoch(self, wanted: Mapping[int, Wanted]) -> dict[int, Trained]:
        """Train an epoch of each fold that is named."""
        with card_failures("a smaller batch_size" + " or folds_at_once" * (len(self.quotients) > 1)):
            return self._trained(wanted)

    def _trained(self, wanted: Mapping[int, Wanted]) -> dict[int, Trained]:
        card = self._card or self._begin(wanted)
        self._card = None  # until it has trained: one that failed in the middle holds what nobody knows
        waiting = {k: (params, adam) for k, (params, adam, _) in wanted.items()}
        if any(k not in self._held or not _same(self._held[k], state) for k, state in waiting.items()):
            states = [(self._held | waiting)[k] for k in self._first]
            card.load([params for params, _ in states], [adam for _, adam in states])
        none = np.empty(0, np.int64)
        orders = [wanted[k][2] + first if k in wanted else none for k, first in self._first.items()]
        sums = card.epoch(orders).tolist()
        self._held = dict(zip(self._first, zip(*card.read(), strict=True), strict=True))
        self._card = card
        return {
            k: (*self._held[k], loss, int(right))
            for k, (loss, right) in zip(self._first, sums, strict=True)
            if k in wanted
        }

    def _begin(self, wanted: Mapping[int, Wanted]) -> Card:
        distinct = {id(self.quotients[k]): self.quotients[k] for k in wanted}
        place = {key: i for i, key in enumerate(distinct)}
        self._held = {}
        self._first = {k: place[id(self.quotients[k])] * len(self.y) for k in wanted}
        dtype, n = self.settings.dtype, max(len(order) for _, _, order in wanted.values())
        tables = [graph_table(quotient, self.y, dtype) for quotient in distinct.values()]
        return Card(launcher(dtype), tables, [params for params, _, _ in wanted.values()], n, self.settings)


def card_epoch(
    quotient: Quotient, settings: Settings
) -> Callable[[Settings, PiNetParams, AdamState, Array, Array], Trained]:
    """Return what trains one model for an epoch on a card, as :class:`minipinet.network.Network` asks for it.

    The card keeps what it was made for: another training on the same network, with other labels, weights of other
    sizes, or another batch size or learning rate, begins with a new one. `l2`, `pq` and `dtype` are the network's.
    """
    folds: FoldsOnCard | None = None
    made_for: tuple[object, ...] = ()

    def train(own: Settings, params: PiNetParams, adam: AdamState, y: Array, order: Array) -> Trained:
        nonlocal folds, made_for
        shapes = [None if w is None else w.shape for w in params]
        asked = own.batch_size, own.lr, len(order), shapes, y.tobytes()
        if folds is None or asked != made_for:
            folds = None  # what it holds on the card goes first
            folds = FoldsOnCard([quotient], y.copy(), replace(settings, batch_size=own.batch_size, lr=own.lr))
            made_for = asked
        return folds.epoch({0: (params, adam, order)})[0]

    return train


def _same(a: tuple[PiNetParams, AdamState], b: tuple[PiNetParams, AdamState]) -> bool:
    return a[0] is b[0] and a[1] is b[1]
