"""What the files of a TU data set say, made into graphs and data sets."""

from __future__ import annotations

import numpy as np

from minipinet._words import counted
from minipinet.adjacency import build_adjacency, degrees
from minipinet.datasets.dataset import Dataset, index_classes
from minipinet.datasets.encoder import FeatureEncoder, fit_encoder
from minipinet.datasets.tu import TUContent
from minipinet.reading import Reading
from minipinet.union import DisjointUnion


def assemble(
    content: TUContent, features: str, *, keep_repeats: bool, directed: bool, encoder: FeatureEncoder | None
) -> Dataset:
    """Make the data set; the options are those of :func:`~minipinet.datasets.load_dataset`."""
    graphs, encoder, notices = assemble_graphs(
        content, features, keep_repeats=keep_repeats, directed=directed, encoder=encoder
    )
    y, classes = index_classes(content.values)
    return Dataset(
        name=content.name,
        graphs=graphs,
        y=y,
        classes=classes,
        encoder=encoder,
        notices=notices,
        node_labels=content.node_labels,
        attributes=content.attributes,
        reading=Reading(directed=directed),
    )


def assemble_graphs(
    content: TUContent, features: str, *, keep_repeats: bool, directed: bool, encoder: FeatureEncoder | None
) -> tuple[DisjointUnion, FeatureEncoder, tuple[str, ...]]:
    """Make the graphs alone; returned with the encoder of their features and what a user should know."""
    name, arcs = content.name, content.arcs
    N = int(content.ptr[-1])
    A, repeats, _, one_way = build_adjacency(
        arcs[:, 0], arcs[:, 1], np.ones(len(arcs)), N, weighted=keep_repeats, directed=directed
    )
    notices = list(content.notices)
    if repeats:
        outcome = "counted as weights" if keep_repeats else "dropped (keep_repeats=True counts them)"
        repeat = "repeats" if repeats == 1 else "repeat"
        notices.append(f"{name}: {repeats} of {len(arcs)} lines of the edge list {repeat} an earlier one: {outcome}")
    if one_way:
        entries = counted(one_way, "entry", "entries")
        notices.append(
            f"{name}: {entries} of A added or raised to make it symmetric, since the edge list is not "
            "(directed=True leaves it as it is)"
        )
    deg = degrees(A)
    if encoder is None:
        if features == "labels" and content.node_labels is None:
            features = "constant"
            other = "" if content.attributes is None else " or 'attributes'"
            notices.append(
                f"{name}: there are no node labels, so every node has the one feature 1 "
                f"(features='degree'{other} is another choice)"
            )
        encoder = fit_encoder(features, content.node_labels, content.attributes, deg)
    X, unseen = encoder.encode_quietly(content.node_labels, content.attributes, deg)
    return DisjointUnion(A, X, content.ptr), encoder, (*notices, *unseen)
