"""What each node of a graph adds to its scores: the sums of the readout, not yet added up."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._array import Array
from minipinet._host import refuse_card
from minipinet.batch import make_batch
from minipinet.errors import UsageError
from minipinet.evaluation import check_finite_scores, check_width, readout_caches
from minipinet.matmul import matmul_rows
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.union import DisjointUnion


class Attention(NamedTuple):
    """One graph's scores, share by share; all arrays are float64."""

    weights: Array  #: (N, F_A) in [0, 1]: attention of each column; a column sums to 1 over the nodes
    shares: Array  #: (N, F_A, C): what node i adds to the logit of class c through attention column j
    bias: Array  #: (C,), 0 where the model has none
    logits: Array  #: (C,): bias and shares, added up exactly and rounded once
    classes: tuple[Any, ...]  #: the C class values


def attention_shares(
    params: PiNetParams, pq: Array | None, graph: DisjointUnion, classes: tuple[Any, ...]
) -> Attention:
    """Take the logits of one graph apart into a share for each node and attention column.

    Equation (paper, 2 and 5): the sum over the nodes stands in P = Z_A^T Z_X and comes out in front, so that
    logit_c = b_c + sum_ij share_ijc with share_ijc = Z_A[i, j] sum_x Z_X[i, x] W_D[j, x, c].

    Parameters
    ----------
    params : PiNetParams
        Of float32 or float64; computed in float64, on the CPU: its sums keep their bits, which a card's do not.
    pq : (4, 2) array or None
        Fixed (p, q) of the layers; None when they are learned.
    graph : DisjointUnion
        One graph of N nodes.
    classes : tuple
        The class values, in the order of the logits.

    Returns
    -------
    Attention
        ``math.fsum`` of a class's shares and bias is its logit, to the last bit. Nodes of one colour
        (docs/quotient.md) have the same numbers, and renumbering the nodes moves the rows without changing a bit
        (edge weights whose sums are rounded may change the last ones). A graph without nodes has its bias alone.

    Raises
    ------
    UsageError
        For another number of graphs than one, and weights for another number of features.
    DataError
        If a share or a sum of them is not finite.

    Notes
    -----
    O(n F_A F_X C) time for n colours, and N F_A C numbers.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.params import init_params
    >>> from minipinet.union import disjoint_union
    >>> star = disjoint_union([as_graph([[0, 1, 1], [1, 0, 0], [1, 0, 0]])])
    >>> params = init_params(np.random.default_rng(0), d=1, C=2, hidden=4, out=3)
    >>> found = attention_shares(params, None, star, ("a", "b"))
    >>> found.shares.shape, bool((found.shares[1] == found.shares[2]).all())
    ((3, 3, 2), True)
    >>> math.fsum(found.shares[:, :, 1].flat) == float(found.logits[1])
    True
    """
    refuse_card("params", params)
    refuse_card("graph", graph)
    if graph.ptr.size != 2:
        raise UsageError(f"graph: expected one graph, got {graph.ptr.size - 1}")
    double = PiNetParams(*(None if w is None else w.astype(np.float64) for w in params))
    quotient = refine(graph)
    check_width(double, quotient)
    C = double.W_D.shape[1]
    with threadpool_limits(limits=1), np.errstate(over="ignore", invalid="ignore"):
        batch = make_batch(quotient, [0], "float64")
        Z_A, Z_X, _ = readout_caches(double, pq, batch).pool  # a row per colour of the graph
        F_A, F_X = Z_A.shape[1], Z_X.shape[1]
        weights = Z_A / batch.pool.count
        W = double.W_D.reshape(F_A, F_X, C).transpose(1, 0, 2).reshape(F_X, F_A * C)
        shares = weights[:, :, None] * matmul_rows(Z_X, W).reshape(-1, F_A, C)
        row = np.empty(quotient.counts.shape[1], np.int64)
        row[batch.pool.state] = np.arange(len(batch.pool.state))
        weights, shares = weights[row[quotient.colour]], shares[row[quotient.colour]]
        # If the magnitudes add up to a number, the sums below do too.
        check_finite_scores(abs(shares).sum(axis=(0, 1))[None], np.zeros(1, np.int64))
    bias = np.zeros(C) if double.b_D is None else double.b_D
    logits = np.array([math.fsum([bias[c], *shares[:, :, c].flat]) for c in range(C)])
    return Attention(weights, shares, bias, logits, classes)
