"""How the figures look; matplotlib draws them, without its global state: no pyplot, no setting left behind."""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minipinet._array import Array
from minipinet.errors import UsageError, notify
from minipinet.experiments.plan import MODELS
from minipinet.results.figure_data import Curves, Group, Paths
from minipinet.results.isomorphism_tables import CONSTANT
from minipinet.results.naming import QUICK_MARK
from minipinet.results.published import Published
from minipinet.results.table import Estimate, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: a column of a page with two.
WIDTH = 3.5
#: On top of matplotlib's own defaults, whatever the user has set.
_STYLE = {
    "font.size": 7, "axes.titlesize": 7, "axes.labelsize": 7, "xtick.labelsize": 6, "ytick.labelsize": 6,
    "legend.fontsize": 6, "legend.frameon": False, "legend.handlelength": 1.8, "legend.columnspacing": 1.2,
    "lines.linewidth": 1.0, "lines.markersize": 3.5, "axes.linewidth": 0.5, "xtick.major.width": 0.5,
    "ytick.major.width": 0.5, "xtick.major.size": 2, "ytick.major.size": 2, "axes.spines.top": False,
    "axes.spines.right": False, "savefig.dpi": 300, "text.parse_math": False,
    "svg.fonttype": "none", "svg.hashsalt": "minipinet",
}  # fmt: skip
#: Okabe and Ito's colours, told apart by the colour-blind, and marks to tell more models apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")
_HATCHES = ("", "////", "....", "xxxx")
GREY = "#555555"

_MATRICES = {
    "pinet": "learned p, q", "pinet-p1q0": "A", "pinet-p1q1": "A + I", "pinet-p0q0": "sym norm A",
    "pinet-p0q1": "sym norm A + I",
}  # fmt: skip
_MODELS = {
    "pinet": "PiNet, learned", "pinet-manual": "PiNet, manual", "gcn-sum": "GCN + Sum", "gcn-dense": "GCN + Dense",
    "wl": "WL kernel", "patchy-san": "PATCHY-SAN", "pinet-p1q0": "PiNet, A", "pinet-p1q1": "PiNet, A + I",
    "pinet-p0q0": "PiNet, sym norm A", "pinet-p0q1": "PiNet, sym norm A + I",
}  # fmt: skip
_FEATURES = {"random": "random labels", "balanced": "balanced labels", "constant": "constant features"}
_BY = {"sizes": "training graphs of each class", "steps": "training steps, one training graph of each class"}
#: (p, q) of the corners, as ``_MATRICES`` has them.
_CORNERS = {MODELS[model][1]["pq"]: text for model, text in _MATRICES.items() if model != "pinet"}
_LAYERS = ("attention, layer 1", "attention, layer 2", "features, layer 1", "features, layer 2")
_END: dict[str, Any] = {
    "color": COLOURS[3], "marker": "o", "markeredgecolor": "white", "markeredgewidth": 0.4, "linestyle": "none",
}  # fmt: skip
_DASHED: dict[str, Any] = {"linewidth": 0.7, "dashes": (3, 1.5)}
_HOLLOW: dict[str, Any] = {
    "color": "black", "marker": "D", "markerfacecolor": "white", "markersize": 3, "markeredgewidth": 0.7,
    "linestyle": "none",
}  # fmt: skip
_ACCURACY = "accuracy (share)"
#: What matplotlib says of a letter that the font has no picture of.
_LACKS = r"Glyph (\d+) .* missing from "
#: Of five equal classes.
_CHANCE = 0.2


def render(draw: Callable[[Figure], None], forms: Sequence[str] = ("png", "svg")) -> dict[str, bytes]:
    """Return what `draw` puts on a figure, in each form asked for, without dates and versions.

    Raises
    ------
    UsageError
        Without matplotlib.
    """
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(f"figures need matplotlib: pip install 'minipinet[figures]' ({error})") from error
    nameless: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    contents = {}
    for form in forms:
        # A figure for each form, since drawing moves things; the settings are put back afterwards.
        with io.BytesIO() as file, style.context(["default", _STYLE]):
            figure = Figure(layout="constrained")
            with _no_word_of_glyphs():
                draw(figure)
                figure.savefig(file, format=form, metadata=nameless[form])
            contents[form] = file.getvalue()
    return contents


@contextlib.contextmanager
def _no_word_of_glyphs() -> Iterator[None]:
    """Say in one Notice, and not as matplotlib does, which letters its font lacks; a PNG has boxes for them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", _LACKS, UserWarning)
        yield
    lacks = set()
    for warning in caught:
        if found := re.match(_LACKS, str(warning.message)):
            lacks.add(repr(chr(int(found[1]))))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if lacks:
        notify(f"figures: matplotlib's font lacks {', '.join(sorted(lacks))}, which a PNG has boxes for")


def draw_curves(figure: Figure, *, panels: Sequence[Curves], by: str, caption: str) -> None:
    """Draw accuracy in the isomorphism test by ``"sizes"`` or ``"steps"``, a panel for each kind of features."""
    models = list(dict.fromkeys(model for panel in panels for model in panel.ours))
    axes = make_panels(figure, len(panels), columns=1, height=1.5)
    any_published = any(curve for panel in panels for curve in panel.published.values())
    for ax, panel in zip(axes, panels, strict=True):
        ax.axhline(_CHANCE, color=GREY, linewidth=0.6, linestyle=":", label="chance")
        for k, model in enumerate(models):
            colour = COLOURS[k % len(COLOURS)]
            if points := sorted(panel.ours.get(model, {}).items()):
                low, high = (
                    [min(found.mean + sign * (found.sd or 0.0), 1.0) for _, found in points] for sign in (-1, 1)
                )
                ax.fill_between([at for at, _ in points], low, high, color=colour, alpha=0.15, linewidth=0)
                # Ever thinner, with hollow marks ever smaller: curves that lie on each other can all be seen.
                ax.plot(
                    [at for at, _ in points], [found.mean for _, found in points], color=colour, label=_label(model),
                    linewidth=2.6 - 0.4 * (k % 6), marker=_MARKS[k % len(_MARKS)], markersize=6 - 0.7 * (k % 6),
                    markerfacecolor="none", markeredgewidth=0.8,
                )  # fmt: skip
            if theirs := sorted(panel.published.get(model, {}).items()):
                ax.plot([at for at, _ in theirs], [mean for _, mean in theirs], color=colour, **_DASHED)
        if any(panel.published.values()):
            ax.plot([], [], color=GREY, label="published", **_DASHED)
        ax.set(title=_FEATURES.get(panel.features, panel.features), ylabel=_ACCURACY, ylim=(0, 1.05))
        ticks = sorted({at for curve in panel.ours.values() for at in curve})
        if by == "steps":
            ax.set_xscale("log")
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    axes[-1].set_xlabel(_BY[by])
    finish(
        figure, axes, caption, "bands: ± one standard deviation over trials",
        *(["published: of random labels, their PiNet with p = 1, q = 0"] if any_published else []),
        *([CONSTANT] if any(panel.features == "constant" for panel in panels) else []),
    )  # fmt: skip


def draw_bars(figure: Figure, *, groups: Sequence[Group], models: Sequence[str], caption: str) -> None:
    """Draw a bar for each message-passing matrix, a panel for each data set."""
    from matplotlib.ticker import MultipleLocator

    axes = make_panels(figure, len(groups), columns=3, height=1.2, sharey=True)
    for ax, group in zip(axes, groups, strict=True):
        floor = group.majority or 0.0
        for k, model in enumerate(models):
            if found := group.ours.get(model):
                ax.bar(
                    k, found.mean - floor, bottom=floor, width=0.8, color=COLOURS[k % len(COLOURS)], linewidth=0,
                    hatch=_HATCHES[k // len(COLOURS) % len(_HATCHES)], label=_label(model, _MATRICES),
                )  # fmt: skip
                ax.errorbar(k, found.mean, found.sd or 0.0, color="black", linewidth=0.6)
            if theirs := group.published.get(model):
                ax.plot(k, theirs.mean, label="published", **_HOLLOW)
        ax.axhline(floor, color="black", linewidth=0.6, label="majority class")
        if group.manual is not None:
            ax.axhline(group.manual, color=GREY, linewidth=0.8, dashes=(3, 1.5), label="mean of the four fixed")
        ax.set(title=group.dataset, xticks=[], xlim=(-0.7, len(models) - 0.3))
        ax.yaxis.set_major_locator(MultipleLocator(0.1))
        ax.spines["bottom"].set_visible(False)
    _accuracy_limits(axes[0].set_ylim, groups)
    for ax in axes[::3]:
        ax.set_ylabel(_ACCURACY)
    marks = "bars start at the majority class; thin lines: ± one standard deviation over folds"
    finish(figure, axes, caption, marks)


def draw_dots(figure: Figure, *, groups: Sequence[Group], models: Sequence[str], caption: str) -> None:
    """Draw our accuracies beside the published ones, a panel for each data set."""
    names = [_label(model) for model in models]
    place = 0.07 + 0.1 * max(len(name.splitlines()) for name in names)
    axes = make_panels(figure, len(groups), columns=2, height=0.35 + place * len(models), sharex=True, sharey=True)
    for ax, group in zip(axes, groups, strict=True):
        for k, model in enumerate(models):
            if found := group.ours.get(model):
                ax.errorbar(
                    found.mean, k - 0.17, xerr=found.sd or 0.0, linewidth=0.8, color=COLOURS[0], marker="o",
                    label="ours",
                )  # fmt: skip
            if theirs := group.published.get(model):
                ax.errorbar(
                    theirs.mean, k + 0.17, xerr=theirs.sd or 0.0, linewidth=0.6, color=COLOURS[3], marker="D",
                    markerfacecolor="white", markersize=3, label="published",
                )  # fmt: skip
        if group.majority is not None:
            ax.axvline(group.majority, color=GREY, linewidth=0.6, linestyle=":", label="majority class")
        ax.set(title=group.dataset, yticks=range(len(models)), yticklabels=names)
        ax.tick_params("y", length=0)
        ax.grid(axis="y", color="#EEEEEE", linewidth=0.5)
        ax.set_axisbelow(True)
    axes[0].set_ylim(len(models) - 0.5, -0.5)
    _accuracy_limits(axes[0].set_xlim, groups)
    for ax in axes[-2:]:
        ax.tick_params("x", labelbottom=True)
        ax.set_xlabel(_ACCURACY)
    finish(figure, axes, caption, "lines: ± one standard deviation, ours over folds, published over splits")


def draw_paths(figure: Figure, *, paths: Paths) -> None:
    """Draw what p and q did in each training of an experiment, with what it was below."""
    unfinished = f"; unfinished: {paths.rows} of {paths.of} cells are there" * (paths.rows < paths.of)
    others = "" if paths.model == "pinet" else f" ({paths.model})"
    title = title_of(paths.key, f"{paths.dataset}{others}, {paths.rows} rows{unfinished}")
    draw_square(figure, paths.paths, title, "p: 1 is no normalisation by degrees; q: weight of self-loops")


def draw_square(figure: Figure, paths: Sequence[Array], *captions: str) -> None:
    """Draw what p and q did in each training, a panel for each layer, with the four matrices at the corners.

    Parameters
    ----------
    figure : matplotlib Figure
    paths : sequence of (epochs + 1, 4, 2) arrays in [0, 1]
        As :func:`minipinet.results.figure_data.path_of` returns them.
    *captions : str
        Below the panels.
    """
    axes = make_panels(figure, len(_LAYERS), columns=2, height=1.6, sharex=True, sharey=True)
    for layer, ax in enumerate(axes):
        ax.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color=GREY, linewidth=0.5)
        for path in paths:
            p, q = path[:, layer].T
            ax.plot(p, q, color=COLOURS[0], linewidth=0.7, alpha=0.7, label="one training")
            ax.plot(p[0], q[0], label="start", zorder=4, **_HOLLOW)
            ax.plot(p[-1], q[-1], zorder=3, label="end", **_END)
        for (p, q), name in _CORNERS.items():
            ax.text(p, 1.04 if q else -0.04, name, size=6, ha="right" if p else "left", va="bottom" if q else "top")
        ax.set(title=_LAYERS[layer], xlim=(-0.05, 1.05), ylim=(-0.14, 1.14), aspect="equal")
        ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    for ax in axes[2:]:
        ax.set_xlabel("p (0 to 1)")
    for ax in axes[::2]:
        ax.set_ylabel("q (0 to 1)")
    finish(figure, axes, *captions)


def make_panels(
    figure: Figure, n: int, *, columns: int, height: float, sharex: bool = False, sharey: bool = False
) -> list[Axes]:
    """Return n axes of a height in inches, titles and all, in rows of so many."""
    rows, columns = -(-n // columns), min(n, columns)
    figure.set_size_inches(WIDTH, rows * height)
    axes: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey).flat)
    for ax in axes[n:]:
        ax.remove()
    return axes[:n]


def finish(figure: Figure, axes: Sequence[Axes], *captions: str) -> None:
    """Put what the marks mean above the panels, and the captions below them."""
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    lengths = [len(line) for label in handles for line in label.splitlines()]
    columns = 3 if max(lengths) < 24 else 2
    figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=columns)
    lines = [line for caption in captions for line in textwrap.wrap(caption, 80)]
    # Room for the legend, the captions and the labels of the axes.
    above = -(-len(lengths) // columns) + max(label.count("\n") for label in handles)
    figure.set_figheight(figure.get_figheight() + 0.13 * above + 0.11 * len(lines) + 0.35)
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", size=6, color=GREY)


def _accuracy_limits(set_limits: Callable[[float, float], Any], groups: Sequence[Group]) -> None:
    """Set limits that everything is between, with its error bars."""
    ends = [group.majority for group in groups if group.majority is not None]
    for group in groups:
        shown: list[Estimate | Published] = [*group.ours.values(), *group.published.values()]
        ends += [found.mean + sign * (found.sd or 0.0) for found in shown for sign in (-1, 1)]
    set_limits(max(0.0, min(ends) - 0.02), min(1.0, max(ends)) + 0.02)


def _label(model: str, names: dict[str, str] | None = None) -> str:
    """Return the name of a model for a reader."""
    bare = model.removesuffix(QUICK_MARK)
    own = {**_MODELS, **(names or {})}
    return textwrap.fill(own.get(bare, bare) + model[len(bare) :], 28)
