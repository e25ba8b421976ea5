"""Copies between host and card that nobody asked for, planted into minipinet/cuda: a training on the stand-in stops."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

from minipinet.cuda.dataset import graph_table
from minipinet.cuda.training import Card
from minipinet.datasets import load_dataset
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.verify.planted import PlantedBug, plant
from tests.device_counts import count_waits
from tests.device_stand_in import Device, use_stand_in
from tests.kernels_on_host import HostLauncher
from tests.tolerances import tree_error

#: What a training on a card is made of.
COPIED = {
    name: inspect.getsource(importlib.import_module(name))
    for name in (f"minipinet.cuda.{part}" for part in ("buffers", "dataset", "parameters", "step", "training"))
}


def planted(module: str, function: str, line: str, bug: str) -> PlantedBug:
    return PlantedBug(bug, "device", f"minipinet.cuda.{module}", function, line, bug, "a habit from NumPy")


PLANTED = [
    planted("buffers", "whole", "return xp.zeros(sizes, xp.int32)", "import numpy\nreturn numpy.zeros(sizes, 'int32')"),
    planted(
        "training", "__init__", "ptr, X, count, y = map(xp.asarray, (table.ptr, table.X, table.count, table.y))",
        "ptr, X, count, y = table.ptr, table.X, table.count, table.y",
    ),
    planted("training", "load", "self.net.state[:] = xp.asarray(np.stack(rows))", "self.net.state[:] = np.stack(rows)"),
    planted("training", "epoch", "b.order[:] = xp.asarray(order)", "b.order[:] = order"),
    planted("training", "epoch", "return to_host(b.sums)", "import numpy\nreturn numpy.asarray(b.sums)"),
    planted(
        "training", "_step", "update(launch, shape, self.rule, net, buffers)",
        "update(launch, shape, self.rule, net, buffers)\nself.last = float(buffers.loss[0, 0])",
    ),
    planted(
        "step", "update", "decayed = (net.w.W_0.size + net.w.W_1.size) if rule.l2 else 0",
        "import numpy\ndecayed = 0\nassert numpy.isfinite(net.vector).all()",
    ),
    planted(
        "training", "read", "params, m, v = (unpack(row, self.likes) for row in to_host(self.net.state))",
        "params, m, v = (unpack(self.net.state[i], self.likes) for i in range(3))",
    ),
]  # fmt: skip


class OnNumPy(HostLauncher):
    """The same kernels on NumPy's own arrays."""

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype)
        self.xp = np

    def __call__(self, kernel: str, elements: int, *arguments: Any) -> None:
        super().__call__(kernel, elements, *(Device(a) if isinstance(a, np.ndarray) else a for a in arguments))

    def product(self, *operands: Any, **turned: Any) -> None:
        super().product(*map(Device, operands), **turned)


def train(kind: type[HostLauncher], Card: Any) -> Any:
    """Return the parameters of two folds after two epochs, and the sums of their losses."""
    data, rng = load_dataset("MUTAG")[:12], np.random.default_rng(0)
    folds = [init_params(rng, data.num_features, 2, hidden=5, out=4, dtype="float64") for _ in "ab"]
    card = Card(
        kind("float64"), [graph_table(refine(data.graphs), data.y, "float64")], folds, 12, Settings(batch_size=5)
    )
    card.load(folds, [adam_init(params) for params in folds])
    sums = [np.array(card.epoch([np.arange(12), np.arange(7)])) for _ in range(2)]
    return card.read()[0], sums


@pytest.mark.parametrize("bug", [None, *PLANTED], ids=lambda bug: bug.function if bug else "none")
def test_planted_copies_in_a_training_are_caught(bug: PlantedBug | None, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    Card = plant(bug, COPIED)["minipinet.cuda.training"].Card
    expected = train(OnNumPy, Card)  # where nothing is wrong
    if bug is None:
        assert tree_error(train(HostLauncher, Card), expected) == 0
    else:
        with pytest.raises(TypeError, match=r"device|Device|on the card"):
            tree_error(train(HostLauncher, Card), expected)


def test_a_training_asks_the_card_once_an_epoch_and_once_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    waits = count_waits(monkeypatch)
    train(HostLauncher, Card)
    assert waits == ["asnumpy"] * (2 + 2)  # the sums of each epoch; parameters with their two moments, and the steps
