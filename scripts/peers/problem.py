"""What every peer is given: the graphs, the initial weights and the orders of the epochs, as one .npz file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from minipinet.datasets import Dataset, isomorphism_dataset, load_dataset
from minipinet.errors import Notice
from minipinet.params import init_params

#: Name in the table: name in the collection, kind of features.
DATASETS = {
    "MUTAG": ("MUTAG", "labels"),
    "NCI1": ("NCI1", "labels"),
    "PROTEINS": ("PROTEINS", "labels"),
    "isomorphism": ("isomorphism", "random"),
    "ENZYMES attributes": ("ENZYMES", "attributes"),
    "IMDB-BINARY degrees": ("IMDB-BINARY", "degree"),
}
BATCH_SIZE = 50
LEARNING_RATE = 1e-3
SEED = 0
EPOCHS = 20


def load(name: str, data_dir: Path | None) -> Dataset:
    """Load a set by the name it has in the table; MUTAG and the isomorphism test need no folder."""
    base, features = DATASETS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        if base == "isomorphism":
            return isomorphism_dataset(SEED, features=features)
        return load_dataset(base, data_dir=None if base == "MUTAG" else data_dir, features=features)


def problem(dataset: Dataset, seed: int = SEED, epochs: int = EPOCHS) -> dict[str, np.ndarray]:
    """Return the arrays of a problem.

    ptr (G + 1,), and nodes ptr[g] to ptr[g+1] - 1 are graph g's; indptr, indices, weight: the adjacency matrix of all
    graphs in CSR; X (N, d); y (G,); orders (epochs, G), which an epoch goes through in batches of batch_size, and then
    from the first again; W_A0, W_A1, W_X0, W_X1, W_D, p_raw, q_raw: the initial weights of `minipinet.params`.
    """
    rng = np.random.default_rng(seed)
    params = init_params(rng, dataset.num_features, dataset.num_classes)
    A, X, ptr = dataset.graphs
    weights = {name: w for name, w in params._asdict().items() if w is not None}
    return {
        "ptr": np.asarray(ptr, np.int64),
        "indptr": A.indptr.astype(np.int64),
        "indices": A.indices.astype(np.int64),
        "weight": A.data.astype(np.float32),
        "X": X.astype(np.float32),
        "y": dataset.y,
        "orders": np.array([rng.permutation(len(dataset)) for _ in range(epochs)]),
        "batch_size": np.array(BATCH_SIZE),
        "lr": np.array(LEARNING_RATE),
        **weights,
    }


def write_problem(path: Path, dataset: Dataset) -> None:
    """Write the arrays of a problem to an .npz file."""
    arrays: dict[str, Any] = problem(dataset)
    np.savez(path, **arrays)
