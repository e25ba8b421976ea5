"""Attention and shares of one graph: they add up to the logits, and move with the nodes."""

from __future__ import annotations

import math
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from minipinet import reference
from minipinet.attention_shares import Attention, attention_shares
from minipinet.datasets import load_dataset
from minipinet.datasets.from_networkx import dataset_from_networkx
from minipinet.errors import DataError, Notice, UsageError
from minipinet.evaluation import score
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.params import PiNetParams, init_params
from minipinet.predictor import PiNet
from minipinet.quotient import refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.union import disjoint_union
from tests import strategies
from tests.small_data import same_bits
from tests.small_estimator import LABELS, MOLECULES, PAIRS, classifier
from tests.tolerances import CLOSED_FORM, ORACLE_FLOAT32, ORACLE_FLOAT64, relative_error

MUTAG = load_dataset("MUTAG")
#: A failure is told as it was found: shrinking one, example by example, takes minutes here.
told_at_once = settings(phases=(Phase.explicit, Phase.reuse, Phase.generate), report_multiple_bugs=False)
#: Kinds whose weights add up exactly in any order.
WHOLE = tuple(kind for kind in strategies.KINDS if kind != "weights")


def weights(C: int = 2, *, out: int = 3, bias: bool = True, dtype: str = "float64", seed: int = 0) -> PiNetParams:
    rng = np.random.default_rng(seed)
    params = init_params(rng, 2, C, hidden=5, out=out, bias=bias, dtype=dtype)
    return PiNetParams(*(w if w is None else rng.standard_normal(w.shape).astype(dtype) / 2 for w in params))


def attention_of(graph: Graph, params: PiNetParams, pq: Any = None) -> Attention:
    return attention_shares(params, pq, disjoint_union([graph]), tuple(range(params.W_D.shape[1])))


@pytest.fixture(scope="module")
def model() -> PiNet:
    return train_pinet(MUTAG, Settings(epochs=30, hidden=16, out=8, lr=1e-2)).model


@pytest.mark.parametrize(("C", "out", "bias"), [(1, 3, True), (2, 1, False), (3, 4, True)])
@told_at_once
@given(graphs=strategies.graph_lists(), seed=st.integers(0, 2**32 - 1))
def test_shares_and_bias_are_the_logits(C: int, out: int, bias: bool, graphs: list[Graph], seed: int) -> None:
    params = weights(C, out=out, bias=bias, seed=seed)
    for graph in graphs:
        found = attention_of(graph, params)
        N = graph.N
        assert (found.weights.shape, found.shares.shape) == ((N, out), (N, out, C))
        assert {array.dtype for array in found[:-1]} == {np.dtype(np.float64)}
        sums = [math.fsum([*found.shares[:, :, c].ravel(), found.bias[c]]) for c in range(C)]
        assert found.logits.tolist() == sums
        assert (found.bias.any(), found.classes) == (bias, tuple(range(C)))
        A, X = graph.A.toarray(), graph.X
        oracle = reference.z_A(A, X, params).T
        assert relative_error(found.weights, oracle) < ORACLE_FLOAT64
        assert relative_error(found.logits, reference.logits(A, X, params)) < ORACLE_FLOAT64
        W = params.W_D.reshape(out, out, C)
        shares = np.einsum("ij,ix,jxc->ijc", oracle, reference.z_X(A, X, params), W)
        assert relative_error(found.shares, shares) < ORACLE_FLOAT64
        if N:
            assert abs(found.weights.sum(axis=0) - 1).max() < CLOSED_FORM
            plain = score(params, None, refine(disjoint_union([graph])), np.zeros(1, int))
            assert relative_error(found.logits[None], plain) < ORACLE_FLOAT64


@told_at_once
@given(graphs=strategies.graph_lists(WHOLE), seed=st.integers(0, 2**32 - 1))
def test_renumbering_moves_the_rows_and_no_bit(graphs: list[Graph], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for graph in graphs:
        permutation = rng.permutation(graph.N)
        found = attention_of(graph, weights())
        moved = attention_of(permute_nodes(graph, permutation), weights())
        assert same_bits(moved.weights[permutation], found.weights)
        assert same_bits(moved.shares[permutation], found.shares)
        assert same_bits(moved.logits, found.logits)


def test_nodes_that_look_alike_get_alike_numbers() -> None:
    star = as_graph(
        np.block([[np.zeros((1, 1)), np.ones((1, 5))], [np.ones((5, 1)), np.zeros((5, 5))]]), np.ones((6, 2))
    )
    found = attention_of(star, weights())
    assert {row.tobytes() for row in found.shares[1:]} == {found.shares[1].tobytes()}
    assert {row.tobytes() for row in found.weights[1:]} == {found.weights[1].tobytes()}
    assert not np.allclose(found.shares[0], found.shares[1])


def test_a_graph_without_nodes_has_its_bias_and_one_of_one_node_all_attention(model: PiNet) -> None:
    empty = Graph(scipy.sparse.csr_array((0, 0)), np.zeros((0, 2)))
    found = attention_of(empty, weights())
    assert found.logits.tolist() == found.bias.tolist() == weights().b_D.tolist()  # type: ignore[union-attr]
    with pytest.warns(Notice, match="1 of 1 graph has no node"):
        model.attention(Graph(scipy.sparse.csr_array((0, 0)), np.zeros((0, 7))))
    assert attention_of(as_graph([[0]], np.ones((1, 2))), weights()).weights.tolist() == [[1.0] * 3]


def test_of_a_model_in_float32_within_rounding(model: PiNet) -> None:
    for g in range(0, len(MUTAG), 10):
        found = model.attention(MUTAG[g])
        assert relative_error(found.logits, model.logits([MUTAG[g]])[0]) < ORACLE_FLOAT32
        assert found.classes == (-1, 1)
        assert model.classes[found.logits.argmax()] == model.predict([MUTAG[g]])[0]


def test_with_fixed_p_and_q(model: PiNet) -> None:
    params = weights()._replace(p_raw=None, q_raw=None)
    pq = np.array([(0.3, 0.7), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)])
    graph = as_graph(np.eye(5, k=1) + np.eye(5, k=-1), np.arange(10).reshape(5, 2))
    found = attention_of(graph, params, pq)
    assert relative_error(found.logits, reference.logits(graph.A.toarray(), graph.X, params, pq)) < ORACLE_FLOAT64


def test_networkx_graphs_are_read_as_in_training_and_unseen_labels_count_as_none() -> None:
    model = train_pinet(
        dataset_from_networkx(MOLECULES, LABELS, node_label="atom"), Settings(epochs=1, hidden=16, out=8)
    ).model
    found = model.attention(MOLECULES[1])
    assert found.weights.shape == (len(MOLECULES[1]), 8)
    assert same_bits(found.logits, model.attention(model.read([MOLECULES[1]])).logits)
    strange = MOLECULES[1].copy()
    nx.set_node_attributes(strange, {0: "Xe"}, "atom")
    with pytest.warns(Notice, match="'Xe'"):
        assert not same_bits(model.attention(strange).logits, found.logits)
    renamed = nx.relabel_nodes(MOLECULES[1], str)
    assert same_bits(model.attention(renamed, node_label="atom").logits, found.logits)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ([MUTAG[0]], "graph: expected one graph, got list"),
        (MUTAG[:1], "graph: expected one graph, got Dataset"),
        (MUTAG.graphs, "graph: expected one graph, got 188"),
        (as_graph([[0]]), "graph: expected 7 features a node, as in training, got 1 feature|graph: .*, got 1"),
        ("MUTAG", "graph: expected one graph, got str"),
        (3, "expected .*graph.*, got int"),
    ],
)
def test_what_is_not_one_graph_of_the_model_is_refused(model: PiNet, graph: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        model.attention(graph)


def test_unknown_options_are_refused(model: PiNet) -> None:
    with pytest.raises(UsageError, match=r"bitwise: PiNet\.predict, probabilities, logits and attention"):
        model.attention(MUTAG[0], bitwise=True)


def test_shares_that_are_no_numbers_are_refused_without_a_warning() -> None:
    params = weights()
    huge = params._replace(W_D=params.W_D * 1e307)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="graph 0: its scores are not finite"):
            attention_of(as_graph(np.ones((4, 4)), 1e3 * np.ones((4, 2))), huge)


def test_the_classifier_gives_the_same() -> None:
    clf = classifier().fit(PAIRS, LABELS)
    found = clf.attention(PAIRS[2])
    assert same_bits(found.logits, clf.model_.attention(as_graph(*PAIRS[2])).logits)
    assert found.classes == tuple(clf.classes_)
