"""A graph of the gallery as HTML, and as the numbers that the page's script shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minipinet._array import Array
from minipinet._words import counted
from minipinet.graphs import Graph
from minipinet.report.gallery import Drawn
from minipinet.report.html import fill, shown, text
from minipinet.report.picture import label_texts, picture


def card(drawn: Drawn, fold: bool) -> str:
    """Return the element of one graph, as it looks before anything is chosen."""
    classes, right = drawn.attention.classes, drawn.truth == drawn.prediction
    truth, prediction = text(shown(classes[drawn.truth])), text(shown(classes[drawn.prediction]))
    said = f"class {truth}, rightly predicted" if right else f"class {truth}, predicted as {prediction}"
    where = f"fold {drawn.training}" if fold else ("held out" if drawn.held_out else "trained on")
    size = size_of(drawn.graph)
    return fill(
        "card.html",
        kind="right" if right else "wrong",
        badge="right" if right else "wrong",
        number=drawn.number,
        verdict=f"{said} with probability {drawn.probability:.3f}; {where}",
        drawing=picture(drawn, size),
        size=f"{size[0].upper()}{size[1:]}.",
        rows="\n".join(_bits_rows(drawn)),
    )


def size_of(graph: Graph) -> str:
    """Return how many nodes and edges a graph has: arcs where A is not symmetric, with a word on how they are drawn.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> size_of(as_graph([[1, 1, 0], [1, 0, 1], [0, 1, 0]]))
    '3 nodes, 3 edges'
    >>> size_of(as_graph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], directed=True))
    '3 nodes, 2 arcs (drawn without direction)'
    """
    A = graph.A
    if (A != A.T).nnz:
        edges = f"{counted(A.nnz, 'arc')} (drawn without direction)"
    else:
        edges = counted((A.nnz + np.count_nonzero(A.diagonal())) // 2, "edge")
    return f"{counted(graph.N, 'node')}, {edges}"


def _bits_rows(drawn: Drawn) -> list[str]:
    """Return the rows of the table of scores, in the order of the `bits` of `card_data`."""
    rows = []
    for (kind, name, c), (digits, bits) in zip(_bits_order(drawn), _bits(drawn, 0), strict=True):
        rows.append(
            f'<tr class="{kind}"><th scope="row">{name}, class {text(shown(drawn.attention.classes[c]))}</th>'
            f'<td><span class="digits">{digits}</span><span class="hex">{bits}</span></td><td class="same"></td></tr>'
        )
    return rows


def _bits_order(drawn: Drawn) -> list[tuple[str, str, int]]:
    classes = list(dict.fromkeys((drawn.prediction, drawn.rival)))
    kinds = [("exact", "exact sums"), ("ordinary", "node by node")]
    return [(kind, name, c) for kind, name in kinds for c in classes]


def _bits(drawn: Drawn, k: int) -> list[tuple[str, str]]:
    """Return the scores in the k-th numbering, decimal to the last digit and as bits."""
    return [decimal_and_bits(getattr(drawn.scores, kind)[k, c]) for kind, _, c in _bits_order(drawn)]


def decimal_and_bits(x: np.floating[Any]) -> tuple[str, str]:
    """Return a number with as many digits as tell it from its neighbours, and its bits in hexadecimal.

    Examples
    --------
    >>> decimal_and_bits(np.float64(0.1)), decimal_and_bits(np.float32(-2))
    (('0.10000000000000001', '3fb999999999999a'), ('-2', 'c0000000'))
    """
    digits = 17 if x.dtype == np.float64 else 9
    return f"{float(x):.{digits}g}", np.array(x, x.dtype.newbyteorder(">")).tobytes().hex()


def card_data(drawn: Drawn) -> dict[str, Any]:
    """Return what the script needs of a graph, as JSON values.

    Column j is ``attention.weights[:, j]``; behind the last column stand all of them together. Nodes with the same
    numbers share a row: ``place[i]`` is that of node i.
    """
    found, scored = drawn.attention, [drawn.prediction, drawn.rival]
    weights, shares = found.weights, found.shares[:, :, scored]
    weights = np.column_stack([weights, weights.mean(axis=1)])
    shares = np.concatenate([shares, shares.sum(axis=1, keepdims=True)], axis=1)
    _, first, place = np.unique(
        np.column_stack([weights, shares.reshape(len(shares), -1)]), axis=0, return_index=True, return_inverse=True
    )
    totals = [[math.fsum(shares[:, j, s]) for s in range(2)] for j in range(shares.shape[1] - 1)]
    scores, bias = found.logits[scored], found.bias[scored]
    names = [shown(value) for value in found.classes]
    return {
        "place": place.ravel().tolist(),
        "weights": _short(weights[first]),
        "shares": _short(shares[first]),
        "totals": _short(np.array([*totals, scores - bias])),
        "scores": _short(scores),
        "bias": _short(bias),
        "classes": [names[c] for c in scored],
        "labels": label_texts(drawn.labels),
        "numberings": drawn.scores.numberings.tolist(),
        "bits": [_bits(drawn, k) for k in range(len(drawn.scores.numberings))],
        "predictions": [names[c] for c in drawn.scores.exact.argmax(axis=1)],
    }


def _short(x: Array) -> Any:
    """Return an array as lists, its numbers with the three digits that the page shows."""
    if x.ndim > 1:
        return [_short(row) for row in x]
    return [float(f"{value:.3g}") for value in x.tolist()]
