"""The hash of the colours and the comparison that confirms it, each by itself: in a refinement one hides the other."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import scipy.sparse

from minipinet import colours
from minipinet._array import Array, Sparse
from minipinet.colours import EqualNeighbourhoods, EqualRows, group, hash_neighbourhoods, hash_rows


def neighbourhoods(rows: list[dict[int, float]], n: int) -> Sparse:
    """Return a CSR of the rows, each a dictionary from column to weight."""
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([column for row in rows for column in sorted(row)], np.int32)
    data = np.array([row[column] for row in rows for column in sorted(row)])
    return scipy.sparse.csr_array((data, indices, indptr), shape=(len(rows), n))


def distinct(hashes: Array) -> bool:
    return len(np.unique(hashes)) == len(hashes)


def test_the_scrambling_is_that_of_splitmix64() -> None:
    # The generator's published first five numbers for the seed 1234567: it scrambles seed + k GOLDEN, k = 1, 2, ...
    states = np.uint64(1234567) + np.arange(1, 6, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert colours._mix(states).tolist() == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip


def test_numbers_hash_as_float64_and_the_smallest_difference_counts() -> None:
    numbers = [0.0, 1e-300, 2e-300, 1.0, np.nextafter(1.0, 2.0), 2.0**53, 2.0**53 + 2, -1.0]
    assert distinct(colours._bits(np.array(numbers)))
    for dtype in ("int64", "float32", "bool"):
        assert (colours._bits(np.array([0, 1], dtype)) == colours._bits(np.array([0.0, 1.0]))).all()
    assert colours._bits(np.array([0.0, -0.0])).tolist() == [0, 0]


GOLDEN, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


def mix(h: int) -> int:
    """Scramble one word, in Python's whole numbers."""
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & WORD
    return h ^ (h >> 31)


def bits(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x + 0.0))[0])


def test_the_hash_stays_what_it_is() -> None:
    # It orders the terms of every sum over colours: another one, as good, would change the last bits of a resumed run.
    X, deg = np.array([[0.5, -2.0], [-0.0, 3.0], [1.0, 1.0]]), np.array([2.0, 0.0, 1.5])
    rows = []
    for features, degree in zip(X.tolist(), deg.tolist(), strict=True):
        h = mix((bits(degree) + GOLDEN) & WORD)
        for x in features:
            h = mix((h * GOLDEN + bits(x)) & WORD)
        rows.append(h)
    assert hash_rows(X, deg).tolist() == rows

    seen: list[dict[int, float]] = [{0: 1.0, 2: 0.5}, {}, {0: 3.0, 1: 1.0, 2: 2.0}]
    own, content = [1, 0, 2], rows
    expected = []
    for row, colour in zip(seen, own, strict=True):
        total = sum(mix((content[column] + GOLDEN * mix(bits(weight))) & WORD) for column, weight in row.items())
        expected.append(mix((mix(content[colour]) * GOLDEN + total) & WORD))
    hashes = hash_neighbourhoods(neighbourhoods(seen, 3), np.array(own), np.array(content, np.uint64))
    assert hashes.tolist() == expected


def test_different_rows_hash_differently_and_equal_ones_alike() -> None:
    rows = np.array(list(itertools.product([0.0, 1.0, -1.0, 0.5], repeat=3)))
    h = hash_rows(rows[:, :2], rows[:, 2])
    assert distinct(h)
    assert (hash_rows(-rows[:, :2], rows[:, 2]) == h).sum() == 4  # only where both features are 0, and -0 is 0
    assert (hash_rows(rows[::-1, :2], rows[::-1, 2]) == h[::-1]).all()


def test_different_neighbourhoods_hash_differently_whatever_the_order_of_their_entries() -> None:
    content = colours._mix(np.arange(1, 5, dtype=np.uint64))
    rows = [
        {column: weight for column, weight in enumerate(weights) if weight}
        for weights in itertools.product([0.0, 1.0, 2.0], repeat=4)
    ]
    seen = neighbourhoods(rows, 4)
    h = np.concatenate([hash_neighbourhoods(seen, np.full(len(rows), own), content) for own in range(4)])
    assert distinct(h)
    # Renumbering the colours moves the entries of a row and leaves its hash.
    order = np.array([2, 0, 3, 1])
    moved = [{int(np.flatnonzero(order == column)[0]): weight for column, weight in row.items()} for row in rows]
    again = hash_neighbourhoods(neighbourhoods(moved, 4), np.full(len(rows), 1), content[order])
    assert (again == h[: len(rows)]).all()


def test_neighbourhoods_are_equal_only_in_own_colour_columns_and_weights() -> None:
    rows = [{0: 1.0, 1: 1.0}, {0: 1.0, 2: 1.0}, {0: 1.0, 1: 2.0}, {0: 1.0}, {}, {0: 1.0, 1: 1.0}, {0: 2.0, 1: 1.0}, {}]
    own = np.array([0, 0, 0, 0, 0, 0, 0, 0])
    for owns in (own, np.arange(8) % 3):
        equal = EqualNeighbourhoods(neighbourhoods(rows, 3), owns)
        pairs = np.array(list(itertools.product(range(8), repeat=2)))
        expected = [rows[i] == rows[j] and bool(owns[i] == owns[j]) for i, j in pairs.tolist()]
        assert equal(pairs[:, 0], pairs[:, 1]).tolist() == expected


def test_rows_are_equal_in_every_column() -> None:
    equal = EqualRows(np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 1.0], [-0.0, 1.0]]))
    assert equal(np.array([0, 0, 0, 0]), np.array([0, 1, 2, 3])).tolist() == [True, False, False, True]


def test_groups_part_what_a_hash_confuses_and_keep_each_colours_hash() -> None:
    table = np.array([[5.0], [7.0], [5.0], [8.0], [7.0], [5.0]])
    for h in (np.zeros(6, np.uint64), np.array([9, 9, 9, 3, 9, 9], np.uint64)):
        first, colour, content = group(h, EqualRows(table))
        assert (table[first][colour] == table).all()
        assert len(first) == len(content) == 3
        assert sorted(first.tolist()) == [0, 1, 3]
        assert (content[colour] == h).all()
    for part in group(np.zeros(0, np.uint64), EqualRows(np.zeros((0, 1)))):
        assert part.shape == (0,)
        assert part.dtype.kind in "iu"
