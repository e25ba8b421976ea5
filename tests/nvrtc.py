"""NVRTC, the compiler that CuPy has for a card's kernels, called through ctypes: it needs neither card nor driver."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.thinned import thinned

#: Kinds of cards that the kernels are translated for, with the type that is put for REAL.
TRANSLATIONS = thinned([
    ("sm_75", "float"), ("sm_75", "double"), ("sm_80", "double"), ("sm_80", "float"),
    ("sm_90", "float"), ("sm_90", "double"), ("sm_100", "double"), ("sm_100", "float"),
])  # fmt: skip
#: What CuPy 14 adds to a module's own options, besides folders of headers and the kind of card.
CUPY_OPTIONS = ("--std=c++17", "-ftz=true", "--device-as-default-execution-space")


def find_nvrtc() -> Path | None:
    """Return where it lies, in a package of NVIDIA's on Python's path or in a toolkit, or None."""
    nvcc = shutil.which("nvcc")
    toolkits = [os.environ.get("CUDA_PATH"), "/usr/local/cuda", nvcc and Path(nvcc).resolve().parents[1]]
    packages = [Path(entry).glob("nvidia/*/lib/libnvrtc.so.*") for entry in sys.path]
    found = [*packages, *(Path(toolkit).glob("lib64/libnvrtc.so.*") for toolkit in toolkits if toolkit)]
    return max((path for paths in found for path in paths), key=lambda path: path.name, default=None)


@lru_cache
def nvrtc() -> ctypes.CDLL:
    """Return the library that `find_nvrtc` finds."""
    path = find_nvrtc()
    assert path is not None
    # Some look for the functions of a card's own on the system's path alone, unless they are there already.
    for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(path))


def supported() -> list[str]:
    """Return the kinds of cards that this NVRTC translates for."""
    number = c_int()
    assert nvrtc().nvrtcGetNumSupportedArchs(byref(number)) == 0
    kinds = (c_int * number.value)()
    assert nvrtc().nvrtcGetSupportedArchs(kinds) == 0
    return [f"sm_{kind}" for kind in kinds]


def translate(code: str, options: tuple[str, ...]) -> bytes:
    """Return the machine code of a source; an AssertionError with the compiler's log for an error or a warning."""
    program, words = c_void_p(), [option.encode() for option in options]
    assert nvrtc().nvrtcCreateProgram(byref(program), c_char_p(code.encode()), b"kernels.cu", 0, None, None) == 0
    try:
        failed = nvrtc().nvrtcCompileProgram(program, len(words), (c_char_p * len(words))(*words))
        log = _text(program, nvrtc().nvrtcGetProgramLogSize, nvrtc().nvrtcGetProgramLog).rstrip(b"\0").decode()
        assert not failed, log
        assert log.strip() == "", log
        return _text(program, nvrtc().nvrtcGetCUBINSize, nvrtc().nvrtcGetCUBIN)
    finally:
        nvrtc().nvrtcDestroyProgram(byref(program))


def _text(program: c_void_p, ask: Callable[..., int], read: Callable[..., int]) -> bytes:
    size = c_size_t()
    assert ask(program, byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert read(program, text) == 0
    return text.raw


class Library:
    """Takes CuPy's place where kernels are compiled, and compiles them for a kind of card without having one."""

    def __init__(self, arch: str) -> None:
        self.arch = arch

    def RawModule(self, *, code: str, options: tuple[str, ...]) -> Any:  # CuPy's name
        return Module(translate(code, (*options, *CUPY_OPTIONS, f"-arch={self.arch}")))


class Module:
    """Kernels in machine code."""

    def __init__(self, cubin: bytes) -> None:
        self.cubin = cubin

    def get_function(self, name: str) -> str:
        assert f".text.{name}\0".encode() in self.cubin, f"no {name} in the machine code"
        return name
