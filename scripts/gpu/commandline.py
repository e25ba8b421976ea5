"""The benchmark's command line: what is wrong with it is said in one line, before anything is measured."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

#: The data sets that are timed; those that come without a folder first.
SETS = ("MUTAG", "isomorphism", "NCI1", "PROTEINS", "ENZYMES attributes")
WITHOUT_FOLDER = SETS[:2]
#: What shows that a peer's framework is in this environment.
MODULES = {"pyg": "torch_geometric", "plain_torch": "torch", "jax_sparse": "jax"}
#: As many folds as MUTAG's smaller class has graphs.
MOST_FOLDS = 63


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong with the command line in one line."""

    def error(self, message: str) -> NoReturn:
        """End with exit status 2."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def number(kind: type[int] | type[float], expected: str, allowed: Callable[[float], bool]) -> Callable[[str], float]:
    """Return what reads a number of an option, and refuses others."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = -1
        if not allowed(value):
            raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r:.80}")
        return value

    return read


def output(text: str) -> Path:
    """Return the path of a report, if it and the table beside it can be written."""
    path = Path(text)
    if path.suffix.lower() == ".md" or not path.name:
        raise argparse.ArgumentTypeError(f"expected a file that does not end in .md, as the table's does, got {text!r}")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"expected a file in a folder that can be written to, got {text!r}")
    for file in (path, path.with_suffix(".md")):
        if file.is_dir():
            raise argparse.ArgumentTypeError(f"expected no folder at {str(file)!r}")
    return path


def folder(text: str) -> Path:
    """Return the path of a folder that is there."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"expected a folder, got {text!r:.80}")
    return path


def parse(
    words: list[str] | None = None,
    prog: str = "gpu_bench",
    description: str = "Time an epoch on this machine's card, beside the CPU and other frameworks.",
) -> argparse.Namespace:
    """Parse the command line, which `scripts/gpu_check` hands on as it is."""
    parser = OneLineParser(prog=prog, description=description, allow_abbrev=False)
    count = number(int, "a whole number of at least 1", lambda x: x >= 1)
    folds = number(int, f"a whole number from 2 to {MOST_FOLDS}", lambda x: 2 <= x <= MOST_FOLDS)
    least = number(float, "a number of seconds above 0", lambda x: 0 < x < math.inf)
    minutes = number(float, "a number of minutes above 0", lambda x: 0 < x < math.inf)
    known = [name if " " not in name else f"'{name}'" for name in SETS]
    parser.add_argument(
        "--datasets", nargs="+", default=list(SETS), choices=SETS, metavar="NAME", help=f"of {', '.join(known)} (all)"
    )
    parser.add_argument(
        "--data-dir", type=folder, metavar="DIR", help=f"folder of TU zips; {' and '.join(WITHOUT_FOLDER)} need none"
    )
    parser.add_argument(
        "--peers", nargs="*", default=list(MODULES), choices=list(MODULES), metavar="NAME",
        help=f"of {', '.join(MODULES)} (all that are installed)",
    )  # fmt: skip
    envs = Path.home() / ".cache" / "minipinet" / "peers"
    parser.add_argument(
        "--envs", type=folder, default=envs, metavar="DIR",
        help="the peers' environments, as scripts/bench_peers makes them (%(default)s); else they run in this one",
    )  # fmt: skip
    parser.add_argument("--folds", type=folds, default=10, help="trained at once, 2 to 63 (%(default)s)")
    parser.add_argument("--epochs", type=count, default=200, help="of the cross-validation of MUTAG (%(default)s)")
    parser.add_argument("--rounds", type=count, default=5, help="in which every side is timed (%(default)s)")
    parser.add_argument(
        "--least", type=least, default=0.2, help="seconds that a side is timed for in a round (%(default)s)"
    )
    parser.add_argument(
        "--minutes", type=minutes, default=math.inf, metavar="M",
        help="after which no data set, peer or further round is begun (no end; gpu_check: what is left of nine)",
    )  # fmt: skip
    parser.add_argument(
        "--megabytes", type=count, default=1024, help="what is copied to measure the bandwidth (%(default)s)"
    )
    parser.add_argument(
        "--output", type=output, default="gpu_report.json", metavar="FILE",
        help="the report, and its tables beside it, in .md (%(default)s)",
    )  # fmt: skip
    parser.set_defaults(device="cuda")
    return parser.parse_args(words)
