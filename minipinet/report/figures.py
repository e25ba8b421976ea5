"""Learning curves and the paths of p and q, as SVG that takes on the colours of the page it stands in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from minipinet.report.run import Run
from minipinet.results.drawing import COLOURS, GREY, draw_square, finish, make_panels, render
from minipinet.results.figure_data import path_of
from minipinet.train import EpochRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: matplotlib's colours in what it drew, and those of the page, which has them light and dark.
_THEME = {
    "#000000": "currentColor", "#555555": "var(--quiet)", "#ffffff": "var(--page)", "#0072b2": "var(--blue)",
    "#d55e00": "var(--orange)", "#009e73": "var(--green)",
}  # fmt: skip
#: Size of all text, in a figure 252 points wide: 11 pixels or more on a phone.
_POINTS = 8.4
_GREEN, _ORANGE = COLOURS[2], COLOURS[3]


def learning_curves(run: Run, majority: float | None) -> str:
    """Return SVG: loss and accuracy on the graphs trained on (and validated on) after each epoch, a line a training."""
    histories = [training.history for training in run.trainings if training.history]
    return _svg(partial(_draw_curves, histories=histories, majority=majority), "Learning curves")


def paths(run: Run) -> str:
    """Return SVG: what p and q did in each training, a panel a layer."""
    histories = [training.history for training in run.trainings if training.history]
    found = [path_of({"p": [record.p for record in h], "q": [record.q for record in h]}) for h in histories]
    return _svg(partial(_draw_paths, found=found), "p and q during training")


def _draw_paths(figure: Figure, *, found: Sequence[np.ndarray]) -> None:
    draw_square(figure, found)
    for ax in figure.axes:
        ax.set_title(ax.get_title(), pad=16)
        for corner in ax.texts:  # in letters this large the upper two would meet
            corner.set_text(corner.get_text().replace("sym norm A + I", "sym norm\nA + I"))


def _draw_curves(figure: Figure, *, histories: Sequence[Sequence[EpochRecord]], majority: float | None) -> None:
    axes = make_panels(figure, 2, columns=1, height=1.5, sharex=True)
    for ax, name, title in zip(axes, ("loss", "accuracy"), ("loss (nats)", "accuracy (share)"), strict=True):
        for history in histories:
            epochs = [record.epoch for record in history]
            ax.plot(epochs, [getattr(record, name) for record in history], color=COLOURS[0], linewidth=0.5,
                    alpha=0.45 if len(histories) > 1 else 1, label="one training")  # fmt: skip
            held_out = [getattr(record, f"validation_{name}") for record in history]
            if None not in held_out:
                ax.plot(epochs, held_out, color=_GREEN, linewidth=0.5, alpha=0.6, label="held out for validation")
        if len(histories) > 1:
            together = min(map(len, histories))
            mean = np.mean([[getattr(record, name) for record in history[:together]] for history in histories], axis=0)
            ax.plot(range(1, together + 1), mean, color=_ORANGE, linewidth=1.4, label="mean of the trainings")
        if name == "accuracy" and majority is not None:
            ax.axhline(majority, color=GREY, linewidth=0.8, linestyle=":", label="majority class")
        ax.set(ylabel=title, ylim=(0, None if name == "loss" else 1.03))
    axes[-1].set_xlabel("epoch")
    finish(figure, axes)


def _svg(draw: Callable[[Figure], None], name: str) -> str:
    """Draw, and make of the file an element of a page: without a size of its own, ids that no other figure has.

    What the marks mean stands before it as HTML, which takes as many lines as it needs.
    """
    legend: list[str] = []

    def for_page(figure: Figure) -> None:
        draw(figure)
        figure.legends[0].remove()
        handles = [pair for ax in figure.axes for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
        legend.extend(dict.fromkeys(_entry(handle, name) for handle, name in handles))
        for text in figure.findobj(lambda artist: hasattr(artist, "set_fontsize")):
            text.set(fontsize=_POINTS)
        figure.patch.set_visible(False)
        for ax in figure.axes:
            ax.patch.set_visible(False)

    text = render(for_page, ("svg",))["svg"].decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"#[0-9a-fA-F]{6}\b", lambda colour: _of_page(colour[0]), text)
    prefix = re.sub(r"\W+", "-", name.lower())
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{prefix}-", text)
    view = re.search(r'viewBox="[^"]*"', text)
    assert view is not None
    text = re.sub(r"<svg\b[^>]*>", f'<svg {view[0]} role="img" aria-label="{escape(name)}">', text, count=1)
    return f'<ul class="marks">{"".join(legend)}</ul>{text.strip()}'


def _of_page(colour: str) -> str:
    return _THEME.get(colour.lower(), colour)


def _entry(handle: Any, name: str) -> str:
    """Return an entry of the legend: a line or a mark of matplotlib's, and what it means."""
    from matplotlib.colors import to_hex

    colour = _of_page(to_hex(handle.get_color()))
    if handle.get_linestyle() != "None":
        dashes = ' stroke-dasharray="1.5 3"' if handle.get_linestyle() == ":" else ""
        width = max(1.5, 2 * handle.get_linewidth())
        shape = f'<path d="M0 6h22" stroke="{colour}" stroke-width="{width:.1f}"{dashes}/>'
    elif handle.get_marker() == "D":
        shape = f'<path d="M11 1l5 5l-5 5l-5 -5z" fill="var(--page)" stroke="{colour}" stroke-width="1.5"/>'
    else:
        shape = f'<circle cx="11" cy="6" r="4" fill="{colour}"/>'
    return f'<li><svg viewBox="0 0 22 12" aria-hidden="true">{shape}</svg>{escape(name)}</li>'
