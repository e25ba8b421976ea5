"""The model of a copy as plain functions of a list of graphs, and the graphs to look at it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.graphs import Graph, as_graph
from minipinet.union import disjoint_union
from minipinet.verify.pairs import draw, example_params
from minipinet.verify.properties import Attention, Loss, Scores

#: Weight of the squares of the kernels in the loss that is compared with the oracle's.
L2 = 0.25
#: The features of the last example graph are this much larger: its attention leaves the range of the fused readout.
WILD = 200.0


class Model(NamedTuple):
    """What `minipinet.verify.properties` looks at."""

    params: Any
    scores: Scores
    attention: Attention
    loss: Loss  #: with `labels` and `L2`


def example_graphs(rng: np.random.Generator) -> list[Graph]:
    """Draw seven small graphs on which a wrong forward pass shows.

    A directed weighted one with a loop and a lone node; a path and a star whose nodes have equal features, so that
    colours are shared, and split from layer to layer; a path; one node; no node; and one with wild attention.
    """
    A = rng.integers(4, 12, (6, 6)) / 8 * (rng.random((6, 6)) < 0.5)
    A[0, 0], A[0, 1], A[5], A[:, 5] = 1.0, 0.625, 0.0, 0.0
    star, path = np.zeros((5, 5)), np.eye(7, k=1) + np.eye(7, k=-1)
    star[0, 1:] = star[1:, 0] = 1.0
    wild = as_graph(A[:5, :5], WILD * draw(rng, 5, 3), weighted=True, directed=True)
    return [
        as_graph(A, draw(rng, 6, 3), weighted=True, directed=True),
        as_graph(path, np.tile(draw(rng, 1, 3), (7, 1))),
        as_graph(star, np.ones((5, 3))),
        as_graph(path[:4, :4], draw(rng, 4, 3)),
        as_graph([[0]], draw(rng, 1, 3)),
        as_graph(np.zeros((0, 0)), np.zeros((0, 3))),
        wild,
    ]


def labels(graphs: Sequence[Graph], C: int) -> Array:
    """Return a class for each graph."""
    return np.arange(len(graphs)) % C


def model_of(copy: Mapping[str, ModuleType], C: int, *, merge: bool, seed: int = 0) -> Model:
    """Return the model of a copy of the package.

    Parameters
    ----------
    copy : mapping from module name to module, as `minipinet.verify.planted.plant` returns
    C : int
        Classes: up to two take the fused readout, more the pooled matrices.
    merge : bool
        True: the quotient form; False: node by node.
    seed : int
        For the weights.

    Examples
    --------
    >>> from minipinet.verify.planted import plant
    >>> from minipinet.verify.properties import permutation_error
    >>> rng = np.random.default_rng(0)
    >>> permutation_error(model_of(plant(), C=2, merge=True).scores, example_graphs(rng), rng=rng) < 1e-12
    True
    """
    pinet, refine = copy["minipinet.model"], copy["minipinet.quotient"].refine
    make_batch = copy["minipinet.batch"].make_batch
    params = example_params(np.random.default_rng(seed), C, bias=True, learned_pq=True)

    def batch_of(graphs: Sequence[Graph]) -> Any:
        return make_batch(refine(disjoint_union(graphs), merge=merge), np.arange(len(graphs)), "float64")

    def scores(graphs: Sequence[Graph]) -> Array:
        return pinet.pinet_forward(params, batch_of(graphs))[0]

    def attention(graphs: Sequence[Graph]) -> list[Array]:
        return attention_weights(pinet.pinet_forward(params, batch_of(graphs))[1].readout)

    def loss(graphs: Sequence[Graph]) -> Any:
        return pinet.loss_forward(params, batch_of(graphs), labels(graphs, C), l2=L2)[0]

    return Model(params, scores, attention, loss)


def attention_weights(readout: Any) -> list[Array]:
    """Take the attention weights of each graph, (entries, F_A), out of an `AttentionReadoutCache`."""
    tables: dict[int, Array] = {}
    if readout.stepwise is not None:
        softmax = readout.stepwise.softmax
        tables |= zip(np.flatnonzero(~readout.calm), _by_graph(softmax.Z_A, readout.stepwise.pool.pool), strict=True)
    if readout.fused is not None:
        _, _, _, e, _, den, _, pool = readout.fused
        weights = pool.count * e[pool.state] / den[pool.graph, 0]
        tables |= zip(np.flatnonzero(readout.calm), _by_graph(weights, pool), strict=True)
    return [tables[g] for g in range(len(readout.calm))]


def _by_graph(rows: Array, pool: Any) -> list[Array]:
    return np.split(rows, pool.ptr[1:-1])
