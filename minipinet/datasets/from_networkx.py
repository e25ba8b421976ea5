"""A data set of networkx graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minipinet._networkx import networkx_parts
from minipinet._words import listed
from minipinet.adjacency import degrees
from minipinet.datasets.dataset import Dataset, index_classes
from minipinet.datasets.encoder import fit_encoder
from minipinet.datasets.values import as_values
from minipinet.errors import notify
from minipinet.union import DisjointUnion

if TYPE_CHECKING:
    import networkx as nx

#: The kind of features for what is there of (node labels, attributes).
_NAMED = {(True, False): "labels", (False, True): "attributes", (True, True): "both", (False, False): "constant"}


def dataset_from_networkx(
    graphs: Iterable[nx.Graph],
    labels: Any,
    *,
    node_label: str | Sequence[str] | None = None,
    node_attributes: str | Sequence[str] = (),
    features: str | None = None,
    weight: str | None = None,
    directed: bool = False,
    default: Any = None,
    name: str = "networkx",
) -> Dataset:
    """Make a data set of networkx graphs; a model trained on it reads more of them in the same way.

    Parameters
    ----------
    graphs : iterable of networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        B graphs; the rows of each are its nodes in the order of ``list(G)``.
    labels : array_like of shape (B,) or (B, 1)
        Their classes, of any one kind: integers (1.0 counts as 1), booleans or strings.
    node_label, node_attributes, weight, directed, default
        As for :func:`minipinet.conversions.from_networkx`, but node labels need no encoder: they make one.
    features : {"labels", "attributes", "both", "constant", "degree"}, optional
        What X holds; see :class:`~minipinet.datasets.encoder.FeatureEncoder`. Left out: the labels and attributes
        that are named, or 1 where none are, with a notice if the nodes carry any.
    name : str
        What to call it.

    Returns
    -------
    Dataset
        Its notices, one of each kind for all graphs, are also issued as :class:`~minipinet.errors.Notice`.

    Raises
    ------
    UsageError
        If `graphs` or `labels` are not what they should be, or `features` asks for what is not named.
    DataError
        If an attribute is missing or is not what it should be; names the graph, the node or edge, and the attribute.

    Examples
    --------
    >>> import networkx as nx
    >>> water, methanol = nx.star_graph(2), nx.star_graph(3)
    >>> nx.set_node_attributes(water, dict(enumerate("OHH")), "atom")
    >>> nx.set_node_attributes(methanol, dict(enumerate("COHH")), "atom")
    >>> ds = dataset_from_networkx([water, methanol], ["inorganic", "organic"], node_label="atom")
    >>> ds
    Dataset(networkx: 2 graphs, 2 classes (inorganic: 1, organic: 1), 3 features from labels)
    >>> ds.encoder.vocabularies
    (('C', 'H', 'O'),)
    """
    parts = networkx_parts(
        graphs,
        node_label=node_label,
        node_attributes=node_attributes,
        weight=weight,
        directed=directed,
        default=default,
    )
    y, classes = index_classes(labels, parts.ptr.size - 1)
    node_labels = _as_table(parts.labels) if parts.labels.shape[1] else None
    attributes = parts.attributes if parts.attributes.shape[1] else None
    notices = parts.notices
    if features is None:
        if parts.unused:
            notices += (
                f"the nodes carry data that is not used: {listed(parts.unused)}; every node has the one feature 1 "
                "(name types, such as an atom's, in node_label= and numbers in node_attributes=; "
                "or say features='constant')",
            )
        features = _NAMED[node_labels is not None, attributes is not None]
    deg = degrees(parts.A)
    encoder = fit_encoder(features, node_labels, attributes, deg)
    union = DisjointUnion(parts.A, encoder.encode(node_labels, attributes, deg), parts.ptr)
    for text in notices:
        notify(text)
    return Dataset(name, union, y, classes, encoder, notices, node_labels, attributes, parts.reading)


def _as_table(labels: NDArray[np.object_]) -> NDArray[Any]:
    """Return the columns of labels in one array, of objects where some columns hold other types than the rest."""
    columns = [as_values(column, "node_label") for column in labels.T]
    return np.column_stack(columns) if len({column.dtype.kind for column in columns}) == 1 else labels
