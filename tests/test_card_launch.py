"""What launches on a card, on doubles of CuPy's: kernels by name, and a captured step."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minipinet.cuda import launch
from minipinet.cuda.launch import CardLauncher
from minipinet.errors import Notice


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
    monkeypatch.setattr(launch, "Cublas", lambda library: None)  # tests/test_cublas.py
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
