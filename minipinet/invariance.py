"""Scores that are the same to the last bit whatever the order of the nodes: the theorem, kept by the arithmetic.

The same equations as `minipinet.model`, in float64, with every sum over nodes, neighbours and features made exact
(`minipinet.exact`). One model then gives one graph the same bits in every numbering of its nodes, at every place of
every batch, beside whatever other graphs, with any number of BLAS threads, and in the quotient form as in the plain.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._array import Array
from minipinet._host import refuse_card
from minipinet.batch import GraphBatch, make_batches
from minipinet.evaluation import SCORED_AT_ONCE, check_finite_scores, check_width
from minipinet.exact import balance, exponent, graph_grid, graph_sum, product, row_max, row_sum
from minipinet.exact_neighbours import neighbour_sum, round_weights
from minipinet.params import PiNetParams, pq_values
from minipinet.pool import Pool, max_by_graph
from minipinet.propagation import Step, relu_forward, scaling_forward
from minipinet.quotient import refine
from minipinet.union import DisjointUnion


def bitwise_score(
    params: PiNetParams,
    pq: Array | None,
    graphs: DisjointUnion,
    *,
    merge: bool = True,
    batch_size: int = SCORED_AT_ONCE,
) -> Array:
    """Score each graph, to the same bits in whatever order, company and form.

    Parameters
    ----------
    params : PiNetParams
        Of float32 or float64.
    pq : (4, 2) array or None
        Fixed (p, q) of the layers; None when they are learned.
    graphs : DisjointUnion
        G graphs.
    merge : bool
        False scores node by node; the scores do not depend on it.
    batch_size : int
        Graphs at a time; the scores do not depend on it.

    Returns
    -------
    logits : (G, C) float64 array
        Within about 1e-6 of what `minipinet.evaluation.score` gives in float64, relative to the largest.

    Raises
    ------
    UsageError
        For weights for another number of features.
    DataError
        For a graph whose scores are not finite, or that is too large for exact sums.

    Examples
    --------
    >>> from minipinet.graphs import as_graph, permute_nodes
    >>> from minipinet.params import init_params
    >>> from minipinet.union import disjoint_union
    >>> path = as_graph([[0, 0.3, 0], [0.3, 0, 0.7], [0, 0.7, 0]], [[0.1], [0.2], [0.4]], weighted=True)
    >>> params = init_params(np.random.default_rng(0), d=1, C=2)
    >>> a, b = bitwise_score(params, None, disjoint_union([path, permute_nodes(path, [2, 0, 1])]))
    >>> bool((a == b).all())
    True
    """
    refuse_card("params", params)
    refuse_card("graphs", graphs)
    double = PiNetParams(*(None if w is None else w.astype(np.float64) for w in params))
    quotient = refine(round_weights(graphs), merge)
    check_width(double, quotient)
    index = np.arange(len(graphs.ptr) - 1)
    # What overflows is found in the scores. One thread is for speed alone.
    with threadpool_limits(limits=1), np.errstate(over="ignore", invalid="ignore"):
        batches = make_batches(quotient, index, batch_size, "float64")
        logits = np.concatenate([bitwise_forward(double, batch, pq) for batch in batches])
    check_finite_scores(logits, index)
    return logits


def bitwise_forward(params: PiNetParams, batch: GraphBatch, pq: Array | None = None) -> Array:
    """Return the logits (B, C) of `minipinet.model.pinet_forward`, every sum of them exact after rounding.

    Parameters
    ----------
    params : PiNetParams, float64
    batch : GraphBatch, float64
        Its edge weights rounded by `minipinet.exact.round_weights` before they were refined.
    pq : (4, 2) array or None
    """
    p, q = pq_values(params, pq).T
    X, (first, second), pool = batch
    H_A0 = _message_passing(X, params.W_A0, params.b_A0, p[0], q[0], first)
    H_A1 = _message_passing(relu_forward(H_A0)[0], params.W_A1, params.b_A1, p[1], q[1], second)
    H_X0 = _message_passing(X, params.W_X0, params.b_X0, p[2], q[2], first)
    H_X1 = _message_passing(relu_forward(H_X0)[0], params.W_X1, params.b_X1, p[3], q[3], second)
    return _attention_readout(H_A1, relu_forward(H_X1)[0], params.W_D, params.b_D, pool)


def _message_passing(M: Array, W: Array, b: Array | None, p: Array, q: Array, step: Step) -> Array:
    """Return A~ M W (+ b), the sparse factor on the narrower side as in `message_passing_forward`."""
    A_first = W.shape[0] < W.shape[1]
    M, W = balance(M, W)
    H = product(_propagate(M, p, q, step), W) if A_first else _propagate(product(M, W), p, q, step)
    return H if b is None else H + b


def _propagate(M: Array, p: Array, q: Array, step: Step) -> Array:
    """Return A~ M. The q term is one product and one addition a state, so no order shows in it."""
    s_c, _ = scaling_forward(step.deg, p)
    V, U = neighbour_sum(step.A, s_c[:, None] * M)
    V += q * U[step.own]
    V *= s_c[step.own][:, None]
    return V


def _attention_readout(H: Array, Z_X: Array, W_D: Array, b_D: Array | None, pool: Pool) -> Array:
    """Return logit_gk = sum_f num_gkf / den_gf, the order of sums in `minipinet.attention_readout.fused_forward`."""
    F_A, F_X, C = H.shape[1], Z_X.shape[1], W_D.shape[1]
    grid = graph_grid(pool)
    # In one piece: exp of a strided or reversed view may differ in the last bit.
    e = np.ascontiguousarray(H[pool.state])
    e -= max_by_graph(e, pool)[pool.graph]
    np.exp(e, out=e)
    den = graph_sum(e, np.zeros_like(grid.terms), grid)  # e is at most 1
    den += den == 0  # a graph without nodes
    logits = np.empty((len(den), C))
    for k in range(C):
        T = product(*balance(Z_X, W_D[:, k].reshape(F_A, F_X).T))
        top = exponent(max_by_graph(row_max(T)[pool.state], pool))
        T = T[pool.state]
        T *= e
        logits[:, k] = row_sum(graph_sum(T, top, grid) / den)
    return logits if b_D is None else logits + b_D
