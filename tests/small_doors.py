"""A small model, odd graphs, and stand-ins for PyTorch, PyTorch Geometric and DGL: shared by the tests of doors."""

from __future__ import annotations

import functools
import sys
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.datasets import Dataset, load_dataset
from minipinet.graphs import Graph, as_graph
from minipinet.predictor import PiNet
from minipinet.runs import train_pinet
from minipinet.settings import Settings


@functools.cache
def mutag() -> Dataset:
    return load_dataset("MUTAG")


@functools.cache
def mutag_model(**changes: Any) -> PiNet:
    """Return a model trained on MUTAG for a moment; `changes` are settings."""
    return train_pinet(mutag(), Settings(**{"epochs": 2, "hidden": 5, "out": 3, "lr": 0.01, **changes})).model


def odd_graphs(d: int = 7) -> list[Graph]:
    """Return graphs that break code: no node, no edge, one node, a loop, weights, one direction only; no node again."""
    X = np.eye(d)
    empty = as_graph(np.zeros((0, 0)), np.zeros((0, d)))
    return [
        empty,
        as_graph([[0]], X[:1]),
        as_graph(np.zeros((3, 3)), X[:3]),
        as_graph([[1, 1, 0], [1, 0, 0], [0, 0, 0]], X[1:4]),
        as_graph([[0, 2.5], [2.5, 0.5]], X[:2], weighted=True),
        as_graph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], X[:3], directed=True),
        empty,
    ]


def logits(model: PiNet, graphs: Any) -> Array:
    """Return the scores without the notice about graphs that have no node."""
    with warnings.catch_warnings(action="ignore"):
        return model.logits(graphs)


def same_graphs(one: list[Graph], other: list[Graph]) -> bool:
    """Return whether two lists hold graphs with the same entries and features, bit for bit."""
    return len(one) == len(other) and all(
        a.A.shape == b.A.shape
        and np.array_equal(a.A.toarray(), b.A.toarray())
        and a.A.nnz == b.A.nnz
        and np.array_equal(a.X, b.X)
        for a, b in zip(one, other, strict=True)
    )


class Tensor:
    """What the doors may use of a tensor: on a device and with a gradient, until it is told to leave both."""

    def __init__(self, array: Any, *, attached: bool = True) -> None:
        self.array, self.attached = np.array(array), attached

    def __len__(self) -> int:
        return len(self.array)

    def detach(self) -> Tensor:
        return Tensor(self.array, attached=True)

    def cpu(self) -> Tensor:
        held = Tensor(self.array, attached=False)
        held.array = self.array  # a tensor on the host shares its memory
        return held

    def numpy(self) -> Array:
        if self.attached:
            raise TypeError("can't convert a tensor on a device")
        return self.array

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise TypeError("can't convert a tensor on a device")

    def __iter__(self) -> Any:
        raise AssertionError("a tensor taken apart number by number")


class StandInGraph:
    """What the doors may use of a DGL graph."""

    is_homogeneous, batch_size = True, 1

    def __init__(self, ends: Any, num_nodes: int) -> None:
        self.ends, self.N = ends, num_nodes
        self.ndata: dict[str, Any] = {}
        self.edata: dict[str, Any] = {}

    def edges(self) -> Any:
        return self.ends

    def num_nodes(self) -> int:
        return self.N


def stand_ins() -> dict[str, ModuleType]:
    """Return modules in the place of torch, torch_geometric.data and dgl."""

    def module(name: str, **content: Any) -> ModuleType:
        made = ModuleType(name)
        vars(made).update(content)
        return made

    def tensor(data: Any, dtype: Any) -> Tensor:
        return Tensor(np.array(data, dtype))

    torch = module("torch", tensor=tensor, float32=np.float32, float64=np.float64, int64=np.int64)
    geometric = module("torch_geometric.data", Data=SimpleNamespace)
    dgl = module("dgl", graph=StandInGraph)
    return {"torch": torch, "torch_geometric": module("torch_geometric"), geometric.__name__: geometric, "dgl": dgl}


def install_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in stand_ins().items():
        monkeypatch.setitem(sys.modules, name, module)


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let these modules be missing, whether they are installed or not."""
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def array(tensor: Any) -> Array:
    """Return what a tensor holds, real or a stand-in."""
    return np.asarray(tensor.detach().cpu().numpy())
