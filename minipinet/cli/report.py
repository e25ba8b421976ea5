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

The data of the run are looked for under the name they were trained by; --data names them otherwise. Of a run that is
not finished the report is of what is there."""


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
        help="draw so many graphs at most; 0: none (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Write the report, and say where it is."""
    from minipinet.report import write_report
    from minipinet.report.run import read_run
    from minipinet.settings import whole

    whole("graphs", args.graphs, 0)
    if args.run_dir == "" or not Path(args.run_dir).is_dir():
        raise UsageError(f"RUN: there is no folder {args.run_dir or repr(args.run_dir)}")
    if args.output is not None and (args.output == "" or Path(args.output).is_dir()):
        raise UsageError(f"--output: expected the name of a file, got {args.output!r}")
    dataset = _dataset_of(read_run(args.run_dir), args)
    path = write_report(args.run_dir, args.output, dataset=dataset, graphs=args.graphs)
    if not os.path.samestat(path.stat(), os.fstat(1)):  # nothing behind the page where standard output is the file
        print(path)


def _dataset_of(found: Run, args: argparse.Namespace) -> Dataset | None:
    """Return the data of a run; None, with a notice, if nobody named them and they are not where they may be."""
    from minipinet.datasets import FeatureEncoder, load_dataset

    encoder, directed = FeatureEncoder.from_json(found.data["encoder"]), found.data["reading"]["directed"]
    try:
        dataset = load_dataset(
            args.data or found.data["name"], data_dir=args.data_dir, encoder=encoder, directed=directed
        )
    except MinipinetError as error:
        if args.data is not None:
            raise
        notify(f"no graphs are drawn, --data can name the run's data: {error}")
        return None
    if args.data is None and dataset.digest != found.data["digest"]:
        text = f"no graphs are drawn: what is called {dataset.name} here is not the run's data, --data can name them"
        notify(text)
        return None
    return dataset
