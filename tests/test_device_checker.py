"""The checker itself on a strict stand-in for a card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.verify import VerificationError, check_pair, verify_all
from minipinet.verify.card import on_card
from minipinet.verify.suite import CARD_REPEATS_WITHIN
from tests.device_pairs import readable_pairs
from tests.device_stand_in import use_stand_in
from tests.small_data import same_bits
from tests.small_pairs import generator, sine_backward, sine_forward


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


def test_the_checker_passes_the_pairs_on_a_card_and_leaves_out_the_form_of_the_cpu() -> None:
    rows = verify_all(["scaling", "gate", "relu", "pool", "readout"], dtype="float32", device="cuda")
    assert [row.text for row in rows if not row.ok] == []
    here = verify_all(["scaling", "gate", "relu", "pool", "readout"], dtype="float32")
    assert [(row.pair, row.method) for row in rows] == [(row.pair, row.method) for row in here]


def test_the_checker_has_all_readable_pairs_on_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(device: str) -> list[str]:
        return list(dict.fromkeys(row.pair for row in verify_all(device=device)))

    def not_now(*_: Any) -> None:
        raise VerificationError("only the names count here")

    monkeypatch.setattr("minipinet.verify.suite._check", not_now)
    assert named("cuda") == [name for name in named("cpu") if not name.startswith(("fast.", "compiled."))]
    assert named("cuda") == [pair.name for pair in readable_pairs()]


def test_the_checker_sees_a_wrong_gradient_on_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(dH: Array, mask: Array) -> Array:
        return 1.0001 * dH * mask

    monkeypatch.setattr("minipinet.verify.pairs.relu_backward", wrong)
    assert {row.method: row.ok for row in verify_all(["relu"], device="cuda")} == {
        "linear": True, "adjoint": False, "central": False,
    }  # fmt: skip


def test_the_checker_sees_the_kinks_of_a_card() -> None:
    pair = next(pair for pair in readable_pairs() if pair.name == "relu")
    (_, mask), (_, cache) = pair.forward(**pair.inputs), on_card(pair).forward(**pair.inputs)
    [seen] = cache.masks
    assert same_bits(seen, mask)


def test_calls_may_differ_by_rounding_where_that_is_asked_for() -> None:
    def uneven(size: float) -> Callable[[Array], tuple[Array, Array]]:
        rng = generator(1)
        return lambda x: (sine_forward(x)[0] * (1 + size * rng.standard_normal(len(x))), x)

    x = {"x": np.linspace(0.2, 1.0, 5)}
    rounded = check_pair(
        uneven(1e-15), sine_backward, x, rng=generator(), method="adjoint", repeats_within=CARD_REPEATS_WITHIN
    )
    assert rounded.ok, rounded
    for size, within in ((1e-15, 0.0), (1e-10, CARD_REPEATS_WITHIN)):
        with pytest.raises(VerificationError, match="two calls of the forward"):
            check_pair(uneven(size), sine_backward, x, rng=generator(), repeats_within=within)

    def turned(dout: Array, x: Array, rng: np.random.Generator = generator(2)) -> Array:  # noqa: B008
        return sine_backward(dout, x) * (1 + 1e-15 * rng.standard_normal(len(x)))

    assert check_pair(sine_forward, turned, x, rng=generator(), repeats_within=CARD_REPEATS_WITHIN).ok
    with pytest.raises(VerificationError, match="two calls of the backward"):
        check_pair(sine_forward, turned, x, rng=generator())
