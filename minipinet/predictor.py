"""A trained model that labels new graphs: data sets, unions, graphs, or networkx graphs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minipinet._array import Array
from minipinet._networkx import as_members
from minipinet._words import counted, have, listed
from minipinet.adjacency import degrees
from minipinet.attention_shares import Attention, attention_shares
from minipinet.checkpoint import load_described, read_params, save_described
from minipinet.conversions import networkx_union
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import KINDS, FeatureEncoder
from minipinet.errors import DataError, Notice, UsageError
from minipinet.evaluation import score
from minipinet.graphs import Graph
from minipinet.invariance import bitwise_score
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.reading import Reading, as_reading
from minipinet.readout import log_softmax
from minipinet.settings import Settings
from minipinet.union import DisjointUnion, disjoint_union

if TYPE_CHECKING:
    import networkx as nx

_OPTIONS = (*Reading._fields, "default")


@dataclass(frozen=True, eq=False, repr=False)
class PiNet:
    """A trained model.

    Attributes
    ----------
    params : PiNetParams
        The weights.
    settings : Settings
        How they were trained.
    classes : tuple
        The original class values (numbers or strings), in the order of the scores.
    encoder : FeatureEncoder
        How node labels and attributes become features.
    reading : Reading
        How networkx graphs are read, if nothing else is asked for: as in training, where there were any.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.runs import train_pinet
    >>> graphs = load_dataset("MUTAG")[:20]
    >>> model = train_pinet(graphs, Settings(epochs=1, hidden=4, out=2)).model
    >>> model.predict(graphs).shape
    (20,)
    >>> model
    PiNet(2 classes (-1, 1), 7 features from labels, widths 4 and 2, p and q learned)
    """

    params: PiNetParams
    settings: Settings
    classes: tuple[Any, ...]
    encoder: FeatureEncoder
    reading: Reading = field(default_factory=Reading)

    def __repr__(self) -> str:
        classes = f"{counted(len(self.classes), 'class', 'classes')} ({listed(self.classes)})"
        features = f"{counted(self.encoder.num_features, 'feature')} from {self.encoder.kind}"
        pairs = self.settings.pq
        if self.settings.learned_pq:
            pq = "p and q learned"
        else:
            pq = f"(p, q) = {listed(pairs[:1] if len(set(pairs)) == 1 else pairs)}"
        return f"PiNet({classes}, {features}, widths {self.settings.hidden} and {self.settings.out}, {pq})"

    def predict(
        self,
        graphs: Dataset | DisjointUnion | Sequence[Graph] | Sequence[nx.Graph],
        *,
        bitwise: bool = False,
        **conversion: Any,
    ) -> NDArray[Any]:
        """Label graphs.

        Parameters
        ----------
        graphs : Dataset, DisjointUnion, or sequence of Graph or of networkx graphs
            Node labels and attributes of a Dataset and of networkx graphs are encoded as in training; the X of a
            Graph or DisjointUnion must have been, as :func:`minipinet.datasets.load_graphs` does.
        bitwise : bool
            True: in float64 with exact sums (`minipinet.invariance`), so that a graph's scores are the same to the
            last bit however its nodes are ordered and whatever else is scored. Takes one to two times as long as
            scoring in float64, so up to four times as long as a float32 model does without.
        **conversion
            For networkx graphs alone: ``node_label``, ``node_attributes``, ``weight``, ``directed`` and ``default``
            as for :func:`minipinet.conversions.from_networkx`. All but ``default`` are as in training unless given;
            a model that was trained on other data takes node labels from ``"label"``, and no weights.

        Returns
        -------
        (G,) array
            The original class values, in the order of the graphs.

        Raises
        ------
        UsageError, DataError
            For graphs that do not fit the model. A node label that the model has never seen is no error: its
            columns are zero, and a Notice names it. Another counts graphs without nodes: their scores mean nothing.
        """
        labels: NDArray[Any] = np.array(self.classes)[self.logits(graphs, bitwise=bitwise, **conversion).argmax(axis=1)]
        return labels

    def probabilities(self, graphs: Any, *, bitwise: bool = False, **conversion: Any) -> Array:
        """Return the probability of each class, (G, C), rows summing to 1; arguments as in :meth:`predict`."""
        return np.exp(log_softmax(self.logits(graphs, bitwise=bitwise, **conversion)))

    def logits(self, graphs: Any, *, bitwise: bool = False, **conversion: Any) -> Array:
        """Return the scores before the softmax, (G, C); arguments as in :meth:`predict`."""
        if not isinstance(bitwise, bool):
            raise UsageError(f"bitwise: expected True or False, got {bitwise!r}")
        _check_arguments(graphs, conversion)
        B = graphs.ptr.size - 1 if isinstance(graphs, DisjointUnion) else len(graphs)
        if B == 0:
            return np.empty((0, len(self.classes)), "float64" if bitwise else self.settings.dtype)
        union = self.read(graphs, **conversion)
        self._check_union("graphs", union)
        if bitwise:
            return bitwise_score(self.params, self.settings.pairs, union, merge=self.settings.merge)
        return score(self.params, self.settings.pairs, refine(union, self.settings.merge), np.arange(B))

    def attention(self, graph: Graph | nx.Graph | DisjointUnion, **conversion: Any) -> Attention:
        """Return what each node of one graph attends to, and what it adds to each logit.

        Parameters
        ----------
        graph : Graph, networkx graph, or DisjointUnion of one graph
            Of N nodes; read as in :meth:`predict`.
        **conversion
            For a networkx graph alone, as in :meth:`predict`.

        Returns
        -------
        Attention
            ``weights`` (N, F_A): Z_A of the paper's eq. 2, a row a node; ``shares`` (N, F_A, C), ``bias`` (C,) and
            ``logits`` (C,), float64: ``math.fsum`` of a class's shares and bias is its logit to the last bit. These
            logits are those of :meth:`logits` but for rounding; :mod:`minipinet.attention_shares` says more.

        Raises
        ------
        UsageError, DataError
            For what is not one graph, or does not fit the model.

        Examples
        --------
        The three nodes that most favour the class found:

        >>> from minipinet.datasets import load_dataset
        >>> from minipinet.runs import train_pinet
        >>> graphs = load_dataset("MUTAG")[:20]
        >>> model = train_pinet(graphs, Settings(epochs=1, hidden=4, out=2)).model
        >>> found = model.attention(graphs[3])
        >>> c = found.logits.argmax()
        >>> found.shares[:, :, c].sum(axis=1).argsort()[:-4:-1].shape
        (3,)
        """
        if isinstance(graph, Dataset | Sequence) and not isinstance(graph, DisjointUnion):
            raise UsageError(
                f"graph: expected one graph, got {type(graph).__name__}: attention is given graph by graph"
            )
        union = self.read(graph if isinstance(graph, DisjointUnion) else [graph], **conversion)
        self._check_union("graph", union)
        return attention_shares(self.params, self.settings.pairs, union, self.classes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file (safetensors with a JSON description), whole or not at all."""
        description = {
            "settings": self.settings.to_json(),
            "classes": list(self.classes),
            "encoder": self.encoder.to_json(),
            "reading": self.reading.to_json(),
        }
        save_described(path, "model", {"params": self.params}, description)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PiNet:
        """Read a model that :meth:`save` wrote, on any machine; loading runs no code from the file.

        Raises
        ------
        DataError
            When the file is missing, cut short, changed, or no model of minipinet.
        """

        def build(arrays: Mapping[str, Array], description: Mapping[str, Any]) -> PiNet:
            settings = Settings.from_json(description["settings"])
            model = cls(
                read_params(arrays, "params", settings),
                settings,
                tuple(description["classes"]),
                FeatureEncoder.from_json(description["encoder"]),
                Reading.from_json(description["reading"]),
            )
            d, C = model.params.W_A0.shape[0], model.params.W_D.shape[1]
            if (model.encoder.num_features, len(model.classes)) != (d, C):
                weights = f"{counted(d, 'feature')} and {counted(C, 'class', 'classes')}"
                raise DataError(f"{path}: the weights are for {weights}, the description for others")
            return model

        return load_described(path, "model", build)

    def read(self, graphs: Any, **conversion: Any) -> DisjointUnion:
        """Return graphs as the weights take them, features encoded as in training; arguments as in :meth:`predict`."""
        _check_arguments(graphs, conversion)
        if isinstance(graphs, DisjointUnion):
            return graphs
        if isinstance(graphs, Dataset):
            union = graphs.graphs
            if graphs.encoder == self.encoder:
                return union
            return union._replace(X=self.encoder.encode(graphs.node_labels, graphs.attributes, degrees(union.A)))
        if all(isinstance(graph, Graph) for graph in graphs):
            return disjoint_union(graphs)
        members = as_members(graphs)
        default = conversion.get("default")
        return networkx_union(members, **self._reading(conversion)._asdict(), default=default, encoder=self.encoder)

    def _check_union(self, name: str, union: DisjointUnion) -> None:
        """Refuse graphs of another width than the model's; a Notice counts those without nodes."""
        d, B = self.params.W_A0.shape[0], union.ptr.size - 1
        if union.X.shape[1] != d:
            raise UsageError(f"{name}: expected {counted(d, 'feature')} a node, as in training, got {union.X.shape[1]}")
        empty = int(np.count_nonzero(np.diff(union.ptr) == 0))
        if empty:
            their = "its" if empty == 1 else "their"
            text = f"{empty} of {counted(B, 'graph')} {have(empty)} no node: {their} scores say nothing"
            warnings.warn(text, Notice, stacklevel=3)

    def _reading(self, conversion: Mapping[str, Any]) -> Reading:
        """Return how networkx graphs are read with these options: no more than the features need."""
        kind, vocabularies, width = self.encoder
        unused = [name for name, used in zip(("node_label", "node_attributes"), KINDS[kind], strict=True) if not used]
        options = {**self.reading._asdict(), **dict.fromkeys(unused, ()), **conversion}
        options.pop("default", None)
        reading = as_reading(**options)
        for name in unused:
            if names := getattr(reading, name):
                raise UsageError(f"{name}: expected none, since the model's features are {kind}, got {listed(names)}")
        labels = reading.node_label
        if "node_label" not in unused and len(labels) != len(vocabularies):
            expected = counted(len(vocabularies), "name")
            raise UsageError(f"node_label: expected {expected}, as in training, got {listed(labels) or 'none'}")
        if "node_attributes" not in unused and not reading.node_attributes:
            expected = counted(width, "number")
            raise UsageError(f"node_attributes: expected names of node data with the model's {expected}, got none")
        return reading


def _check_arguments(graphs: Any, conversion: Mapping[str, Any]) -> None:
    """Refuse what is no graphs, options that do not exist, and those of networkx graphs with graphs read already."""
    if not isinstance(graphs, Dataset | Sequence):
        raise UsageError(f"graphs: expected a Dataset or a list of graphs, got {type(graphs).__name__}")
    unknown = [name for name in conversion if name not in _OPTIONS]
    if unknown:
        raise UsageError(
            f"{unknown[0]}: PiNet.predict, probabilities, logits and attention have no such option; "
            f"for networkx graphs they have {', '.join(_OPTIONS)}"
        )
    known = isinstance(graphs, Dataset | DisjointUnion)
    if conversion and (known or any(isinstance(graph, Graph) for graph in graphs)):
        given = f"a {type(graphs).__name__}" if known else "graphs that are converted already"
        raise UsageError(f"{', '.join(conversion)}: expected only with networkx graphs, got {given}")
