"""What launches on a card, on doubles of CuPy's: kernels by name, products, and a captured step."""

from __future__ import annotations

import ctypes
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minipinet.cuda import launch
from minipinet.cuda.launch import CardLauncher
from minipinet.errors import Notice
from tests import tolerances
from tests.tolerances import relative_error


class Recorder:
    """A double of a stream that records what is asked of it; `broken` names what fails."""

    def __init__(self, broken: str | None = None) -> None:
        self.broken, self.calls, self.recording = broken, [], False  # type: ignore[var-annotated]

    def _do(self, what: str) -> None:
        self.calls.append(what)
        if what == self.broken:
            raise RuntimeError(f"{what} is not supported")

    def __enter__(self) -> None:
        self.calls.append("enter")

    def __exit__(self, *_: object) -> None:
        self.calls.append("leave")

    def begin_capture(self) -> None:
        self._do("begin")
        self.recording = True

    def end_capture(self) -> Any:
        self.recording = False
        self._do("end")
        return types.SimpleNamespace(launch=lambda stream: self._do("replay"))


def captured(stream: Recorder, run: Callable[[], None]) -> Callable[[], None]:
    on: Any = CardLauncher.__new__(CardLauncher)
    on.xp = types.SimpleNamespace(cuda=types.SimpleNamespace(Stream=lambda: stream))
    replay: Callable[[], None] = on.capture(run)
    return replay


def test_case_103_a_step_is_captured_after_a_run_and_replayed() -> None:
    stream = Recorder()
    replay = captured(stream, lambda: stream.calls.append("captured" if stream.recording else "run"))
    assert stream.calls == ["enter", "run", "leave", "enter", "begin", "captured", "end", "leave"]
    stream.calls.clear()
    replay()
    replay()
    assert stream.calls == ["replay", "replay"]


@pytest.mark.parametrize("broken", ["begin", "allocate", "end"])
def test_case_103_what_cannot_be_captured_is_launched(broken: str) -> None:
    stream = Recorder(broken)

    def run() -> None:
        stream.calls.append("run")
        if stream.recording and broken == "allocate":
            raise MemoryError("allocate is not supported")

    with pytest.warns(Notice, match=f"could not be captured.*Error: {broken} is not supported"):
        replay = captured(stream, run)
    assert not stream.recording, "the stream would go on recording"
    assert stream.calls[-1] == "leave"
    replay()
    assert stream.calls[-1] == "run"


def test_a_step_that_does_not_run_on_a_stream_is_launched() -> None:
    stream = Recorder()

    def run() -> None:
        if "leave" not in stream.calls:
            raise RuntimeError("no work space on a stream")
        stream.calls.append("run")

    with pytest.warns(Notice, match=r"could not be captured.*RuntimeError: no work space on a stream"):
        replay = captured(stream, run)
    replay()
    assert stream.calls == ["enter", "leave", "run"]


def test_a_library_without_streams_launches() -> None:
    on: Any = CardLauncher.__new__(CardLauncher)
    on.xp = types.SimpleNamespace(cuda=types.SimpleNamespace())
    ran: list[int] = []
    with pytest.warns(Notice, match=r"launched kernel by kernel \(AttributeError: .*Stream"):
        replay = on.capture(lambda: ran.append(1))
    replay()
    assert ran == [1]


def test_kernels_are_compiled_by_name_and_called_with_64_bit_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Module:
        def __init__(self, code: str, options: tuple[str, ...]) -> None:
            assert options == ("-DREAL=float",)
            self.code = code

        def get_function(self, name: str) -> Any:
            assert f"void {name}(" in self.code
            return lambda grid, block, arguments: calls.append((name, grid, block, arguments))

    library = types.SimpleNamespace(RawModule=Module)
    monkeypatch.setattr(launch, "card_library", lambda: library)
    launch._compile.cache_clear()
    on = CardLauncher("float32")
    on("relu_backward", 0, None)
    x = np.zeros(3)
    on("relu_backward", 300, x, None, 7, 0.5)
    launch._compile.cache_clear()
    ((name, grid, block, (first, null, whole, real)),) = calls
    assert (name, grid, block) == ("relu_backward", (3,), (128,))
    assert first is x
    assert (null, null.dtype, null.itemsize) == (0, np.uintp, 8)
    assert (whole, whole.dtype) == (7, np.int64)
    assert (real, real.dtype) == (0.5, np.float64)


def gemm_strided_batched(kind: Any) -> Callable[..., None]:
    """Return the product of NVIDIA's library as its manual has it: C = op(A) op(B), columns one after the other."""

    def multiply(
        handle: int, turn_a: int, turn_b: int, m: int, n: int, k: int, alpha: int, A: int, lda: int, stride_a: int,
        B: int, ldb: int, stride_b: int, beta: int, C: int, ldc: int, stride_c: int, count: int,
    ) -> None:  # fmt: skip
        def matrix(at: int, ld: int, rows: int, columns: int) -> Any:
            numbers = np.ctypeslib.as_array((kind * (ld * columns)).from_address(at))
            return numbers.reshape(columns, ld).T[:rows]

        size = ctypes.sizeof(kind)
        assert (handle, kind.from_address(alpha).value, kind.from_address(beta).value) == (7, 1, 0)
        for i in range(count):
            a = matrix(A + i * stride_a * size, lda, *((k, m) if turn_a else (m, k)))
            b = matrix(B + i * stride_b * size, ldb, *((n, k) if turn_b else (k, n)))
            matrix(C + i * stride_c * size, ldc, m, n)[:] = (a.T if turn_a else a) @ (b.T if turn_b else b)

    return multiply


def there(x: Any) -> Any:
    """Return what a product asks of an array of CuPy's."""
    return types.SimpleNamespace(
        data=types.SimpleNamespace(ptr=x.ctypes.data), shape=x.shape, dtype=x.dtype, size=x.size
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axes", [(3,), (2, 3), (1, 1)])
@pytest.mark.parametrize("turned", [None, "a", "b"])
def test_products_are_those_of_numpy(dtype: str, axes: tuple[int, ...], turned: Any, monkeypatch: Any) -> None:
    cublas = types.SimpleNamespace(
        sgemmStridedBatched=gemm_strided_batched(ctypes.c_float),
        dgemmStridedBatched=gemm_strided_batched(ctypes.c_double),
    )
    library = types.SimpleNamespace(cuda=types.SimpleNamespace(cublas=cublas, get_cublas_handle=lambda: 7))
    monkeypatch.setattr(launch, "card_library", lambda: library)
    monkeypatch.setattr(launch, "_compile", lambda real: {})
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((*axes, *sizes)).astype(dtype) for sizes in ((4, 5), (5, 2)))
    expected, out = a @ b, np.full((*axes, 4, 2), np.nan, dtype)
    given = {"a": a.swapaxes(-1, -2).copy() if turned == "a" else a, "b": b.swapaxes(-1, -2).copy()}
    CardLauncher(dtype).product(*map(there, (given["a"], given["b"] if turned == "b" else b, out)), turned=turned)
    assert relative_error(out, expected) < (
        tolerances.ORACLE_FLOAT64 if dtype == "float64" else tolerances.ORACLE_FLOAT32
    )
