"""Whether a card can be computed on, and what is said where it cannot."""

from __future__ import annotations

import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet import _array, _card
from minipinet._card import OLDEST_CUPY, card_failures, card_problem, check_device
from minipinet.errors import CardError, Notice, UsageError


@pytest.mark.parametrize(
    ("device", "shown"),
    [
        (np.array(["cpu", "cuda"]), r"array\(\['cpu', 'cuda'\], dtype='<U4'\)"),
        (np.zeros((40, 40)), r"array\(\[\[0\., 0\., 0\., .*"),
        (["cuda"], r"\['cuda'\]"),
        (None, "None"),
        ("gpu", "'gpu'"),
    ],
)
def test_what_is_no_device_is_told_in_one_sentence(device: Any, shown: str) -> None:
    with pytest.raises(UsageError, match=f"^device: expected 'cpu', 'cuda' or 'auto', got {shown}$") as told:
        check_device(device)
    assert len(str(told.value)) < 140


class CompileException(Exception):  # noqa: N818
    """What CuPy raises where the compiler of kernels does not work."""


class CUDARuntimeError(Exception):
    """What CuPy raises where there is no driver or no card."""


class DynamicLibNotFoundError(Exception):
    """What it raises where NVIDIA's libraries are not."""


class OutOfMemoryError(MemoryError):
    """What it raises where others have all of a card's memory."""


INSTALL = r"pip install 'minipinet\[cuda12\]' or, in the project's folder, -e '\.\[cuda12\]' \(cuda13 .* CUDA 13\)"
NO_CARD = "there is no NVIDIA driver or card, or the driver is too old for this CuPy"
LACKS = f"CuPy lacks a library of NVIDIA's, or finds that of another CUDA: {INSTALL}"


def stand_in(
    count: Any = 1, version: str = "13.4.0", compiler: Any = 2, product: Any = None, sparse: Any = 1, matmul: Any = 1
) -> types.ModuleType:
    """Return a module named like the card's library, as far as it is asked.

    `count` and `compiler` are what devices there are and by what a kernel multiplies, or the error that asking raises;
    `product` is the error of a product, and `matmul` and `sparse` factors of the library's own and of one with a sparse
    matrix, or their errors.
    """
    module = types.ModuleType("cupy")  # without a __spec__

    def answer(value: Any) -> Any:
        if isinstance(value, BaseException):
            raise value
        return value

    def raw_module(code: str, options: tuple[str, ...]) -> Any:
        factor = answer(compiler)

        def kernel(grid: Any, block: Any, arguments: Any) -> None:
            assert (grid, block) == ((1,), (4,))
            arguments[0][:] *= factor

        assert "void twice(float *x)" in code
        return types.SimpleNamespace(get_function={"twice": kernel}.__getitem__)

    def multiply(a: Any, b: Any, out: Any) -> None:
        answer(product)
        out[:] = a @ b

    def csr(*parts: Any) -> Any:
        data, *structure = parts
        return _array.csr(answer(sparse) * data, *structure)

    runtime = types.SimpleNamespace(getDeviceCount=lambda: answer(count))
    vars(module).update(
        __version__=version, cuda=types.SimpleNamespace(runtime=runtime), arange=np.arange, RawModule=raw_module,
        empty=np.empty, multiply_by_cublas=multiply, csr=csr,
        matmul=lambda a, b: answer(matmul) * (a @ b),
    )  # fmt: skip
    return module


@pytest.fixture(autouse=True)
def products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave products to the stand-in: tests/test_cublas.py has the calls themselves."""
    monkeypatch.setattr(_card, "csr", lambda *parts: sys.modules["cupy"].csr(*parts))
    monkeypatch.setattr(_card, "_cublas", lambda library: types.SimpleNamespace(product=library.multiply_by_cublas))


@pytest.mark.parametrize(
    ("library", "problem"),
    [
        (stand_in(0), "there is no NVIDIA card"),
        (
            stand_in(RuntimeError("no driver\nat all")),
            r"CuPy finds no card that works \(RuntimeError: no driver at all\)",
        ),
        (stand_in(version="7.0.0"), r"expected CuPy 13\.4 or later, got 7\.0\.0"),
        (stand_in(version="13.3.0"), r"expected CuPy 13\.4 or later, got 13\.3\.0"),
        (stand_in(version="13.3a1"), r"expected CuPy 13\.4 or later, got 13\.3a1$"),
        (stand_in(version="13"), r"expected CuPy 13\.4 or later, got 13$"),
        (stand_in(version="unknown"), r"expected CuPy 13\.4 or later, got unknown$"),
        (
            types.ModuleType("cupy"),
            r"CuPy finds no card that works \(AttributeError: module 'cupy' has no attribute 'cuda'\)$",
        ),
        (
            stand_in(compiler=CompileException("nvrtc: error: no libnvrtc-builtins.so")),
            rf"{LACKS} \(CompileException: nvrtc: error: no libnvrtc-builtins\.so\)",
        ),
        (
            stand_in(product=ImportError("no libcublas.so.12")),
            rf"{LACKS} \(ImportError: no libcublas\.so\.12\)",
        ),
        # What CuPy 14.2 raises where there is no driver, no card, and without its extra ctk.
        (
            stand_in(CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")),
            rf"{NO_CARD} \(CUDARuntimeError: cudaErrorInsufficientDriver: CUDA driver",
        ),
        (
            stand_in(CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")),
            rf"{NO_CARD} \(CUDARuntimeError: cudaErrorNoDevice: no CUDA-capable device",
        ),
        (
            stand_in(compiler=DynamicLibNotFoundError('Failure finding "libnvrtc.so.13 or libnvrtc.so.12"')),
            rf'{LACKS} \(DynamicLibNotFoundError: Failure finding "libnvrtc\.so\.13',
        ),
        (
            stand_in(product=ImportError('Failure finding "libcublasLt.so.13 or libcublasLt.so.12"')),
            rf'{LACKS} \(ImportError: Failure finding "libcublasLt\.so\.13',
        ),
        (
            stand_in(sparse=DynamicLibNotFoundError('Failure finding "libcusparse.so.12"')),
            rf'{LACKS} \(DynamicLibNotFoundError: Failure finding "libcusparse\.so\.12',
        ),
        (
            stand_in(compiler=OutOfMemoryError("Out of memory allocating 33,554,432 bytes")),
            r"the card has no memory left \(OutOfMemoryError: Out of memory allocating 33,554,432 bytes\)",
        ),
        (
            stand_in(compiler=3),
            r"the card doubles 0, 1, 2 and 3 to \[0\.0, 3\.0, 6\.0, 9\.0\], with the products \[18",
        ),
        (
            stand_in(matmul=ImportError("libcublas.so.12: cannot open shared object file")),
            rf"{LACKS} \(ImportError: libcublas\.so\.12: cannot open shared object file\)",
        ),
        (
            stand_in(matmul=2),
            r"the card doubles 0, 1, 2 and 3 to .*, by CuPy \[16\.0, 24\.0, 48\.0, 88\.0\], and the squares",
        ),
        (
            stand_in(sparse=2),
            r"the card doubles 0, 1, 2 and 3 to \[0\.0, 2.* and the squares \[0\.0, 8\.0, 32\.0, 72\.0\]$",
        ),
        (None, f"CuPy is not installed: {INSTALL}$"),
    ],
)
def test_case_098_what_is_missing_is_said(
    library: types.ModuleType | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", library)  # None: an import of it fails
    with pytest.raises(UsageError, match=f"^device: 'cuda' cannot be used here: {problem}"):
        check_device("cuda")
    with pytest.warns(Notice, match=f"^device: 'auto' comes to 'cpu': {problem}"):
        assert check_device("auto") == "cpu"
    assert check_device("cpu") == "cpu"


def test_case_098_a_library_that_breaks_on_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cupy.py").write_text("raise OSError('libcuda.so.1: no such file')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert card_problem() == "CuPy finds no card that works (OSError: libcuda.so.1: no such file)"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "try:\n    raise ImportError('libcuda.so.1: no such file')\n"
            "except ImportError as error:\n"
            "    raise ImportError('=' * 64 + '\\nFailed to import CuPy.\\n\\n' + 300 * 'Read this first. ' +"
            " f'\\n\\nOriginal error:\\n  ImportError: {error}\\n' + '=' * 64) from None",
            "ImportError: libcuda.so.1: no such file",
        ),
        (
            "try:\n    import no.such.module\n"
            "except ImportError as error:\n    raise RuntimeError('A banner') from error",
            "ModuleNotFoundError: No module named 'no'",
        ),
        (
            "raise RuntimeError('=' * 64 + '\\nCUDA not found\\x1b[31m\\x00 red')",
            "RuntimeError: CUDA not found [31m red",
        ),
        ("import sys\nsys.exit('cupy: no')", "SystemExit: cupy: no"),
        ("raise OSError('x' * 1000)", f"OSError: {'x' * 191}"),
    ],
)
def test_the_reason_is_the_cause_in_one_short_line(
    source: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cupy.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert card_problem() == f"CuPy finds no card that works ({reason})"


@pytest.mark.parametrize("cuda", ["12", "13"])
def test_the_extra_has_nvidia_s_libraries_and_a_cupy_that_is_tried(cuda: str) -> None:
    text = (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    (extra,) = tomllib.loads(text)["project"]["optional-dependencies"][f"cuda{cuda}"]
    name, _, oldest = extra.partition(">=")
    assert name == f"cupy-cuda{cuda}x[ctk]"
    # CuPy 13 has no extra ctk.
    assert (int(oldest),) >= (14,) > OLDEST_CUPY


@pytest.mark.parametrize("version", ["13.4.0", "13.10.1", "13.6.0rc1", "14.0a1", "14", "14.0.0rc1"])
def test_a_card_that_works_is_used(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", stand_in(version=version))
    assert card_problem() is None
    assert check_device("auto") == check_device("cuda") == "cuda"


def test_a_card_is_tried_once_until_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = stand_in()
    tries: list[int] = []
    monkeypatch.setitem(sys.modules, "cupy", library)
    count = library.cuda.runtime.getDeviceCount

    def counted() -> int:
        tries.append(1)
        return int(count())

    monkeypatch.setattr(library.cuda.runtime, "getDeviceCount", counted)
    for _ in range(3):
        assert check_device("cuda") == "cuda"
    assert len(tries) == 1
    failure = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy_backends.cuda.api.runtime"})
    with pytest.raises(CardError, match="failed on"), card_failures("less"):
        raise failure("cudaErrorDevicesUnavailable")
    assert check_device("cuda") == "cuda"
    assert len(tries) == 2
