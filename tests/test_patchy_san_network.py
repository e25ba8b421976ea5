"""The convolutional network of PATCHY-SAN against a loop over its equations, and its gradient by the checker."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.baselines.patchy_san_network import (
    HIDDEN,
    FieldBatch,
    PatchySanParams,
    init_patchy_san,
    patchy_san_backward,
    patchy_san_forward,
    patchy_san_loss_backward,
    patchy_san_loss_forward,
)
from minipinet.verify import check_pair
from tests import tolerances

WIDTH, SIZE, B, C = 12, 3, 5, 3


def drawn(width: int = WIDTH, dropping: bool = True, seed: int = 0) -> tuple[PatchySanParams, FieldBatch]:
    """Return parameters away from their start and a batch with fields that end early."""
    rng = np.random.default_rng(seed)
    start = init_patchy_san(rng, 4, C, width=width, size=SIZE, dtype="float64")
    params = PatchySanParams(*(rng.standard_normal(w.shape) / 2 for w in start))
    M = rng.standard_normal((B, width * SIZE, 4))
    M[2, SIZE * 2 :] = M[0, 1:SIZE] = 0.0
    return params, FieldBatch(M, rng.random((B, HIDDEN)) < 0.5 if dropping else None)


def by_loops(params: PatchySanParams, batch: FieldBatch) -> Array:
    """Return the scores as the text describes them: field by field, window by window, graph by graph."""
    window = len(params.W_1)
    scores = []
    for g, nodes in enumerate(batch.M):
        fields = nodes.reshape(-1, SIZE, 4)
        first = [np.maximum(np.tensordot(field, params.W_0, 2) + params.b_0, 0) for field in fields]
        second = [
            np.maximum(np.tensordot(np.array(first[t : t + window]), params.W_1, 2) + params.b_1, 0)
            for t in range(len(fields) - window + 1)
        ]
        hidden = np.maximum(np.concatenate(second) @ params.W_2 + params.b_2, 0)
        if batch.kept is not None:
            hidden = np.where(batch.kept[g], 2 * hidden, 0)
        scores.append(hidden @ params.W_D + params.b_D)
    return np.array(scores)


@pytest.mark.parametrize("width", [1, 4, 10, 12])
@pytest.mark.parametrize("dropping", [True, False])
def test_the_scores_are_those_of_the_loops(width: int, dropping: bool) -> None:
    params, batch = drawn(width, dropping)
    logits, _ = patchy_san_forward(params, batch)
    assert tolerances.relative_error(logits, by_loops(params, batch)) < tolerances.ORACLE_FLOAT64


@pytest.mark.gradient
@pytest.mark.parametrize("method", ["central", "taylor"])
@pytest.mark.parametrize(("width", "dropping"), [(WIDTH, True), (WIDTH, False), (4, True)])
def test_the_gradient_of_the_scores(width: int, dropping: bool, method: str) -> None:
    params, batch = drawn(width, dropping)

    def forward(params: PatchySanParams) -> tuple[Array, object]:
        return patchy_san_forward(params, batch)

    rng = np.random.default_rng(0)
    report = check_pair(forward, patchy_san_backward, {"params": params}, rng=rng, method=method)
    assert report.ok, str(report)


@pytest.mark.gradient
@pytest.mark.parametrize("method", ["central", "taylor"])
def test_the_gradient_of_the_loss(method: str) -> None:
    params, batch = drawn()
    forward = partial(patchy_san_loss_forward, batch=batch, y=np.arange(B) % C)
    rng = np.random.default_rng(0)
    report = check_pair(forward, patchy_san_loss_backward, {"params": params}, rng=rng, method=method)
    assert report.ok, str(report)


def test_a_graph_is_scored_to_the_same_bits_in_any_company() -> None:
    rng = np.random.default_rng(0)
    params = init_patchy_san(rng, 7, 2, width=18, size=10)
    M = rng.standard_normal((40, 180, 7)).astype(np.float32)
    logits, _ = patchy_san_forward(params, FieldBatch(M, None))
    assert logits.dtype == np.float32
    for g in range(40):
        assert np.array_equal(patchy_san_forward(params, FieldBatch(M[g : g + 1], None))[0][0], logits[g])


def test_the_initial_weights_have_the_shapes_of_the_paper() -> None:
    params = init_patchy_san(np.random.default_rng(0), 7, 2, width=18, size=10)
    assert [w.shape for w in params] == [
        (10, 7, 16), (10, 16, 8), (72, 128), (128, 2), (16,), (8,), (128,), (2,),
    ]  # fmt: skip
    assert all(w.dtype == np.float32 for w in params)
    assert not any(b.any() for b in params[4:])
