"""Bitwise invariance: one model gives one graph the same bits in any order, company and form, with any threads."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from minipinet._array import Array
from minipinet.batch import make_batch
from minipinet.datasets import load_dataset
from minipinet.datasets.from_networkx import dataset_from_networkx
from minipinet.errors import DataError, UsageError
from minipinet.evaluation import score
from minipinet.exact_neighbours import round_weights
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.invariance import bitwise_forward, bitwise_score
from minipinet.params import PiNetParams, init_params
from minipinet.predictor import PiNet
from minipinet.quotient import refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.union import DisjointUnion, disjoint_union, graph_at
from tests import strategies, tolerances
from tests.thinned import examples

pytestmark = pytest.mark.invariance

CORNERS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.3, 0.7)]
DATA_SETS = {
    "MUTAG": "labels", "PTC_MR": "labels", "PTC_FM": "labels", "PTC_FR": "labels", "PTC_MM": "labels",
    "NCI1": "labels", "NCI109": "labels", "PROTEINS": "both", "ENZYMES": "both", "IMDB-BINARY": "degree",
}  # fmt: skip


def weights(
    d: int, C: int = 2, dtype: str = "float64", *, seed: int = 0, bias: bool = True, learned: bool = True
) -> PiNetParams:
    """Draw weights with biases, p and q away from their start."""
    rng = np.random.default_rng(seed)
    params = init_params(rng, d, C, hidden=9, out=6, bias=bias, learned_pq=learned, dtype=dtype)
    return PiNetParams(*(w if w is None else rng.standard_normal(w.shape).astype(dtype) / 2 for w in params))


def same(a: Array, b: Array) -> bool:
    """Tell whether the bits are the same: 0.0 and -0.0 are not."""
    return bool(a.dtype == b.dtype == np.float64) and a.shape == b.shape and a.tobytes() == b.tobytes()


def moved(graphs: list[Graph], rng: np.random.Generator) -> list[Graph]:
    return [permute_nodes(graph, rng.permutation(graph.N)) for graph in graphs]


@pytest.mark.parametrize("C", [1, 2, 3])
@given(graphs=strategies.graph_lists(), seed=st.integers(0, 2**32 - 1))
def test_no_order_no_place_no_company_and_no_form_shows(C: int, graphs: list[Graph], seed: int) -> None:
    rng = np.random.default_rng(seed)
    params = weights(2, C, seed=seed)
    scores = bitwise_score(params, None, disjoint_union(graphs))
    assert scores.shape == (len(graphs), C)
    place = rng.permutation(len(graphs))
    permuted = disjoint_union(moved([graphs[g] for g in place], rng))
    for merge in (True, False):
        assert same(
            bitwise_score(params, None, permuted, merge=merge, batch_size=int(rng.integers(1, 5))), scores[place]
        )
    for g, graph in enumerate(graphs):
        assert same(bitwise_score(params, None, disjoint_union([graph]), merge=bool(g % 2))[0], scores[g])


@pytest.mark.parametrize("pq", CORNERS)
@pytest.mark.parametrize("bias", [True, False])
@settings(max_examples=examples(15))
@given(graphs=strategies.graph_lists(), seed=st.integers(0, 2**32 - 1))
def test_nor_with_fixed_p_and_q(pq: tuple[float, float], bias: bool, graphs: list[Graph], seed: int) -> None:
    rng, table = np.random.default_rng(seed), np.tile(pq, (4, 1))
    params = weights(2, seed=seed, bias=bias, learned=False)
    scores = bitwise_score(params, table, disjoint_union(graphs))
    assert same(bitwise_score(params, table, disjoint_union(moved(graphs, rng)), merge=False), scores)


def ragged(rng: np.random.Generator, spread: int) -> Graph:
    """Draw a directed weighted graph whose weights and features spread over 2^spread."""
    N = int(rng.integers(2, 40))
    A = (rng.random((N, N)) < 0.3) * rng.random((N, N)) * np.exp2(rng.integers(-spread, spread + 1, (N, N)))
    X = rng.standard_normal((N, 3)) * np.exp2(rng.integers(-spread, spread + 1, (N, 1)))
    twins = rng.integers(0, N, N // 3)  # nodes alike, so that the quotient form has something to merge
    A[twins], X[twins] = A[0], X[0]
    A[:, twins] = A[:, [0]]
    return as_graph(A, X, weighted=True, directed=True)


@pytest.mark.parametrize("spread", [0, 3, 10, 30, 100])
@pytest.mark.parametrize("seed", range(4))
def test_nor_where_weights_and_features_differ_by_many_orders(spread: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [ragged(rng, spread) for _ in range(12)]
    params = weights(3, seed=seed)
    scores = bitwise_score(params, None, disjoint_union(graphs))
    assert same(bitwise_score(params, None, disjoint_union(moved(graphs, rng))), scores)
    assert same(bitwise_score(params, None, disjoint_union(moved(graphs, rng)), merge=False, batch_size=5), scores)
    whole = [as_graph(np.round(graph.A.toarray()), graph.X, weighted=True, directed=True) for graph in graphs]
    scores_whole = bitwise_score(params, None, disjoint_union(whole))
    assert same(bitwise_score(params, None, disjoint_union(moved(whole, rng)), merge=False), scores_whole)
    if spread <= 3:
        ordinary = score(params, None, refine(disjoint_union(graphs)), np.arange(12))
        assert tolerances.relative_error(scores, ordinary) < tolerances.BITWISE


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("merge", [True, False])
def test_no_number_of_threads_shows(threads: int, merge: bool) -> None:
    rng = np.random.default_rng(0)
    N = 400  # large enough that BLAS splits its products
    A = np.triu(rng.random((N, N)) < 0.02, 1).astype(float)
    graph = as_graph(A + A.T, rng.standard_normal((N, 120)))
    params = init_params(rng, 120, 2, dtype="float64")
    expected = bitwise_score(params, None, disjoint_union([graph]))
    batch = make_batch(refine(disjoint_union([graph]), merge), [0], "float64")
    with threadpool_limits(limits=threads):
        assert same(bitwise_forward(params, batch), expected)


def test_a_wide_feature_table_and_its_memory_layout_do_not_show() -> None:
    rng = np.random.default_rng(0)
    graph = as_graph(
        strategies.cycle(7), rng.standard_normal((7, 1100))
    )  # more terms than one piece of a product holds
    params = init_params(rng, 1100, 2, hidden=600, out=3, dtype="float64")
    scores = bitwise_score(params, None, disjoint_union([graph]))
    turned = PiNetParams(*(w if w is None else np.asfortranarray(w) for w in params))
    assert same(bitwise_score(turned, None, disjoint_union(moved([graph], rng))), scores)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_are_close_to_the_ordinary_ones(dtype: str) -> None:
    ds = load_dataset("MUTAG")
    for seed in range(5):
        params = weights(7, dtype=dtype, seed=seed)
        before = [None if w is None else w.copy() for w in params]
        exact = bitwise_score(params, None, ds.graphs)
        double = PiNetParams(*(None if w is None else w.astype("float64") for w in params))
        ordinary = score(double, None, refine(ds.graphs), np.arange(len(ds)))
        assert tolerances.relative_error(exact, ordinary) < tolerances.BITWISE
        assert all(w is None or (w == old).all() for w, old in zip(params, before, strict=True))


@pytest.fixture(scope="module")
def model() -> PiNet:
    return train_pinet(load_dataset("MUTAG")[:60], Settings(epochs=15, hidden=12, out=8, lr=0.01)).model


def test_a_trained_model_predicts_the_same_bits(model: PiNet) -> None:
    rng, part = np.random.default_rng(0), load_dataset("MUTAG")[60:120]
    scores = model.logits(part, bitwise=True)
    graphs = moved(list(part), rng)
    assert same(model.logits(graphs, bitwise=True), scores)
    assert same(model.probabilities(graphs, bitwise=True), model.probabilities(part, bitwise=True))
    assert same(model.probabilities(graphs[3:4], bitwise=True)[0], model.probabilities(part, bitwise=True)[3])
    assert model.predict(graphs, bitwise=True).tolist() == model.predict(part, bitwise=True).tolist()
    assert tolerances.relative_error(model.logits(part), scores) < tolerances.ORACLE_FLOAT32
    assert model.logits([], bitwise=True).shape == (0, 2)
    assert model.logits([], bitwise=True).dtype == np.float64


def test_the_ordinary_plain_form_does_differ() -> None:
    """The control: without exact sums the theorem holds only up to rounding."""
    rng, ds = np.random.default_rng(0), load_dataset("MUTAG")
    params = weights(7)
    scores = score(params, None, refine(ds.graphs, merge=False), np.arange(len(ds)))
    other = refine(disjoint_union(moved([graph_at(ds.graphs, g) for g in range(len(ds))], rng)), merge=False)
    differing = (score(params, None, other, np.arange(len(ds))) != scores).any(axis=1)
    assert differing.mean() > 0.5


@pytest.mark.parametrize("kind", ["degree", "attributes"])
def test_weighted_networkx_graphs_give_the_same_bits_in_any_order_of_their_nodes(kind: str) -> None:
    rng = np.random.default_rng(0)
    graphs = [nx.gnp_random_graph(12, 0.4, seed=s) for s in range(6)]
    for G in graphs:
        for _, _, data in G.edges(data=True):
            data["weight"] = float(rng.choice([0.1, 0.2, 0.3, 0.7]))
        nx.set_node_attributes(G, {v: float(rng.standard_normal()) for v in G}, "charge")
    attributes = "charge" if kind == "attributes" else ()
    ds = dataset_from_networkx(graphs, [0, 1] * 3, weight="weight", node_attributes=attributes, features=kind)
    model = train_pinet(ds, Settings(epochs=1, hidden=5, out=4)).model
    scores = model.logits(graphs, bitwise=True)
    for _ in range(5):
        shuffled = []
        for G in graphs:
            H = nx.Graph()
            H.add_nodes_from((v, G.nodes[v]) for v in rng.permutation(list(G)).tolist())
            H.add_edges_from((v, u, G[u][v]) for u, v in rng.permutation(list(G.edges)).tolist())
            shuffled.append(H)
        assert same(model.logits(shuffled, bitwise=True), scores)


def test_graphs_without_nodes_or_edges_are_ordinary(model: PiNet) -> None:
    lone = as_graph(np.zeros((1, 1)), np.eye(7)[:1])
    empty = as_graph(np.zeros((0, 0)), np.zeros((0, 7)))
    with pytest.warns(match="no node"):
        scores = model.logits([empty, lone, empty], bitwise=True)
    assert np.isfinite(scores).all()
    assert same(scores[0], np.zeros(2))
    assert same(scores[1], model.logits([lone], bitwise=True)[0])


def test_what_does_not_fit_is_refused_in_one_sentence(model: PiNet) -> None:
    with pytest.raises(UsageError, match=r"^graphs: expected 7 features a node"):
        model.logits([as_graph([[0, 1], [1, 0]])], bitwise=True)
    with pytest.raises(UsageError, match=r"^bitwise: expected True or False, got 'yes'"):
        model.logits([as_graph(np.zeros((1, 1)), np.eye(7)[:1])], bitwise="yes")  # type: ignore[arg-type]
    for size in (1e130, 1e-130):
        odd = as_graph(np.zeros((1, 1)), np.full((1, 7), size))
        with pytest.raises(DataError, match=r"^a feature of 1e.?130 is out of the range of exact sums"):
            model.logits([odd], bitwise=True)
        odd = as_graph([[0, size], [size, 0]], np.ones((2, 7)), weighted=True)
        with pytest.raises(DataError, match=r"^an edge weight of 1e.?130 is out of the range of exact sums"):
            model.logits([odd], bitwise=True)
    lone = disjoint_union([as_graph([[0]])])
    with pytest.raises(DataError, match=r"^graph 0: its scores are not finite in float64"):
        bitwise_score(weights(1)._replace(b_D=np.full(2, np.inf)), None, lone)
    with pytest.raises(UsageError, match=r"^params: expected weights for 1 feature a node"):
        bitwise_score(weights(2), None, disjoint_union([as_graph([[0]])]))


@pytest.mark.parametrize("size", [1e-6, 1e3, 1e8])
@pytest.mark.parametrize("used", [0.0, 1.0])
def test_a_column_counts_as_much_as_the_weights_make_of_it(size: float, used: float) -> None:
    """One feature is a hundred million times another, and the weights of the first layer undo or ignore it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 2))
    union = disjoint_union([as_graph(strategies.path(5), X)])
    scaled = disjoint_union([as_graph(strategies.path(5), X * [1, size])])
    params = weights(2, bias=False)
    rows = {name: getattr(params, name) * np.array([[1.0], [used]]) for name in ("W_A0", "W_X0")}
    undone = {name: W / np.array([[1.0], [size]]) for name, W in rows.items()}
    expected = score(params._replace(**rows), None, refine(union), np.array([0]))
    got = bitwise_score(params._replace(**undone), None, scaled)
    assert tolerances.relative_error(got, expected) < tolerances.BITWISE


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_scores_of_graphs_with_many_uneven_weights_stay_close(p: float) -> None:
    rng = np.random.default_rng(0)
    points = rng.random((400, 2))
    A = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 0.02)
    graph = as_graph(A, rng.standard_normal((400, 3)), weighted=True)
    star = np.zeros((200, 200))
    star[0, 1:] = star[1:, 0] = np.exp2(rng.integers(-16, 1, 199))
    for G in (graph, as_graph(star, rng.standard_normal((200, 3)), weighted=True)):
        union, table = disjoint_union([G]), np.tile([p, 0.5], (4, 1))
        params = weights(3, learned=False)
        expected = score(params, table, refine(union), np.array([0]))
        assert tolerances.relative_error(bitwise_score(params, table, union), expected) < tolerances.BITWISE


def test_the_order_of_parallel_edges_does_not_show() -> None:
    model = train_pinet(
        dataset_from_networkx([nx.path_graph(3), nx.path_graph(4)], [0, 1]), Settings(epochs=1, pq=(1, 1))
    ).model
    scores = set()
    for order in itertools.permutations([1 + 2.0**-30, 2.0**-53, 2.0**-53, 0.1]):
        G = nx.MultiGraph()
        G.add_nodes_from("xyz")
        G.add_edges_from(("x", "y", {"weight": w}) for w in order)
        scores.add(model.logits([G], weight="weight", bitwise=True).tobytes())
    assert len(scores) == 1


def union_of(ds: DisjointUnion, chosen: Array, rng: np.random.Generator) -> DisjointUnion:
    return disjoint_union(moved([graph_at(ds, int(g)) for g in chosen], rng))


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::minipinet.errors.Notice")  # IMDB-BINARY lists every edge twice
@pytest.mark.parametrize("name", DATA_SETS)
def test_real_graphs_of_every_size(name: str, data_dir: Path) -> None:
    ds = load_dataset(name, data_dir=data_dir, features=DATA_SETS[name])
    rng = np.random.default_rng(len(name))
    sizes = np.diff(ds.graphs.ptr)
    chosen = np.concatenate([[sizes.argmax(), sizes.argmin()], rng.permutation(len(ds))[:60]])
    params = init_params(rng, ds.graphs.X.shape[1], len(ds.classes), hidden=20, out=12)
    scores = bitwise_score(params, None, ds[chosen].graphs)
    for merge in (True, False):
        assert same(bitwise_score(params, None, union_of(ds.graphs, chosen, rng), merge=merge, batch_size=7), scores)
    double = PiNetParams(*(None if w is None else w.astype("float64") for w in params))
    ordinary = score(double, None, refine(ds[chosen].graphs), np.arange(len(chosen)))
    assert tolerances.relative_error(scores, ordinary) < tolerances.BITWISE
    assert round_weights(ds.graphs) is ds.graphs
