"""The PATCHY-SAN baseline: receptive fields of a canonical ranking of the nodes, read by a convolutional network."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet._host import numbers_below
from minipinet.baselines.patchy_san_network import FieldTable, PatchySanParams, field_network
from minipinet.baselines.receptive_fields import LABELLINGS, receptive_fields
from minipinet.baselines.system import several
from minipinet.baselines.training import encoded_for, histories
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import FeatureEncoder
from minipinet.errors import UsageError
from minipinet.evaluation import score_network
from minipinet.network import Network
from minipinet.settings import Settings, real, whole
from minipinet.splits import check_classes, class_counts, hold_out
from minipinet.train import TrainState, chosen_params, fit_network
from minipinet.union import DisjointUnion, take_graphs

#: With a loss below this on the graphs held out (in nats) there is nothing left to choose.
SOLVED = 1e-3


class Shape(NamedTuple):
    """How a graph becomes a table: `width` fields of `size` nodes each, in the order of a labelling."""

    labelling: str
    width: int
    size: int


@dataclass(frozen=True)
class PatchySan:
    """PATCHY-SAN; the labelling, the width, the size of a field and the epoch are chosen on the training graphs.

    Attributes
    ----------
    labellings : tuple of {"betweenness", "nauty"}
        As :func:`minipinet.baselines.receptive_fields.rank_nodes` has them.
    widths : tuple of float
        Fields of a graph, as multiples of the mean number of nodes of the training graphs, rounded up; above 0.
    sizes : tuple of int
        Nodes of a field.
    epochs : int
        At most so many.
    patience : int
        A choice is given up after that many epochs without a lower loss on the graphs held out.
    held_out : float
        Share of the training graphs that the choice is made on, above 0 and below 1; at least a graph a class.
    batch_size, lr, init, dtype
        As :class:`minipinet.settings.Settings` has them.

    Notes
    -----
    The features are those of the data set, with the vocabulary of the training graphs; where they are constant, the
    degree. Chosen is what has the lowest loss on the graphs held out (one that is below `SOLVED` ends the search); then
    the network is trained anew on all training graphs, for as many epochs as were best.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("pynauty")
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> fitted = PatchySan(labellings=("nauty",), widths=(1,), epochs=20).fit(ds, np.arange(0, 188, 2), seed=0)
    >>> float(np.mean(fitted.predict(np.arange(1, 188, 2)) == ds.y[1::2])) > 0.7
    True
    """

    name: ClassVar[str] = "PATCHY-SAN"
    labellings: tuple[str, ...] = LABELLINGS
    widths: tuple[float, ...] = (1.0, 1.5)
    sizes: tuple[int, ...] = (10, 5)
    epochs: int = 200
    patience: int = 20
    held_out: float = 0.1
    batch_size: int = 50
    lr: float = 1e-3
    init: str = "glorot"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        labellings, widths, sizes = (several(name, getattr(self, name)) for name in ("labellings", "widths", "sizes"))
        for labelling in labellings:
            if not (isinstance(labelling, str) and labelling in LABELLINGS):
                known = " or ".join(map(repr, LABELLINGS))
                raise UsageError(f"labellings: expected {known}, got {labelling!r:.80}")
        checked = {
            "labellings": labellings,
            "widths": tuple(real("widths", w, lambda x: x > 0, "above 0") for w in widths),
            "sizes": tuple(whole("sizes", size) for size in sizes),
            "held_out": real("held_out", self.held_out, lambda x: 0 < x < 1, "above 0 and below 1"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._training(0, held_out=True)

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting as a JSON value."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def grid(self) -> list[PatchySan]:
        """Return the one candidate: it chooses inside."""
        return [self]

    def fit(self, dataset: Dataset, train: Array, *, seed: int, validation: Array | None = None) -> FittedPatchySan:
        """Choose the shape of the table and the number of epochs, and train.

        Parameters
        ----------
        dataset : Dataset
        train : (n,) int array
            The graphs to train on.
        seed : int
            0 to 2**32 - 1; of the graphs held out, the initial weights, the order of the graphs and dropout.
        validation : (m,) int array, optional
            Graphs to make the choice on. Then nothing of `train` is held out, and the weights of the best epoch are
            kept.

        Returns
        -------
        FittedPatchySan
            Where nothing can be held out, as with a single graph of a class, of the first labelling, width and size,
            after all epochs.

        Raises
        ------
        UsageError
            Without pynauty; for graph numbers that do not fit, and training graphs of one class.
        DivergedError
            As :func:`minipinet.train.fit_network` does.
        """
        start = time.perf_counter()
        train = numbers_below("train", train, len(dataset))
        check_classes("train", dataset.y[train])
        graphs = encode_for(dataset, train).graphs
        n, part = len(train), train
        if validation is not None:
            part = np.concatenate([train, numbers_below("validation", validation, len(dataset))])
        y = dataset.y[part]
        inner, held = self._hold_out(y, seed) if validation is None else np.split(np.arange(len(part)), [n])

        best = None
        shapes = self._shapes(np.diff(graphs.ptr)[train])
        for shape, table in _tables(take_graphs(graphs, part), shapes if len(held) else shapes[:1]):
            network = field_network(table, dataset.num_classes, init=self.init, dtype=self.dtype)
            state = self._train(network, y, inner, held, seed)
            if best is None or _loss(state) < _loss(best.state):
                best = _Candidate(shape, network, state)
            if _loss(best.state) < SOLVED:
                break
        assert best is not None
        params, epoch = chosen_params(best.state)
        details = {**best.shape._asdict(), "epoch": epoch}
        state = best.state
        if len(held):
            record = state.history[epoch - 1]
            prefix = "held_out" if validation is None else "validation"
            details |= {f"{prefix}_loss": record.validation_loss, f"{prefix}_accuracy": record.validation_accuracy}
        if len(held) and validation is None:
            again = replace(self._training(seed, held_out=False), epochs=epoch)
            state = fit_network(best.network, y, np.arange(n), again)
            params = state.params
        details |= {"seconds": time.perf_counter() - start, "history": histories(state.history)}
        return FittedPatchySan(params, best.shape, graphs, self.dtype, details)

    def _training(self, seed: int, *, held_out: bool) -> Settings:
        """Return what the trainer reads."""
        taken = {name: getattr(self, name) for name in ("epochs", "batch_size", "lr", "init", "dtype")}
        if held_out:  # the share counts for nothing: the graphs are handed over
            taken |= {"validation": self.held_out, "patience": self.patience}
        return Settings(**taken, seed=seed)

    def _train(self, network: Network, y: Array, inner: Array, held: Array, seed: int) -> TrainState:
        settings = self._training(seed, held_out=len(held) > 0)
        return fit_network(network, y, inner, settings, validation_index=held if len(held) else None)

    def _hold_out(self, y: Array, seed: int) -> tuple[Array, Array]:
        """Part the training graphs; nothing is held out where a class has a single graph."""
        counts = class_counts(y)
        if min(counts.values()) < 2:
            return np.arange(len(y)), np.empty(0, np.int64)
        return hold_out(y, np.arange(len(y)), max(self.held_out, len(counts) / len(y)), seed)

    def _shapes(self, sizes: Array) -> list[Shape]:
        """Return the shapes to choose from, for training graphs of these sizes."""
        widths = [max(1, int(np.ceil(multiple * sizes.mean()))) for multiple in self.widths]
        return [Shape(*shape) for shape in product(self.labellings, dict.fromkeys(widths), self.sizes)]


class _Candidate(NamedTuple):
    shape: Shape
    network: Network
    state: TrainState


@dataclass(frozen=True, eq=False)
class FittedPatchySan:
    """A trained network and the graphs of its data set."""

    params: PatchySanParams
    shape: Shape
    graphs: DisjointUnion
    dtype: str
    details: dict[str, Any]

    def predict(self, index: Array) -> Array:
        """Return the class, 0 to C - 1, of some graphs of the data set, (n,) int64."""
        index = numbers_below("index", index, len(self.graphs.ptr) - 1)
        ((_, table),) = _tables(take_graphs(self.graphs, index), [self.shape])
        network = field_network(table, len(self.params.b_D), dtype=self.dtype)
        return score_network(network, self.params, np.arange(len(index))).argmax(axis=1)


def encode_for(dataset: Dataset, train: Array) -> Dataset:
    """Encode the features with the vocabulary of the training graphs; constant ones are replaced by the degree.

    Examples
    --------
    >>> from minipinet.datasets import isomorphism_dataset
    >>> ds = isomorphism_dataset(0, N=12, C=3, graphs_per_class=4, p=0.4, features="constant")
    >>> encode_for(ds, np.arange(12)).encoder.kind
    'degree'
    """
    if dataset.encoder.kind == "constant":
        dataset = replace(dataset, encoder=FeatureEncoder("degree"))
    return encoded_for(dataset, train)


def _tables(graphs: DisjointUnion, shapes: list[Shape]) -> Iterator[tuple[Shape, FieldTable]]:
    """Yield the table of each shape; fields are made once a labelling, as small ones begin the large ones."""
    width, size = max(shape.width for shape in shapes), max(shape.size for shape in shapes)
    X = np.vstack([graphs.X, np.zeros((1, graphs.X.shape[1]))])
    nodes: dict[str, Array] = {}
    for shape in shapes:
        if shape.labelling not in nodes:
            nodes[shape.labelling] = receptive_fields(graphs, shape.labelling, width, size)
        yield shape, FieldTable(X, nodes[shape.labelling][:, : shape.width, : shape.size])


def _loss(state: TrainState) -> float:
    return np.inf if state.best is None else state.best.loss
