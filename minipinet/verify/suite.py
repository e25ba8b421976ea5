"""The project's own pairs verified in one go: what ``minipinet verify`` runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet._card import card_failures, check_device
from minipinet._tree import named_leaves, with_leaves
from minipinet.errors import CardError, UsageError
from minipinet.fast.training import compiled_form
from minipinet.verify.card import on_card
from minipinet.verify.check import check_pair
from minipinet.verify.derivatives import Derivative
from minipinet.verify.fast_pairs import fast_pairs
from minipinet.verify.measure import TOLERANCE, describe_wrong, measure
from minipinet.verify.pairs import Pair, draw, layer_pairs, model_pairs
from minipinet.verify.probe import VerificationError, gradient_of, input_leaves
from minipinet.verify.report import Report

#: Methods that suit every pair, beside its own.
EVERY = ("linear", "adjoint")
#: How far apart two calls on a card may be: its library promises no order of the sums in a sparse product.
CARD_REPEATS_WITHIN = 1e-12
#: What to try where a card has too little memory for the pairs.
_FREER = "a card with more memory free"


class Row(NamedTuple):
    """One line of the table that ``minipinet verify`` prints."""

    pair: str
    method: str  #: of `check_pair`, or ``float32``: gradients in float32 against those in float64
    rate: float  #: Taylor rate; NaN for other methods
    worst: float  #: largest error; NaN where nothing was compared
    tolerance: float  #: largest error allowed, or for ``taylor`` the smallest rate
    ok: bool
    skipped: int  #: steps dropped at kinks
    seconds: float
    text: str  #: the report in full


def verify_all(
    pairs: Sequence[str] | None = None,
    model: bool = True,
    dtype: str = "float64",
    seed: int = 0,
    device: str = "cpu",
) -> list[Row]:
    """Verify the project's own pairs, on a batch of directed weighted graphs with lone nodes and empty graphs.

    Parameters
    ----------
    pairs : sequence of str, optional
        Names of the pairs to verify (the part before a dot is enough); all by default.
    model : bool
        False leaves the whole network and its loss out.
    dtype : {"float64", "float32"}
        float64: every method that suits the pair. float32: the same, and the gradients in float32, where differences
        are of no use, are compared with those in float64 at the same input.
    seed : int
        For inputs, cotangents and directions.
    device : {"cpu", "cuda", "auto"}
        Where the pairs compute; what is drawn and compared is NumPy's. On a card the pairs of `minipinet.fast`, which
        are the CPU's own, are left out. Those of its compiled form take Numba.

    Returns
    -------
    list of Row
        A pair that cannot be checked at all, or raises, gives rows that are not ok.

    Raises
    ------
    UsageError
        For an unknown name or dtype, a negative seed, and a device that cannot be used here.
    CardError
        When a card fails.

    Examples
    --------
    >>> [(row.method, row.ok) for row in verify_all(["pool"], seed=1)]
    [('linear', True), ('adjoint', True), ('central', True), ('complex', True)]
    """
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed: expected a whole number of at least 0, got {seed!r}")
    if dtype not in ("float64", "float32"):
        raise UsageError(f"dtype: expected float64 or float32, got {dtype!r}")
    device = check_device(device)
    known = _project_pairs(model, "float64", seed, device)
    names = [pair.name for pair in known]
    for asked in pairs or ():
        if not any(_is_named(name, asked) for name in names):
            if not model and any(_is_named(pair.name, asked) for pair in _project_pairs(True, "float64", seed, device)):
                raise UsageError(f"pairs: {asked!r} is part of the whole network, which model=False leaves out")
            if _is_named("compiled.loss", asked) and device == "cpu" and compiled_form() is None:
                raise UsageError(f"pairs: {asked!r} takes Numba: pip install 'minipinet[numba]'")
            raise UsageError(f"pairs: expected names out of {', '.join(names)}, got {asked!r}")
    chosen = [k for k, name in enumerate(names) if pairs is None or any(_is_named(name, asked) for asked in pairs)]
    single = _project_pairs(model, dtype, seed, device) if dtype == "float32" else []
    within = CARD_REPEATS_WITHIN if device == "cuda" else 0.0
    rows = []
    for k in chosen:
        pair = known[k]
        rows += [
            _timed(pair.name, method, device, partial(_check, pair, method, seed, within))
            for method in (*EVERY, *pair.methods)
        ]
        if single:
            rows.append(_timed(pair.name, "float32", device, partial(_compare_precisions, single[k], pair, seed)))
    return rows


def _project_pairs(model: bool, dtype: str, seed: int, device: str) -> list[Pair]:
    layers = layer_pairs(np.random.default_rng(seed), dtype)
    whole = model_pairs(np.random.default_rng(seed), dtype) if model else []
    if device == "cuda":
        with card_failures(_FREER):
            return list(map(on_card, layers + whole))
    return layers + whole + fast_pairs(np.random.default_rng(seed), dtype, whole=model)


def _is_named(name: str, asked: str) -> bool:
    return name == asked or name.startswith(f"{asked}.")


def _check(pair: Pair, method: str, seed: int, within: float) -> Report:
    rng = np.random.default_rng(seed)
    return check_pair(
        pair.forward, pair.backward, pair.inputs, rng=rng, method=method, name=pair.name, repeats_within=within
    )


def _compare_precisions(single: Pair, double: Pair, seed: int) -> Report:
    """Compare the gradients of one pair in float32 with those in float64, by the checker's one measure of error."""
    names, problems, gradients = _gradients(single, seed)
    _, _, exact = _gradients(double, seed)
    found = []
    for k, (g, e) in enumerate(zip(gradients, exact, strict=True)):
        for at in np.ndindex(np.shape(g)):
            a, n = float(np.asarray(g)[at]), float(np.asarray(e)[at])
            found.append(Derivative(k, at, a, n, max(abs(a), abs(n))))
    tolerance = TOLERANCE["float32"]
    entries = measure(names, found, "float32", tolerance)
    problems += describe_wrong(entries, "float32", tolerance)
    return Report(single.name, "float32", tolerance, tuple(entries), math.nan, 0, tuple(problems), ())


def _gradients(pair: Pair, seed: int) -> tuple[list[str], list[str], list[Array]]:
    """Return the names of the inputs, what has another dtype than they have, and the gradients."""
    rng = np.random.default_rng(seed)
    out, cache = pair.forward(**pair.inputs)
    dtype = next(v.dtype for _, v in named_leaves(out))
    dout = [draw(rng, *np.shape(v)).astype(dtype)[()] for _, v in named_leaves(out)]
    gradients, _ = gradient_of(pair.name, pair.backward(with_leaves(out, iter(dout)), cache), pair.inputs)
    names, inputs = zip(*((k, v) for k, v in input_leaves(pair.inputs) if v is not None), strict=True)
    named = [*named_leaves(out, "out"), *((f"d{k}", g) for k, g in zip(names, gradients, strict=True))]
    wanted = inputs[0].dtype
    return list(names), [f"{k} is {v.dtype} for {wanted} input" for k, v in named if v.dtype != wanted], gradients


def _timed(name: str, method: str, device: str, check: Callable[[], Report]) -> Row:
    start = time.perf_counter()
    try:
        with card_failures(_FREER, device):
            r = check()
    except CardError:  # no pair can be checked on it any more
        raise
    except Exception as reason:  # whatever one pair raises, the others are checked
        told = str(reason) if isinstance(reason, VerificationError) else f"{type(reason).__name__}: {reason}"
        r = Report(name, method, TOLERANCE[method], (), math.nan, 0, (told,), ())
    worst = r.worst if r.entries else math.nan
    return Row(name, method, r.rate, worst, r.tolerance, r.ok, r.skipped, time.perf_counter() - start, str(r))
