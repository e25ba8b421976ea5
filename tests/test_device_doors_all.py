"""Every door for arrays, by its name: one that no case calls is noticed, and so is an array that gets through."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import minipinet
from minipinet import PiNetClassifier
from minipinet.adjacency import build_adjacency
from minipinet.attention_shares import attention_shares
from minipinet.baselines.gcn import GCNSum
from minipinet.baselines.node_order import sort_nodes
from minipinet.checkpoint import save_checkpoint
from minipinet.crossval import cross_validate
from minipinet.datasets import dataset_from_networkx, fit_encoder, index_classes
from minipinet.errors import MinipinetError
from minipinet.evaluation import score_network
from minipinet.experiments.protocols import Split, count_duplicates, splits
from minipinet.interop.dgl import from_dgl
from minipinet.interop.grakel import from_grakel, to_grakel
from minipinet.interop.onnx import onnx_inputs
from minipinet.interop.pyg import dataset_from_pyg, from_pyg
from minipinet.interop.state_dict import from_state_dict, to_state_dict
from minipinet.metrics import summary_of
from minipinet.params import pq_values
from minipinet.pinet_network import pinet_network
from minipinet.results.statistics import compare, compare_independent, holm, summarise
from minipinet.runs import split_training
from minipinet.train import fit_network
from minipinet.union import disjoint_union, graph_at, take_graphs
from minipinet.verify import check_pair, verify_function, verify_pair
from minipinet.verify.properties import column_sum_error, isolation_error, oracle_error, permutation_error
from tests.test_device_doors import DOORS, SMALL, Given, fitted, square, state_on_card, there
from tests.test_device_doors import card as card
from tests.test_device_doors import given as given

ENDS = np.array([[0, 1], [1, 0]])
LABELS = np.arange(30) % 2
TABLE = np.full((4, 2), 0.5)


def data_object(**parts: Any) -> Any:
    return SimpleNamespace(**{"edge_index": ENDS, "x": np.eye(2), **parts})


def dgl_graph(feat: Any) -> Any:
    return SimpleNamespace(ndata={"feat": feat}, edata={}, edges=lambda: ENDS, num_nodes=lambda: 2)


def edge(**data: Any) -> Any:
    return nx.Graph([(0, 1, data)])


def union(g: Given) -> Any:
    return g.data.graphs._replace(X=there(g.data.graphs.X))


def network(g: Given) -> Any:
    return pinet_network(g.quotient, SMALL, 2)


def state_of(g: Given) -> Any:
    return fit_network(network(g), g.data.y, np.arange(8), SMALL)


def rng() -> Any:
    return np.random.default_rng(0)


def square_backward(dout: Any, x: Any) -> Any:
    return {"dx": 2 * x * dout}


def check(forward: Any = square, backward: Any = square_backward, **more: Any) -> Any:
    return check_pair(forward, backward, {"x": np.ones(2)}, rng=rng(), **more)


#: What the message must start with, and a call.
MORE: dict[str, tuple[str, Callable[[Given], Any]]] = {
    "edges of PyG": ("data: graph 0: edge_index", lambda g: from_pyg([data_object(edge_index=there(ENDS))])),
    "features of PyG": ("data: graph 0: x", lambda g: from_pyg([data_object(x=there(np.eye(2)))])),
    "a class of PyG": ("data: graph 0: y", lambda g: dataset_from_pyg([data_object(y=there(np.array([1])))])),
    "features of DGL": ("graphs: graph 0: features:", lambda g: from_dgl([dgl_graph(there(np.eye(2)))])),
    "a matrix of GraKeL": ("graphs[0][0]", lambda g: from_grakel([[there(np.eye(2))]])),
    "a label of GraKeL": ("graphs[0][1][0]", lambda g: from_grakel([[[(0, 1)], {0: there(np.int64(1)), 1: 2}]])),
    "to GraKeL": ("graphs.X", lambda g: to_grakel(union(g))),
    "to ONNX": ("graphs.X", lambda g: onnx_inputs(union(g))),
    "weights": (
        "state: p_raw",
        lambda g: from_state_dict({**to_state_dict(g.model), "p_raw": there(np.ones(4))}, g.model),
    ),
    "a label of networkx": (
        "graph 0: node 0: 'x'",
        lambda g: dataset_from_networkx([nx.path_graph(2)], [0], node_label="x", default=there(np.float64(1))),
    ),
    "a weight of networkx": (
        "graph 0: edge (0, 1): 'w'",
        lambda g: dataset_from_networkx([edge(w=there(np.float64(1)))], [0], weight="w"),
    ),
    "y of a data set": ("y", lambda g: replace(g.data, y=there(g.data.y))),
    "node labels of a data set": ("node_labels", lambda g: replace(g.data, node_labels=there(g.data.graphs.X))),
    "one of a data set": ("index", lambda g: g.data[there(np.int64(0))]),
    "one of a union": ("union.X", lambda g: graph_at(union(g), 0)),
    "some of a union": ("index", lambda g: take_graphs(g.data.graphs, there(np.arange(1)))),
    "graphs to join": ("graphs[0]", lambda g: disjoint_union([there(g.X)])),
    "classes": ("labels[0][0]", lambda g: index_classes([[there(np.int64(0))]])),
    "arcs": ("weights", lambda g: build_adjacency([0], [1], there(np.ones(1)), 2)),
    "attributes": ("attributes", lambda g: fit_encoder("attributes", None, there(np.ones((2, 1))), np.ones(2))),
    "degrees": ("deg", lambda g: fit_encoder("constant", None, None, np.ones(2)).encode(None, None, there(np.ones(2)))),
    "p and q": ("pq", lambda g: pq_values(g.model.params, there(TABLE))),
    "shares": ("params.W_A0", lambda g: attention_shares(there(g.model.params), None, g.data[:1].graphs, (0, 1))),
    "scores of a network": ("params.W_A0", lambda g: score_network(network(g), there(g.model.params), [0])),
    "a network's state": (
        "state.params.W_A0",
        lambda g: fit_network(network(g), g.data.y, np.arange(8), SMALL, state=state_on_card(g)),
    ),
    "a checkpoint": ("state.params.W_A0", lambda g: save_checkpoint("never", state_on_card(g), SMALL)),
    "beside a checkpoint": (
        "extra['a']",
        lambda g: save_checkpoint("never", state_of(g), SMALL, {"a": there(np.ones(2))}),
    ),
    "folds": ("folds", lambda g: cross_validate(g.data, SMALL, folds=there(np.arange(3)))),
    "graphs to split": ("index", lambda g: split_training(g.data, there(np.arange(8)), SMALL)),
    "labels to split": ("labels", lambda g: splits("released", there(LABELS), 0)),
    "copies": ("copies", lambda g: count_duplicates(there(LABELS), LABELS, Split(np.arange(4), np.arange(4, 8)))),
    "keys of nodes": ("keys", lambda g: sort_nodes(g.data, there(np.ones(len(g.data.graphs.X))))),
    "graphs of a baseline": ("train", lambda g: GCNSum(epochs=1).fit(g.data, there(np.arange(8)), seed=0)),
    "accuracies of folds": ("accuracies", lambda g: summary_of(g.data.y, g.data.y, (0, 1), there(np.ones(2)))),
    "accuracies": ("accuracies", lambda g: summarise(there(np.ones((2, 2))))),
    "accuracies to compare": ("b[0]", lambda g: compare([[0.5, 0.6]], [there(np.ones(2))])),
    "accuracies apart": ("a", lambda g: compare_independent(there(np.ones((1, 2))), [[0.5, 0.6]])),
    "p-values": ("p_values", lambda g: holm(there(np.ones(2)))),
    "a cotangent": ("cotangent", lambda g: check(cotangent=there(np.ones(2)))),
    "what a forward returns": ("pair: forward's out", lambda g: check(lambda x: (there(x * x), x), name="pair")),
    "what a backward returns": (
        "pair: the gradient of x",
        lambda g: check(backward=lambda d, x: there(2 * x * d), name="pair"),
    ),
    "what a function returns": (
        "f",
        lambda g: verify_function(lambda x: there(x.sum()), np.ones_like, {"x": np.ones(2)}, rng=rng(), name="f"),
    ),
    "a pair by all methods": (
        "inputs['x']",
        lambda g: verify_pair(square, square_backward, {"x": there(np.ones(2))}, rng=rng()),
    ),
    "weights for the oracle": (
        "params.W_A0",
        lambda g: oracle_error(np.ones_like, list(g.data), there(g.model.params)),
    ),
    "scores renumbered": (
        "scores",
        lambda g: permutation_error(lambda graphs: there(np.ones((len(graphs), 2))), list(g.data), rng=rng()),
    ),
    "scores alone": (
        "scores",
        lambda g: isolation_error(lambda graphs: there(np.ones((len(graphs), 2))), list(g.data)),
    ),
    "attention": ("attention", lambda g: column_sum_error(lambda graphs: [there(np.ones((1, 1)))] * 8, list(g.data))),
    "features of a pair": ("X[0][1]", lambda g: fitted(g).predict([(np.eye(2), there(np.ones((2, 1))))])),
    "a list of classes": ("y[0]", lambda g: PiNetClassifier().fit(list(g.data), [there(np.int64(0))] * 8)),
}


@pytest.mark.parametrize("case", MORE)
def test_no_array_on_a_card_gets_through(case: str, given: Given) -> None:
    name, call = MORE[case]
    with pytest.raises(MinipinetError) as told:
        call(given)
    assert re.fullmatch(
        re.escape(name)
        + r"\S*:? ?expected data on the host, got an array on a card, which is not taken; .* brings it over",
        str(told.value),
    )


#: Public, with an error in their docstring, and yet no door: what they are given is no array, or a door that is
#: tried here has looked at it (the parts of the checker, the data sets' own functions, the other systems' `fit`).
BEHIND = """
    canonical_order rank_nodes check_block system_named several read_params from_networkx from_json as_values
    as_array as_float64 as_features arcs_of check_finite_scores check_width class_numbers round_weights
    neighbour_sum run_on_cluster from_values to_cell chosen chosen_models parse_json run_cells rows selector
    array_of check_model narrowed union_of to_dgl to_pyg join_members from_smiles together model_input
    check_conversion as_reading read_accuracies read_items read_part render path_of draw_figures open_run
    as_run_folder whole real truth check_classes check_state require_tolerance require_methods require_pair
    require_float64 require_floating gradient_of require_arguments probe verify_all
"""


def doors() -> Iterator[str]:
    """Yield the names of public functions and methods whose docstring tells of errors and that can take an array."""
    able = re.compile("Any|Array|Sequence|Iterable|Mapping|Union|Quotient|Params|TrainState|Supports|Accuracies")
    for module in pkgutil.walk_packages(minipinet.__path__, "minipinet."):
        if re.search(r"\._|\.(cli|cuda|planted)\b", module.name):
            continue
        held = vars(importlib.import_module(module.name)).values()
        own = [
            value for value in held if getattr(value, "__module__", None) == module.name and hasattr(value, "__name__")
        ]
        methods = [member for kind in own if inspect.isclass(kind) for member in vars(kind).values()]
        for function in [*own, *(getattr(method, "__func__", method) for method in methods)]:
            if not inspect.isfunction(function) or function.__name__.startswith("_"):
                continue
            taken = [str(p.annotation) for p in inspect.signature(function).parameters.values()]
            tells = re.search("Raises\n|[Rr]efuse|Error", inspect.getdoc(function) or "")
            if tells and any(able.search(text) and "Callable" not in text for text in taken):
                yield function.__name__


def test_every_door_is_tried() -> None:
    # What a case calls stands among the names in its code.
    tried = {name for _, call in (*DOORS.values(), *MORE.values()) for name in call.__code__.co_names} | {"check_pair"}
    found = set(doors())
    assert len(found) > 80
    assert found - tried == set(BEHIND.split())


@pytest.mark.parametrize("command", ["report", "experiment"])
def test_commands_without_a_device_say_where_they_compute(command: str) -> None:
    module = importlib.import_module(f"minipinet.cli.{command}")
    page = Path(__file__).parents[1] / "docs" / {"report": "report.md", "experiment": "experiments.md"}[command]
    assert "on the CPU" in module.DESCRIPTION
    assert "on the CPU" in page.read_text(encoding="utf-8")
