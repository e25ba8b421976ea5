"""ONNX: a trained model as a file that any ONNX runtime scores batches of graphs with, and the inputs it takes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from minipinet._array import Array
from minipinet._extras import library
from minipinet._files import as_path, to_plain, write_whole
from minipinet.interop.common import check_dtype, check_model, narrowed, union_of
from minipinet.params import LAYERS, pq_values
from minipinet.rundir import check_not_of_run

if TYPE_CHECKING:
    from minipinet.predictor import PiNet

#: Fixed, so that a model gives the same bytes whichever onnx writes it and runtimes from 2024 on read it.
OPSET, IR_VERSION = 18, 9


def export_onnx(model: PiNet, path: str | os.PathLike[str]) -> None:
    """Write a model as one ONNX file, whole or not at all.

    The inputs are those of :func:`onnx_inputs`; every one has a free number of nodes, edges or graphs. Outputs are
    ``logits`` and ``probabilities``, (B, C), in the order of ``classes`` in the file's metadata, which is JSON, as
    ``encoder`` is (what the columns of X stand for). Computes in the model's dtype.

    Equations (paper): 1 to 3 node by node, edges added up one after the other; 2 and 5 with the sums in the order
    logit_gk = sum_f (sum_i e_if T_ikf) / (sum_i e_if), where e = exp(H - max of the graph) and
    T_ikf = sum_x Z_X[i, x] W_D[f, x, k].

    Parameters
    ----------
    model : PiNet
        With p and q learned or fixed, with biases or without.
    path : path
        One file, replaced if it exists; none that a run is made of.

    Raises
    ------
    UsageError
        If `model` is no PiNet or `path` no such path; without the package onnx (``pip install 'minipinet[onnx]'``).
    MinipinetError
        When the file cannot be written.

    Notes
    -----
    O(E F + N F C) memory when run, with F the width of a layer: no matrix of the nodes, and no pooled matrix of a node.
    A graph without nodes has the logits b_D, or 0.
    """
    check_model(model)
    path = as_path(path)
    check_not_of_run(path)
    onnx = library("onnx", "export_onnx", "pip install 'minipinet[onnx]'")
    dtype = model.params.W_D.dtype
    number = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    body = _Body(onnx.helper, onnx.numpy_helper)
    _network(body, model)
    d, C = model.params.W_A0.shape[0], model.params.W_D.shape[1]
    value, int64 = onnx.helper.make_tensor_value_info, onnx.TensorProto.INT64
    graph = onnx.helper.make_graph(
        body.nodes,
        "PiNet",
        [
            value("X", number, ["N", d]),
            value("edge_index", int64, [2, "E"]),
            value("edge_weight", number, ["E"]),
            value("graph", int64, ["N"]),
            value("num_graphs", int64, [1]),
        ],
        [value("logits", number, ["B", C]), value("probabilities", number, ["B", C])],
        body.initializers,
    )
    proto = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="minipinet",
    )
    described = {"classes": list(model.classes), "encoder": model.encoder.to_json()}
    onnx.helper.set_model_props(proto, {name: json.dumps(to_plain(part)) for name, part in described.items()})
    onnx.checker.check_model(proto, full_check=True)
    write_whole(path, proto.SerializeToString(deterministic=True))


def onnx_inputs(graphs: Any, dtype: str = "float32") -> dict[str, NDArray[Any]]:
    """Return a batch of graphs as the inputs of an exported model; the package onnx is not needed.

    Parameters
    ----------
    graphs : Dataset, DisjointUnion or sequence of Graph
        B graphs with N nodes and nnz entries of A, encoded as the model's training graphs were.
    dtype : "float32" or "float64"
        The model's.

    Returns
    -------
    dict
        ``X`` (N, d), the features; ``edge_index`` (2, nnz) int64, source and target of each entry of A, so both
        directions of an edge; ``edge_weight`` (nnz,); ``graph`` (N,) int64, the number of each node's graph;
        ``num_graphs`` (1,) int64, B: the last graphs may have no node.

    Examples
    --------
    >>> from minipinet.graphs import as_graph
    >>> inputs = onnx_inputs([as_graph([[0, 1], [1, 0]]), as_graph([[0]])])
    >>> inputs["edge_index"].tolist(), inputs["graph"].tolist(), inputs["num_graphs"].tolist()
    ([[1, 0], [0, 1]], [0, 0, 1], [2])
    """
    check_dtype(dtype)
    A, X, ptr = union_of(graphs)
    entries = A.tocoo()
    B = ptr.size - 1
    return {
        "X": narrowed(X, dtype, "features"),
        "edge_index": np.array([entries.col, entries.row], dtype=np.int64),
        "edge_weight": narrowed(entries.data, dtype, "weights"),
        "graph": np.repeat(np.arange(B), np.diff(ptr)),
        "num_graphs": np.array([B]),
    }


class _Body:
    """The nodes and constants of an ONNX graph as they are added, each value under its own name."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def constant(self, value: Any, name: str = "") -> str:
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(self.numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def __call__(self, operator: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        out = out or f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [out], **attributes))
        return out


def _network(op: _Body, model: PiNet) -> None:
    """Add the whole network, read as `minipinet.model.pinet_forward` is."""
    params = model.params
    dtype = params.W_D.dtype
    pairs = dict(zip(LAYERS, pq_values(params, model.settings.pairs), strict=True))
    zero, first, last, rows = (
        op.constant(np.zeros(1, dtype)), op.constant(np.int64(0)), op.constant(np.int64(1)), op.constant(np.array([1]))
    )  # fmt: skip
    source = op("Gather", "edge_index", first, axis=0)
    target = op("Gather", "edge_index", last, axis=0)
    num_nodes = op("Shape", "graph")

    def sums(values: str, index: str, count: str, width: int) -> str:
        """Add the rows of `values` (n, width) up by their `index` (n,) into `count` rows; one after the other."""
        shape = op("Concat", count, op.constant(np.array([width])), axis=0)
        start = op("Expand", zero, shape)
        index = op("Expand", op("Unsqueeze", index, rows), op("Shape", values))
        return op("ScatterElements", start, index, values, axis=0, reduction="add")

    weight = op("Unsqueeze", "edge_weight", rows)
    deg = sums(weight, target, num_nodes, 1)  # (N, 1)

    def message_passing(M: str, layer: str) -> str:
        """H = S (A + qI) S M W (+ b), as `minipinet.propagation.message_passing_forward`."""
        W, b = getattr(params, f"W_{layer}"), getattr(params, f"b_{layer}")
        p, q = pairs[layer]
        kernel, width = op.constant(W, f"W_{layer}"), min(W.shape)
        base = op("Add", op("Mul", deg, op.constant(1 - p)), op.constant(p))
        lone = op("Equal", base, zero)
        root = op("Sqrt", op("Where", lone, op.constant(np.ones(1, dtype)), base))
        s = op("Where", lone, zero, op("Reciprocal", root))  # (N, 1)
        U = op("Mul", s, M if W.shape[0] < W.shape[1] else op("MatMul", M, kernel))
        V = sums(op("Mul", weight, op("Gather", U, source, axis=0)), target, num_nodes, width)
        H = op("Mul", s, op("Add", V, op("Mul", op.constant(q), U)))
        if W.shape[0] < W.shape[1]:
            H = op("MatMul", H, kernel)
        return H if b is None else op("Add", H, op.constant(b, f"b_{layer}"))

    H_A1 = message_passing(op("Relu", message_passing("X", "A0")), "A1")
    Z_X = op("Relu", message_passing(op("Relu", message_passing("X", "X0")), "X1"))

    # logit_gk = sum_f (sum_i e_if T_ikf) / (sum_i e_if)
    F_A, F_X, C = params.W_A1.shape[1], params.W_X1.shape[1], params.W_D.shape[1]
    W_D = params.W_D.reshape(F_A, F_X, C).transpose(1, 2, 0).reshape(F_X, C * F_A)
    least = op(
        "Expand",
        op.constant(np.array([-np.inf], dtype)),
        op("Concat", "num_graphs", op.constant(np.array([F_A])), axis=0),
    )
    graph = op("Expand", op("Unsqueeze", "graph", rows), op("Shape", H_A1))
    most = op("ScatterElements", least, graph, H_A1, axis=0, reduction="max")
    e = op("Exp", op("Sub", H_A1, op("Gather", most, "graph", axis=0)))
    T = op("Reshape", op("MatMul", Z_X, op.constant(W_D, "W_D")), op.constant(np.array([-1, C, F_A])))
    eT = op("Reshape", op("Mul", op("Unsqueeze", e, rows), T), op.constant(np.array([-1, C * F_A])))
    den = sums(e, "graph", "num_graphs", F_A)
    den = op("Where", op("Equal", den, zero), op.constant(np.ones(1, dtype)), den)  # a graph without nodes
    num = op("Reshape", sums(eT, "graph", "num_graphs", C * F_A), op.constant(np.array([-1, C, F_A])))
    ratio = op("Div", num, op("Unsqueeze", den, rows))
    b_D: Array = np.zeros(C, dtype) if params.b_D is None else params.b_D
    scores = op("ReduceSum", ratio, op.constant(np.array([2])), keepdims=0)
    op("Add", scores, op.constant(b_D, "b_D"), out="logits")
    op("Softmax", "logits", axis=1, out="probabilities")
