"""What the kernels of minipinet/cuda do thread by thread, and at the ends of the numbers' range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet.cuda.launch import SOURCES, source
from minipinet.datasets import load_dataset
from minipinet.quotient import refine
from tests import tolerances
from tests.kernels_on_host import EachAlone, compile_sources, kernels_of
from tests.test_kernels import Training, drawn, worst_of_an_epoch


def step_thread_by_thread(kernels: dict[str, Any] | None = None) -> None:
    data, rng = load_dataset("MUTAG")[:4], np.random.default_rng(0)
    folds = [drawn(rng, data.num_features, 2, bias=True, learned=True) for _ in range(2)]
    orders = [np.arange(4), np.arange(2)]
    training = Training(refine(data.graphs), data.y, folds, orders, 2, kernels=kernels, launcher=EachAlone)
    training.gradients()
    training.update()


def test_no_thread_writes_or_needs_what_another_writes() -> None:
    step_thread_by_thread()


#: Two threads for one number; and a thread that goes on with its neighbour's.
RACES = [
    ("readout", "size t = element(), at = t;", "size t = element() / 2, at = t;", "two threads write one number"),
    ("adam", "size t = element();", "size t = element() / 2;", "two threads write one number"),
]


@pytest.mark.parametrize(("file", "right", "wrong", "said"), RACES)
def test_a_planted_race_is_seen(file: str, right: str, wrong: str, said: str) -> None:
    texts = {name: source(name) for name in SOURCES}
    assert right in texts[file]
    texts[file] = texts[file].replace(right, wrong, 1)
    with pytest.raises(AssertionError, match=said):
        step_thread_by_thread(compile_sources(texts, "float64"))


def test_a_threads_number_has_64_bits() -> None:
    assert kernels_of("float32")["element_of"](2**28, 31) == 2**33 + 31


@pytest.mark.parametrize("C", [2, 3])
def test_at_the_ends_of_the_range(C: int) -> None:
    """Scores beyond what exp holds, and p and q as near to 0 and to 1 as they come."""
    data, rng = load_dataset("MUTAG")[:12], np.random.default_rng(0)
    params = drawn(rng, data.num_features, C, bias=True, learned=True)
    steep = params._replace(
        W_A1=params.W_A1 * 1e4, p_raw=np.array([50.0, -50.0, 9.0, -9.0]), q_raw=np.array([-50.0, 50.0, -9.0, 9.0])
    )
    y = np.arange(12) % C
    assert worst_of_an_epoch(refine(data.graphs), y, [steep, params], [np.arange(12), np.arange(5)], 4) < (
        tolerances.FAST_STEEP
    )
