"""The fused readout against the paper's three steps, and the choice between them graph by graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from minipinet import attention_readout
from minipinet._array import Array
from minipinet.attention_readout import (
    FUSED_RANGE,
    ReadoutGrads,
    attention_readout_backward,
    attention_readout_forward,
    fused_backward,
    fused_forward,
    stepwise_backward,
    stepwise_forward,
)
from minipinet.batch import make_batch
from minipinet.graphs import as_graph
from minipinet.pool import Pool, take_pool
from minipinet.quotient import refine
from minipinet.union import DisjointUnion, disjoint_union
from minipinet.verify import check_pair
from tests import strategies, tolerances
from tests.tolerances import relative_error, tree_error

#: A failure is told as it was found: shrinking one, example by example, takes minutes here.
told_at_once = settings(phases=(Phase.explicit, Phase.reuse, Phase.generate), report_multiple_bugs=False)


def pool_of(union: DisjointUnion, merge: bool = True, dtype: str = "float64") -> Pool:
    return make_batch(refine(union, merge=merge), np.arange(len(union.ptr) - 1), dtype).pool


def inputs(pool: Pool, C: int, seed: int = 0, bias: bool = True, dtype: str = "float64") -> dict[str, Array]:
    """Draw H (n, 3), Z_X (n, 2), W_D (6, C) and b_D."""
    rng = np.random.default_rng(seed)
    n = pool.counts.shape[1]
    shapes = {"H": (n, 3), "Z_X": (n, 2), "W_D": (6, C), "b_D": (C,)}
    drawn = {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
    return drawn if bias else {**drawn, "b_D": None}


def four_graphs() -> DisjointUnion:
    """Return paths of 3, 4, 0 and 2 nodes, all nodes different."""
    return disjoint_union([as_graph(strategies.path(n), np.arange(n)[:, None]) for n in (3, 4, 0, 2)])


def rough(pool: Pool, graph: int, H: Array) -> Array:
    """Return H with the states of one graph moved out of the range the fused form may take."""
    H = H.copy()
    H[pool.state[pool.graph == graph]] += FUSED_RANGE + 5
    return H


@told_at_once
@given(strategies.unions(), st.booleans(), st.sampled_from([1, 2, 3, 5]), st.booleans())
def test_fused_is_stepwise(union: DisjointUnion, merge: bool, C: int, bias: bool) -> None:
    pool = pool_of(union, merge)
    arguments = inputs(pool, C, bias=bias)
    logits, fused = fused_forward(**arguments, pool=pool)
    expected, stepwise = stepwise_forward(**arguments, pool=pool)
    assert relative_error(logits, expected) < tolerances.FORMS_FLOAT64
    dlogits = np.random.default_rng(1).standard_normal(logits.shape)
    grads, expected_grads = fused_backward(dlogits, fused), stepwise_backward(dlogits, stepwise)
    assert tree_error(grads, expected_grads) < tolerances.FORMS_FLOAT64
    assert (grads.db_D is None) == (not bias)


@pytest.mark.gradient
@pytest.mark.parametrize("C", [1, 2, 3])
@pytest.mark.parametrize("method", ["central", "complex"])
@told_at_once
@given(union=strategies.unions())
def test_gradients_of_the_fused_form(union: DisjointUnion, method: str, C: int) -> None:
    pool = pool_of(union)
    report = check_pair(
        lambda **x: fused_forward(**x, pool=pool),
        fused_backward,
        inputs(pool, C),
        rng=np.random.default_rng(0),
        method=method,
    )
    report.raise_if_failed()


@pytest.mark.gradient
def test_gradients_where_both_ways_are_taken() -> None:
    pool = pool_of(four_graphs(), merge=False)
    arguments = inputs(pool, 2)
    arguments["H"] = rough(pool, 1, arguments["H"])
    _, cache = attention_readout_forward(**arguments, pool=pool)
    assert cache.calm.tolist() == [True, False, True, True]
    report = check_pair(
        lambda **x: attention_readout_forward(**x, pool=pool),
        attention_readout_backward,
        arguments,
        rng=np.random.default_rng(0),
        method="central",
    )
    report.raise_if_failed()
    expected = stepwise_backward(np.ones((4, 2)), stepwise_forward(**arguments, pool=pool)[1])
    assert tree_error(attention_readout_backward(np.ones((4, 2)), cache), expected) < tolerances.FORMS_FLOAT64


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_way_a_graph_goes_does_not_depend_on_the_batch(C: int, dtype: str) -> None:
    pool = pool_of(four_graphs(), merge=False, dtype=dtype)
    calm = inputs(pool, C, dtype=dtype)
    mixed = {**calm, "H": rough(pool, 1, calm["H"])}
    together, _ = attention_readout_forward(**mixed, pool=pool)
    for graph in range(4):
        alone, _ = attention_readout_forward(**mixed, pool=take_pool(pool, np.array([graph])))
        assert (together[graph] == alone[0]).all(), graph
    # The other graphs' scores have the same bits whether graph 1 is calm or rough.
    before, _ = attention_readout_forward(**calm, pool=pool)
    assert (np.delete(before, 1, axis=0) == np.delete(together, 1, axis=0)).all()


@pytest.mark.parametrize("scale", [60.0, 1e3, 1e30])
def test_great_logits_of_attention_stay_finite(scale: float) -> None:
    pool = pool_of(four_graphs(), merge=False, dtype="float32")
    arguments = inputs(pool, 2, dtype="float32")
    arguments["H"] *= np.float32(scale)
    logits, cache = attention_readout_forward(**arguments, pool=pool)
    grads = attention_readout_backward(np.ones_like(logits), cache)
    assert np.isfinite(logits).all()
    assert all(g is not None and np.isfinite(g).all() for g in grads)
    wide = {name: a.astype(np.float64) for name, a in arguments.items()}
    expected, _ = stepwise_forward(**wide, pool=pool_of(four_graphs(), merge=False))
    assert relative_error(logits, expected) < tolerances.ORACLE_FLOAT32


def test_nan_is_not_hidden() -> None:
    pool = pool_of(four_graphs(), merge=False)
    arguments = inputs(pool, 2)
    arguments["H"][0, 0] = np.nan
    logits, _ = attention_readout_forward(**arguments, pool=pool)
    assert np.isnan(logits[0]).all()
    assert np.isfinite(logits[1:]).all()


def test_a_batch_of_empty_graphs_scores_the_bias() -> None:
    pool = pool_of(disjoint_union([as_graph(np.zeros((0, 0)), np.zeros((0, 1)))] * 2))
    for C in (2, 3):
        arguments = inputs(pool, C)
        logits, cache = attention_readout_forward(**arguments, pool=pool)
        assert (logits == arguments["b_D"]).all()
        grads: ReadoutGrads = attention_readout_backward(np.ones_like(logits), cache)
        assert not grads.dW_D.any()
        assert grads.dH.shape == (0, 3)


def test_two_classes_go_the_fused_way() -> None:
    pool = pool_of(four_graphs())
    assert attention_readout_forward(**inputs(pool, 2), pool=pool)[1].stepwise is None
    assert attention_readout_forward(**inputs(pool, 3), pool=pool)[1].fused is None
    assert attention_readout.FUSED_CLASSES == 2
