"""The properties that ship, on models small enough to know what they must say, and on the package's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.attention_readout import FUSED_RANGE
from minipinet.errors import UsageError
from minipinet.graphs import Graph, as_graph
from minipinet.verify import VerificationError
from minipinet.verify.planted import plant
from minipinet.verify.planted.models import L2, example_graphs, labels, model_of
from minipinet.verify.properties import (
    column_sum_error,
    isolation_error,
    oracle_error,
    oracle_loss_error,
    permutation_error,
)
from tests import tolerances

pytestmark = [pytest.mark.gradient, pytest.mark.invariance]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def graphs() -> list[Graph]:
    return example_graphs(generator())


def sums(graphs: Sequence[Graph]) -> Array:
    """Score a graph by the sums of its features: invariant, and each graph by itself."""
    return np.array([[np.sort(g.X[:, 0]).sum(), g.N] for g in graphs])


def test_the_examples_are_of_every_kind() -> None:
    drawn = graphs()
    assert [g.N for g in drawn] == [6, 7, 5, 4, 1, 0, 5]
    A = drawn[0].A.toarray()
    assert (A != A.T).any()
    assert A.trace() > 0
    assert (drawn[0].deg == 0).any()
    assert len(np.unique(drawn[1].X, axis=0)) == len(np.unique(drawn[2].X, axis=0)) == 1


@pytest.mark.parametrize("C", [2, 3])
def test_only_the_last_example_is_wild(C: int) -> None:
    model = plant()["minipinet.model"]

    def watched(H: Array, *rest: Any) -> Any:
        seen.append(float(np.abs(H).max(initial=0.0)))
        return forward(H, *rest)

    forward, seen = model.attention_readout_forward, []  # type: ignore[var-annotated]
    vars(model)["attention_readout_forward"] = watched
    scores = model_of({**plant(), "minipinet.model": model}, C, merge=True).scores
    for graph in graphs():
        scores([graph])
    assert [size > FUSED_RANGE for size in seen] == [False] * 6 + [True]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("C", [2, 3])
def test_the_network_has_every_property(C: int, merge: bool) -> None:
    model, drawn = model_of(plant(), C, merge=merge), graphs()
    assert permutation_error(model.scores, drawn, rng=generator()) < tolerances.ORACLE_FLOAT64
    assert isolation_error(model.scores, drawn) == 0
    assert column_sum_error(model.attention, drawn) < tolerances.CLOSED_FORM
    assert oracle_error(model.scores, drawn, model.params) < tolerances.ORACLE_FLOAT64
    calm = drawn[:-1]
    error = oracle_loss_error(model.loss, calm, labels(calm, C), model.params, l2=L2)
    assert error < tolerances.ORACLE_FLOAT64


def test_permutation_error_is_the_largest_relative_change() -> None:
    drawn = graphs()
    assert permutation_error(sums, drawn, rng=generator()) == 0
    assert permutation_error(lambda gs: [[g.X[0, 0] if g.N else 0.0] for g in gs], drawn, rng=generator()) > 0.1
    small = permutation_error(lambda gs: [[1.0, 1e-9 * g.deg[:1].sum()] for g in gs], drawn[:1], rng=generator())
    assert 1e-10 < small < 1e-8


def test_permutation_error_moves_edges_and_features_together() -> None:
    def wedge(gs: Sequence[Graph]) -> list[list[float]]:
        return [[float((np.round(8 * g.A.toarray()) @ np.round(8 * g.X)).sum())] for g in gs]

    assert permutation_error(wedge, graphs()[:1], rng=generator()) == 0


def test_isolation_error_sees_what_any_other_graph_does() -> None:
    drawn = graphs()
    assert isolation_error(sums, drawn) == 0

    def centred(gs: Sequence[Graph]) -> Array:
        return sums(gs) - 1e-3 * sums(gs).mean(axis=0)

    def of_the_first(gs: Sequence[Graph]) -> Array:
        return sums(gs) * (1 + 1e-15 * gs[0].N)

    assert isolation_error(centred, drawn) > 1e-4
    assert 0 < isolation_error(of_the_first, drawn) < 1e-13
    assert isolation_error(lambda gs: [[0.0 if len(gs) > 1 else -0.0] for _ in gs], drawn) > 0
    assert isolation_error(lambda gs: [[np.nan if len(gs) > 1 else 1.0] for _ in gs], drawn) == np.inf
    assert isolation_error(sums, drawn[:1]) == 0


def test_isolation_error_tries_every_graph_first_and_last_alone_and_among_all() -> None:
    drawn, seen = graphs(), []

    def noted(gs: Sequence[Graph]) -> Array:
        seen.append([next(k for k, graph in enumerate(drawn) if graph is g) for g in gs])
        return sums(gs)

    isolation_error(noted, drawn)
    B = len(drawn)
    assert seen[:B] == [[g] for g in range(B)]
    assert seen[B : B + 2] == [list(range(B)), list(range(B))[::-1]]
    assert {tuple(pair) for pair in seen[B + 2 :]} == {(g, (g + s) % B) for g in range(B) for s in (1, -1)}


def test_infinite_and_zero_scores_are_no_excuse() -> None:
    drawn = graphs()[:2]
    assert permutation_error(lambda gs: [[np.inf] for _ in gs], drawn, rng=generator()) == np.inf
    assert isolation_error(lambda gs: [[float(len(gs) - 1)] for _ in gs], drawn) == np.inf


def test_column_sum_error() -> None:
    drawn = graphs()

    def uniform(gs: Sequence[Graph]) -> list[Array]:
        return [np.full((g.N, 2), 1 / max(1, g.N)) for g in gs]

    assert column_sum_error(uniform, drawn) < tolerances.CLOSED_FORM
    assert column_sum_error(lambda gs: [1.01 * w for w in uniform(gs)], drawn) == pytest.approx(0.01)
    # Sums of 1 with a weight below 0.
    assert column_sum_error(lambda gs: [np.array([[1.25], [-0.25]])], [as_graph(np.zeros((2, 2)))]) == 0.25
    assert column_sum_error(lambda gs: [np.array([[np.nan], [0.5]])], [as_graph(np.zeros((2, 2)))]) == np.inf


def test_oracle_errors_are_relative() -> None:
    model, drawn = model_of(plant(), 3, merge=True), graphs()[:-1]
    assert oracle_error(lambda gs: 1.001 * model.scores(gs), drawn, model.params) == pytest.approx(1e-3)
    loss = oracle_loss_error(lambda gs: 1.001 * model.loss(gs), drawn, labels(drawn, 3), model.params, l2=L2)
    assert loss == pytest.approx(1e-3)
    assert oracle_error(lambda gs: model.scores(gs)[:, :2], drawn, model.params) == np.inf
    assert oracle_error(lambda gs: np.full((len(gs), 3), np.inf), drawn, model.params) == np.inf


def test_bad_arguments_are_named() -> None:
    one = graphs()[:1]
    with pytest.raises(UsageError, match="graphs: expected at least one"):
        permutation_error(sums, [], rng=generator())
    with pytest.raises(UsageError, match="graphs: expected at least one"):
        isolation_error(sums, [])
    with pytest.raises(UsageError, match="graphs: expected at least one"):
        column_sum_error(lambda gs: [], [])
    with pytest.raises(UsageError, match="trials: expected at least 1, got 0"):
        permutation_error(sums, one, rng=generator(), trials=0)
    with pytest.raises(VerificationError, match=r"scores: expected \(1, C\) numbers, a row a graph, got shape \(2,\)"):
        isolation_error(lambda gs: [1.0, 2.0], one)
    with pytest.raises(VerificationError, match="attention: expected 1 tables, one a graph, got 0"):
        column_sum_error(lambda gs: [], one)
    with pytest.raises(VerificationError, match=r"attention: expected weights of 6 nodes, got the shape \(0, 2\)"):
        column_sum_error(lambda gs: [np.zeros((0, 2))], one)
