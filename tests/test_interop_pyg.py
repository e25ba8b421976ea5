"""PyTorch Geometric's Data objects, in and out: with stand-ins everywhere, with the library where it is installed."""

from __future__ import annotations

import copy
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import Graph, as_graph
from minipinet.interop.pyg import dataset_from_pyg, from_pyg, to_pyg
from minipinet.union import disjoint_union
from tests.small_doors import (
    Tensor,
    array,
    hide,
    install_stand_ins,
    logits,
    mutag,
    mutag_model,
    odd_graphs,
    same_graphs,
)
from tests.strategies import graph_lists


@pytest.fixture(params=["stand-in", "torch_geometric"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "stand-in":
        install_stand_ins(monkeypatch)
    else:
        pytest.importorskip("torch_geometric", reason="torch_geometric is not installed, and too large to be an extra")
    return str(request.param)


def path(**changes: Any) -> SimpleNamespace:
    """Return a path of three nodes as Data has it."""
    fields = {"x": Tensor(np.eye(3, 2)), "edge_index": Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), **changes}
    return SimpleNamespace(**{name: value for name, value in fields.items() if value is not None})


@pytest.mark.usefixtures("library")
def test_mutag_goes_out_and_comes_back() -> None:
    data = to_pyg(mutag())
    assert same_graphs(from_pyg(data), list(mutag()))
    again = dataset_from_pyg(data)
    assert again.y.tolist() == mutag().y.tolist()
    np.testing.assert_array_equal(logits(mutag_model(), again.graphs), logits(mutag_model(), mutag()))
    named = dataset_from_pyg(data, mutag().labels, name="MUTAG")
    assert (named.classes, named.name) == ((-1, 1), "MUTAG")


@pytest.mark.usefixtures("library")
def test_odd_graphs_go_out_and_come_back() -> None:
    graphs = odd_graphs()
    data = to_pyg(graphs, dtype="float64")
    assert same_graphs(from_pyg(data, weight="edge_weight", directed=True), graphs)
    assert same_graphs(from_pyg(to_pyg(disjoint_union(graphs)), weight="edge_weight", directed=True), graphs)
    assert to_pyg(mutag()[:0]) == []


@pytest.mark.usefixtures("library")
def test_what_goes_out_is_what_layers_expect_and_shares_no_memory() -> None:
    arc = as_graph([[0, 0.75], [0, 0]], [[1.0], [2.0]], weighted=True, directed=True)
    (data,) = to_pyg([arc])
    # Node 0 takes in the state of node 1: a message from 1 to 0.
    assert array(data.edge_index).tolist() == [[1], [0]]
    assert [str(array(tensor).dtype) for tensor in (data.x, data.edge_index, data.edge_weight)] == [
        "float32",
        "int64",
        "float32",
    ]
    assert not hasattr(data, "y") or data.y is None
    (wide,) = to_pyg([arc], dtype="float64")
    array(wide.x)[:] = array(wide.edge_weight)[:] = 9
    assert (arc.X.max(), arc.A.data.max()) == (2, 0.75)
    plain = to_pyg(mutag()[:1])[0]
    assert getattr(plain, "edge_weight", None) is None
    assert array(plain.y).tolist() == [1]


@given(graphs=graph_lists())
def test_graphs_of_every_kind_go_out_and_come_back(graphs: list[Graph]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        install_stand_ins(monkeypatch)
        data = to_pyg(graphs, dtype="float64")
    assert same_graphs(
        from_pyg(data, weight="edge_weight" if hasattr(data[0], "edge_weight") else None, directed=True), graphs
    )


def test_no_data_is_changed() -> None:
    data = path(edge_weight=Tensor([2.0, 2.0, 0.0, 0.0]))
    before = copy.deepcopy(data)
    (graph,) = from_pyg([data], weight="edge_weight")
    graph.X[:], graph.A.data[:] = 5, 5
    for name, tensor in vars(before).items():
        np.testing.assert_array_equal(vars(data)[name].array, tensor.array)
    assert graph.A.nnz == 2  # a weight of 0 is no edge


def test_direction_weights_and_repeats() -> None:
    arcs = path(edge_index=Tensor([[0, 0, 1], [1, 1, 2]]), edge_weight=Tensor([[0.5], [1.5], [4.0]]))
    with pytest.warns(Notice) as caught:
        (plain,) = from_pyg([arcs])
    assert [str(notice.message) for notice in caught] == [
        "data: 3 edges with edge_weight other than 1 taken as 1 (weight='edge_weight' keeps it)",
        "data: 1 repeated edge counted once (weight= adds weights up)",
        "data: 2 entries of A added or raised to make it symmetric (directed=True leaves it as it is)",
    ]
    assert plain.A.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    with pytest.warns(Notice, match="4 edges with edge_weight other than 1 taken as 1"):
        (zeros,) = from_pyg([path(edge_weight=Tensor([0.0] * 4))])
    assert zeros.A.nnz == 4  # weights that are not asked for take no edge away
    (kept,) = from_pyg([arcs], weight="edge_weight", directed=True)
    assert kept.A.toarray().tolist() == [[0, 0, 0], [2, 0, 0], [0, 4, 0]]


def test_edge_attributes_that_are_no_weights_are_left_alone() -> None:
    (graph,) = from_pyg([path(edge_attr=Tensor(np.eye(4)), edge_weight=Tensor(np.eye(4)))])
    assert graph.A.nnz == 4


def test_nodes_without_features() -> None:
    (graph,) = from_pyg([path(x=None, num_nodes=5)])
    assert (graph.N, graph.X.tolist()) == (5, [[1.0]] * 5)
    with pytest.raises(DataError, match="graph 1: expected x, or num_nodes"):
        from_pyg([path(), path(x=None)])
    assert from_pyg([path(num_nodes=np.int64(3))])[0].N == 3


@pytest.mark.parametrize("number", [-2, 2.5, "2", True, 2**31])
def test_numbers_of_nodes_that_are_none(number: Any) -> None:
    with pytest.raises(DataError, match="^data: graph 1: num_nodes: expected a whole number .* got " + repr(number)):
        from_pyg([path(), path(x=None, num_nodes=number)])


def test_features_and_number_of_nodes_must_agree() -> None:
    with pytest.raises(DataError, match=r"^data: graph 0: X: expected 4 rows, one for each node of A, got 3"):
        from_pyg([path(num_nodes=4)])


def test_a_mask_is_not_taken_off() -> None:
    with pytest.raises(DataError, match=r"^data: graph 0: x: expected a tensor without masked entries"):
        from_pyg([path(x=np.ma.array(np.ones((3, 1)), mask=[[False], [True], [False]]))])


@pytest.mark.usefixtures("library")
def test_what_float32_cannot_hold_does_not_go_out_as_infinity() -> None:
    for graph, what in (
        (as_graph([[0]], [[1.0, -1e300]]), "features .* got -1e\\+300"),
        (as_graph([[1e300]], weighted=True), "weights .* got 1e\\+300"),
    ):
        with pytest.raises(DataError, match=f"^graphs: expected {what}"):
            to_pyg([graph])
        assert len(to_pyg([graph], dtype="float64")) == 1


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"edge_index": Tensor([[0, 3], [1, 0]])}, {}, r"data: graph 1: expected node numbers \(0 to 2\) .* got 3"),
        ({"edge_index": Tensor([[0, 1], [1, -1]])}, {}, r"data: graph 1: expected node numbers \(0 to 2\) .* got -1"),
        ({"edge_index": Tensor([[0.0, 1.0], [1.0, 0.0]])}, {}, r"expected edge_index of whole numbers .* float64"),
        ({"edge_index": Tensor([0, 1])}, {}, r"graph 1: expected edge_index of whole numbers of shape \(2, E\), got"),
        ({"edge_index": Tensor([[0, 1]])}, {}, r"graph 1: expected edge_index .* got int64 of shape \(1, 2\)"),
        ({"edge_index": "text"}, {}, "graph 1: edge_index: expected a dense tensor of real numbers"),
        ({"edge_index": np.array([[0], [1]], object)}, {}, "graph 1: edge_index: .* got dtype object"),
        ({"x": Tensor(np.ones((3, 1)))}, {}, "graph 1 has 1 feature a node, graph 0 has 2"),
        ({"x": Tensor(np.ones((3, 0)))}, {}, r"graph 1: X: expected shape \(3, d\)"),
        ({"x": Tensor([[1.0, np.nan]] * 3)}, {}, r"graph 1: X: expected finite features, got X\[0, 1\] = nan"),
        ({"x": Tensor(np.ones((3, 2, 1)))}, {}, "graph 1: X: expected shape"),
        ({"x": Tensor(np.ones((3, 2)) * 1j)}, {}, "graph 1: x: .* got dtype complex128"),
        (
            {"x": Tensor(3.0), "edge_index": Tensor(np.zeros((2, 0), int))},
            {},
            r"graph 1: X: expected shape .* got \(\)",
        ),
        ({"edge_weight": Tensor([1.0])}, {"weight": "edge_weight"}, r"expected edge_weight of shape \(4,\)"),
        (
            {"edge_weight": Tensor([1.0, 1.0, -2.0, 1.0])},
            {"weight": "edge_weight"},
            "graph 1: expected finite edge_weight that is not negative, got -2.0 for the edge 1 to 2",
        ),
        ({"edge_weight": Tensor([1, 1, np.inf, 1])}, {"weight": "edge_weight"}, "not negative, got inf"),
        ({"x": Tensor(np.ones((0, 2)))}, {}, "none, as there is no node"),
    ],
)
def test_data_that_are_none(changes: dict[str, Any], options: dict[str, Any], message: str) -> None:
    first = path(edge_weight=Tensor(np.ones(4)))
    with pytest.raises(DataError, match=message):
        from_pyg([first, path(**changes)], **options)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (path(), {}, "data: expected a sequence of Data objects, got one types.SimpleNamespace: put it in a list"),
        (5, {}, "data: expected a sequence of Data objects, got int"),
        ([], {}, "data: expected at least one graph, got none"),
        ([path(), 3], {}, "data: expected Data objects with edge_index, got int as graph 1"),
        ([path(), path(edge_index=None)], {}, "data: expected Data objects with edge_index"),
        ([path(batch=Tensor([0, 0, 1]))], {}, r"data: graph 0 is a batch of several graphs: its to_data_list\(\)"),
        ([path()], {"weight": "w"}, "weight: expected the name of a tensor that every graph has, got 'w', not in gr"),
        ([path()], {"weight": ""}, "weight: expected the name of a tensor that every graph has, got '', not in gr"),
        ("text", {}, "data: expected a sequence of Data objects, got str"),
        ({"a": path()}, {}, "data: expected a sequence of Data objects, got dict"),
        ([path()], {"weight": 3}, "weight: expected the name of an edge attribute or None, got 3"),
        ([path()], {"directed": "no"}, "directed: expected True or False, got 'no'"),
    ],
)
def test_arguments_that_are_none(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_pyg(data, **options)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "data: graph 0: expected one class in y, got none"),
        (Tensor([1, 2]), r"data: graph 0: expected one class in y, got shape \(2,\)"),
        (Tensor([0.5]), "labels: expected classes, got 0.5: real-valued targets are for regression"),
    ],
)
def test_classes_that_are_none(y: Any, message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        dataset_from_pyg([path(y=y)])


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "torch")
    with pytest.raises(UsageError, match="to_pyg needs torch: pip install torch torch_geometric"):
        to_pyg(mutag())
    with pytest.raises(UsageError, match="dtype: expected 'float32' or 'float64', got 'half'"):
        to_pyg(mutag(), dtype="half")
    assert len(from_pyg([path()])) == 1


@pytest.mark.parametrize("graphs", [3, "MUTAG", [path()], [[[0]]]])
def test_what_is_no_graph_does_not_go_out(graphs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install_stand_ins(monkeypatch)
    with pytest.raises(UsageError, match="graphs: expected a"):
        to_pyg(graphs)


def test_the_librarys_own_batches_are_refused() -> None:
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed, and too large to be an extra")
    from torch_geometric.data import Batch

    batch = Batch.from_data_list(to_pyg(mutag()[:3]))
    for data in (batch, [batch]):
        with pytest.raises(UsageError, match="data: "):
            from_pyg(data)
    with warnings.catch_warnings(action="error"):
        assert same_graphs(from_pyg(batch.to_data_list()), list(mutag()[:3]))
