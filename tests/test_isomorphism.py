"""The paper's isomorphism test: what each class must share, and what must tell classes apart."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet.datasets import Dataset, isomorphism, isomorphism_dataset
from minipinet.datasets.realisations import draw_realisation, isomorphic
from minipinet.errors import Notice, UsageError

KINDS = ["random", "balanced", "constant", "degree"]


def to_networkx(dataset: Dataset, g: int) -> nx.Graph:
    G = nx.from_scipy_sparse_array(dataset[g].A)
    nx.set_node_attributes(G, {node: tuple(row) for node, row in enumerate(dataset[g].X.tolist())}, "x")
    return G


def same_with_features(G: nx.Graph, H: nx.Graph) -> bool:
    return bool(nx.is_isomorphic(G, H, node_match=lambda a, b: a["x"] == b["x"]))


@pytest.mark.parametrize("features", KINDS)
def test_the_paper_s_set(features: str) -> None:
    dataset = isomorphism_dataset(0, features=features)
    assert (len(dataset), dataset.num_classes, dataset.notices) == (500, 5, ())
    assert np.array_equal(np.diff(dataset.graphs.ptr), np.full(500, 50))
    assert np.array_equal(np.bincount(dataset.y), [100] * 5)
    A = dataset.graphs.A
    assert A.has_canonical_format
    assert set(A.data) == {1.0}
    assert (A != A.T).nnz == 0
    assert not A.diagonal().any()
    deg = np.sort(np.asarray(A.sum(axis=1)).reshape(500, 50), axis=1)
    assert (deg == deg[0]).all()  # one degree sequence for all
    # A graph of the size asked for: 1225 pairs at 0.15, give or take five standard deviations.
    assert abs(deg[0].sum() / 2 - 0.15 * 1225) < 5 * np.sqrt(1225 * 0.15 * 0.85)


@pytest.mark.parametrize("features", KINDS)
def test_members_are_copies_and_classes_are_not(features: str) -> None:
    dataset = isomorphism_dataset(3, N=14, C=4, graphs_per_class=3, p=0.3, features=features)
    graphs = [to_networkx(dataset, g) for g in range(12)]
    assert all(nx.is_connected(G) for G in graphs)
    for g, h in combinations(range(12), 2):
        alike = dataset.y[g] == dataset.y[h]
        assert nx.is_isomorphic(graphs[g], graphs[h]) == alike  # without features
        assert same_with_features(graphs[g], graphs[h]) == alike


def test_copies_are_permuted_and_features_move_along() -> None:
    dataset = isomorphism_dataset(1, N=12, C=2, graphs_per_class=20, p=0.4)
    assert len({dataset[g].A.toarray().tobytes() for g in range(20)}) == 20
    # Neighbours' labels, node by node, are one multiset in each class: labels and edges are permuted together.
    summaries = [sorted(np.hstack([dataset[g].X, dataset[g].A @ dataset[g].X]).tolist()) for g in range(40)]
    assert all(summary == summaries[0] for summary in summaries[:20])
    assert all(summary == summaries[20] for summary in summaries[20:])
    assert summaries[0] != summaries[20]


def test_features() -> None:
    options: dict[str, Any] = {"N": 15, "C": 4, "graphs_per_class": 2, "p": 0.3}
    sets = {features: isomorphism_dataset(7, features=features, **options) for features in KINDS}
    assert {kind: sets[kind].encoder.kind for kind in KINDS} == {
        "random": "labels",
        "balanced": "labels",
        "constant": "constant",
        "degree": "degree",
    }
    ones = sets["balanced"].graphs.X[:, 1].reshape(8, 15).sum(axis=1)
    assert ones.tolist() == [7] * 8
    ones = sets["random"].graphs.X[:, 1].reshape(8, 15).sum(axis=1)
    assert len(set(ones)) > 1
    assert sets["random"].graphs.X.shape[1] == 2
    assert sets["constant"].graphs.X.tolist() == [[1]] * 120
    deg = np.asarray(sets["degree"].graphs.A.sum(axis=1))
    vocabulary = np.array(sets["degree"].encoder.vocabularies[0])
    assert np.array_equal(vocabulary[sets["degree"].graphs.X.argmax(axis=1)], deg)
    for dataset in sets.values():  # the graphs are the same for all four
        assert (dataset.graphs.A != sets["random"].graphs.A).nnz == 0


def test_labels_keep_both_columns_when_chance_draws_one() -> None:
    widths = {isomorphism_dataset(seed, N=2, C=1, graphs_per_class=1, p=1.0).num_features for seed in range(20)}
    assert widths == {2}


def test_seeds() -> None:
    def digest(rng: int | np.random.Generator) -> str:
        return isomorphism_dataset(rng, N=10, C=2, graphs_per_class=2, p=0.4).digest

    state = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002 (it must stay untouched)
    assert digest(5) == digest(5) == digest(np.random.default_rng(5))
    assert digest(5) != digest(6)
    rng = np.random.default_rng(5)
    assert digest(rng) != digest(rng)
    assert np.array_equal(state, np.random.get_state()[1])  # type: ignore[index] # noqa: NPY002


def test_the_drawing_is_pinned() -> None:
    """A change of the drawing changes published numbers: it must be made on purpose."""
    digest = isomorphism_dataset(0, N=10, C=2, graphs_per_class=2, p=0.4, features="balanced").digest
    assert digest[:16] == "6de30287f15a66fc"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"N": 0}, "N: expected a whole number, 1 or more, got 0"),
        ({"N": 2.5}, "N: expected a whole number, 1 or more, got 2.5"),
        ({"C": 0}, "C: expected a whole number, 1 or more, got 0"),
        ({"graphs_per_class": -1}, "graphs_per_class: expected a whole number, 1 or more, got -1"),
        ({"p": 1.5}, "p: expected a probability, 0..1, got 1.5"),
        ({"p": float("nan")}, "p: expected a probability, 0..1, got nan"),
        ({"p": "half"}, "p: expected a probability, 0..1, got 'half'"),
        ({"features": "labels"}, "features: expected 'random', 'balanced', 'constant' or 'degree', got 'labels'"),
        ({"p": 0.0}, "p: no connected graph in 200 tries with N=50 and p=0.0"),
        ({"N": 5, "p": 1.0, "C": 2}, "C: expected at most 1 classes"),
        ({"N": 3, "p": 0.9, "C": 2}, "C: expected at most 1 classes"),
        ({"N": 1, "C": 2}, "C: expected at most 1 classes"),
        ({"rng": -1}, "rng: expected a whole number, 0 or more, or a numpy Generator, got -1"),
        ({"rng": None}, "rng: expected a whole number, 0 or more, or a numpy Generator, got None"),
        ({"rng": 1.5}, "rng: expected a whole number"),
    ],
)
def test_what_cannot_be_generated(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        isomorphism_dataset(**{"rng": 0, **options})


@pytest.mark.parametrize("N", [1, 2, 3])
def test_tiny_graphs(N: int) -> None:
    dataset = isomorphism_dataset(0, N=N, C=1, graphs_per_class=3, p=1.0)
    assert dataset.graphs.A.nnz == 3 * N * (N - 1)
    assert np.diff(dataset.graphs.ptr).tolist() == [N] * 3


def test_classes_that_no_message_passing_tells_apart_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """All connected cubic graphs of six nodes are two, and to colour refinement they look alike."""
    prism = nx.to_numpy_array(nx.circular_ladder_graph(3)) > 0
    monkeypatch.setattr(isomorphism, "draw_connected", lambda rng, N, p: prism)
    with pytest.warns(Notice, match="colour refinement cannot tell these classes apart.*: 0 and 1") as notices:
        dataset = isomorphism_dataset(0, N=6, C=2, graphs_per_class=1, features="constant")
    assert dataset.notices == tuple(str(notice.message) for notice in notices)
    G, H = to_networkx(dataset, 0), to_networkx(dataset, 1)
    assert not nx.is_isomorphic(G, H)
    assert colour_counts(G) == colour_counts(H)
    with pytest.raises(UsageError, match="C: expected at most 2 classes"):
        isomorphism_dataset(0, N=6, C=3, graphs_per_class=1)
    different = isomorphism_dataset(3, N=6, C=2, graphs_per_class=1)  # with labels they no longer do
    assert different.notices == ()


def colour_counts(G: nx.Graph) -> list[int]:
    """Refine colours naively, by nested tuples; the multiset of the colours' hashes after N rounds."""
    colours: dict[Any, Any] = dict.fromkeys(G, 0)
    for _ in range(3):
        colours = {node: (colours[node], tuple(sorted(map(repr, (colours[n] for n in G[node]))))) for node in G}
    return sorted(map(hash, colours.values()))


# Drawing graphs with given degrees


@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(0.2, 0.9))
def test_realisations_keep_degrees_and_stay_simple_and_connected(seed: int, N: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    A = nx.to_numpy_array(nx.compose(nx.path_graph(N), nx.gnp_random_graph(N, p, seed=seed))) > 0
    before = A.copy()
    B = draw_realisation(rng, A)
    assert np.array_equal(A, before)
    assert np.array_equal(A.sum(axis=0), B.sum(axis=0))
    assert np.array_equal(B, B.T)
    assert not B.diagonal().any()
    assert nx.is_connected(nx.from_numpy_array(B))


def test_all_realisations_are_equally_likely() -> None:
    """The degrees of a path of five nodes have six connected graphs: the orders of the three nodes between its ends."""
    A = nx.to_numpy_array(nx.path_graph(5)) > 0
    rng = np.random.default_rng(0)
    drawn = [draw_realisation(rng, A).tobytes() for _ in range(1200)]
    counts = [drawn.count(one) for one in set(drawn)]
    assert len(counts) == 6
    # Chi-square with five degrees of freedom; 25.7 has probability 1e-4.
    assert sum((count - 200) ** 2 / 200 for count in counts) < 25.7


@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(0.2, 0.8))
def test_isomorphic_against_networkx(seed: int, N: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    G, H = nx.gnp_random_graph(N, p, seed=seed), nx.gnp_random_graph(N, p, seed=seed + 1)
    A, B = nx.to_numpy_array(G) > 0, nx.to_numpy_array(H) > 0
    assert isomorphic(A, B) == nx.is_isomorphic(G, H)
    order = rng.permutation(N)
    assert isomorphic(A, A[order][:, order])


def test_isomorphic_where_refinement_sees_nothing() -> None:
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert not isomorphic(nx.to_numpy_array(hexagon) > 0, nx.to_numpy_array(triangles) > 0)
