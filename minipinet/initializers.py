"""Initial weights, drawn on the host from a passed generator so that CPU and GPU start from the same numbers."""

from __future__ import annotations

import numpy as np

from minipinet._array import Array
from minipinet.errors import UsageError


def glorot(rng: np.random.Generator, fan_in: int, fan_out: int) -> Array:
    """Draw U(-a, a) with a = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010, eq. 16), float64."""
    a = np.sqrt(6 / max(1, fan_in + fan_out))
    return rng.uniform(-a, a, (fan_in, fan_out))


def he(rng: np.random.Generator, fan_in: int, fan_out: int) -> Array:
    """Draw N(0, 2 / fan_in) (He et al. 2015, eq. 10); (fan_in, fan_out) float64."""
    return rng.normal(0.0, np.sqrt(2 / max(1, fan_in)), (fan_in, fan_out))


def orthogonal(rng: np.random.Generator, fan_in: int, fan_out: int) -> Array:
    """Draw a matrix with orthonormal columns (or rows, if wider than high), uniformly (Saxe et al. 2014); float64.

    The initialiser of the authors' code. The signs of R's diagonal are moved into Q (Mezzadri 2007); without that, QR
    of a Gaussian matrix is not uniform.
    """
    tall = rng.standard_normal((max(fan_in, fan_out), min(fan_in, fan_out)))
    Q, R = np.linalg.qr(tall)
    Q *= np.where(np.diag(R) < 0, -1.0, 1.0)
    return np.ascontiguousarray(Q if fan_in >= fan_out else Q.T)


INITIALIZERS = {"he": he, "glorot": glorot, "orthogonal": orthogonal}


def draw_kernel(rng: np.random.Generator, init: str, fan_in: int, fan_out: int, dtype: str) -> Array:
    """Draw one (fan_in, fan_out) kernel.

    Raises
    ------
    UsageError
        For an unknown initialiser.

    Examples
    --------
    >>> W = draw_kernel(np.random.default_rng(0), "orthogonal", 5, 3, "float64")
    >>> bool(np.allclose(W.T @ W, np.eye(3)))
    True
    """
    if init not in INITIALIZERS:
        raise UsageError(f"init: expected one of {', '.join(sorted(INITIALIZERS))}, got {init!r}")
    return INITIALIZERS[init](rng, fan_in, fan_out).astype(dtype)
