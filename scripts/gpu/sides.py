"""minipinet's own sides of the benchmark, in its process: they answer as a peer's process does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from minipinet.cuda.dataset import GraphTable
from minipinet.cuda.launch import Launcher
from minipinet.cuda.training import Card
from minipinet.lockstep import train_batches
from minipinet.optim import adam_init
from minipinet.params import PiNetParams
from minipinet.pinet_network import pinet_network
from minipinet.quotient import Quotient
from minipinet.settings import Settings

Arrays = Mapping[str, np.ndarray]
#: A mean loss, or that of each fold.
Loss = float | np.ndarray


class Side:
    """A training from the problem's weights through the problem's orders."""

    def __init__(self, arrays: Arrays) -> None:
        self.initial = PiNetParams(*(arrays.get(name) for name in PiNetParams._fields))
        self.y, self.orders = arrays["y"], arrays["orders"]
        self.settings = Settings(batch_size=int(arrays["batch_size"]), lr=float(arrays["lr"]))

    def restart(self) -> None:
        """Go back to the initial weights and Adam's first step."""
        raise NotImplementedError

    def epoch(self, number: int, graphs: int | None = None) -> Loss:
        """Train on the graphs of the order of this number (the first of them alone); return their mean loss."""
        raise NotImplementedError

    def loss(self) -> Loss:
        """Return the loss of the initial weights on the first batch."""
        self.restart()
        return self.epoch(0, min(self.settings.batch_size, len(self.y)))

    def epochs(self, least: float) -> dict[str, Any]:
        """Train from the initial weights for an epoch, and go on until `least` seconds are over."""
        self.restart()
        loss: Loss = 0.0
        epochs, began = 0, time.perf_counter()
        while (seconds := time.perf_counter() - began) < least or not epochs:
            loss = self.epoch(epochs)
            epochs += 1
        return {"seconds": seconds / epochs, "epochs": epochs, "loss": loss}

    def close(self) -> None:
        """Do nothing: there is no process to end."""


class OnCpu(Side):
    """An epoch as training takes it without a card; the caller holds BLAS to one thread."""

    def __init__(self, arrays: Arrays, quotient: Quotient, C: int) -> None:
        super().__init__(arrays)
        self.network = pinet_network(quotient, self.settings, C)

    def restart(self) -> None:
        self.params, self.adam = self.initial, adam_init(self.initial)

    def epoch(self, number: int, graphs: int | None = None) -> Loss:
        order = self.orders[number % len(self.orders)][:graphs]
        rng = np.random.default_rng(0)  # nothing is drawn from it
        self.params, self.adam, loss, _ = train_batches(
            self.network, self.settings, rng, self.params, self.adam, self.y, order
        )
        return loss / len(order)


class OnCard(Side):
    """An epoch of K folds on a card: orders there, steps, and losses, weights and moments back, as training has it."""

    def __init__(self, arrays: Arrays, table: GraphTable, launch: Launcher, K: int, *, captured: bool = True) -> None:
        super().__init__(arrays)
        self.K = K
        self.card = Card(launch, [table], [self.initial] * K, len(self.y), self.settings, captured=captured)

    def restart(self) -> None:
        self.card.load([self.initial] * self.K, [adam_init(self.initial)] * self.K)

    def epoch(self, number: int, graphs: int | None = None) -> Loss:
        orders = [self.orders[number % len(self.orders)][:graphs]] * self.K
        sums = self.card.epoch(orders)
        self.card.read()
        return sums[:, 0] / len(orders[0])
