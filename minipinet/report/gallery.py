"""The graphs that a report draws: which they are, and all that is said of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.attention_shares import Attention
from minipinet.datasets.dataset import Dataset
from minipinet.evaluation import score
from minipinet.graphs import Graph, permute_nodes
from minipinet.quotient import refine
from minipinet.readout import log_softmax
from minipinet.report.run import Run
from minipinet.report.scores import Labelled
from minipinet.union import disjoint_union, graph_at

#: Graphs with more nodes are not drawn: nobody could read them.
MOST_NODES = 100
#: Numberings of each graph beside the given one.
NUMBERINGS = 5
#: Share of the graphs drawn that are wrongly labelled ones, if there are enough of both kinds.
_WRONG = 0.75


class Scores(NamedTuple):
    """The scores of one graph in each numbering of its nodes."""

    numberings: Array  #: (1 + NUMBERINGS, N): node i has the number ``numberings[k, i]``; the first is the given one
    exact: Array  #: (1 + NUMBERINGS, C) float64, with exact sums: all rows have the same bits
    ordinary: Array  #: (1 + NUMBERINGS, C) of the model's dtype, node by node with ordinary sums


class Drawn(NamedTuple):
    """One graph of the gallery."""

    number: int  #: in the data set, from 0
    training: int  #: whose model is shown, from 0
    held_out: bool  #: whether that training never saw the graph
    graph: Graph
    labels: Array | None  #: (N, k) node labels, where the data set has some
    truth: int  #: classes, by their places
    prediction: int
    rival: int  #: the true class, or where that is predicted the next best; of one class that one
    probability: float  #: of the prediction
    attention: Attention
    scores: Scores


def gallery(run: Run, dataset: Dataset, labelled: list[Labelled], count: int) -> list[Drawn]:
    """Choose graphs and work out what is shown of them: wrongly labelled ones first, of either kind the surest first.

    Parameters
    ----------
    run : Run
    dataset : Dataset
    labelled : list of Labelled
    count : int
        Graphs at most. Three quarters of them are wrongly labelled ones, if there are so many and enough others.

    Returns
    -------
    list of Drawn
        None of them without nodes or with more than `MOST_NODES`.
    """
    found = []  # (place in `labelled`, place in it, right, probability)
    for k, part in enumerate(labelled):
        sizes = np.diff(part.graphs.ptr)
        certain = np.exp(log_softmax(part.scored.logits)).max(axis=1)
        right = part.scored.predictions == part.y
        fits = np.flatnonzero((sizes > 0) & (sizes <= MOST_NODES))
        found += [(k, int(i), bool(right[i]), float(certain[i])) for i in fits]
    found.sort(key=lambda row: (row[2], -row[3], row[0], row[1]))
    wrong = sum(not right for _, _, right, _ in found)
    taken = min(wrong, max(round(_WRONG * count), count - (len(found) - wrong)))
    chosen = [*found[:taken], *found[wrong : wrong + count - taken]]
    return [_drawn(run, dataset, labelled[k], i, certain) for k, i, _, certain in chosen]


def _drawn(run: Run, dataset: Dataset, part: Labelled, i: int, probability: float) -> Drawn:
    number, training = int(part.index[i]), run.trainings[part.training]
    graph, prediction, truth = graph_at(part.graphs, i), int(part.scored.predictions[i]), int(part.y[i])
    others = [c for c in np.argsort(-part.scored.logits[i], kind="stable").tolist() if c != prediction]
    rival = truth if truth != prediction else (others or [prediction])[0]
    rows = slice(*dataset.graphs.ptr[number : number + 2])
    assert training.model is not None
    return Drawn(
        number=number,
        training=part.training,
        held_out=number not in training.split["train"],
        graph=graph,
        labels=None if dataset.node_labels is None else dataset.node_labels[rows],
        truth=truth,
        prediction=prediction,
        rival=rival,
        probability=probability,
        attention=training.model.attention(graph),
        scores=scores_in_numberings(training.model, graph, number),
    )


def scores_in_numberings(model: Any, graph: Graph, seed: int) -> Scores:
    """Score a graph as it is and with its nodes renumbered, with exact sums and with ordinary ones.

    The ordinary ones are taken node by node, in the order of the nodes: sums over colours (docs/quotient.md) are in an
    order of their own, which hides how the nodes are numbered.
    """
    rng = np.random.default_rng(seed)
    numberings = np.array([np.arange(graph.N), *(rng.permutation(graph.N) for _ in range(NUMBERINGS))])
    graphs = [permute_nodes(graph, numbering) for numbering in numberings]
    quotient = refine(disjoint_union(graphs), merge=False)
    ordinary = score(model.params, model.settings.pairs, quotient, np.arange(len(graphs)))
    return Scores(numberings, model.logits(graphs, bitwise=True), ordinary)
