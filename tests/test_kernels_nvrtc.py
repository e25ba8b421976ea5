"""NVRTC translates the kernels for cards as CuPy has it do on one: here, without a card."""

from __future__ import annotations

import pytest

from minipinet.cuda import launch
from tests.nvrtc import TRANSLATIONS, Library, find_nvrtc, supported

pytestmark = pytest.mark.skipif(
    find_nvrtc() is None, reason="there is no NVRTC: NVIDIA's toolkit brings it, and so does the extra 'nvrtc'"
)


def compile_kernels(monkeypatch: pytest.MonkeyPatch, real: str, arch: str) -> list[str]:
    """Compile every source as `CardLauncher` does, and return the names of the kernels."""
    if arch not in supported():
        pytest.skip(f"this NVRTC knows no {arch}")
    monkeypatch.setattr(launch, "card_library", lambda: Library(arch))
    return list(launch._compile.__wrapped__(real))


@pytest.mark.parametrize(("arch", "real"), TRANSLATIONS)
def test_kernels_compile_as_on_a_card(monkeypatch: pytest.MonkeyPatch, real: str, arch: str) -> None:
    kernels = [name for file in launch.SOURCES for name in launch.names(file)]
    assert compile_kernels(monkeypatch, real, arch) == kernels


#: What a compiler with the host's headers takes, and one that has none does not; and what is a warning alone.
FAULTS = [
    ("__device__ inline real least() { return -INFINITY; }", 'identifier "INFINITY" is undefined'),
    ("#include <cmath>", 'could not open source file "cmath"'),
    ("__device__ inline void nothing() { int unused; }", "declared but never referenced"),
]


@pytest.mark.parametrize(("fault", "said"), FAULTS)
def test_a_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch, fault: str, said: str) -> None:
    right = launch.source("batch")
    monkeypatch.setattr(launch, "source", lambda name: right + fault)
    with pytest.raises(AssertionError, match=said):
        compile_kernels(monkeypatch, "float", "sm_90")
