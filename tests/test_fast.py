"""The pairs that training uses against the readable ones, and against the public products of SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings

from minipinet._array import Array
from minipinet.batch import make_batch, make_batches
from minipinet.datasets import load_dataset
from minipinet.datasets.isomorphism import isomorphism_dataset
from minipinet.fast import products
from minipinet.fast.batch import FastBatch
from minipinet.fast.pooled import PooledCache
from minipinet.fast.readout import TwoClassCache
from minipinet.fast.training import loss_backward, loss_forward, make_fast_batches
from minipinet.model import loss_backward as readable_backward
from minipinet.model import loss_forward as readable_forward
from minipinet.params import LAYERS, PiNetParams, init_params
from minipinet.quotient import Quotient, refine
from minipinet.union import DisjointUnion
from minipinet.verify.pairs import draw, example_params, example_union
from tests import strategies, tolerances
from tests.forms import use_form
from tests.thinned import examples
from tests.tolerances import relative_error, tree_error


@pytest.fixture(params=["numpy", "numba"], autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take each test's network in NumPy, then compiled."""
    use_form(request.param, monkeypatch)
    return str(request.param)


def gradients(
    quotient: Quotient, params: PiNetParams, y: Array, size: int, pq: Array | None = None, l2: float = 0.0
) -> list[tuple[Any, Any, PiNetParams, PiNetParams]]:
    """Return both losses and both gradients of each batch."""
    index, found = np.arange(len(y)), []
    dtype = params.W_D.dtype.name
    readable, fast = make_batches(quotient, index, size, dtype), make_fast_batches(quotient, index, size, dtype)
    for at, a, b in zip(range(0, len(y), size), readable, fast, strict=True):
        chosen = y[at : at + size]
        loss_a, cache_a = readable_forward(params, a, chosen, pq, l2)
        loss_b, cache_b = loss_forward(params, b, chosen, pq, l2)
        found.append((loss_a, loss_b, readable_backward(1.0, cache_a), loss_backward(1.0, cache_b)))
    return found


def worst(quotient: Quotient, params: PiNetParams, y: Array, size: int, pq: Array | None = None) -> float:
    errors = []
    for loss_a, loss_b, a, b in gradients(quotient, params, y, size, pq, l2=0.25):
        assert [leaf is None for leaf in a] == [leaf is None for leaf in b]
        assert [w.dtype for w in b if w is not None] == [params.W_D.dtype] * sum(w is not None for w in params)
        errors += [relative_error(loss_b, loss_a), tree_error(b, a, floor=1e-2)]
    return max(errors)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("C", [1, 2, 3])
@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(union=strategies.unions())
def test_the_gradients_are_those_of_the_readable_pairs(union: DisjointUnion, C: int, merge: bool) -> None:
    rng = np.random.default_rng(C)
    G, d = len(union.ptr) - 1, union.X.shape[1]
    quotient, y = refine(union, merge), rng.integers(0, C, G)
    for bias, learned in ((True, True), (False, False)):
        params = init_params(rng, d, C, hidden=5, out=4, bias=bias, learned_pq=learned, dtype="float64")
        params = PiNetParams(*(w if w is None else draw(rng, *w.shape) / 2 for w in params))
        pq = None if learned else rng.integers(0, 5, (len(LAYERS), 2)) / 4
        for size in (2, G):
            assert worst(quotient, params, y, min(size, G), pq) < tolerances.FAST_FLOAT64


@pytest.mark.parametrize("F", [(2, 3, 4), (4, 3, 2), (3, 3, 3)])
def test_on_either_side_of_the_weights(F: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    union = example_union(rng)
    params = init_params(rng, 3, 2, hidden=F[0], out=F[1], bias=True, dtype="float64")
    wider = init_params(rng, 3, 3, hidden=F[1], out=F[2], dtype="float64")
    y = np.array([0, 1, 0, 1, 0, 1])
    assert worst(refine(union), params, y, 4) < tolerances.FAST_FLOAT64
    assert worst(refine(union), wider, y, 4) < tolerances.FAST_FLOAT64


@pytest.mark.parametrize("name", ["MUTAG", "isomorphism"])
def test_on_real_batches_in_both_precisions(name: str) -> None:
    rng = np.random.default_rng(0)
    dataset = load_dataset("MUTAG") if name == "MUTAG" else isomorphism_dataset(rng)
    quotient = refine(dataset.graphs)
    for dtype, allowed in (("float64", tolerances.FAST_FLOAT64), ("float32", tolerances.GRADIENT_FLOAT32)):
        params = init_params(rng, quotient.X.shape[1], len(dataset.classes), dtype=dtype)
        assert worst(quotient, params, dataset.y, 50) < allowed


@pytest.mark.data
def test_on_the_largest_protein(data_dir: Path) -> None:
    """620 nodes, in float32 against the readable pairs in float64, which test_oracle.py holds to the equations."""
    dataset = load_dataset("PROTEINS", data_dir=data_dir)
    largest = int(np.diff(dataset.graphs.ptr).argmax())
    quotient, chosen = refine(dataset.graphs), np.append(np.arange(49), largest)
    single = init_params(np.random.default_rng(0), dataset.num_features, 2)
    double = PiNetParams(*(None if w is None else w.astype(np.float64) for w in single))
    exact = readable_forward(double, make_batch(quotient, chosen, "float64"), dataset.y[chosen])
    found = loss_forward(single, next(make_fast_batches(quotient, chosen, 50)), dataset.y[chosen])
    assert relative_error(found[0], exact[0]) < tolerances.ORACLE_FLOAT32
    assert tree_error(loss_backward(1.0, found[1]), readable_backward(1.0, exact[1])) < tolerances.ORACLE_FLOAT32


def whole(union: DisjointUnion) -> FastBatch:
    G = len(union.ptr) - 1
    return next(make_fast_batches(refine(union), np.arange(G), G, "float64"))


def test_the_way_of_the_readout_follows_classes_and_range(form: str) -> None:
    data, rng = load_dataset("MUTAG")[:9], np.random.default_rng(0)
    batch = whole(data.graphs)
    two, three = (init_params(rng, data.num_features, C, bias=True, dtype="float64") for C in (2, 3))
    hot = two._replace(b_A1=np.full(64, 50.0))
    E, n = len(batch.entries.count), len(batch.layers[1].at_own)
    assert E > n
    if form == "numpy":
        readouts = [loss_forward(params, batch, data.y)[1].pinet.readout for params in (two, hot, three)]
        assert [type(readout) for readout in readouts] == [TwoClassCache, TwoClassCache, PooledCache]
        # A row a state, or a row for each state of each graph.
        assert [len(readout.e) for readout in readouts] == [n, E, E]
    # A constant added to a column of H moves nothing, and so the way makes no difference.
    grads = [loss_backward(1.0, loss_forward(params, batch, data.y)[1]) for params in (two, hot)]
    assert tree_error(*grads) < tolerances.FAST_FLOAT64


def test_graphs_of_one_kind_are_computed_once() -> None:
    dataset = isomorphism_dataset(np.random.default_rng(0))
    quotient = refine(dataset.graphs)
    assert len(quotient.example) == 5
    # A graph's kind is its class here: five graphs, each permuted a hundred times.
    assert len(set(zip(quotient.kind.tolist(), dataset.y.tolist(), strict=True))) == 5
    batch = next(make_fast_batches(quotient, np.arange(0, 500, 10), 50))
    assert len(batch.entries.ptr) - 1 == 5
    assert (quotient.kind[quotient.example] == np.arange(5)).all()


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(union=strategies.unions())
def test_a_kind_is_a_row_of_counts(union: DisjointUnion) -> None:
    quotient = refine(union)
    rows = [tuple(row) for row in quotient.counts.toarray().tolist()]
    assert [rows[quotient.example[k]] for k in quotient.kind] == rows
    assert len({rows[g] for g in quotient.example}) == len(quotient.example)
    plain = refine(union, merge=False)
    assert plain.kind.tolist() == plain.example.tolist() == list(range(len(rows)))


def test_numbers_that_no_weight_feels_are_zero() -> None:
    rng = np.random.default_rng(0)
    batch, y = whole(example_union(rng)), np.array([0, 1, 2, 0, 1, 2])
    params = example_params(rng, 3, bias=True, learned_pq=True)
    steep = params._replace(W_A1=params.W_A1 * 400, b_D=np.array([800.0, 0.0, 0.0]))
    grads = loss_backward(1.0, loss_forward(steep, batch, y)[1])
    tiny = np.finfo(np.float64).tiny
    assert all(((abs(g) >= tiny) | (g == 0)).all() for g in grads if g is not None)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_products_are_those_of_scipy(dtype: str, public: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if public:  # what is left where SciPy has no such kernels
        monkeypatch.setattr(products, "csr_matvecs", None)
        monkeypatch.setattr(products, "csc_matvecs", None)
    rng = np.random.default_rng(0)
    for shape in ((5, 3), (3, 5), (0, 3), (4, 0)):
        A = scipy.sparse.random_array(shape, density=0.5, rng=rng, format="csr").astype(dtype)
        indptr, indices = A.indptr.astype(np.int32), A.indices.astype(np.int32)
        for F in (1, 4):
            right, left = rng.standard_normal((shape[1], F)).astype(dtype), rng.standard_normal((shape[0], F))
            product, transposed = np.zeros((shape[0], F), dtype), np.zeros((shape[1], F), np.result_type(A, left))
            products.add_product(indptr, indices, A.data, right, product)
            assert (product == A @ right).all()
            # Of two dtypes the wider one.
            products.add_transposed_product(indptr, indices, A.data, left, transposed)
            assert (transposed == A.T @ left).all()
