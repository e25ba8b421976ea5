"""The loss from logits, one dtype throughout, and input converted at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet._array import Array
from minipinet._tree import named_leaves
from minipinet.attention_readout import attention_readout_backward, attention_readout_forward
from minipinet.batch import GraphBatch, make_batch
from minipinet.datasets import dataset_from_graphs
from minipinet.errors import UsageError
from minipinet.graphs import as_graph
from minipinet.model import loss_backward, loss_forward, pinet_forward
from minipinet.optim import adam_init, adam_step
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import refine
from minipinet.readout import softmax_cross_entropy_backward, softmax_cross_entropy_forward
from minipinet.union import disjoint_union
from minipinet.verify.pairs import cast, draw, example_batch, example_params, example_union, layer_pairs, model_pairs
from tests import strategies, tolerances
from tests.tolerances import relative_error


def loss_of(Z: Any, y: Any) -> tuple[Array, Array]:
    """Return the loss and its gradient."""
    Z = np.array(Z)
    loss, cache = softmax_cross_entropy_forward(Z, np.array(y))
    return loss, softmax_cross_entropy_backward(Z.dtype.type(1), cache)


# 70: the loss takes logits and applies the softmax once.


def test_case_070_the_softmax_is_applied_once() -> None:
    loss, _ = loss_of([[10.0, -10.0]], [0])
    assert relative_error(loss, np.log1p(np.exp(-20))) < 1e-7  # 1 + 2e-9 keeps eight digits of 2e-9
    assert f"{loss:.1e}" == "2.1e-09"
    assert abs(loss - 0.313) > 0.3
    assert "Logits" in str(softmax_cross_entropy_forward.__doc__)
    assert "logits" in str(pinet_forward.__doc__)


def test_case_070_the_network_returns_logits_not_probabilities() -> None:
    rng = np.random.default_rng(0)
    batch = example_batch(example_union(rng))
    for C in (2, 3):
        logits, _ = pinet_forward(example_params(rng, C, bias=True, learned_pq=True), batch)
        assert (logits < 0).any()
        assert np.abs(logits.sum(axis=1) - 1).max() > 0.1


@given(st.lists(strategies.floats(-5, 5), min_size=2, max_size=5), st.integers(0, 1), strategies.floats(-100, 100))
def test_loss_is_minus_ln_of_the_softmax_and_ignores_a_common_shift(Z: list[float], y: int, shift: float) -> None:
    softmax = np.exp(Z) / np.sum(np.exp(Z))
    for row in (np.array([Z]), np.array([Z]) + shift):
        loss, dZ = loss_of(row, [y])
        assert abs(loss + np.log(softmax[y])) < tolerances.ORACLE_FLOAT64
        assert np.abs(dZ[0] - (softmax - np.eye(len(Z))[y])).max() < tolerances.ORACLE_FLOAT64


# 71: nothing is lost where the softmax underflows.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1000.0, 1e30])
def test_case_071_confident_and_wrong_is_finite(size: float, dtype: str) -> None:
    loss, dZ = loss_of(np.array([[size, -size]], dtype), [1])
    assert loss == np.dtype(dtype).type(2 * size)
    assert loss.dtype == dZ.dtype == dtype
    assert dZ.tolist() == [[1.0, -1.0]]


@pytest.mark.parametrize("Z", [[1000.0, -1000.0], [-1000.0, -1000.0], [0.0, 1000.0], [800.0, 1000.0, -1000.0]])
def test_case_071_right_or_undecided_is_finite_too(Z: list[float]) -> None:
    for y in range(len(Z)):
        loss, dZ = loss_of([Z], [y])
        assert np.isfinite(loss)
        assert loss >= 0
        assert np.isfinite(dZ).all()
        assert abs(dZ.sum()) < tolerances.CLOSED_FORM


def test_loss_of_one_class_is_zero() -> None:
    loss, dZ = loss_of([[3.0], [-1.0]], [0, 0])
    assert loss == 0
    assert not dZ.any()


# 73: one dtype from the features to Adam's moments.


def foreign_dtypes(tree: Any, dtype: str) -> list[str]:
    """Return the floating-point arrays and NumPy scalars of a tree that have another dtype."""
    leaves = [(path, getattr(leaf, "dtype", None)) for path, leaf in named_leaves(tree, "tree")]
    return [f"{path}: {kind}" for path, kind in leaves if kind is not None and kind.kind == "f" and kind != dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_case_073_every_pair_keeps_the_dtype_in_results_caches_and_gradients(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for pair in layer_pairs(rng, dtype) + model_pairs(rng, dtype):
        out, cache = pair.forward(**pair.inputs)
        assert foreign_dtypes(out, dtype) == [], pair.name
        assert foreign_dtypes(cache, dtype) == [], pair.name
        assert foreign_dtypes(pair.backward(out, cache), dtype) == [], pair.name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("learned", [True, False])
def test_case_073_three_steps_of_training(learned: bool, C: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    batch = example_batch(example_union(rng), dtype)
    y = np.arange(batch.B) % C
    params = init_params(rng, 3, C, hidden=4, out=3, bias=True, learned_pq=learned, dtype=dtype)
    pq = None if learned else np.full((4, 2), np.float64(0.3))
    state = adam_init(params)
    for _ in range(3):
        loss, cache = loss_forward(params, batch, y, pq, l2=0.01)
        logits = cache.cross_entropy.log_probabilities
        grads = loss_backward(1.0, cache)
        params, state = adam_step(params, grads, state, lr=0.01)
        for tree in (params, state, grads, batch, cache, loss, logits):
            assert foreign_dtypes(tree, dtype) == []


def test_case_073_a_numpy_scalar_as_learning_rate_or_l2_lifts_nothing() -> None:
    rng = np.random.default_rng(0)
    batch = example_batch(example_union(rng), "float32")
    params = init_params(rng, 3, 3, hidden=4, out=3, bias=True)
    loss, cache = loss_forward(params, batch, np.arange(batch.B) % 3, l2=np.float64(0.01))
    grads = loss_backward(1.0, cache)
    after = adam_step(params, grads, adam_init(params), lr=np.float64(0.01), beta1=np.float64(0.9))
    assert foreign_dtypes((loss, grads, after), "float32") == []


@pytest.mark.parametrize("C", [2, 3])
def test_case_073_extreme_attention_keeps_float32(C: int) -> None:
    # Where some graphs go another way through the readout than others.
    rng = np.random.default_rng(0)
    pool = example_batch(example_union(rng), "float32").pool
    n = pool.counts.shape[1]
    H = 60 * draw(rng, n, 3)
    inputs = cast({"H": H, "Z_X": draw(rng, n, 2), "W_D": draw(rng, 6, C), "b_D": draw(rng, C)}, "float32")
    logits, cache = attention_readout_forward(**inputs, pool=pool)
    assert foreign_dtypes((logits, cache, attention_readout_backward(logits, cache)), "float32") == []


# 75: features and labels of any kind are converted once, or refused at the call.

FEATURES: dict[str, Any] = {
    "list of lists": [[1, 0], [0, 2], [3, 1]],
    "int64": np.array([[1, 0], [0, 2], [3, 1]]),
    "float32": np.array([[1, 0], [0, 2], [3, 1]], np.float32),
    "float16": np.array([[1, 0], [0, 2], [3, 1]], np.float16),
    "object": np.array([[1, 0], [0, 2], [3, 1]], object),
    "Fortran order": np.asfortranarray(np.array([[1.0, 0], [0, 2], [3, 1]])),
    "not contiguous": np.repeat(np.array([[1.0, 0], [0, 2], [3, 1]]), 2, axis=1)[:, ::2],
}


def scores(X: Any, dtype: str = "float32") -> tuple[Array, GraphBatch]:
    graph = as_graph(strategies.path(3).astype(int).tolist(), X)
    batch = make_batch(refine(disjoint_union([graph])), [0], dtype)
    params: PiNetParams = init_params(np.random.default_rng(0), graph.d, 2, hidden=4, out=3, dtype=dtype)
    return pinet_forward(params, batch)[0], batch


@pytest.mark.parametrize("kind", FEATURES)
def test_case_075_features_of_any_kind_score_the_same_bits(kind: str) -> None:
    expected, _ = scores(np.array([[1.0, 0], [0, 2], [3, 1]]))
    logits, batch = scores(FEATURES[kind])
    assert logits.tobytes() == expected.tobytes()
    assert batch.X.dtype == np.float32


class Column:
    """As a column of a pandas table: no array, but it can become one."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array([1, 2, 3], dtype)


def test_case_075_one_column_of_features() -> None:
    expected, _ = scores(np.array([[1.0], [2], [3]]))
    for column in ([1, 2, 3], Column(), np.array([True + 0, 2, 3])):
        assert scores(column)[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "X", [[["a"], ["b"], ["c"]], [[1], [2]], [[1j], [0], [0]], [[1], [2, 3], [4]], [[None], [1], [2]]]
)
def test_case_075_what_is_no_table_of_numbers_is_refused_by_name(X: Any) -> None:
    with pytest.raises(UsageError, match="X: expected"):
        scores(X)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([True, False, True], (False, True)),
        (np.array([[7], [-1], [7]]), (-1, 7)),
        (np.array([2, 1, 2], object), (1, 2)),
        (np.array([2.0, 1.0, 2.0], np.float32), (1, 2)),
    ],
)
def test_case_075_labels_of_any_kind_become_class_numbers(labels: Any, classes: tuple[Any, ...]) -> None:
    graphs = [as_graph(strategies.path(n)) for n in (2, 3, 4)]
    dataset = dataset_from_graphs(graphs, labels)
    assert dataset.classes == classes
    assert dataset.y.tolist() == [1, 0, 1]
    params = init_params(np.random.default_rng(0), 1, 2, hidden=4, out=3)
    loss, _ = loss_forward(params, make_batch(refine(dataset.graphs), [0, 1, 2]), dataset.y)
    assert np.isfinite(loss)
    assert loss.dtype == np.float32
