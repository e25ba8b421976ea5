"""The GCN baselines as systems: "GCN + Sum" and "GCN + Dense"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from minipinet._array import Array
from minipinet._host import numbers_below
from minipinet._words import counted
from minipinet.baselines.gcn_layers import kipf_quotient
from minipinet.baselines.gcn_network import (
    GCNParams,
    gcn_forward,
    gcn_loss_backward,
    gcn_loss_forward,
    init_gcn,
)
from minipinet.baselines.node_order import sort_nodes
from minipinet.baselines.training import details_of, encoded_for, with_validation
from minipinet.batch import make_batches
from minipinet.datasets.dataset import Dataset
from minipinet.errors import notify
from minipinet.evaluation import score_network
from minipinet.network import Network
from minipinet.settings import SEEDS, Settings, truth, whole
from minipinet.train import chosen_params, fit_network
from minipinet.union import DisjointUnion


def gcn_network(graphs: DisjointUnion, settings: Settings, C: int, places: int | None = None) -> Network:
    """Return a GCN on some graphs, as the training loop sees it.

    Parameters
    ----------
    graphs : DisjointUnion
    settings : Settings
        Read: hidden, out, bias, l2, init, dtype.
    C : int
        Number of classes.
    places : int or None
        As for :func:`gcn_forward`. Sum is computed in the quotient form, Dense node by node.
    """
    quotient, C = kipf_quotient(graphs, merge=places is None), whole("C", C)
    return Network(
        G=quotient.counts.shape[0],
        C=C,
        init=partial(
            init_gcn,
            d=quotient.X.shape[1],
            C=C,
            places=places,
            hidden=settings.hidden,
            out=settings.out,
            bias=settings.bias,
            init=settings.init,
            dtype=settings.dtype,
        ),
        batches=lambda index, batch_size, rng: make_batches(quotient, index, batch_size, settings.dtype),
        loss_forward=partial(gcn_loss_forward, places=places, l2=settings.l2),
        loss_backward=gcn_loss_backward,
        scores=lambda params, batch: gcn_forward(params, batch, places)[0],
    )


@dataclass(frozen=True)
class _GCN:
    """What both have: the settings of the network and of its training."""

    epochs: int = 200
    batch_size: int = 50
    steps_per_epoch: int | None = None
    lr: float = 1e-3
    hidden: int = 100
    out: int = 64
    bias: bool = True
    l2: float = 0.0
    init: str = "he"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        checked = self._settings()
        for field in fields(_GCN):
            object.__setattr__(self, field.name, getattr(checked, field.name))

    def _settings(self, **others: Any) -> Settings:
        return Settings(**{field.name: getattr(self, field.name) for field in fields(_GCN)}, **others)

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting as a JSON value."""
        return asdict(self)

    def grid(self) -> list[Self]:
        """Return this one, and others with the usual and ten times the step size, with biases and without them."""
        others = [replace(self, lr=lr, bias=bias) for lr in (1e-3, 1e-2) for bias in (True, False)]
        return [self, *(other for other in others if other != self)]

    def _fit(
        self, dataset: Dataset, train: Array, seed: int, validation: Array | None, places: int | None = None
    ) -> FittedGCN:
        settings = self._settings(seed=seed)
        if validation is not None:
            settings = with_validation(settings, len(train), len(validation))
        network = gcn_network(encoded_for(dataset, train).graphs, settings, dataset.num_classes, places)
        state = fit_network(network, dataset.y, train, settings, validation_index=validation)
        return FittedGCN(chosen_params(state)[0], network, details_of(state))


class FittedGCN(NamedTuple):
    """Weights, and the network with the graphs they label."""

    params: GCNParams
    network: Network
    details: Mapping[str, Any]

    def predict(self, index: Array) -> Array:
        """Return the classes, (n,) int64, of some graphs of the data set."""
        return score_network(self.network, self.params, index).argmax(axis=1)


@dataclass(frozen=True)
class GCNSum(_GCN):
    """GCN + Sum: the sum of the nodes' states decides; :class:`minipinet.settings.Settings` says what a setting means.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> fitted = GCNSum(epochs=20).fit(ds, np.arange(0, 188, 2), seed=0)
    >>> fitted.predict(np.arange(1, 188, 2)).shape, fitted.details["epoch"]
    ((94,), 20)
    """

    name: ClassVar[str] = "GCN + Sum"

    def fit(self, dataset: Dataset, train: Array, *, seed: int, validation: Array | None = None) -> FittedGCN:
        """Train; with `validation` keep the epoch with the lowest loss on it, of equals the earliest.

        Parameters
        ----------
        dataset : Dataset
        train : (n,) int array
            The graphs to train on; node labels that none of them has get no feature column.
        seed : int
            0 to 2**32 - 1; of the initial weights and the order of the graphs.
        validation : (m,) int array, optional

        Raises
        ------
        DivergedError, UsageError
            As :func:`minipinet.train.fit_network` does.
        """
        return self._fit(dataset, *_parts(dataset, train, seed, validation))


@dataclass(frozen=True)
class GCNDense(_GCN):
    """GCN + Dense: one layer on the nodes' states side by side, padded with zeros; it depends on the nodes' order.

    Attributes
    ----------
    shuffle_nodes : bool
        Put the nodes of every graph into an order drawn from the seed first: what accuracy is left then has not come
        from the order of the files. That of a graph in `train` or `validation` depends on its place there, that of any
        other on its place in the data set, and on no other graph. The other settings are those of
        :class:`minipinet.settings.Settings`.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> fitted = GCNDense(epochs=20).fit(ds, np.arange(0, 188, 2), seed=0)
    >>> float(np.mean(fitted.predict(np.arange(1, 188, 2)) == ds.y[1::2])) > 0.7
    True
    """

    name: ClassVar[str] = "GCN + Dense"
    shuffle_nodes: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shuffle_nodes", truth("shuffle_nodes", self.shuffle_nodes))

    def fit(self, dataset: Dataset, train: Array, *, seed: int, validation: Array | None = None) -> FittedGCNDense:
        """Train, as :meth:`GCNSum.fit` does.

        The layer has weights for as many nodes as the largest graph in `train` has. Of a larger graph the nodes after
        these are left out, here and in `predict`, with one :class:`~minipinet.errors.Notice`.
        """
        train, seed, validation = _parts(dataset, train, seed, validation)
        if self.shuffle_nodes:
            dataset = sort_nodes(dataset, _node_keys(dataset.graphs.ptr, train, seed, validation))
        sizes = np.diff(dataset.graphs.ptr)
        places = max(1, int(sizes[train].max()))
        if validation is not None:
            _tell_cut(sizes[validation], places)
        fitted = self._fit(dataset, train, seed, validation, places)
        return FittedGCNDense(fitted, sizes, places)


class FittedGCNDense(NamedTuple):
    """A fitted network, and what it needs to tell which graphs it cuts."""

    gcn: FittedGCN
    sizes: Array  #: (G,) nodes of each graph
    places: int  #: nodes for which there are weights

    @property
    def details(self) -> Mapping[str, Any]:
        """What was chosen on the way; ``"places"`` is the number of nodes for which there are weights."""
        return {"places": self.places, **self.gcn.details}

    def predict(self, index: Array) -> Array:
        """Return the classes, (n,) int64, of some graphs of the data set; a Notice tells how many were cut."""
        classes = self.gcn.predict(index)
        _tell_cut(self.sizes[index], self.places)
        return classes


def _parts(dataset: Dataset, train: Any, seed: Any, validation: Any) -> tuple[Array, int, Array | None]:
    G = len(dataset)
    held_out = None if validation is None else numbers_below("validation", validation, G)
    return numbers_below("train", train, G), whole("seed", seed, *SEEDS), held_out


def _node_keys(ptr: Array, train: Array, seed: int, validation: Array | None) -> Array:
    """Draw a number for each node, (N,): a stream for each graph, so that none depends on which others there are.

    The streams are those of no other use of the seed: weights and order of the graphs are as without them.
    """
    streams = {int(g): (2, g) for g in range(len(ptr) - 1)}
    for part, index in ((1, () if validation is None else validation), (0, train)):
        streams |= {int(g): (part, k) for k, g in enumerate(index)}
    sequences = [np.random.SeedSequence(seed, spawn_key=(0, *streams[g])) for g in range(len(ptr) - 1)]
    drawn = [np.random.default_rng(own).random(n) for own, n in zip(sequences, np.diff(ptr), strict=True)]
    return np.concatenate([np.empty(0), *drawn])


def _tell_cut(sizes: Array, places: int) -> None:
    cut = int(np.count_nonzero(sizes > places))
    if cut:
        notify(
            f"GCN + Dense: {counted(cut, 'graph')} of more than {places} nodes cut to {places}, the size of the "
            "largest training graph"
        )
