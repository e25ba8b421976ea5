"""The options of ``minipinet train``, and the settings they ask for."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from minipinet.cli import common

if TYPE_CHECKING:
    from minipinet.settings import Settings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options of ``train``; their defaults are those of `Settings`."""
    data = parser.add_argument_group("data")
    data.add_argument(
        "--dataset",
        default="MUTAG",
        metavar="NAME|PATH",
        help="a name that `minipinet data list` shows, or a folder or zip in the TU format (default: %(default)s)",
    )
    common.add_data_dir_option(data)
    data.add_argument(
        "--features",
        default="labels",
        metavar="KIND",
        help="what a node's features are: labels, attributes, both, constant or degree (default: %(default)s)",
    )

    model = parser.add_argument_group("model")
    model.add_argument(
        "--hidden",
        type=common.whole_number,
        default=100,
        metavar="N",
        help="width of the first layers (default: %(default)s)",
    )
    model.add_argument(
        "--out",
        type=common.whole_number,
        default=64,
        metavar="N",
        help="width of the second layers (default: %(default)s)",
    )
    model.add_argument(
        "--pq",
        type=parse_pq,
        default="learned",
        metavar="learned|P,Q",
        help="p and q of the propagation matrices: learned for each layer, or fixed in [0, 1] (default: %(default)s)",
    )
    model.add_argument("--bias", action="store_true", help="give the layers biases; the paper's equations have none")
    model.add_argument("--init", default="he", metavar="KIND", help="he, glorot or orthogonal (default: %(default)s)")

    training = parser.add_argument_group("training")
    training.add_argument(
        "--epochs",
        type=common.whole_number,
        default=200,
        metavar="N",
        help="passes over the training graphs (default: %(default)s)",
    )
    training.add_argument(
        "--batch-size",
        type=common.whole_number,
        default=50,
        metavar="N",
        help="graphs in a mini-batch (default: %(default)s)",
    )
    training.add_argument(
        "--steps-per-epoch",
        type=common.whole_number,
        metavar="N",
        help="end an epoch after its first N mini-batches (default: visit every training graph)",
    )
    training.add_argument(
        "--lr", type=common.real_number, default=1e-3, metavar="X", help="Adam's learning rate (default: %(default)s)"
    )
    training.add_argument(
        "--l2",
        type=common.real_number,
        default=0.0,
        metavar="X",
        help="weight of the squared kernels in the loss (default: 0)",
    )
    training.add_argument(
        "--validation",
        type=common.real_number,
        default=0.0,
        metavar="SHARE",
        help="hold this share of the training graphs out and watch the loss on them (default: 0)",
    )
    training.add_argument(
        "--patience",
        type=common.whole_number,
        metavar="N",
        help="stop after N epochs without a lower validation loss and keep the best epoch (default: train them all)",
    )
    training.add_argument(
        "--seed",
        type=common.whole_number,
        default=0,
        metavar="S",
        help="decides folds, weights and order (default: %(default)s)",
    )
    training.add_argument(
        "--dtype", default="float32", metavar="TYPE", help="float32 or float64 (default: %(default)s)"
    )
    common.add_device_option(training, "train")

    running = parser.add_argument_group("run")
    running.add_argument(
        "--folds",
        type=common.whole_number,
        default=10,
        metavar="K",
        help="parts of the cross-validation; 0: one model on all graphs (default: %(default)s)",
    )
    running.add_argument(
        "--jobs",
        type=common.whole_number,
        metavar="N",
        help="processes that train folds at the same time, at most one a fold; the results do not depend on it "
        "(default: one a core, and on a card one)",
    )
    running.add_argument(
        "--folds-at-once",
        type=common.whole_number,
        default=1,
        metavar="K",
        help="folds that a card trains in one step, with --device cuda or auto (default: %(default)s; more than one "
        "take --jobs 1, as it is there by default)",
    )
    running.add_argument("--run-dir", metavar="DIR", help="folder of this run (default: runs/DATASET-DATE-TIME)")
    again = running.add_mutually_exclusive_group()
    again.add_argument(
        "--resume",
        action="store_true",
        help="go on with the stopped run in --run-dir, to the same results; where there is none, begin it and say so",
    )
    again.add_argument("--overwrite", action="store_true", help="remove the run in --run-dir first")
    running.add_argument("--quiet", action="store_true", help="show no progress")
    common.add_json_option(running)


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings that the options ask for."""
    from minipinet.settings import Settings

    return Settings(**{field.name: getattr(args, field.name) for field in fields(Settings) if field.name in args})


def parse_pq(text: str) -> Any:
    """Return "learned", one (p, q), or the four of the layers A0, A1, X0, X1; Settings checks the numbers.

    Examples
    --------
    >>> parse_pq("0.5,1")
    (0.5, 1.0)
    """
    if text == "learned":
        return text
    try:
        pairs = tuple((float(p), float(q)) for p, q in (part.split(",") for part in text.split(":")))
    except ValueError:
        pairs = ()
    if len(pairs) not in (1, 4):
        raise argparse.ArgumentTypeError(f"expected learned, P,Q or P,Q:P,Q:P,Q:P,Q; got {text!r}")
    return pairs if len(pairs) == 4 else pairs[0]
