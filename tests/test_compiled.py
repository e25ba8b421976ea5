"""The compiled form against that in NumPy, and when training takes which."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

from minipinet.datasets import isomorphism_dataset, load_dataset
from minipinet.fast import model, training
from minipinet.fast import readout as numpy_readout
from minipinet.fast.training import adam_step, loss_backward, loss_forward, training_threads
from minipinet.graphs import as_graph
from minipinet.optim import adam_init
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import fit
from minipinet.union import disjoint_union
from minipinet.verify.fast_pairs import example_fast_batch
from minipinet.verify.pairs import example_params, example_union
from tests import tolerances
from tests.forms import use_form
from tests.small_data import environment
from tests.thinned import WHOLE
from tests.tolerances import tree_error

pytest.importorskip("numba", reason="needs Numba (the extra 'numba')")
compiled = pytest.importorskip("minipinet.fast.compiled.model")
loss = pytest.importorskip("minipinet.fast.compiled.loss")
readout = pytest.importorskip("minipinet.fast.compiled.readout")
jit = pytest.importorskip("minipinet.fast.compiled._jit")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("C", "wide"), [(2, False), (2, True), (3, False), (3, True)])
def test_loss_and_gradients_are_those_in_numpy(dtype: str, C: int, wide: bool) -> None:
    """On graphs without nodes, lone nodes, weights and directions; with and without biases, learned and fixed p, q."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        batch = example_fast_batch(example_union(rng), dtype)
        y = np.arange(len(batch.kind)) % C
        for bias, learned in ((True, True), (False, False), (wide, True)):
            params = example_params(rng, C, bias=bias, learned_pq=learned)
            if wide and bias:
                params = params._replace(b_A1=np.full(params.W_A1.shape[1], 100.0))
            params = PiNetParams(*(None if w is None else w.astype(dtype) for w in params))
            pq = None if learned else rng.integers(0, 5, (4, 2)) / 4
            (a, plain), (b, quick) = (m.loss_forward(params, batch, y, pq, 0.25) for m in (model, compiled))
            assert np.asarray(b).dtype == dtype
            np.testing.assert_allclose(b, a, *tolerances.COMPILED[dtype])
            expected, found = model.loss_backward(0.5, plain), compiled.loss_backward(0.5, quick)
            for g, h in zip(expected, found, strict=True):
                assert (g is None) == (h is None)
                if g is not None:
                    assert (g.dtype, g.shape) == (h.dtype, h.shape)
            # A constant added to a column of H moves nothing: db_A1 is 0 but for rounding.
            assert tree_error(found, expected, floor=1e-2) < tolerances.COMPILED_GRADIENT[dtype]
            again = compiled.loss_backward(0.5, quick)  # nothing in the cache was changed
            assert all((g == h).all() for g, h in zip(found, again, strict=True) if g is not None)


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e12])
def test_a_state_with_all_attention_has_no_gradient(scale: float) -> None:
    """Of large features, one state of each graph has all of its attention: H then moves nothing, in float32 too."""
    rng = np.random.default_rng(0)
    graphs = [as_graph(np.ones((5, 5)) - np.eye(5), scale * rng.standard_normal((5, 3))) for _ in range(12)]
    batch = next(training.make_fast_batches(refine(disjoint_union(graphs)), range(12), 12))
    params, y = init_params(rng, 3, 2, hidden=6, out=4), np.arange(12) % 2
    exact = PiNetParams(*(None if w is None else w.astype(float) for w in params))
    double = next(training.make_fast_batches(refine(disjoint_union(graphs)), range(12), 12, "float64"))
    found = compiled.loss_backward(1.0, compiled.loss_forward(params, batch, y)[1])
    true = model.loss_backward(1.0, model.loss_forward(exact, double, y)[1])
    of_rounding = tolerances.COMPILED_GRADIENT["float32"] * abs(true.W_X0).max()
    for name in ("W_A0", "W_A1"):
        assert abs(getattr(found, name)).max() <= 1.01 * abs(getattr(true, name)).max() + of_rounding


@pytest.mark.parametrize("what", [np.nan, np.inf])
def test_what_is_not_a_number_stays_so(what: float) -> None:
    """A training that diverges must show it: in the loss, and below it in every gradient."""
    rng = np.random.default_rng(0)
    batch = example_fast_batch(example_union(rng))
    params = example_params(rng, 2, bias=True, learned_pq=True)
    params.W_X1[0, 0] = what
    value, cache = compiled.loss_forward(params, batch, np.arange(len(batch.kind)) % 2)
    with np.errstate(invalid="ignore"):
        grads = compiled.loss_backward(1.0, cache)
    assert not np.isfinite(value)
    assert not np.isfinite(grads.W_X0).all()


# With biases all that is compiled for two threads is compiled anew, for 20 seconds.
@pytest.mark.parametrize(("C", "bias"), [(2, False), (3, False), *([(2, True), (3, True)] if WHOLE else [])])
def test_two_threads_give_the_bits_of_one(C: int, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In loss, gradients and Adam's step, of a narrow and of a wide range, and on graphs without nodes."""
    use_form("numba", monkeypatch)
    if not jit._quick_threads() or jit.numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two processors and Numba with OpenMP or TBB")
    rng = np.random.default_rng(C)
    real = next(training.make_fast_batches(refine(load_dataset("MUTAG").graphs), range(50), 50))
    for batch in (real, example_fast_batch(example_union(rng), "float32")):
        y = np.arange(len(batch.kind)) % C
        for wide in (False, True):
            params = init_params(rng, batch.X.shape[1], C, bias=bias, learned_pq=True)
            if wide:
                params = params._replace(W_A1=params.W_A1 * 100)
            ends = []
            for threads in (1, 2, 1):
                with training_threads(threads):
                    value, cache = loss_forward(params, batch, y)
                    grads = loss_backward(1.0, cache)
                    after, state = adam_step(params, grads, adam_init(params))
                ends.append(
                    [np.asarray(value), *(w for tree in (grads, after, state.v) for w in tree if w is not None)]
                )
            assert all((a == b).all() and (a == c).all() for a, b, c in zip(*ends, strict=True))


def test_a_training_on_two_threads_has_the_bits_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("numba", monkeypatch)
    data, ends = isomorphism_dataset(0), []
    for threads in ("1", "2"):
        monkeypatch.setenv("MINIPINET_THREADS", threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where two cannot be had
            state = fit(refine(data.graphs), data.y, np.arange(len(data)), Settings(epochs=2), C=5)
        ends.append([w for w in (*state.params, *state.adam.m, *state.adam.v) if w is not None])
    assert all((a == b).all() for a, b in zip(*ends, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_no_weight_feels_is_zero_in_both_forms(dtype: str) -> None:
    """Cotangents of logits, attention far below its graph's greatest: their products could be denormal."""
    Z = np.array([[0, 60 if dtype == "float32" else 500.0]], dtype)
    kind, y = np.zeros(1, int), np.ones(1, int)
    H, ptr, state = np.array([[0.0], [-28.0], [-31.0]], dtype), np.array([0, 3], np.int32), np.arange(3, dtype=np.int32)
    if dtype == "float64":
        H *= 8
    for form, rows in ((model, numpy_readout), (loss, readout)):
        _, log_probabilities = form.cross_entropy_forward(Z, kind, y)
        assert log_probabilities[0, 1] < 0
        assert (form.cross_entropy_backward(1.0, log_probabilities, kind, y, 1) == 0).all()
        assert rows.below_maximum(H, ptr, state)[:, 0].tolist() == [0.0, H[1, 0], -np.inf]


@pytest.mark.parametrize(("dtype", "allowed"), [("float32", 1e-5), ("float64", 1e-12)])
def test_a_confident_answer_has_its_true_loss_and_gradient(dtype: str, allowed: float) -> None:
    """ln(1 + exp(-40)) is far below the last digit of the logits: in which order they are subtracted matters."""
    rng = np.random.default_rng(0)
    for shift in (0, 100):
        Z = (12 * rng.standard_normal((50, 3)) + shift).astype(dtype)
        kind, y = np.arange(50), Z.argmax(axis=1)
        (_, plain), (_, compiled) = (m.cross_entropy_forward(Z, kind, y) for m in (model, loss))
        np.testing.assert_allclose(compiled, plain, rtol=allowed)
        expected, found = (m.cross_entropy_backward(1.0, plain, kind, y, 50) for m in (model, loss))
        np.testing.assert_allclose(found, expected, rtol=allowed)


def test_adams_step_is_that_in_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        params = init_params(rng, 3, 2, hidden=5, out=4, dtype=dtype)
        grads = type(params)(*(None if w is None else rng.standard_normal(w.shape).astype(dtype) for w in params))
        ends = []
        for form in ("numpy", "numba"):
            use_form(form, monkeypatch)
            after, state = params, adam_init(params)
            for _ in range(3):
                after, state = adam_step(after, grads, state)
            ends.append([*after, *state.m, *state.v])
            turned = type(params)(*(None if w is None else np.asfortranarray(w) for w in params))
            first, straight = (adam_step(w, grads, adam_init(w))[0] for w in (turned, params))
            assert tree_error(first, straight) < tolerances.COMPILED_GRADIENT[dtype]
        for a, b in zip(*ends, strict=True):
            if a is not None:
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(b, a, *tolerances.COMPILED[dtype])


def test_a_training_compiles_a_function_once_for_each_kind_of_network() -> None:
    """Another layout or kind of integer would compile anew, for seconds, in the middle of a training."""
    code = """
import numpy as np
from minipinet.datasets import load_dataset
from minipinet.fast.compiled import adam, loss, model, pooled, propagation, readout, selection
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import fit
modules = (adam, loss, model, pooled, propagation, readout, selection)
def signatures():
    return sum(len(f.signatures) for module in modules for f in vars(module).values() if hasattr(f, "py_func"))
counts = []
FIXED = {"pq": (0.5, 0.5)}
kinds = {}, {"bias": True}, FIXED
for options in (*kinds, {"hidden": 5}, {"out": 7, "l2": 0.1, "bias": True}, {"hidden": 5, **FIXED}):
    for C in (2, 3):
        for dtype in ("float32", "float64"):
            data = load_dataset("MUTAG")
            y = data.y if C == 2 else np.arange(188) % 3
            fit(refine(data.graphs), y, np.arange(188), Settings(epochs=1, dtype=dtype, **options), C=C)
    counts.append(signatures())
print(counts[0] > 12, set(counts[2:]) == {counts[2]})
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), text=True, capture_output=True, timeout=600, check=True
    )
    assert done.stdout == "True True\n"
