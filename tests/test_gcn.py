"""GCN + Sum and GCN + Dense as systems: what they are fitted on, and what the order of the nodes does to them."""

from __future__ import annotations

import json
import warnings
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.baselines.gcn import FittedGCNDense, GCNDense, GCNSum, gcn_network
from minipinet.baselines.node_order import shuffle_nodes
from minipinet.baselines.system import system_named
from minipinet.datasets import Dataset, dataset_from_graphs, load_dataset, refit_encoder
from minipinet.errors import Notice, UsageError
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.settings import Settings
from minipinet.train import fit_network
from tests import strategies
from tests.small_data import same_bits, two_kinds, without_seconds

DATA = two_kinds(40)
TRAIN, TEST = np.arange(28), np.arange(28, 40)
SYSTEMS: list[Any] = [
    GCNSum(epochs=60, hidden=12, out=8, lr=0.02, batch_size=8),
    GCNDense(epochs=60, hidden=12, out=8, lr=0.02, batch_size=8),
]
both = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)


def predict(system: Any, data: Dataset, seed: int = 0, train: Array = TRAIN, index: Array = TEST) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        return np.asarray(system.fit(data, train, seed=seed).predict(index))


def two_mixtures(G: int) -> Dataset:
    """Return paths of two kinds of nodes; nine in ten are of the kind that gives the class."""
    rng = np.random.default_rng(0)
    graphs = []
    for g in range(G):
        N = int(rng.integers(5, 10))
        graphs.append(as_graph(strategies.path(N), np.eye(2)[(rng.random(N) < (0.1, 0.9)[g % 2]).astype(int)]))
    return dataset_from_graphs(graphs, np.arange(G) % 2)


@both
def test_it_learns(system: Any) -> None:
    data = two_mixtures(40)
    assert np.mean(predict(system, data) == data.y[TEST]) > 0.9


@both
def test_names_and_settings(system: Any) -> None:
    short = {"GCN + Sum": "gcn-sum", "GCN + Dense": "gcn-dense"}[system.name]
    plain: Any = system_named(short)
    assert plain == type(system)()
    assert (plain.hidden, plain.out, plain.epochs) == (100, 64, 200)
    assert system_named(short, **json.loads(json.dumps(system.settings))) == system
    with pytest.raises(FrozenInstanceError):
        plain.epochs = 3
    with pytest.raises(UsageError, match="hidden: expected a whole number"):
        replace(system, hidden=0)
    with pytest.raises(UsageError, match="steps_per_epoch: expected a whole number"):
        system_named(short, steps_per_epoch=0)
    assert type(replace(system, lr=np.float64(0.5)).lr) is float


def test_shuffle_nodes_is_true_or_false() -> None:
    with pytest.raises(UsageError, match="shuffle_nodes: expected True or False, got 1"):
        GCNDense(shuffle_nodes=1)  # type: ignore[arg-type]


@both
def test_the_grid_begins_with_the_system_and_has_nothing_twice(system: Any) -> None:
    for one in (system, type(system)()):
        grid = one.grid()
        assert grid[0] == one
        assert len(grid) == len({json.dumps(other.settings) for other in grid}) == (5 if one is system else 4)
        assert {type(other) for other in grid} == {type(system)}


@both
def test_one_seed_gives_one_result_and_another_another(system: Any) -> None:
    few = replace(system, epochs=4)
    first, again, other = (few.fit(DATA, TRAIN, seed=seed).details["history"] for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert len(first["loss"]) == 4
    assert not {"p", "q"} & first.keys()


@both
def test_steps_per_epoch_reaches_the_training(system: Any) -> None:
    whole, short = (replace(system, epochs=1, steps_per_epoch=n).fit(DATA, TRAIN, seed=0) for n in (None, 1))
    assert whole.details["history"] != short.details["history"]


@both
def test_with_validation_the_best_epoch_is_kept(system: Any) -> None:
    y = DATA.y.copy()
    y[28:34:2] = 1 - y[28:34:2]  # wrong labels, so that the loss on these graphs rises before long
    data = replace(DATA, y=y)
    held = np.arange(28, 34)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        fitted = replace(system, lr=0.1).fit(data, TRAIN, seed=0, validation=held)
        losses, accuracies = (fitted.details["history"][f"validation_{name}"] for name in ("loss", "accuracy"))
        assert len(losses) == 60
        assert fitted.details["epoch"] == int(np.argmin(losses)) + 1 < 60
        assert fitted.details["validation_accuracy"] == pytest.approx(accuracies[np.argmin(losses)], rel=1e-5)
        assert np.mean(fitted.predict(held) == y[held]) == fitted.details["validation_accuracy"]


@both
def test_case_082_a_label_of_test_graphs_alone_changes_nothing(system: Any) -> None:
    mutag = load_dataset("MUTAG")[:40]
    assert mutag.node_labels is not None
    labels = mutag.node_labels.copy()
    labels[mutag.graphs.ptr[30] :] = -9
    other = refit_encoder(replace(mutag, node_labels=labels), np.arange(40))
    assert -9 in other.encoder.vocabularies[0]
    few, train = replace(system, epochs=3), np.arange(30)
    histories = [few.fit(data, train, seed=0).details["history"] for data in (mutag, other)]
    assert histories[0] == histories[1]
    assert predict(few, other, train=train, index=np.arange(30, 40)).shape == (10,)


@both
def test_wrong_graphs_are_refused(system: Any) -> None:
    few = replace(system, epochs=1)
    with pytest.raises(UsageError, match="train: expected numbers from 0 to 39"):
        few.fit(DATA, np.array([40]), seed=0)
    with pytest.raises(UsageError, match="validation: expected at least one"):
        few.fit(DATA, TRAIN, seed=0, validation=np.array([], int))
    with pytest.raises(UsageError, match="at least 2 classes"):
        few.fit(DATA, TRAIN[::2], seed=0)
    with pytest.raises(UsageError, match="seed: expected"):
        few.fit(DATA, TRAIN, seed=-1)
    for wrong in (np.array([-1]), np.array([40])):
        with pytest.raises(UsageError, match="index: expected numbers from 0 to 39"):
            few.fit(DATA, TRAIN, seed=0).predict(wrong)


@both
def test_ordinary_members_without_nodes_or_edges(system: Any) -> None:
    graphs = [as_graph(np.zeros((N, N)), np.ones((N, 1))) for N in (0, 1, 3, 0, 1, 4)]
    data = dataset_from_graphs(graphs, [0, 1, 1, 0, 1, 1])
    assert predict(system, data, train=np.arange(3), index=np.arange(6)).tolist() == [0, 1, 1, 0, 1, 1]


# The order of the nodes.


def marked_rings(G: int, seed: int) -> Dataset:
    """Return rings of six nodes, all isomorphic: marked is the first node in class 0, and the fourth in class 1."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(G) % 2)
    graphs = [as_graph(strategies.cycle(6), np.eye(2)[(np.arange(6) == 3 * k).astype(int)]) for k in y]
    return dataset_from_graphs(graphs, y)


def test_case_058_dense_reads_the_order_of_the_nodes_and_the_shuffle_takes_it_away() -> None:
    data = marked_rings(120, 0)
    train, test = np.arange(80), np.arange(80, 120)
    accuracy = {
        shuffled: np.mean(predict(replace(SYSTEMS[1], shuffle_nodes=shuffled), data, 0, train, test) == data.y[test])
        for shuffled in (False, True)
    }
    assert accuracy[False] == 1.0
    assert accuracy[True] < 0.75  # chance, and three standard deviations
    # Sum gives every ring the same scores.
    assert len(set(predict(SYSTEMS[0], data, 0, train, test))) == 1


def renumbered(data: Dataset, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    graphs = [permute_nodes(graph, rng.permutation(graph.N)) for graph in data]
    return dataset_from_graphs(graphs, data.labels)


def test_case_055_renumbered_test_graphs_are_labelled_alike_by_sum_and_not_by_dense() -> None:
    shuffled = renumbered(DATA, 1)
    graphs: list[Graph] = [*DATA[:28], *shuffled[28:]]
    mixed = dataset_from_graphs(graphs, DATA.labels)
    changed = {}
    for system in SYSTEMS:
        settings = Settings(hidden=12, out=8, epochs=60, lr=0.02, batch_size=8, dtype="float64")
        places = None if isinstance(system, GCNSum) else 9
        networks = [gcn_network(data.graphs, settings, 2, places) for data in (DATA, mixed)]
        state = fit_network(networks[0], DATA.y, TRAIN, settings)
        scores = [network.scores(state.params, next(iter(network.batches(TEST, 12, None)))) for network in networks]
        changed[system.name] = float(np.max(np.abs(scores[0] - scores[1])) / np.max(np.abs(scores[0])))
    assert changed["GCN + Sum"] < 1e-10
    assert changed["GCN + Dense"] > 0.05


def test_sum_trained_on_renumbered_graphs_is_the_same_network() -> None:
    settings = Settings(hidden=12, out=8, epochs=5, dtype="float64")
    histories = []
    for data in (DATA, renumbered(DATA, 2)):
        state = fit_network(gcn_network(data.graphs, settings, 2), DATA.y, TRAIN, settings)
        histories.append([record.loss for record in without_seconds(state.history)])
    assert histories[0] == pytest.approx(histories[1], rel=1e-9)


def test_shuffle_nodes_renumbers_each_graph_and_changes_nothing_else() -> None:
    mutag = load_dataset("MUTAG")
    before = mutag.graphs.A.toarray(), mutag.graphs.X.copy()
    shuffled = shuffle_nodes(mutag, np.random.default_rng(0))
    assert np.array_equal(mutag.graphs.A.toarray(), before[0])
    assert np.array_equal(mutag.graphs.X, before[1])
    assert np.array_equal(shuffled.graphs.ptr, mutag.graphs.ptr)
    assert np.array_equal(shuffled.y, mutag.y)
    assert shuffled.node_labels is not None
    assert mutag.node_labels is not None
    numbers = np.arange(len(mutag.graphs.X))[:, None]
    tracked = shuffle_nodes(replace(mutag, node_labels=numbers, attributes=numbers / 1.0), np.random.default_rng(0))
    assert tracked.node_labels is not None
    assert tracked.attributes is not None
    old = tracked.node_labels[:, 0]
    assert np.array_equal(tracked.attributes[:, 0], old)
    assert np.array_equal(
        np.searchsorted(mutag.graphs.ptr, old, "right"), np.searchsorted(mutag.graphs.ptr, numbers[:, 0], "right")
    )
    assert np.array_equal(shuffled.graphs.A.toarray(), before[0][np.ix_(old, old)])
    assert shuffled.graphs.A.has_canonical_format
    assert np.array_equal(shuffled.graphs.X, before[1][old])
    assert np.array_equal(shuffled.node_labels, mutag.node_labels[old])
    moved = sum(not np.array_equal(a.A.toarray(), b.A.toarray()) for a, b in zip(mutag, shuffled, strict=True))
    assert moved > 180
    again = shuffle_nodes(mutag, np.random.default_rng(0))
    assert same_bits(again.graphs.A.indices, shuffled.graphs.A.indices)


def test_the_seed_decides_the_shuffle() -> None:
    graphs = [as_graph(strategies.path(9), np.arange(9.0) == 0) for _ in range(6)]
    data, few = dataset_from_graphs(graphs, [0, 1] * 3), replace(SYSTEMS[1], epochs=1, shuffle_nodes=True)
    networks = [few.fit(data, np.arange(6), seed=seed).gcn.network for seed in (0, 0, 1)]
    X = [next(iter(network.batches(np.arange(6), 6, None))).X for network in networks]
    assert same_bits(X[0], X[1])
    assert not same_bits(X[0], X[2])


def test_the_shuffle_leaves_weights_and_order_of_the_graphs_as_they_were() -> None:
    empty = dataset_from_graphs([as_graph(np.zeros((3, 3)), np.ones((3, 1))) for _ in range(6)], [0, 1] * 3)
    few = replace(SYSTEMS[1], epochs=2)
    # All nodes are alike, so no shuffle shows.
    plain, shuffled = (
        replace(few, shuffle_nodes=shuffle).fit(empty, np.arange(6), seed=5) for shuffle in (False, True)
    )
    assert same_bits(plain.gcn.params, shuffled.gcn.params)


def test_larger_graphs_than_any_in_training_are_cut_with_one_notice() -> None:
    graphs = [as_graph(strategies.path(N), np.arange(1.0, N + 1)) for N in (3, 2, 3, 2, 5, 4, 2)]
    data = dataset_from_graphs(graphs, [0, 1, 0, 1, 0, 0, 1])
    train = np.arange(4)
    fitted = replace(SYSTEMS[1], epochs=2).fit(data, train, seed=0)
    assert isinstance(fitted, FittedGCNDense)
    assert fitted.details["places"] == fitted.places == 3
    assert fitted.gcn.params.W_D.shape == (3 * 8, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(np.array([0, 1, 6]))
    with pytest.warns(Notice) as told:
        fitted.predict(np.array([4, 0, 5]))
    assert [str(notice.message) for notice in told] == [
        "GCN + Dense: 2 graphs of more than 3 nodes cut to 3, the size of the largest training graph"
    ]
    with pytest.warns(Notice, match="1 graph of more than 3 nodes"):
        replace(SYSTEMS[1], epochs=2).fit(data, train, seed=0, validation=np.array([4, 6]))
