"""The kernels of minipinet/cuda compiled as C++ and run on NumPy arrays: the same sources, thread after thread."""

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

from minipinet._array import Array
from minipinet.cuda import folds
from minipinet.cuda.launch import SOURCES, source
from tests.device_stand_in import use_stand_in

HEADER = Path(__file__).with_name("kernels_on_host.h")
SIGNATURE = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')
REAL = {"float32": "float", "float64": "double"}


def wrapper(text: str) -> str:
    """Return functions that launch each kernel of a source."""
    lines = []
    for name, parameters in SIGNATURE.findall(text):
        words = " ".join(parameters.split())
        names = ", ".join(re.findall(r"(\w+)(?:,|$)", words))
        lines.append(
            f'extern "C" void launch_{name}(size elements, {words}) {{\n'
            "    for (size block = 0; block * blockDim.x < elements; block++)\n"
            "        for (unsigned thread = 0; thread < blockDim.x; thread++) {\n"
            f"            blockIdx.x = block, threadIdx.x = thread;\n            {name}({names});\n"
            "        }\n}\n"
        )
    return "".join(lines)


def compile_sources(texts: dict[str, str], dtype: str) -> dict[str, Any]:
    """Compile sources, by name, and return their kernels."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compile the kernels with")
    kernels: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for file, text in texts.items():
            path, library = Path(folder) / f"{file}.cpp", Path(folder) / f"{file}.so"
            path.write_text(f'#include "{HEADER}"\n{text}\n{wrapper(text)}', encoding="utf-8")
            flags = ["-O1", "-Wall", "-Wno-unknown-pragmas", "-Werror", "-shared", "-fPIC", f"-DREAL={REAL[dtype]}"]
            subprocess.run(["g++", *flags, str(path), "-o", str(library)], check=True)
            loaded = ctypes.CDLL(str(library))
            for name, _ in SIGNATURE.findall(text):
                kernels[name] = getattr(loaded, f"launch_{name}")
    return kernels


@lru_cache
def kernels_of(dtype: str) -> dict[str, Any]:
    """Return the project's kernels."""
    return compile_sources({name: source(name) for name in SOURCES}, dtype)


class HostLauncher:
    """Runs kernels on NumPy arrays."""

    xp: Any = np

    def __init__(self, dtype: str, kernels: dict[str, Any] | None = None) -> None:
        self.kernels = kernels_of(dtype) if kernels is None else kernels
        self.real = np.dtype(dtype)
        self.launched: list[str] = []

    def __call__(self, kernel: str, elements: int, *arguments: Array | int | float | None) -> None:
        self.launched.append(kernel)
        self.kernels[kernel](ctypes.c_longlong(elements), *map(self._argument, arguments))

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        run()
        return run

    def _argument(self, value: Array | int | float | None) -> Any:
        if value is None:
            return ctypes.c_void_p(0)
        if isinstance(value, np.ndarray):
            assert value.dtype in (self.real, np.int32, np.int64, np.float64)
            return ctypes.c_void_p(value.ctypes.data)
        assert isinstance(value, int | float)
        return ctypes.c_longlong(value) if isinstance(value, int) else ctypes.c_double(value)


def use_host_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let training take the host for a card: the same kernels, compiled for it, and a strict stand-in for CuPy."""
    use_stand_in(monkeypatch)
    monkeypatch.setattr(folds, "launcher", HostLauncher)
