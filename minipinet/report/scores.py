"""How a run's models label graphs: those of a fold's test part, or without folds those trained on."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.datasets.dataset import Dataset
from minipinet.errors import DataError, Notice
from minipinet.evaluation import Evaluation, evaluate
from minipinet.metrics import summary_of
from minipinet.quotient import refine
from minipinet.report.run import Run
from minipinet.union import DisjointUnion


class Labelled(NamedTuple):
    """Graphs that one training's model labelled."""

    training: int  #: its place in the run
    index: Array  #: (n,) numbers of the graphs in the data set
    graphs: DisjointUnion  #: these graphs, as the model takes them
    y: Array  #: (n,) classes
    scored: Evaluation  #: its `index` counts from 0


def label(run: Run, dataset: Dataset) -> list[Labelled]:
    """Let each finished training's model label its graphs: of a fold the test part, else all of the data set.

    Parameters
    ----------
    run : Run
    dataset : Dataset
        The run's own.

    Raises
    ------
    DataError
        If it is another.
    """
    if dataset.digest != run.data.get("digest"):
        expected = str(run.data.get("digest"))[:12]
        raise DataError(
            f"{dataset.name}: is not what the run in {run.folder} is of: its digest begins with "
            f"{dataset.digest[:12]}, not with {expected}"
        )
    labelled = []
    for k, training in enumerate(run.trainings):
        if training.model is not None:
            index = training.split["test"] if run.cross_validated else np.arange(len(dataset))
            part, model = dataset[index], training.model
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Notice)  # labels that only other parts have are what a fold is about
                graphs = model.read(part)
            quotient = refine(graphs, model.settings.merge)
            scored = evaluate(model.params, model.settings.pairs, quotient, part.y, np.arange(len(part)))
            labelled.append(Labelled(k, index, graphs, part.y, scored))
    return labelled


def summarise(run: Run, labelled: list[Labelled]) -> dict[str, Any] | None:
    """Return the figures over all graphs labelled, as in a run's record; None if there are none.

    A finished cross-validation has them in its record, and these are they.
    """
    if run.cross_validated and run.results:
        return dict(run.results["summary"])
    if not labelled:
        return None
    y = np.concatenate([part.y for part in labelled])
    predictions = np.concatenate([part.scored.predictions for part in labelled])
    return summary_of(y, predictions, run.data["classes"], [part.scored.accuracy for part in labelled])
