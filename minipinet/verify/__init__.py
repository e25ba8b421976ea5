"""The gradient checker: does a hand-written backward return the derivative of its forward?

A cotangent is always drawn at random (one of ones is blind to a softmax backward that returns zero). Three methods:

``central``
    Central differences in float64: every entry of a small array, random directions of a large one.
``complex``
    The complex step Im J(x + ih) / h, which subtracts nothing and so is exact to rounding; for forwards that are
    smooth and take complex numbers.
``taylor``
    The rate at which |J(x + hv) - J(x - hv) - 2h<g, v>| falls with h, all arrays moved at once: 3 when the gradient g
    is right, towards 1 when it is not.

The measure of error, one for every method, is `minipinet.verify.measure.measure`.
"""

from __future__ import annotations

from minipinet.verify.check import check_pair
from minipinet.verify.probe import VerificationError
from minipinet.verify.report import Entry, Report
from minipinet.verify.suite import Row, verify_all

__all__ = ["Entry", "Report", "Row", "VerificationError", "check_pair", "verify_all"]
