"""Batches for both stacks at once, in which a graph that occurs twice is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.batch import SelectedRows, select_batches
from minipinet.quotient import Quotient


class Entries(NamedTuple):
    """Which level-2 states each of the K kinds of graph in a batch holds: kind k the entries ptr[k]:ptr[k+1]."""

    ptr: Array  #: (K + 1,) int32
    state: Array  #: (E,) int32, 0 to n_2 - 1
    count: Array  #: (E,) how many of its nodes are in that state


class FastBatch(NamedTuple):
    """Some graphs of a data set, ready for `minipinet.fast.model`."""

    X: Array  #: (n_0, d) features of the level-0 colours in the batch
    layers: tuple[SelectedRows, SelectedRows]
    entries: Entries
    kind: Array  #: (B,) int, 0 to K - 1, the kind of each graph


def make_fast_batches(
    quotient: Quotient, index: Sequence[int] | Array, batch_size: int, dtype: str = "float32"
) -> Iterator[FastBatch]:
    """Cut `index` into batches and build one after the other; arguments and errors as for `make_batches`."""
    for (X, first, second, ptr, state, count), kind in select_batches(quotient, index, batch_size, dtype, once=True):
        yield FastBatch(X, (first, second), Entries(ptr.astype(np.int32), state, count), kind)
