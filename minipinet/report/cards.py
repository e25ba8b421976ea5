"""A graph of the gallery as HTML, and as the numbers that the page's script shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minipinet._array import Array
from minipinet._words import counted
from minipinet.report.gallery import Drawn
from minipinet.report.html import fill, text
from minipinet.report.layout import positions

#: Length of an edge in a drawing, and the room around it.
_EDGE, _MARGIN = 44.0, 24.0


def card(drawn: Drawn, fold: bool) -> str:
    """Return the element of one graph, as it looks before anything is chosen."""
    classes, right = drawn.attention.classes, drawn.truth == drawn.prediction
    truth, prediction = text(classes[drawn.truth]), text(classes[drawn.prediction])
    said = f"class {truth}, rightly predicted" if right else f"class {truth}, predicted as {prediction}"
    where = f"fold {drawn.training}" if fold else ("held out" if drawn.held_out else "trained on")
    edges = counted((drawn.graph.A.nnz + np.count_nonzero(drawn.graph.A.diagonal())) // 2, "edge")
    size = f"{counted(drawn.graph.N, 'node')}, {edges}"
    return fill(
        "card.html",
        kind="right" if right else "wrong",
        badge="right" if right else "wrong",
        number=drawn.number,
        verdict=f"{said} with probability {drawn.probability:.3f}; {where}",
        drawing=_drawing(drawn, size),
        size=f"{size[0].upper()}{size[1:]}.",
        rows="\n".join(_bits_rows(drawn)),
    )


def _drawing(drawn: Drawn, size: str) -> str:
    """Return the graph as SVG; nodes have the size and colour of all attention columns together."""
    xy = positions(drawn.graph) * _EDGE + _MARGIN
    width, height = xy.max(axis=0) + _MARGIN
    weights, shares = drawn.attention.weights.mean(axis=1), drawn.attention.shares[:, :, drawn.prediction].sum(axis=1)
    sizes, tones = np.sqrt(weights / weights.max()), shares / (abs(shares).max() or 1)
    rows, columns = drawn.graph.A.nonzero()
    lines = {(min(i, j), max(i, j)) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)}
    path = "".join(_line(xy[i], xy[j], i == j) for i, j in sorted(lines))
    nodes = []
    for i, (x, y) in enumerate(xy.tolist()):
        style = f"--size:{sizes[i]:.3f};--plus:{max(tones[i], 0):.3f};--minus:{max(-tones[i], 0):.3f}"
        stop = "-1" if i else "0"
        nodes.append(
            f'<g class="node" role="img" tabindex="{stop}" aria-label="Node {i}" '
            f'transform="translate({x:.1f} {y:.1f})" style="{style}">'
            f'<circle class="touch" r="17"/><circle class="disc" r="9"/><text>{i}</text></g>'
        )
    return (
        f'<svg class="drawing" viewBox="0 0 {width:.0f} {height:.0f}" role="group" '
        f'aria-label="Drawing of graph {drawn.number}: {size}"><path class="edges" d="{path}"/>{"".join(nodes)}</svg>'
    )


def _line(a: Array, b: Array, loop: bool) -> str:
    if loop:
        return f"M{a[0]:.1f} {a[1]:.1f}m-5 -4a10 10 0 1 1 10 0"
    return f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}"


def _bits_rows(drawn: Drawn) -> list[str]:
    """Return the rows of the table of scores, in the order of the `bits` of `numbers`."""
    rows = []
    for (kind, name, c), (digits, bits) in zip(_bits_order(drawn), _bits(drawn, 0), strict=True):
        rows.append(
            f'<tr class="{kind}"><th scope="row">{name}, class {text(drawn.attention.classes[c])}</th>'
            f'<td><span class="digits">{digits}</span><span class="hex">{bits}</span></td><td class="same"></td></tr>'
        )
    return rows


def _bits_order(drawn: Drawn) -> list[tuple[str, str, int]]:
    classes = list(dict.fromkeys((drawn.prediction, drawn.rival)))
    kinds = [("exact", "exact sums"), ("ordinary", "ordinary sums")]
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


def numbers(drawn: Drawn) -> dict[str, Any]:
    """Return what the script needs of a graph: JSON values, in which column 0 is all attention columns together.

    Nodes with the same numbers share a row: ``place[i]`` is that of node i.
    """
    found, shown = drawn.attention, [drawn.prediction, drawn.rival]
    weights, shares = found.weights, found.shares[:, :, shown]
    weights = np.column_stack([weights.mean(axis=1), weights])
    shares = np.concatenate([shares.sum(axis=1, keepdims=True), shares], axis=1)
    _, first, place = np.unique(
        np.column_stack([weights, shares.reshape(len(shares), -1)]), axis=0, return_index=True, return_inverse=True
    )
    totals = [[math.fsum(shares[:, j, s]) for s in range(2)] for j in range(1, shares.shape[1])]
    scores, bias = found.logits[shown], found.bias[shown]
    names = [str(value) for value in found.classes]
    labels = None if drawn.labels is None else [", ".join(map(str, row)) for row in drawn.labels.tolist()]
    return {
        "place": place.ravel().tolist(),
        "weights": _short(weights[first]),
        "shares": _short(shares[first]),
        "totals": _short(np.array([scores - bias, *totals])),
        "scores": _short(scores),
        "bias": _short(bias),
        "classes": [names[c] for c in shown],
        "labels": labels,
        "numberings": drawn.scores.numberings.tolist(),
        "bits": [_bits(drawn, k) for k in range(len(drawn.scores.numberings))],
        "predictions": [names[c] for c in drawn.scores.exact.argmax(axis=1)],
    }


def _short(x: Array) -> Any:
    """Return an array as lists, its numbers with four digits: the page shows three."""
    if x.ndim > 1:
        return [_short(row) for row in x]
    return [float(f"{value:.4g}") for value in x.tolist()]
