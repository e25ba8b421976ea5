"""Models as ONNX files, run by onnxruntime on batches of every kind."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minipinet._array import Array
from minipinet._files import write_whole
from minipinet.checkpoint import load_checkpoint
from minipinet.errors import DataError, MinipinetError, UsageError
from minipinet.graphs import as_graph, permute_nodes
from minipinet.interop.common import graphs_and_weighted
from minipinet.interop.onnx import export_onnx, onnx_inputs
from minipinet.interop.state_dict import from_state_dict, read_state_dict, to_state_dict, write_state_dict
from minipinet.node_link import read_node_link
from minipinet.params import init_params
from minipinet.predictor import PiNet
from minipinet.union import DisjointUnion, disjoint_union
from tests.small_doors import hide, logits, mutag, mutag_model, odd_graphs
from tests.strategies import unions
from tests.tolerances import ORACLE_FLOAT32, ORACLE_FLOAT64, relative_error

onnx = pytest.importorskip("onnx", reason="onnx is in minipinet[onnx]")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is in minipinet[onnx]")

TOLERANCE = {"float32": ORACLE_FLOAT32, "float64": ORACLE_FLOAT64}
KINDS: list[dict[str, Any]] = [
    {"pq": pq, "bias": bias, "dtype": dtype}
    for pq, bias, dtype in itertools.product(
        ["learned", (0.0, 0.25), ((1, 0), (0.2, 1), (0, 0), (0.7, 0.1))], [False, True], ["float32", "float64"]
    )
]


class Runtime:
    """A model exported to ONNX and loaded by onnxruntime, as somebody without minipinet has it."""

    def __init__(self, model: PiNet, folder: Path) -> None:
        self.path, self.dtype = folder / "model.onnx", str(model.params.W_D.dtype)
        export_onnx(model, self.path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what fails is raised as well
        self.session = onnxruntime.InferenceSession(self.path, options, providers=["CPUExecutionProvider"])

    def __call__(self, graphs: Any) -> tuple[Array, Array]:
        scores, probabilities = self.session.run(["logits", "probabilities"], onnx_inputs(graphs, self.dtype))
        return scores, probabilities


@pytest.mark.parametrize("changes", KINDS, ids=str)
def test_onnxruntime_gives_the_same_answer(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = mutag_model(**changes)
    run = Runtime(model, tmp_path)
    odd = odd_graphs()
    batches = [mutag(), [*odd, mutag()[0], *odd], odd[:1], [odd[0], odd[0]], odd[2:3], [mutag()[5]]]
    for graphs in batches:
        scores, probabilities = run(graphs)
        expected = logits(model, graphs)
        assert scores.dtype == probabilities.dtype == expected.dtype == changes["dtype"]
        assert relative_error(scores, expected) < TOLERANCE[changes["dtype"]]
        shifted = np.exp(expected - expected.max(axis=1, keepdims=True))
        assert relative_error(probabilities, shifted / shifted.sum(axis=1, keepdims=True)) < TOLERANCE[changes["dtype"]]


@pytest.mark.parametrize(("hidden", "out"), [(3, 9), (9, 3), (7, 7), (1, 1)])
def test_widths_on_either_side_of_the_product(tmp_path: Path, hidden: int, out: int) -> None:
    model = mutag_model(hidden=hidden, out=out, dtype="float64")
    assert relative_error(Runtime(model, tmp_path)(mutag()[:20])[0], logits(model, mutag()[:20])) < ORACLE_FLOAT64


def with_params(model: PiNet, params: Any) -> PiNet:
    return PiNet(params, model.settings, model.classes, model.encoder, model.reading)


def test_attention_far_outside_the_range_of_exp(tmp_path: Path) -> None:
    model = mutag_model(dtype="float64")
    steep = with_params(model, model.params._replace(W_A1=model.params.W_A1 * 1e5))
    scores, _ = Runtime(steep, tmp_path)(mutag())
    assert relative_error(scores, logits(steep, mutag())) < ORACLE_FLOAT64


@pytest.fixture(scope="module")
def five_classes(tmp_path_factory: pytest.TempPathFactory) -> tuple[PiNet, Runtime]:
    """Return an untrained model of three features and five classes, which the fused readout does not take."""
    model = mutag_model(dtype="float64", bias=True)
    drawn = init_params(np.random.default_rng(3), d=3, C=5, hidden=5, out=3, bias=True, dtype="float64")
    params = drawn._replace(b_A0=np.linspace(-1, 1, 5), b_D=np.arange(5.0), p_raw=np.array([-0.3, 0.2, 0.0, 0.5]))
    five = PiNet(params, model.settings, tuple("abcde"), model.encoder._replace(vocabularies=(tuple("xyz"),)))
    return five, Runtime(five, tmp_path_factory.mktemp("onnx"))


@given(union=unions(d=3), seed=st.integers(0, 2**32 - 1))
def test_graphs_of_every_kind(five_classes: tuple[PiNet, Runtime], union: DisjointUnion, seed: int) -> None:
    model, run = five_classes
    scores, _ = run(union)
    assert relative_error(scores, logits(model, union)) < ORACLE_FLOAT64
    graphs, _ = graphs_and_weighted(union)
    rng = np.random.default_rng(seed)
    renumbered = [permute_nodes(graph, rng.permutation(graph.N)) for graph in graphs]
    assert relative_error(run(renumbered)[0], scores) < ORACLE_FLOAT64


def test_the_order_of_edges_does_not_matter(tmp_path: Path) -> None:
    model = mutag_model(dtype="float64")
    run = Runtime(model, tmp_path)
    inputs = onnx_inputs(mutag()[:9], "float64")
    order = np.random.default_rng(0).permutation(inputs["edge_weight"].size)
    shuffled = inputs | {"edge_index": inputs["edge_index"][:, order], "edge_weight": inputs["edge_weight"][order]}
    (scores,), (again,) = (run.session.run(["logits"], part) for part in (inputs, shuffled))
    assert relative_error(again, scores) < ORACLE_FLOAT64


def test_what_the_file_says(tmp_path: Path) -> None:
    run = Runtime(mutag_model(), tmp_path)
    assert {node.name: (node.type, node.shape) for node in run.session.get_inputs()} == {
        "X": ("tensor(float)", ["N", 7]),
        "edge_index": ("tensor(int64)", [2, "E"]),
        "edge_weight": ("tensor(float)", ["E"]),
        "graph": ("tensor(int64)", ["N"]),
        "num_graphs": ("tensor(int64)", [1]),
    }
    assert {node.name: node.shape for node in run.session.get_outputs()} == {
        "logits": ["B", 2],
        "probabilities": ["B", 2],
    }
    metadata = run.session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["classes"]) == [-1, 1]
    assert json.loads(metadata["encoder"])["vocabularies"] == [[0, 1, 2, 3, 4, 5, 6]]
    proto = onnx.load(run.path)
    assert {node.domain for node in proto.graph.node} == {""}
    assert (proto.ir_version, proto.opset_import[0].version) == (9, 18)


def test_the_same_model_gives_the_same_bytes_and_is_not_changed(tmp_path: Path) -> None:
    model = mutag_model(bias=True)
    before = [None if w is None else w.copy() for w in model.params]
    for name in ("one", "other"):
        export_onnx(model, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    for w, was in zip(model.params, before, strict=True):
        np.testing.assert_array_equal(w, was)
    graphs = mutag()[:2]
    inputs = onnx_inputs(graphs)
    for array in inputs.values():
        array[...] = 0
    assert graphs.graphs.X.any()
    assert graphs.graphs.A.data.all()


def test_wrong_inputs_are_refused_by_the_runtime(tmp_path: Path) -> None:
    run = Runtime(mutag_model(), tmp_path)
    inputs = onnx_inputs(mutag()[:2])
    for part in (
        {"edge_index": inputs["edge_index"] + 1000},
        {"X": inputs["X"][:, :3]},
        {"graph": inputs["graph"] + 9},
    ):
        with pytest.raises(Exception, match=r"(?i)invalid|out of|indices"):
            run.session.run(None, inputs | part)


def test_without_onnx_or_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MinipinetError, match="cannot be written"):
        export_onnx(mutag_model(), tmp_path / "none" / "model.onnx")
    hide(monkeypatch, "onnx")
    with pytest.raises(UsageError, match=r"export_onnx needs onnx: pip install 'minipinet\[onnx\]'"):
        export_onnx(mutag_model(), tmp_path / "model.onnx")
    assert onnx_inputs(disjoint_union(odd_graphs()))["num_graphs"].tolist() == [7]
    with pytest.raises(UsageError, match="graphs: expected a Dataset or a list of graphs, got int"):
        onnx_inputs(3)
    for dtype in ("half", None, np.zeros(2), np.dtype("float32")):
        with pytest.raises(UsageError, match=r"^dtype: expected 'float32' or 'float64', got "):
            onnx_inputs(odd_graphs(), dtype)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^graphs: expected features that float32 can hold .* got 1e\+300"):
        onnx_inputs([as_graph([[0]], [[1e300]])])


def test_an_estimator_is_no_model_but_has_one(tmp_path: Path) -> None:
    class Estimator:
        model_ = mutag_model()

        def fit(self) -> None: ...

    message = "expected a minipinet.predictor.PiNet, got .*Estimator; its model_ is one once it is fitted"
    calls: dict[str, list[Any]] = {
        "model": [
            to_state_dict,
            lambda m: write_state_dict(m, tmp_path / "x"),
            lambda m: export_onnx(m, tmp_path / "x"),
        ],
        "like": [lambda m: from_state_dict(to_state_dict(mutag_model()), m), lambda m: read_state_dict("none", m)],
    }
    for argument, doors in calls.items():
        for door in doors:
            with pytest.raises(UsageError, match=f"^{argument}: {message}"):
                door(Estimator())
            with pytest.raises(UsageError, match=f"^{argument}: expected a minipinet.predictor.PiNet, got NoneType$"):
                door(None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, 3, ""])
def test_paths_that_are_none(path: Any) -> None:
    model = mutag_model()
    for call in (
        lambda: export_onnx(model, path),
        lambda: write_state_dict(model, path),
        lambda: read_state_dict(path, model),
        lambda: model.save(path),
        lambda: PiNet.load(path),
        lambda: read_node_link(path),
        lambda: write_whole(path, b""),
        lambda: load_checkpoint(path),
    ):
        with pytest.raises(UsageError, match=r"^path: expected the path of a file, got "):
            call()
