"""No thread of a kernel touches what lies outside its arrays, nor has a number that is put into 32 bits."""

from __future__ import annotations

import re

import pytest

from minipinet.cuda.launch import SOURCES, names, source
from tests.device_stand_in import use_stand_in
from tests.kernels_on_host import SIGNATURE, compile_sources, kernels_of
from tests.planted_kernels import Fault, body_of, error_of_an_epoch, file_with_fault, kernels_with

#: What keeps a thread beyond the last element out: the first that each kernel asks.
BOUND = re.compile(r"element\(\).*;\n    (if \((?:[tk] >= .+\) return;|t < n\)))")
#: What keeps a thread to the rows, entries and graphs that there are.
ENDS = [
    ("batch_offsets", "at < n ? order[k * n + at] : -1", "order[k * n + at]"),
    ("batch_features", "if (b < B)", ""),
    ("batch_rows", "if (b == B)", "if (false)"),
    ("batch_columns", "if (b == B)", "if (false)"),
    ("batch_entries", "if (b == B) return;", ""),
    ("batch_counts", "if (b < B)", ""),
    ("pool_backward", "if (b >= 0)", "if (true)"),
    ("cross_entropy", "if (g < 0) return;", ""),
]
KERNELS = [(kernel, file) for file in SOURCES for kernel in names(file)]


def planted() -> list[Fault]:
    bounds = [(kernel, "".join(BOUND.findall(body_of(kernel, file))), "") for kernel, file in KERNELS]
    return [*bounds, *ENDS, *((kernel, "element()", "(int)element()") for kernel, _ in KERNELS)]


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


@pytest.mark.parametrize("i", range(len(planted())), ids=["-".join(fault[:2]) for fault in planted()])
def test_a_planted_touch_of_what_lies_outside_is_seen(i: int) -> None:
    kernel, kernels = planted()[i][0], kernels_with(*planted())[i]
    with pytest.raises(AssertionError, match=rf"^{kernel}: thread \d+ touches what it must not"):
        error_of_an_epoch(kernels)


def test_a_threads_number_has_64_bits() -> None:
    text = file_with_fault("batch", "element", "(size)blockDim.x", "blockDim.x")
    with pytest.raises(AssertionError, match=r"^batch_offsets: thread 4294967296 touches what it must not"):
        error_of_an_epoch(kernels_of("float64") | compile_sources(text, "float64"))


@pytest.mark.parametrize("kind", ["int", "unsigned", "real"])
def test_a_number_that_is_put_into_a_smaller_one_does_not_compile(kind: str) -> None:
    text = file_with_fault("adam", "adam", "size t = element();", f"{kind} u = element(); size t = (size)u;")
    with pytest.raises(AssertionError, match="-Werror=conversion"):
        compile_sources(text, "float64")


def test_two_numbers_alone_are_put_into_32_bits_by_a_cast() -> None:
    """A graph's part of a table, and its place in the batch; sizes come as 64 bits."""
    code = [re.sub("//.*", "", source(file)) for file in SOURCES]
    casts = [cast for text in code for cast in re.findall(r"\b(?:int|unsigned|long|short|char)\b(?! \*?\w).*", text)]
    assert casts == ["int)(ptr[m * (G + 1) + g + 1] - ptr[m * (G + 1) + g]));", "int)b;"]
    for text in code:
        for _, parameters in SIGNATURE.findall(text):
            kinds = {" ".join(word.split()[:-1]) for word in parameters.split(",") if "*" not in word}
            assert kinds <= {"size", "double"}
