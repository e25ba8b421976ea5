"""Every tolerance of the suite, each with its reason, and the one measure of error they are meant for."""

from __future__ import annotations

from typing import Any

import numpy as np

from minipinet._tree import named_leaves

# Central differences in float64 with a step of 1e-5: truncation and rounding come to 1e-10 of the function's size,
# which is up to 1e-8 of a derivative that is small beside the others. A wrong factor of 1.0001 is a hundred times 1e-6.
GRADIENT_CENTRAL = 1e-6
# The complex step subtracts nothing: 1e-16 to 1e-14 measured, where terms cancel in the gradient itself.
GRADIENT_COMPLEX = 1e-12
# The exponent of the central Taylor remainder: 2.99 to 3.01 measured when right, towards 1 when wrong.
TAYLOR_RATE = 2.9
# A backward's linearity in its cotangent: a few eps of float64; 2e-13 measured where terms cancel in the gradient.
LINEAR = 1e-10
# Float32 gradients against float64 ones: eps = 6e-8 times the terms that cancel; up to 7e-6 over seventy seeds.
GRADIENT_FLOAT32 = 3e-5
# The fast path against the oracle: the same sums in another order, a few hundred terms of eps = 1e-16.
ORACLE_FLOAT64 = 1e-12
# The same with eps = 6e-8.
ORACLE_FLOAT32 = 1e-5
# The quotient form against the plain one, and a graph alone against the same graph in a data set refined with others:
# sums in another order, as above.
FORMS_FLOAT64 = 1e-12
# The same between the pairs that training uses and the readable ones, whose sums are others altogether.
FAST_FLOAT64 = 1e-11
# The same where |H| is some thousands: an exponential takes the rounding of its argument, eps |H|; 6e-10 seen.
FAST_STEEP = 1e-8
# The same in float32, for gradients: eps = 6e-8 times terms that cancel.
FORMS_FLOAT32 = 1e-4
# Scores with exact sums against ordinary float64 ones: operands rounded to 22 bits, 2e-7 to 1e-6 measured.
BITWISE = 1e-5
# One correctly rounded division and root and a product: at most 2 eps for a number of about 1 (eps = 2.2e-16, 1.2e-7).
ENTRY_FLOAT64 = 1e-15
ENTRY_FLOAT32 = 2.5e-7
# A value known in closed form, such as a loss, after a handful of float64 operations.
CLOSED_FORM = 1e-14
# Adam against the same formula written as a loop: two moments, a root and a division per step, ten steps.
ADAM_FLOAT64 = 1e-14
ADAM_FLOAT32 = 1e-5

# Smallest scale of an array in `tree_error`, as a share of the largest array of the tree.
FLOOR_FLOAT64 = 1e-3
FLOOR_FLOAT32 = 1e-1


def relative_error(actual: Any, expected: Any) -> float:
    """Return the largest difference over the largest expected magnitude; 0 if equal, inf if not finite."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    return _over(actual, expected, float(np.max(np.abs(expected), initial=0.0)))


def tree_error(actual: Any, expected: Any, *, floor: float | None = None) -> float:
    """Return the largest relative error over the arrays of two trees.

    An array's scale is its own largest magnitude, but at least `floor` (by default `FLOOR_FLOAT64` or `FLOOR_FLOAT32`)
    times the largest of all: a gradient that is zero by symmetry (the bias before the softmax) is rounding on both
    sides, and rounding has no relative error. The gradients of one backward pass are made of the same cotangents, so
    that rounding goes with the largest of them: where the same sums are taken in another order at random inputs,
    ``floor=1`` leaves 1e-14. (1e-3 leaves more than 1e-12 in one example of some hundreds, where the terms of a small
    gradient cancel.)
    """
    pairs = list(zip(named_leaves(actual), named_leaves(expected), strict=True))
    arrays = [(np.asarray(a), np.asarray(e)) for (_, a), (_, e) in pairs if e is not None]
    assert [a is None for (_, a), _ in pairs] == [e is None for _, (_, e) in pairs]
    assert all(a.shape == e.shape for a, e in arrays)
    scales = [float(np.max(np.abs(e), initial=0.0)) for _, e in arrays]
    single = any(a.dtype == np.float32 for a, _ in arrays)
    least = max(scales, default=0.0) * ((FLOOR_FLOAT32 if single else FLOOR_FLOAT64) if floor is None else floor)
    return max((_over(a, e, max(s, least)) for (a, e), s in zip(arrays, scales, strict=True)), default=0.0)


def _over(actual: Any, expected: Any, scale: float) -> float:
    difference = float(np.max(np.abs(actual - expected), initial=0.0))
    if np.isnan(difference):
        return float("inf")
    return 0.0 if difference == 0 else difference / scale if scale else float("inf")


# The compiled form against that in NumPy: sums in another order, or contracted. Numbers relative and absolute,
# gradients relative to the largest entry of their parameter.
COMPILED = {"float32": (1e-4, 1e-5), "float64": (1e-12, 1e-13)}
COMPILED_GRADIENT = {"float32": 1e-4, "float64": 1e-12}
