"""The compiled form against that in NumPy, and when training takes which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minipinet.datasets import isomorphism_dataset, load_dataset
from minipinet.errors import UsageError
from minipinet.fast import model, training
from minipinet.fast.training import adam_step, compiled_for, training_threads
from minipinet.optim import adam_init
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import fit
from minipinet.verify.fast_pairs import example_fast_batch
from minipinet.verify.pairs import example_params, example_union
from tests import tolerances
from tests.forms import use_form
from tests.small_data import environment
from tests.tolerances import tree_error

pytest.importorskip("numba", reason="needs Numba (the extra 'numba')")
compiled = pytest.importorskip("minipinet.fast.compiled.model")
loss = pytest.importorskip("minipinet.fast.compiled.loss")
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


def test_two_threads_give_the_bits_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("numba", monkeypatch)
    if not jit._quick_threads() or jit.numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two processors and Numba with OpenMP or TBB")
    for data in (load_dataset("MUTAG"), isomorphism_dataset(0)):
        settings, index = Settings(epochs=2), np.arange(len(data))
        ends = []
        for threads in ("1", "2", "1"):
            monkeypatch.setenv("MINIPINET_THREADS", threads)
            state = fit(refine(data.graphs), data.y, index, settings, C=data.num_classes)
            ends.append([w for w in (*state.params, *state.adam.m, *state.adam.v) if w is not None])
        assert all((a == b).all() and (a == c).all() for a, b, c in zip(*ends, strict=True))


def test_two_threads_do_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops for two are compiled apart from those for one, and Numba's own number of threads comes back."""
    use_form("numba", monkeypatch)
    before = jit.numba.get_num_threads()
    with training_threads(2):
        able = jit._two_threads.get()
        assert jit.numba.get_num_threads() == (2 if able else before)
    assert jit.numba.get_num_threads() == before
    assert not jit._two_threads.get()
    seen: list[str] = []

    def compile_as(function: Any, _: set[str], parallel: Any = False) -> Any:
        return lambda: seen.append(
            f"{function.__name__} as {function.__qualname__.rpartition('.')[2]}, {bool(parallel)}"
        )

    monkeypatch.setattr(jit, "_compiled", compile_as)

    def loop() -> None:
        """Do nothing."""

    call = jit.halving(loop)
    call()
    token = jit._two_threads.set(True)
    call()
    jit._two_threads.reset(token)
    assert seen == ["loop as loop, False", "loop as loop_on_two, True"]


@pytest.mark.parametrize("threads", ["0", "3", "two", ""])
def test_a_number_of_threads_is_one_or_two(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIPINET_THREADS", threads)
    with pytest.raises(UsageError, match=f"^MINIPINET_THREADS: expected 1 or 2, got '{threads}'$"), training_threads():
        pass


def test_two_threads_that_cannot_be_had_are_passed_over_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("numpy", monkeypatch)
    with pytest.warns(UserWarning, match="training goes on with one"), training_threads(2):
        pass


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


def test_a_terminal_is_told_once_that_a_step_is_being_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def happened(module: str) -> Any:
        return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})

    told = jit._Told()
    told.on_start(happened(compiled.__name__))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    told.on_start(happened("another.module"))
    assert capsys.readouterr().err == ""
    for _ in range(2):
        told.on_start(happened(compiled.__name__))
    assert capsys.readouterr().err.count("Numba compiles the training step") == 1


def test_numba_can_be_left_aside() -> None:
    code = "from minipinet.fast.training import compiled_form; print(compiled_form())"
    for value, expected in (("0", "None\n"), ("1", "{'model': <module 'minipinet.fast.compiled.model'")):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**environment(), "MINIPINET_NUMBA": value},
            text=True, capture_output=True, timeout=120, check=True,
        )  # fmt: skip
        assert done.stdout.startswith(expected)


def test_only_numpys_floats_of_one_dtype_in_c_order_are_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(np.ndarray[Any, Any]):
        pass

    single, double = (init_params(np.random.default_rng(0), 3, 2, hidden=5, out=4, dtype=d) for d in ("f4", "f8"))
    assert compiled_for(single) is compiled_for(single, single) is compiled_for(double) is not None
    W = single.W_D
    for other in (W.astype(float), W.astype(complex), W.view(Other), W.astype(np.float16), np.asfortranarray(W)):
        assert compiled_for(single._replace(W_D=other)) is None
    locked = W.copy()
    locked.flags.writeable = False
    assert compiled_for(single._replace(W_D=locked)) is None
    use_form("numpy", monkeypatch)
    assert training.compiled_form() is None


FAKE = {
    "import": "raise ImportError('Numba needs NumPy 2.4 or less. Got NumPy 9.0.')",
    "other": "raise OSError('libLLVM.so: cannot open shared object file')",
    "old": "__version__ = '0.1'",
}


@pytest.mark.parametrize("kind", FAKE)
def test_a_numba_that_does_not_work_is_passed_over_with_a_notice(kind: str, tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text(FAKE[kind] + "\n", encoding="utf-8")
    code = """
from minipinet.datasets import load_dataset
from minipinet.runs import train_pinet
from minipinet.settings import Settings
print(type(train_pinet(load_dataset("MUTAG"), Settings(epochs=1))).__name__)
"""
    paths = f"{tmp_path}{os.pathsep}{environment()['PYTHONPATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], env={**environment(), "PYTHONPATH": paths},
        text=True, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout == "Trained\n"
    assert done.stderr.count("Numba is installed and cannot be used") == 1
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_told_before_training(tmp_path: Path) -> None:
    code = """
import resource
from minipinet.datasets import load_dataset
from minipinet.runs import train_pinet
from minipinet.settings import Settings
data = load_dataset("MUTAG")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(type(train_pinet(data, Settings(epochs=1))).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment(), "NUMBA_CACHE_DIR": str(tmp_path)},
        text=True, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout == "Trained\n"
    assert done.stderr.count("Numba is installed and cannot be used") == 1
    assert "File too large" in done.stderr


def test_without_a_folder_to_keep_them_in_passes_are_compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_place(**options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, options)

    monkeypatch.setattr("minipinet.fast.compiled._jit.numba.njit", no_place)
    found: Any = jit.compiled(len)
    assert found[0] is len
    assert "cache" not in found[1]
