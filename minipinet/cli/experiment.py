"""``minipinet experiment``: the experiments of the paper, cell after cell into a store that outlives any kill."""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipinet._words import counted
from minipinet.cli import common
from minipinet.cli.progress import progress
from minipinet.cli.tables import table
from minipinet.errors import MinipinetError, Notice

if TYPE_CHECKING:
    from minipinet.experiments.records import Cell, Row
    from minipinet.experiments.schedule import Failure, Ran

DESCRIPTION = """\
Run an experiment of the paper. Every finished cell (one training and one test) is a row of the results store, a SQLite
file, from the moment it is finished: the same command goes on after Ctrl-C, a kill or a power cut, and cells that the
store has are not run again. All systems are trained on the CPU."""

HELP = {
    "isomorphism": "tell permutations of five graphs apart after a few of each",
    "message-passing": "four fixed message-passing matrices, and p and q learned",
    "comparison": "all systems on the benchmark data sets",
}

EPILOG = """\
protocols:
  paper     ten stratified folds, 200 epochs, the last one
  released  ten stratified splits of 90/10; PiNet makes ceil(|test| / 50) steps an epoch, as the authors' code does
  fair      ten folds; settings and epoch are chosen on a tenth of the training part, and the winner is trained three
            times (Errica et al. 2020)

examples:
  minipinet experiment comparison --quick
  minipinet experiment comparison --data-dir DIR --datasets MUTAG PTC --jobs 2 --store results.sqlite
  minipinet experiment isomorphism --datasets constant --models pinet wl
  minipinet experiment message-passing --scheduler tcp://10.0.0.1:8786"""


def add_parser(commands: Any) -> None:
    """Add ``experiment`` and its own commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "experiment", help="run an experiment of the paper", description=DESCRIPTION, epilog=EPILOG
    )
    names = parser.add_subparsers(title="experiments", dest="experiment", metavar="EXPERIMENT", required=True)
    for name, text in HELP.items():
        own = names.add_parser(name, help=text, description=DESCRIPTION, epilog=EPILOG)
        _add_options(own, name)
        own.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser, name: str) -> None:
    isomorphism = name == "isomorphism"
    what = parser.add_argument_group("what to run")
    what.add_argument("--protocol", default="paper", metavar="NAME", help="paper (the default), released or fair")
    what.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        help="kinds of node features: random, balanced, constant (default: all)"
        if isomorphism
        else "names of data sets; PTC stands for its four parts (default: those of the paper)",
    )
    what.add_argument("--models", nargs="+", metavar="NAME", help="see docs/experiments.md (default: all)")
    what.add_argument(
        "--repeats",
        type=common.whole_number,
        metavar="N",
        help=f"{'trials' if isomorphism else 'times that everything is repeated with other splits and seeds'} "
        f"(default: {'10' if isomorphism else '1'})",
    )
    what.add_argument("--quick", action="store_true", help="a small version of everything, in seconds")
    what.add_argument(
        "--shuffle-nodes",
        action="store_true",
        help="renumber the nodes of every graph at random first: what depends on their order shows",
    )
    common.add_data_dir_option(what)
    how = parser.add_argument_group("how to run it")
    how.add_argument(
        "--store", default="results.sqlite", metavar="FILE", help="where results are kept (default: %(default)s)"
    )
    how.add_argument(
        "--jobs",
        type=common.whole_number,
        metavar="N",
        help="processes; the results do not depend on it (default: one a core)",
    )
    how.add_argument(
        "--scheduler", metavar="ADDRESS", help="run on this Dask cluster instead, such as tcp://10.0.0.1:8786"
    )
    how.add_argument("--quiet", action="store_true", help="show no progress")
    common.add_json_option(how)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Run what is missing, and print what the store has now."""
    from joblib import cpu_count

    from minipinet.experiments.plan import Plan
    from minipinet.experiments.schedule import run_cells
    from minipinet.experiments.store import open_store, rows

    module = importlib.import_module(f"minipinet.experiments.{args.experiment.replace('-', '_')}")
    plan = Plan(args.protocol, args.datasets, args.models, args.repeats, args.quick, args.shuffle_nodes)
    cells: list[Cell] = module.list_cells(plan)
    _load_data(cells, args.data_dir)
    try:
        with progress(len(cells), "cell", quiet=args.quiet) as show:
            ran = run_cells(
                cells,
                args.store,
                data_dir=args.data_dir,
                jobs=cpu_count() if args.jobs is None else args.jobs,
                scheduler=args.scheduler,
                on_cell=lambda done, result: show(done, _note(result)),
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"what is finished is in {args.store}; the same command goes on") from None
    with open_store(args.store) as store:
        found = [next(rows(store, key=cell.key), None) for cell in cells]
    _print(args, [row for row in found if row is not None], ran)
    if ran.failures:
        first = ran.failures[0]
        raise MinipinetError(
            f"{counted(len(ran.failures), 'cell')} failed, the others are in {args.store}; "
            f"the first is {first.cell.key}: {first.reason}"
        )


def _load_data(cells: Sequence[Cell], data_dir: str | None) -> None:
    """Load each data set by name once: what is wrong with one is told before hours of work, its notices once."""
    from minipinet.experiments.cells import split_of
    from minipinet.experiments.data import ISOMORPHISM, load_cell_data

    for cell in {(cell.dataset, cell.features): cell for cell in cells}.values():
        with warnings.catch_warnings():
            if cell.dataset == ISOMORPHISM:
                warnings.simplefilter("ignore", Notice)
            split_of(cell, load_cell_data(cell, data_dir).dataset)


def _note(result: Row | Failure) -> str:
    cell = result.cell
    accuracy = getattr(result, "accuracy", None)
    return f"{cell.system}, {cell.dataset}, {'failed' if accuracy is None else f'accuracy {accuracy:.3f}'}"


def _print(args: argparse.Namespace, rows: Sequence[Row], ran: Ran) -> None:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        cell = row.cell
        name = cell.dataset if args.experiment != "isomorphism" else f"{cell.features}, {cell.size} a class"
        groups.setdefault((cell.system, cell.variant, name), []).append(row)
    lines = [
        {
            "system": system,
            "variant": variant,
            "data": name,
            "rows": len(group),
            "accuracy_mean": sum(row.accuracy for row in group) / len(group),
            "seconds": sum(row.seconds for row in group),
        }
        for (system, variant, name), group in groups.items()
    ]
    counts = {"found": ran.found, "added": ran.added, "others": ran.others, "failed": len(ran.failures)}
    if args.json:
        failures = [{"cell": failure.cell.key, "reason": failure.reason} for failure in ran.failures]
        common.print_json({"store": Path(args.store), **counts, "failures": failures, "groups": lines})
        return
    header = ["system", "settings", "data", "rows", "accuracy", "seconds"]
    cells = [
        [line["system"], line["variant"], line["data"], line["rows"], f"{line['accuracy_mean']:.3f}",
         f"{line['seconds']:.1f}"]
        for line in lines
    ]  # fmt: skip
    print(table(header, cells, left=[0, 1, 2]))
    others = f", {ran.others} put there by another process meanwhile" if ran.others else ""
    print(f"\n{counted(ran.added, 'cell')} run, {ran.found} found{others}, in {args.store}")
