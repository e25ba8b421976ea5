"""Copies between host and card that nobody asked for, planted into minipinet/cuda: a training on the stand-in stops."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

from minipinet.crossval import cross_validate
from minipinet.cuda.dataset import graph_table
from minipinet.datasets import load_dataset
from minipinet.evaluation import score_network
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.pinet_network import pinet_network
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import fit_network
from minipinet.verify.planted import PlantedBug
from tests.device_counts import count_uploads, count_waits
from tests.device_stand_in import Device, use_stand_in
from tests.kernels_on_host import HostLauncher, use_host_card
from tests.planted import copy_with, planted
from tests.tolerances import tree_error

#: What a training on a card is made of.
COPIED = {
    name: inspect.getsource(importlib.import_module(name))
    for name in (f"minipinet.cuda.{part}" for part in ("buffers", "dataset", "folds", "parameters", "step", "training"))
}


PLANTED = [
    planted(
        "cuda.buffers", "whole", "return xp.zeros(sizes, xp.int32)",
        "import numpy\nreturn numpy.zeros(sizes, 'int32')",
    ),
    planted(
        "cuda.training", "__init__", "ptr, X, count, y = map(xp.asarray, (table.ptr, table.X, table.count, table.y))",
        "ptr, X, count, y = table.ptr, table.X, table.count, table.y",
    ),
    planted(
        "cuda.training", "load", "self.net.state[:] = xp.asarray(np.stack(rows))",
        "self.net.state[:] = np.stack(rows)",
    ),
    planted("cuda.training", "epoch", "b.order[:] = xp.asarray(order)", "b.order[:] = order"),
    planted("cuda.training", "epoch", "return to_host(b.sums)", "import numpy\nreturn numpy.asarray(b.sums)"),
    planted(
        "cuda.training", "_step", "update(launch, shape, self.rule, net, buffers)",
        "update(launch, shape, self.rule, net, buffers)\nself.last = float(buffers.loss[0, 0])",
    ),
    planted(
        "cuda.step", "update", "decayed = (net.w.W_0.size + net.w.W_1.size) if rule.l2 else 0",
        "import numpy\ndecayed = 0\nassert numpy.isfinite(net.vector).all()",
    ),
    planted(
        "cuda.training", "read", "params, m, v = (unpack(row, self.likes) for row in to_host(self.net.state))",
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
    Card = copy_with(bug, COPIED)["minipinet.cuda.training"].Card
    expected = train(OnNumPy, Card)  # where nothing is wrong
    if bug is None:
        assert tree_error(train(HostLauncher, Card), expected) == 0
    else:
        with pytest.raises(TypeError, match=r"device|Device|on the card"):
            tree_error(train(HostLauncher, Card), expected)


@pytest.mark.parametrize("K", [1, 3])
def test_a_training_waits_for_the_card_three_times_an_epoch(K: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the sums; for weights and moments of all folds; for Adam's steps. However many batches an epoch has."""
    use_host_card(monkeypatch)
    data, index = load_dataset("MUTAG")[::6], np.arange(32)
    waits, found = count_waits(monkeypatch), []

    def keep(*_: object) -> None:
        found.append(waits.copy())
        waits.clear()

    settings = Settings(epochs=3, hidden=6, out=4, batch_size=8, device="cuda")
    if K == 1:
        fit_network(pinet_network(refine(data.graphs), settings, 2), data.y, index, settings, on_epoch=keep)
        assert found == [["asnumpy"] * 3] * 3
    else:
        cross_validate(data, settings, K, folds_at_once=K, on_epoch=keep)
        # Each fold tells its own epoch; in the last one those before have been tested.
        assert [sum(map(len, found[at : at + K])) for at in (0, K)] == [3, 3]


#: How many arrays go to the card before the first step: 9 of each layer, 4 others of the data set, and where parameters
#: end; then the parameters with their two moments, and the number of steps.
BEGUN, LOADED = 2 * 9 + 4 + 1, 2
UPLOADED = [
    planted(
        "cuda.folds", "_trained",
        "if any(k not in self._held or not _same(self._held[k], state) for k, state in waiting.items()):", "if True:",
    ),
    planted(
        "cuda.folds", "_trained", "sums = card.epoch(orders).tolist()",
        "labels = card.launch.xp.asarray(self.y.astype('int32'))\ncard.table = card.table._replace(y=labels)\n"
        "sums = card.epoch(orders).tolist()",
    ),
    planted("cuda.training", "epoch", "b.cursor[:] = 0", "b.cursor[:] = xp.asarray(np.zeros(1, np.int64))"),
    planted(
        "cuda.step", "forward", "launch.product(b.K_0, w.W_0, b.R)",
        "import numpy\nw.W_0[:] *= launch.xp.asarray(numpy.ones(1))\nlaunch.product(b.K_0, w.W_0, b.R)",
    ),
]  # fmt: skip


@pytest.mark.parametrize("bug", [None, *UPLOADED], ids=lambda bug: bug.bug if bug else "none")
def test_planted_uploads_in_a_training_are_caught(bug: PlantedBug | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first epoch of two folds, the order of each epoch's graphs alone goes to the card."""
    use_stand_in(monkeypatch)
    module, uploads, found = copy_with(bug, COPIED)["minipinet.cuda.folds"], count_uploads(monkeypatch), []
    vars(module)["launcher"] = HostLauncher
    data, rng = load_dataset("MUTAG")[:12], np.random.default_rng(0)
    folds = module.FoldsOnCard([refine(data.graphs)] * 2, data.y, Settings(batch_size=5, dtype="float64"))
    likes = [init_params(rng, data.num_features, 2, hidden=5, out=4, dtype="float64") for _ in "ab"]
    states = {k: (params, adam_init(params)) for k, params in enumerate(likes)}
    for _ in range(3):
        uploads.clear()
        trained = folds.epoch({k: (*state, np.arange(12 - k)) for k, state in states.items()})
        states = {k: (params, adam) for k, (params, adam, *_) in trained.items()}
        found.append(uploads.copy())
    counts = BEGUN + LOADED + 1, 1, 1
    assert (tuple(map(len, found)) != counts or found[1:] != [["(2, 12)"]] * 2) == (bug is not None), found


@pytest.mark.parametrize("pq", ["learned", (1.0, 0.0)])
def test_a_training_with_validation_sends_orders_and_weights(pq: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)
    monkeypatch.setattr("minipinet.train.SCORED_AT_ONCE", 4)
    data, index, uploads, found = load_dataset("MUTAG")[::6], np.arange(32), count_uploads(monkeypatch), []

    def keep(_: object) -> None:
        found.append(uploads.copy())
        uploads.clear()

    settings = Settings(epochs=3, hidden=6, out=4, batch_size=8, device="cuda", validation=0.25, pq=pq)
    network = pinet_network(refine(data.graphs), settings, 2)
    state = fit_network(network, data.y, index[8:], settings, validation_index=index[:8], on_epoch=keep)
    # The order of 24 graphs; then the weights once, and where p and q are fixed, their table with each of two batches.
    weights = ["(7, 6)", "(6, 4)", "(7, 6)", "(6, 4)", "(16, 2)"]
    each = ["(1, 24)", *weights, *(["(4,)"] * 2 if pq == "learned" else ["(4, 2)"] * 2)]
    assert found[1:] == [each, each]
    # The batches to validate on have 18 arrays each; the kernels have the p and q that are fixed once.
    assert len(found[0]) == 2 * 18 + BEGUN + (pq != "learned") + LOADED + len(each)
    score_network(network, state.params, index[:8], batch_size=4)
    assert len(uploads) == 2 * 18 + len(each[1:])
