"""The WL subtree kernel and its support vector machine: known values, GraKeL's values, and what may never happen."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx
import numpy as np
import pytest
from sklearn.svm import SVC

from minipinet._array import Array
from minipinet.baselines.subtree_kernel import check_block, colour_counts, kernels_by_round, start_labels
from minipinet.baselines.weisfeiler_lehman import WeisfeilerLehman
from minipinet.datasets import Dataset, dataset_from_networkx, isomorphism_dataset, load_dataset
from minipinet.errors import UsageError
from minipinet.graphs import permute_nodes
from minipinet.splits import stratified_folds
from minipinet.union import disjoint_union
from tests import tolerances


def labelled(*graphs: tuple[networkx.Graph, list[Any]], y: list[int] | None = None) -> Dataset:
    """Return graphs whose nodes have the labels given."""
    for graph, labels in graphs:
        networkx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), "label")
    return dataset_from_networkx(
        [graph for graph, _ in graphs], y or list(range(len(graphs))), node_label="label", name="labelled"
    )


def kernel(ds: Dataset, rounds: int, *, normalise: bool = False) -> Array:
    counts = colour_counts(ds, rounds)
    return list(kernels_by_round(counts, counts, normalise=normalise))[-1]


@pytest.fixture(scope="module")
def mutag() -> Dataset:
    return load_dataset("MUTAG")


def test_the_kernel_is_that_of_grakel(mutag: Dataset) -> None:
    grakel = pytest.importorskip("grakel", reason="GraKeL, the reference, is in minipinet[kernels]")
    ds = mutag[:80]
    assert ds.node_labels is not None
    graphs = []
    for g, graph in enumerate(ds):
        labels = ds.node_labels[ds.graphs.ptr[g] : ds.graphs.ptr[g + 1], 0]
        neighbours = np.split(graph.A.indices, graph.A.indptr[1:-1])
        graphs.append([{i: list(j) for i, j in enumerate(neighbours)}, dict(enumerate(labels.tolist()))])
    for rounds in range(1, 5):
        for normalise in (False, True):
            reference = grakel.WeisfeilerLehman(n_iter=rounds, normalize=normalise)
            expected = reference.fit_transform(graphs)
            error = tolerances.relative_error(kernel(ds, rounds, normalise=normalise), expected)
            assert error <= (tolerances.CLOSED_FORM if normalise else 0)
            fitted = grakel.WeisfeilerLehman(n_iter=rounds, normalize=normalise).fit(graphs[:60])
            assert tolerances.relative_error(fitted.transform(graphs[60:]), expected[60:, :60]) == 0


def test_case_090_no_round_is_the_product_of_the_label_histograms(mutag: Dataset) -> None:
    assert mutag.node_labels is not None
    ptr = mutag.graphs.ptr
    histograms = np.array([np.bincount(mutag.node_labels[a:b, 0], minlength=7) for a, b in pairwise(ptr)])
    assert np.array_equal(kernel(mutag, 0), histograms @ histograms.T)


def test_case_090_one_round_tells_a_path_from_a_triangle_and_none_does_not() -> None:
    path, triangle = networkx.path_graph(3), networkx.complete_graph(3)
    ds = labelled((path, [5, 5, 5]), (triangle, [5, 5, 5]))
    assert kernel(ds, 0).tolist() == [[9, 9], [9, 9]]
    # The path has two ends and a middle, and the middle looks like a node of the triangle.
    assert kernel(ds, 1).tolist() == [[9 + 4 + 1, 9 + 3], [9 + 3, 9 + 9]]
    # After another round it does not.
    assert kernel(ds, 2).tolist() == [[9 + 5 + 5, 9 + 3], [9 + 3, 9 + 9 + 9]]


def test_case_090_labels_that_are_equal_as_numbers_are_one_label() -> None:
    edge = networkx.path_graph(2)
    ones: list[list[Any]] = [[1, 1], [1.0, True], [np.int64(1), np.float32(1)]]
    zeros: list[list[Any]] = [[0.0, -0.0], [-0.0, False]]
    ds = labelled(*((edge.copy(), labels) for labels in ones + zeros))
    same = np.array([[g < 3 for g in range(5)]]) == np.array([[g < 3] for g in range(5)])
    assert np.array_equal(kernel(ds, 2), 12 * same)


def test_strings_and_several_columns_of_labels_are_labels_too() -> None:
    pair = labelled((networkx.path_graph(2), ["C", "O"]), (networkx.path_graph(2), ["C", "C"]))
    assert kernel(pair, 0).tolist() == [[2, 2], [2, 4]]
    both = replace(pair, node_labels=np.array([["C", 1], ["O", 1], ["C", 1], ["C", 2]], dtype=object))
    assert kernel(both, 0).tolist() == [[2, 1], [1, 2]]


def test_without_labels_nodes_start_with_their_number_of_neighbours() -> None:
    ds = isomorphism_dataset(0, graphs_per_class=1, features="constant")
    assert ds.node_labels is None
    assert np.array_equal(start_labels(ds)[:, 0], np.asarray(ds.graphs.A.sum(axis=1)))


def test_weights_of_edges_are_not_looked_at(mutag: Dataset) -> None:
    A = mutag.graphs.A.copy()
    A.data = np.random.default_rng(0).uniform(1, 2, A.nnz)
    weighted = replace(mutag, graphs=mutag.graphs._replace(A=A))
    assert np.array_equal(kernel(weighted, 3), kernel(mutag, 3))


def test_case_087_and_082_a_block_is_the_kernel_of_all_cut_and_test_graphs_leave_no_trace() -> None:
    molecules = load_dataset("MUTAG")[:30]
    graphs = [(networkx.from_scipy_sparse_array(g.A), g.X.argmax(axis=1).tolist()) for g in molecules]
    odd = (networkx.path_graph(4), [99, 1, 99, 1])  # a label, and colours, that no training graph has
    ds = labelled(*graphs, odd)
    train, test = np.arange(20), np.arange(20, 31)
    counts = colour_counts(ds, 3)
    for normalise in (False, True):
        K = list(kernels_by_round(counts, counts, normalise=normalise))[-1]
        part = [c[train] for c in counts]
        block = list(kernels_by_round([c[test] for c in counts], part, normalise=normalise))[-1]
        assert np.array_equal(block, K[np.ix_(test, train)])
        assert np.array_equal(kernel(ds[train], 3, normalise=normalise), K[np.ix_(train, train)])
        assert np.array_equal(K, K.T)


def test_case_088_a_graph_without_nodes_has_a_row_of_zeros_and_no_warning() -> None:
    ds = labelled((networkx.path_graph(3), [1, 2, 1]), (networkx.empty_graph(0), []), (networkx.empty_graph(2), [1, 1]))
    K = kernel(ds, 2, normalise=True)
    assert not K[1].any()
    assert not K[:, 1].any()
    assert np.diag(K).tolist() == [1, 0, 1]
    assert 0 < K[0, 2] < 1


def test_graphs_without_nodes_or_edges_are_trained_on_and_labelled() -> None:
    empty, dots, edge = networkx.empty_graph(0), networkx.empty_graph(3), networkx.path_graph(2)
    ds = labelled(*[(empty.copy(), []), (dots.copy(), [1] * 3), (edge.copy(), [1, 1])] * 4, y=[0, 1, 2] * 4)
    fitted = WeisfeilerLehman().fit(ds, np.arange(9), seed=0)
    assert fitted.predict(np.arange(9, 12)).tolist() == [0, 1, 2]


def test_case_092_a_block_of_another_shape_is_refused_with_both_numbers() -> None:
    with pytest.raises(UsageError, match=r"K: expected the shape \(n_test, n_train\) = \(n_test, 168\).*\(20, 20\)"):
        check_block(np.ones((20, 20)), 168)
    with pytest.raises(UsageError, match="K"):
        check_block(np.ones(168), 168)


def test_case_092_cross_validation_cuts_rows_and_columns(mutag: Dataset) -> None:
    """The accuracy of the choice is that of machines trained here by hand on the inner folds."""
    train = np.arange(0, 188, 3)
    y = mutag.y[train]
    fitted = WeisfeilerLehman(rounds=(2,), C=(10.0,), inner_folds=4).fit(mutag, train, seed=5)
    K = kernel(mutag[train], 2, normalise=True)
    expected = []
    for a, b in stratified_folds(y, 4, 5):
        machine = SVC(kernel="precomputed", C=10.0).fit(K[a][:, a], y[a])
        expected.append(machine.score(K[b][:, a], y[b]))
    assert fitted.details["inner_accuracy"] == np.mean(expected)


def test_the_choice_is_the_best_of_all_settings_and_the_simplest_of_equals(mutag: Dataset) -> None:
    train = np.arange(0, 188, 2)
    system = WeisfeilerLehman(rounds=(0, 2, 4), C=(0.1, 10.0, 100.0))
    one_by_one = {
        (h, C): WeisfeilerLehman((h,), (C,)).fit(mutag, train, seed=1).details["inner_accuracy"]
        for h in system.rounds
        for C in system.C
    }
    chosen = system.fit(mutag, train, seed=1)
    best = max(one_by_one.values())
    assert chosen.details["inner_accuracy"] == best
    assert (chosen.details["rounds"], chosen.details["C"]) == min(k for k, v in one_by_one.items() if v == best)
    alone = WeisfeilerLehman((chosen.choice.rounds,), (chosen.choice.C,)).fit(mutag, train, seed=1)
    assert np.array_equal(chosen.predict(np.arange(188)), alone.predict(np.arange(188)))


def test_of_equally_good_settings_the_fewest_rounds_and_the_least_C_are_taken() -> None:
    ds = isomorphism_dataset(1, graphs_per_class=6, features="constant")
    fitted = WeisfeilerLehman(rounds=(2, 3), C=(1.0, 10.0)).fit(ds, np.arange(30), seed=0)
    assert fitted.choice == (1.0, 2, 1.0)


def test_with_validation_graphs_the_choice_is_made_on_them(mutag: Dataset) -> None:
    train, validation = np.arange(0, 120), np.arange(120, 150)
    fitted = WeisfeilerLehman().fit(mutag, train, seed=0, validation=validation)
    right = fitted.predict(validation) == mutag.y[validation]
    assert fitted.details["validation_accuracy"] == right.mean()
    assert fitted.details["inner_folds"] == 0
    assert len(fitted.machine.predict(np.ones((1, 120)))) == 1, "trained on `train` alone"


def test_classes_and_labels_of_other_graphs_are_never_seen(mutag: Dataset) -> None:
    train, test = np.arange(0, 188, 2), np.arange(1, 188, 2)
    fitted = WeisfeilerLehman().fit(mutag, train, seed=0)
    y = mutag.y.copy()
    y[test] = 1 - y[test]
    blind = WeisfeilerLehman().fit(replace(mutag, y=y), train, seed=0)
    alone = WeisfeilerLehman().fit(mutag[train], np.arange(len(train)), seed=0)
    expected = fitted.predict(test)
    assert np.array_equal(blind.predict(test), expected)
    for key in ("rounds", "C", "inner_accuracy"):
        assert fitted.details[key] == blind.details[key] == alone.details[key]
    assert np.array_equal(fitted.machine.dual_coef_, alone.machine.dual_coef_)
    # Nor does a graph's label depend on the company it is labelled in.
    assert np.array_equal(np.concatenate([fitted.predict(test[g : g + 1]) for g in range(9)]), expected[:9])


def test_one_seed_gives_one_result_and_nothing_global_is_touched(mutag: Dataset) -> None:
    train = np.arange(0, 188, 2)
    before = repr(np.random.get_state())  # noqa: NPY002 - it is what must not change
    first, second = (WeisfeilerLehman().fit(mutag, train, seed=3) for _ in range(2))
    assert repr(np.random.get_state()) == before  # noqa: NPY002
    assert np.array_equal(first.machine.dual_coef_, second.machine.dual_coef_)
    assert {**first.details, "seconds": 0} == {**second.details, "seconds": 0}


@pytest.mark.invariance
def test_case_055_the_order_of_the_nodes_changes_no_bit_of_the_kernel() -> None:
    ds = load_dataset("MUTAG")[:40]
    rng = np.random.default_rng(0)
    renumbered = [permute_nodes(graph, rng.permutation(graph.N)) for graph in ds]
    other = replace(ds, graphs=disjoint_union(renumbered), node_labels=None)
    other = replace(other, node_labels=other.graphs.X.argmax(axis=1)[:, None])
    ds = replace(ds, node_labels=ds.graphs.X.argmax(axis=1)[:, None])
    assert np.array_equal(kernel(other, 4, normalise=True), kernel(ds, 4, normalise=True))


@pytest.mark.parametrize("features", ["random", "balanced", "constant"])
@pytest.mark.parametrize("each", [1, 2, 5])
def test_case_086_the_isomorphism_test_is_solved_with_one_example_a_class(features: str, each: int) -> None:
    ds = isomorphism_dataset(1, graphs_per_class=12, features=features)
    train = np.concatenate([np.flatnonzero(ds.y == c)[:each] for c in range(5)])
    test = np.setdiff1d(np.arange(len(ds)), train)
    fitted = WeisfeilerLehman().fit(ds, train, seed=0)
    assert np.array_equal(fitted.predict(test), ds.y[test])
    assert ("inner_accuracy" in fitted.details) == (each > 1)


@pytest.mark.slow
def test_case_086_mutag_reaches_82_percent(mutag: Dataset) -> None:
    right = np.zeros(len(mutag), dtype=bool)
    for train, test in stratified_folds(mutag.y, 10, 0):
        fitted = WeisfeilerLehman().fit(mutag, train, seed=0)
        right[test] = fitted.predict(test) == mutag.y[test]
    assert right.mean() >= 0.82


def test_settings_and_details_are_json_and_the_grid_starts_with_the_system(mutag: Dataset) -> None:
    system = WeisfeilerLehman()
    assert system.grid() == [system]
    assert json.loads(json.dumps(system.settings, allow_nan=False)) == system.settings
    assert set(system.settings) == {"rounds", "C", "inner_folds", "normalise"}
    details = system.fit(mutag, np.arange(0, 188, 4), seed=0).details
    assert json.loads(json.dumps(details, allow_nan=False)) == details
    assert WeisfeilerLehman(**system.settings) == system
    assert WeisfeilerLehman(rounds=(3, 1)).rounds == (1, 3)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"rounds": (-1,)}, "rounds"),
        ({"rounds": (1.5,)}, "rounds"),
        ({"rounds": ()}, "rounds"),
        ({"C": (0.0,)}, "C"),
        ({"C": (float("nan"),)}, "C"),
        ({"inner_folds": 1}, "inner_folds"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}"):
        WeisfeilerLehman(**wrong)


def test_wrong_graph_numbers_are_named(mutag: Dataset) -> None:
    with pytest.raises(UsageError, match="train: expected numbers from 0 to 187"):
        WeisfeilerLehman().fit(mutag, np.array([0, 188]), seed=0)
    with pytest.raises(UsageError, match="train: expected graphs of at least 2 classes"):
        WeisfeilerLehman().fit(mutag, np.flatnonzero(mutag.y == 0), seed=0)
    with pytest.raises(UsageError, match="index"):
        WeisfeilerLehman().fit(mutag, np.arange(50), seed=0).predict(np.array([-1]))
