"""The page: sections of a report, put into the files of ``assets/``."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from minipinet._extras import library
from minipinet._files import as_path, to_plain, write_whole
from minipinet._words import type_name
from minipinet.datasets.dataset import Dataset
from minipinet.errors import UsageError
from minipinet.report import html, sections
from minipinet.report.cards import card, card_data
from minipinet.report.gallery import MOST_NODES, NUMBERINGS, Drawn, gallery
from minipinet.report.html import text
from minipinet.report.run import Run, read_run
from minipinet.report.scores import Labelled, label, summarise
from minipinet.rundir import as_run_folder, check_not_of_run
from minipinet.settings import whole

#: The file that a report goes to if no other is named: in the folder of its run.
REPORT = "report.html"
#: Graphs drawn, if nothing else is asked for.
GRAPHS = 24

#: How the sums node by node and those of the model's default scores go together.
_MERGED = "The model's default scores are other sums, in which nodes that look alike are added up together."
_UNMERGED = "The model was trained with <code>merge=False</code>: its default scores are such sums."


def write_report(
    run_dir: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    dataset: Dataset | None = None,
    graphs: int = GRAPHS,
) -> Path:
    """Write the report on a run to one HTML file, whole or not at all; arguments and errors as of `make_report`.

    Parameters
    ----------
    output : path, optional
        Default: ``report.html`` in the folder of the run. A file that a run is made of is a UsageError.

    Returns
    -------
    Path
        Of the file.
    """
    path = as_run_folder(run_dir) / REPORT if output is None else as_path(output, "output")
    check_not_of_run(path, "output")
    write_whole(path, make_report(run_dir, dataset=dataset, graphs=graphs).encode())
    return path


def make_report(run_dir: str | os.PathLike[str], *, dataset: Dataset | None = None, graphs: int = GRAPHS) -> str:
    """Return the report on a run as an HTML document that needs no other file and no network.

    Parameters
    ----------
    run_dir : path
        A folder that `minipinet train` wrote, finished or not.
    dataset : Dataset, optional
        The data of the run, such as `dataset_from_networkx` made for it. Without them no graphs are drawn, and a run
        that is not finished has no scores.
    graphs : int
        How many graphs to draw at most, 0 for none. One of N nodes takes at most 4000 + N (450 + 30 F_A) bytes, long
        names aside. Graphs of more than `minipinet.report.gallery.MOST_NODES` nodes are never drawn.

    Raises
    ------
    UsageError
        If there is no run in the folder; for `dataset` or `graphs` of another kind; without matplotlib
        (`minipinet[figures]`).
    DataError
        If the run cannot be read, or the data set is another than the run's.

    Examples
    --------
    >>> import tempfile
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.runs import train_pinet
    >>> from minipinet.settings import Settings
    >>> data = load_dataset("MUTAG")[:20]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train_pinet(data, Settings(epochs=2, hidden=4, out=2), run_dir=folder)
    ...     make_report(folder, dataset=data, graphs=1)[:15]
    '<!doctype html>'
    """
    graphs = whole("graphs", graphs, 0)
    if dataset is not None and not isinstance(dataset, Dataset):
        raise UsageError(f"dataset: expected a Dataset or None, got {type_name(dataset)}")
    library("matplotlib", "make_report", "pip install 'minipinet[figures]'")
    run = read_run(run_dir)
    labelled = [] if dataset is None else label(run, dataset)
    drawn = [] if dataset is None or not graphs else gallery(run, dataset, labelled, graphs)
    summary = summarise(run, labelled)
    script = html.asset("script.js")
    return html.fill(
        "page.html",
        title=text(sections.title(run)),
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        style=html.asset("style.css"),
        lead=text(sections.lead(run)),
        state=sections.state(run),
        tiles=html.tiles(sections.tiles(run, summary)),
        results=sections.results(run, labelled, summary),
        curves=sections.curves(run, summary),
        paths=sections.paths(run),
        gallery=_gallery(run, dataset, labelled, graphs, drawn),
        settings=sections.settings(run),
        data=_as_json({"columns": run.settings.out, "graphs": [card_data(graph) for graph in drawn]}),
        script=script,
    )


def _gallery(run: Run, dataset: Dataset | None, labelled: list[Labelled], graphs: int, drawn: list[Drawn]) -> str:
    """Return the gallery, or why there is none."""
    if not drawn:
        if dataset is None:
            why = (
                "the data of the run were not at hand; minipinet report --data names them, "
                "minipinet.report.write_report has dataset= for graphs in memory."
            )
        elif not labelled:
            why = "no training is finished, so there is no model yet."
        elif not graphs:
            why = "none were asked for."
        else:
            why = f"each has more than {MOST_NODES} nodes, or none."
        return f"<p>No graphs are drawn: {why}</p>"
    return html.fill(
        "gallery.html",
        which=text(sections.which(run, labelled, drawn)),
        left_out=sections.left_out(labelled, drawn),
        numberings=NUMBERINGS,
        dtype=run.settings.dtype,
        default=_MERGED if run.settings.merge else _UNMERGED,
        columns=run.settings.out,
        last=run.settings.out - 1,
        on_nodes="" if dataset is None or dataset.node_labels is None else html.asset("on-nodes.html"),
        cards="\n".join(card(graph, run.cross_validated) for graph in drawn),
    )


def _as_json(record: dict[str, Any]) -> str:
    """Return JSON that may stand in a script element: no "<" can end it."""
    return json.dumps(to_plain(record), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
