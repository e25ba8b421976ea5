"""The compiled passes against those in NumPy, argument by argument, and where training takes which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.batch import SelectedRows
from minipinet.fast import numpy_passes, passes
from minipinet.fast.adam import adam_step
from minipinet.optim import adam_init
from minipinet.params import init_params
from tests import tolerances
from tests.passes import use_passes
from tests.small_data import environment
from tests.tolerances import tree_error

numba_passes = pytest.importorskip("minipinet.fast.numba_passes", reason="needs Numba (the extra 'numba')")

Result = tuple[Array, ...]


def drawn(dtype: str, seed: int = 0) -> dict[str, Any]:
    """Return what the passes take: a matrix with an empty row, a graph without nodes, a state in no graph."""
    rng = np.random.default_rng(seed)

    def floats(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(dtype)

    rows = SelectedRows(
        np.array([0, 3, 4, 6, 8], np.int32), np.array([0, 1, 2, 1, 0, 2, 1, 2], np.int32),
        np.array([0, 1, 2, 0, 1, 0.5, 1, 3], dtype), np.array([0, 3, 5, 6], np.int32), np.array([3, 0, 4], dtype),
    )  # fmt: skip
    ptr, state = np.array([0, 2, 2, 5], np.int32), np.array([0, 3, 1, 0, 3], np.int32)
    return {
        "rows": rows, "p": np.array([0, 0.5], dtype), "q": np.array([1, 0.25], dtype), "M": floats(2, 3, 5),
        "dH": floats(2, 4, 5), "ptr": ptr, "state": state, "count": np.array([1, 2, 3, 1, 1], dtype),
        "H": floats(4, 5) * 100, "T": floats(4, 5), "dz": floats(3), "Z": floats(4, 6), "dP": floats(3, 5, 6),
        "logits": floats(3, 4) * 50, "kind": np.array([2, 0, 0, 1]), "y": np.array([0, 1, 3, 2]),
    }  # fmt: skip


def propagate(m: Any, d: dict[str, Any]) -> Result:
    found: Result = m.propagate_forward(*d["rows"], d["M"], d["p"], d["q"])
    return found


def propagate_back(m: Any, d: dict[str, Any], learned: bool = True) -> Result:
    H, a, s = propagate(numpy_passes, d)
    indptr, indices, _, at_own, deg = d["rows"]
    return tuple(m.propagate_backward(indptr, indices, at_own, deg, d["dH"], d["M"], H, a, s, learned))


def relu(m: Any, d: dict[str, Any]) -> Result:
    dR, R = d["T"][None].copy(), (d["H"] * (d["H"] > 0))[None]
    R[0, 0, 0] = np.nan  # not above 0
    dR[0, 1] = np.nan  # stays
    m.relu_backward(dR, R)
    return (dR,)


def entrywise(m: Any, d: dict[str, Any]) -> Result:
    return m.below_maximum(d["H"], d["ptr"], d["state"]), m.sum_by_state(d["T"][d["state"]], d["state"], 4)


def quotients(m: Any, d: dict[str, Any]) -> Result:
    e = np.exp(d["H"] / 100)
    den, R = m.quotients_forward(d["ptr"], d["state"], d["count"], e, d["T"])
    dH, dT = np.full_like(e, np.nan), np.full_like(e, np.nan)
    m.quotients_backward(d["dz"], d["ptr"], d["state"], d["count"], e, d["T"], den, R, dH, dT)
    return den, R, dH, dT


def pool(m: Any, d: dict[str, Any]) -> Result:
    e = np.exp(d["H"] / 100)[d["state"]]
    P, inverse, Y = m.pool_forward(d["ptr"], d["state"], e, d["Z"])
    dH, dZ = np.full_like(d["H"], np.nan), np.full_like(d["Z"], np.nan)
    m.pool_backward(d["dP"], d["ptr"], d["state"], e, Y, P, inverse, dH, dZ)
    return P, inverse, Y, dH, dZ


def cross_entropy(m: Any, d: dict[str, Any]) -> Result:
    loss, log_probabilities = m.cross_entropy_forward(d["logits"], d["kind"], d["y"])
    dkinds = m.cross_entropy_backward(0.5, log_probabilities, d["kind"], d["y"], 3)
    return np.array(loss, d["logits"].dtype), log_probabilities, dkinds


def gate(m: Any, d: dict[str, Any]) -> Result:
    return (m.gate(np.array([0, 1e4, -1e4, 0.3], d["p"].dtype)),)


CASES = {f.__name__: f for f in (propagate, propagate_back, relu, entrywise, quotients, pool, cross_entropy, gate)}
CASES["propagate_back_fixed"] = lambda m, d: propagate_back(m, d, learned=False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_a_pass_is_that_in_numpy(name: str, dtype: str) -> None:
    for seed in range(3):
        expected, found = (CASES[name](module, drawn(dtype, seed)) for module in (numpy_passes, numba_passes))
        for a, b in zip(expected, found, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_allclose(b, a, *tolerances.PASSES[dtype])


@pytest.mark.parametrize(("dtype", "allowed"), [("float32", 1e-5), ("float64", 1e-12)])
def test_a_confident_answer_has_its_true_loss_and_gradient(dtype: str, allowed: float) -> None:
    """ln(1 + exp(-40)) is far below the last digit of the logits: in which order they are subtracted matters."""
    rng = np.random.default_rng(0)
    for shift in (0, 100):
        Z = (12 * rng.standard_normal((50, 3)) + shift).astype(dtype)
        kind, y = np.arange(50), Z.argmax(axis=1)
        (_, plain), (_, compiled) = (m.cross_entropy_forward(Z, kind, y) for m in (numpy_passes, numba_passes))
        np.testing.assert_allclose(compiled, plain, rtol=allowed)
        expected, found = (m.cross_entropy_backward(1.0, plain, kind, y, 50) for m in (numpy_passes, numba_passes))
        np.testing.assert_allclose(found, expected, rtol=allowed)


def test_both_modules_have_the_same_passes() -> None:
    compiled = set(numba_passes.__all__) - {"adam"}
    plain = {
        name for name, value in vars(numpy_passes).items() if getattr(value, "__module__", "") == numpy_passes.__name__
    }
    assert compiled == plain - {"add_product", "add_transposed_product"}


def test_adams_step_is_that_in_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        params = init_params(rng, 3, 2, hidden=5, out=4, dtype=dtype)
        grads = type(params)(*(None if w is None else rng.standard_normal(w.shape).astype(dtype) for w in params))
        ends = []
        for form in ("numpy", "numba"):
            use_passes(form, monkeypatch)
            after, state = params, adam_init(params)
            for _ in range(3):
                after, state = adam_step(after, grads, state)
            ends.append([*after, *state.m, *state.v])
            turned = type(params)(*(None if w is None else np.asfortranarray(w) for w in params))
            first, _ = adam_step(turned, grads, adam_init(turned))
            assert tree_error(first, adam_step(params, grads, adam_init(params))[0]) == 0
        for a, b in zip(*ends, strict=True):
            if a is not None:
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(b, a, *tolerances.PASSES[dtype])


def test_a_training_compiles_a_pass_once_for_each_dtype() -> None:
    """Another layout or kind of integer would compile anew, for a second, in the middle of a training."""
    code = """
import numpy as np
from minipinet.datasets import load_dataset
from minipinet.fast import numba_passes, selection
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import fit
for C in (2, 3):
    for dtype in ("float32", "float64"):
        for options in ({}, {"bias": True, "pq": (0.5, 0.5), "l2": 0.1}, {"hidden": 5}):
            data = load_dataset("MUTAG")
            y = data.y if C == 2 else np.arange(188) % 3
            fit(refine(data.graphs), y, np.arange(188), Settings(epochs=1, dtype=dtype, **options), C=C)
compiled = {**vars(numba_passes), **vars(selection)}.items()
found = {name: len(f.signatures) for name, f in compiled if hasattr(f, "py_func")}
print({name: n for name, n in found.items() if n > 2}, sum(n > 0 for n in found.values()) > 12)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), text=True, capture_output=True, timeout=300, check=True
    )
    assert done.stdout == "{'adam': 4} True\n"  # matrices and vectors


def test_numba_can_be_left_aside() -> None:
    code = "from minipinet.fast import passes; print(passes.compiled_passes())"
    for value, expected in (("0", "None\n"), ("1", "<module 'minipinet.fast.numba_passes'")):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**environment(), "MINIPINET_NUMBA": value},
            text=True, capture_output=True, timeout=120, check=True,
        )  # fmt: skip
        assert done.stdout.startswith(expected)


def test_only_numpys_floats_of_one_dtype_are_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(np.ndarray[Any, Any]):
        pass

    f, d = np.zeros(2, np.float32), np.zeros(2)
    assert passes.compiled_for(f, f) is passes.compiled_for(d) is numba_passes
    for arrays in ((f, d), (d.astype(complex),), (f.view(Other),), (f.astype(np.float16),)):
        assert passes.compiled_for(*arrays) is None
    use_passes("numpy", monkeypatch)
    assert passes.compiled_for(f) is None


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
    from minipinet.fast import _jit

    def no_place(**options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, options)

    monkeypatch.setattr("minipinet.fast._jit.numba.njit", no_place)
    found: Any = _jit.compiled(len)
    assert found[0] is len
    assert "cache" not in found[1]
