"""Exact sums: equal to sums of fractions, for numbers of any size, whichever way they were taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from minipinet import exact, exact_neighbours
from minipinet._array import Array
from minipinet.errors import DataError
from minipinet.exact import (
    balance,
    exponent,
    graph_grid,
    graph_sum,
    log2_ceil,
    product,
    round_rows,
    round_to,
    row_sum,
)
from minipinet.exact_neighbours import FEW_WEIGHT_BITS, WEIGHT_BITS, neighbour_sum, round_weights
from minipinet.graphs import as_graph
from minipinet.pool import Pool, make_pool
from minipinet.union import disjoint_union
from tests import strategies
from tests.thinned import examples

pytestmark = pytest.mark.invariance

wide = st.builds(np.ldexp, strategies.floats(-1, 1, 64), st.integers(-350, 350)).map(float)
narrow = strategies.floats(-8, 8, 64)


def tables(
    elements: st.SearchStrategy[float], rows: st.SearchStrategy[int], columns: int = 3
) -> st.SearchStrategy[Array]:
    return rows.flatmap(lambda n: st_numpy.arrays(np.float64, (n, columns), elements=elements, fill=st.nothing()))


def fraction_sum(terms: Iterator[Fraction]) -> Fraction:
    return sum(terms, Fraction(0))


@given(st.one_of(wide, narrow))
def test_exponent_bounds_the_magnitude_tightly(x: float) -> None:
    e = int(exponent(np.array(x)))
    assert abs(Fraction(x)) < Fraction(2) ** e
    assert x == 0 or e == exact.LEAST or abs(Fraction(x)) >= Fraction(2) ** (e - 1)


@pytest.mark.parametrize(("n", "k"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11)])
def test_log2_ceil(n: int, k: int) -> None:
    assert int(log2_ceil(np.array(n))) == k
    assert int(log2_ceil(np.array(float(n)))) == k


@given(tables(st.one_of(wide, narrow), st.integers(0, 4)), st.integers(2, 51))
def test_rounded_rows_are_the_nearest_multiples(x: Array, bits: int) -> None:
    y, step = round_rows(x, bits)
    assert not (np.signbit(y) & (y == 0)).any()
    for i, j in np.ndindex(x.shape):
        quotient = Fraction(float(y[i, j])) / Fraction(float(step[i, 0]))
        assert quotient.denominator == 1
        assert abs(quotient) <= 2**bits
        assert 2 * abs(Fraction(float(y[i, j])) - Fraction(float(x[i, j]))) <= Fraction(float(step[i, 0]))


def test_round_to_leaves_its_argument_alone_unless_asked() -> None:
    x = np.array([0.3, -0.3])
    round_to(x, np.float64(0.25))
    assert x.tolist() == [0.3, -0.3]
    assert round_to(x, np.float64(0.25), out=x) is x
    assert x.tolist() == [0.25, -0.25]


@settings(max_examples=examples(20))
@given(tables(narrow, st.integers(1, 3), 37), tables(narrow, st.just(37), 2))
def test_a_product_is_the_exact_product_of_rounded_operands(M: Array, W: Array) -> None:
    bits = (53 - 6) // 2
    left, right = round_rows(M, bits)[0], round_rows(W.T, bits)[0].T
    got = product(M, W)
    for i, j in np.ndindex(got.shape):
        assert Fraction(float(got[i, j])) == fraction_sum(
            Fraction(float(a)) * Fraction(float(b)) for a, b in zip(left[i], right[:, j], strict=True)
        )


@pytest.mark.parametrize("k", [0, 1, 2, 7, 64, 100, 512, 513, 1025, 4096])
@pytest.mark.parametrize("ones", [False, True])
def test_no_order_and_no_thread_shows_in_a_product(k: int, ones: bool) -> None:
    rng = np.random.default_rng(k)
    # Equal numbers of one sign make the largest sums that the bits must hold.
    M = np.full((70, k), 0.9999999999) if ones else rng.standard_normal((70, k))
    W = np.full((k, 40), 0.9999999999) if ones else rng.standard_normal((k, 40))
    whole = product(M, W)
    assert whole.shape == (70, 40)
    with threadpool_limits(limits=2):
        assert (product(M, W) == whole).all()
    assert (product(M[3:4], W) == whole[3:4]).all()
    assert (product(M[::-1], W)[::-1] == whole).all()
    assert (product(np.asfortranarray(M), np.asfortranarray(W)) == whole).all()
    if k:
        assert np.abs(whole - M @ W).max() < 1e-6 * np.abs(M @ W).max()
    if 0 < k <= exact.TERMS:
        turn = rng.permutation(k)
        assert (product(M[:, turn], W[turn]) == whole).all()


def test_balancing_changes_no_product_and_leaves_rows_that_count_alike() -> None:
    rng = np.random.default_rng(0)
    scale = np.exp2(rng.integers(-60, 60, 9))
    scale[4] = 0
    M, W = rng.standard_normal((30, 9)), rng.standard_normal((9, 4)) * scale[:, None]
    left, right = balance(M / np.where(scale, scale, 1), W)
    assert (left @ right == balance(M, W / np.where(scale, scale, 1)[:, None])[0] @ right).all()
    largest = np.abs(right).max(axis=1)
    assert ((largest >= 0.5) & (largest < 1) | (scale == 0)).all()
    assert not left[:, 4].any()
    # A column that is a million times as large as the others, with weights a million times smaller.
    wide = np.where(np.arange(9) == 2, 1e6, 1.0)
    even, uneven = (
        product(*balance(M, W / np.where(scale, scale, 1)[:, None])),
        product(*balance(M * wide, W / np.where(scale, scale, 1)[:, None] / wide[:, None])),
    )
    assert np.abs(even - uneven).max() < 1e-6


@given(strategies.unions(("weights", "directed", "loops", "empty", "isolated")), st.integers(0, 40), st.randoms())
def test_rounded_weights_add_up_exactly(union: object, low: int, random: object) -> None:
    A = union.A.copy()  # type: ignore[attr-defined]
    rng = np.random.default_rng(low)
    A.data = A.data * np.exp2(-rng.integers(0, low + 1, A.nnz)) * (rng.random(A.nnz) + 2.0**-20)
    kept = A.data.copy()
    rounded = round_weights(union._replace(A=A)).A  # type: ignore[attr-defined]
    assert (A.data == kept).all()
    for i in range(A.shape[0]):
        row, before = rounded.data[A.indptr[i] : A.indptr[i + 1]], kept[A.indptr[i] : A.indptr[i + 1]]
        if not len(row):
            continue
        assert Fraction(float(row.sum())) == fraction_sum(Fraction(float(w)) for w in row)
        bits = FEW_WEIGHT_BITS if before.min() >= 2.0**-8 * before.sum() else WEIGHT_BITS - 1
        assert np.abs(row - before).max() <= 2.0**-bits * before.sum()


def test_whole_numbers_keep_their_weights() -> None:
    union = disjoint_union([as_graph([[0, 1, 1], [1, 0, 0], [1, 0, 0]])])
    assert round_weights(union) is union
    counts = disjoint_union([as_graph([[0, 3, 500], [3, 0, 1], [500, 1, 0]], weighted=True)])
    assert (round_weights(counts).A.data == counts.A.data).all()


def row_terms(A: csr_array, U: Array, i: int, f: int) -> list[Fraction]:
    """Return the terms of entry (i, f) of A U."""
    row = slice(A.indptr[i], A.indptr[i + 1])
    pairs = zip(A.data[row], U[A.indices[row], f], strict=True)
    return [Fraction(float(a)) * Fraction(float(u)) for a, u in pairs if a and u]


@given(strategies.unions(("weights", "loops", "isolated", "directed")), st.data())
def test_sums_over_neighbours_are_exact_where_their_grid_allows(union: object, data: st.DataObject) -> None:
    A = round_weights(union).A  # type: ignore[arg-type]
    U = data.draw(tables(st.one_of(narrow, st.just(0.0)), st.just(A.shape[0])))
    V, rounded = neighbour_sum(A, U)
    for i, f in np.ndindex(V.shape):
        terms = row_terms(A, rounded, i, f)
        true, size = fraction_sum(iter(terms)), fraction_sum(abs(t) for t in terms)
        # The grid of the terms: the least common denominator, for these numbers of less than 1 in their last bit.
        grid = Fraction(1, math.lcm(1, *(t.denominator for t in terms)))
        if size <= 2**53 * grid:
            assert Fraction(float(V[i, f])) == true
        else:  # a rounding for each window
            assert abs(Fraction(float(V[i, f])) - true) <= size * Fraction(2) ** -50


@given(st.integers(2, 9), st.data())
def test_no_order_and_no_bundling_shows_in_a_sum_over_neighbours(N: int, data: st.DataObject) -> None:
    U = data.draw(tables(st.one_of(wide, narrow, st.just(0.0)), st.just(N)))
    weights = data.draw(st_numpy.arrays(np.float64, (1, N), elements=st.just(0.0) | strategies.floats(2.0**-60, 4, 64)))
    A = round_weights(disjoint_union([as_graph(np.vstack([weights] * N), weighted=True, directed=True)])).A
    order = data.draw(strategies.permutations(N))
    V, _ = neighbour_sum(A, U)
    moved, _ = neighbour_sum(A[:, order], U[order])
    assert (moved[0] == V[0]).all()
    # Twice the same neighbours, one by one and as one of double weight.
    single, _ = neighbour_sum(csr_array(np.hstack([A.toarray()] * 2)), np.vstack([U, U]))
    double, _ = neighbour_sum(csr_array(2 * A.toarray()), U)
    assert (single == double).all()
    # Other rows in the batch, of other sizes, change nothing.
    alone, _ = neighbour_sum(A[[0]], U)
    assert (alone[0] == V[0]).all()


def test_both_ways_of_summing_neighbours_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    A = csr_array((rng.random((60, 80)) < 0.3) * rng.integers(1, 5, (60, 80)).astype(float))
    U = rng.standard_normal((80, 5)) * np.exp2(rng.integers(-4, 4, (80, 1)))
    direct, _ = neighbour_sum(A, U)
    monkeypatch.setattr(exact_neighbours, "_inexact_rows", lambda A, step: np.arange(A.shape[0]))
    windowed, _ = neighbour_sum(A, U)
    assert (direct == windowed).all()
    assert np.abs(direct - A @ U).max() < 1e-7 * np.abs(A @ U).max()


def test_states_of_very_different_sizes_are_summed_in_windows() -> None:
    A, U = csr_array(np.ones((1, 4))), np.array([[1.0], [1e20], [3e-20], [-1e20]])
    assert exact_neighbours._inexact_rows(A, np.exp2(exponent(U[:, 0]) - 26.0)).tolist() == [0]
    for order in ([0, 1, 2, 3], [1, 2, 3, 0], [3, 2, 1, 0]):
        assert neighbour_sum(A, U[order])[0].tolist() == [[1.0]]  # plain float64 finds 0 for some orders


def test_too_many_terms_are_refused() -> None:
    A = csr_array(np.array([[2.0**-20, 2.0**20]]))  # not what round_weights makes
    with pytest.raises(DataError, match=r"too many terms to be added exactly"):
        neighbour_sum(A, np.array([[1.0], [1e-9]]))


def pool_of(sizes: list[int]) -> Pool:
    n = sum(sizes)
    return make_pool(np.concatenate([[0], np.cumsum(sizes)]), np.arange(n), np.ones((n, 1)), n)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.data())
def test_sums_over_graphs_do_not_depend_on_order_counts_or_company(sizes: list[int], data: st.DataObject) -> None:
    pool = pool_of(sizes)
    x = data.draw(tables(strategies.floats(-1, 1, 64), st.just(sum(sizes))))
    top = np.zeros((len(sizes), 1), int)
    sums = graph_sum(x.copy(), top, graph_grid(pool))
    order = np.concatenate([i + np.arange(n)[::-1] for i, n in zip(np.cumsum([0, *sizes]), sizes, strict=False)])
    assert (graph_sum(x[order.astype(int)], top, graph_grid(pool)) == sums).all()
    for g, (i, j) in enumerate(zip(pool.ptr[:-1], pool.ptr[1:], strict=True)):
        assert (graph_sum(x[i:j].copy(), top[:1], graph_grid(pool_of([sizes[g]]))) == sums[g]).all()
        assert np.abs(sums[g] - x[i:j].sum(axis=0)).max() < 1e-14
    # Every node twice, as two entries and as one of count two.
    twice = np.repeat(x, 2, axis=0)
    counted = pool._replace(count=pool.count * 2)
    doubled = graph_sum(twice, top, graph_grid(pool_of([2 * n for n in sizes])))
    assert (graph_sum(x.copy(), top, graph_grid(counted)) == doubled).all()


def test_large_graphs_are_summed_in_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "LARGE", 5)
    rng = np.random.default_rng(0)
    sizes = [20, 3000, 0, 40]
    x = rng.standard_normal((sum(sizes), 3)) / 8
    top = np.zeros((4, 1), int)
    sums = graph_sum(x.copy(), top, graph_grid(pool_of(sizes)))
    small = graph_sum(x[:20].copy(), top[:1], graph_grid(pool_of([20])))
    assert (sums[0] == small[0]).all()
    moved = x[20:3020][rng.permutation(3000)]
    assert (graph_sum(moved, top[:1], graph_grid(pool_of([3000])))[0] == sums[1]).all()
    for g, (i, j) in enumerate([(0, 20), (20, 3020), (3020, 3020), (3020, 3060)]):
        true = [float(fraction_sum(Fraction(float(v)) for v in column)) for column in x[i:j].T]
        assert np.abs(sums[g] - true).max() < (1e-15 if g == 1 else 1e-13)


def test_graphs_beyond_exactness_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "LARGEST", 4)
    graph_grid(pool_of([16]))
    with pytest.raises(DataError, match=r"a graph of 17 nodes is too large to be summed exactly"):
        graph_grid(pool_of([1, 17]))


@pytest.mark.parametrize("F", [1, 2, 3, 64, 100])
def test_row_sums_do_not_depend_on_order(F: int) -> None:
    rng = np.random.default_rng(F)
    x = rng.standard_normal((50, F)) * np.exp2(rng.integers(-9, 9, (50, F)))
    sums = row_sum(x)
    differ = 0
    for _ in range(10):
        order = rng.permutation(F)
        assert (row_sum(x[:, order]) == sums).all()
        differ += int((x[:, order].sum(axis=1) != x.sum(axis=1)).sum())
    assert F < 3 or differ > 20  # float64 sums do depend on it
    assert (np.abs(sums - x.sum(axis=1)) <= 1e-12 * np.abs(x).max(axis=1)).all()


# Elementwise functions: a value's result must not depend on where in an array it stands.


@pytest.mark.parametrize("function", [np.exp, np.sqrt, np.log1p, np.reciprocal], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elementwise_functions_do_not_look_at_the_place(function: np.ufunc, dtype: str) -> None:
    rng = np.random.default_rng(3)
    values = np.abs(rng.standard_normal(97) * np.exp2(rng.integers(-12, 5, 97))).astype(dtype)
    expected = np.array([function(values[i : i + 1])[0] for i in range(len(values))])
    room = np.empty(4 * len(values) + 64, dtype)
    for start in range(17):  # every alignment within a vector register, every length of what is left over
        for length in (*range(1, 34), 97):
            part = room[start : start + length]
            part[:] = values[:length]
            assert (function(part) == expected[:length]).all()
            assert (function(part, out=part.copy()) == expected[:length]).all()
    # Rows, columns and whole tables that lie in one piece. (A reversed or strided view may go another way: NumPy's exp
    # of it differs in the last bit here and there.)
    assert (function(np.tile(values, (5, 1)))[3] == expected).all()
    assert (function(values[:, None])[:, 0] == expected).all()
    assert (function(np.asfortranarray(np.tile(values, (5, 1))))[3] == expected).all()
