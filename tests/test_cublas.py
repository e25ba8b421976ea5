"""Products through ctypes, against a library compiled here that checks its arguments as cuBLAS does."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
import sys
import types
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.cuda import launch
from minipinet.cuda.cublas import WORKSPACE, Cublas, load
from minipinet.cuda.launch import CardLauncher
from minipinet.errors import Notice
from tests import tolerances
from tests.device_stand_in import Device
from tests.gpu_scripts import skip_or_fail
from tests.tolerances import relative_error

PATHFINDER = "cuda.pathfinder"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the library."""
    if shutil.which("g++") is None:
        skip_or_fail("there is no g++ to compile a double of cuBLAS with")
    path = tmp_path_factory.mktemp("cublas") / "libcublas.so.12"
    words = ["g++", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", str(Path(__file__).with_name("fake_cublas.cpp"))]
    subprocess.run([*words, "-o", str(path)], check=True)
    return str(path)


@pytest.fixture
def fake(compiled: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library where cuda-pathfinder finds it."""
    library = ctypes.CDLL(compiled)
    library.log_text.restype = ctypes.c_char_p
    library.log_clear(0)
    found = types.SimpleNamespace(load_nvidia_dynamic_lib=lambda name: types.SimpleNamespace(abs_path=compiled))
    monkeypatch.setitem(sys.modules, PATHFINDER, found)
    return library


def there(x: Any) -> Any:
    return Device(np.ascontiguousarray(x))


def library_with(stream: Any = None) -> Any:
    """Return a double of CuPy whose door to cuBLAS is shut while a stream is captured."""
    stream = stream or types.SimpleNamespace(ptr=1234, recording=False)

    def own_door(*_: Any) -> None:
        if stream.recording:
            raise NotImplementedError("calling cuBLAS API during stream capture is currently unsupported")

    cuda = types.SimpleNamespace(
        runtime=types.SimpleNamespace(runtimeGetVersion=lambda: 12080), get_current_stream=lambda: stream,
        Stream=lambda non_blocking: stream, cublas=types.SimpleNamespace(sgemmStridedBatched=own_door),
    )  # fmt: skip
    return types.SimpleNamespace(cuda=cuda, empty=lambda n, dtype: there(np.empty(n, dtype)))


def value(fake: Any, name: str) -> int:
    return int(ctypes.c_longlong.in_dll(fake, name).value)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [None, "a", "b"])
def test_products_are_those_of_numpy(dtype: str, turned: Any, fake: Any) -> None:
    on, rng = Cublas(library_with()), np.random.default_rng(0)
    allowed = tolerances.ORACLE_FLOAT64 if dtype == "float64" else tolerances.ORACLE_FLOAT32
    for axes, (rows, inner, columns) in product(((1,), (3,), (2, 3), (0,)), product((0, 1, 2, 5), repeat=3)):
        a, b = (rng.standard_normal((*axes, *sizes)).astype(dtype) for sizes in ((rows, inner), (inner, columns)))
        out = there(np.full((*axes, rows, columns), np.nan, dtype))
        first = there(a.swapaxes(-1, -2) if turned == "a" else a)
        second = there(b.swapaxes(-1, -2) if turned == "b" else b)
        on.product(first, second, out, turned)
        assert not out.size or relative_error(out.host, a @ b) < allowed, (axes, rows, inner, columns)


def test_the_handle_has_its_stream_and_its_own_work_space(fake: Any) -> None:
    on, x = Cublas(library_with()), there(np.ones((1, 2, 2), "float32"))
    assert (value(fake, "math"), value(fake, "pointers")) == (0, 0)
    on.product(x, x, x.copy())
    assert fake.log_text() == b"create pointers math stream workspace product "
    assert (value(fake, "stream"), value(fake, "bytes")) == (1234, WORKSPACE)
    assert value(fake, "workspace") == on._workspace.data.ptr
    del on
    gc.collect()
    assert fake.log_text().endswith(b"destroy ")


def test_a_refused_call_is_told_by_name(fake: Any) -> None:
    on, x = Cublas(library_with()), there(np.ones((1, 2, 2)))
    fake.log_clear(1)
    with pytest.raises(RuntimeError, match=r"^cublasSetStream_v2: CUBLAS_STATUS_EXECUTION_FAILED$"):
        on.product(x, x, x.copy())
    with pytest.raises(RuntimeError, match=r"^cublasCreate_v2: CUBLAS_STATUS_EXECUTION_FAILED$"):
        Cublas(library_with())
    fake.log_clear(0)


@pytest.mark.parametrize("pathfinder", [None, types.SimpleNamespace()])
def test_a_library_that_is_not_found_is_told(pathfinder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, PATHFINDER, pathfinder)
    with pytest.raises(OSError, match=r"^cuBLAS is not found: tried libcublas\.so\.99, cublas64_99\.dll$"):
        load(99)


@pytest.mark.usefixtures("fake")
def test_a_library_of_another_version_of_cuda_is_not_taken() -> None:
    assert load(12)._name.endswith("libcublas.so.12")
    with pytest.raises(OSError, match=r"^cuBLAS is not found: tried libcublas\.so\.99, cublas64_99\.dll$"):
        load(99)


class Capturing:
    """A double of a stream."""

    ptr, recording = 77, False

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def synchronize(self) -> None: ...

    def begin_capture(self) -> None:
        self.recording = True

    def end_capture(self) -> Any:
        self.recording = False
        return types.SimpleNamespace(launch=lambda: None)


def test_a_step_with_products_is_captured_and_cupys_own_would_not_be(
    fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = library_with(Capturing())
    monkeypatch.setattr(launch, "card_library", lambda: library)
    monkeypatch.setattr(launch, "_compile", lambda real: {})
    on, x = CardLauncher("float32"), there(np.ones((1, 2, 2), "float32"))
    out = x.copy()
    fake.log_clear(0)
    replay = on.capture(lambda: on.product(x, x, out))  # a Notice would be an error here
    assert replay is not None
    replay()
    assert fake.log_text() == b"stream workspace product stream workspace product "
    assert value(fake, "stream") == 77
    with pytest.warns(Notice, match="could not be captured.*NotImplementedError: calling cuBLAS API during stream"):
        on.capture(library.cuda.cublas.sgemmStridedBatched)
