"""Every forward/backward pair of the project, each with an input to verify it at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet._tree import named_leaves, with_leaves
from minipinet.attention import column_softmax_backward, column_softmax_forward, pool_backward, pool_forward
from minipinet.attention_readout import (
    FUSED_RANGE,
    attention_readout_backward,
    attention_readout_forward,
    fused_backward,
    fused_forward,
    stepwise_backward,
    stepwise_forward,
)
from minipinet.batch import GraphBatch, make_batch
from minipinet.graphs import as_graph
from minipinet.model import PiNetCache, loss_backward, loss_forward, pinet_backward, pinet_forward
from minipinet.params import PiNetParams, gate_backward, gate_forward, init_params
from minipinet.propagation import (
    message_passing_backward,
    message_passing_forward,
    propagate_backward,
    propagate_forward,
    relu_backward,
    relu_forward,
    scaling_backward,
    scaling_forward,
)
from minipinet.quotient import refine
from minipinet.readout import (
    dense_backward,
    dense_forward,
    softmax_cross_entropy_backward,
    softmax_cross_entropy_forward,
)
from minipinet.union import DisjointUnion, disjoint_union
from minipinet.verify.probe import Backward, Forward


class Pair(NamedTuple):
    """A pair and where to look at it; what is not differentiated is bound already."""

    name: str
    forward: Forward
    backward: Backward
    inputs: Mapping[str, Any]
    methods: tuple[str, ...]  #: of `minipinet.verify.check_pair`, beside those that suit every pair


SMOOTH, KINKED, WHOLE = ("central", "complex"), ("central",), ("central", "taylor")


def draw(rng: np.random.Generator, *shape: int) -> Array:
    """Draw float64 normal numbers that float32 can hold, so that both precisions see the same input."""
    return rng.standard_normal(shape).astype(np.float32).astype(np.float64)


def example_union(rng: np.random.Generator, *, directed: bool = True) -> DisjointUnion:
    """Draw six small weighted graphs: with lone nodes, a loop, equal nodes, one node, no node, and one twice over.

    Directed unless asked otherwise: on symmetric matrices a backward that forgets to transpose A passes.
    """
    graphs = []
    for N in (6, 4, 1, 0):
        A = rng.integers(4, 12, (N, N)) / 8 * (rng.random((N, N)) < 0.5)
        A[-1:, :] = A[:, -1:] = 0.0  # the last node is alone
        A[: N // 4, : N // 4] = 1.0  # a loop on the first
        graphs.append(as_graph(A if directed else np.maximum(A, A.T), draw(rng, N, 3), weighted=True, directed=True))
    star = np.zeros((5, 5))
    star[0, 1:] = star[1:, 0] = 1.0
    return disjoint_union([*graphs, as_graph(star, np.ones((5, 3))), graphs[1]])


def example_batch(union: DisjointUnion, dtype: str = "float64", *, merge: bool = True) -> GraphBatch:
    """Return all graphs of `union` as one batch."""
    return make_batch(refine(union, merge=merge), np.arange(len(union.ptr) - 1), dtype)


def example_params(rng: np.random.Generator, C: int, *, bias: bool, learned_pq: bool) -> PiNetParams:
    """Draw small weights for three features and C classes, with biases and p, q away from their start."""
    params = init_params(rng, 3, C, hidden=5, out=4, bias=bias, learned_pq=learned_pq, dtype="float64")
    return PiNetParams(*(w if w is None else draw(rng, *w.shape) / 2 for w in params))


def layer_pairs(rng: np.random.Generator, dtype: str = "float64") -> list[Pair]:
    """Return the pairs that the network is made of, at inputs drawn from `rng`; in float32 the same, rounded.

    Examples
    --------
    >>> [pair.name for pair in layer_pairs(np.random.default_rng(0))][:2]
    ['propagate', 'message_passing.A_first']
    """
    batch = example_batch(example_union(rng), dtype)
    step, pool = batch.steps[0], batch.pool
    n_out, n_in = step.A.shape
    E, B, n = len(pool.state), batch.B, pool.counts.shape[1]
    y = np.arange(B) % 3
    p, q = np.float64(0.375), np.float64(0.75)

    def weights(F_in: int, F: int) -> dict[str, Any]:
        return {"M": draw(rng, n_in, F_in), "W": draw(rng, F_in, F), "b": draw(rng, F), "p": p, "q": q}

    def stacks(C: int, H_0: float = 0.0) -> dict[str, Any]:
        H = draw(rng, n, 3)
        H[pool.state[pool.graph == 0]] += H_0
        return {"H": H, "Z_X": draw(rng, n, 2), "W_D": draw(rng, 6, C), "b_D": draw(rng, C)}

    propagate = partial(propagate_forward, step=step), propagate_backward
    message_passing = partial(message_passing_forward, step=step), message_passing_backward
    column_softmax = partial(column_softmax_forward, pool=pool), column_softmax_backward
    pooling = partial(pool_forward, pool=pool), pool_backward
    dense = dense_forward, dense_backward
    stepwise = partial(stepwise_forward, pool=pool), stepwise_backward
    fused = partial(fused_forward, pool=pool), fused_backward
    readout = partial(attention_readout_forward, pool=pool), attention_readout_backward
    cross_entropy = partial(softmax_cross_entropy_forward, y=y), softmax_cross_entropy_backward
    pairs = [
        Pair("propagate", *propagate, {"M": draw(rng, n_in, 3), "p": p, "q": q}, SMOOTH),
        Pair("message_passing.A_first", *message_passing, weights(2, 4), SMOOTH),
        Pair("message_passing.W_first", *message_passing, weights(4, 2), SMOOTH),
        # Only where the widths are equal is it seen whether forward and backward agree on the way that is taken then.
        Pair("message_passing.square", *message_passing, weights(3, 3), SMOOTH),
        Pair("relu", relu_forward, relu_backward, {"H": draw(rng, n_out, 4)}, KINKED),
        Pair("column_softmax", *column_softmax, {"H": draw(rng, n, 3)}, SMOOTH),
        Pair("pool", *pooling, {"Z_A": draw(rng, E, 3), "Z_X": draw(rng, n, 2)}, SMOOTH),
        Pair("dense", *dense, {"M": draw(rng, B, 4), "W": draw(rng, 4, 3), "b": draw(rng, 3)}, SMOOTH),
        Pair("readout.stepwise", *stepwise, stacks(3), SMOOTH),
        Pair("readout.fused", *fused, stacks(2), SMOOTH),
        Pair("readout.partly_fused", *readout, stacks(2, H_0=FUSED_RANGE + 1), SMOOTH),
        Pair("softmax_cross_entropy", *cross_entropy, {"Z": draw(rng, B, 3)}, SMOOTH),
        Pair("scaling", partial(scaling_forward, step.deg), scaling_backward, {"p": p}, SMOOTH),
        Pair("gate", gate_forward, gate_backward, {"raw": draw(rng, 4) / 4}, ("central",)),
    ]
    return [pair._replace(inputs=cast(pair.inputs, dtype)) for pair in pairs]


def model_pairs(rng: np.random.Generator, dtype: str = "float64") -> list[Pair]:
    """Return the whole network and its loss as pairs: p and q learned with biases, and fixed without.

    Examples
    --------
    >>> [pair.name for pair in model_pairs(np.random.default_rng(0))]
    ['pinet', 'pinet.fixed_pq', 'loss']
    """
    batch = example_batch(example_union(rng), dtype)
    y = np.arange(batch.B) % 2
    learned = example_params(rng, 3, bias=True, learned_pq=True)
    fixed = example_params(rng, 2, bias=False, learned_pq=False)
    two_classes = example_params(rng, 2, bias=True, learned_pq=True)
    pq = ((0.375, 0.75), (0.75, 0.25), (1.0, 0.0), (0.5, 1.0))
    forward = partial(_scores_of_features, batch=batch)
    training_loss = partial(loss_forward, batch=batch, y=y, l2=0.25)
    X = draw(rng, *batch.X.shape)
    pairs = [
        Pair("pinet", forward, pinet_backward, {"params": learned, "X": X}, WHOLE),
        Pair("pinet.fixed_pq", partial(forward, pq=pq), pinet_backward, {"params": fixed, "X": X}, WHOLE),
        Pair("loss", training_loss, loss_backward, {"params": two_classes}, WHOLE),
    ]
    return [pair._replace(inputs=cast(pair.inputs, dtype)) for pair in pairs]


def _scores_of_features(
    params: PiNetParams, X: Array, batch: GraphBatch, pq: Array | None = None
) -> tuple[Array, PiNetCache]:
    return pinet_forward(params, batch._replace(X=X), pq)


def cast(tree: Any, dtype: str) -> Any:
    """Return `tree` with every array and number in `dtype`."""
    leaves = (v if v is None else v.astype(dtype) for _, v in named_leaves(tree))
    return with_leaves(tree, leaves)
