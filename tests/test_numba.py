"""When training takes the compiled form, and what it says of Numba: absent, broken, compiling, on two threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minipinet.errors import UsageError
from minipinet.fast import training
from minipinet.fast.training import compiled_for, training_threads
from minipinet.params import init_params
from tests.forms import use_form
from tests.small_data import environment

pytest.importorskip("numba", reason="needs Numba (the extra 'numba')")
compiled = pytest.importorskip("minipinet.fast.compiled.model")
jit = pytest.importorskip("minipinet.fast.compiled._jit")


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
    training._say_that_one_thread_is_left.cache_clear()
    with pytest.warns(UserWarning, match="training goes on with one"), training_threads(2):
        pass


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
    assert capsys.readouterr().err.count("Numba compiles what this machine") == 1


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


def test_without_a_folder_to_keep_them_in_functions_are_compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_place(*_: Any) -> Any:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(jit, "_Kept", no_place)
    assert jit.compiled(lambda x: x + 1)(1) == 2


#: Selection alone, a handful of functions: all of them take as long to compile as a minute of tests.
PROGRAM = """
from minipinet.datasets import load_dataset
from minipinet.fast.training import compiled_form, make_fast_batches
from minipinet.quotient import refine
batch = next(make_fast_batches(refine(load_dataset("MUTAG")[:9].graphs), range(9), 9))
print(compiled_form() is not None, batch.X.shape[1])
"""


def test_a_damaged_cache_is_made_anew_and_a_full_one_left(tmp_path: Path) -> None:
    def run(limit: str = "") -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-W", "always", "-c", limit + PROGRAM],
            env={**environment(), "NUMBA_CACHE_DIR": str(tmp_path)},
            text=True, capture_output=True, timeout=300, check=True,
        )  # fmt: skip
        return done.stdout, done.stderr

    # A disk with room for the first function alone.
    out, err = run("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))\n")
    assert out == "True 7\n"
    assert err.count("so the next run does it again") == 1
    assert str(tmp_path) in err
    assert run() == ("True 7\n", "")
    kept = [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]
    assert len(kept) > 6
    for k, path in enumerate(kept):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if k % 2 else b"")
    assert run() == ("True 7\n", "")
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbi")}
    assert run() == ("True 7\n", "")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbi")} == times  # whole again, and read


def test_a_listener_of_numbas_compilations_never_stands_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): return x + 1", namespace)  # a function without a module
    assert jit.numba.njit(namespace["f"])(1) == 2
    monkeypatch.setattr(sys, "stderr", None)
    assert jit.compiled(lambda x: x + 2)(1) == 3


@pytest.mark.parametrize("layer", ["tbb", "nonsense", "workqueue"])
def test_a_pool_of_threads_that_is_not_there_leaves_one(layer: str) -> None:
    code = """
import warnings
from threading import Thread
from minipinet.fast.compiled._jit import numba, two_threads
from minipinet.fast.training import training_threads
def train():
    with training_threads(2), two_threads() as able:
        found.append(able)
found = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    threads = [Thread(target=train) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(set(found) <= {numba.config.NUMBA_NUM_THREADS >= 2 and numba.config.THREADING_LAYER == "tbb", False}, len(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment(), "NUMBA_THREADING_LAYER": layer},
        text=True, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout == "True 4\n"
