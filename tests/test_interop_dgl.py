"""DGL graphs, in and out: with stand-ins everywhere, with the library where it is installed and works."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet.datasets import dataset_from_graphs
from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import as_graph
from minipinet.interop.dgl import from_dgl, to_dgl
from tests.small_doors import (
    StandInGraph,
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


@pytest.fixture(params=["stand-in", "dgl"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "stand-in":
        install_stand_ins(monkeypatch)
    else:
        try:
            import dgl  # noqa: F401
        except (ImportError, OSError) as error:
            pytest.skip(f"DGL is not installed, or does not fit the PyTorch that is ({error})")
    return str(request.param)


def path(features: Any = None, weights: Any = None, ends: Any = None) -> StandInGraph:
    """Return a path of three nodes as DGL has it."""
    graph = StandInGraph(ends or (Tensor([0, 1, 1, 2]), Tensor([1, 0, 2, 1])), 3)
    graph.ndata["feat"] = Tensor(np.eye(3, 2)) if features is None else features
    if weights is not None:
        graph.edata["weight"] = weights
    return graph


@pytest.mark.usefixtures("library")
def test_mutag_goes_out_and_comes_back() -> None:
    graphs = from_dgl(to_dgl(mutag()))
    assert same_graphs(graphs, list(mutag()))
    again = dataset_from_graphs(graphs, mutag().labels)
    np.testing.assert_array_equal(logits(mutag_model(), again.graphs), logits(mutag_model(), mutag()))


@pytest.mark.usefixtures("library")
def test_odd_graphs_go_out_and_come_back() -> None:
    graphs = odd_graphs()
    others = to_dgl(graphs, features="h", dtype="float64")
    assert same_graphs(from_dgl(others, features="h", weight="weight", directed=True), graphs)
    assert [other.num_nodes() for other in others] == [graph.N for graph in graphs]


@pytest.mark.usefixtures("library")
def test_a_node_takes_in_what_points_at_it_and_no_memory_is_shared() -> None:
    arc = as_graph([[0, 0.75], [0, 0]], [[1.0], [2.0]], weighted=True, directed=True)
    (other,) = to_dgl([arc], dtype="float64")
    source, target = other.edges()
    assert (array(source).tolist(), array(target).tolist()) == ([1], [0])
    array(other.ndata["feat"])[:] = array(other.edata["weight"])[:] = 9
    assert (arc.X.max(), arc.A.data.max()) == (2, 0.75)
    assert "weight" not in to_dgl(mutag()[:1])[0].edata


def test_features_and_weights_by_name() -> None:
    (bare,) = from_dgl([path()], features=None)
    assert bare.X.tolist() == [[1.0]] * 3
    with pytest.warns(Notice, match="graphs: 4 edges with weight other than 1 taken as 1"):
        from_dgl([path(weights=Tensor([2.0] * 4))])
    (weighted,) = from_dgl([path(weights=Tensor([2.0] * 4))], weight="weight")
    assert weighted.deg.tolist() == [2, 4, 2]


def several_kinds() -> StandInGraph:
    graph = path()
    graph.is_homogeneous = False
    return graph


def a_batch() -> StandInGraph:
    graph = path()
    graph.batch_size = 2
    return graph


def broken(**changes: Any) -> StandInGraph:
    """Return a path with something else in the place of what it has."""
    graph = path()
    for name, value in changes.items():
        setattr(graph, name, value)
    return graph


@pytest.mark.parametrize(
    ("changes", "options", "error", "message"),
    [
        *[({name: None}, {}, UsageError, f"expected DGL graphs with {name}, got tests.small_doors.StandInGraph as gr")
          for name in ("ndata", "edata", "edges", "num_nodes")],
        ({"ndata": 3}, {}, UsageError, "graph 1: expected tensors by name in ndata, got int"),
        ({"edges": lambda: None}, {}, DataError, r"graph 1: expected two tensors from edges\(\) and a number"),
        ({"edges": lambda: (1, 2, 3)}, {}, DataError, r"graph 1: expected two tensors from edges\(\) and a number"),
        ({"edges": lambda: (1, 2)}, {}, DataError, "graph 1: expected node numbers as sources of edges, got int64 of"),
        ({"num_nodes": 3}, {}, DataError, r"graph 1: expected two tensors from edges\(\) and a number from num_nodes"),
        *[({"num_nodes": lambda n=n: n}, {"features": None}, DataError,
           f"graph 1: num_nodes: expected a whole number of at least 0, got {n!r}") for n in (-2, 2.5, "2", None)],
    ],
)  # fmt: skip
def test_what_a_graph_lacks(
    changes: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match="^graphs: " + message):
        from_dgl([path(), broken(**changes)], **options)


@pytest.mark.usefixtures("library")
def test_names_that_are_none() -> None:
    others: list[Any] = [[], 3, ("feat",)]
    for features in others:
        with pytest.raises(UsageError, match=r"^features: expected a name in ndata or None, got "):
            from_dgl([path()], features=features)
        with pytest.raises(UsageError, match=r"^features: expected a name for ndata, got "):
            to_dgl(mutag()[:1], features=features)
    with pytest.raises(DataError, match=r"^graphs: expected features that float32 can hold"):
        to_dgl([as_graph([[0]], [[1e300]])])


@pytest.mark.parametrize(
    ("graphs", "options", "error", "message"),
    [
        (path(), {}, UsageError, "graphs: expected a sequence of DGL graphs, got one tests.small_doors.StandInGraph"),
        (path, {}, UsageError, "graphs: expected a sequence of DGL graphs, got function"),
        ([], {}, UsageError, "graphs: expected at least one graph, got none"),
        ([3], {}, UsageError, "graphs: expected DGL graphs with ndata, got int as graph 0"),
        ([path(), several_kinds()], {}, UsageError, "graphs: graph 1 has several kinds of nodes or edges"),
        ([a_batch()], {}, UsageError, "graphs: graph 0 is a batch of several graphs; dgl.unbatch takes it apart"),
        (
            [path()],
            {"features": "h"},
            UsageError,
            "features: expected a name in ndata or None, got 'h'; graph 0 has 'f",
        ),
        ([path()], {"weight": "w"}, UsageError, "weight: expected a name in edata or None, got 'w'; graph 0 has not"),
        ([path()], {"directed": 1}, UsageError, "directed: expected True or False, got 1"),
        ([path(ends=(Tensor([0]), Tensor([3])))], {}, DataError, r"graph 0: expected node numbers \(0 to 2\)"),
        ([path(ends=(Tensor([0.0]), Tensor([1])))], {}, DataError, "graph 0: expected node numbers as sources"),
        ([path(ends=(Tensor([0, 1]), Tensor([1])))], {}, DataError, "as many sources as targets of edges, got 2 and 1"),
        ([path(features=Tensor(np.eye(4)))], {}, DataError, "graph 0: X: expected 3 rows"),
        ([path(weights=Tensor([-1.0] * 4))], {"weight": "weight"}, DataError, "graph 0: expected finite weight that"),
    ],
)
def test_graphs_that_are_none(graphs: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_dgl(graphs, **options)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    install_stand_ins(monkeypatch)
    hide(monkeypatch, "dgl")
    with pytest.raises(UsageError, match="to_dgl needs dgl: pip install torch dgl"):
        to_dgl(mutag())
    with pytest.raises(UsageError, match="dtype: expected 'float32' or 'float64', got 16"):
        to_dgl(mutag(), dtype=16)  # type: ignore[arg-type]
