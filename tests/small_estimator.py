"""Small graphs as pairs and as networkx graphs, and a small classifier: shared by the tests of the estimator."""

from __future__ import annotations

from typing import Any

import networkx as nx

from minipinet._array import Array
from minipinet.estimator import PiNetClassifier
from tests.small_data import two_kinds

#: A dense 0/1 matrix and two features a node, twelve times.
PAIRS: list[tuple[Array, Array]] = [(graph.A.toarray(), graph.X) for graph in two_kinds(12)]
#: Three classes in turn.
LABELS = ["a", "b", "c"] * 4


def molecule(n: int) -> nx.Graph:
    """Return a ring of n atoms, or one of three with a tail of n; every third atom is oxygen, the others carbon."""
    G = nx.lollipop_graph(3, n) if n % 2 else nx.cycle_graph(n)
    nx.set_node_attributes(G, {v: "O" if v % 3 == 2 else "C" for v in G}, "atom")
    return G


#: With the node label "atom".
MOLECULES: list[nx.Graph] = [molecule(n) for n in range(4, 16)]


def classifier(**params: Any) -> PiNetClassifier:
    """Return a classifier that trains in milliseconds."""
    return PiNetClassifier(**{"hidden": 5, "out": 3, "epochs": 10, "lr": 0.01, "random_state": 0} | params)
