"""Whatever a door is given, it takes it or raises one of our errors: nothing raw of NumPy, SciPy or networkx."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from minipinet.conversions import from_networkx, networkx_union
from minipinet.datasets import dataset_from_networkx, load_dataset
from minipinet.errors import MinipinetError, Notice
from minipinet.graphs import Graph, as_graph
from minipinet.interop.dgl import from_dgl, to_dgl
from minipinet.interop.gin_text import read_gin, write_gin
from minipinet.interop.grakel import from_grakel, to_grakel
from minipinet.interop.networkx import to_networkx
from minipinet.interop.onnx import export_onnx, onnx_inputs
from minipinet.interop.pyg import dataset_from_pyg, from_pyg, to_pyg
from minipinet.interop.smiles import from_smiles
from minipinet.interop.state_dict import from_state_dict, read_state_dict, to_state_dict, write_state_dict
from minipinet.node_link import read_node_link
from minipinet.predictor import PiNet
from tests.small_doors import StandInGraph, Tensor, install_stand_ins, mutag, mutag_model

NAN, INF = float("nan"), float("inf")
#: No number of nodes between what is drawn and what does not fit in memory.
NUMBERS = [0, 1, 2, 3, -1, -2, 2**31, 2**62, -(2**63), 2**64, 10**400, 0.0, 1.0, 2.5, -0.5, NAN, INF, 1e300, 1j, True]
ATOMS = st.sampled_from(
    [None, *NUMBERS, np.int64(1), np.float32(2), np.uint64(2**63), "", "x", "2", "\ud800", "a\0b", b"x", object(), len]
)
SHAPES = [(), (0,), (1,), (2,), (4,), (0, 0), (2, 0), (2, 1), (2, 4), (1, 2), (3, 2), (4, 1), (2, 2), (2, 2, 2)]


class Rows(Tensor):
    """A tensor that can be taken apart into its rows, as any can; one without dimensions cannot."""

    def __iter__(self) -> Any:
        return iter(self.array)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Draw an array of any shape and type, or another container of the same numbers."""
    dtype = draw(st.sampled_from(["i8", "u8", "f8", "f4", "?", "c16", "U1", "O", "M8[s]"]))
    shape = draw(st.sampled_from(SHAPES))
    values = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=8, max_size=8))
    array = np.resize(np.array(values), shape).astype(dtype)
    if array.size and dtype in ("f8", "f4", "O") and draw(st.booleans()):
        array.flat[0] = draw(st.sampled_from([NAN, INF, -1.0, 0.5]))
    if array.size and dtype == "i8" and draw(st.booleans()):
        array.flat[0] = draw(st.sampled_from([-1, 7, 2**40, -(2**63)]))
    forms: list[Callable[[Any], Any]] = [np.array, Rows, lambda a: a.tolist(), np.ma.masked_all_like]
    if array.ndim == 2 and dtype in ("f8", "i8"):
        forms.append(sp.coo_array)
    return draw(st.sampled_from(forms))(array)


#: Anything at all.
THINGS = st.recursive(
    ATOMS | arrays() | st.builds(nx.path_graph, st.integers(0, 2)) | st.just(as_graph([[0, 1], [1, 0]])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from([None, 0, 1, "x", "feat", "weight", (0, 1), NAN]), inner, max_size=3)
    ),
    max_leaves=4,
)
FLAGS = st.booleans() | THINGS
NAMES = st.sampled_from([None, "x", "weight", "edge_weight", "label"]) | THINGS


def takes_it_or_says_why(call: Callable[[], Any]) -> None:
    """Let the errors of ours go, and a Notice; any other error or warning fails the test."""
    with warnings.catch_warnings(), contextlib.suppress(MinipinetError):
        warnings.simplefilter("ignore", Notice)
        call()


def mostly(usual: Any, odd: st.SearchStrategy[Any] = THINGS) -> st.SearchStrategy[Any]:
    """Draw the usual value as often as anything else, so that one odd thing is often alone."""
    return st.just(usual) | odd


ENCODERS = mostly(mutag().encoder)


def few(**options: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw two of these options at most: the first odd one is what an error is about."""
    chosen = st.sets(st.sampled_from(sorted(options)), max_size=2)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: options[name] for name in sorted(names)}))


@given(
    fields=st.fixed_dictionaries(
        {"edge_index": mostly(np.array([[0, 1], [1, 0]]))},
        optional={
            "x": mostly(np.eye(2)),
            "num_nodes": mostly(2),
            "edge_weight": mostly(np.ones(2)),
            "y": mostly([1]),
            "batch": THINGS,
        },
    ),
    options=few(weight=NAMES, directed=FLAGS),
    several=mostly(None),
)
def test_from_pyg(fields: dict[str, Any], options: dict[str, Any], several: Any) -> None:
    data = [SimpleNamespace(**fields)] if several is None else several
    takes_it_or_says_why(lambda: from_pyg(data, **options))
    takes_it_or_says_why(lambda: dataset_from_pyg(data, **options))


@example(ends=([0], [1]), number=2, ndata=3, edata={}, without="", options={}, several=None)
@given(
    ends=mostly(([0, 1], [1, 0])),
    number=mostly(2),
    ndata=mostly({"feat": np.eye(2)}) | st.dictionaries(st.sampled_from(["feat", "x"]), THINGS),
    edata=mostly({}) | st.dictionaries(st.sampled_from(["weight", "x"]), THINGS),
    without=st.sampled_from(["", "ndata", "edata", "edges", "num_nodes"]),
    options=few(features=NAMES, weight=NAMES, directed=FLAGS),
    several=mostly(None),
)
def test_from_dgl(
    ends: Any, number: Any, ndata: Any, edata: Any, without: str, options: dict[str, Any], several: Any
) -> None:
    graph = StandInGraph(ends, number)
    graph.ndata, graph.edata = ndata, edata
    if without:
        setattr(graph, without, None)
    takes_it_or_says_why(lambda: from_dgl([graph] if several is None else several, **options))


PAIRS = st.tuples(ATOMS, ATOMS) | st.tuples(ATOMS, ATOMS, ATOMS)


@given(
    graph=mostly([(0, 1), (1, 0)])
    | st.lists(PAIRS, max_size=3)
    | st.sets(PAIRS, max_size=3)
    | st.dictionaries(st.tuples(ATOMS, ATOMS), ATOMS, max_size=3)
    | st.dictionaries(ATOMS, st.lists(ATOMS, max_size=2) | st.dictionaries(ATOMS, ATOMS, max_size=2), max_size=3),
    labels=st.lists(mostly({0: "C"}) | st.dictionaries(ATOMS, ATOMS, max_size=2), max_size=2),
    several=mostly(None),
)
def test_from_grakel(graph: Any, labels: list[Any], several: Any) -> None:
    given_ = [[graph, *labels]] if several is None else several
    takes_it_or_says_why(lambda: from_grakel(given_))
    with contextlib.suppress(MinipinetError):
        graphs = from_grakel(given_)
        takes_it_or_says_why(lambda: dataset_from_networkx(graphs, [0] * len(graphs), node_label="label"))


@example(attributes=[0, 1, 2], options={"encoder": 3}, several=None)
@given(
    attributes=st.lists(ATOMS | arrays(), min_size=3, max_size=3),
    options=few(
        node_label=NAMES, node_attributes=NAMES, weight=NAMES, directed=FLAGS, default=THINGS, encoder=ENCODERS
    ),
    several=mostly(None),
)
def test_networkx(attributes: list[Any], options: dict[str, Any], several: Any) -> None:
    G = nx.path_graph(2)
    G.nodes[0]["x"], G.nodes[1]["x"], G.edges[0, 1]["weight"] = attributes
    takes_it_or_says_why(lambda: from_networkx(G if several is None else several, **options))
    takes_it_or_says_why(lambda: networkx_union([G] if several is None else several, **options))
    options.pop("encoder", None)
    takes_it_or_says_why(lambda: dataset_from_networkx([G] if several is None else several, [0], **options))


@given(A=mostly([[0, 1], [1, 0]]) | arrays(), X=mostly(None) | arrays(), weighted=FLAGS, directed=FLAGS, nodes=THINGS)
def test_matrices(A: Any, X: Any, weighted: Any, directed: Any, nodes: Any) -> None:
    takes_it_or_says_why(lambda: as_graph(A, X, weighted=weighted, directed=directed))
    graph = as_graph([[0, 1], [1, 0]])
    takes_it_or_says_why(lambda: to_networkx([Graph(graph.A, graph.X, nodes)]))


TOKENS = st.sampled_from(
    ["0", "1", "2", "3", "-1", "x", "nan", "1e999", "0.5", "9" * 20, "\n", "\n", "\n1 0\n", "\0", "\r"]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("odd")


@given(words=st.lists(TOKENS, max_size=12), options=few(directed=FLAGS, features=NAMES, encoder=ENCODERS))
def test_text_of_gin(folder: Path, words: list[str], options: dict[str, Any]) -> None:
    path = folder / "words.txt"
    path.write_bytes(b"1\n1 0\n0 0")
    takes_it_or_says_why(lambda: read_gin(path, **options))
    path.write_bytes(" ".join(words).encode())
    takes_it_or_says_why(lambda: read_gin(path))


#: What SMILES are written with, and what they are not.
LETTERS = "CcNO1()[]=#+-%@/\\.H*: \n\0\ud800é"


@example(texts=["C\ud800"], hydrogens=False)
@given(texts=st.lists(mostly("CCO") | st.text(LETTERS, max_size=8), max_size=3), hydrogens=FLAGS)
def test_smiles(texts: Any, hydrogens: Any) -> None:
    pytest.importorskip("rdkit", reason="rdkit is in minipinet[smiles]")
    takes_it_or_says_why(lambda: from_smiles(texts, hydrogens=hydrogens))
    takes_it_or_says_why(lambda: from_smiles(texts))


@given(thing=THINGS)
def test_smiles_that_are_none(thing: Any) -> None:
    pytest.importorskip("rdkit", reason="rdkit is in minipinet[smiles]")
    takes_it_or_says_why(lambda: from_smiles(thing))


@given(
    graphs=mostly(mutag()[:2]) | st.lists(THINGS, max_size=2),
    dtype=st.sampled_from(["float32", "float64"]) | THINGS,
    features=mostly("feat"),
)
def test_graphs_on_the_way_out(graphs: Any, dtype: Any, features: Any) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        install_stand_ins(monkeypatch)
        takes_it_or_says_why(lambda: to_pyg(graphs, dtype=dtype))
        takes_it_or_says_why(lambda: to_dgl(graphs, features=features, dtype=dtype))
    takes_it_or_says_why(lambda: to_networkx(graphs))
    takes_it_or_says_why(lambda: to_grakel(graphs))
    takes_it_or_says_why(lambda: onnx_inputs(graphs, dtype))


STATE_NAMES = sorted(to_state_dict(mutag_model()))


@example(changes={1: np.zeros(1)}, left_out={"p_raw"}, whole=None, like=mutag_model())
@given(
    changes=st.dictionaries(st.sampled_from([*STATE_NAMES, "p", "q", "readout.bias"]) | ATOMS, THINGS, max_size=2),
    left_out=st.sets(st.sampled_from(STATE_NAMES), max_size=1),
    whole=mostly(None),
    like=mostly(mutag_model()),
)
def test_state_dicts(changes: dict[Any, Any], left_out: set[str], whole: Any, like: Any) -> None:
    state: dict[Any, Any] = {k: v for k, v in to_state_dict(mutag_model()).items() if k not in left_out} | changes
    takes_it_or_says_why(lambda: from_state_dict(state if whole is None else whole, like))


#: What a file could be called by somebody in a hurry; nothing that names one.
NO_PATHS = st.sampled_from(
    [None, 3, 2.5, "", b"x", "a\0b", "\ud800", [], {}, np.zeros(2), object(), "no/such/folder/x"]
)


@given(path=NO_PATHS, thing=THINGS)
def test_files_and_models(path: Any, thing: Any) -> None:
    model = mutag_model()
    for call in (
        lambda: read_gin(path),
        lambda: write_gin(path, mutag()[:2]),
        lambda: write_gin("no/such/folder/x", thing),
        lambda: export_onnx(model, path),
        lambda: export_onnx(thing, path),
        lambda: write_state_dict(model, path),
        lambda: write_state_dict(thing, path),
        lambda: to_state_dict(thing),
        lambda: read_state_dict(path, model),
        lambda: read_state_dict("no/such/folder/x", thing),
        lambda: model.save(path),
        lambda: PiNet.load(path),
        lambda: read_node_link(path),
        lambda: load_dataset(path),
        lambda: load_dataset("MUTAG", data_dir=path),
    ):
        if not (call.__code__.co_names[0] == "load_dataset" and path is None):
            takes_it_or_says_why(call)
