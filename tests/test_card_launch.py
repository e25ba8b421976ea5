"""What launches on a card, on doubles of CuPy's: kernels by name, and a captured step."""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from minipinet.cuda import launch
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import CardLauncher
from minipinet.cuda.training import Card
from minipinet.datasets import load_dataset
from minipinet.errors import Notice
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from tests.device_stand_in import Device, use_stand_in
from tests.kernels_on_host import HostLauncher
from tests.tolerances import tree_error


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
        return types.SimpleNamespace(launch=lambda stream=None: self._do("replay" if stream is None else "elsewhere"))

    def synchronize(self) -> None:
        self.calls.append("wait")


def captured(stream: Recorder, run: Callable[[], None]) -> Callable[[], None] | None:
    on: Any = CardLauncher.__new__(CardLauncher)
    here = types.SimpleNamespace(synchronize=lambda: stream.calls.append("wait for the caller's"))

    def new_stream(non_blocking: bool) -> Recorder:
        assert non_blocking, "what other threads do on the default stream would fail"
        return stream

    on.xp = types.SimpleNamespace(cuda=types.SimpleNamespace(Stream=new_stream, get_current_stream=lambda: here))
    replay: Callable[[], None] | None = on.capture(run)
    return replay


def test_case_103_a_step_is_captured_after_a_run_and_replayed() -> None:
    stream = Recorder()
    replay = captured(stream, lambda: stream.calls.append("captured" if stream.recording else "run"))
    assert stream.calls == ["wait for the caller's", "enter", "run", "wait", "begin", "captured", "end", "leave"]
    stream.calls.clear()
    assert replay is not None
    replay()
    replay()
    assert stream.calls == ["replay", "replay"]


def test_why_a_step_is_not_captured_is_what_failed_first() -> None:
    stream = Recorder("end")

    def run() -> None:
        if stream.recording:
            raise RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")

    with pytest.warns(Notice, match="could not be captured.*CUBLAS_STATUS_ALLOC_FAILED"):
        captured(stream, run)
    assert stream.calls[-2:] == ["end", "leave"]


@pytest.mark.parametrize("broken", ["begin", "allocate", "end"])
def test_case_103_what_cannot_be_captured_is_launched(broken: str) -> None:
    stream = Recorder(broken)

    def run() -> None:
        stream.calls.append("run")
        if stream.recording and broken == "allocate":
            raise MemoryError("allocate is not supported")

    with pytest.warns(Notice, match=f"could not be captured.*Error: {broken} is not supported"):
        assert captured(stream, run) is None
    assert not stream.recording, "the stream would go on recording"
    assert stream.calls[-1] == "leave"


class Recording(HostLauncher):
    """Captures as a card does, itself the stream: what is launched while it records is not run before the replay."""

    recorded: list[Callable[[], None]] | None = None
    captures = replays = 0
    refuses = False

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype)
        self.kept: list[Any] = []  # arrays that were freed would give their memory to the next ones

    def capture(self, run: Callable[[], None]) -> Callable[[], None] | None:  # type: ignore[override]
        self.xp.cuda = types.SimpleNamespace(Stream=lambda non_blocking: self, get_current_stream=lambda: self)
        capture: Any = CardLauncher.capture
        replay: Callable[[], None] | None = capture(self, run)
        return replay

    def values(self, arguments: tuple[Any, ...]) -> list[Any]:
        self.kept.append(arguments)
        return super().values(arguments)

    def run(self, *launched: Any) -> None:
        self._now_or_later(partial(super().run, *launched))

    def product(self, *operands: Any, **turned: Any) -> None:
        self._now_or_later(partial(super().product, *operands, **turned))

    def _now_or_later(self, launched: Callable[[], None]) -> None:
        launched() if self.recorded is None else self.recorded.append(launched)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def synchronize(self) -> None: ...

    def begin_capture(self) -> None:
        if self.refuses:
            raise RuntimeError("no graphs")
        self.recorded = []
        self.captures += 1

    def end_capture(self) -> Any:
        recorded, self.recorded = self.recorded, None

        def replay() -> None:
            self.replays += 1
            for launched in recorded or ():
                launched()

        return types.SimpleNamespace(launch=replay)


class Refusing(Recording):
    refuses = True


@pytest.mark.filterwarnings("ignore:.*could not be captured:minipinet.errors.Notice")
@pytest.mark.parametrize("kind", [Recording, Refusing])
def test_case_103_a_training_by_replays_is_that_by_launches(
    kind: type[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a step did beside its kernels would be done once, while it is recorded, and in no replay."""
    use_stand_in(monkeypatch)
    data, settings = load_dataset("MUTAG")[:30], Settings(batch_size=8, bias=True, l2=1e-3)
    folds = [init_params(np.random.default_rng(k), 7, 2, hidden=5, out=4, bias=True) for k in range(2)]
    orders, found = [np.arange(30)[::-1], np.arange(10)], []
    for on, captured in ((kind("float32"), True), (HostLauncher("float32"), False)):
        card = Card(on, [graph_table(refine(data.graphs), data.y)], folds, 30, settings, captured=captured)
        card.load(folds, [adam_init(params) for params in folds])
        sums = [card.epoch(orders) for _ in range(3)]
        found.append((sums, *card.read()))
        if isinstance(on, Recording):
            assert on.captures == (not on.refuses), "once"
            assert on.replays == 12 * (not on.refuses), "four batches in each of three epochs"
    assert tree_error(*found) == 0
    assert [adam.step for adam in found[0][2]] == [12, 6]


@pytest.mark.filterwarnings("ignore:.*could not be captured:minipinet.errors.Notice")
@pytest.mark.parametrize("to_capture", [True, False])
@pytest.mark.parametrize("kind", [HostLauncher, Recording, Refusing])
def test_what_is_over_leaves_the_card_at_once(
    kind: type[HostLauncher], to_capture: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python looks for circles when there are many objects, not when a card has little memory left."""
    use_stand_in(monkeypatch)
    data = load_dataset("MUTAG")[:30]
    params = init_params(np.random.default_rng(0), 7, 2, hidden=5, out=4)
    table = graph_table(refine(data.graphs), data.y)
    card = Card(kind("float32"), [table], [params], 30, Settings(batch_size=8), captured=to_capture)
    card.load([params], [adam_init(params)])
    card.epoch([np.arange(30)])
    kept = weakref.ref(card)
    gc.disable()
    try:
        del card
        assert kept() is None
    finally:
        gc.enable()


def test_a_step_that_does_not_run_on_a_stream_is_not_captured() -> None:
    """What it launched is waited for: it is launched again on the current stream, which does not wait for this one."""
    stream = Recorder()

    def run() -> None:
        if "leave" not in stream.calls:
            raise RuntimeError("no work space on a stream")

    with pytest.warns(Notice, match=r"could not be captured.*RuntimeError: no work space on a stream"):
        assert captured(stream, run) is None
    assert stream.calls == ["wait for the caller's", "enter", "wait", "leave"]


def test_a_library_without_streams_launches() -> None:
    on: Any = CardLauncher.__new__(CardLauncher)
    on.xp = types.SimpleNamespace(cuda=types.SimpleNamespace())
    with pytest.warns(Notice, match=r"launched kernel by kernel \(AttributeError: .*Stream"):
        assert on.capture(lambda: None) is None


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
    x = Device(np.zeros(3))
    on("relu_backward", 300, x, None, 7, 0.5)
    launch._compile.cache_clear()
    ((name, grid, block, (first, null, whole, real)),) = calls
    assert (name, grid, block) == ("relu_backward", (3,), (128,))
    assert first is x
    assert (null, null.dtype, null.itemsize) == (0, np.uintp, 8)
    assert (whole, whole.dtype) == (7, np.int64)
    assert (real, real.dtype) == (0.5, np.float64)
