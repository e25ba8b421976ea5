"""The data sets of cells: loaded by name or drawn by number, alike in every process."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.baselines.node_order import shuffle_nodes
from minipinet.datasets import Dataset, isomorphism_dataset, load_dataset
from minipinet.experiments.protocols import find_copies
from minipinet.experiments.records import Cell

#: The data set of the isomorphism test, drawn anew in each trial.
ISOMORPHISM = "isomorphism"
#: Graphs of each class that it tests, whatever the training size, which is at most the second number.
TESTED, TRAINED = 80, 20


class Data(NamedTuple):
    """A data set and what is known of it as a whole."""

    dataset: Dataset
    digest: str
    copies: Array  #: (G,) from `find_copies`


def load_cell_data(cell: Cell, data_dir: str | None = None) -> Data:
    """Return the data set of a cell; the last ones are kept in memory."""
    drawn = cell.dataset == ISOMORPHISM or cell.shuffled
    return _load(cell.dataset, cell.features, bool(cell.shuffled), cell.repeat if drawn else 0, data_dir)


@lru_cache(maxsize=3)
def _load(name: str, features: str, shuffled: bool, repeat: int, data_dir: str | None) -> Data:
    if name == ISOMORPHISM:
        dataset = isomorphism_dataset(repeat, graphs_per_class=TRAINED + TESTED, features=features)
    else:
        dataset = load_dataset(name, data_dir=data_dir, features=features)
    if shuffled:
        dataset = shuffle_nodes(dataset, np.random.default_rng(repeat))
    return Data(dataset, dataset.digest, find_copies(dataset))
