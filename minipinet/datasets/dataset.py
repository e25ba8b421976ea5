"""A labelled set of graphs: sliced, indexed and subset like a sequence, its vocabulary and classes kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from minipinet._host import host_array, refuse_card
from minipinet._words import counted
from minipinet.adjacency import degrees
from minipinet.datasets.encoder import FeatureEncoder, fit_encoder
from minipinet.datasets.values import as_values
from minipinet.errors import UsageError
from minipinet.graphs import Graph
from minipinet.reading import Reading
from minipinet.union import DisjointUnion, disjoint_union, graph_at, take_graphs


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Graphs with their classes.

    ``ds[3]`` and ``ds[-1]`` are graphs; ``ds[2:5]``, ``ds[[1, 4]]`` and ``ds[mask]`` are data sets with the same
    classes and encoder, whatever classes and labels still occur in them.

    Attributes
    ----------
    name : str
        What to call it.
    graphs : DisjointUnion
        All B graphs as one block-diagonal matrix A, features X, and offsets ptr.
    y : ndarray of shape (B,), int64
        The class of each graph, 0..C-1: an index into `classes`.
    classes : tuple
        The original class values, sorted (ints, bools or strings).
    encoder : FeatureEncoder
        How `node_labels` and `attributes` became X; save it with a model, and encode new graphs with it.
    notices : tuple of str
        What was repaired or assumed on the way in.
    node_labels : ndarray of shape (N, k), or None
        The node labels behind X; of dtype object where one column holds numbers and another strings.
    attributes : ndarray of shape (N, a), float64, or None
        The node attributes, whether X holds them or not.
    reading : Reading
        How the networkx graphs that it was made of were read, and how a model trained on it reads others.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> ds
    Dataset(MUTAG: 188 graphs, 2 classes (-1: 63, 1: 125), 7 features from labels)
    >>> ds[0].N, len(ds[:10]), ds[[3, -1]].labels.tolist()
    (17, 10, [1, -1])
    """

    name: str
    graphs: DisjointUnion
    y: NDArray[np.int64]
    classes: tuple[Any, ...]
    encoder: FeatureEncoder
    notices: tuple[str, ...] = ()
    node_labels: NDArray[Any] | None = None
    attributes: NDArray[np.float64] | None = None
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            refuse_card(name, getattr(self, name))

    @property
    def num_classes(self) -> int:
        """Number of classes C, also of those that no graph here has."""
        return len(self.classes)

    @property
    def num_features(self) -> int:
        """Number of features a node, d."""
        return int(self.graphs.X.shape[1])

    @property
    def labels(self) -> NDArray[Any]:
        """The original class value of each graph, shape (B,)."""
        return np.array(self.classes)[self.y]

    @property
    def digest(self) -> str:
        """SHA-256 (64 hex digits) of the graphs, node labels, attributes and classes.

        It does not depend on how node labels were encoded, nor on how files were packed or their lines ended.
        Two data sets with one digest train alike; O(size) to compute.
        """
        A, _, ptr = self.graphs
        digest = hashlib.sha256(json.dumps(self.classes).encode())
        parts = {
            "ptr": ptr.astype("<i8"),
            "A.indptr": A.indptr.astype("<i8"),
            "A.indices": A.indices.astype("<i8"),
            "A.data": A.data.astype("<f8"),
            "y": self.y.astype("<i8"),
            "node_labels": _portable(self.node_labels),
            "attributes": _portable(self.attributes),
        }
        for key, array in parts.items():
            digest.update(f"{key} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def __len__(self) -> int:
        return int(self.y.size)

    def __iter__(self) -> Iterator[Graph]:
        return (graph_at(self.graphs, g) for g in range(len(self)))

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Graph: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | Sequence[bool] | NDArray[Any]) -> Dataset: ...
    def __getitem__(self, index: Any) -> Graph | Dataset:
        refuse_card("index", index)
        if isinstance(index, tuple):
            raise UsageError(f"index: expected one number, slice, list or mask, got {index!r:.80}")
        if not isinstance(index, slice):
            expected = "one number, slice, list or mask"
            if not host_array("index", index, expected).ndim:
                return graph_at(self.graphs, index)
        if isinstance(index, list) and not index:
            index = slice(0)
        graphs = take_graphs(self.graphs, index)
        chosen = np.arange(len(self))[index]
        ptr = self.graphs.ptr
        nodes = np.repeat(ptr[chosen] - graphs.ptr[:-1], np.diff(graphs.ptr)) + np.arange(graphs.ptr[-1])
        return replace(
            self,
            graphs=graphs,
            y=self.y[chosen],
            node_labels=None if self.node_labels is None else self.node_labels[nodes],
            attributes=None if self.attributes is None else self.attributes[nodes],
        )

    def __repr__(self) -> str:
        counts = np.bincount(self.y, minlength=self.num_classes).tolist()
        classes = ", ".join(f"{value}: {count}" for value, count in zip(self.classes, counts, strict=True))
        features = f"{counted(self.num_features, 'feature')} from {self.encoder.kind}"
        named = f"{counted(self.num_classes, 'class', 'classes')} ({classes})"
        return f"Dataset({self.name}: {counted(len(self), 'graph')}, {named}, {features})"


def dataset_from_graphs(graphs: Sequence[Graph], labels: Any, *, name: str = "graphs") -> Dataset:
    """Make a data set of graphs in memory; their features are taken as they are.

    Parameters
    ----------
    graphs : sequence of Graph
        B graphs with equally many features; see :func:`minipinet.graphs.as_graph` and ``from_networkx``.
    labels : array_like of shape (B,) or (B, 1)
        Their classes, of any one kind: integers (1.0 counts as 1), booleans or strings.
    name : str
        What to call it.

    Raises
    ------
    UsageError
        If there are not as many labels as graphs, or labels are missing, real-valued or of several kinds.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> ds = dataset_from_graphs([as_graph([[0, 1], [1, 0]]), as_graph([[0]])], ["edge", "dot"])
    >>> ds.y, ds.classes
    (array([1, 0]), ('dot', 'edge'))
    """
    union = disjoint_union(graphs)
    y, classes = index_classes(labels, union.ptr.size - 1)
    encoder = FeatureEncoder("attributes", num_attributes=union.X.shape[1])
    return Dataset(name, union, y, classes, encoder, attributes=union.X)


def index_classes(labels: Any, B: int | None = None) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Number the classes in sorted order.

    Parameters
    ----------
    labels : array_like of shape (B,) or (B, 1)
        Integers (1.0 counts as 1), booleans or strings, but one kind only.
    B : int, optional
        How many graphs there are to label; left out: as many as there are labels.

    Returns
    -------
    y : ndarray of shape (B,), int64
        Index of each label in `classes`.
    classes : tuple
        The different values, sorted, as Python values.

    Raises
    ------
    UsageError
        If there is no label, there are not `B`, or labels are missing, real-valued or of several kinds.

    Examples
    --------
    >>> index_classes([5, 0, 5, -1])
    (array([2, 1, 2, 0]), (-1, 0, 5))
    """
    array = as_values(labels, "labels")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not array.size:
        raise UsageError(f"labels: expected shape (B,) with at least one label, got {array.shape}")
    if array.dtype.kind == "f":
        odd = array[array != np.rint(array)][0]
        raise UsageError(f"labels: expected classes, got {odd}: real-valued targets are for regression")
    if B is not None and array.size != B:
        raise UsageError(f"labels: expected {B}, one for each graph, got {array.size}")
    classes, y = np.unique(array, return_inverse=True)
    return y.astype(np.int64), tuple(classes.tolist())


def refit_encoder(dataset: Dataset, train: Any) -> Dataset:
    """Encode the features of a data set anew, with the vocabulary of some of its graphs alone.

    :func:`load_dataset` makes one column for each label in the whole set, as the benchmarks do. This keeps the
    test part out of it: the training features are the same whatever the test graphs hold.

    Parameters
    ----------
    dataset : Dataset
        B graphs.
    train : slice, or array_like of int or bool
        The graphs to fit the encoder on.

    Returns
    -------
    Dataset
        All B graphs; one :class:`~minipinet.errors.Notice` for labels that the training graphs do not hold.

    Examples
    --------
    >>> import warnings
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> with warnings.catch_warnings(action="ignore"):
    ...     refit_encoder(ds, ds.y == 0).encoder.vocabularies  # no iodine in this class
    ((0, 1, 2, 3, 5, 6),)
    """
    part = dataset[train]
    encoder = fit_encoder(dataset.encoder.kind, part.node_labels, part.attributes, degrees(part.graphs.A))
    X = encoder.encode(dataset.node_labels, dataset.attributes, degrees(dataset.graphs.A))
    return replace(dataset, graphs=dataset.graphs._replace(X=X), encoder=encoder)


def _portable(array: NDArray[Any] | None) -> NDArray[Any]:
    """Return `array` with the same bytes on every machine: fixed width, little-endian, no negative zero."""
    if array is None:
        return np.zeros(0, dtype="<i8")
    if array.dtype.kind == "O":
        array = np.frombuffer(json.dumps(array.tolist()).encode(), dtype=np.uint8)
    if array.dtype.kind == "U":
        return array.astype(array.dtype.newbyteorder("<"))
    return array.astype("<f8") + 0.0 if array.dtype.kind == "f" else array.astype("<i8")
