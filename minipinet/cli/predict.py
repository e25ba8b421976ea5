"""``minipinet predict``: label new graphs with a saved model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from minipinet._words import number
from minipinet.cli import common
from minipinet.cli.tables import table
from minipinet.errors import DataError, UsageError

if TYPE_CHECKING:
    from minipinet.predictor import PiNet

DESCRIPTION = """\
Label graphs with a saved model; the answers are the class names of the data the model was trained on.

DATA is a TU data set (a name, a folder or a zip; a file of graph labels need not be there, and what it says does not
matter) or a file NAME.json with one networkx graph in node-link form, or a list of them, as networkx.node_link_data
writes them. The keys of atom types, numbers and weights are those of the networkx graphs that the model was trained
on; where there were none, the atom type is under "label" (see --node-label), --node-attributes lists the keys of the
numbers, and edges have no weights.

An atom type that the model never saw is no error: such a node's features are zero, so that it takes part through
its edges alone, and a note on standard error names the type."""


def add_parser(commands: Any) -> None:
    """Add ``predict`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "predict", help="label new graphs with a saved model", description=DESCRIPTION
    )
    common.add_model_argument(parser)
    parser.add_argument("data", metavar="DATA", help="a TU data set, or a .json file of node-link graphs")
    common.add_data_dir_option(parser)
    parser.add_argument(
        "--node-label",
        metavar="KEY,...",
        help='node-link graphs: key of the atom type (default: as in training, or "label"), or one a label column',
    )
    parser.add_argument(
        "--node-attributes",
        metavar="KEY,...",
        help="node-link graphs: keys of the numbers, joined in this order (default: as in training)",
    )
    parser.add_argument(
        "--bitwise",
        action="store_true",
        help="exact sums in float64: the same bits for a graph however its nodes are ordered and whatever else is "
        "in DATA (up to four times the time of scoring)",
    )
    common.add_device_option(parser, "score")
    common.add_json_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Print one row a graph: its number from 0, its class, and how probable the model holds that class to be."""
    from minipinet.evaluation import scoring_device

    args.device = scoring_device(args.device, args.bitwise)
    model = common.load_model(args.model)
    probabilities = _probabilities(model, args)
    labels = [model.classes[k] for k in probabilities.argmax(axis=1)]
    if args.json:
        common.print_json(
            {
                "model": args.model,
                "data": args.data,
                "classes": model.classes,
                "bitwise": args.bitwise,
                "device": args.device,
                "labels": labels,
                "probabilities": probabilities,
            }
        )
        return
    certain = probabilities.max(axis=1)
    rows = [[g, label, number(float(p))] for g, (label, p) in enumerate(zip(labels, certain, strict=True))]
    print(table(["graph", "class", "probability"], rows))


def _probabilities(model: PiNet, args: argparse.Namespace) -> Any:
    keys = {"node_label": args.node_label, "node_attributes": args.node_attributes}
    conversion = {name: value.split(",") for name, value in keys.items() if value is not None}
    if args.data.endswith(".json"):
        return _node_link_probabilities(model, args, conversion)
    if conversion:
        raise UsageError(
            "--node-label, --node-attributes: expected a file NAME.json with them, a TU set has its own keys"
        )
    from minipinet.datasets import load_graphs

    directed = model.reading.directed
    graphs = load_graphs(args.data, model.encoder, data_dir=args.data_dir, directed=directed)
    return model.probabilities(graphs, bitwise=args.bitwise, device=args.device)


def _node_link_probabilities(model: PiNet, args: argparse.Namespace, conversion: dict[str, list[str]]) -> Any:
    from minipinet._networkx import MissingAttributeError
    from minipinet.node_link import read_node_link

    path = args.data
    graphs = read_node_link(path)
    try:
        return model.probabilities(graphs, bitwise=args.bitwise, device=args.device, **conversion)
    except MissingAttributeError as error:
        keys = "--node-label and --node-attributes name the keys of nodes, edges are read as in training"
        raise DataError(f"{path}, {error.found}; {keys}") from error
    except DataError as error:
        raise DataError(f"{path}, {error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error} (see --node-label and --node-attributes)") from error
