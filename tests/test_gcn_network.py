"""The GCNs as networks: a dense oracle, gradients by the checker, and what depends on the order of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet._array import Array
from minipinet._tree import named_leaves, with_leaves
from minipinet.baselines.gcn_layers import kipf_quotient
from minipinet.baselines.gcn_network import (
    GCNCache,
    GCNLossCache,
    GCNParams,
    gcn_backward,
    gcn_forward,
    gcn_loss_backward,
    gcn_loss_forward,
    init_gcn,
)
from minipinet.batch import GraphBatch, make_batch
from minipinet.datasets import load_dataset
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.union import DisjointUnion, disjoint_union, graph_at
from minipinet.verify import check_pair, verify_pair
from minipinet.verify.pairs import example_union
from minipinet.verify.properties import isolation_error, permutation_error
from tests import strategies
from tests.small_data import random_graph, same_bits
from tests.test_gcn_layers import dense_kipf
from tests.tolerances import (
    FORMS_FLOAT64,
    GRADIENT_FLOAT32,
    ORACLE_FLOAT32,
    ORACLE_FLOAT64,
    relative_error,
    tree_error,
)

#: None is Sum; 4 cuts the larger graphs of `example_union`, and 9 pads all of them.
PLACES = [None, 4, 9]


def batch_of(union: DisjointUnion, places: int | None, dtype: str = "float64") -> GraphBatch:
    return make_batch(kipf_quotient(union, merge=places is None), np.arange(len(union.ptr) - 1), dtype)


def params_of(
    places: int | None, d: int = 3, C: int = 3, *, seed: int = 0, bias: bool = True, dtype: str = "float64"
) -> GCNParams:
    """Return weights away from their start, biases too."""
    rng = np.random.default_rng(seed)
    params = init_gcn(rng, d, C, places=places, hidden=5, out=4, bias=bias, dtype=dtype)
    return GCNParams(*(w if w is None else rng.standard_normal(w.shape).astype(dtype) / 2 for w in params))


def oracle(union: DisjointUnion, params: GCNParams, places: int | None) -> Array:
    """Return the logits, graph by graph, by dense matrices."""
    b_0, b_1, b_D = (0.0 if b is None else b for b in (params.b_0, params.b_1, params.b_D))
    rows = []
    for g in range(len(union.ptr) - 1):
        graph = graph_at(union, g)
        A, X = dense_kipf(graph.A.toarray()), graph.X
        Z = np.maximum(A @ np.maximum(A @ X @ params.W_0 + b_0, 0) @ params.W_1 + b_1, 0)
        if places is None:
            S = Z.sum(axis=0)
        else:
            S = np.zeros((max(places, len(Z)), Z.shape[1]))
            S[: len(Z)] = Z
            S = S[:places].ravel()
        rows.append(S @ params.W_D + b_D)
    return np.array(rows)


@pytest.mark.parametrize("places", PLACES)
@given(strategies.unions(), st.booleans(), st.integers(0, 9))
def test_logits_are_those_of_dense_matrices(places: int | None, union: DisjointUnion, bias: bool, seed: int) -> None:
    params = params_of(places, union.X.shape[1], seed=seed, bias=bias)
    logits, _ = gcn_forward(params, batch_of(union, places), places)
    assert relative_error(logits, oracle(union, params, places)) < ORACLE_FLOAT64


@given(strategies.unions(), st.integers(0, 9))
def test_sum_is_the_same_in_both_forms_and_so_are_its_gradients(union: DisjointUnion, seed: int) -> None:
    params = params_of(None, union.X.shape[1], seed=seed)
    found = []
    for merge in (True, False):
        batch = make_batch(kipf_quotient(union, merge), np.arange(len(union.ptr) - 1), "float64")
        logits, cache = gcn_forward(params, batch)
        dlogits = np.random.default_rng(seed).standard_normal(logits.shape)
        found.append((logits, gcn_backward(dlogits, cache).dparams))
    assert tree_error(found[0], found[1]) < FORMS_FLOAT64


@pytest.mark.parametrize("places", PLACES)
def test_single_precision_stays_single_and_near_the_oracle(places: int | None) -> None:
    union = example_union(np.random.default_rng(0))
    params = params_of(places, dtype="float32")
    logits, cache = gcn_loss_forward(
        params, batch_of(union, places, "float32"), np.array([0, 1, 2, 0, 1, 2]), places, 0.1
    )
    grads = gcn_loss_backward(1.0, cache)
    floats = [leaf for _, leaf in named_leaves((cache, grads)) if getattr(leaf, "dtype", np.dtype(int)).kind == "f"]
    assert len(floats) > 20
    assert {leaf.dtype for leaf in (logits, *floats)} == {np.dtype("float32")}
    double = with_leaves(params, (w.astype(np.float64) for w in params if w is not None))
    exact, exact_cache = gcn_loss_forward(double, batch_of(union, places), np.array([0, 1, 2, 0, 1, 2]), places, 0.1)
    assert relative_error(logits, exact) < ORACLE_FLOAT32
    assert tree_error(grads, gcn_loss_backward(1.0, exact_cache)) < GRADIENT_FLOAT32


# Gradients.


def pair_of(places: int | None, *, bias: bool = True) -> tuple[Any, dict[str, Any]]:
    """Return the network's forward pass on a batch of directed weighted graphs, and the inputs to differentiate."""
    rng = np.random.default_rng(3)
    batch = batch_of(example_union(rng), places)

    def forward(params: GCNParams, X: Array) -> tuple[Array, GCNCache]:
        return gcn_forward(params, batch._replace(X=X), places)

    return forward, {"params": params_of(places, bias=bias), "X": rng.standard_normal(batch.X.shape)}


@pytest.mark.gradient
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("places", PLACES)
def test_the_gradient_of_the_network(places: int | None, bias: bool) -> None:
    forward, inputs = pair_of(places, bias=bias)
    methods = ("linear", "adjoint", "central", "taylor")
    found = verify_pair(forward, gcn_backward, inputs, rng=np.random.default_rng(0), methods=methods)
    assert found.ok, str(found)


@pytest.mark.gradient
@pytest.mark.parametrize("places", PLACES)
def test_the_gradient_of_the_loss(places: int | None) -> None:
    batch = batch_of(example_union(np.random.default_rng(3)), places)

    def forward(params: GCNParams) -> tuple[Array, GCNLossCache]:
        return gcn_loss_forward(params, batch, np.array([0, 1, 2, 2, 1, 0]), places, l2=0.25)

    inputs = {"params": params_of(places)}
    methods = ("linear", "central", "taylor")
    found = verify_pair(forward, gcn_loss_backward, inputs, rng=np.random.default_rng(0), methods=methods)
    assert found.ok, str(found)


@pytest.mark.gradient
@pytest.mark.parametrize("places", [None, 4])
def test_a_ten_thousandth_too_much_in_any_gradient_is_caught(places: int | None) -> None:
    forward, inputs = pair_of(places)
    leaves = len(list(named_leaves(inputs)))
    assert leaves == 7

    def spoilt(which: int, dlogits: Array, cache: GCNCache) -> Any:
        grads = gcn_backward(dlogits, cache)
        scaled = (leaf * (1.0001 if k == which else 1.0) for k, (_, leaf) in enumerate(named_leaves(grads)))
        return with_leaves(grads, scaled)

    for which in range(leaves):
        report = check_pair(forward, partial(spoilt, which), inputs, rng=np.random.default_rng(0), method="taylor")
        assert not report.ok, f"gradient {which}"


def test_the_penalty_is_on_both_convolutions_alone() -> None:
    batch, params = batch_of(example_union(np.random.default_rng(3)), None), params_of(None)
    y = np.array([0, 1, 2, 2, 1, 0])
    with_l2, cache = gcn_loss_forward(params, batch, y, l2=0.25)
    without, plain = gcn_loss_forward(params, batch, y)
    penalty = 0.25 * float((params.W_0**2).sum() + (params.W_1**2).sum())
    assert relative_error(with_l2 - without, penalty) < ORACLE_FLOAT64
    pulled, free = gcn_loss_backward(1.0, cache), gcn_loss_backward(1.0, plain)
    for name in ("W_D", "b_0", "b_1", "b_D"):
        assert same_bits(getattr(pulled, name), getattr(free, name))


# What the scores depend on.


def scores_of(params: GCNParams, places: int | None, graphs: Sequence[Graph]) -> Array:
    return gcn_forward(params, batch_of(disjoint_union(graphs), places), places)[0]


def twenty_graphs() -> list[Graph]:
    """Return 20 graphs of two features: two without nodes, a single node, and disconnected ones among them."""
    rng = np.random.default_rng(5)
    graphs = [random_graph(rng, density, N) for N in (2, 5, 9, 12) for density in (0.1, 0.3, 0.6, 0.9)]
    lone = as_graph(np.zeros((1, 1)), [[1.0, 0.5]])
    apart = as_graph(strategies.beside(strategies.cycle(4), strategies.path(3)), rng.standard_normal((7, 2)))
    none = as_graph(np.zeros((0, 0)), np.zeros((0, 2)))
    return [*graphs, lone, apart, none, as_graph(np.zeros((3, 3)), rng.standard_normal((3, 2)))]


def trained(places: int | None, graphs: list[Graph]) -> GCNParams:
    """Return weights after some steps of gradient descent, so that they are not just drawn."""
    batch = batch_of(disjoint_union(graphs), places)
    params, y = params_of(places, d=2), np.arange(len(graphs)) % 3
    first, _ = gcn_loss_forward(params, batch, y, places)
    for _ in range(30):
        loss, cache = gcn_loss_forward(params, batch, y, places)
        grads = gcn_loss_backward(1.0, cache)
        params = GCNParams(*(w - 0.05 * g for w, g in zip(params, grads, strict=True)))
    assert loss < first
    return params


def test_case_055_sum_does_not_see_the_order_of_the_nodes_and_dense_does() -> None:
    graphs = twenty_graphs()
    assert len(graphs) == 20
    errors = {}
    for places in (None, 12):
        scores = partial(scores_of, trained(places, graphs), places)
        errors[places] = permutation_error(scores, graphs, rng=np.random.default_rng(0), trials=5)
    assert errors[None] < FORMS_FLOAT64
    assert errors[12] > 0.01


@given(strategies.unions(), st.randoms(use_true_random=False))
def test_sum_scores_renumbered_graphs_to_the_same_bits_in_one_quotient(union: DisjointUnion, random: Any) -> None:
    graphs = [graph_at(union, g) for g in range(len(union.ptr) - 1)]
    renumbered = [permute_nodes(graph, random.sample(range(graph.N), graph.N)) for graph in graphs]
    batch = batch_of(disjoint_union([*graphs, *renumbered]), None)
    logits, _ = gcn_forward(params_of(None, union.X.shape[1]), batch)
    assert same_bits(logits[: len(graphs)].copy(), logits[len(graphs) :].copy())


def test_case_048_a_graph_has_the_same_scores_to_the_bit_in_any_company() -> None:
    graphs = twenty_graphs()
    for places in (None, 4, 12):
        assert isolation_error(partial(scores_of, params_of(places, d=2), places), graphs) == 0.0
    mutag = load_dataset("MUTAG")
    large = as_graph(strategies.path(620), np.eye(7)[np.arange(620) % 7])
    companies = [[mutag[0]], [mutag[0], mutag[int(np.argmax(np.diff(mutag.graphs.ptr)))]], [mutag[0], large]]
    for places in (None, 28):
        params = params_of(places, d=7, dtype="float32")
        rows = []
        for company in companies:
            batch = batch_of(disjoint_union(company), places, "float32")
            logits, cache = gcn_forward(params, batch, places)
            only_the_first = np.zeros_like(logits)
            only_the_first[0] = 1.0
            rows.append((logits[0], gcn_backward(only_the_first, cache).dparams))
        assert same_bits(rows[0][0], rows[1][0])
        assert same_bits(rows[0][0], rows[2][0])
        for _, grads in rows[1:]:
            assert tree_error(grads, rows[0][1]) < GRADIENT_FLOAT32


@pytest.mark.parametrize("places", [None, 3])
def test_case_045_graphs_without_nodes_have_the_bias_as_scores(places: int | None) -> None:
    none = as_graph(np.zeros((0, 0)), np.zeros((0, 3)))
    params = params_of(places)
    logits, cache = gcn_forward(params, batch_of(disjoint_union([none, none]), places), places)
    assert params.b_D is not None
    assert logits.tolist() == [params.b_D.tolist()] * 2
    grads = gcn_backward(np.ones_like(logits), cache).dparams
    assert not any(np.any(g) for g in (grads.W_0, grads.W_1, grads.W_D))
