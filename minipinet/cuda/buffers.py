"""The arrays of a training step on a card: sizes, what is trained, and room for the largest batch there can be."""

from __future__ import annotations

from typing import Any, NamedTuple

from minipinet._array import Array
from minipinet.cuda.dataset import TABLES
from minipinet.cuda.parameters import Leaves

#: Parts in which a sum over all rows of a batch is taken: about the root of their number, for as many parts are then
#: added up, one after the other, as rows in each.
PARTS = 64


class Shape(NamedTuple):
    """Sizes that a captured step is for."""

    K: int  #: folds
    B: int  #: graphs in a batch
    n: int  #: places in `order`: graphs of the largest fold
    G: int  #: graphs of the data set
    d: int
    F_0: int
    F: int
    C: int
    rows: tuple[int, int, int]  #: most states of a batch at levels 0, 1, 2
    entries: tuple[int, int]  #: most entries of a batch in each layer


class Rule(NamedTuple):
    """Adam's constants and the penalty."""

    lr: float
    l2: float
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8


class LayerBuffers(NamedTuple):
    """A layer of the batches; as `LayerTable`, counted within a fold's batch."""

    first: Array
    own: Array
    at_own: Array
    column: Array
    weight: Array
    deg: Array
    column_first: Array
    row: Array
    entry: Array


class Buffers(NamedTuple):
    """Every array that a step writes, but for the parameters and Adam's moments."""

    order: Array  #: (K, n) int32, the epoch's graphs in their order, -1 where a fold has no more
    cursor: Array  #: (1,) int64, batches done in this epoch
    steps: Array  #: (K,) int64, steps that Adam has taken
    sums: Array  #: (K, 2) float64, of the losses and of right answers in this epoch
    id: Array  #: (K, B) int32
    off: Array  #: (K, TABLES, B + 1) int32
    X: Array  #: (K, n_0, d)
    layers: tuple[LayerBuffers, LayerBuffers]
    graph: Array  #: (K, n_2) int32
    count: Array  #: (K, n_2)
    pq: Array  #: (K, 2, 2, 2) by stack, layer, and p before q
    K_0: Array  #: (K, 2, n_1, d) A~ X
    R: Array  #: (K, 2, n_1, F_0)
    U_1: Array  #: (K, 2, n_1, F) R W_1
    V_1: Array  #: (K, 2, n_2, F) A~ U_1
    H_1: Array  #: V_1 + b_1; V_1 itself without a bias
    Z_A: Array  #: (K, n_2, F)
    P: Array  #: (K, B, F F)
    logits: Array  #: (K, B, C)
    dlogits: Array
    loss: Array  #: (K, B) float64
    right: Array
    dP: Array
    turned_dP: Array  #: (K, B, F F), each graph's matrix transposed
    dH_1: Array
    dU_1: Array
    dR: Array
    dK_0: Array
    dX: Array  #: (K, 2, n_0, d), for p and q alone
    terms: Array  #: (K, 2, 2, 2, rows and columns) of dp and dq, as `pq`
    part: Array  #: float64, PARTS of each sum over rows: of dp and dq, or of a bias in each stack


def allocate(xp: Any, shape: Shape, dtype: str, biased: bool) -> Buffers:
    """Return zeroed buffers; their size is the most that a batch of this data set can need."""
    K, B, n, _, d, F_0, F, C, (n_0, n_1, n_2), entries = shape

    def real(*sizes: int) -> Array:
        return xp.zeros(sizes, dtype)

    def whole(*sizes: int) -> Array:
        return xp.zeros(sizes, xp.int32)

    def layer(rows: int, columns: int, nnz: int) -> LayerBuffers:
        by_rows = whole(K, rows + 1), whole(K, rows), whole(K, rows), whole(K, nnz), real(K, nnz)
        return LayerBuffers(*by_rows, real(K, columns), whole(K, columns + 1), whole(K, nnz), whole(K, nnz))

    V_1 = real(K, 2, n_2, F)
    return Buffers(
        order=xp.full((K, n), -1, xp.int32),
        cursor=xp.zeros(1, xp.int64),
        steps=xp.zeros(K, xp.int64),
        sums=xp.zeros((K, 2)),
        id=whole(K, B),
        off=whole(K, TABLES, B + 1),
        X=real(K, n_0, d),
        layers=(layer(n_1, n_0, entries[0]), layer(n_2, n_1, entries[1])),
        graph=whole(K, n_2),
        count=real(K, n_2),
        pq=real(K, 2, 2, 2),
        K_0=real(K, 2, n_1, d),
        R=real(K, 2, n_1, F_0),
        U_1=real(K, 2, n_1, F),
        V_1=V_1,
        H_1=real(K, 2, n_2, F) if biased else V_1,
        Z_A=real(K, n_2, F),
        P=real(K, B, F * F),
        logits=real(K, B, C),
        dlogits=real(K, B, C),
        loss=xp.zeros((K, B)),
        right=xp.zeros((K, B)),
        dP=real(K, B, F * F),
        turned_dP=real(K, B, F * F),
        dH_1=real(K, 2, n_2, F),
        dU_1=real(K, 2, n_1, F),
        dR=real(K, 2, n_1, F_0),
        dK_0=real(K, 2, n_1, d),
        dX=real(K, 2, n_0, d),
        terms=real(K, 2, 2, 2, n_1 + n_2),  # of layer 1; a graph has no fewer states at a later level
        part=xp.zeros(K * PARTS * (2 * max(4, F_0, F) if biased else 8)),
    )


class Net(NamedTuple):
    """What is trained, on the card: vectors in the order of `minipinet.cuda.parameters`, and views of two of them."""

    state: Array  #: the next three in one, so that all go to the host at once
    vector: Array
    m: Array
    v: Array
    gradient: Array
    ends: Array
    w: Leaves
    dw: Leaves
