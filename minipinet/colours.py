"""Exact grouping of nodes by what they see: found by hash, confirmed by comparison."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minipinet._array import Array, Sparse
from minipinet.pool import row_entries


def _mix(h: Array) -> Array:
    """Scramble 64-bit words (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _bits(x: Array) -> Array:
    """Return the bits of float64 numbers, equal for equal numbers (0.0 and -0.0)."""
    return (np.asarray(x, np.float64) + 0.0).view(np.uint64)


def hash_rows(X: Array, deg: Array) -> Array:
    """Hash each node's features and degree, (N,) uint64; equal rows hash alike, 0.0 and -0.0 included."""
    h = _mix(_bits(deg) + _GOLDEN)
    for column in X.T:
        h = _mix(h * _GOLDEN + _bits(column))
    return h


def hash_neighbourhoods(seen: Sparse, own: Array, content: Array) -> Array:
    """Hash (own colour, multiset of (colour, weight)) from the colours' own hashes, in an order-free sum."""
    return _mix(_mix(content[own]) * _GOLDEN + hash_multisets(seen, content))


def hash_multisets(counts: Sparse, content: Array) -> Array:
    """Hash each row's multiset of (colour, weight) from the colours' own hashes, in an order-free sum."""
    entry = _mix(content[counts.indices] + _GOLDEN * _mix(_bits(counts.data)))
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry)])
    return total[counts.indptr[1:]] - total[counts.indptr[:-1]]


class EqualRows(NamedTuple):
    """Tells which rows i and j of a table are equal."""

    table: Array

    def __call__(self, i: Array, j: Array) -> Array:
        """Compare rows i with rows j, pair by pair."""
        return (self.table[i] == self.table[j]).all(axis=1)


class EqualNeighbourhoods(NamedTuple):
    """Tells which nodes i and j have the same own colour and the same weight to every colour."""

    seen: Sparse
    own: Array

    def __call__(self, i: Array, j: Array) -> Array:
        """Compare nodes i with nodes j, pair by pair."""
        indptr = self.seen.indptr
        equal = (self.own[i] == self.own[j]) & (indptr[i + 1] - indptr[i] == indptr[j + 1] - indptr[j])
        pairs = np.flatnonzero(equal)
        ptr, entry_i = row_entries(indptr, i[pairs])
        _, entry_j = row_entries(indptr, j[pairs])
        indices, data = self.seen.indices, self.seen.data
        differs = (indices[entry_i] != indices[entry_j]) | (data[entry_i] != data[entry_j])
        total = np.concatenate([[0], np.cumsum(differs)])
        equal[pairs] = total[ptr[1:]] == total[ptr[:-1]]
        return equal


def group(h: Array, equal: EqualRows | EqualNeighbourhoods) -> tuple[Array, Array, Array]:
    """Group nodes by hash, then part those whose content differs from their group's first node.

    Returns the first node of each colour, the colour of each node, and the hash of each colour.
    """
    colour = np.empty(len(h), np.int64)
    first, content = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    left, n = np.arange(len(h)), 0
    while len(left):
        values, at, place = np.unique(h[left], return_index=True, return_inverse=True)
        representative = left[at]
        same = equal(left, representative[place])
        colour[left[same]] = n + place[same]
        first.append(representative)
        content.append(values)
        n += len(values)
        left = left[~same]
    return np.concatenate(first), colour, np.concatenate(content)
