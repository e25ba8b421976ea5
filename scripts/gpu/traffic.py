"""The bytes that a training step moves through a card's memory, from the shapes, and the bandwidth that a copy gets."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from minipinet._array import Array, to_host
from minipinet.cuda.step import backward, forward, make_batch, update
from minipinet.cuda.training import Card


class Counter:
    """In the place of a launcher: adds up the bytes that kernels and products are given, and runs nothing.

    Every array counts once for each kernel or product that takes it; of the data set's tables, which hold every graph,
    no more than a number for each element. What is read several times, or read and written, moves more; what the card's
    cache still holds from the kernel before moves less.
    """

    def __init__(self, table: set[int]) -> None:
        self.table, self.bytes = table, 0
        self.xp: Any = SimpleNamespace(finfo=np.finfo)

    def __call__(self, kernel: str, elements: int, *arguments: Any) -> None:
        arrays = {id(value): value for value in arguments if hasattr(value, "nbytes")}
        for key, array in arrays.items():
            self.bytes += min(array.nbytes, elements * array.itemsize) if key in self.table else array.nbytes

    def product(self, a: Array, b: Array, out: Array, *, turned: str | None = None) -> None:
        """Count a product: an operand that is turned is read where it lies."""
        self.bytes += a.nbytes + b.nbytes + out.nbytes


def step_bytes(card: Card) -> int:
    """Return the bytes of a step of all folds that a card holds."""
    table = card.table
    arrays = [table.ptr, table.X, table.count, table.y, *(array for layer in table.layers for array in layer)]
    counter: Any = Counter(set(map(id, arrays)))
    make_batch(counter, card.shape, table, card.buffers)
    forward(counter, card.shape, table.y, card.net, card.buffers)
    backward(counter, card.shape, card.net, card.buffers)
    update(counter, card.shape, card.rule, card.net, card.buffers)
    return int(counter.bytes)


def copy_bandwidth(xp: Any, megabytes: int, repeats: int = 5) -> float:
    """Return the most bytes a second that are read and written while an array is copied on the card."""
    source, target = xp.ones(megabytes << 18, xp.float32), xp.zeros(megabytes << 18, xp.float32)
    best = 0.0
    for _ in range(repeats + 1):  # the first one is slower
        to_host(target[:1])  # waits for what was begun before
        began = time.perf_counter()
        for _ in range(10):
            target[:] = source
        to_host(target[:1])
        best = max(best, 20 * source.nbytes / (time.perf_counter() - began))
    return best
