"""Graphs out of networkx objects and node-link JSON files."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from minipinet._networkx import networkx_parts
from minipinet.conversions import from_networkx, networkx_union
from minipinet.datasets.encoder import FeatureEncoder
from minipinet.datasets.load import load_dataset
from minipinet.errors import DataError, Notice, UsageError
from minipinet.graphs import as_graph
from minipinet.node_link import read_node_link
from minipinet.union import disjoint_union
from tests.strategies import graph_lists
from tests.test_graphs import assert_canonical, assert_same, run_python


def molecule(**attributes: Any) -> nx.Graph:
    """Return a path of three nodes; each keyword gives one value for each node (None: the node lacks it)."""
    G = nx.Graph([("a", "b"), ("b", "c")])
    for name, values in attributes.items():
        for node, value in zip(G, values, strict=True):
            if value is not None:
                G.nodes[node][name] = value
    return G


# --- order of rows -------------------------------------------------------------------------------------------------


def test_case_024_node_ids_are_not_row_numbers() -> None:
    G = nx.Graph()
    G.add_nodes_from((node, {"x": node}) for node in (4, 2, 6))
    G.add_edges_from([(4, 6), (2, 6)])
    graph = from_networkx(G, node_attributes="x")
    assert graph.nodes == (4, 2, 6)
    np.testing.assert_array_equal(graph.X, [[4], [2], [6]])
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])


def test_case_025_insertion_order_is_kept() -> None:
    G = nx.Graph([(2, 9)])
    G.add_node(5)
    G.add_edge(5, "b")
    graph = from_networkx(G)
    assert graph.nodes == tuple(G) == (2, 9, 5, "b")
    np.testing.assert_array_equal(graph.A.toarray(), nx.to_numpy_array(G))


def test_case_025_order_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import networkx as nx; from minipinet.conversions import from_networkx;"
        "g = from_networkx(nx.Graph([('b', 'a'), ('a', 'zebra'), ('q', 'b')]));"
        "print(g.nodes, g.A.toarray().tolist())"
    )
    outputs = {run_python(code, PYTHONHASHSEED=seed) for seed in ("1", "2", "3")}
    assert len(outputs) == 1
    assert outputs.pop().startswith("('b', 'a', 'zebra', 'q')")


@pytest.mark.parametrize("ids", [[(0, 1), (1, 0)], [frozenset({1}), 2.5], [0, "0"], [True, -7], [float("nan"), b"x"]])
def test_any_hashable_is_a_node_id(ids: list[Any]) -> None:
    G = nx.Graph()
    G.add_nodes_from(ids)
    G.add_edge(*ids)
    graph = from_networkx(G)
    assert all(one is other for one, other in zip(graph.nodes, G, strict=True))
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 1], [1, 0]])


# --- attributes ----------------------------------------------------------------------------------------------------


def test_case_027_missing_attribute_is_placed() -> None:
    whole, holed = molecule(label=["C", "C", "O"]), molecule(label=["C", None, "O"])
    with pytest.raises(
        DataError, match=r"^graph 1: node 'b' has no attribute 'label' \(default= stands in where it is missing\)$"
    ):
        networkx_parts([whole, holed], node_label="label")
    parts = networkx_parts([whole, holed], node_label="label", default="N")
    assert parts.labels[:, 0].tolist() == ["C", "C", "O", "C", "N", "O"]


def test_case_027_default_for_each_attribute() -> None:
    G = molecule(label=[1, None, 3], mass=[None, 2.0, 3.0])
    parts = networkx_parts([G], node_label="label", node_attributes=["mass"], default={"label": 9, "mass": 0.5})
    assert parts.labels[:, 0].tolist() == [1, 9, 3]
    np.testing.assert_array_equal(parts.attributes, [[0.5], [2], [3]])
    with pytest.raises(DataError, match=r"^graph 0: node 'a' has no attribute 'mass'"):
        networkx_parts([G], node_label="label", node_attributes="mass", default={"label": 9})


def test_case_027_attribute_that_no_node_has() -> None:
    with pytest.raises(DataError, match=r"^graph 0: node 0 has no attribute 'lable' \(default="):
        networkx_parts([nx.path_graph(3)], node_label="lable")
    with pytest.raises(DataError, match=r"^graph 0: node 'a' has no attribute 'lable', only 'label', 'x' \(default="):
        networkx_parts([molecule(label="CCO", x=[1, 2, 3])], node_label="lable")


def test_attributes_stand_side_by_side() -> None:
    G = molecule(x=[1, True, np.float32(0.5)], v=[[1, 2], (3, 4), np.array([5, 6])])
    graph = from_networkx(G, node_attributes=("v", "x"))
    np.testing.assert_array_equal(graph.X, [[1, 2, 1], [3, 4, 1], [5, 6, 0.5]])
    assert graph.X.flags.c_contiguous


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "2", 3], "node 'b': 'x': expected real numbers, got dtype <U1"),
        ([1, 2, [1, 2]], "node 'c': expected 1 number in 'x', got 2"),
        ([[1, 2], [1, [2]], 3], "node 'b': 'x': expected an array of real numbers"),
        ([1j, 2, 3], "node 'a': 'x': expected real numbers, got dtype complex128"),
        ([1, np.nan, 3], "node 'b': expected 'x' to be finite numbers, at least one, got nan"),
        ([1, 2, [np.inf]], r"node 'c': expected 'x' to be finite numbers, at least one, got \[inf\]"),
        ([[], [], []], "node 'a': expected 'x' to be finite numbers, at least one"),
        ([[[1]], 2, 3], "node 'a': expected 'x' to be finite numbers, at least one"),
        ([1, {"y": 1}, 3], "node 'b': 'x': expected real numbers, got dict"),
    ],
)
def test_attributes_that_are_no_numbers(values: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^graph 1: {message}"):
        networkx_parts([nx.Graph(), molecule(x=values)], node_attributes="x")


def test_equal_numbers_are_one_label() -> None:
    parts = networkx_parts(
        [molecule(label=[1, 1.0, True]), molecule(label=[np.int64(1), Fraction(1), np.float16(1)])], node_label="label"
    )
    assert [(type(value), value) for value in parts.labels[:, 0]] == [(int, 1)] * 6
    others = networkx_parts([molecule(label=[-0.0, 0.5, np.str_("C")])], node_label="label").labels[:, 0]
    assert [(type(value), str(value)) for value in others] == [(int, "0"), (float, "0.5"), (str, "C")]


@pytest.mark.parametrize("value", [np.nan, np.inf, (1, 2), ["C"], b"C", 1j, 10**400, np.array(1)], ids=repr)
def test_labels_that_are_none(value: Any) -> None:
    with pytest.raises(DataError, match=r"^graph 0: node 'b': expected 'label' to be a string or a finite number, got"):
        networkx_parts([molecule(label=[1, value, 2])], node_label="label")


def test_label_columns() -> None:
    parts = networkx_parts([molecule(atom=["C", "O", "C"], ring=[1, 0, 0])], node_label=["atom", "ring"])
    assert parts.labels.tolist() == [["C", 1], ["O", 0], ["C", 0]]
    assert parts.attributes.shape == (3, 0)
    assert networkx_parts([molecule()]).labels.shape == (3, 0)


# --- encoders ------------------------------------------------------------------------------------------------------

ATOMS = FeatureEncoder("labels", (("C", "N", "O"),))


def test_case_121_new_graphs_get_the_columns_of_the_encoder() -> None:
    graph = from_networkx(molecule(atom=["O", "C", "C"]), node_label="atom", encoder=ATOMS)
    np.testing.assert_array_equal(graph.X, [[0, 0, 1], [1, 0, 0], [1, 0, 0]])
    assert graph.nodes == ("a", "b", "c")


def test_code_without_a_name_of_its_own_gets_notices_too() -> None:
    """As in a doctest, or what `exec` runs."""
    with pytest.warns(Notice, match="^1 arc joined both ways"):
        exec("from_networkx(G)", {"from_networkx": from_networkx, "G": nx.DiGraph([(0, 1)])})


def test_case_121_unseen_labels_are_one_notice_at_the_callers_line() -> None:
    graphs = [molecule(atom=["C", "Xx", "O"]), molecule(atom=["Zz", "C", "O"])]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        union = networkx_union(graphs, node_label="atom", encoder=ATOMS)
        from_networkx(graphs[0], node_label="atom", encoder=ATOMS)
    np.testing.assert_array_equal(union.X[[1, 3]], 0)
    assert [item.filename for item in caught] == [__file__] * 2
    assert "'Xx', 'Zz'" in str(caught[0].message)


def test_encoders_of_degrees_and_of_attributes() -> None:
    degrees = FeatureEncoder("degree", ((0, 1, 2),))
    np.testing.assert_array_equal(from_networkx(molecule(), encoder=degrees).X, [[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    masses = FeatureEncoder("attributes", (), 1)
    graph = from_networkx(molecule(mass=[1, 2, 3]), node_attributes="mass", encoder=masses)
    np.testing.assert_array_equal(graph.X, [[1], [2], [3]])
    both = FeatureEncoder("both", (("C", "O"),), 1)
    graph = from_networkx(molecule(a="CCO", m=[1, 2, 3]), node_label="a", node_attributes="m", encoder=both)
    np.testing.assert_array_equal(graph.X, [[1, 0, 1], [1, 0, 2], [0, 1, 3]])


def test_encoder_and_names_must_agree() -> None:
    with pytest.raises(UsageError, match=r"^node_label: labels need the encoder"):
        from_networkx(molecule(atom="CCO"), node_label="atom")
    with pytest.raises(UsageError, match=r"needs node labels, and there are none"):
        from_networkx(molecule(atom="CCO"), encoder=ATOMS)
    with pytest.raises(UsageError, match=r"needs node attributes, and there are none"):
        from_networkx(molecule(), encoder=FeatureEncoder("attributes", (), 1))


def test_features_left_out_are_ones() -> None:
    np.testing.assert_array_equal(from_networkx(molecule()).X, [[1], [1], [1]])


# --- edges ---------------------------------------------------------------------------------------------------------


def test_case_028_parallel_edges_and_loops_by_every_path(tmp_path: Path) -> None:
    G = nx.MultiGraph([(0, 1), (0, 1), (2, 2)])
    with pytest.warns(Notice, match=r"^1 parallel edge counted once"):
        graph = from_networkx(G)
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(graph.deg, [1, 1, 1])
    with pytest.warns(Notice, match=r"^A: 2 weights other than 1 set to 1"):
        assert_same(graph, as_graph(nx.to_scipy_sparse_array(G)))  # 2.0 off the diagonal
    with pytest.warns(Notice, match=r"^A: 2 repeated entries counted once"):
        assert_same(graph, as_graph(sp.coo_array((np.ones(5), ([0, 1, 0, 1, 2], [1, 0, 1, 0, 2])))))
    folder = tmp_path / "LOOP"
    folder.mkdir()
    for name, text in (("A", "1,2\n2,1\n2,1\n1,2\n3,3\n"), ("graph_indicator", "1\n1\n1\n"), ("graph_labels", "1\n")):
        (folder / f"LOOP_{name}.txt").write_text(text)
    with pytest.warns(Notice, match=r"2 of 5 lines of the edge list repeat"):
        dataset = load_dataset(folder, features="constant")
    assert_same(graph, dataset[0])


@pytest.mark.parametrize("cls", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_case_028_a_loop_is_one_in_every_class(cls: Callable[..., nx.Graph]) -> None:
    graph = from_networkx(cls([(0, 0)]))
    np.testing.assert_array_equal(graph.A.toarray(), [[1]])


def test_case_028_weights_of_parallel_edges_add_up() -> None:
    G = nx.MultiGraph()
    G.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 0.5), (1, 2, 0.0), (2, 2, 3)])
    graph = from_networkx(G, weight="weight")
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 2.5, 0], [2.5, 0, 0], [0, 0, 3]])
    np.testing.assert_array_equal(graph.A.toarray(), nx.to_numpy_array(G))


def test_weights_are_not_read_unless_named() -> None:
    G = nx.Graph()
    G.add_edge(0, 1, weight=-3.0)
    G.add_edge(1, 2, weight=0.0)
    with pytest.warns(Notice, match=r"^2 edges with a weight other than 1 taken as 1 \(weight='weight' keeps it\)$"):
        np.testing.assert_array_equal(from_networkx(G).deg, [1, 2, 1])


@pytest.mark.parametrize(
    "data", [{"weight": 1}, {"weight": 1.0}, {"weight": "heavy"}, {"weight": None}, {"w": 2.0}, {}]
)
def test_edges_without_a_weight_of_their_own_need_no_notice(data: dict[str, Any]) -> None:
    with warnings.catch_warnings(action="error"):
        np.testing.assert_array_equal(from_networkx(nx.Graph([(0, 1, data)])).deg, [1, 1])


def test_node_data_that_is_not_used_is_named() -> None:
    with pytest.warns(
        Notice, match=r"^the nodes carry data that is not used: 'label', 'x'; .*node_attributes="
    ) as notices:
        graph = from_networkx(molecule(label="CCO", x=[None, 2, None]))
    assert (len(notices), notices[0].filename) == (1, __file__)
    np.testing.assert_array_equal(graph.X, [[1], [1], [1]])
    with pytest.warns(Notice, match="that is not used: 'x';"):
        networkx_union([nx.path_graph(2), molecule(x=[1, 2, 3])])
    with warnings.catch_warnings(action="error"):
        from_networkx(molecule(label="CCO", x=[1, 2, 3]), node_attributes="x")
        from_networkx(molecule(label="CCO"), encoder=FeatureEncoder("constant"))


def test_missing_weight() -> None:
    G = nx.Graph()
    G.add_edge("a", "b", w=2.0)
    G.add_edge("b", "c")
    with pytest.raises(DataError, match=r"^graph 0: edge \('b', 'c'\) has no attribute 'w'"):
        from_networkx(G, weight="w")
    np.testing.assert_array_equal(from_networkx(G, weight="w", default={"w": 1.0}).deg, [2, 3, 1])


@pytest.mark.parametrize("value", [-2.0, np.nan, np.inf, -np.inf, "2", 1j, [1], 10**400], ids=repr)
def test_case_036_edge_weights_outside_the_domain(value: Any) -> None:
    G = nx.Graph()
    G.add_edge("a", "b", w=value)
    with pytest.raises(DataError, match=r"^graph 1: edge \('a', 'b'\): expected 'w' to be a finite number that is not"):
        networkx_union([nx.empty_graph(1), G], weight="w")


def test_case_029_an_arc_is_mirrored_unless_kept() -> None:
    G = nx.DiGraph([("u", "v")])
    with pytest.warns(Notice, match=r"^1 arc joined both ways \(directed=True keeps the direction\)"):
        mirrored = from_networkx(G)
    np.testing.assert_array_equal(mirrored.A.toarray(), [[0, 1], [1, 0]])
    kept = from_networkx(G, directed=True)
    np.testing.assert_array_equal(kept.A.toarray(), [[0, 1], [0, 0]])
    assert_same(kept, as_graph(nx.to_scipy_sparse_array(G), directed=True))


def test_case_029_arcs_both_ways_need_no_notice() -> None:
    np.testing.assert_array_equal(from_networkx(nx.DiGraph([(0, 1), (1, 0)])).A.toarray(), [[0, 1], [1, 0]])


def test_case_029_undirected_graphs_stay_so_with_directed_true() -> None:
    union = networkx_union([nx.path_graph(2), nx.DiGraph([(0, 1)])], directed=True)
    np.testing.assert_array_equal(union.A.toarray(), [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


class Wheel(nx.Graph):  # type: ignore[misc]
    """A graph whose constructor adds edges and counts how often it runs."""

    runs = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_edges_from([("hub", "a"), ("hub", "b")])
        Wheel.runs += 1


class Demanding(nx.MultiDiGraph):  # type: ignore[misc]
    """A graph that cannot be made without an argument."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.add_edges_from((0, k) for k in range(1, size))


def test_case_029_constructor_of_a_subclass_is_not_run_again() -> None:
    G = Wheel()
    G.remove_edge("hub", "b")
    runs = Wheel.runs
    graph = from_networkx(G)
    assert Wheel.runs == runs
    np.testing.assert_array_equal(graph.A.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(from_networkx(Demanding(3), directed=True).deg, [2, 0, 0])


@pytest.mark.parametrize("view", [nx.freeze, lambda G: G.subgraph([0, 1, 2, 3]), lambda G: G.copy(as_view=True)])
def test_views_and_frozen_graphs(view: Callable[[nx.Graph], nx.Graph]) -> None:
    assert_same(from_networkx(view(nx.path_graph(4))), from_networkx(nx.path_graph(4)))


def test_the_callers_graph_is_left_alone() -> None:
    G = molecule(label=["C", "C", None])
    before = node_link(G)
    networkx_parts([G], node_label="label", default="N")
    assert node_link(G) == before


# --- several graphs ------------------------------------------------------------------------------------------------


def test_notices_are_counted_over_all_graphs() -> None:
    graphs = [nx.DiGraph([(0, 1), (1, 2)]), nx.path_graph(2), nx.DiGraph([(5, 6)]), nx.MultiGraph([(0, 1), (1, 0)])]
    assert networkx_parts(graphs).notices == (
        "1 parallel edge counted once (weight= adds weights up)",
        "3 arcs joined both ways (directed=True keeps the direction)",
    )


def test_case_045_empty_networkx_graphs_keep_their_place() -> None:
    union = networkx_union([nx.Graph(), nx.path_graph(2), nx.Graph(), nx.Graph()])
    assert union.ptr.tolist() == [0, 0, 2, 2, 2]
    assert from_networkx(nx.Graph()).X.shape == (0, 1)
    parts = networkx_parts([nx.Graph()], node_label="label", node_attributes="x")
    assert (parts.labels.shape, parts.attributes.shape) == ((0, 1), (0, 1))


@given(graph_lists(), st.randoms(use_true_random=False))
def test_networkx_and_scipy_give_the_same_graphs(drawn: list[Any], random: Any) -> None:
    """Case 28: one graph through both paths, whatever the order in which networkx holds nodes and edges."""
    converted, expected = [], []
    for graph in drawn:
        order = list(range(graph.N))
        random.shuffle(order)
        G = nx.DiGraph()
        G.add_nodes_from((int(node), {"x": graph.X[node]}) for node in order)
        arcs = list(zip(*graph.A.nonzero(), strict=True))
        random.shuffle(arcs)
        G.add_weighted_edges_from((int(i), int(j), graph.A[i, j]) for i, j in arcs)
        converted.append(G)
        expected.append(as_graph(graph.A.toarray()[np.ix_(order, order)], graph.X[order], weighted=True, directed=True))
    sized = [G for G in converted if len(G)]  # a graph without nodes has no attribute to show its width
    union = networkx_union(sized, node_attributes="x", weight="weight", directed=True)
    assert_same(union, disjoint_union([graph for graph in expected if graph.N]))
    assert_canonical(union.A)


def test_what_is_no_networkx_graph() -> None:
    with pytest.raises(UsageError, match=r"^G: expected a networkx graph, got list; networkx_union takes several$"):
        from_networkx([nx.path_graph(2)])
    with pytest.raises(
        UsageError, match=r"^graphs: expected a sequence of networkx graphs, got one networkx.classes.graph.Graph$"
    ):
        networkx_union(nx.path_graph(2))
    with pytest.raises(UsageError, match=r"^graphs: expected a sequence of networkx graphs, got one int$"):
        networkx_union(7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^graphs: expected networkx graphs, got numpy.ndarray as graph 1$"):
        networkx_union([nx.path_graph(2), np.eye(2)])
    with pytest.raises(UsageError, match=r"^graphs: expected at least one graph, got none$"):
        networkx_union([])


def test_a_generator_of_graphs_will_do() -> None:
    assert networkx_union(nx.path_graph(N) for N in (2, 3)).ptr.tolist() == [0, 2, 5]


def test_importing_conversions_leaves_networkx_out() -> None:
    code = "import sys, minipinet.conversions, minipinet.node_link; print('networkx' in sys.modules)"
    assert run_python(code) == "False\n"


# --- node-link JSON ------------------------------------------------------------------------------------------------


def write(folder: Path, content: Any) -> Path:
    """Write content, as JSON unless it is text or bytes already."""
    path = folder / "graphs.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def node_link(G: nx.Graph, edges: str = "edges") -> Any:
    """Return what networkx writes; the keyword that names the edges has had two names."""
    keyword = "edges" if "edges" in inspect.signature(nx.node_link_data).parameters else "link"
    return nx.node_link_data(G, **{keyword: edges})


def labelled(cls: Callable[[], nx.Graph]) -> nx.Graph:
    """Return a graph of some class with ids of three kinds and attributes on nodes and edges."""
    G = cls()
    G.add_nodes_from([("b", {"label": "C", "x": [0.5, 1]}), (7, {"label": "O"}), ((1, 2), {})])
    G.add_edge("b", 7, weight=2.5, kind="double")
    G.add_edge(7, 7)
    G.add_edge((1, 2), "b")
    if G.is_multigraph():
        G.add_edge("b", 7, weight=0.5)
        G.add_edge("b", 7, key="named", key2=1)
    return G


@pytest.mark.parametrize("edges", ["edges", "links"])
@pytest.mark.parametrize("cls", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_node_link_reads_what_networkx_writes(tmp_path: Path, cls: Callable[[], nx.Graph], edges: str) -> None:
    G = labelled(cls)
    path = write(tmp_path, node_link(G, edges))
    for got in (*read_node_link(path), *read_node_link(str(path))):
        assert type(got) is cls
        assert nx.utils.graphs_equal(got, G)
        assert list(got) == list(G)


def test_node_link_list_and_graph_labels(tmp_path: Path) -> None:
    graphs = [nx.path_graph(3), nx.Graph(), labelled(nx.Graph)]
    path = write(tmp_path, [{**node_link(G), "label": g} for g, G in enumerate(graphs)])
    got = read_node_link(path)
    assert all(nx.utils.graphs_equal(one, other) for one, other in zip(got, graphs, strict=True))


def test_node_link_only_nodes_and_edges_are_needed(tmp_path: Path) -> None:
    text = '{"nodes": [{"id": "é"}, {"id": 0}], "links": [{"source": 0, "target": "é"}]}'
    for content in (text, b"\xef\xbb\xbf" + text.encode(), text.replace(" ", "\r\n")):
        (G,) = read_node_link(write(tmp_path, content))
        assert (type(G), list(G), list(G.edges)) == (nx.Graph, ["é", 0], [("é", 0)])


ONE = {"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ", line 1: not JSON"),
        ('{"nodes": [],\n "edges": [}', ", line 2: not JSON"),
        ('[{"nodes": [{"id": 0, "x": NaN}], "edges": []}]', ": not JSON (NaN is no JSON number"),
        ("[" * 100_000, ": not JSON"),
        ('{"nodes": [{"id": ' + "1" * 5000 + '}], "edges": []}', ": not JSON"),
        (b"\xff\xfe\x00", ": not JSON"),
        ([], ": expected at least one graph, got an empty list"),
        (3, ', graph 0: expected an object with lists "nodes" and "edges"'),
        ([ONE, "text"], ', graph 1: expected an object with lists "nodes" and "edges"'),
        ([ONE, {"nodes": []}], ', graph 1: expected an object with lists "nodes" and "edges"'),
        ({"nodes": {"0": {}}, "edges": []}, ', graph 0: expected an object with lists "nodes" and "edges"'),
        ({**ONE, "directed": "false"}, ", graph 0: expected \"directed\" to be true or false, got 'false'"),
        ({**ONE, "multigraph": None}, ', graph 0: expected "multigraph" to be true or false, got None'),
        ([ONE, {"nodes": [{"id": 0}, {"x": 1}], "edges": []}], ', graph 1: node 1: expected an object with "id"'),
        ({"nodes": [{"id": None}], "edges": []}, ', graph 0: node 0: expected an object with "id"'),
        ({"nodes": [5], "edges": []}, ', graph 0: node 0: expected an object with "id"'),
        ({"nodes": [{"id": {}}], "edges": []}, ", graph 0: node 0: expected an id that is"),
        ({"nodes": [{"id": [1, {}]}], "edges": []}, ", graph 0: node 0: expected an id that is"),
        ({"nodes": [{"id": 0}, {"id": 0}], "edges": []}, ", graph 0: node 1 has id 0, as an earlier one has"),
        ({**ONE, "edges": [{"source": 0}]}, ', graph 0: edge 0: expected an object with "source" and "target"'),
        ({**ONE, "edges": [[0, 1]]}, ', graph 0: edge 0: expected an object with "source" and "target"'),
        (
            {**ONE, "edges": [*ONE["edges"], {"source": 0, "target": "1"}]},
            ", graph 0: edge 1 joins '1', which is not among the nodes",
        ),
    ],
)
def test_node_link_files_that_are_none(tmp_path: Path, content: Any, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DataError) as caught:
        read_node_link(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_node_link_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none.json: cannot be read \(No such file or directory\)"):
        read_node_link(tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot be read"):
        read_node_link(tmp_path)


def test_node_link_attributes_of_any_name(tmp_path: Path) -> None:
    attributes = {"self": 1, "node_for_adding": 2, "attr": 3, "key": 4, "u_of_edge": 5, "for": 6}
    nodes = [{"id": 0, **attributes}, {"id": 1}]
    (G,) = read_node_link(write(tmp_path, {"nodes": nodes, "edges": [{"source": 0, "target": 1, **attributes}]}))
    assert G.nodes[0] == attributes
    assert G.edges[0, 1] == attributes


def test_node_link_to_graph(tmp_path: Path) -> None:
    G = molecule(atom=["O", "C", "C"])
    (read,) = read_node_link(write(tmp_path, node_link(G)))
    assert_same(
        from_networkx(read, node_label="atom", encoder=ATOMS), from_networkx(G, node_label="atom", encoder=ATOMS)
    )
