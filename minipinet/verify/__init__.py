"""The gradient checker: does a hand-written backward return the derivative of its forward?

A cotangent is always drawn at random (one of ones is blind to a softmax backward that returns zero). `verify_pair` runs
several methods, `check_pair` one, and `verify_function` checks the gradient of a function that returns one number:

``linear``
    The backward is linear in its cotangent: g(a w1 + b w2) = a g(w1) + b g(w2) to rounding, and g(0) = 0 exactly.
``adjoint``
    <J v, w> = <v, g(w)>, J v by central differences of the whole output: several directions v, several cotangents w.
``central``
    Central differences in float64: every entry of a small array, random directions of a large one.
``complex``
    The complex step Im J(x + ih) / h, which subtracts nothing and so is exact to rounding; for forwards that are
    smooth and take complex numbers.
``taylor``
    The rate at which ``|J(x + hv) - J(x - hv) - 2h<g, v>|`` falls with h, all arrays moved at once: 3 when the gradient
    g is right, towards 1 when it is not.

The measure of error, one for every method, is `minipinet.verify.measure.measure`.
"""

from __future__ import annotations

from minipinet.verify.check import check_pair
from minipinet.verify.contract import VerificationError
from minipinet.verify.function import verify_function
from minipinet.verify.report import Entry, Report
from minipinet.verify.suite import Row, verify_all
from minipinet.verify.verification import DEFAULT_METHODS, Verification, verify_pair

__all__ = [
    "DEFAULT_METHODS",
    "Entry",
    "Report",
    "Row",
    "Verification",
    "VerificationError",
    "check_pair",
    "verify_all",
    "verify_function",
    "verify_pair",
]
