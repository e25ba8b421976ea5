"""What the kernels of minipinet/cuda do thread by thread, and at the ends of the numbers' range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet._array import Array, to_card, to_host
from minipinet.cuda.launch import SOURCES, source
from minipinet.datasets import load_dataset
from minipinet.params import gate_forward
from minipinet.quotient import refine
from tests import tolerances
from tests.device_stand_in import Device, use_stand_in
from tests.kernel_training import Training, drawn, worst_of_an_epoch
from tests.kernels_on_host import SIGNATURE, EachAlone, HostLauncher, on_card
from tests.planted_kernels import kernels_with


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


#: The parameters of each kernel.
KINDS = {name: kinds.split(",") for file in SOURCES for name, kinds in SIGNATURE.findall(source(file))}


def one_step(launcher: type[HostLauncher], kernels: dict[str, Any] | None = None) -> None:
    data, rng = load_dataset("MUTAG")[:4], np.random.default_rng(0)
    folds = [drawn(rng, data.num_features, 2, bias=True, learned=True) for _ in range(2)]
    orders = [np.arange(4), np.arange(2)]
    training = Training(refine(data.graphs), data.y, folds, orders, 2, kernels=kernels, launcher=launcher)
    training.gradients()
    training.update()


def test_no_thread_writes_or_needs_what_another_writes() -> None:
    one_step(EachAlone)


@pytest.mark.parametrize("kernel", ["bias_relu", "adam"])
def test_a_planted_race_is_seen(kernel: str) -> None:
    (kernels,) = kernels_with((kernel, "element()", "element() / 2"))
    with pytest.raises(AssertionError, match=f"{kernel}: two threads write one number"):
        one_step(EachAlone, kernels)


class Apart(HostLauncher):
    """Refuses another argument where one lies that its kernel has for itself by `__restrict__`."""

    def __call__(self, kernel: str, elements: int, *arguments: Array | int | float | None) -> None:
        alone = [
            on_card(argument) for argument, kind in zip(arguments, KINDS[kernel], strict=True) if "__restrict__" in kind
        ]
        tables = [argument.host for argument in arguments if isinstance(argument, Device)]
        for own in alone:
            assert sum(np.may_share_memory(own.host, table) for table in tables) == 1, f"{kernel}: one table is two"
        super().__call__(kernel, elements, *arguments)


def test_what_a_kernel_has_for_itself_is_no_other_argument() -> None:
    assert sum("__restrict__" in kind for kinds in KINDS.values() for kind in kinds) == 4
    one_step(Apart)
    sums, loss, id, whole = to_card((np.zeros((1, 2)), np.zeros((1, 3)), np.zeros((1, 3), np.int32), np.zeros(1, int)))
    Apart("float64")("next_batch", 1, loss, loss, id, sums, whole, whole, 1, 3)
    with pytest.raises(AssertionError, match="next_batch: one table is two"):
        Apart("float64")("next_batch", 1, loss, sums, id, sums, whole, whole, 1, 3)


def at_the_ends(C: int, kernels: dict[str, Any] | None = None) -> float:
    """Compare a step on scores beyond what exp holds, with p and q as near to 0 and to 1 as they come."""
    data, rng = load_dataset("MUTAG")[:12], np.random.default_rng(0)
    params = drawn(rng, data.num_features, C, bias=True, learned=True)
    ends = np.array([50.0, -50.0, 9.0, -9.0])
    steep = params._replace(W_A1=params.W_A1 * 1e4, p_raw=ends, q_raw=-ends)
    orders = [np.arange(12), np.arange(5)]
    return worst_of_an_epoch(
        refine(data.graphs), np.arange(12) % C, [steep, params], orders, 4, kernels=kernels
    )  # fmt: skip


@pytest.mark.parametrize("C", [2, 3])
def test_at_the_ends_of_the_range(C: int) -> None:
    assert at_the_ends(C) < tolerances.FAST_STEEP


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_softmax_without_its_maximum_is_seen() -> None:
    (kernels,) = kernels_with(("softmax_forward", "top = r == from || x[r * F] > top ? x[r * F] : top;", ";"))
    try:
        error = at_the_ends(2, kernels)
    except AssertionError:
        return
    assert not error < tolerances.FAST_STEEP


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_p_and_q_stay_where_they_can_come_back_from(dtype: str) -> None:
    raw, least = np.array([0, 50, -50, 1e4, -1e4], dtype), float(np.finfo(dtype).epsneg)
    moved, there = to_card((raw, np.empty(5, dtype)))
    HostLauncher(dtype)("gate_forward", 5, moved, there, 5, least)
    pq = to_host(there)
    np.testing.assert_allclose(pq, gate_forward(raw)[0], rtol=1e-6)
    assert least <= pq.min() < pq.max() <= 1 - least
