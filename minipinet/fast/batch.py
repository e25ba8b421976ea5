"""Batches for both stacks at once, in which a graph that occurs twice is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.batch import SelectedRows, select_batches
from minipinet.fast.csr import Structure
from minipinet.fast.propagation import Layer
from minipinet.quotient import Quotient


class FastBatch(NamedTuple):
    """Some graphs of a data set, ready for `minipinet.fast.model`."""

    X: Array  #: (n_0, d) features of the level-0 colours in the batch
    layers: tuple[Layer, Layer]
    counts: Structure  #: (K, n_2) level-2 colours of each of the K kinds of graph in the batch
    count: Array  #: (E,) and how often it holds them
    kind: Array  #: (B,) int, 0 to K - 1, the kind of each graph


def make_fast_batches(
    quotient: Quotient, index: Sequence[int] | Array, batch_size: int, dtype: str = "float32"
) -> Iterator[FastBatch]:
    """Cut `index` into batches and build one after the other; arguments and errors as for `make_batches`."""
    selection = select_batches(quotient, index, batch_size, dtype, once=True)
    for (X, first, second, ptr, state, count), kind in selection:
        counts = Structure(ptr.astype(np.int32), state, len(second.indptr) - 1)
        yield FastBatch(X, (_layer(first), _layer(second)), counts, count, kind)


def _layer(rows: SelectedRows) -> Layer:
    indptr, indices, data, at_own, deg = rows
    n_in, nnz = len(deg), len(data)
    both = np.concatenate([indices, indices + np.int32(n_in)])
    at_both = np.concatenate([at_own, at_own + nnz])
    A = Structure(np.concatenate([indptr, indptr[1:] + np.int32(nnz)]), both, 2 * n_in)
    column = both.astype(np.int64)
    own = column[at_both]
    return Layer(A, np.concatenate([data, data]), np.repeat(own, np.diff(A.indptr)), column, at_both, own, deg)
