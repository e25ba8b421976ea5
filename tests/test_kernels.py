"""The kernels of minipinet/cuda, compiled as C++, against the pairs of minipinet.fast, on real and on odd batches."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from minipinet._array import Array, to_host
from minipinet.cuda import dataset as cuda_dataset
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import SOURCES, names, source
from minipinet.datasets import load_dataset
from minipinet.datasets.isomorphism import isomorphism_dataset
from minipinet.errors import UsageError
from minipinet.params import init_params
from minipinet.quotient import refine
from tests import strategies, tolerances
from tests.device_stand_in import use_stand_in
from tests.kernel_training import Training, drawn, worst_of_an_epoch
from tests.thinned import examples
from tests.tolerances import tree_error

PLAIN = np.array([[1.0, 0.0], [0.5, 0.25], [0.0, 1.0], [0.75, 1.0]])


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


#: Data sets by the kinds of their graphs, each of which is there, in an order that is drawn.
KINDS_OF_DATA: dict[str, tuple[str, ...]] = {
    "mixed": tuple(strategies.KINDS),
    "without edges": ("empty", "single", "edgeless", "edgeless", "single"),
    "single nodes": ("single",) * 5,
    "empty graphs": ("empty",) * 3,
}
#: Networks: features, both widths, states merged or not, biases and a penalty or none, p and q (None: to learn).
NETWORKS: list[tuple[int, int, int, bool, bool, Array | None]] = [
    (2, 5, 4, False, True, PLAIN), (1, 5, 4, True, True, None), (2, 5, 1, True, False, PLAIN),
    (2, 1, 4, True, True, None), (1, 1, 1, False, False, None), (2, 2, 16, True, True, None),
]  # fmt: skip


@pytest.mark.parametrize("kinds", KINDS_OF_DATA)
@pytest.mark.parametrize("C", [1, 2, 3])
@settings(max_examples=examples(3), phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_any_batches_of_any_folds(data: st.DataObject, kinds: str, C: int) -> None:
    """Any data set on any network; folds of different length, batches of one graph, two and all, the last one short."""
    union, rng = data.draw(strategies.unions(KINDS_OF_DATA[kinds])), np.random.default_rng(C)
    G = len(union.ptr) - 1
    y, orders = rng.integers(0, C, G), [rng.permutation(G), rng.permutation(G)[: (G + 1) // 2]]
    for d, hidden, out, merge, bias, pq in NETWORKS:
        quotient = refine(union._replace(X=union.X[:, :d]), merge)
        folds = [drawn(rng, d, C, bias=bias, learned=pq is None, hidden=hidden, out=out) for _ in orders]
        for B in {1, 2, G}:
            error = worst_of_an_epoch(quotient, y, folds, orders, B, pq, l2=0.25 * bias)
            assert error < tolerances.FAST_FLOAT64


@pytest.mark.parametrize("name", ["MUTAG", "isomorphism"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_real_batches(name: str, dtype: str) -> None:
    data = load_dataset("MUTAG") if name == "MUTAG" else isomorphism_dataset(0)[::5]
    rng = np.random.default_rng(0)
    params = init_params(rng, data.num_features, data.num_classes, hidden=20, out=8, dtype=dtype)
    orders = [rng.permutation(len(data)), rng.permutation(len(data))[:60]]
    allowed = tolerances.FAST_FLOAT64 if dtype == "float64" else tolerances.GRADIENT_FLOAT32
    assert worst_of_an_epoch(refine(data.graphs), data.y, [params, params], orders, 50) < allowed


def test_a_step_without_graphs_changes_nothing() -> None:
    data = load_dataset("MUTAG")[:10]
    params = init_params(np.random.default_rng(0), data.num_features, 2, hidden=5, out=4)
    training = Training(refine(data.graphs), data.y, [params], [np.arange(10)], 4)
    training.buffers.cursor[:] = 100
    assert all((w == 0).all() for w in training.gradients()[0] if w is not None)
    assert tree_error(training.update()[0], params) == 0
    assert training.buffers.steps.tolist() == [0]
    assert training.buffers.sums.tolist() == [[0, 0]]
    assert training.buffers.cursor.tolist() == [101]


def test_nothing_comes_of_what_an_earlier_batch_left() -> None:
    data = load_dataset("MUTAG")[:10]
    params = drawn(np.random.default_rng(0), data.num_features, 2, bias=True, learned=True)
    found = []
    for left in (False, True):
        training = Training(refine(data.graphs), data.y, [params], [np.arange(3)], 4)
        b = training.buffers
        if left:
            # Indices stay 0, so that whoever reads a weight there finds a number that is none.
            for table in (b.Z_A, b.count, *(layer.weight for layer in b.layers)):
                table[:] = np.nan
            for table in (b.X, *(layer.deg for layer in b.layers)):  # read, but with a gradient that is 0
                table[:] = 1e300
        found.append(training.gradients()[0])
        n_0, n_1, n_2 = to_host(b.off)[0, :3, -1]
        assert n_2 < b.graph.shape[1]
        assert (to_host(b.graph)[0, n_2:] == -1).all()
        of_1, of_2 = (b.K_0, b.R, b.U_1, b.dU_1, b.dR, b.dK_0), (b.V_1, b.H_1, b.dH_1)
        for n, tables in ((n_0, (b.dX,)), (n_1, of_1), (n_2, of_2)):
            assert all((table[0, :, n:] == 0).all() for table in to_host(tables))
    assert tree_error(found[0], found[1]) == 0


def test_every_kernel_is_run() -> None:
    data = load_dataset("MUTAG")[:10]
    params = init_params(np.random.default_rng(0), data.num_features, 2, hidden=5, out=4, bias=True)
    training = Training(refine(data.graphs), data.y, [params], [np.arange(10)], 4)
    training.gradients()
    training.update()
    assert set(training.host.launched) == {name for file in SOURCES for name in names(file)}


def test_sums_have_one_order_and_share_nothing() -> None:
    for name in SOURCES:
        for word in ("atomic", "__shared__", "__syncthreads", "__shfl"):
            assert word not in source(name)


def test_tables_beyond_32_bits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    quotient = refine(load_dataset("MUTAG").graphs)
    monkeypatch.setattr(cuda_dataset, "MOST", 100)
    with pytest.raises(UsageError, match="quotient: expected at most 100 states and entries"):
        graph_table(quotient, np.zeros(188, int))


def test_a_graph_table_holds_every_graph() -> None:
    data = load_dataset("MUTAG")
    table = graph_table(refine(data.graphs), data.y, "float64")
    first, second = table.layers
    for layer, states, columns in ((first, 1, 0), (second, 2, 1)):
        for g in (0, 17, 187):
            rows, cols, entries = (slice(*table.ptr[m, g : g + 2]) for m in (states, columns, 3 + columns))
            n, c, nnz = (s.stop - s.start for s in (rows, cols, entries))
            A = scipy.sparse.csr_array(
                (layer.weight[entries], layer.column[entries], np.append(layer.first[rows], nnz)), shape=(n, c)
            ).toarray()
            assert (layer.own[rows] == layer.column[entries][layer.at_own[rows]]).all()
            # The order by columns is the same matrix.
            sizes = np.diff(np.append(layer.column_first[cols], nnz))
            other = np.zeros((n, c))
            other[layer.row[entries], np.repeat(np.arange(c), sizes)] = layer.weight[entries][layer.entry[entries]]
            assert (A == other).all()
