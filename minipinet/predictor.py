"""A trained model that labels new graphs: data sets, unions, graphs, or networkx graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minipinet._array import Array
from minipinet.checkpoint import load_described, read_params, save_described
from minipinet.conversions import networkx_union
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import KINDS, FeatureEncoder
from minipinet.errors import UsageError
from minipinet.evaluation import score
from minipinet.graphs import Graph
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.readout import log_softmax
from minipinet.settings import Settings
from minipinet.union import DisjointUnion, disjoint_union

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False)
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

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.runs import train_pinet
    >>> graphs = load_dataset("MUTAG")[:20]
    >>> model = train_pinet(graphs, Settings(epochs=1, hidden=4, out=2)).model
    >>> model.predict(graphs).shape
    (20,)
    """

    params: PiNetParams
    settings: Settings
    classes: tuple[Any, ...]
    encoder: FeatureEncoder

    def predict(
        self, graphs: Dataset | DisjointUnion | Sequence[Graph] | Sequence[nx.Graph], **conversion: Any
    ) -> NDArray[Any]:
        """Label graphs.

        Parameters
        ----------
        graphs : Dataset, DisjointUnion, or sequence of Graph or of networkx graphs
            Node labels and attributes of a Dataset and of networkx graphs are encoded as in training; the X of a
            Graph or DisjointUnion must have been, as :func:`minipinet.datasets.load_graphs` does.
        **conversion
            For networkx graphs: the options of :func:`minipinet.conversions.from_networkx`, such as ``node_label``
            (``"label"`` unless given, for a model that uses node labels), ``node_attributes`` or ``weight``.

        Returns
        -------
        (G,) array
            The original class values, in the order of the graphs.

        Raises
        ------
        UsageError, DataError
            For graphs that do not fit the model. A node label that the model has never seen is no error: its
            columns are zero, and a Notice names it.
        """
        labels: NDArray[Any] = np.array(self.classes)[self.logits(graphs, **conversion).argmax(axis=1)]
        return labels

    def probabilities(self, graphs: Any, **conversion: Any) -> Array:
        """Return the probability of each class, (G, C), rows summing to 1; arguments as in :meth:`predict`."""
        return np.exp(log_softmax(self.logits(graphs, **conversion)))

    def logits(self, graphs: Any, **conversion: Any) -> Array:
        """Return the scores before the softmax, (G, C); arguments as in :meth:`predict`."""
        if not isinstance(graphs, Dataset | Sequence):
            raise UsageError(f"graphs: expected a Dataset or a list of graphs, got {type(graphs).__name__}")
        B = graphs.ptr.size - 1 if isinstance(graphs, DisjointUnion) else len(graphs)
        if B == 0:
            return np.empty((0, len(self.classes)), self.settings.dtype)
        union = self._union(graphs, conversion)
        d = self.params.W_A0.shape[0]
        if union.X.shape[1] != d:
            raise UsageError(f"graphs: expected {d} features a node, as in training, got {union.X.shape[1]}")
        return score(self.params, self.settings.pairs, refine(union, self.settings.merge), np.arange(B))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file (safetensors with a JSON description), whole or not at all."""
        description = {
            "settings": self.settings.to_json(),
            "classes": list(self.classes),
            "encoder": self.encoder.to_json(),
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
            )
            d, C = model.params.W_A0.shape[0], model.params.W_D.shape[1]
            if (model.encoder.num_features, len(model.classes)) != (d, C):
                raise ValueError(f"the weights are for {d} features and {C} classes, the description for others")
            return model

        return load_described(Path(path), "model", build)

    def _union(self, graphs: Any, conversion: Mapping[str, Any]) -> DisjointUnion:
        if isinstance(graphs, DisjointUnion):
            return graphs
        if isinstance(graphs, Dataset):
            union = graphs.graphs
            if graphs.encoder == self.encoder:
                return union
            deg = union.A.sum(axis=1)
            return union._replace(X=self.encoder.encode(graphs.node_labels, graphs.attributes, deg))
        if all(isinstance(graph, Graph) for graph in graphs):
            return disjoint_union(graphs)
        label = "label" if KINDS[self.encoder.kind][0] else None
        return networkx_union(graphs, **{"node_label": label, **conversion, "encoder": self.encoder})
