"""A trained model that labels new graphs: data sets, unions, graphs, or networkx graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minipinet._array import Array
from minipinet._host import refuse_card
from minipinet._words import counted, listed
from minipinet.attention_shares import Attention, attention_shares
from minipinet.checkpoint import load_described, read_params, save_described
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import FeatureEncoder
from minipinet.errors import DataError, UsageError
from minipinet.evaluation import score, scoring_device
from minipinet.graphs import Graph
from minipinet.invariance import bitwise_score
from minipinet.model_input import check_conversion, model_input, notify_nodeless
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.reading import Reading
from minipinet.readout import log_softmax
from minipinet.settings import Settings
from minipinet.union import DisjointUnion

if TYPE_CHECKING:
    import networkx as nx


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

    def __post_init__(self) -> None:
        refuse_card("params", self.params)
        refuse_card("classes", self.classes)

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
        device: str = "cpu",
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
            scoring in float64, so up to four times as long as a float32 model does without. On the CPU alone.
        device : {"cpu", "cuda", "auto"}
            Where the scores are computed, wherever the model was trained. On a card they are the CPU's but for
            rounding.
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
            For graphs that do not fit the model, and a device that cannot be used here. A node label that the model
            has never seen is no error: its columns are zero, and a Notice names it. Another counts graphs without
            nodes: their scores mean nothing.
        CardError
            When a card fails.
        """
        logits = self.logits(graphs, bitwise=bitwise, device=device, **conversion)
        labels: NDArray[Any] = np.array(self.classes)[logits.argmax(axis=1)]
        return labels

    def probabilities(self, graphs: Any, *, bitwise: bool = False, device: str = "cpu", **conversion: Any) -> Array:
        """Return the probability of each class, (G, C), rows summing to 1; arguments as in :meth:`predict`."""
        return np.exp(log_softmax(self.logits(graphs, bitwise=bitwise, device=device, **conversion)))

    def logits(self, graphs: Any, *, bitwise: bool = False, device: str = "cpu", **conversion: Any) -> Array:
        """Return the scores before the softmax, (G, C); arguments as in :meth:`predict`."""
        if not isinstance(bitwise, bool):
            raise UsageError(f"bitwise: expected True or False, got {bitwise!r}")
        device = scoring_device(device, bitwise)
        check_conversion(graphs, conversion)
        B = graphs.ptr.size - 1 if isinstance(graphs, DisjointUnion) else len(graphs)
        if B == 0:
            return np.empty((0, len(self.classes)), "float64" if bitwise else self.settings.dtype)
        union = self.read(graphs, **conversion)
        notify_nodeless(union)
        if bitwise:
            return bitwise_score(self.params, self.settings.pairs, union, merge=self.settings.merge)
        return score(self.params, self.settings.pairs, refine(union, self.settings.merge), np.arange(B), device=device)

    def attention(self, graph: Graph | nx.Graph | DisjointUnion, **conversion: Any) -> Attention:
        """Return what each node of one graph attends to, and what it adds to each logit; on the CPU, wherever trained.

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
        import networkx as nx

        if not isinstance(graph, Graph | nx.Graph | DisjointUnion):
            raise UsageError(
                f"graph: expected one graph, got {type(graph).__name__}: attention is given graph by graph"
            )
        graphs = graph if isinstance(graph, DisjointUnion) else [graph]
        union = model_input(graphs, self.encoder, self.reading, conversion, "graph")
        notify_nodeless(union)
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
        return model_input(graphs, self.encoder, self.reading, conversion)
