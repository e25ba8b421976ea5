"""Scoring graphs with given weights: each once, and to the same bits in whatever company."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._array import Array, on_device, to_host, xp_of
from minipinet._card import card_failures, check_device
from minipinet._host import host_array, numbers_below, refuse_card
from minipinet._words import counted
from minipinet.attention_readout import FUSED_CLASSES, StepwiseCache
from minipinet.batch import GraphBatch, make_batches
from minipinet.errors import DataError, UsageError, notify
from minipinet.model import pinet_forward
from minipinet.network import Batch, Network, Params, Scores
from minipinet.params import PiNetParams
from minipinet.quotient import Quotient
from minipinet.readout import softmax_cross_entropy_forward
from minipinet.settings import whole

#: Graphs scored at a time; a graph's scores do not depend on it.
SCORED_AT_ONCE = 256
#: What to try where a card has too little memory to score.
_SMALLER = "fewer graphs at a time"
#: What to try where it has too little to score while it trains.
SMALLER_WHILE_TRAINING = "fewer graphs to validate on, or a smaller batch_size or folds_at_once"


class Evaluation(NamedTuple):
    """Some graphs, each scored once, in the order asked for."""

    index: Array  #: (n,) int64, numbers of the graphs
    logits: Array  #: (n, C)
    predictions: Array  #: (n,) int64, classes 0 to C - 1
    loss: float  #: mean cross-entropy in nats
    accuracy: float  #: share of right predictions


def evaluate(
    params: PiNetParams,
    pq: Array | None,
    quotient: Quotient,
    y: Array,
    index: Array,
    *,
    batch_size: int = SCORED_AT_ONCE,
    device: str = "cpu",
) -> Evaluation:
    """Score each of the given graphs once.

    Parameters
    ----------
    params : PiNetParams
        Their dtype is the dtype of the computation.
    pq : (4, 2) array or None
        Fixed (p, q) of the layers (``settings.pairs``); None when they are learned.
    quotient : Quotient
        G graphs.
    y : (G,) int array
        Class of each graph, 0 to C - 1.
    index : (n,) int array
        The graphs to score.
    batch_size : int
        Graphs at a time; the scores do not depend on it (on a card: but for rounding).
    device : {"cpu", "cuda", "auto"}
        Where the scores are computed; all results are NumPy's.

    Returns
    -------
    Evaluation

    Raises
    ------
    UsageError
        For labels or graph numbers that do not fit, weights for another number of features, and a device that cannot be
        used here.
    DataError
        For a graph whose scores are not finite, naming it: its features or weights are too large for the network.
    CardError
        When the card fails.
    """
    device = check_device(device)
    index, batches = _batches_of(params, quotient, index, batch_size)
    y = class_numbers(y, quotient.counts.shape[0], params.W_D.shape[1])
    # What overflows is found in the scores.
    with threadpool_limits(limits=1), np.errstate(over="ignore", invalid="ignore"):
        evaluation = score_batches(pinet_scores(pq, device), placed_on(device)(params), batches, y, index)
    check_finite_scores(evaluation.logits, index)
    return evaluation


def score(
    params: PiNetParams,
    pq: Array | None,
    quotient: Quotient,
    index: Array,
    *,
    batch_size: int = SCORED_AT_ONCE,
    device: str = "cpu",
) -> Array:
    """Return the logits (n, C) of graphs whose classes need not be known; arguments as in :func:`evaluate`."""
    device = check_device(device)
    index, batches = _batches_of(params, quotient, index, batch_size)
    return _checked_logits(pinet_scores(pq, device), placed_on(device), params, batches, index)


def pooled(
    params: PiNetParams,
    pq: Array | None,
    quotient: Quotient,
    index: Array,
    *,
    batch_size: int = SCORED_AT_ONCE,
    device: str = "cpu",
) -> Array:
    """Return vec(P_g) of graphs (paper, eq. 5), (n, F_A F_X): the readout's input; arguments as in :func:`evaluate`."""
    device = check_device(device)
    index, batches = _batches_of(params, quotient, index, batch_size)

    @card_failures(_SMALLER, device)
    def matrices(params: Params, batch: Batch) -> Array:
        params, batch = on_device((params, batch), device)
        return to_host(readout_caches(params, pq, batch).dense.M)

    return _checked_logits(matrices, placed_on(device), params, batches, index)


def readout_caches(params: PiNetParams, pq: Array | None, batch: GraphBatch) -> StepwiseCache:
    """Return Z_A, Z_X and P_g of a batch (paper, eq. 5): the caches of the readout, which are those of no logits."""
    # With more classes than the fused form takes, the readout goes step by step.
    xp, W_D = xp_of(params.W_D), params.W_D
    params = params._replace(W_D=xp.zeros((len(W_D), FUSED_CLASSES + 1), W_D.dtype), b_D=None)
    stepwise = pinet_forward(params, batch, pq)[1].readout.stepwise
    assert stepwise is not None
    return stepwise


def _batches_of(
    params: PiNetParams, quotient: Quotient, index: Array, batch_size: int
) -> tuple[Array, Iterable[GraphBatch]]:
    """Return graph numbers and their batches in the weights' dtype, once all arguments fit each other."""
    refuse_card("params", params)
    refuse_card("quotient", quotient)
    check_width(params, quotient)
    batch_size = whole("batch_size", batch_size)
    index = numbers_below("index", index, quotient.counts.shape[0])
    return index, make_batches(quotient, index, batch_size, str(params.W_D.dtype))


def scoring_device(device: str, bitwise: bool = False) -> str:
    """Return ``"cpu"`` or ``"cuda"``, as ``check_device`` says; to the last bit, the CPU alone scores.

    Raises
    ------
    UsageError
        For a device that cannot be used here, and for ``"cuda"`` with `bitwise`.
    """
    if not bitwise or device not in ("cuda", "auto"):
        return check_device(device)
    if device == "cuda":
        raise UsageError("device: expected 'cpu' for scores to the last bit (bitwise), got 'cuda'")
    notify("device: 'auto' comes to 'cpu': scores to the last bit (bitwise) are computed there")
    return "cpu"


def score_network(network: Network, params: Params, index: Array, *, batch_size: int = SCORED_AT_ONCE) -> Array:
    """Return the logits (n, C) of graphs of a network's data set, by number.

    Raises
    ------
    UsageError
        For numbers that are no graphs.
    DataError
        For a graph whose scores are not finite, naming it.
    """
    refuse_card("params", params)
    index = numbers_below("index", index, network.G)
    batches = network.batches(index, whole("batch_size", batch_size), None)
    return _checked_logits(network.scores, network.placed, params, batches, index)


def score_batches(scores: Scores, params: Params, batches: Iterable[Batch], y: Array, index: Array) -> Evaluation:
    """Score batches made of the graphs `index`; for callers that hold the number of BLAS threads at one."""
    logits = _logits(scores, params, batches)
    predictions = logits.argmax(axis=1)
    loss, _ = softmax_cross_entropy_forward(logits, y[index])
    return Evaluation(index, logits, predictions, float(loss), float(np.mean(predictions == y[index])))


def check_finite_scores(logits: Array, index: Array) -> None:
    """Refuse scores that are NaN or infinite, naming the first such graph."""
    finite = np.isfinite(logits).all(axis=1)
    if not finite.all():
        raise DataError(
            f"graph {int(index[~finite][0])}: its scores are not finite in {logits.dtype}; "
            "its features or edge weights are too large for this network"
        )


def check_width(params: PiNetParams, quotient: Quotient) -> None:
    """Refuse weights for another number of features than the graphs have."""
    expected, got = quotient.X.shape[1], params.W_A0.shape[0]
    if expected != got:
        raise UsageError(f"params: expected weights for {counted(expected, 'feature')} a node, got weights for {got}")


def class_numbers(y: Array, G: int, C: int) -> Array:
    """Return `y` as int64, a copy; a UsageError if it is not one class from 0 to C - 1 for each of G graphs."""
    classes = host_array("y", y)
    if classes.shape != (G,) or classes.dtype.kind not in "iu":
        raise UsageError(
            f"y: expected {G} whole numbers, one a graph; got shape {classes.shape}, dtype {classes.dtype}"
        )
    if G and (classes.min() < 0 or classes.max() >= C):
        raise UsageError(f"y: expected classes 0 to {C - 1}, got {classes.min()} to {classes.max()}")
    return classes.astype(np.int64)


def placed_on(device: str, smaller: str = _SMALLER) -> Callable[[Any], Any]:
    """Return what moves parameters, or a batch, to where `device` computes; what is there already stays."""

    @card_failures(smaller, device)
    def placed(tree: Any) -> Any:
        return on_device(tree, device)

    return placed


def pinet_scores(pq: Array | None, device: str = "cpu", smaller: str = _SMALLER) -> Scores:
    """Return how PiNet scores a batch: on a card, what is not there yet is moved there, and the logits come back."""

    @card_failures(smaller, device)
    def scores(params: Params, batch: Batch) -> Array:
        params, batch = on_device((params, batch), device)
        return to_host(pinet_forward(params, batch, pq)[0])

    return scores


def _checked_logits(
    scores: Scores, placed: Callable[[Params], Params], params: Params, batches: Iterable[Batch], index: Array
) -> Array:
    with threadpool_limits(limits=1), np.errstate(over="ignore", invalid="ignore"):
        logits = _logits(scores, placed(params), batches)
    check_finite_scores(logits, index)
    return logits


def _logits(scores: Scores, params: Params, batches: Iterable[Batch]) -> Array:
    return np.concatenate([scores(params, batch) for batch in batches])
