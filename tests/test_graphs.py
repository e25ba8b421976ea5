"""Graphs out of matrices of any kind, and the moves between one graph and many."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from minipinet.adjacency import build_adjacency
from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.union import DisjointUnion, disjoint_union, graph_at, take_graphs
from tests.strategies import (
    FEATURE_RANGE,
    KINDS,
    WEIGHT_RANGE,
    features,
    floats,
    graph_lists,
    graphs,
    is_kind,
    permutations,
    unions,
)

PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], dtype=np.float64)  # a path, a lone loop
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "np.matrix": lambda A: np.array(A).view(np.matrix),
    "list": lambda A: np.asarray(A).tolist(),
    "tuples": lambda A: tuple(tuple(row) for row in np.asarray(A).tolist()),
    **{
        f"{form}_{kind}": getattr(sp, f"{form}_{kind}")
        for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
        for kind in ("matrix", "array")
    },
}


def assert_same(left: Graph | DisjointUnion, right: Graph | DisjointUnion) -> None:
    """Compare two graphs or unions to the last bit, storage of A included."""
    assert type(left.A) is type(right.A) is sp.csr_array
    assert left.A.shape == right.A.shape
    for field in ("data", "indices", "indptr"):
        one, other = getattr(left.A, field), getattr(right.A, field)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert left.X.dtype == right.X.dtype == np.float64
    np.testing.assert_array_equal(left.X, right.X)


def assert_canonical(A: Any) -> None:
    assert type(A) is sp.csr_array
    assert A.dtype == np.float64
    assert A.indices.dtype == A.indptr.dtype == np.int32
    assert (A.data > 0).all()
    fresh = sp.csr_array((A.data, A.indices, A.indptr), shape=A.shape)  # a flag set by hand would not survive
    assert fresh.has_canonical_format


# --- the door: A ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
def test_case_033_every_container_gives_the_same_graph(container: str) -> None:
    X = np.arange(8.0).reshape(4, 2)
    graph = as_graph(CONTAINERS[container](PATH), X)
    assert_same(graph, as_graph(PATH, X))
    np.testing.assert_array_equal(graph.A.toarray(), PATH)
    assert type(graph.A) is sp.csr_array
    assert type(graph.X) is type(graph.deg) is np.ndarray
    assert graph.deg.shape == (4,)
    np.testing.assert_array_equal(graph.deg, [1, 2, 1, 1])


NUMBERS = [np.bool_, np.int8, np.uint8, np.int64, np.float16, np.float32, np.longdouble]


@pytest.mark.parametrize(
    ("container", "dtype"),
    # SciPy's matrices do not hold float16.
    [(name, dtype) for name in CONTAINERS for dtype in NUMBERS if not (dtype is np.float16 and hasattr(sp, name))],
)
def test_case_033_every_number_type(container: str, dtype: type) -> None:
    assert_same(as_graph(CONTAINERS[container](PATH.astype(dtype))), as_graph(PATH))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("N", [0, 1, 2])
def test_case_033_tiny_matrices(container: str, N: int) -> None:
    graph = as_graph(CONTAINERS[container](np.zeros((N, N))))
    assert (graph.N, graph.d, graph.A.nnz) == (N, 1, 0)
    assert graph.X.shape == (N, 1)
    assert_canonical(graph.A)


@given(st.sampled_from(sorted(CONTAINERS)), st_numpy.arrays(np.float64, (4, 4), elements=floats(0, 2)))
def test_any_weighted_matrix_in_any_container(container: str, A: Any) -> None:
    before = A.copy()
    graph = as_graph(CONTAINERS[container](A), weighted=True, directed=True)
    assert_canonical(graph.A)
    np.testing.assert_array_equal(graph.A.toarray(), A)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_case_030_stored_zero_is_no_edge(form: str) -> None:
    A = sp.coo_array(([0.0, 1.0, 1.0, -0.0], ([0, 1, 2, 0], [1, 2, 1, 0])), shape=(3, 3)).asformat(form)
    graph = as_graph(A)
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 0, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(graph.deg, [0, 1, 1])
    assert_canonical(graph.A)


def test_case_030_one_direction_a_stored_zero() -> None:
    A = sp.csr_array(([0.0, 1.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    with pytest.warns(Notice, match=r"^A: 1 entry added or raised to make it symmetric"):
        mirrored = as_graph(A)
    np.testing.assert_array_equal(mirrored.A.toarray(), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(as_graph(A, directed=True).deg, [0, 1])
    assert A.nnz == 2  # the caller's zero is still there


def test_case_030_kronecker_product_with_zeros() -> None:
    A = sp.kron(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), np.array([[1.0, 0.0], [0.0, 1.0]]), format="bsr")
    graph = as_graph(A)
    assert A.nnz == 8  # zeros are stored
    assert graph.A.nnz == 4
    np.testing.assert_array_equal(graph.deg, np.ones(4))


def test_case_031_repeated_columns() -> None:
    A = sp.csr_array((np.ones(4), [1, 1, 0, 0], [0, 2, 4]), shape=(2, 2))
    stored = [part.copy() for part in (A.data, A.indices, A.indptr)]
    with pytest.warns(Notice, match=r"^A: 2 repeated entries counted once \(weighted=True adds them up\)"):
        assert_same(as_graph(A), as_graph([[0, 1], [1, 0]]))
    assert_same(as_graph(A, weighted=True), as_graph([[0, 2], [2, 0]], weighted=True))
    for part, before in zip((A.data, A.indices, A.indptr), stored, strict=True):
        np.testing.assert_array_equal(part, before)


@pytest.mark.parametrize("flags", [False, True])
def test_case_031_falling_columns(flags: bool) -> None:
    A = sp.csr_array((np.array([3.0, 2.0, 2.0, 3.0]), [2, 1, 0, 0], [0, 2, 3, 4]), shape=(3, 3))
    if flags:
        assert not A.has_sorted_indices  # SciPy has now noted so in the caller's matrix
    graph = as_graph(A, weighted=True)
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 2, 3], [2, 0, 0], [3, 0, 0]])
    assert_canonical(graph.A)
    np.testing.assert_array_equal(A.indices, [2, 1, 0, 0])


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.float32])
def test_repeats_do_not_overflow_small_types(dtype: type) -> None:
    A = sp.coo_array((np.full(300, 1, dtype=dtype), (np.zeros(300, int), np.ones(300, int))), shape=(2, 2))
    assert as_graph(A, weighted=True, directed=True).A[0, 1] == 300
    large = sp.coo_array((np.full(3, 100, dtype=np.int8), ([0, 0, 0], [1, 1, 1])), shape=(2, 2))
    assert as_graph(large, weighted=True, directed=True).A[0, 1] == 300


def test_weights_become_one_unless_asked_for() -> None:
    A = np.array([[0, 2.5], [2.5, 1]])
    with pytest.warns(Notice, match=r"^A: 2 weights other than 1 set to 1 \(weighted=True keeps them\)"):
        plain = as_graph(A)
    np.testing.assert_array_equal(plain.A.toarray(), [[0, 1], [1, 1]])
    np.testing.assert_array_equal(as_graph(A, weighted=True).A.toarray(), A)


def test_mirroring_takes_the_larger_weight() -> None:
    A = [[0, 2, 0], [3, 0, 0], [1, 0, 0]]
    with pytest.warns(Notice, match=r"^A: 2 entries added or raised"):
        graph = as_graph(A, weighted=True)
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 3, 1], [3, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(as_graph(A, weighted=True, directed=True).A.toarray(), A)


def test_notices_point_at_the_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        as_graph([[0, 2], [0, 0]])
    assert [item.filename for item in caught] == [__file__] * 2
    assert all(item.category is Notice for item in caught)


def test_a_loop_is_counted_once() -> None:
    np.testing.assert_array_equal(as_graph([[1, 1], [1, 0]]).deg, [2, 1])


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"directed": True}])
def test_case_036_negative_weight(container: str, options: dict[str, bool]) -> None:
    A = np.array([[0, 2.0, 0], [2.0, 0, -2.0], [0, -2.0, 0]])
    with pytest.raises(DataError, match=r"^A: expected finite weights that are not negative, got A\[\d, \d\] = -2.0$"):
        as_graph(CONTAINERS[container](A), **options)


def test_case_036_weights_that_cancel() -> None:
    with pytest.raises(DataError, match="not negative"):
        as_graph([[0, 1.0, -1.0], [1.0, 0, 0], [-1.0, 0, 0]], weighted=True)
    repeats = sp.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), shape=(2, 2))
    with pytest.raises(DataError, match=r"got A\[0, 1\] = -1.0"):
        as_graph(repeats, weighted=True)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf, -1e-300])
@pytest.mark.parametrize("container", ["dense", "list", "csr_array", "coo_matrix"])
def test_case_036_weights_outside_the_domain(weight: float, container: str) -> None:
    A = np.zeros((3, 3))
    A[2, 0] = weight
    with pytest.raises(DataError, match=rf"got A\[2, 0\] = {weight}"):
        as_graph(CONTAINERS[container](A))


def test_case_036_degree_that_overflows() -> None:
    with pytest.raises(DataError, match="node 1 add up to more"):
        as_graph([[0, 0, 0], [1e308, 0, 1e308], [0, 0, 0]], weighted=True, directed=True)
    A = sp.coo_array(([1e308, 1e308], ([0, 0], [1, 1])), shape=(2, 2))
    with pytest.raises(DataError, match="node 0 add up to more"):
        as_graph(A, weighted=True)
    with pytest.raises(DataError, match=r"A\[0, 1\] = inf"):
        as_graph(np.array([[0, np.longdouble("1e4000")], [0, 0]]), weighted=True)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.zeros((2, 3)), r"ndarray of shape \(2, 3\)"),
        (sp.csr_array((3, 2)), r"csr_array of shape \(3, 2\)"),
        (np.zeros(4), r"of shape \(4,\)"),
        (np.zeros((2, 2, 2)), r"of shape \(2, 2, 2\)"),
        (sp.coo_array(np.ones(3)), r"coo_array of shape \(3,\)"),
        (7, r"int of shape \(\)"),
        ([[]], r"list of shape \(1, 0\)"),
        ([[0, 1], [1]], "array of real numbers, got list"),
        ([["0", "1"], ["1", "0"]], "real numbers, got dtype <U1"),
        ("edges", "real numbers, got dtype"),
        (None, "got NoneType None"),
        ([[0, None], [1, 0]], "got NoneType None"),
        ({0: [1]}, "got dict"),
        (np.eye(2) * 1j, "got dtype complex128"),
        (sp.csr_array(np.eye(2) * 1j), "got dtype complex128"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "got dtype datetime64"),
        ([[10**400]], "numbers that float64 can hold"),
        (np.ma.masked_equal(np.eye(2), 0), "masked"),
    ],
)
def test_matrices_that_are_none(A: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"^A: .*{message}"):
        as_graph(A)


@pytest.mark.parametrize("column", [-1, 3])
def test_sparse_matrix_with_columns_out_of_range(column: int) -> None:
    A = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2, 2])), shape=(3, 3))
    A.indices[1] = column
    with pytest.raises(UsageError, match=r"^A: not a well-formed sparse matrix"):
        as_graph(A)


# --- the door: X ---------------------------------------------------------------------------------------------------


class Column:
    """Something that is no array but can become one, as a pandas column can."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([1, 2], dtype=dtype)


TWO = [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "X",
    [
        [[1], [2]],
        [1, 2],
        ((1.0,), (2.0,)),
        range(1, 3),
        np.array([1, 2], dtype=np.int64),
        np.array([[1], [2]], dtype=np.uint8),
        np.array([[1], [2]], dtype=np.float16),
        np.array([[1], [2]], dtype=np.longdouble),
        np.array([[1], [2.0]], dtype=object),
        np.array([[np.int8(1)], [Fraction(2)]], dtype=object),
        [[True], [2]],
        np.array([[1], [2]]).view(np.matrix),
        np.ma.array([[1], [2]]),
        Column(),
        sp.csr_array([[1], [2]]),
        sp.coo_matrix([[1], [2]]),
    ],
    ids=lambda X: type(X).__name__,
)
def test_case_075_features_of_any_real_type(X: Any) -> None:
    graph = as_graph(TWO, X)
    assert type(graph.X) is np.ndarray
    assert graph.X.dtype == np.float64
    assert graph.X.flags.c_contiguous
    np.testing.assert_array_equal(graph.X, [[1], [2]])


def test_case_075_bools_and_fortran_order() -> None:
    np.testing.assert_array_equal(as_graph(TWO, [[True, False], [False, True]]).X, np.eye(2))
    graph = as_graph(TWO, np.asfortranarray([[1, 2], [3, 4]]))
    assert graph.X.flags.c_contiguous
    np.testing.assert_array_equal(graph.X, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a"], ["b"]], "real numbers, got dtype <U1"),
        ([["1"], ["2"]], "real numbers, got dtype <U1"),
        (np.array([["1"], [2]], dtype=object), "real numbers, got str '1'"),
        (np.array([[1], [None]], dtype=object), "real numbers, got NoneType None"),
        (np.array([[1], [Decimal(2)]], dtype=object), "real numbers, got Decimal"),
        ([b"a", b"b"], "real numbers, got dtype |S1"),
        ([[1, 2], [3]], "array of real numbers, got list"),
        ([[1j], [2]], "real numbers, got dtype complex128"),
        (np.zeros((2, 0)), r"d >= 1, got \(2, 0\)"),
        ([[], []], r"d >= 1, got \(2, 0\)"),
        (np.zeros((2, 1, 1)), r"got \(2, 1, 1\)"),
        (3.0, r"got \(\)"),
        (np.zeros((3, 4)), "expected 2 rows, one for each node of A, got 3"),
        ([1], "expected 2 rows, one for each node of A, got 1"),
        (np.ma.masked_invalid([[1.0], [np.nan]]), "without masked entries"),
    ],
)
def test_case_075_features_refused_at_the_call(X: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"^X: .*{message}"):
        as_graph(TWO, X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite(value: float) -> None:
    with pytest.raises(DataError, match=rf"^X: expected finite features, got X\[1, 2\] = {value}$"):
        as_graph(TWO, [[0, 1, 2], [3, 4, value]])


def test_the_callers_arrays_are_neither_changed_nor_shared() -> None:
    A, X = sp.csr_array(np.array(TWO, dtype=np.float64)), np.ones((2, 3))
    graph = as_graph(A, X)
    graph.A.data[:] = 5
    graph.X[:] = 5
    np.testing.assert_array_equal(A.toarray(), TWO)
    np.testing.assert_array_equal(X, 1)


def test_features_left_out_are_ones() -> None:
    np.testing.assert_array_equal(as_graph(TWO).X, [[1], [1]])


# --- Graph itself --------------------------------------------------------------------------------------------------


def test_graph_refuses_what_is_not_its_form() -> None:
    A, X = as_graph(TWO).A, np.ones((2, 1))
    for bad_X in (np.ones((2, 1), dtype=np.float32), np.ones(2), [[1.0], [1.0]], np.ones((2, 4))[:, ::2]):
        with pytest.raises(UsageError, match=r"^X: expected a C-contiguous float64 array"):
            Graph(A, bad_X)  # type: ignore[arg-type]
    for bad_A in (np.eye(2), sp.csr_matrix(A), A.tocsc(), A.astype(np.float32), sp.csr_array((3, 3))):
        with pytest.raises(UsageError, match=r"^A: expected a float64 csr_array of shape \(2, 2\)"):
            Graph(bad_A, X)
    for data, cols in (([1.0, 1.0], [1, 1]), ([1.0, 1.0], [1, 0]), ([0.0], [0]), ([-1.0], [0]), ([np.nan], [0])):
        with pytest.raises(UsageError, match=r"^A: expected canonical CSR"):
            Graph(sp.csr_array((data, cols, [0, len(data), len(data)]), shape=(2, 2)), X)
    with pytest.raises(UsageError, match=r"^nodes: expected a tuple of 2 different node ids or none, got \("):
        Graph(A, X, ("a", "b", "c"))


@pytest.mark.parametrize("flag", ["weighted", "directed"])
@pytest.mark.parametrize("value", [1, 0, None, "no"])
def test_flags_are_true_or_false(flag: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"^{flag}: expected True or False, got {value!r}$"):
        as_graph([[0]], **{flag: value})
    options: dict[str, Any] = {flag: np.True_}
    assert as_graph([[0]], **options).N == 1


# --- unions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_case_116_each_kind_is_what_it_says(kind: str) -> None:
    @given(graphs(kind))
    def check(graph: Graph) -> None:
        assert is_kind(kind, graph)
        assert_canonical(graph.A)

    check()


@given(graph_lists())
def test_case_116_every_example_holds_every_kind(drawn: list[Graph]) -> None:
    for kind in KINDS:
        assert any(is_kind(kind, graph) for graph in drawn), kind


@given(features(5, 3), st.lists(floats(*WEIGHT_RANGE)))
def test_case_115_drawn_numbers_are_float32_numbers_in_range(X: Any, weights: list[float]) -> None:
    for values in (X, np.array(weights)):
        np.testing.assert_array_equal(values.astype(np.float32).astype(np.float64), values)
    assert np.abs(X).max() <= FEATURE_RANGE
    assert all(WEIGHT_RANGE[0] <= weight <= WEIGHT_RANGE[1] for weight in weights)


@given(graph_lists())
def test_union_is_the_block_diagonal_matrix(drawn: list[Graph]) -> None:
    union = disjoint_union(drawn)
    N = sum(graph.N for graph in drawn)
    expected, start = np.zeros((N, N)), 0
    for g, graph in enumerate(drawn):
        stop = start + graph.N
        expected[start:stop, start:stop] = graph.A.toarray()
        assert (union.ptr[g], union.ptr[g + 1]) == (start, stop)
        start = stop
    np.testing.assert_array_equal(union.A.toarray(), expected)
    np.testing.assert_array_equal(union.X, np.concatenate([graph.X for graph in drawn]))
    assert union.ptr.dtype == np.int64
    assert union.ptr.shape == (len(drawn) + 1,)
    assert_canonical(union.A)


@given(graph_lists())
def test_graph_at_gives_back_what_was_joined(drawn: list[Graph]) -> None:
    union = disjoint_union(drawn)
    for g, graph in enumerate(drawn):
        assert_same(graph_at(union, g), graph)
        assert_same(graph_at(union, g - len(drawn)), graph)


@given(graph_lists(), st.lists(st.integers(-len(KINDS), len(KINDS) - 1)))
def test_take_graphs_is_joining_the_chosen_ones(drawn: list[Graph], index: list[int]) -> None:
    taken = take_graphs(disjoint_union(drawn), index)
    if not index:
        assert taken.ptr.tolist() == [0]
        assert taken.X.shape == (0, 2)
        return
    expected = disjoint_union([drawn[g] for g in index])
    assert_same(taken, expected)
    np.testing.assert_array_equal(taken.ptr, expected.ptr)
    assert taken.ptr.dtype == np.int64


@given(unions())
def test_taking_leaves_the_union_alone(union: DisjointUnion) -> None:
    before = [part.copy() for part in (union.A.data, union.A.indices, union.A.indptr, union.X, union.ptr)]
    taken = take_graphs(union, slice(None))
    assert_same(taken, union)
    taken.A.data[:], taken.X[:], taken.ptr[:] = 9, 9, 9
    one = graph_at(union, 0)
    one.A.data[:], one.X[:] = 9, 9
    for part, kept in zip((union.A.data, union.A.indices, union.A.indptr, union.X, union.ptr), before, strict=True):
        np.testing.assert_array_equal(part, kept)


def sized(*sizes: int) -> DisjointUnion:
    """Return a union of graphs without edges whose features number the nodes."""
    return disjoint_union([as_graph(np.zeros((N, N)), np.arange(N)) for N in sizes])


@pytest.mark.parametrize("sizes", [(2, 0), (0,), (1, 0, 0), (0, 3), (0, 0), (0, 1, 0, 2, 0)])
def test_case_045_empty_graphs_keep_their_place(sizes: tuple[int, ...]) -> None:
    union = sized(*sizes)
    np.testing.assert_array_equal(np.diff(union.ptr), sizes)
    np.testing.assert_array_equal(np.diff(take_graphs(union, np.arange(len(sizes))[::-1]).ptr), sizes[::-1])
    assert sizes[-1] == graph_at(union, -1).N


@pytest.mark.parametrize(
    ("index", "sizes"),
    [
        ([2, 0], [3, 1]),
        ((2, 0), [3, 1]),
        (np.array([0, 0, -1]), [1, 1, 4]),
        (np.array([1], dtype=np.uint8), [2]),
        (range(1, 3), [2, 3]),
        (slice(1, None), [2, 3, 4]),
        (slice(None, None, -2), [4, 2]),
        ([True, False, False, True], [1, 4]),
        (np.zeros(4, dtype=np.bool_), []),
        ([], []),
    ],
    ids=repr,
)
def test_take_graphs_index(index: Any, sizes: list[int]) -> None:
    np.testing.assert_array_equal(np.diff(take_graphs(sized(1, 2, 3, 4), index).ptr), sizes)


@pytest.mark.parametrize(
    "index", [2, np.int64(0), [4], [-5], [0.0], ["a"], [[0, 1]], [True], None, True, "all", {0: 1}], ids=repr
)
def test_take_graphs_refuses(index: Any) -> None:
    with pytest.raises(UsageError, match=r"^index: expected"):
        take_graphs(sized(1, 2, 3, 4), index)


@pytest.mark.parametrize("g", [2, -3, 0.0, "0", None, [0]], ids=repr)
def test_graph_at_refuses(g: Any) -> None:
    with pytest.raises(UsageError, match=r"^g: expected the number of one of 2 graphs, got"):
        graph_at(sized(1, 2), g)


def test_union_refuses() -> None:
    one = as_graph(TWO)
    with pytest.raises(UsageError, match=r"^graphs: expected at least one graph, got none$"):
        disjoint_union([])
    with pytest.raises(UsageError, match=r"^graphs: expected a sequence of Graph, got one Graph$"):
        disjoint_union(one)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^graphs: expected a sequence of Graph, got ndarray at place 1$"):
        disjoint_union([one, np.eye(2)])  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"^graph 2 has 3 features a node, graph 0 has 1: they must agree$"):
        disjoint_union([one, one, as_graph(TWO, np.ones((2, 3)))])


def test_case_052_one_big_graph_among_small_ones() -> None:
    N = 20_000
    big = sp.diags_array([np.ones(N - 1), np.ones(N - 1)], offsets=[-1, 1])
    small = np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1)
    tracemalloc.start()
    union = disjoint_union([*(as_graph(small) for _ in range(200)), as_graph(big)])
    taken = take_graphs(union, np.arange(201)[::-1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken.ptr[-1] == N + 2000
    # Nodes and edges take about 1.1 MB; the dense square of the big graph alone would be 3200 MB.
    stored = union.A.data.nbytes + union.A.indices.nbytes + union.A.indptr.nbytes + union.X.nbytes
    assert peak < 15 * stored


# --- permutations --------------------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from(sorted(KINDS)))
def test_case_054_permuting_moves_rows_columns_and_features(data: st.DataObject, kind: str) -> None:
    graph = data.draw(graphs(kind))
    order = data.draw(permutations(graph.N))
    moved = permute_nodes(graph, order)
    P = np.zeros((graph.N, graph.N))
    P[order, np.arange(graph.N)] = 1
    np.testing.assert_array_equal(moved.A.toarray(), P @ graph.A.toarray() @ P.T)
    np.testing.assert_array_equal(moved.X, P @ graph.X)
    np.testing.assert_array_equal(moved.deg[order], graph.deg)
    assert_canonical(moved.A)
    assert_same(permute_nodes(moved, np.argsort(order)), graph)


def test_case_054_node_ids_move_too_and_rows_alone_are_another_graph() -> None:
    graph = as_graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]], [10, 20, 30])
    named = permute_nodes(Graph(graph.A, graph.X, ("a", "b", "c")), [2, 0, 1])
    assert named.nodes == ("b", "c", "a")
    np.testing.assert_array_equal(named.X[:, 0], [20, 30, 10])
    np.testing.assert_array_equal(named.A.toarray(), [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    assert permute_nodes(graph, [2, 0, 1]).nodes == ()
    rows_alone = graph.A.toarray()[[1, 2, 0]]
    assert (rows_alone != rows_alone.T).any()  # not even symmetric any more


@pytest.mark.parametrize(
    "permutation",
    [[0, 1], [0, 1, 2, 3], [0, 1, 1], [1, 2, 3], [-1, 0, 1], [0, 0.5, 2], [[0, 1, 2]], 1, "012", None, [0, 1, np.nan]],
    ids=repr,
)
def test_permutation_refused(permutation: Any) -> None:
    with pytest.raises(UsageError, match=r"^permutation: expected"):
        permute_nodes(as_graph(np.zeros((3, 3))), permutation)


def test_permutation_message_says_what_came() -> None:
    with pytest.raises(UsageError, match=r"each of the 3 numbers from 0 once, got \[0, 1, 1\]$"):
        permute_nodes(as_graph(np.zeros((3, 3))), [0, 1, 1])


# --- the shared rule -----------------------------------------------------------------------------------------------

ARCS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0, 2.0])))


@given(ARCS, st.booleans(), st.booleans())
def test_adjacency_follows_its_definition(arcs: list[tuple[int, int, float]], weighted: bool, directed: bool) -> None:
    rows, cols, weights = (list(part) for part in zip(*arcs, strict=True)) if arcs else ([], [], [])
    built = build_adjacency(rows, cols, weights, 5, weighted=weighted, directed=directed)
    sums = np.zeros((5, 5))
    for i, j, weight in arcs:
        sums[i, j] += weight
    given_matrix = sums if weighted else np.sign(sums)
    expected = given_matrix if directed else np.maximum(given_matrix, given_matrix.T)
    np.testing.assert_array_equal(built.A.toarray(), expected)
    assert_canonical(built.A)
    present = [weight for weight in weights if weight]
    assert built.repeats == len(present) - np.count_nonzero(sums)
    assert built.reweighted == (0 if weighted else sum(weight != 1 for weight in present))
    assert built.one_way == np.count_nonzero(expected != given_matrix)


def run_python(code: str, **environment: str) -> str:
    """Run code in a new process that finds the package where these tests do; return what it prints."""
    path = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_importing_graphs_is_light() -> None:
    heavy = "{'networkx', 'sklearn', 'pandas', 'cupy', 'tqdm', 'joblib', 'scipy.stats', 'scipy.optimize'}"
    command = f"import sys, minipinet.union; print(sorted({heavy} & set(sys.modules)))"
    assert run_python(command) == "[]\n"
