"""Settings under which a check would see nothing are refused by name."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from minipinet.errors import UsageError
from minipinet.verify import check_pair, verify_function, verify_pair
from tests.small_pairs import check, generator, scaled, sine_backward, sine_forward

pytestmark = pytest.mark.gradient

X = {"x": np.ones(3)}


def sphere(x: Any) -> Any:
    return np.sum(x * x)


def call(which: str, **changed: Any) -> Any:
    functions: dict[str, Any] = {f.__name__: f for f in (check_pair, verify_pair, verify_function)}
    pair: dict[str, Any] = {"forward": sine_forward, "backward": scaled(sine_backward, 2.0)}
    if which == "verify_function":
        pair = {"function": sphere, "gradient": lambda x: x * 1.0}
    return functions[which](**{**pair, "inputs": X, "rng": generator(), **changed})


SWITCHED_OFF: list[dict[str, Any]] = [
    *({name: value} for name in ("directions", "cotangents") for value in (0, -1, 1.5, True, "4", None)),
    *({"each_entry": value} for value in (-1, 2.0, None)),
    *({"max_skipped": value} for value in (1, 1.0, -0.1, math.nan, None, "0.5")),
    *({"repeats_within": value} for value in (1, -1e-12, math.nan, None)),
    *({"tolerance": value} for value in (0, -1e-6, math.inf, math.nan, 1.0, 2.9, "1e-6")),
    *({"rng": value} for value in (None, 0, np.random.RandomState(0))),
    *({"inputs": value} for value in ([np.ones(3)], np.ones(3), None, {0: np.ones(3)})),
]


@pytest.mark.parametrize("which", ["check_pair", "verify_pair", "verify_function"])
@pytest.mark.parametrize("wrong", SWITCHED_OFF)
def test_settings_that_would_switch_a_check_off_are_refused_by_name(which: str, wrong: dict[str, Any]) -> None:
    [name] = wrong
    with pytest.raises(UsageError, match=f"^{name}: expected"):
        call(which, **wrong)


@pytest.mark.parametrize("which", ["verify_pair", "verify_function"])
@pytest.mark.parametrize("methods", [(), [], "central", None, ["central", "forward"], "linear"])
def test_methods_must_be_a_list_of_at_least_one(which: str, methods: Any) -> None:
    with pytest.raises(UsageError, match=r"^methods: expected a list of at least one of central, complex"):
        call(which, methods=methods)
    with pytest.raises(UsageError, match=r"^method: expected methods"):
        call(which, method="central")


def test_functions_must_be_callable() -> None:
    for which, names in (("check_pair", ("forward", "backward")), ("verify_function", ("function", "gradient"))):
        for name in names:
            with pytest.raises(UsageError, match=f"^{name}: expected a function, got ndarray"):
                call(which, **{name: np.ones(3)})
            with pytest.raises(UsageError, match=f"^{name}: expected a function, got None"):
                call(which, **{name: None})


def test_a_fixed_cotangent_must_be_able_to_see_something() -> None:
    for cotangent in (np.zeros(3), np.array([1.0, np.nan, 0.0]), np.array([np.inf, 1.0, 1.0])):
        with pytest.raises(UsageError, match="cotangent: expected finite numbers, not all zero"):
            call("check_pair", cotangent=cotangent)
    misshapen: list[Any] = [1.0, np.ones(2), [np.ones(3), np.ones(3)]]
    for cotangent in misshapen:
        with pytest.raises(UsageError, match="cotangent: expected shapes"):
            call("check_pair", cotangent=cotangent)
    with pytest.raises(UsageError, match="cotangent: expected numbers, got 'ones'"):
        call("check_pair", cotangent="ones")
    with pytest.raises(UsageError, match="cotangent: a function that returns one number has none"):
        call("verify_function", cotangent=2.0)


def test_the_tolerance_of_several_methods_is_that_of_derivatives_only() -> None:
    found = verify_pair(sine_forward, scaled(sine_backward, 1.001), X, rng=generator(), tolerance=0.01)
    allowed = {report.method: report.tolerance for report in found.reports}
    assert allowed == {"linear": 1e-10, "adjoint": 0.01, "central": 0.01, "taylor": 2.9}
    assert {report.method for report in found.reports if not report.ok} == {"taylor"}
    assert verify_pair(sine_forward, sine_backward, X, rng=generator(), tolerance=1e-9).reports[3].ok
    with pytest.raises(UsageError, match=r"^tolerance: it is that of central, complex, adjoint, and methods has none"):
        call("verify_pair", methods=["linear", "taylor"], tolerance=0.01)


def test_the_tolerance_of_taylor_is_a_rate() -> None:
    assert check_pair(sine_forward, sine_backward, X, rng=generator(), method="taylor", tolerance=2.5).ok
    for rate in (1e-6, 1.0, 3.0):
        with pytest.raises(UsageError, match="between 2 and 3, the smallest rate of 'taylor'"):
            check_pair(sine_forward, sine_backward, X, rng=generator(), method="taylor", tolerance=rate)


@pytest.mark.parametrize("method", ["linear", "adjoint", "central", "complex", "taylor"])
def test_an_ok_that_compared_nothing_says_so(method: str) -> None:
    report = check(sine_forward, sine_backward, method, x=np.ones((0, 3)))
    assert report.ok
    assert report.notes == ("nothing was compared: no array has an entry",)
    assert "nothing was compared" in str(report)
    assert check(sine_forward, sine_backward, method, x=np.ones(1)).notes == ()

    def both(x: Any, y: Any) -> Any:
        return np.sin(x), (x, y)

    report = check(both, lambda d, c: {"dx": d * np.cos(c[0]), "dy": c[1] * 0.0}, method, x=np.ones(2), y=np.ones(0))
    assert report.ok
    assert report.notes == ("y has no entries: nothing was compared",)


def test_messages_are_of_one_line() -> None:
    for wrong in SWITCHED_OFF:
        with pytest.raises(UsageError) as caught:
            call("check_pair", **wrong)
        assert re.fullmatch(r".{1,160}", str(caught.value))
