"""The kernels of minipinet/cuda compiled as C++: the same sources, thread after thread, on a strict stand-in's arrays.

Whatever lies on the card is an array of tests/device_stand_in.py, and no other is taken: only kernels and products see
what is in it, so that elsewhere nothing is copied unasked. So a test that uses them puts the stand-in in CuPy's place.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array, card_library
from minipinet.cuda import folds
from minipinet.cuda.launch import SOURCES, source
from tests.device_stand_in import Device, use_stand_in
from tests.gpu_scripts import skip_or_fail

HEADER = Path(__file__).with_name("kernels_on_host.h")
SIGNATURE = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')
BLOCK = 32  #: threads, as in the header: a launch has whole blocks
#: -Wconversion: a number that is put into a smaller one without a cast is an error.
FLAGS = ["-O1", "-Wall", "-Wconversion", "-Wno-unknown-pragmas", "-Werror", "-shared", "-fPIC"]
REAL = {"float32": "float", "float64": "double"}


def wrapper(text: str) -> str:
    """Return functions that launch each kernel of a source, from one thread to before another."""
    lines = []
    for name, parameters in SIGNATURE.findall(text):
        words = " ".join(parameters.split())
        names = ", ".join(re.findall(r"(\w+)(?:,|$)", words))
        lines.append(
            f'extern "C" size launch_{name}(size thread_from, size thread_to, {words}) {{\n'
            f"    return run(thread_from, thread_to, [&] {{ {name}({names}); }});\n}}\n"
        )
    return "".join(lines)


def compile_sources(texts: dict[str, str], dtype: str) -> dict[str, Any]:
    """Compile sources, by name, and return their kernels."""
    if shutil.which("g++") is None:
        skip_or_fail("there is no g++ to compile the kernels with")
    kernels: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for file, text in texts.items():
            path, library = Path(folder) / f"{file}.cpp", Path(folder) / f"{file}.so"
            path.write_text(f'#include "{HEADER}"\n{text}\n{wrapper(text)}', encoding="utf-8")
            words = ["g++", *FLAGS, f"-DREAL={REAL[dtype]}", str(path), "-o", str(library)]
            done = subprocess.run(words, check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            loaded = ctypes.CDLL(str(library))
            for name, _ in SIGNATURE.findall(text):
                kernels[name] = getattr(loaded, f"launch_{name}")
                kernels[name].restype = ctypes.c_longlong
    return kernels


@lru_cache
def kernels_of(dtype: str) -> dict[str, Any]:
    """Return the project's kernels."""
    return compile_sources({name: source(name) for name in SOURCES}, dtype)


def on_card(x: Array) -> Device:
    """Return an array of the stand-in; whatever else is handed over would be a crash on a card."""
    if not isinstance(x, Device):
        raise TypeError(f"expected an array on the card, got {type(x).__module__}.{type(x).__name__}")
    return x


class HostLauncher:
    """Runs kernels on the arrays of the stand-in."""

    def __init__(self, dtype: str, kernels: dict[str, Any] | None = None) -> None:
        self.xp: Any = card_library()
        self.kernels = kernels_of(dtype) if kernels is None else kernels
        self.real = np.dtype(dtype)
        self.launched: list[str] = []

    def __call__(self, kernel: str, elements: int, *arguments: Array | int | float | None) -> None:
        self.launched.append(kernel)
        self.run(kernel, 0, -(-elements // BLOCK) * BLOCK, self.values(arguments))

    def product(self, a: Array, b: Array, out: Array, *, turned: str | None = None) -> None:
        first, second, last = (on_card(x).host for x in (a, b, out))
        assert all(x.flags.c_contiguous for x in (first, second, last)), "a card would take it for another array"
        first = first.swapaxes(-1, -2) if turned == "a" else first
        second = second.swapaxes(-1, -2) if turned == "b" else second
        np.matmul(first, second, out=last)

    def values(self, arguments: tuple[Array | int | float | None, ...]) -> list[Any]:
        """Return what C is given for arguments."""
        return [self._value(argument) for argument in arguments]

    def run(self, kernel: str, first: int, last: int, values: list[Any]) -> None:
        """Run threads, one after the other."""
        stopped = self.kernels[kernel](ctypes.c_longlong(first), ctypes.c_longlong(last), *values)
        assert stopped < 0, f"{kernel}: thread {stopped} touches what it must not"

    def capture(self, run: Callable[[], None]) -> None:
        run()

    def _value(self, value: Array | int | float | None) -> Any:
        if value is None:
            return ctypes.c_void_p(0)
        if isinstance(value, int | float):
            return ctypes.c_longlong(value) if isinstance(value, int) else ctypes.c_double(value)
        assert on_card(value).dtype in (self.real, np.int32, np.int64, np.float64)
        return ctypes.c_void_p(value.data.ptr)


class EachAlone(HostLauncher):
    """Runs every thread from the state before the launch, and refuses numbers that two threads write.

    On a card all threads run at once: what one of them writes, no other may write or need.
    """

    def __call__(self, kernel: str, elements: int, *arguments: Array | int | float | None) -> None:
        tables = [a.host.view(f"u{a.itemsize}").ravel() for a in arguments if isinstance(a, Device)]
        before = [table.copy() for table in tables]
        after, written = [table.copy() for table in tables], [np.zeros(table.size, bool) for table in tables]
        values = self.values(arguments)
        for thread in range(-(-elements // BLOCK) * BLOCK):
            self.run(kernel, thread, thread + 1, values)
            # All changes before any is undone: two arguments may be one table.
            changes = [np.flatnonzero(table != was) for table, was in zip(tables, before, strict=True)]
            ends = [table[changed] for table, changed in zip(tables, changes, strict=True)]
            for table, was, end, seen, changed, new in zip(tables, before, after, written, changes, ends, strict=True):
                assert not seen[changed].any(), f"{kernel}: two threads write one number"
                seen[changed] = True
                end[changed], table[changed] = new, was[changed]
        super().__call__(kernel, elements, *arguments)
        for table, end in zip(tables, after, strict=True):
            assert (table == end).all(), f"{kernel}: a thread needs what another writes"


def use_host_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let training take the host for a card: the same kernels, compiled for it, and a strict stand-in for CuPy."""
    use_stand_in(monkeypatch)
    monkeypatch.setattr(folds, "launcher", HostLauncher)
