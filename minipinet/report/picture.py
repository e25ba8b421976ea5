"""A graph of the gallery as SVG, in pixels and never scaled: what is written in it has the same size everywhere."""

from __future__ import annotations

import unicodedata

import numpy as np

from minipinet._array import Array
from minipinet.report.gallery import Drawn
from minipinet.report.html import shown, text
from minipinet.report.layout import positions

#: Pixels that a drawing should be wide, so that it fits on a phone, and what an edge of one may be long. Where even the
#: shortest edges are too long, the drawing is wider, and scrolls in its box.
_WIDE, _SHORTEST, _LONGEST = 300.0, 26.0, 44.0
#: Columns of text that fit on a node (a wide letter takes two).
_ROOM = 3


def picture(drawn: Drawn, size: str) -> str:
    """Return the graph as SVG; nodes have the size and colour of all attention columns together.

    What a node takes from a score shows in its dashed rim too, so that it does not hang on the colour.
    """
    places = positions(drawn.graph)
    long, margin = _lengths(float(places[:, 0].max()))
    xy = places * long + margin
    width, height = np.ceil(xy.max(axis=0) + margin).astype(int)
    weights, shares = drawn.attention.weights.mean(axis=1), drawn.attention.shares[:, :, drawn.prediction].sum(axis=1)
    sizes, tones = np.sqrt(weights / weights.max()), shares / (abs(shares).max() or 1)
    labels = label_texts(drawn.labels)
    nodes = []
    for i, (x, y) in enumerate(xy.tolist()):
        kind = "node against" if tones[i] < 0 else "node"
        style = f"--size:{sizes[i]:.3f};--plus:{max(tones[i], 0):.3f};--minus:{max(-tones[i], 0):.3f}"
        name, written = (f"Node {i}, label {labels[i]}", on_node(labels[i])) if labels else (f"Node {i}", str(i))
        nodes.append(
            f'<g class="{kind}" role="img" tabindex="{"-1" if i else "0"}" aria-label="{text(name)}" '
            f'transform="translate({x:.1f} {y:.1f})" style="{style}"><circle class="touch" r="{0.4 * long:.1f}"/>'
            f'<circle class="disc" r="9"/><text>{text(written)}</text></g>'
        )
    return (
        f'<div class="scroll canvas"><svg class="drawing" width="{width}" height="{height}" role="group" '
        f'style="--long:{long:.1f}px" aria-label="Drawing of graph {drawn.number}: {size}">'
        f'<path class="edges" d="{_edges(drawn.graph.A, xy)}"/>{"".join(nodes)}</svg></div>'
    )


def label_texts(labels: Array | None) -> list[str] | None:
    """Return what to call the label of each node; of several columns all."""
    return None if labels is None else [",".join(map(shown, row)) for row in labels.tolist()]


def on_node(label: str) -> str:
    """Return as much of a label as fits on a node.

    Examples
    --------
    >>> [on_node(label) for label in ("C", "Cl", "NH3", "carbon", "炭素")]
    ['C', 'Cl', 'NH3', 'ca…', '炭…']
    """
    columns = np.cumsum([_columns(c) for c in label])
    if not label or columns[-1] <= _ROOM:
        return label
    return f"{label[: np.searchsorted(columns, _ROOM - 1, 'right')]}…"


def _columns(c: str) -> int:
    """Return how many columns a character takes: marks on others none."""
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1


def _lengths(span: float) -> tuple[float, float]:
    """Return how many pixels an edge is long, and the room around a drawing so many edges wide."""
    long = float(np.clip(_WIDE / (span + 1.0), _SHORTEST, _LONGEST))
    return long, long / 2


def _edges(A: Array, xy: Array) -> str:
    """Return the path of all edges, whichever way they go."""
    lines = {(min(i, j), max(i, j)) for i, j in zip(*(index.tolist() for index in A.nonzero()), strict=True)}
    return "".join(_line(xy[i], xy[j], i == j) for i, j in sorted(lines))


def _line(a: Array, b: Array, loop: bool) -> str:
    if loop:
        return f"M{a[0]:.1f} {a[1]:.1f}m-5 -4a10 10 0 1 1 10 0"
    return f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}"
