"""What PiNet can not tell apart, whatever its weights, beside what it can: as plain as the theorem.

A graph's score depends on the proportions of its colours after two rounds of refinement, and on nothing else
(docs/quotient.md, docs/invariance.md). On the atlas, scores are equal exactly where these proportions are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import pdist

from minipinet._array import Array
from minipinet.graphs import Graph, as_graph
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.union import disjoint_union
from tests.proof import TABLES, allowed, draw_params, scores, trained
from tests.strategies import beside, cycle, path
from tests.test_proof_exhaustive import atlas
from tests.tolerances import relative_error

pytestmark = pytest.mark.invariance

Pair = tuple[Graph, Graph]


def of(A: Any, labels: list[int] | None = None) -> Graph:
    """Return a graph with one-hot labels 0 and 1, or with one and the same label."""
    matrix = nx.to_numpy_array(A) if isinstance(A, nx.Graph) else A
    return as_graph(matrix, np.eye(2)[[0] * len(matrix) if labels is None else labels])


def edges(text: str) -> nx.Graph:
    """Return the graph with these edges, two digits each."""
    return nx.Graph([(int(edge[0]), int(edge[1])) for edge in text.split()])


def caterpillar(*gaps: int) -> Graph:
    """Return a path of sum(gaps) edges with a leaf hung on wherever two gaps meet."""
    tree = nx.path_graph(sum(gaps) + 1)
    tree.add_edges_from((sum(gaps[:k]), -k) for k in range(1, len(gaps)))
    return of(tree)


def histograms(graphs: list[Graph], rounds: int) -> list[Any]:
    """Refine colours `rounds` times from (label, degree), by dictionaries; return each graph's nodes of each colour."""
    colours: list[list[Any]] = [list(zip(map(tuple, g.X.tolist()), g.deg.tolist(), strict=True)) for g in graphs]
    for _ in range(rounds):
        number: dict[Any, int] = {}
        finer = []
        for g, colour in zip(graphs, colours, strict=True):
            seen = [sorted(repr(colour[j]) for j in np.flatnonzero(row)) for row in g.A.toarray()]
            finer.append([number.setdefault((own, *near), len(number)) for own, near in zip(colour, seen, strict=True)])
        colours = finer
    return [frozenset(Counter(colour).items()) for colour in colours]


AABB = [0, 0, 1, 1] * 2
K_33 = nx.complete_bipartite_graph(3, 3)
SEEN = 1e-7  # a hundred thousand times what rounding leaves

#: Never isomorphic, and always the same score; with the rounds that the test of Weisfeiler and Leman needs to see the
#: difference (None: no number is enough).
ALIKE: dict[str, tuple[Pair, int | None]] = {
    "two triangles and a hexagon": ((of(beside(cycle(3), cycle(3))), of(cycle(6))), None),
    "two squares and an octagon, labelled": ((of(beside(cycle(4), cycle(4)), AABB), of(cycle(8), AABB)), None),
    "a prism and the other graph of degree 3": ((of(nx.circular_ladder_graph(3)), of(K_33)), None),
    "seven nodes": ((of(edges("03 04 12 13 14 25 26 56")), of(edges("01 04 12 23 25 36 45 56"))), 3),
    "trees that need three rounds": ((caterpillar(2, 3, 4, 3, 2), caterpillar(2, 4, 3, 3, 2)), 3),
    # The test counts nodes; attention is a mean over them.
    "a graph and two copies of it": ((of(path(4)), of(beside(path(4), path(4)))), 0),
}
#: Told apart, with the least number of rounds that does.
APART: dict[str, tuple[Pair, int]] = {
    "a path and a star": ((of(path(4)), of(nx.star_graph(3))), 0),
    "one label more": ((of(cycle(6), [0, 1, 0, 1, 0, 1]), of(cycle(6), [0, 1, 0, 1, 0, 0])), 0),
    "labels in another order": ((of(cycle(8), [0, 0, 0, 0, 1, 1, 1, 1]), of(cycle(8), [0, 0, 0, 1, 1, 0, 1, 1])), 1),
    "trees that need one round": ((caterpillar(1, 1, 2, 1, 1), caterpillar(1, 2, 1, 1, 1)), 1),
    "trees that need two rounds": ((caterpillar(1, 2, 3, 2, 1), caterpillar(1, 3, 2, 2, 1)), 2),
}
#: Fixed p, q by whether degrees enter the first layer's matrix (p < 1), and learned ones, which always let them in.
WITH_DEGREES = [pq for pq in TABLES if pq is None or (pq[0, 0] < 1 and pq[2, 0] < 1)]
WITHOUT_DEGREES = [pq for pq in TABLES if pq is not None and (pq[:, 0] == 1).all()]
TRAINED: list[str | tuple[float, float]] = ["learned", (1.0, 0.0)]


def gaps(pair: Pair, models: Iterable[tuple[PiNetParams, Array | None]], merge: bool) -> Array:
    """Return, for each model, how far apart the two scores are, relative to the larger."""
    union = disjoint_union(list(pair))
    z = [scores(union, params, pq, merge=merge) for params, pq in models]
    return np.array([relative_error(a, b) for a, b in z])


def fresh(tables: list[Array | None]) -> Iterator[tuple[PiNetParams, Array | None]]:
    return ((draw_params(seed, learned=pq is None), pq) for pq in tables for seed in range(6))


@pytest.mark.parametrize("name", [*ALIKE, *APART])
def test_the_pairs_are_what_they_are_called(name: str) -> None:
    pair, rounds = (ALIKE | APART)[name]
    told_apart = [len(set(histograms(list(pair), k))) == 2 for k in range(6)]
    assert told_apart == [rounds is not None and k >= rounds for k in range(6)]
    nets = [nx.from_numpy_array(graph.A.toarray()) for graph in pair]
    for net, graph in zip(nets, pair, strict=True):
        nx.set_node_attributes(net, dict(enumerate(graph.X[:, 0].tolist())), "label")
    assert not nx.is_isomorphic(*nets, node_match=lambda a, b: a["label"] == b["label"])


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("name", ALIKE)
def test_no_weights_tell_these_apart(name: str, merge: bool) -> None:
    models = [*fresh(TABLES), *(trained("random", pq)[1:] for pq in TRAINED)]
    assert gaps(ALIKE[name][0], models, merge).max() < allowed("float64")


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("name", APART)
def test_fresh_and_trained_weights_tell_these_apart(name: str, merge: bool) -> None:
    models = [*fresh(WITH_DEGREES), trained("random")[1:]]
    assert gaps(APART[name][0], models, merge).min() > SEEN


@pytest.mark.parametrize("merge", [True, False])
def test_at_p_1_a_round_is_spent_on_degrees(merge: bool) -> None:
    """The matrices A and A + I hold no degrees: the first layer counts neighbours, and one round is left, not two."""
    models = [*fresh(WITHOUT_DEGREES), trained("random", (1.0, 0.0))[1:]]
    assert gaps(APART["trees that need two rounds"][0], models, merge).max() < allowed("float64")
    assert np.median(gaps(APART["trees that need one round"][0], models, merge)) > SEEN  # all but those with dead ReLUs


@pytest.mark.parametrize("merge", [True, False])
def test_on_the_atlas_scores_are_equal_exactly_where_proportions_of_colours_are(merge: bool) -> None:
    union = atlas("constant")
    counts = refine(union).counts.toarray()
    proportions = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    _, first, kind = np.unique(proportions.round(12), axis=0, return_index=True, return_inverse=True)
    assert len(first) == 1206  # of 1253; 1223 differ in the counts themselves
    assert len(np.unique(counts, axis=0)) == 1223
    models = [trained("random")[1:], *((draw_params(seed), None) for seed in range(5))]
    z = np.hstack([scores(union, params, pq, merge=merge) for params, pq in models])
    z /= np.abs(z).max(axis=0)
    assert np.abs(z - z[first][kind.ravel()]).max() < allowed("float64")
    assert pdist(z[first], "chebyshev").min() > SEEN
