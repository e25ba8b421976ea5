"""Tables with a row an entry (graph, state), for what a graph's own maximum is subtracted from."""

from __future__ import annotations

import math

from minipinet._array import Array, xp_of
from minipinet.attention_readout import FUSED_RANGE
from minipinet.fast.csr import Structure, times_transposed


def has_wide_range(H: Array) -> bool:
    """Return whether exp(H) would wear out the range of float32, so that each graph's maximum is to be subtracted.

    Examples
    --------
    >>> import numpy as np
    >>> has_wide_range(np.array([[40.0]])), has_wide_range(np.array([[41.0]])), has_wide_range(np.array([[np.nan]]))
    (False, True, True)
    """
    return not abs(H).max(initial=0) <= FUSED_RANGE


def exp_entries(H: Array, counts: Structure, count: Array) -> Array:
    """Return count exp(H[state] - c_g), (n, F_A) to (E, F_A); c_g, (F_A,), is a number of the graph, as it suits.

    The quotients of these numbers by their sums over a graph do not depend on c_g, and nor do their gradients. It is 0,
    or the graph's maximum if H has a wide range.
    """
    xp = xp_of(H)
    L = H.take(counts.indices, axis=0)
    if not has_wide_range(H):
        e = xp.exp(L, out=L)
    else:
        sizes = xp.diff(counts.indptr)
        filled = xp.flatnonzero(sizes)
        # The greatest real part, so that a complex step passes through.
        L -= xp.repeat(xp.maximum.reduceat(L.real, counts.indptr[filled], axis=0), sizes[filled], axis=0)
        # exp of less (2e-13 in float32) adds nothing to the 1 of the greatest; but products with it and with small
        # cotangents can be denormal, which takes a processor ten times as long, and so do those that they get into.
        least = math.log(xp.finfo(L.dtype).tiny) / 3
        felt = L.real > least
        e = xp.exp(xp.maximum(L, least, out=L), out=L)
        e *= felt
    e *= count[:, None]
    return e


def sum_entries(x: Array, counts: Structure) -> Array:
    """Add up the entries' rows of each state, (E, F) to (n, F), in the order of the entries.

    Examples
    --------
    >>> import numpy as np
    >>> counts = Structure(np.array([0, 2, 3], np.int32), np.array([0, 1, 1], np.int32), 2)
    >>> sum_entries(np.array([[1.0], [2.0], [4.0]]), counts).tolist()
    [[1.0], [6.0]]
    """
    xp, E = xp_of(x), len(counts.indices)
    entry = Structure(xp.arange(E + 1, dtype=counts.indptr.dtype), counts.indices, counts.n_in)
    return times_transposed(entry, xp.ones(E, x.dtype), x)
