"""The protocols: who is shown what, each graph tested once, and nothing learned from a test graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.baselines.pinet import PiNetSystem
from minipinet.baselines.system import SYSTEMS, System, system_named
from minipinet.baselines.weisfeiler_lehman import WeisfeilerLehman
from minipinet.datasets import Dataset, dataset_from_graphs
from minipinet.errors import UsageError
from minipinet.experiments.protocols import Split, candidates, count_duplicates, find_copies, run_split, splits
from minipinet.experiments.records import PROTOCOLS
from minipinet.graphs import as_graph, permute_nodes
from minipinet.splits import stratified_folds
from tests.small_data import random_labels, two_kinds

DATA = random_labels()


class Shown(NamedTuple):
    """What a fit was given."""

    y: Array
    train: Array
    validation: Array | None
    seed: int
    width: int


class Memory(NamedTuple):
    """Knows every label it was shown."""

    y: Array
    details: dict[str, Any]

    def predict(self, index: Array) -> Array:
        return self.y[index]


@dataclass(frozen=True)
class Recorder:
    """A system that writes down what it is shown, and remembers all labels, of test graphs too."""

    name: ClassVar[str] = "recorder"
    width: int = 1
    shown: list[Shown] = field(default_factory=list, compare=False)

    @property
    def settings(self) -> dict[str, Any]:
        return {"width": self.width}

    def grid(self) -> Sequence[System]:
        return [replace(self, width=width) for width in (1, 2, 3)]

    def fit(self, dataset: Dataset, train: Array, *, seed: int, validation: Array | None = None) -> Memory:
        self.shown.append(Shown(dataset.y.copy(), train, validation, seed, self.width))
        return Memory(dataset.y, {"validation_accuracy": [0.5, 0.75, 0.75][self.width - 1], "seconds": 0.0})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_of_a_test_graph_but_its_form_is_shown(protocol: str) -> None:
    for split in splits(protocol, DATA.labels, repeat=1)[:3]:
        recorder = Recorder()
        outcome = run_split(protocol, recorder, DATA, split, seed=5)
        assert len(recorder.shown) == (6 if protocol == "fair" else 1)
        for shown in recorder.shown:
            assert set(shown.y[split.test].tolist()) == {0}
            seen = shown.train if shown.validation is None else np.concatenate([shown.train, shown.validation])
            assert sorted(seen.tolist()) == split.train.tolist(), "each training graph once, and no other"
            assert shown.y[seen].tolist() == DATA.y[seen].tolist()
            assert (shown.validation is None) == (outcome.validation is None) == (protocol != "fair")
        assert recorder.shown[0].train.tolist() == outcome.train.tolist(), "what is saved is what was used"
        assert not set(split.train.tolist()) & set(split.test.tolist())
        assert outcome.predictions.shape == (3 if protocol == "fair" else 1, len(split.test))
        assert not outcome.predictions.any(), "who remembers test labels knows the placeholder alone"


def test_fair_takes_the_first_of_the_best_and_trains_it_with_other_seeds() -> None:
    recorder, split = Recorder(), splits("fair", DATA.labels, 0)[0]
    outcome = run_split("fair", recorder, DATA, split, seed=5)
    assert [shown.width for shown in recorder.shown] == [1, 2, 3, 2, 2, 2]
    assert outcome.settings == {"width": 2}
    assert [tried["validation_accuracy"] for tried in outcome.details["candidates"]] == [0.5, 0.75, 0.75]
    seeds = [shown.seed for shown in recorder.shown]
    assert len(set(seeds)) == 4
    assert seeds[:3] == [5] * 3


def test_fair_holds_out_a_fresh_stratified_tenth_from_each_training() -> None:
    recorders = Recorder(), Recorder()
    split = splits("fair", DATA.labels, 0)[0]
    first, again = (run_split("fair", recorder, DATA, split, seed=5) for recorder in recorders)
    held = [np.asarray(shown.validation).tolist() for shown in recorders[0].shown]
    assert held[0] == held[1] == held[2] == np.asarray(first.validation).tolist(), "candidates are compared on one part"
    assert len({tuple(part) for part in held}) == 4, "the choice has a part, and each final training another"
    for part in held:
        assert sorted(np.bincount(DATA.y[part]).tolist()) == [4, 5], "nine of ninety, of both classes alike"
    assert [training["validation_index"] for training in first.details["trainings"]] == held[3:]
    assert held == [np.asarray(shown.validation).tolist() for shown in recorders[1].shown]
    assert first.details == again.details
    other = run_split("fair", Recorder(), DATA, split, seed=6)
    assert not {tuple(training["validation_index"]) for training in other.details["trainings"]} & set(map(tuple, held))


def test_fair_does_not_choose_where_there_is_no_choice() -> None:
    data = two_kinds(60)
    split = splits("fair", data.labels, 0)[0]
    outcome = run_split("fair", WeisfeilerLehman(), data, split, seed=1)
    assert outcome.details["candidates"] == []
    assert outcome.validation is None
    assert outcome.train.tolist() == split.train.tolist(), "over the three trainings each is trained on"
    assert [training["inner_folds"] for training in outcome.details["trainings"]] == [0, 0, 0]
    assert all(len(training["validation_index"]) == 6 for training in outcome.details["trainings"])


@pytest.mark.parametrize("protocol", ["paper", "fair"])
def test_every_graph_is_tested_once(protocol: str) -> None:
    tested = np.concatenate([split.test for split in splits(protocol, DATA.labels, 3)])
    assert sorted(tested.tolist()) == list(range(100))
    for split in splits(protocol, DATA.labels, 3):
        assert np.bincount(DATA.y[split.test]).tolist() == [5, 5]


def test_the_papers_folds_are_those_of_train() -> None:
    for split, (train, test) in zip(splits("paper", DATA.labels, 7), stratified_folds(DATA.labels, 10, 7), strict=True):
        assert (split.train.tolist(), split.test.tolist()) == (train.tolist(), test.tolist())


def test_released_draws_a_stratified_tenth_ten_times() -> None:
    found = splits("released", DATA.labels, 0)
    assert len({tuple(split.test.tolist()) for split in found}) == 10
    for split in found:
        assert np.bincount(DATA.y[split.test]).tolist() == [5, 5]
        assert sorted(np.concatenate(split).tolist()) == list(range(100))
    assert [s.test.tolist() for s in found] == [s.test.tolist() for s in splits("released", DATA.labels, 0)]
    assert [s.test.tolist() for s in found] != [s.test.tolist() for s in splits("released", DATA.labels, 1)]


@pytest.mark.parametrize(("tested", "steps"), [(1, 1), (49, 1), (50, 1), (51, 2), (99, 2), (100, 2), (101, 3)])
def test_released_gives_pinet_alone_a_step_for_each_fifty_test_graphs(tested: int, steps: int) -> None:
    for short in SYSTEMS:
        plain = system_named(short)
        (found,) = candidates("released", plain, tested)
        own = {"steps_per_epoch": steps} if short == "pinet" else {}
        assert found.settings == {**plain.settings, **own}, short
        (paper,) = candidates("paper", plain, tested)
        assert paper.settings == plain.settings


def test_the_steps_of_released_are_those_that_are_made() -> None:
    split = splits("released", DATA.labels, 0)[0]
    small = PiNetSystem(epochs=3, batch_size=4, hidden=4, out=2)
    outcome = run_split("released", small, DATA, split, seed=0)
    assert outcome.settings == {**small.settings, "steps_per_epoch": 3}  # ten graphs, four at a time
    full = run_split("paper", small, DATA, split, seed=0)
    assert full.settings == small.settings
    assert full.details["history"]["loss"] != outcome.details["history"]["loss"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_too_few_graphs_are_refused_with_their_counts(protocol: str) -> None:
    with pytest.raises(UsageError, match=r"(20.*1)|(as the smallest class has 3 graphs)"):
        splits(protocol, [0] * 20 + [1] * (1 if protocol == "released" else 3), 0)


def test_an_unknown_protocol_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"^protocol: expected one of .*, got 'papper'; did you mean paper\?$"):
        splits("papper", DATA.labels, 0)


def test_copies_are_found_whatever_their_nodes_order() -> None:
    rng = np.random.default_rng(0)
    ring, star = np.roll(np.eye(5), 1, axis=1), np.zeros((5, 5))
    star[0, 1:] = 1
    graphs = [as_graph(A + A.T, np.ones((5, 1))) for A in (ring, star, ring, star, star)]
    graphs = [permute_nodes(graph, rng.permutation(5)) for graph in graphs]
    data = dataset_from_graphs(graphs, [0, 0, 0, 1, 1])
    assert find_copies(data).tolist() == [0, 1, 0, 1, 1]
    split = Split(np.array([0, 1]), np.array([2, 3, 4]))
    assert count_duplicates(find_copies(data), data.y, split) == {"test": 3, "other_class": 2}
    labelled = replace(data, node_labels=np.repeat([0, 0, 1, 0, 1], 5)[:, None])
    assert find_copies(labelled).tolist() == [0, 1, 2, 1, 3]
