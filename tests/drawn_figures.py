"""Rows of everything that has a figure, and the figures as they are drawn: shared by their tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minipinet.experiments.plan import PTC
from minipinet.experiments.records import Row
from minipinet.results import figures
from minipinet.results.drawing import render
from minipinet.results.figures import draw_figures
from tests.table_rows import folds, trials
from tests.test_figure_data import FOUR, learned, matrices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ["isomorphism-sizes", "isomorphism-steps", "comparison-paper", "message-passing-paper", "paths-paper-MUTAG"]


def some_rows() -> list[Row]:
    """Return rows of everything that has a figure, all but the message-passing matrices on MUTAG unfinished."""
    rows = learned(3) + folds([0.75, 0.85], "wl") + folds([0.7], "gcn-sum", dataset="NCI1")
    rows += [row for part in PTC for row in folds([0.5, 0.75], "wl", dataset=part)]
    rows += matrices({model: [0.5 + k / 8] * 10 for k, model in enumerate(FOUR)})
    rows += matrices({"pinet": [0.75, 1.0]}, "NCI1")
    rows += trials([0.25, 0.75]) + trials([1.0] * 3, size=2) + trials([0.5], epochs=500)
    return rows + [row._replace(cell=row.cell._replace(features="random")) for row in trials([1.0, 1.0], "wl", size=4)]


def drawn(rows: Iterable[Row], folder: Path) -> dict[str, Figure]:
    """Draw figures as `draw_figures` does and return those of the PNGs by name."""
    kept: list[Figure] = []

    def render_and_keep(draw: Callable[[Figure], None]) -> dict[str, bytes]:
        made: list[Figure] = []

        def draw_and_keep(figure: Figure) -> None:
            draw(figure)
            made.append(figure)

        found = render(draw_and_keep)
        kept.append(made[0])  # the other is that of the SVG
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "render", render_and_keep)
        paths = draw_figures(rows, folder)
    return dict(zip(dict.fromkeys(path.stem for path in paths), kept, strict=True))
