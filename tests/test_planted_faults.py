"""A fault whose line is no longer in the source fails the test that plants it, whatever else that takes for a catch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.planted import copy_with, planted
from tests.planted_kernels import file_with_fault, kernels_with

GONE: dict[str, Callable[[], Any]] = {
    "a line of a kernel": lambda: kernels_with(("adam", "steps[k] + 1", "1"), ("adam", "steps[k] + 7", "1")),
    "a line that is there twice": lambda: kernels_with(("softmax_backward", "start[k", "start[1")),
    "nothing": lambda: kernels_with(("adam", "", "1")),
    "a function of a kernel file": lambda: file_with_fault("batch", "graph_at", "size low = 0", "size low = 1"),
    "a line of a module": lambda: copy_with(planted("readout", "dense_forward", "Z = M @ W", "Z = W @ M")),
    "a function of a module": lambda: copy_with(planted("readout", "dense", "Z = matmul_rows(M, W)", "Z = M")),
}


@pytest.mark.parametrize("what", GONE)
def test_a_line_that_is_gone_is_no_catch(what: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="the line is gone: "), suppress(Exception):
        GONE[what]()
