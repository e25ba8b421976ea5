"""``minipinet verify``: check every hand-written gradient against differences of its forward pass."""

from __future__ import annotations

import argparse
import math
from typing import Any

from minipinet._words import number
from minipinet.cli import common
from minipinet.cli.tables import table
from minipinet.errors import UsageError

DESCRIPTION = """\
Check every hand-written backward pass of the package: one row for each forward/backward pair and method.

linear: the backward is linear in its cotangent, and exactly zero for zero. adjoint: <J v, w> = <v, backward(w)> for
several directions v and cotangents w, J v by differences of the whole output. central: central differences. complex:
the complex step, exact to rounding. taylor: the remainder of the gradient's linear model must fall with the third power
of the step (rate 3). float32 (with --dtype float32, beside the others): gradients in single precision against those in
double. Exit status 1 if any gradient is wrong.

On a card (--device cuda or auto) the pairs of the network compute there, all but those of the CPU's own
forms (fast, compiled)."""

# Written out here, since the pairs themselves take long to import.
PAIRS = (
    "propagate",
    "message_passing.A_first",
    "message_passing.W_first",
    "message_passing.square",
    "relu",
    "column_softmax",
    "pool",
    "dense",
    "readout.stepwise",
    "readout.fused",
    "readout.partly_fused",
    "softmax_cross_entropy",
    "scaling",
    "gate",
    "pinet",
    "pinet.fixed_pq",
    "loss",
    "fast.propagate",
    "fast.message_passing.A_first",
    "fast.message_passing.W_first",
    "fast.message_passing.square",
    "fast.two_class",
    "fast.two_class.wide",
    "fast.pooled",
    "fast.pooled.wide",
    "fast.loss",
    "fast.loss.fixed_pq",
    "fast.loss.wide",
    "fast.loss.three_classes",
    "compiled.loss",
    "compiled.loss.fixed_pq",
    "compiled.loss.wide",
    "compiled.loss.three_classes",
)


def add_parser(commands: Any) -> None:
    """Add ``verify`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "verify", help="check every hand-written gradient", description=DESCRIPTION
    )
    parser.add_argument(
        "--pair",
        action="append",
        metavar="NAME",
        help=f"check only this pair, or those with this name before the dot; may be given several times; "
        f"one of {', '.join(PAIRS)}",
    )
    parser.add_argument(
        "--model",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether to check the whole network and its loss too (default: yes)",
    )
    parser.add_argument("--dtype", default="float64", help="float64, or float32 to compare both (default: %(default)s)")
    common.add_device_option(parser, "compute")
    parser.add_argument(
        "--seed",
        type=common.whole_number,
        default=0,
        help="for inputs, cotangents and directions (default: %(default)s)",
    )
    common.add_json_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Print one row a check, a line that sums them up, then what is wrong, if anything is."""
    from minipinet._card import check_device
    from minipinet.verify import VerificationError, verify_all

    device = check_device(args.device)
    try:
        rows = verify_all(args.pair, model=args.model, dtype=args.dtype, seed=args.seed, device=device)
    except UsageError as error:
        text = str(error).replace("pairs:", "--pair:", 1).replace("model=False", "--no-model", 1)
        raise UsageError(text) from None
    wrong = [row for row in rows if not row.ok]
    count, seconds = len({row.pair for row in rows}), sum(row.seconds for row in rows)
    if args.json:
        shape = {"dtype": args.dtype, "device": device, "seed": args.seed, "pairs": count, "seconds": seconds}
        common.print_json({"ok": not wrong, **shape, "checks": rows})
    else:
        cells = [
            [
                row.pair,
                row.method,
                number(row.rate, 2),
                "-" if math.isnan(row.worst) else f"{row.worst:.1e}",
                f"{row.tolerance:g}",
                f"{row.seconds:.2f}",
                "ok" if row.ok else "WRONG",
            ]
            for row in rows
        ]
        print(table(["pair", "method", "rate", "worst error", "allowed", "seconds", ""], cells, left=[0, 1, 6]))
        verdict = f"{len(wrong)} WRONG" if wrong else "all ok"
        counts = f"{count} pair{'s' * (count != 1)}, {len(rows)} check{'s' * (len(rows) != 1)}"
        print(f"\n{counts}, {seconds:.1f} seconds: {verdict}")
        for row in wrong:
            print(f"\n{row.text}")
    if wrong:
        raise VerificationError(f"{len(wrong)} of {len(rows)} checks failed")
