"""``minipinet evaluate``: score a saved model on labelled graphs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from minipinet._words import number
from minipinet.cli import common
from minipinet.cli.tables import confusion_table, pairs
from minipinet.errors import DataError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from minipinet.datasets import Dataset

DESCRIPTION = """\
Score a saved model on a labelled data set: accuracy, balanced accuracy (the mean over the classes of the share found
of each), the rate of the largest class, and the confusion matrix.

All graphs of DATA are scored. A score on graphs that the model was trained on says little about new ones: for an
honest one on a single data set see the cross-validation of `minipinet train`."""


def add_parser(commands: Any) -> None:
    """Add ``evaluate`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "evaluate", help="score a saved model on labelled graphs", description=DESCRIPTION
    )
    common.add_model_argument(parser)
    parser.add_argument("data", metavar="DATA", help="name, folder or zip of a TU data set")
    common.add_data_dir_option(parser)
    common.add_device_option(parser, "score")
    common.add_json_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Print the figures."""
    import numpy as np

    from minipinet.datasets import load_dataset
    from minipinet.evaluation import evaluate, scoring_device
    from minipinet.metrics import report
    from minipinet.quotient import refine

    device = scoring_device(args.device)
    model = common.load_model(args.model)
    if args.data.endswith(".json"):
        raise UsageError(
            f"DATA: expected a TU data set, whose graphs have classes to compare with, got {args.data}; "
            "graphs in node-link form can only be labelled, by `minipinet predict`"
        )
    dataset = load_dataset(args.data, data_dir=args.data_dir, encoder=model.encoder, directed=model.reading.directed)
    y = _classes_in(dataset, model.classes)
    quotient = refine(dataset.graphs, model.settings.merge)
    scored = evaluate(model.params, model.settings.pairs, quotient, y, np.arange(len(dataset)), device=device)
    figures = report(y, scored.predictions, len(model.classes))
    if args.json:
        common.print_json(
            {
                "model": args.model,
                "data": {"name": dataset.name, "graphs": len(dataset), "digest": dataset.digest},
                "classes": model.classes,
                "device": device,
                "loss": scored.loss,
                **figures._asdict(),
            }
        )
        return
    summary = [
        ("graphs", len(dataset)),
        ("accuracy", number(figures.accuracy)),
        ("balanced accuracy", number(figures.balanced_accuracy)),
        ("majority-class rate", number(figures.majority_rate)),
        ("loss", number(scored.loss)),
    ]
    print(f"{pairs(summary)}\n\n{confusion_table(model.classes, figures.confusion_matrix.tolist())}")


def _classes_in(dataset: Dataset, classes: tuple[Any, ...]) -> NDArray[np.int64]:
    """Return the class of each graph as its place in the model's `classes`."""
    import numpy as np

    strange = [value for value in dataset.classes if value not in classes]
    if strange:
        raise DataError(
            f"{dataset.name}: expected graphs of the model's classes {', '.join(map(repr, classes))}; "
            f"got {', '.join(map(repr, strange))}"
        )
    return np.array([classes.index(value) for value in dataset.classes], dtype=np.int64)[dataset.y]
