"""NVIDIA's nvcc translates the kernels for cards where there is one: with the host's headers, unlike NVRTC."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minipinet.cuda.launch import SOURCES, source
from tests.nvrtc import TRANSLATIONS

#: On the path, or where NVIDIA's toolkit is by default.
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
with_nvcc = pytest.mark.skipif(NVCC is None, reason="there is no nvcc: NVIDIA's toolkit brings it")


def known() -> list[str]:
    """Return the kinds of cards that the nvcc here translates for: one before CUDA 12.8 has no sm_100."""
    return subprocess.run([str(NVCC), "--list-gpu-code"], check=True, capture_output=True, text=True).stdout.split()


def translate(text: str, arch: str, real: str, folder: Path) -> None:
    """Compile a source for a kind of card; an AssertionError with what nvcc says for an error or a warning."""
    if arch not in known():
        pytest.skip(f"this nvcc knows no {arch}")
    path = folder / "kernels.cu"
    path.write_text(text, encoding="utf-8")
    flags = ["-cubin", f"-arch={arch}", f"-DREAL={real}", "-Werror", "all-warnings"]
    words = [str(NVCC), *flags, str(path), "-o", str(folder / "kernels.cubin")]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def all_sources() -> str:
    """Return all kernel files as one, with what each begins with once."""
    first, *others = map(source, SOURCES)
    head = first[: first.index("// A batch cut out")]
    return first + "".join(text.removeprefix(head) for text in others)


# tests/test_kernels_nvrtc.py has them translated as on a card.
@with_nvcc
@pytest.mark.parametrize(("arch", "real"), TRANSLATIONS)
def test_kernels_compile_for_cards(arch: str, real: str, tmp_path: Path) -> None:
    translate(all_sources(), arch, real, tmp_path)


#: A name that is nowhere; a function of the host's, which no compiler for the host minds; and what is a warning alone.
FAULTS = [
    ("__device__ inline real least() { return -LEAST; }", 'identifier "LEAST" is undefined'),
    (
        'real same(real x) { return x; }\nextern "C" __global__ void on_card(real *x) { *x = same(*x); }',
        r'calling a __host__ function\("same.*from a __global__ function\("on_card.*is not allowed',
    ),
    ("__device__ inline void nothing() { int unused; }", "declared but never referenced"),
]


@with_nvcc
@pytest.mark.parametrize(("fault", "said"), FAULTS, ids=["name", "function of the host", "warning"])
def test_a_planted_fault_is_seen(fault: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=said):
        translate(source("batch") + fault, "sm_90", "float", tmp_path)


def test_an_old_nvcc_is_not_asked_for_a_kind_of_card_that_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text('#!/bin/sh\n[ "$*" = --list-gpu-code ] && printf "sm_75\\nsm_80\\nsm_90a\\n"\n', encoding="utf-8")
    nvcc.chmod(0o755)
    monkeypatch.setattr(sys.modules[__name__], "NVCC", str(nvcc))
    assert known() == ["sm_75", "sm_80", "sm_90a"]
    for arch in ("sm_90", "sm_100"):
        with pytest.raises(pytest.skip.Exception, match=f"^this nvcc knows no {arch}$"):
            translate(all_sources(), arch, "float", tmp_path)
    with pytest.raises(AssertionError):
        translate(all_sources(), "sm_80", "float", tmp_path)
