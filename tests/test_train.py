"""Training: what an epoch visits and records, that a state is a value, one dtype throughout."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import minipinet.pinet_network
from minipinet._tree import named_leaves
from minipinet.datasets import dataset_from_graphs
from minipinet.evaluation import evaluate
from minipinet.fast.training import loss_backward, loss_forward
from minipinet.graphs import as_graph
from minipinet.quotient import refine
from minipinet.train import TrainState, fit, start
from tests.small_data import same_bits, without_seconds
from tests.small_training import ALL, DATA, QUOTIENT, SMALL, record_batches, train
from tests.tolerances import ORACLE_FLOAT64, relative_error


@pytest.mark.parametrize(
    ("batch_size", "sizes"), [(5, [5, 5, 1]), (10, [10, 1]), (11, [11]), (50, [11]), (1, [1] * 11)]
)
def test_case_050_short_last_batch_is_trained_on(
    monkeypatch: pytest.MonkeyPatch, batch_size: int, sizes: list[int]
) -> None:
    visited = record_batches(monkeypatch)
    train(replace(SMALL, batch_size=batch_size, epochs=2), ALL[3:14])
    assert [len(batch) for batch in visited] == sizes * 2
    for epoch in (visited[: len(sizes)], visited[len(sizes) :]):
        assert sorted(chain.from_iterable(epoch)) == list(range(3, 14))


@pytest.mark.parametrize(("steps", "sizes"), [(1, [5]), (2, [5, 5]), (3, [5, 5, 1]), (4, [5, 5, 1]), (None, [5, 5, 1])])
def test_an_epoch_ends_after_the_steps_asked_for(
    monkeypatch: pytest.MonkeyPatch, steps: int | None, sizes: list[int]
) -> None:
    visited = record_batches(monkeypatch)
    settings = replace(SMALL, batch_size=5, epochs=2)
    train(settings, ALL[:11])
    every = list(visited)
    visited.clear()
    state = train(replace(settings, steps_per_epoch=steps), ALL[:11])
    assert [len(batch) for batch in visited] == sizes * 2
    assert [visited[: len(sizes)], visited[len(sizes) :]] == [every[: len(sizes)], every[3 : 3 + len(sizes)]]
    assert state.adam.step == 2 * len(sizes)


def test_the_record_of_a_shortened_epoch_is_of_the_graphs_it_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = record_batches(monkeypatch)
    settings = replace(SMALL, lr=1e-30, dtype="float64", batch_size=4, steps_per_epoch=2, epochs=1)
    record = train(settings).history[0]
    index = np.array(list(chain.from_iterable(visited)))
    assert len(index) == 8
    scored = evaluate(start(settings, 2, 2).params, None, QUOTIENT, DATA.y, index)
    assert relative_error(record.loss, scored.loss) < ORACLE_FLOAT64
    assert record.accuracy == scored.accuracy


def test_case_050_loss_weighs_graphs_not_batches() -> None:
    # Nothing moves at this rate, so the epoch's loss is that of the initial weights.
    settings = replace(SMALL, lr=1e-30, dtype="float64", batch_size=10)
    state = train(settings, ALL[:11])
    at_start = evaluate(start(settings, 2, 2).params, None, QUOTIENT, DATA.y, ALL[:11])
    assert relative_error(state.history[0].loss, at_start.loss) < ORACLE_FLOAT64
    assert state.history[0].accuracy == at_start.accuracy
    per_graph = [evaluate(state.params, None, QUOTIENT, DATA.y, ALL[g : g + 1]).loss for g in range(11)]
    assert np.ptp(per_graph) > 1e-3  # so that weighing batches would give another mean


def test_case_050_one_graph_of_one_node() -> None:
    data = dataset_from_graphs([as_graph([[0]]), as_graph([[0, 1], [1, 0]])], [0, 1])
    state = fit(refine(data.graphs), data.y, np.arange(2), replace(SMALL, epochs=60, batch_size=1), C=2)
    assert state.history[-1].loss < 0.6 * state.history[0].loss


def test_loss_record_leaves_the_penalty_out() -> None:
    settings = replace(SMALL, lr=1e-30, dtype="float64", l2=10.0)
    assert train(settings).history[0].loss == train(replace(settings, l2=0.0)).history[0].loss


def test_l2_pulls_on_the_message_passing_kernels_alone() -> None:
    free, pulled = (train(replace(SMALL, epochs=20, l2=l2)).params for l2 in (0.0, 1.0))
    for name in ("W_A0", "W_A1", "W_X0", "W_X1"):
        assert np.linalg.norm(getattr(pulled, name)) < 0.8 * np.linalg.norm(getattr(free, name))
    assert np.linalg.norm(pulled.W_D) > 0.8 * np.linalg.norm(free.W_D)


def test_case_080_batches_are_mixed_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = record_batches(monkeypatch)
    sorted_by_class = np.argsort(DATA.y, kind="stable")
    train(replace(SMALL, batch_size=12, epochs=2), sorted_by_class)
    for batch in visited:
        assert set(DATA.y[batch]) == {0, 1}
    assert visited[:2] != visited[2:]
    first = list(visited)
    visited.clear()
    train(replace(SMALL, batch_size=12, epochs=2), sorted_by_class)
    assert visited == first
    visited.clear()
    train(replace(SMALL, batch_size=12, epochs=2, seed=1), sorted_by_class)
    assert visited != first


def test_one_seed_gives_one_result_and_another_another() -> None:
    first, again, other = train(SMALL), train(SMALL), train(replace(SMALL, seed=1))
    assert same_bits(first.params, again.params)
    assert without_seconds(first.history) == without_seconds(again.history)
    assert not same_bits(first.params, other.params)


def test_global_random_state_is_left_alone() -> None:
    before = repr(np.random.get_state(legacy=False))  # noqa: NPY002
    train(SMALL)
    assert repr(np.random.get_state(legacy=False)) == before  # noqa: NPY002


def test_states_are_values_and_arguments_stay() -> None:
    states: list[TrainState] = []
    kept: list[TrainState] = []
    y, index = DATA.y.copy(), ALL.copy()

    def keep(state: TrainState) -> None:
        states.append(state)
        kept.append(copy.deepcopy(state))

    fit(QUOTIENT, y, index, SMALL, C=2, on_epoch=keep)
    assert [state.epoch for state in states] == [1, 2, 3]
    for state, then in zip(states, kept, strict=True):
        assert same_bits(state.params, then.params)
        assert same_bits(state.adam, then.adam)
        assert state.rng.bit_generator.state == then.rng.bit_generator.state
    assert same_bits((y, index), (DATA.y, ALL))


def test_going_on_from_any_state_gives_the_bits_of_a_run_without_a_break() -> None:
    states: list[TrainState] = []
    whole = train(SMALL, on_epoch=states.append)
    for state in [start(SMALL, 2, 2), *states]:
        resumed = train(SMALL, state=state)
        assert same_bits(resumed.params, whole.params)
        assert same_bits(resumed.adam, whole.adam)
        assert without_seconds(resumed.history) == without_seconds(whole.history)
    # The first states were used twice; they are still what they were.
    assert train(SMALL, state=whole) is whole


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("pq", ["learned", (0.3, 0.7)])
def test_case_073_one_dtype_throughout(dtype: str, pq: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, np.dtype[Any]] = {}

    def note(what: str, tree: Any) -> None:
        for path, leaf in named_leaves(tree, what):
            kind = getattr(getattr(leaf, "dtype", None), "kind", "")
            if kind == "f":
                seen[path] = leaf.dtype

    def watched_forward(*args: Any) -> Any:
        result = loss_forward(*args)
        note("forward", result)
        note("batch", args[1])
        return result

    def watched_backward(dloss: float, cache: Any) -> Any:
        grads = loss_backward(dloss, cache)
        note("grads", grads)
        return grads

    monkeypatch.setattr(minipinet.pinet_network, "loss_forward", watched_forward)
    monkeypatch.setattr(minipinet.pinet_network, "loss_backward", watched_backward)
    settings = replace(SMALL, dtype=dtype, pq=pq, bias=True, l2=0.1, epochs=1)
    state = train(settings)
    note("params", state.params)
    note("adam", state.adam)
    note("logits", evaluate(state.params, settings.pairs, QUOTIENT, DATA.y, ALL).logits)
    assert len(seen) > 60
    assert {path for path, found in seen.items() if found != dtype} == set()


def test_training_learns_and_records() -> None:
    state = train(replace(SMALL, epochs=100))
    assert [record.epoch for record in state.history] == list(range(1, 101))
    assert state.history[-1].loss < 0.5 * state.history[0].loss
    assert state.history[-1].accuracy > 0.9
    record = state.history[-1]
    assert len(record.p) == len(record.q) == 4
    assert all(type(value) is float and 0 < value < 1 for value in (*record.p, *record.q))
    assert record.p != state.history[0].p
    assert 0 < record.seconds < 60
    assert record.validation_loss is None


def test_fixed_pq_is_recorded_as_given() -> None:
    record = train(replace(SMALL, pq=((0, 1), (1, 0), (0.5, 0.25), (1, 1)))).history[-1]
    assert record.p == (0.0, 1.0, 0.5, 1.0)
    assert record.q == (1.0, 0.0, 0.25, 1.0)


def test_blas_runs_on_one_thread_inside_and_is_given_back() -> None:
    before = [(library["filepath"], library["num_threads"]) for library in threadpool_info()]
    inside: list[int] = []

    def look(state: TrainState) -> None:
        inside.extend(library["num_threads"] for library in threadpool_info())

    train(SMALL, on_epoch=look)
    assert set(inside) == {1}
    assert [(library["filepath"], library["num_threads"]) for library in threadpool_info()] == before
