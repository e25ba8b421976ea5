"""Graphs of every form as the weights of a trained model take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minipinet._host import refuse_card
from minipinet._networkx import as_members
from minipinet._words import counted, have, listed
from minipinet.adjacency import degrees
from minipinet.conversions import networkx_union
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import KINDS, FeatureEncoder
from minipinet.errors import UsageError, notify
from minipinet.graphs import Graph
from minipinet.reading import Reading, as_reading
from minipinet.union import DisjointUnion, disjoint_union

_OPTIONS = (*Reading._fields, "default")


def model_input(
    graphs: Any, encoder: FeatureEncoder, reading: Reading, conversion: Mapping[str, Any], name: str = "graphs"
) -> DisjointUnion:
    """Return graphs as one union, with the features that a model was trained on.

    Parameters
    ----------
    graphs : Dataset, DisjointUnion, or sequence of Graph or of networkx graphs
        Node labels and attributes of a Dataset and of networkx graphs are encoded, features of others taken as they
        are.
    encoder : FeatureEncoder
        The model's.
    reading : Reading
        How networkx graphs were read in training.
    conversion : mapping
        What to read of networkx graphs instead; and ``default``, as for `minipinet.conversions.from_networkx`.
    name : str
        What the caller calls `graphs`, for messages.

    Raises
    ------
    UsageError, DataError
        For graphs that do not fit the model, and options that do not exist or do not apply.

    Examples
    --------
    >>> import networkx as nx
    >>> model_input([nx.path_graph(3)], FeatureEncoder("degree", ((1, 2),)), Reading(), {}).X.tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    check_conversion(graphs, conversion, name)
    if isinstance(graphs, DisjointUnion):
        union = graphs
    elif isinstance(graphs, Dataset):
        union = graphs.graphs
        if graphs.encoder != encoder:
            union = union._replace(X=encoder.encode(graphs.node_labels, graphs.attributes, degrees(union.A)))
    elif all(isinstance(graph, Graph) for graph in graphs):
        union = disjoint_union(graphs)
    else:
        members, default = as_members(graphs), conversion.get("default")
        applied = _applied(reading, encoder, conversion)
        union = networkx_union(members, **applied._asdict(), default=default, encoder=encoder)
    d = union.X.shape[1]
    if d != encoder.num_features:
        expected = counted(encoder.num_features, "feature")
        raise UsageError(f"{name}: expected {expected} a node, as in training, got {d}")
    return union


def check_conversion(graphs: Any, conversion: Mapping[str, Any], name: str = "graphs") -> None:
    """Refuse what is no graphs, options that do not exist, and those of networkx graphs with graphs read already."""
    refuse_card(name, graphs)
    if not isinstance(graphs, Dataset | Sequence):
        raise UsageError(f"{name}: expected a Dataset or a list of graphs, got {type(graphs).__name__}")
    unknown = [option for option in conversion if option not in _OPTIONS]
    if unknown:
        raise UsageError(
            f"{unknown[0]}: PiNet.predict, probabilities, logits and attention have no such option; "
            f"for networkx graphs they have {', '.join(_OPTIONS)}"
        )
    known = isinstance(graphs, Dataset | DisjointUnion)
    if conversion and (known or any(isinstance(graph, Graph) for graph in graphs)):
        given = f"a {type(graphs).__name__}" if known else "graphs that are converted already"
        raise UsageError(f"{', '.join(conversion)}: expected only with networkx graphs, got {given}")


def notify_nodeless(graphs: DisjointUnion) -> None:
    """Give a Notice that counts the graphs without nodes, if there are any.

    Examples
    --------
    >>> import pytest
    >>> from minipinet.graphs import as_graph
    >>> graphs = disjoint_union([as_graph(np.zeros((0, 0))), as_graph([[0]])])
    >>> with pytest.warns(UserWarning, match="^1 of 2 graphs has no node: its scores say nothing$"):
    ...     notify_nodeless(graphs)
    """
    sizes = np.diff(graphs.ptr)
    empty = int(np.count_nonzero(sizes == 0))
    if empty:
        their = "its" if empty == 1 else "their"
        notify(f"{empty} of {counted(len(sizes), 'graph')} {have(empty)} no node: {their} scores say nothing")


def _applied(reading: Reading, encoder: FeatureEncoder, conversion: Mapping[str, Any]) -> Reading:
    """Return how networkx graphs are read with these options: no more than the features need."""
    kind, vocabularies, width = encoder
    unused = [name for name, used in zip(("node_label", "node_attributes"), KINDS[kind], strict=True) if not used]
    options = {**reading._asdict(), **dict.fromkeys(unused, ()), **conversion}
    options.pop("default", None)
    applied = as_reading(**options)
    for name in unused:
        if names := getattr(applied, name):
            raise UsageError(f"{name}: expected none, since the model's features are {kind}, got {listed(names)}")
    labels = applied.node_label
    if "node_label" not in unused and len(labels) != len(vocabularies):
        expected = counted(len(vocabularies), "name")
        raise UsageError(f"node_label: expected {expected}, as in training, got {listed(labels) or 'none'}")
    if "node_attributes" not in unused and not applied.node_attributes:
        expected = counted(width, "number")
        raise UsageError(f"node_attributes: expected names of node data with the model's {expected}, got none")
    return applied
