"""``minipinet report``: one HTML file on a run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipinet.cli import common
from minipinet.errors import MinipinetError, UsageError, notify

if TYPE_CHECKING:
    from minipinet.datasets import Dataset
    from minipinet.report.run import Run

DESCRIPTION = """\
Write one HTML file on a run of `minipinet train`, which needs nothing else to be read: headline figures, confusion
matrix, folds, learning curves, the paths of p and q, and graphs drawn with what the model attends to in them, wrong
ones first.

The data of the run are looked for under the name they were trained by; --data names them otherwise. Graphs that were
never files, such as one's own networkx graphs, are drawn from Python: minipinet.report.write_report has dataset= for
them. Of a run that is not finished the report is of what is there. It is computed on the CPU, wherever the run was
trained."""

#: How to have graphs drawn that were not found.
_OTHERWISE = "--data can name the run's data, and minipinet.report.write_report takes graphs in memory, as dataset="


def add_parser(commands: Any) -> None:
    """Add ``report`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "report", help="write an HTML page on a run", description=DESCRIPTION
    )
    parser.add_argument("run_dir", metavar="RUN", help="the folder of a run")
    parser.add_argument("--output", metavar="FILE", help="the file to write (default: report.html in RUN)")
    parser.add_argument("--data", metavar="NAME|PATH", help="the run's data: a name, folder or zip of a TU data set")
    common.add_data_dir_option(parser)
    parser.add_argument(
        "--graphs",
        type=common.whole_number,
        default=24,
        metavar="N",
        help="draw so many graphs at most, wrong ones first; with 64 attention columns each adds about 30 kB to the "
        "file, 240 kB if it is of 100 nodes; 0: none (default: %(default)s, and the page says which are left out)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Write the report, and say where it is."""
    from minipinet._extras import library
    from minipinet.report import write_report
    from minipinet.settings import whole

    library("matplotlib", "minipinet report", "pip install 'minipinet[figures]'")
    whole("graphs", args.graphs, 0)
    if args.output is not None:
        common.check_output(args.output)
    dataset = _dataset_of(_read_run(args.run_dir), args)
    path = write_report(args.run_dir, args.output, dataset=dataset, graphs=args.graphs)
    if not os.path.samestat(path.stat(), os.fstat(1)):  # nothing behind the page where standard output is the file
        print(path)


def _read_run(path: str) -> Run:
    """Return the run in the folder that RUN names; what is wrong with it is said of RUN."""
    from minipinet.report.run import read_run
    from minipinet.rundir import LOG, MODEL, RECORD

    folder = Path(path)
    needed = f"a report needs {RECORD} and {LOG} beside a model"
    near = [parent for parent in folder.resolve().parents[:2] if (parent / RECORD).is_file()]
    hint = f"; the run is in {near[0]}" if near else ""
    if path and folder.is_file():
        what = f"a model, but {needed}" if folder.suffix == Path(MODEL).suffix else "a file"
        raise UsageError(f"RUN: expected the folder of a run, got {path}: {what}{hint}")
    if not path or not folder.is_dir():
        raise UsageError(f"RUN: there is no folder {path or repr(path)}")
    try:
        return read_run(path)
    except UsageError as error:
        hint = hint or (f"; {needed}" if (folder / MODEL).is_file() else "")
        raise UsageError(f"RUN: {str(error).removeprefix('run_dir: ')}{hint}") from error


def _dataset_of(found: Run, args: argparse.Namespace) -> Dataset | None:
    """Return the data of a run; None, with a notice, if nobody said where they are and they are not where they may be.

    With --data or --data-dir an error ends the command, so that no page without graphs takes the place of a better one.
    """
    from minipinet.datasets import FeatureEncoder, load_dataset

    named = args.data is not None or args.data_dir is not None
    name = found.data["name"] if args.data is None else args.data
    encoder, directed = FeatureEncoder.from_json(found.data["encoder"]), found.data["reading"]["directed"]
    try:
        dataset = load_dataset(name, data_dir=args.data_dir, encoder=encoder, directed=directed)
    except MinipinetError as error:
        text = str(error)
        if not named:
            notify(f"no graphs are drawn: {text} ({_OTHERWISE})")
            return None
        if text.startswith("name_or_path: "):
            error.args = (f"--data{text.removeprefix('name_or_path')}",)
        elif args.data is None and not text.startswith("data_dir: "):
            error.args = (f"--data-dir: {text}",)
        raise
    if not named and dataset.digest != found.data["digest"]:
        notify(f"no graphs are drawn: what is called {dataset.name} here is not the run's data ({_OTHERWISE})")
        return None
    return dataset
