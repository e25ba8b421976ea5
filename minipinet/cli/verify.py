"""``minipinet verify``: check every hand-written gradient against differences of its forward pass."""

from __future__ import annotations

import argparse
from typing import Any

from minipinet.cli import common
from minipinet.cli.tables import number, table

DESCRIPTION = """\
Check every hand-written backward pass of the package: one row for each forward/backward pair and method.

central: central differences. complex: the complex step, exact to rounding. taylor: the remainder of the gradient's
linear model must fall with the third power of the step (rate 3). float32 (with --dtype float32): gradients in single
precision against those in double. Exit status 1 if any gradient is wrong."""


def add_parser(commands: Any) -> None:
    """Add ``verify`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "verify", help="check every hand-written gradient", description=DESCRIPTION
    )
    parser.add_argument(
        "--pair", action="append", metavar="NAME", help="check only this pair; may be given several times"
    )
    parser.add_argument(
        "--model",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether to check the whole network and its loss too (default: yes)",
    )
    parser.add_argument("--dtype", default="float64", help="float64 or float32 (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=0, help="for inputs, cotangents and directions (default: %(default)s)"
    )
    common.add_json_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Print one row a check, then what is wrong, if anything is."""
    from minipinet.verify import VerificationError, verify_all

    rows = verify_all(args.pair, model=args.model, dtype=args.dtype, seed=args.seed)
    wrong = [row for row in rows if not row.ok]
    if args.json:
        common.print_json({"ok": not wrong, "dtype": args.dtype, "seed": args.seed, "checks": rows})
    else:
        cells = [
            [
                row.pair,
                row.method,
                number(row.rate, 2),
                f"{row.worst:.1e}",
                f"{row.tolerance:g}",
                f"{row.seconds:.2f}",
                "ok" if row.ok else "WRONG",
            ]
            for row in rows
        ]
        print(table(["pair", "method", "rate", "worst error", "allowed", "seconds", ""], cells, left=[0, 1, 6]))
        for row in wrong:
            print(f"\n{row.text}")
    if wrong:
        raise VerificationError(f"{len(wrong)} of {len(rows)} checks failed")
