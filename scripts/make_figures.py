"""Draw the figures of the book: docs/figures/*.svg, from the numbers of the graph in docs/forward.md.

    python scripts/make_figures.py [--output docs/figures]

The same numbers give the same bytes. The drawings follow the reader's light or dark setting, as docs/pinet.svg does.
"""

from __future__ import annotations

import argparse
import math
import re
from html import escape
from pathlib import Path

import numpy as np

from minipinet.reference import A_tilde, z_A, z_X

# The graph and the weights of docs/forward.md; tests/test_book.py compares the numbers.
A = np.array([[0.0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
X = np.array([[1.0, 0], [1, 0], [0, 1], [1, 0]])
PQ = [(1, 1), (1, 0), (0, 0), (0, 1)]
W = {
    "W_A0": np.array([[1.0, -1], [-1.5, 2.5]]),
    "W_A1": np.array([[1.0, -1], [0, 1]]),
    "W_X0": np.array([[2.0, -1], [1, 1]]),
    "W_X1": np.array([[1.0, -1, 0.5], [0, 5, -1]]),
}
#: Where the nodes stand, in units of a drawing's own.
PLACES = [(0.0, 0.0), (0.0, 96.0), (84.0, 48.0), (176.0, 48.0)]

STYLE = """
    .panel { fill: #ffffff; stroke: #d0d7de; }
    text { fill: #1f2328; font: 15px Georgia, "Times New Roman", "DejaVu Serif", serif; text-anchor: middle; }
    .i { font-style: italic; }
    .small { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #59636e; }
    .number { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
    .left { text-anchor: start; }
    .edge { stroke: #59636e; stroke-width: 2; }
    .axis, .message { fill: none; stroke: #59636e; stroke-width: 1.6; marker-end: url(#head); }
    .message { stroke: #8250df; stroke-width: 2; marker-end: url(#tip); }
    .head { fill: #59636e; }
    .tip { fill: #8250df; }
    .cell { fill: none; stroke: #d0d7de; }
    .attention { fill: #fff1e0; stroke: #bc4c00; }
    .attention-dark { fill: #e8853a; }
    .features { fill: #ddf4ff; stroke: #0969da; }
    .features-dark { fill: #4493f8; }
    .both-dark { fill: #a475f9; }
    @media (prefers-color-scheme: dark) {
      .panel { fill: #0d1117; stroke: #3d444d; }
      text, .number { fill: #f0f6fc; }
      .small { fill: #9198a1; }
      .edge, .axis { stroke: #9198a1; }
      .head { fill: #9198a1; }
      .message { stroke: #bc8cff; }
      .tip { fill: #bc8cff; }
      .cell { stroke: #3d444d; }
      .attention { fill: #3d2208; stroke: #f0883e; }
      .attention-dark { fill: #bc6a24; }
      .features { fill: #0c2d6b; stroke: #58a6ff; }
      .features-dark { fill: #316dca; }
      .both-dark { fill: #8957e5; }
    }
"""
HEADS = """
  <defs>
    <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
      <path class="head" d="M0 0 L8 4 L0 8 z"/>
    </marker>
    <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
      <path class="tip" d="M0 0 L8 4 L0 8 z"/>
    </marker>
  </defs>"""


def page(width: int, height: int, title: str, description: str, parts: list[str]) -> str:
    """Put parts on a panel, with the text that a screen reader says."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title description">'
    )
    names = f'  <title id="title">{escape(title)}</title>\n  <desc id="description">{escape(description)}</desc>'
    panel = f'  <rect class="panel" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>'
    body = "\n".join(f"  {part}" for part in parts)
    return f"{head}\n{names}\n  <style>{STYLE}  </style>{HEADS}\n{panel}\n{body}\n</svg>\n"


def text(x: float, y: float, content: str, kind: str = "") -> str:
    """Return a line of text in the style `kind`; `content` may hold tspans."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{content}</text>'


def sideways(x: float, y: float, content: str, kind: str) -> str:
    """Return a line of text that is read from below to above."""
    return f'<g transform="translate({x:g} {y:g}) rotate(-90)">{text(0, 0, content, kind)}</g>'


def symbols(words: str) -> str:
    """Set a formula: letters in italics, and `_x ` or `^x ` below or above the line up to the next space."""

    def index(mark: str, body: str) -> str:
        dy = 4 if mark == "_" else -6
        return f'<tspan dy="{dy}" font-size="11">{body}</tspan><tspan dy="{-dy}">&#8203;</tspan>'

    set_apart = re.sub(r"([A-Za-z])", r'<tspan class="i">\1</tspan>', re.sub(r"([_^])(\S+) ?", r"{\1\2}", words))
    return re.sub(r"\{([_^])(.*?)\}", lambda found: index(found[1], found[2]), set_apart)


def number(value: float) -> str:
    """Return a number as a reader writes it: 0, 1, 0.41."""
    return f"{value:g}" if value == round(value) else f"{value:.2f}"


def row(values: np.ndarray) -> str:
    """Return a row of features as (3, 1)."""
    return "(" + ", ".join(map(number, values)) + ")"


def graph(x: float, y: float, rows: np.ndarray | None = None, edges: bool = True) -> list[str]:
    """Draw the graph at (x, y): nodes coloured by their type, and a row of numbers beside each."""
    at = [(x + dx, y + dy) for dx, dy in PLACES]
    lines = [(i, j) for i in range(4) for j in range(i + 1, 4) if A[i, j]] if edges else []
    parts = [
        f'<line class="edge" x1="{at[i][0]:g}" y1="{at[i][1]:g}" x2="{at[j][0]:g}" y2="{at[j][1]:g}"/>'
        for i, j in lines
    ]
    for i, (cx, cy) in enumerate(at):
        kind = "attention" if X[i, 0] else "features"
        parts += [f'<circle class="{kind}" cx="{cx:g}" cy="{cy:g}" r="15"/>', text(cx, cy + 5, str(i), "number")]
        if rows is not None:
            parts.append(text(cx, cy + (36 if i in (1, 2, 3) else -24), row(rows[i]), "number"))
    return parts


def matrix(x: float, y: float, M: np.ndarray, kinds: list[str], side: float, most: float) -> list[str]:
    """Draw a matrix as cells, the larger a number, the deeper its colour; `kinds`: off the diagonal and on it."""
    M, parts = M.round(6), []  # so that the last bits do not decide
    for i, j in np.ndindex(M.shape):
        left, top, kind = x + side * j, y + side * i, kinds[int(i == j) % len(kinds)]
        box = f'x="{left:g}" y="{top:g}" width="{side:g}" height="{side:g}"'
        if M[i, j]:
            parts.append(f'<rect class="{kind}" {box} fill-opacity="{0.75 * M[i, j] / most:.2f}"/>')
        parts += [f'<rect class="cell" {box}/>', text(left + side / 2, top + side / 2 + 5, number(M[i, j]), "number")]
    return parts


def arrow(a: tuple[float, float], b: tuple[float, float]) -> str:
    """Draw a message from the rim of the node at `a` to that at `b`."""
    length = math.hypot(b[0] - a[0], b[1] - a[1])
    ends = [[a[k] + (b[k] - a[k]) * s / length for k in (0, 1)] for s in (18, length - 18)]
    return '<path class="message" d="M{:.1f} {:.1f} L{:.1f} {:.1f}"/>'.format(*ends[0], *ends[1])


def message_passing() -> str:
    """Return the first layer's step on features: before, what node 2 adds up, after."""
    parts = [text(136, 34, f"before: {symbols('X')}"), *graph(48, 80, X)]
    parts.append(text(416, 34, f"node 2 adds up, with {symbols('q = 1')}"))
    at = [(328 + dx, 80 + dy) for dx, dy in PLACES]
    parts += [arrow(at[i], at[2]) for i in (0, 1, 3)]
    x, y = at[2]
    loop = f"M{x - 9:g} {y - 15:g} C {x - 26:g} {y - 56:g} {x + 26:g} {y - 56:g} {x + 9:g} {y - 16:g}"
    parts += [f'<path class="message" d="{loop}"/>', *graph(328, 80, edges=False)]
    parts.append(text(416, 222, " + ".join(row(X[j]) for j in (0, 1, 3, 2)) + f" = {row((A @ X + X)[2])}", "number"))
    parts += [text(696, 34, f"after: {symbols('(A + I) X')}"), *graph(608, 80, A @ X + X)]
    for x, kind, words in ((272, "attention", "first type, (1, 0)"), (432, "features", "second type, (0, 1)")):
        parts += [f'<circle class="{kind}" cx="{x}" cy="248" r="7"/>', text(x + 13, 253, words, "small left")]
    description = (
        "Nodes 0, 1 and 2 form a triangle, node 3 hangs on node 2. Each node has a row of two features. Node 2 adds up "
        "the rows of its neighbours 0, 1 and 3 and, with weight q = 1, its own: (3, 1). The others do the same."
    )
    return page(832, 272, "Message passing on a graph of four nodes", description, parts)


def matrices() -> str:
    """Return the four matrices of the paper's table 1 on the same graph, at the corners of the square of (p, q)."""
    corners = {(0, 1): "D^−1/2 (A + I) D^−1/2", (1, 1): "A + I", (0, 0): "D^−1/2 A D^−1/2", (1, 0): "A"}
    side, left, top, parts = 42.0, 74, 52, []
    for (p, q), formula in corners.items():
        x, y = left + 236 * p, top + 226 * (1 - q)
        parts.append(text(x + 2 * side, y - 12, symbols(formula)))
        parts += matrix(x, y, A_tilde(A, p, q), ["features-dark", "attention-dark"], side, 1.0)
    parts += [f'<path class="axis" d="M50 474 {end}"/>' for end in ("L 486 474", "L 50 40")]
    parts += [text(158, 496, "p = 0: normalised", "small"), text(394, 496, "p = 1: as given", "small")]
    parts += [sideways(36, 138, "q = 1: own state too", "small"), sideways(36, 364, "q = 0: neighbours only", "small")]
    parts += graph(548, 190)
    for i, (dx, dy) in enumerate(PLACES):
        parts.append(text(548 + dx, 190 + dy + (36 if i else -24), f"degree {A[i].sum():g}", "small"))
    description = (
        "A square of (p, q) with a matrix of four by four at each corner: at p = 1 the adjacency matrix, without ones "
        "on its diagonal and with them; at p = 0 the same, each entry divided by the roots of both degrees."
    )
    return page(784, 512, "The four matrices of p and q on a graph of four nodes", description, parts)


def pooled() -> str:
    """Return the product of attention and features of the same graph: one matrix whose size has no N in it."""
    Z_A, Z_X = z_A(A, X, W, PQ), z_X(A, X, W, PQ)
    side, y, parts = 54.0, 64, []
    for x, formula, words in (
        (158, "Z_A ^T ", ": attention"),
        (414, "Z_X ", ": features"),
        (635, "P = Z_A ^T  Z_X ", ""),
    ):
        parts.append(text(x, 40, symbols(formula) + words))
    parts += matrix(50, y + side, Z_A, ["attention-dark"], side, 1.0)
    parts += matrix(333, y, Z_X, ["features-dark"], side, Z_X.max())
    parts += matrix(554, y + side, Z_A @ Z_X, ["both-dark"], side, Z_X.max())
    for i in range(4):
        parts += [text(50 + side * (i + 0.5), y + side - 10, f"node {i}", "small")]
        parts += [text(304, y + side * (i + 0.5) + 5, f"node {i}", "small")]
    parts += [text(526, y + 2 * side + 6, "=")]
    below = y + 3 * side + 26
    parts += [text(158, below, "each row adds up to 1", "small"), text(635, below, "means of each feature", "small")]
    description = (
        "The attention weights, two rows of four nodes, times the features, four nodes of three columns, give a matrix "
        "of two by three: for each column of attention the weighted mean of each feature over the nodes."
    )
    return page(768, 316, "The pooled matrix of a graph of four nodes", description, parts)


FIGURES = {"message-passing.svg": message_passing, "matrices.svg": matrices, "pooled.svg": pooled}


def main() -> None:
    """Write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parent.parent / "docs" / "figures"
    parser.add_argument("--output", type=Path, default=default, help="folder to write to (default: docs/figures)")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        (folder / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
