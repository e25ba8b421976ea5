"""Train on your own networkx graphs and save the model; label new graphs in a new process.

    python scripts/examples/own_graphs.py train model.safetensors
    python scripts/examples/own_graphs.py predict model.safetensors

Needs scikit-learn: pip install 'minipinet[sklearn]'.

The graphs here are molecules of a made-up kind: of each two, one has its oxygen atom at the end of the chain, the
other in its middle. Put your own in the place of `molecule`: any nodes, and what is known of them as attributes.
"""

from __future__ import annotations

import sys

import networkx as nx

from minipinet import PiNetClassifier
from minipinet.errors import MinipinetError


def molecule(n: int, oxygen: int) -> nx.Graph:
    """Return a chain of n carbon atoms, one of them replaced by oxygen."""
    G = nx.path_graph(n)
    nx.set_node_attributes(G, "C", "atom")
    G.nodes[oxygen]["atom"] = "O"
    return G


def train(path: str) -> None:
    sizes = range(4, 24)
    graphs = [molecule(n, 0) for n in sizes] + [molecule(n, n // 2) for n in sizes]
    labels = ["alcohol"] * 20 + ["ether"] * 20
    clf = PiNetClassifier(node_label="atom", epochs=100, random_state=0).fit(graphs, labels)
    clf.save(path)
    print(f"{clf.model_}: accuracy {clf.score(graphs, labels):.2f} on the training graphs, saved as {path}")


def predict(path: str) -> None:
    clf = PiNetClassifier.load(path)
    graphs = [molecule(30, 29), molecule(30, 10)]
    for G, label, row in zip(graphs, clf.predict(graphs), clf.predict_proba(graphs), strict=True):
        text = "".join(G.nodes[v]["atom"] for v in G)
        print(f"{text}: {label} ({row.max():.2f})")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("train", "predict"):
        print("usage: own_graphs.py {train,predict} MODEL", file=sys.stderr)
        sys.exit(2)
    try:
        {"train": train, "predict": predict}[sys.argv[1]](sys.argv[2])
    except MinipinetError as error:
        print(f"own_graphs.py: {error}", file=sys.stderr)
        sys.exit(2)
