"""What the tests of the paper's proof share: permutations, a model's values node by node, trained weights."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.attention import column_softmax_forward, pool_forward
from minipinet.batch import GraphBatch, make_batch
from minipinet.datasets import Dataset, isomorphism_dataset, load_dataset
from minipinet.graphs import Graph, permute_nodes
from minipinet.model import loss_forward, pinet_backward, pinet_forward
from minipinet.params import PiNetParams, init_params, pq_values
from minipinet.propagation import message_passing_forward, relu_forward
from minipinet.quotient import Quotient, refine
from minipinet.readout import softmax_cross_entropy_backward
from minipinet.settings import Settings
from minipinet.train import chosen_params, fit
from minipinet.union import DisjointUnion
from tests import tolerances

#: The four corners of the square (the paper's Table 1) and two points inside.
PQ_PAIRS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.3, 0.7), (0.999, 0.001)]
#: p and q of the four layers: learned (None), one pair in all of them, a pair of its own in each.
TABLES: list[Array | None] = [None, *(np.tile(pair, (4, 1)) for pair in PQ_PAIRS), np.array(PQ_PAIRS[1:5])]


def permutation_matrix(pi: Array) -> Array:
    """Return P_pi, which moves row i to row pi[i]: a one in row pi[i] of column i."""
    P = np.zeros((len(pi), len(pi)))
    P[pi, np.arange(len(pi))] = 1.0
    return P


def renumber(union: DisjointUnion, pi: Array) -> DisjointUnion:
    """Return P_pi of a union; `pi` moves nodes within their graphs only."""
    moved = permute_nodes(Graph(union.A, union.X), pi)
    return DisjointUnion(moved.A, moved.X, union.ptr)


def shuffle(rng: np.random.Generator, union: DisjointUnion) -> Array:
    """Draw a permutation of the nodes of a union that leaves every node in its graph."""
    graph = np.repeat(np.arange(len(union.ptr) - 1), np.diff(union.ptr))
    back = np.lexsort((rng.random(len(graph)), graph))  # back[k]: the node that moves to position k
    return np.argsort(back)


def draw_params(
    seed: int, *, d: int = 2, C: int = 3, bias: bool = True, learned: bool = True, dtype: str = "float64"
) -> PiNetParams:
    """Draw weights, biases and raw p, q that are float32 numbers; none of them is 0."""
    rng = np.random.default_rng(seed)
    params = init_params(rng, d, C, hidden=5, out=4, bias=bias, learned_pq=learned, dtype="float32")
    return cast(PiNetParams(*(w if w is None else rng.standard_normal(w.shape) / 2 for w in params)), dtype)


def cast(params: PiNetParams, dtype: str) -> PiNetParams:
    """Return the float32 numbers nearest to `params`, in `dtype`."""
    return PiNetParams(*(w if w is None else w.astype(np.float32).astype(dtype) for w in params))


def batch_all(quotient: Quotient, dtype: str = "float64") -> GraphBatch:
    return make_batch(quotient, np.arange(quotient.counts.shape[0]), dtype)


def scores(union: DisjointUnion, params: PiNetParams, pq: Array | None = None, *, merge: bool) -> Array:
    """Return the logits of every graph of a union."""
    return pinet_forward(params, batch_all(refine(union, merge=merge), str(params.W_D.dtype)), pq)[0]


class Values(NamedTuple):
    """Everything the theorem speaks of. A row of the first five belongs to a node, or to its colour."""

    attention: Array  #: A~ relu(A~ X W_A0) W_A1, before its softmax
    features: Array  #: Z_X
    Z_A: Array  #: the attention of a node of that colour: a share of 1 per graph and column
    dX: Array  #: gradient of X, summed over the nodes of a colour
    X: Array
    pooled: Array  #: (B, F_A, F_X)
    logits: Array
    loss: Array
    dparams: PiNetParams


def values(union: DisjointUnion, params: PiNetParams, y: Array, pq: Array | None = None, *, merge: bool) -> Values:
    """Run the model forwards and backwards and give each node its row (of its colour, in the quotient form)."""
    quotient = refine(union, merge=merge)
    batch = batch_all(quotient, str(params.W_D.dtype))
    pool, (first, second) = batch.pool, batch.steps
    last = quotient.colour
    start = first.own[second.own[last]]
    attention, features = stacks(params, batch, pq)
    Z_A, _ = column_softmax_forward(attention, pool)
    pooled, _ = pool_forward(Z_A, features, pool)
    loss, cache = loss_forward(params, batch, y, pq)
    grads = pinet_backward(softmax_cross_entropy_backward(np.float64(1), cache.cross_entropy), cache.pinet)
    logits, _ = pinet_forward(params, batch, pq)
    entry = entry_of_node(union, quotient, batch)
    shares = (Z_A / pool.count)[entry]
    return Values(attention[last], features[last], shares, grads.dX[start], batch.X[start], pooled, logits,
                  loss, grads.dparams)  # fmt: skip


def entry_of_node(union: DisjointUnion, quotient: Quotient, batch: GraphBatch) -> Array:
    """Return the entry of the pool that counts each node: that of its graph and its colour."""
    n = quotient.counts.shape[1]
    graph = np.repeat(np.arange(batch.B), np.diff(union.ptr))
    place = {key: e for e, key in enumerate((batch.pool.graph * n + batch.pool.state).tolist())}
    return np.array([place[key] for key in (graph * n + quotient.colour).tolist()], np.int64)


def stacks(params: PiNetParams, batch: GraphBatch, pq: Array | None = None) -> tuple[Array, Array]:
    """Return the attention stack before its softmax and the features stack, a row per state after two layers."""
    (p_A0, q_A0), (p_A1, q_A1), (p_X0, q_X0), (p_X1, q_X1) = pq_values(params, pq)
    first, second = batch.steps
    R_A, _ = relu_forward(message_passing_forward(batch.X, params.W_A0, params.b_A0, p_A0, q_A0, first)[0])
    H_A, _ = message_passing_forward(R_A, params.W_A1, params.b_A1, p_A1, q_A1, second)
    R_X, _ = relu_forward(message_passing_forward(batch.X, params.W_X0, params.b_X0, p_X0, q_X0, first)[0])
    Z_X, _ = relu_forward(message_passing_forward(R_X, params.W_X1, params.b_X1, p_X1, q_X1, second)[0])
    return H_A, Z_X


class Trained(NamedTuple):
    """Weights after a short training."""

    data: Dataset
    params: PiNetParams
    pq: Array | None


@cache
def trained(name: str, pq: str | tuple[float, float] = "learned", dtype: str = "float64") -> Trained:
    """Train for a moment on MUTAG, or on the isomorphism set with "random" or "constant" features; once a session."""
    data = load_dataset("MUTAG") if name == "MUTAG" else isomorphism_dataset(0, graphs_per_class=10, features=name)
    settings = Settings(epochs=20, batch_size=25, lr=1e-2, hidden=16, out=8, bias=name == "random", pq=pq)
    index = np.arange(len(data))
    state = fit(refine(data.graphs), data.y, index, settings, C=data.num_classes)
    assert state.history[-1].loss < 0.9 * state.history[0].loss, "nothing was learned"
    return Trained(data, cast(chosen_params(state)[0], dtype), settings.pairs)


def allowed(dtype: str) -> float:
    """Return how far the two sides of an equation of real numbers may lie apart."""
    return tolerances.FORMS_FLOAT64 if dtype == "float64" else tolerances.FORMS_FLOAT32
