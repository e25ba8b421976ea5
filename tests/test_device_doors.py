"""Arrays that are on a card already, at the doors of the package: one sentence, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from minipinet import PiNetClassifier
from minipinet._array import to_card
from minipinet.datasets import Dataset, dataset_from_graphs
from minipinet.errors import UsageError
from minipinet.evaluation import evaluate, pooled, score
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.predictor import PiNet
from minipinet.quotient import Quotient, refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.device_stand_in import DeviceSparse, use_stand_in
from tests.small_data import two_kinds


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
    model = train_pinet(data, Settings(epochs=1, hidden=4, out=2)).model
    return Given(
        data=data, model=model, quotient=refine(data.graphs), A=scipy.sparse.csr_array(np.eye(2)), X=np.ones((2, 1))
    )


def there(x: Any) -> Any:
    return DeviceSparse(x) if scipy.sparse.issparse(x) else to_card(x)


DOORS: dict[str, tuple[str, Callable[[Given], Any]]] = {
    "as_graph, dense": ("A", lambda g: as_graph(there(np.eye(2)))),
    "as_graph, sparse": ("A", lambda g: as_graph(there(g.A))),
    "as_graph, rows": ("A", lambda g: as_graph([there(np.ones(1))])),
    "as_graph, X": ("X", lambda g: as_graph(g.A, there(g.X))),
    "as_graph, sparse X": ("X", lambda g: as_graph(g.A, there(scipy.sparse.csr_array(g.X)))),
    "Graph, A": ("A", lambda g: Graph(there(g.A), g.X)),
    "Graph, X": ("X", lambda g: Graph(g.A, there(g.X))),
    "permute_nodes": ("permutation", lambda g: permute_nodes(g.data[0], there(np.arange(g.data[0].N)))),
    "labels": ("labels", lambda g: dataset_from_graphs(list(g.data), there(g.data.y))),
    "a list of labels": ("labels", lambda g: dataset_from_graphs(list(g.data), [there(y) for y in g.data.y])),
    "graphs of a data set": ("graphs", lambda g: dataset_from_graphs([there(g.X)], [0])),
    "a part of a data set": ("index", lambda g: g.data[there(np.arange(2))]),
    "predict, an array": ("graphs", lambda g: g.model.predict(there(g.X))),
    "predict, a list": ("graphs", lambda g: g.model.predict([there(g.X)], device="cuda")),
    "predict, a union": ("graphs", lambda g: g.model.predict(g.data.graphs._replace(X=there(g.data.graphs.X)))),
    "predict, a data set": ("graphs", lambda g: g.model.predict(on_card(g.data))),
    "attention": ("graph", lambda g: g.model.attention(g.data[:1].graphs._replace(X=there(g.data[:1].graphs.X)))),
    "evaluate, y": ("y", lambda g: evaluate(g.model.params, None, g.quotient, there(g.data.y), [0])),
    "evaluate, index": ("index", lambda g: evaluate(g.model.params, None, g.quotient, g.data.y, there(np.arange(2)))),
    "evaluate, params": ("params", lambda g: evaluate(there(g.model.params), None, g.quotient, g.data.y, [0])),
    "score, quotient": ("quotient", lambda g: score(g.model.params, None, there(g.quotient), [0], device="cuda")),
    "pooled": ("index", lambda g: pooled(g.model.params, None, g.quotient, [there(np.int64(0))], device="cuda")),
    "fit, X": ("X", lambda g: PiNetClassifier().fit(there(g.X), [0, 1])),
    "fit, a pair": ("X: graph 0: A", lambda g: PiNetClassifier().fit([(there(np.eye(2)), None)] * 2, [0, 1])),
    "fit, y": ("y", lambda g: PiNetClassifier().fit(list(g.data), there(g.data.y))),
}


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
    with pytest.raises(UsageError) as told:
        call(given)
    assert str(told.value) == (
        f"{name}: expected data on the host, got {kind} on a card, which is not taken; {way} brings it over"
    )


def test_what_it_says_helps(given: Given) -> None:
    back = sys.modules["cupy"].asnumpy(there(given.X))
    assert as_graph(given.A, back).X.tolist() == given.X.tolist()
