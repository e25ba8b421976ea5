"""The figures of the experiments, from the rows of a store: those of the paper, and one that it lacks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from minipinet._files import make_folder, write_whole
from minipinet.experiments import isomorphism, message_passing
from minipinet.experiments.records import Row
from minipinet.results.drawing import draw_bars, draw_curves, draw_dots, draw_paths, render
from minipinet.results.figure_data import all_paths, curves_caption, curves_of, fold_caption, fold_groups
from minipinet.results.fold_results import make_fold_results
from minipinet.results.isomorphism_tables import size_table, steps_table
from minipinet.results.naming import QUICK_MARK
from minipinet.results.table import Key, Result, by_key, in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Letters of a word in a name of files; the file systems in use take 255 for the whole.
_LONGEST = 80
#: The words of the name of a figure's files, and what draws it.
Drawing: TypeAlias = tuple[list[str], Callable[["Figure"], None]]
Groups: TypeAlias = Mapping[Key, Sequence[Result]]


def draw_figures(rows: Iterable[Row], folder: Path) -> list[Path]:
    """Draw every figure that the rows have data for, each as PNG and as SVG.

    ``isomorphism-sizes`` and ``isomorphism-steps``: accuracy by training graphs and by training steps, a panel for each
    kind of node features. ``message-passing-PROTOCOL``: a bar for each matrix. ``comparison-PROTOCOL``: ours beside the
    published. ``paths-PROTOCOL-DATASET``: p and q during training, a panel for each layer. What is never mixed in one
    table (features, shuffled nodes, other settings) has a figure of its own, whose name says so; letters other than
    those of file names become "-", with a mark behind them.

    Parameters
    ----------
    rows : iterable of Row
    folder : Path
        Made if there is something to write. Files of these names are replaced, each whole; the same rows give the same
        bytes (with the same matplotlib).

    Returns
    -------
    list of Path
        Of the files.

    Raises
    ------
    UsageError
        Without matplotlib, if there is something to draw.
    MinipinetError
        When a file cannot be written.

    Examples
    --------
    >>> draw_figures([], Path("nowhere"))
    []
    """
    groups = by_key(rows)
    of_trials = {key: groups[key] for key in sorted(groups) if key.experiment == isomorphism.NAME}
    of_folds = {key: groups[key] for key in sorted(groups) if key.experiment != isomorphism.NAME}
    written: list[Path] = []
    taken: set[str] = set()
    for words, draw in (*_curves(of_trials), *_folds(of_folds), *_paths(of_folds)):
        name = _name(words)
        if name.casefold() in taken:  # for a file system that takes small letters and capitals for the same
            name = f"{name}-{_mark(*words)}"
        taken.add(name.casefold())
        for form, content in render(draw).items():
            make_folder(folder)
            written.append(folder / f"{name}.{form}")
            write_whole(written[-1], content)
    return written


def _curves(groups: Groups) -> Iterator[Drawing]:
    for key in dict.fromkeys(key._replace(features="labels") for key in groups):
        kinds = [other.features for other in groups if other._replace(features="labels") == key]
        keys = [key._replace(features=kind) for kind in in_order(kinds, isomorphism.FEATURES)]
        for what, table_of in (("sizes", size_table), ("steps", steps_table)):
            panels = [curves_of(table_of(one, groups[one])) for one in keys]
            panels = [panel for panel in panels if any(panel.ours.values())]
            if panels:
                words = _words(key._replace(protocol=""), what)
                yield words, partial(draw_curves, panels=panels, by=what, caption=curves_caption(key, panels))


def _folds(groups: Groups) -> Iterator[Drawing]:
    for key, results in groups.items():
        folds = make_fold_results(key, results)
        bars = key.experiment == message_passing.NAME
        shown = fold_groups(folds, parts=bars)
        caption = fold_caption(folds, shown)
        yield _words(key), partial(draw_bars if bars else draw_dots, groups=shown, models=folds.models, caption=caption)


def _paths(groups: Groups) -> Iterator[Drawing]:
    for paths in all_paths(groups.items()):
        others = [] if paths.model == "pinet" else [paths.model]
        yield _words(paths.key, paths.dataset, *others), partial(draw_paths, paths=paths)


def _words(key: Key, *more: str) -> list[str]:
    features = "" if key.features == "labels" else key.features
    return [word for word in (key.experiment, key.protocol, *more, features, "shuffled" * key.shuffled) if word]


def _name(words: Iterable[str]) -> str:
    """Return the name of a figure's files: of letters that every file system has.

    A word of other letters, or a long one, ends with a mark of its own, so that no two get one name.

    Examples
    --------
    >>> _name(["paths", "paper", "MUTAG", "pinet (quick)", "degrees", "shuffled"])
    'paths-paper-MUTAG-pinet-quick-degrees-shuffled'
    >>> _name(["paths", "paper", "my-set"]), _name(["paths", "paper", "my set"])
    ('paths-paper-my-set', 'paths-paper-my-set-35db3f19')
    """
    return "-".join(map(_plain, words))


def _plain(word: str) -> str:
    text = word.replace(QUICK_MARK, "-quick")
    plain = re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-")[:_LONGEST]
    return plain if plain == text else f"{plain}-{_mark(word)}".strip("-")


def _mark(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:8]
