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


def test_without_a_folder_to_keep_them_in_functions_are_compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_place(**options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, options)

    monkeypatch.setattr("minipinet.fast.compiled._jit.numba.njit", no_place)
    found: Any = jit.compiled(len)
    assert found[0] is len
    assert "cache" not in found[1]
