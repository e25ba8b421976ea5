"""Arrays that are on a card already, at the doors of the package: one sentence, and what to do."""

from __future__ import annotations

import sys
from collections import UserList, deque
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from minipinet import PiNetClassifier
from minipinet._array import to_card
from minipinet.batch import make_batch
from minipinet.datasets import Dataset, dataset_from_graphs, dataset_from_networkx
from minipinet.errors import DataError, UsageError
from minipinet.evaluation import evaluate, pooled, score
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.invariance import bitwise_score
from minipinet.metrics import report
from minipinet.predictor import PiNet
from minipinet.quotient import Quotient, refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.splits import hold_out, stratified_folds
from minipinet.train import fit
from minipinet.union import graph_at
from minipinet.verify import check_pair, verify_function
from tests.device_stand_in import Device, DeviceSparse, use_stand_in
from tests.small_data import two_kinds

SMALL = Settings(epochs=1, hidden=4, out=2)


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


class Given(SimpleNamespace):
    """Data and a model on the host."""

    data: Dataset
    model: PiNet
    quotient: Quotient
    A: Any
    X: Any


@pytest.fixture(scope="module")
def given() -> Given:
    data = two_kinds(8)
    model = train_pinet(data, SMALL).model
    return Given(
        data=data, model=model, quotient=refine(data.graphs), A=scipy.sparse.csr_array(np.eye(2)), X=np.ones((2, 1))
    )


def there(x: Any) -> Any:
    return DeviceSparse(x) if scipy.sparse.issparse(x) else to_card(x)


class Own(Device):
    """A user's class of arrays on a card."""

    __module__ = "own"


DOORS: dict[str, tuple[str, Callable[[Given], Any]]] = {
    "as_graph, dense": ("A", lambda g: as_graph(there(np.eye(2)))),
    "as_graph, sparse": ("A", lambda g: as_graph(there(g.A))),
    "as_graph, rows": ("A[0]", lambda g: as_graph([there(np.ones(1))])),
    "as_graph, a class of its own": ("A", lambda g: as_graph(Own(np.eye(2)))),
    "as_graph, X": ("X", lambda g: as_graph(g.A, there(g.X))),
    "as_graph, sparse X": ("X", lambda g: as_graph(g.A, there(scipy.sparse.csr_array(g.X)))),
    "Graph, A": ("A", lambda g: Graph(there(g.A), g.X)),
    "Graph, X": ("X", lambda g: Graph(g.A, there(g.X))),
    "permute_nodes": ("permutation", lambda g: permute_nodes(g.data[0], there(np.arange(g.data[0].N)))),
    "labels": ("labels", lambda g: dataset_from_graphs(list(g.data), there(g.data.y))),
    "a list of labels": ("labels[0]", lambda g: dataset_from_graphs(list(g.data), [there(y) for y in g.data.y])),
    "graphs of a data set": ("graphs[0]", lambda g: dataset_from_graphs([there(g.X)], [0])),
    "a part of a data set": ("index", lambda g: g.data[there(np.arange(2))]),
    "where a part ends": ("index.stop", lambda g: g.data[0 : there(np.array(2))]),
    "a queue of graphs": ("X[0][0]", lambda g: PiNetClassifier().fit(deque([(there(np.eye(2)), None)] * 2), [0, 1])),
    "a list of a user's own": ("y[0]", lambda g: PiNetClassifier().fit(list(g.data), UserList(there(g.data.y)))),
    "values of a mapping": ("X[0]", lambda g: PiNetClassifier().fit({"a": there(g.X)}.values(), [0, 1])),
    "predict, an array": ("graphs", lambda g: g.model.predict(there(g.X))),
    "predict, a list": ("graphs[0]", lambda g: g.model.predict([there(g.X)], device="cuda")),
    "predict, a union": ("graphs.X", lambda g: g.model.predict(g.data.graphs._replace(X=there(g.data.graphs.X)))),
    "predict, a data set": ("graphs.X", lambda g: g.model.predict(on_card(g.data))),
    "attention": ("graph.X", lambda g: g.model.attention(g.data[:1].graphs._replace(X=there(g.data[:1].graphs.X)))),
    "evaluate, y": ("y", lambda g: evaluate(g.model.params, None, g.quotient, there(g.data.y), [0])),
    "evaluate, index": ("index", lambda g: evaluate(g.model.params, None, g.quotient, g.data.y, there(np.arange(2)))),
    "evaluate, params": ("params.W_A0", lambda g: evaluate(there(g.model.params), None, g.quotient, g.data.y, [0])),
    "score, quotient": ("quotient.X", lambda g: score(g.model.params, None, there(g.quotient), [0], device="cuda")),
    "pooled": ("index[0]", lambda g: pooled(g.model.params, None, g.quotient, [there(np.int64(0))], device="cuda")),
    "fit, X": ("X", lambda g: PiNetClassifier().fit(there(g.X), [0, 1])),
    "fit, a pair": ("X[0][0]", lambda g: PiNetClassifier().fit([(there(np.eye(2)), None)] * 2, [0, 1])),
    "rows of rows": ("A[1][0]", lambda g: as_graph([[0, 1], [there(np.ones(())), 0]])),
    "an array of objects": ("A[1]", lambda g: as_graph(objects(0, there(np.ones(1))))),
    "a node's attribute": (
        "graph 0: node 0: 'x'",
        lambda g: dataset_from_networkx([networkx_graph(x=there(np.ones(1)))], [0], node_attributes="x"),
    ),
    "refine": ("graphs.X", lambda g: refine(g.data.graphs._replace(X=there(g.data.graphs.X)))),
    "make_batch": ("index", lambda g: make_batch(g.quotient, there(np.arange(2)))),
    "graph_at": ("g", lambda g: graph_at(g.data.graphs, there(np.int64(0)))),
    "a model": ("params.W_A0", lambda g: replace(g.model, params=there(g.model.params))),
    "classes of a model": ("classes[0]", lambda g: replace(g.model, classes=tuple(there(np.arange(2))))),
    "settings": ("pq", lambda g: Settings(pq=there(np.full((4, 2), 0.5)))),
    "a rate": ("lr", lambda g: Settings(lr=there(np.array(1e-3)))),
    "training, quotient": ("quotient.X", lambda g: fit(there(g.quotient), g.data.y, np.arange(8), SMALL, C=2)),
    "training, y": ("y", lambda g: fit(g.quotient, there(g.data.y), np.arange(8), SMALL, C=2)),
    "training, state": (
        "state.params.W_A0",
        lambda g: fit(g.quotient, g.data.y, np.arange(8), replace(SMALL, epochs=2), C=2, state=state_on_card(g)),
    ),
    "folds": ("y", lambda g: stratified_folds(there(g.data.y), 2, 0)),
    "a part held out": ("index", lambda g: hold_out(g.data.y, there(np.arange(8)), 0.5, 0)),
    "figures of scores": ("predictions", lambda g: report(g.data.y, there(g.data.y), 2)),
    "bits": ("params.W_A0", lambda g: bitwise_score(there(g.model.params), None, g.data.graphs)),
    "verify a function": (
        "inputs['x']",
        lambda g: verify_function(
            lambda x: x.sum(), lambda x: {"x": np.ones(2)}, {"x": there(np.ones(2))}, rng=np.random.default_rng(0)
        ),
    ),
    "verify a pair": (
        "inputs['x']",
        lambda g: check_pair(
            square, lambda dy, x: {"dx": 2 * x * dy}, {"x": there(np.ones(2))}, rng=np.random.default_rng(0)
        ),
    ),
    "estimator's score, y": ("y", lambda g: fitted(g).score(list(g.data), there(g.data.y))),
    "weights of its score": (
        "sample_weight",
        lambda g: fitted(g).score(list(g.data), g.data.y, sample_weight=there(np.ones(8))),
    ),
    "fit, y": ("y", lambda g: PiNetClassifier().fit(list(g.data), there(g.data.y))),
}


def objects(*values: Any) -> Any:
    table = np.empty(len(values), object)
    for i, value in enumerate(values):
        table[i] = value
    return table


def networkx_graph(**attributes: Any) -> Any:
    graph = nx.path_graph(2)
    for name, value in attributes.items():
        nx.set_node_attributes(graph, value, name)
    return graph


def square(x: Any) -> Any:
    return x * x, x


def state_on_card(given: Given) -> Any:
    state = fit(given.quotient, given.data.y, np.arange(8), SMALL, C=2)
    return state._replace(params=there(state.params))


def fitted(given: Given) -> Any:
    return PiNetClassifier(epochs=1, hidden=4, out=2).fit(list(given.data), given.data.y)


def on_card(data: Dataset) -> Dataset:
    return Dataset(data.name, data.graphs._replace(X=there(data.graphs.X)), data.y, data.classes, data.encoder)


@pytest.mark.parametrize("door", DOORS)
def test_arrays_on_a_card_are_refused_in_one_sentence(door: str, given: Given) -> None:
    name, call = DOORS[door]
    kind, way = (
        ("a sparse matrix", "its method get")
        if "sparse" in door or door == "Graph, A"
        else ("an array", "cupy.asnumpy")
    )
    with pytest.raises(DataError if door == "a node's attribute" else UsageError) as told:
        call(given)
    assert str(told.value) == (
        f"{name}: expected data on the host, got {kind} on a card, which is not taken; {way} brings it over"
    )


class Listed:
    """A sequence of a user's own, which is not looked into."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> Any:
        return self.values[i]


def test_arrays_on_a_card_in_what_is_not_looked_into_are_one_sentence(given: Given) -> None:
    listed = Listed(*map(there, np.arange(8)))
    with pytest.raises(UsageError, match=r"^index: expected one number, slice, list or mask, got Listed \("):
        given.data[listed]  # type: ignore[call-overload]
    with pytest.raises(UsageError, match=r"^y: expected the class of each graph, got Listed \("):
        PiNetClassifier().fit(list(given.data), listed)


def test_what_it_says_helps(given: Given) -> None:
    back = sys.modules["cupy"].asnumpy(there(given.X))
    assert as_graph(given.A, back).X.tolist() == given.X.tolist()
