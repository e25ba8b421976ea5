"""PATCHY-SAN as a system: what it chooses and on which graphs, what it never sees, and that node order is nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest

from minipinet._array import Array
from minipinet._tree import named_leaves
from minipinet.baselines.patchy_san import SOLVED, PatchySan, encode_for
from minipinet.baselines.patchy_san_network import FieldTable, PatchySanParams, field_network
from minipinet.baselines.receptive_fields import receptive_fields
from minipinet.baselines.system import system_named
from minipinet.datasets import Dataset, dataset_from_networkx, isomorphism_dataset, load_dataset
from minipinet.errors import UsageError
from minipinet.graphs import permute_nodes
from minipinet.settings import Settings
from minipinet.splits import stratified_folds
from minipinet.train import fit_network
from minipinet.union import disjoint_union, take_graphs

pytest.importorskip("pynauty", reason="pynauty is in minipinet[kernels]")

TRAIN, TEST = np.arange(0, 188, 2), np.arange(1, 188, 2)
SMALL = PatchySan(labellings=("nauty",), widths=(1.0,), sizes=(5,), epochs=6, patience=6)


@pytest.fixture(scope="module")
def mutag() -> Dataset:
    return load_dataset("MUTAG")


def equal(first: PatchySanParams, second: PatchySanParams) -> bool:
    pairs = zip(named_leaves(first), named_leaves(second), strict=True)
    return all(np.array_equal(a, b) for (_, a), (_, b) in pairs)


def without_times(details: dict[str, Any]) -> dict[str, Any]:
    return {**details, "seconds": None}


def test_what_is_chosen_has_the_lowest_loss_on_the_graphs_held_out(mutag: Dataset) -> None:
    system, train = PatchySan(epochs=3, patience=3), TRAIN[::3]
    chosen = system.fit(mutag, train, seed=2).details
    mean = np.diff(mutag.graphs.ptr)[train].mean()
    losses = {}
    for labelling in system.labellings:
        for multiple in system.widths:
            for size in system.sizes:
                one = replace(system, labellings=(labelling,), widths=(multiple,), sizes=(size,))
                details = one.fit(mutag, train, seed=2).details
                assert (details["labelling"], details["size"]) == (labelling, size)
                assert details["width"] == np.ceil(multiple * mean)
                losses[labelling, details["width"], size] = details["held_out_loss"]
    assert len(losses) == 8
    assert chosen["held_out_loss"] == min(losses.values())
    assert losses[chosen["labelling"], chosen["width"], chosen["size"]] == chosen["held_out_loss"]


def test_after_the_choice_the_network_is_trained_on_all_training_graphs(mutag: Dataset) -> None:
    fitted = replace(SMALL, epochs=12, patience=2, lr=0.02).fit(mutag, TRAIN, seed=0)
    epoch = fitted.details["epoch"]
    assert epoch < 12
    assert len(fitted.details["history"]["loss"]) == epoch
    graphs = take_graphs(encode_for(mutag, TRAIN).graphs, TRAIN)
    nodes = receptive_fields(graphs, "nauty", fitted.details["width"], 5)
    network = field_network(FieldTable(np.vstack([graphs.X, np.zeros((1, graphs.X.shape[1]))]), nodes), 2)
    settings = Settings(epochs=epoch, lr=0.02, init="glorot", seed=0)
    assert equal(fitted.params, fit_network(network, mutag.y[TRAIN], np.arange(94), settings).params)


def test_with_validation_graphs_the_best_weights_on_them_are_kept(mutag: Dataset) -> None:
    train, validation = np.arange(0, 120), np.arange(120, 188)
    fitted = replace(SMALL, epochs=15, patience=15, lr=0.01).fit(mutag, train, seed=0, validation=validation)
    losses = fitted.details["history"]["validation_loss"]
    assert fitted.details["epoch"] == 1 + np.argmin(losses) < 15
    right = fitted.predict(validation) == mutag.y[validation]
    assert fitted.details["validation_accuracy"] == right.mean()
    assert "held_out_accuracy" not in fitted.details


def test_where_a_class_has_one_graph_nothing_is_held_out() -> None:
    ds = isomorphism_dataset(0, graphs_per_class=4)
    system = replace(SMALL, widths=(0.5, 1.0), sizes=(3, 5))
    details = system.fit(ds, np.arange(0, 20, 4), seed=0).details
    assert (details["width"], details["size"], details["epoch"]) == (25, 3, 6)
    assert "held_out_loss" not in details
    # Of two graphs a class, one a class is held out at least.
    two = system.fit(ds, np.flatnonzero(np.arange(20) % 4 < 2), seed=0).details
    assert two["held_out_loss"] > 0


@pytest.mark.parametrize("features", ["random", "balanced", "constant"])
def test_the_isomorphism_test_is_solved_with_two_examples_a_class(features: str) -> None:
    """With canonical ties the network sees five distinct tables; and where one shape solves it, no other is tried."""
    ds = isomorphism_dataset(3, graphs_per_class=10, features=features)
    train = np.flatnonzero(np.arange(50) % 10 < 2)
    fitted = PatchySan(epochs=60, patience=60, batch_size=5, lr=0.005).fit(ds, train, seed=0)
    assert fitted.details["held_out_loss"] < SOLVED
    assert (fitted.details["labelling"], fitted.details["width"], fitted.details["size"]) == ("betweenness", 50, 10)
    assert np.array_equal(fitted.predict(np.arange(50)), ds.y)


def test_classes_and_labels_of_other_graphs_are_never_seen(mutag: Dataset) -> None:
    fitted = SMALL.fit(mutag, TRAIN, seed=0)
    y = mutag.y.copy()
    y[TEST] = 1 - y[TEST]
    assert mutag.node_labels is not None
    labels = mutag.node_labels.copy()
    test_nodes = np.repeat(np.arange(188) % 2, np.diff(mutag.graphs.ptr)) == 1
    labels[test_nodes] = 99
    odd = SMALL.fit(replace(mutag, y=y, node_labels=labels), TRAIN, seed=0)
    alone = SMALL.fit(mutag[TRAIN], np.arange(94), seed=0)
    assert equal(odd.params, fitted.params)
    assert equal(alone.params, fitted.params)
    assert set(odd.predict(TEST)) <= {0, 1}
    # Nor does a graph's label depend on the company it is labelled in.
    expected = fitted.predict(TEST)
    assert np.array_equal(np.concatenate([fitted.predict(TEST[g : g + 1]) for g in range(9)]), expected[:9])


def test_one_seed_gives_one_result_and_nothing_global_is_touched(mutag: Dataset) -> None:
    before = repr(np.random.get_state())  # noqa: NPY002 - it is what must not change
    first, second = (SMALL.fit(mutag, TRAIN, seed=3) for _ in range(2))
    assert repr(np.random.get_state()) == before  # noqa: NPY002
    assert equal(first.params, second.params)
    assert without_times(first.details) == without_times(second.details)
    assert not equal(SMALL.fit(mutag, TRAIN, seed=4).params, first.params)


@pytest.mark.invariance
@pytest.mark.parametrize("labelling", ["betweenness", "nauty"])
def test_case_055_the_order_of_the_nodes_changes_no_bit(mutag: Dataset, labelling: str) -> None:
    """Training and predictions alike: with canonical ties the network reads the same tables."""
    rng = np.random.default_rng(0)
    renumbered = disjoint_union([permute_nodes(graph, rng.permutation(graph.N)) for graph in mutag])
    other = replace(mutag, graphs=renumbered, node_labels=renumbered.X.argmax(axis=1)[:, None])
    ds = replace(mutag, node_labels=mutag.graphs.X.argmax(axis=1)[:, None])
    system = replace(SMALL, labellings=(labelling,))
    first, second = system.fit(ds, TRAIN, seed=0), system.fit(other, TRAIN, seed=0)
    assert equal(first.params, second.params)
    assert np.array_equal(first.predict(TEST), second.predict(TEST))


def test_dropout_is_drawn_in_training_and_not_to_score() -> None:
    table = FieldTable(np.ones((1, 2)), np.zeros((50, 3, 4), int))
    network = field_network(table, 2)
    index = np.arange(50)
    masks = [batch.kept for batch in network.batches(index, 20, np.random.default_rng(0))]
    assert [mask.shape for mask in masks] == [(20, 128), (20, 128), (10, 128)]
    assert abs(np.concatenate(masks).mean() - 0.5) < 0.03
    assert [batch.kept for batch in network.batches(index, 20, None)] == [None] * 3


def test_constant_features_are_replaced_by_the_degrees_of_the_training_graphs() -> None:
    ds = isomorphism_dataset(0, graphs_per_class=2, features="constant")
    encoded = encode_for(ds, np.arange(2))
    assert encoded.encoder.kind == "degree"
    assert encoded.num_features == len(np.unique(ds[0].deg)) > 1


def test_graphs_without_nodes_or_edges_are_trained_on_and_labelled() -> None:
    graphs = [networkx.empty_graph(0), networkx.empty_graph(2), networkx.path_graph(3)] * 8
    ds = dataset_from_networkx(graphs, [0, 1, 2] * 8)
    fitted = replace(SMALL, epochs=60, patience=60, lr=0.01).fit(ds, np.arange(18), seed=0)
    assert fitted.predict(np.arange(18, 24)).tolist() == [0, 1, 2, 0, 1, 2]


@pytest.mark.slow
def test_mutag_reaches_80_percent(mutag: Dataset) -> None:
    right = np.zeros(len(mutag), dtype=bool)
    for train, test in stratified_folds(mutag.y, 10, 0):
        fitted = PatchySan(("nauty",), (1.0,), (10,), epochs=60).fit(mutag, train, seed=0)
        right[test] = fitted.predict(test) == mutag.y[test]
    assert right.mean() >= 0.80


def test_settings_and_details_are_json_and_the_grid_starts_with_the_system(mutag: Dataset) -> None:
    system = PatchySan()
    assert system.grid() == [system]
    assert json.loads(json.dumps(system.settings, allow_nan=False)) == system.settings
    assert system_named("patchy-san", **system.settings) == system
    details = SMALL.fit(mutag, TRAIN, seed=0).details
    assert json.loads(json.dumps(details, allow_nan=False)) == details


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"labellings": ("degree",)}, "labellings: expected 'betweenness' or 'nauty', got 'degree'"),
        ({"labellings": ()}, "labellings"),
        ({"widths": (0.0,)}, "widths"),
        ({"sizes": (0,)}, "sizes"),
        ({"sizes": ()}, "sizes"),
        ({"epochs": 0}, "epochs"),
        ({"patience": 0}, "patience"),
        ({"held_out": 1.0}, "held_out"),
        ({"init": "zeros"}, "init"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}"):
        PatchySan(**wrong)


def test_wrong_graph_numbers_are_named(mutag: Dataset) -> None:
    def index(*numbers: int) -> Array:
        return np.array(numbers)

    with pytest.raises(UsageError, match="train: expected numbers from 0 to 187"):
        SMALL.fit(mutag, index(0, 188), seed=0)
    with pytest.raises(UsageError, match="train: expected graphs of at least 2 classes"):
        SMALL.fit(mutag, np.flatnonzero(mutag.y == 0), seed=0)
    with pytest.raises(UsageError, match="index: expected numbers from 0 to 187"):
        SMALL.fit(mutag, TRAIN, seed=0).predict(index(-1))
