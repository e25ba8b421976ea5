"""What a graph classifier must have beyond right gradients, each as a function that returns an error.

A gradient check compares a backward pass with its own forward pass, so it cannot see a forward pass that computes the
wrong thing and is differentiated correctly. These properties look at the forward pass alone:

`permutation_error`
    The scores do not depend on how the nodes are numbered (the paper's theorem).
`isolation_error`
    A graph has the same scores, bit for bit, alone and in any batch.
`column_sum_error`
    Attention weights sum to 1 over the nodes of each graph, column by column (paper, eq. 2).
`oracle_error`, `oracle_loss_error`
    Scores and loss are those of the dense transcription of the paper's equations, `minipinet.reference`.

Each takes the model as a function of a list of graphs, so any implementation can be looked at: the package's (see
`minipinet.verify.planted.checks`), a copy of it with a bug, or your own. 0 is perfect; about 1e-15 is rounding; NaN
or infinite scores give infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from minipinet import reference
from minipinet._array import Array
from minipinet._host import host_array, refuse_card
from minipinet.errors import UsageError
from minipinet.graphs import Graph, permute_nodes
from minipinet.verify import VerificationError

#: B graphs to their scores, (B, C).
Scores: TypeAlias = Callable[[Sequence[Graph]], Array]
#: B graphs to B tables of attention weights, (rows, F_A) each; a row may stand for several nodes if it has their sum.
Attention: TypeAlias = Callable[[Sequence[Graph]], Sequence[Array]]
#: B graphs to the training loss.
Loss: TypeAlias = Callable[[Sequence[Graph]], Any]


def permutation_error(scores: Scores, graphs: Sequence[Graph], *, rng: np.random.Generator, trials: int = 4) -> float:
    """Renumber the nodes of every graph at random; return the largest change of any score.

    Parameters
    ----------
    scores : callable
        A list of B graphs to an array of (B, C) float scores.
    graphs : sequence of Graph
        Without symmetries, or there is nothing to see: equal nodes may be exchanged freely.
    rng : numpy.random.Generator
        For the permutations.
    trials : int >= 1

    Returns
    -------
    float
        Relative to the largest score.

    Raises
    ------
    UsageError
        If there is no graph, or `trials` is below 1.
    VerificationError
        If `scores` does not return one row a graph.

    Notes
    -----
    `trials` + 1 calls. Source: Meltzer et al. 2019, theorem 1. A model that adds up its nodes' features passes, so
    does one that returns zeros: invariance alone proves little.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> graphs = [as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1.0], [2.0], [4.0]])]
    >>> permutation_error(lambda graphs: [g.X.sum(axis=0) for g in graphs], graphs, rng=np.random.default_rng(0))
    0.0
    >>> permutation_error(lambda graphs: [g.X[0] for g in graphs], graphs, rng=np.random.default_rng(0)) > 0.5
    True
    """
    if trials < 1:
        raise UsageError(f"trials: expected at least 1, got {trials!r}")
    given = _rows(scores, graphs)
    errors = []
    for _ in range(trials):
        moved = [permute_nodes(graph, rng.permutation(graph.N)) for graph in graphs]
        errors.append(_distance(_rows(scores, moved), given))
    return max(errors)


def isolation_error(scores: Scores, graphs: Sequence[Graph]) -> float:
    """Score every graph alone, before and after either neighbour in the list, and among all; compare the bits.

    Parameters
    ----------
    scores : callable
        A list of B graphs to an array of (B, C) float scores.
    graphs : sequence of Graph
        Of very different sizes and features: what leaks from graph to graph is small between equals.

    Returns
    -------
    float
        Largest change relative to the largest score; 0 only if every bit is the same (where bits differ and no number
        does, as in -0.0 and 0.0, the smallest number above 0).

    Raises
    ------
    UsageError
        If there is no graph.
    VerificationError
        If `scores` does not return one row a graph.

    Notes
    -----
    3 B + 2 calls. BLAS may add up in another order in another number of threads: hold it to one.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> graphs = [as_graph([[0]], [[x]]) for x in (1.0, 3.0)]
    >>> isolation_error(lambda graphs: [g.X.sum(axis=0) for g in graphs], graphs)
    0.0
    >>> def centred(graphs):  # as batch normalisation does
    ...     X = np.concatenate([g.X for g in graphs])
    ...     return X - X.mean(axis=0)
    >>> isolation_error(centred, graphs)
    inf
    """
    alone = [_rows(scores, [graph])[0] for graph in graphs]
    scale = float(max((np.max(np.abs(row), initial=0.0) for row in alone), default=0.0))
    worst = 0.0
    for company in _companies(len(graphs)):
        together = _rows(scores, [graphs[g] for g in company])
        for row, g in zip(together, company, strict=True):
            if row.tobytes() != alone[g].tobytes():
                worst = max(worst, _distance(row, alone[g], scale), float(np.finfo(np.float64).tiny))
    return worst


def _companies(B: int) -> Iterator[list[int]]:
    yield list(range(B))
    yield list(range(B))[::-1]
    for g in range(B if B > 1 else 0):
        yield [g, (g + 1) % B]
        yield [(g + 1) % B, g]


def column_sum_error(attention: Attention, graphs: Sequence[Graph]) -> float:
    """Return the largest distance from 1 of a column sum of the attention weights, and of a weight from [0, 1].

    Parameters
    ----------
    attention : callable
        A list of B graphs to B tables, (rows, F_A) each: the weights of that graph's nodes.
    graphs : sequence of Graph

    Returns
    -------
    float
        Absolute. A graph without nodes has a table without rows.

    Raises
    ------
    UsageError
        If there is no graph.
    VerificationError
        If `attention` does not return one table a graph, or an empty one for a graph with nodes.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> graphs = [as_graph(np.zeros((N, N))) for N in (2, 4)]
    >>> column_sum_error(lambda graphs: [np.full((g.N, 3), 1 / g.N) for g in graphs], graphs)
    0.0
    >>> column_sum_error(lambda graphs: [np.full((g.N, 3), 1 / 6) for g in graphs], graphs)  # over the whole batch
    0.6666666666666667
    """
    tables = [host_array("attention", table) for table in attention(_some(graphs))]
    if len(tables) != len(graphs):
        raise VerificationError(f"attention: expected {len(graphs)} tables, one a graph, got {len(tables)}")
    worst = 0.0
    for graph, table in zip(graphs, tables, strict=True):
        if table.ndim != 2 or bool(len(table)) != bool(graph.N):
            raise VerificationError(f"attention: expected weights of {graph.N} nodes, got the shape {table.shape}")
        sums = table.sum(axis=0) - bool(graph.N)
        beyond = np.maximum(-table, table - 1).clip(min=0)
        worst = max(worst, _largest(sums), _largest(beyond))
    return worst


def oracle_error(scores: Scores, graphs: Sequence[Graph], params: Any, pq: Any = None) -> float:
    """Return the largest distance of a score from `minipinet.reference.logits`.

    Parameters
    ----------
    scores : callable
        A list of B graphs to an array of (B, C) float64 scores, with the weights `params`.
    graphs : sequence of Graph
        Small: the oracle works with dense matrices and loops.
    params : PiNetParams, or mapping of the same names
    pq : (4, 2) table, optional
        Fixed p and q of the layers, for weights without p_raw and q_raw.

    Returns
    -------
    float
        Relative to the largest score of the oracle.

    Raises
    ------
    UsageError
        If there is no graph.
    VerificationError
        If `scores` does not return one row a graph.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> W = {f"W_{layer}": np.eye(1) for layer in reference.LAYERS} | {"W_D": np.array([[0.0, 1.0]])}
    >>> edge = as_graph([[0, 1], [1, 0]], [[1.0], [1.0]])
    >>> oracle_error(lambda graphs: [[0.0, 1.0] for _ in graphs], [edge], W, [(1.0, 0.0)] * 4)
    0.0
    """
    refuse_card("params", params)
    refuse_card("pq", pq)
    expected = [reference.logits(graph.A.toarray(), graph.X, params, pq) for graph in _some(graphs)]
    return _distance(_rows(scores, graphs), np.array(expected))


def oracle_loss_error(
    loss: Loss, graphs: Sequence[Graph], y: Sequence[int] | Array, params: Any, pq: Any = None, l2: float = 0.0
) -> float:
    """Return the relative distance of a loss from `minipinet.reference.loss`; arguments as in `oracle_error`.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> W = {f"W_{layer}": np.eye(1) for layer in reference.LAYERS} | {"W_D": np.zeros((1, 2))}
    >>> edge = as_graph([[0, 1], [1, 0]], [[1.0], [1.0]])
    >>> oracle_loss_error(lambda graphs: np.log(2), [edge], [0], W, [(1.0, 0.0)] * 4)
    0.0
    """
    refuse_card("y", y)
    refuse_card("params", params)
    refuse_card("pq", pq)
    expected = reference.loss([(graph.A.toarray(), graph.X) for graph in _some(graphs)], y, params, pq, l2)
    return _distance(host_array("loss", loss(graphs)), np.asarray(expected))


def _some(graphs: Sequence[Graph]) -> Sequence[Graph]:
    if not len(graphs):
        raise UsageError("graphs: expected at least one graph, got none")
    return graphs


def _rows(scores: Scores, graphs: Sequence[Graph]) -> Array:
    rows = host_array("scores", scores(_some(graphs)))
    if rows.ndim != 2 or len(rows) != len(graphs):
        raise VerificationError(f"scores: expected ({len(graphs)}, C) numbers, a row a graph, got shape {rows.shape}")
    return rows


def _distance(actual: Array, expected: Array, scale: float | None = None) -> float:
    """Return the largest difference over the largest expected magnitude; inf for NaN or another shape."""
    if actual.shape != expected.shape:
        return float("inf")
    with np.errstate(invalid="ignore"):  # inf - inf
        difference = _largest(actual - expected)
    scale = _largest(expected) if scale is None else scale
    if difference == 0:
        return 0.0
    return difference / scale if scale and np.isfinite(difference) else float("inf")


def _largest(x: Array) -> float:
    """Return the largest magnitude, infinity if there is a NaN."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return float("inf") if np.isnan(largest) else largest
