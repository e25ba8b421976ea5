"""``minipinet results``: the tables and figures of a results store, and the store as CSV."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipinet._extras import library
from minipinet._words import counted, nearest
from minipinet.cli import common
from minipinet.errors import MinipinetError, UsageError

if TYPE_CHECKING:
    from minipinet.experiments.records import Row
    from minipinet.results.table import Table

DESCRIPTION = """\
Print the tables of a results store, the paper's numbers beside ours: what is missing is "-", and counts say how much is
there. The store may be one that is being written. Nothing in it is changed, --import aside."""

EPILOG = """\
examples:
  minipinet results results.sqlite
  minipinet results results.sqlite --experiment comparison --format latex --output tables.tex
  minipinet results results.sqlite --export rows.csv.xz
  minipinet results elsewhere.sqlite --import rows/*.csv.xz"""


def add_parser(commands: Any) -> None:
    """Add ``results`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "results", help="tables, figures and CSV of a results store", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("store", metavar="STORE", help="the file that `minipinet experiment` wrote")
    parser.add_argument(
        "--experiment", metavar="NAME", help="only this one of isomorphism, message-passing, comparison"
    )
    tables = parser.add_argument_group("tables")
    tables.add_argument("--format", metavar="NAME", help="text (the default), markdown, latex or csv (a line a number)")
    tables.add_argument("--output", metavar="FILE", help="write the tables there instead of printing them")
    tables.add_argument("--figures", metavar="DIR", help="draw the figures into this folder, as PNG and SVG")
    whole = parser.add_argument_group("the store as CSV (packed, where the name ends with .gz or .xz)")
    whole.add_argument("--export", metavar="FILE", help="write all rows there, or those of the experiment")
    whole.add_argument(
        "--import",
        metavar="FILE",
        dest="import_",
        nargs="+",
        help="first add the rows of such files; makes the store if need be",
    )
    common.add_json_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Import, export, draw and print, in this order."""
    from minipinet._files import write_whole
    from minipinet.cli.formats import FORMATS
    from minipinet.experiments.records import EXPERIMENTS
    from minipinet.results.tables import make_tables

    _check(args, "format", list(FORMATS))
    _check(args, "experiment", EXPERIMENTS)
    if args.json and args.format and not args.output:
        raise UsageError("--json: has a form of its own, so --format needs --output beside it")
    _check_files(args)
    if args.figures is not None:
        library("matplotlib", "minipinet results --figures", "pip install 'minipinet[figures]'")
    added = None if args.import_ is None else _import(args.store, args.import_)
    rows, exported = _read(args)
    tables = make_tables(rows)
    if args.output is not None:
        write_whole(args.output, FORMATS[args.format or "text"](tables).encode())
    figures = None if args.figures is None else _draw(rows, Path(args.figures))
    if args.json:
        common.print_json(
            {
                "store": args.store,
                "rows": len(rows),
                "added": added,
                "exported": exported,
                "output": args.output,
                "figures": figures,
                "tables": [_as_document(table) for table in tables],
            }
        )
        return
    said = [f"{counted(added, 'row')} added from {', '.join(args.import_)}"] if added is not None else []
    said += [f"{counted(exported, 'row')} written to {args.export}"] if exported is not None else []
    said += [f"{counted(len(figures), 'file')} in {args.figures}"] if figures is not None else []
    for line in said:
        print(line, file=sys.stderr)
    if args.output is None and (tables or args.format == "csv"):
        print(FORMATS[args.format or "text"](tables), end="")
    if not tables:
        print(f"{args.store}: no rows" + (f" of {args.experiment}" if args.experiment else ""), file=sys.stderr)


def _check(args: argparse.Namespace, option: str, known: Sequence[str]) -> None:
    given = getattr(args, option)
    if given is not None and given not in known:
        raise UsageError(f"--{option}: expected one of {', '.join(known)}, got {given!r}{nearest(given, known)}")


def _check_files(args: argparse.Namespace) -> None:
    """Refuse, before any work, what cannot be written, and one file under two names, above all that of the store."""
    from minipinet.rundir import check_not_of_run

    for option in ("output", "export", "figures"):
        given, kind = getattr(args, option), "folder" if option == "figures" else "file"
        if given == "":
            raise UsageError(f"--{option}: expected the name of a {kind}, got ''")
        if kind == "file" and given is not None and Path(given).is_dir():
            raise UsageError(f"--{option}: expected a file, got the folder {given}")
    store = Path(args.store).resolve()
    taken = {store.with_name(store.name + end): "the store" for end in ("", "-wal", "-shm", "-journal")}
    named = [("import", path) for path in args.import_ or ()] + [("export", args.export), ("output", args.output)]
    for option, given in named:
        if given is not None:
            if (file := Path(given).resolve()) in taken:
                raise UsageError(f"--{option}: expected another file than {taken[file]}, got {given}")
            taken[file] = f"that of --{option}"
    if args.figures is not None:
        folder = Path(args.figures).resolve()
        for file in (folder, *folder.parents):
            if file in taken:
                raise UsageError(f"--figures: expected another name than {taken[file]}, got {args.figures}")
            if file.exists() and not file.is_dir():
                raise MinipinetError(f"{args.figures}: cannot be made: {os.strerror(errno.EEXIST)}")
    for option, given in (("export", args.export), ("output", args.output)):
        if given is None:
            continue
        check_not_of_run(Path(given), f"--{option}")
        if not (parent := Path(given).resolve().parent).is_dir():
            reason = errno.ENOTDIR if parent.exists() else errno.ENOENT
            raise MinipinetError(f"{given}: cannot be written: {os.strerror(reason)}")


def _import(store_path: str, paths: Sequence[str]) -> int:
    """Add the rows of files, all or none; a new store comes with them or not at all."""
    from minipinet.experiments.exchange import import_csv
    from minipinet.experiments.store import new_store, open_store

    for path in paths:
        if path == "" or not Path(path).exists():
            raise UsageError(f"--import: there is no file {path or repr(path)}")
        if Path(path).is_dir():
            raise UsageError(f"--import: expected a file, got the folder {path}")
    opened = open_store if Path(store_path).exists() else new_store
    with opened(store_path) as store:
        return import_csv(store, *paths)


def _read(args: argparse.Namespace) -> tuple[list[Row], int | None]:
    """Return the rows asked for, and how many were exported."""
    from minipinet.experiments.exchange import export_csv
    from minipinet.experiments.store import open_store, rows

    asked = {} if args.experiment is None else {"experiment": args.experiment}
    with open_store(args.store, read_only=True) as store:
        exported = None if args.export is None else export_csv(store, args.export, **asked)
        return list(rows(store, **asked)), exported


def _draw(rows: Sequence[Row], folder: Path) -> list[str]:
    from minipinet._files import make_folder
    from minipinet.results.figures import draw_figures

    make_folder(folder)
    return [str(path) for path in draw_figures(rows, folder)]


def _as_document(table: Table) -> dict[str, Any]:
    """Return a table as JSON values: a line holds its labels and then its values."""
    header = [*table.labels, *(column.title for column in table.columns)]
    lines = [[*line.labels, *line.values] for line in table.lines]
    return {
        **table.key._asdict(), "name": table.name, "title": table.title, "header": header, "lines": lines,
        "notes": table.notes,
    }  # fmt: skip
