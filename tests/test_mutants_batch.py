"""What a batch promises beyond its contents: how much is selected together, and in which dtype it is summed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from minipinet import batch as batch_module
from minipinet._array import Array
from minipinet.batch import Selected, make_batch, make_batches
from minipinet.graphs import as_graph
from minipinet.propagation import add_own
from minipinet.quotient import Quotient, refine
from minipinet.union import disjoint_union
from tests import strategies

SIZES = (3, 1, 0, 4, 2, 0, 5, 1, 2)


@pytest.mark.parametrize("batch_size", [1, 2, 4])
def test_as_many_batches_are_selected_together_as_hold_the_allowed_entries(
    batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quotient = refine(disjoint_union([as_graph(strategies.path(n)) for n in SIZES]), merge=False)
    build, together = batch_module._build, []

    def spy(quotient: Quotient, index: Array, cut: Array, dtype: str) -> Iterator[Selected]:
        together.append(sum(SIZES[g] for g in index))
        return build(quotient, index, cut, dtype)

    monkeypatch.setattr(batch_module, "_build", spy)
    pieces = [sum(SIZES[i : i + batch_size]) for i in range(0, len(SIZES), batch_size)]
    for allowed in range(1, sum(SIZES) + 2):
        together.clear()
        monkeypatch.setattr(batch_module, "TOGETHER", allowed)
        assert len(list(make_batches(quotient, range(len(SIZES)), batch_size))) == len(pieces)
        # Whole batches, as many as fit and at least one. (A last one that is shorter counts as if it were whole.)
        expected, at = [], 0
        while at < len(pieces):
            end = at + 1
            while end < len(pieces) and sum(pieces[at : end + 1]) <= allowed and batch_size * (end + 1) <= len(SIZES):
                end += 1
            expected.append(sum(pieces[at:end]))
            at = end
        assert together == expected, allowed


@pytest.mark.parametrize("dtypes", [("float64", "float32"), ("float32", "float64"), ("float64", "complex128")])
def test_adding_q_keeps_the_wider_dtype(dtypes: tuple[str, str]) -> None:
    step = make_batch(refine(disjoint_union([as_graph(strategies.path(3))])), [0], dtypes[0]).steps[0]
    before = step.A.data.copy()
    data = add_own(step, np.dtype(dtypes[1]).type(0.5))
    assert data.dtype == np.result_type(*dtypes)
    assert (step.A.data == before).all()
    assert (data - before).sum() == 0.5 * len(step.own)
