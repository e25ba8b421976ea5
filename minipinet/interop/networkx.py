"""networkx: graphs out; in they come by `minipinet.conversions` and `minipinet.datasets.dataset_from_networkx`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minipinet.datasets.dataset import Dataset
from minipinet.interop.common import graphs_and_weighted

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(graphs: Any) -> list[nx.Graph]:
    """Make networkx graphs of graphs.

    Parameters
    ----------
    graphs : Dataset, DisjointUnion or sequence of Graph

    Returns
    -------
    list of networkx.Graph, or of networkx.DiGraph where A is not symmetric
        The nodes have their ids where a Graph keeps them, else the numbers from 0. A Dataset's nodes carry its labels
        under the names of its `reading` (``"label"`` where nothing else is known, ``"label_0"``, ``"label_1"``, ...
        where it has several), and its attributes likewise where the names tell the columns apart: one name has them
        all, as many names as columns have a number each; else they are one list, ``"attributes"``. Other graphs carry
        their features as one list, ``"x"``. The edge from i to j is ``A[i, j]``, its ``"weight"`` if any edge of any
        graph has one other than 1; for a Dataset that was read with weights, always and under its reading's name. The
        class of a Dataset's graph is ``G.graph["label"]``.

    Examples
    --------
    >>> from minipinet.datasets import dataset_from_networkx, load_dataset
    >>> mutag = load_dataset("MUTAG")
    >>> graphs = to_networkx(mutag)
    >>> graphs[0].nodes[0], graphs[0].graph
    ({'label': 0}, {'label': 1})
    >>> again = dataset_from_networkx(graphs, mutag.labels, node_label="label")
    >>> again.digest == mutag.digest
    True
    """
    import networkx as nx

    members, weighted = graphs_and_weighted(graphs)
    data = isinstance(graphs, Dataset)
    weight = graphs.reading.weight if data and graphs.reading.weight is not None else "weight"
    columns = _columns(graphs) if data else {"x": [row for graph in members for row in graph.X.tolist()]}
    labels = graphs.labels.tolist() if data else []
    made, first = [], 0
    for g, graph in enumerate(members):
        directed = (graph.A != graph.A.T).nnz > 0
        G = (nx.DiGraph if directed else nx.Graph)(**({"label": labels[g]} if data else {}))
        nodes = graph.nodes or range(graph.N)
        for i, node in enumerate(nodes):
            G.add_node(node)
            G.nodes[node].update({name: values[first + i] for name, values in columns.items()})
        entries = graph.A.tocoo()
        for i, j, value in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True):
            G.add_edge(nodes[i], nodes[j], **({weight: value} if weighted else {}))
        made.append(G)
        first += graph.N
    return made


def _columns(dataset: Dataset) -> dict[str, list[Any]]:
    """Return what the nodes of a data set carry, under the names that it is read back with."""
    columns: dict[str, list[Any]] = {}
    if dataset.node_labels is not None:
        k = dataset.node_labels.shape[1]
        names = dataset.reading.node_label
        if len(names) != k:
            names = ("label",) if k == 1 else tuple(f"label_{c}" for c in range(k))
        columns = {name: column.tolist() for name, column in zip(names, dataset.node_labels.T, strict=True)}
    if dataset.attributes is not None:
        names = dataset.reading.node_attributes
        if len(names) == dataset.attributes.shape[1]:
            columns |= {name: column.tolist() for name, column in zip(names, dataset.attributes.T, strict=True)}
        else:
            columns[names[0] if len(names) == 1 else "attributes"] = dataset.attributes.tolist()
    return columns
