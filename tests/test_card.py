"""Training on a card, by the kernels compiled for the host; a model from there."""

from __future__ import annotations

import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minipinet._card
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.training import Card
from minipinet.datasets import load_dataset
from minipinet.errors import DivergedError, UsageError
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.pinet_network import pinet_network
from minipinet.predictor import PiNet
from minipinet.quotient import refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.train import TrainState, fit, fit_network, start
from tests import tolerances
from tests.cli_calls import call
from tests.device_counts import count_operations
from tests.forms import use_form
from tests.kernel_gradients import SHAPES, kernel_errors
from tests.kernels_on_host import HostLauncher, use_host_card
from tests.small_data import same_bits
from tests.tolerances import relative_error, tree_error

DATA = load_dataset("MUTAG")[::3]
SMALL: dict[str, Any] = {"epochs": 3, "hidden": 6, "out": 4, "batch_size": 20, "dtype": "float64"}


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)


def both(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[TrainState, TrainState]:
    use_form("numpy", monkeypatch)  # tests/test_compiled.py holds the compiled form to it
    quotient, index = refine(DATA.graphs), np.arange(0, len(DATA), 2)
    on = [Settings(**(SMALL | settings), device=device) for device in ("cpu", "cuda")]
    held_out = np.arange(1, len(DATA), 4) if settings.get("validation") else None
    found = [fit(quotient, DATA.y, index, s, C=2, validation_index=held_out) for s in on]
    return found[0], found[1]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pq": (1.0, 0.0)},
        {"bias": True, "l2": 1e-3},
        {"steps_per_epoch": 1},
        {"batch_size": 1000},
        {"merge": False},
        {"validation": 0.25, "patience": 1},
    ],
)
def test_training_is_that_on_the_cpu(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = both(monkeypatch, **settings)
    assert there.epoch == here.epoch
    assert there.adam.step == here.adam.step
    for a, b in zip(here.history, there.history, strict=True):
        assert relative_error(b.loss, a.loss) < tolerances.FAST_FLOAT64
        assert (a.accuracy, a.validation_accuracy) == (b.accuracy, b.validation_accuracy)
    # Adam makes much of a gradient that is 0 but for rounding: that of the bias before the softmax.
    free = {"b_A1": None}
    assert tree_error(there.params._replace(**free), here.params._replace(**free)) < 1e-9


def test_a_run_goes_on_where_it_stopped_on_either_device() -> None:
    quotient, index = refine(DATA.graphs), np.arange(len(DATA))

    def train(epochs: int, device: str, state: TrainState | None = None) -> TrainState:
        return fit(quotient, DATA.y, index, Settings(**(SMALL | {"epochs": epochs}), device=device), C=2, state=state)

    straight = train(4, "cuda")
    assert same_bits(train(4, "cuda", train(2, "cuda")).params, straight.params)
    assert tree_error(train(4, "cpu", train(2, "cuda")).params, straight.params) < 1e-9
    assert tree_error(train(4, "cuda", train(2, "cpu")).params, straight.params) < 1e-9


def test_divergence_is_told() -> None:
    data = DATA[:10]
    with pytest.raises(DivergedError, match="training diverged in epoch 2: the loss"):
        fit(refine(data.graphs), data.y, np.arange(10), Settings(**SMALL, lr=1e300, device="cuda"), C=2)


@pytest.mark.parametrize("steps_per_epoch", [None, 1])
def test_a_graph_that_is_there_twice_is_refused(steps_per_epoch: int | None) -> None:
    # The tables of a batch have room for the largest different graphs: two of graph 5 would be written beyond them.
    settings = Settings(**SMALL, steps_per_epoch=steps_per_epoch, device="cuda")
    quotient = refine(DATA.graphs)
    with pytest.raises(UsageError, match=r"^index: expected different graphs on a card, got graph 5 again$"):
        fit(quotient, DATA.y, np.array([0, 5, 1, 5, 2]), settings, C=2)
    # On the CPU a graph may count twice.
    assert fit(quotient, DATA.y, np.array([0, 5, 1, 5, 2]), replace(settings, device="cpu"), C=2).epoch == 3


def test_a_network_that_trains_again_trains_as_a_new_one() -> None:
    quotient, settings, few, index = refine(DATA.graphs), Settings(**SMALL, device="cuda"), np.arange(30), np.arange(50)
    network = pinet_network(quotient, settings, 2)
    wider = start(replace(settings, hidden=7), DATA.num_features, 2)
    # Each differs from the one before in one thing.
    trainings: list[tuple[Any, ...]] = [
        (DATA.y, few, settings, None), (1 - DATA.y, few, settings, None), (1 - DATA.y, index, settings, None),
        (1 - DATA.y, index, replace(settings, lr=1e-2), None),
        (1 - DATA.y, index, replace(settings, lr=1e-2, batch_size=7), None),
        (1 - DATA.y, index, replace(settings, lr=1e-2, batch_size=7), wider),
    ]  # fmt: skip
    for y, chosen, own, state in trainings:
        again = fit_network(network, y, chosen, own, state=state)
        new = fit_network(pinet_network(quotient, own, 2), y, chosen, own, state=state)
        assert same_bits((again.params, again.adam), (new.params, new.adam))


def test_what_a_training_left_that_diverged_does_not_reach_the_next() -> None:
    """On one card: beyond a batch's last row the softmax is not a number then, and zero times that is none either."""
    quotient, settings, index = refine(DATA.graphs), Settings(**SMALL, bias=True, device="cuda"), np.arange(50)
    network, sound = pinet_network(quotient, settings, 2), start(settings, DATA.num_features, 2)
    wild = sound.params._replace(W_A0=1e200 * sound.params.W_A0, W_A1=1e200 * sound.params.W_A1)
    with pytest.raises(DivergedError), np.errstate(all="ignore"):
        fit_network(network, DATA.y, index, settings, state=sound._replace(params=wild))
    again, new = (fit_network(one, DATA.y, index, settings) for one in (network, pinet_network(quotient, settings, 2)))
    assert same_bits((again.params, again.adam), (new.params, new.adam))


def test_a_training_is_one_card_s(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    init = Card.__init__

    def spy(self: Card, *arguments: Any, **named: Any) -> None:
        made.append(1)
        init(self, *arguments, **named)

    monkeypatch.setattr(Card, "__init__", spy)
    both(monkeypatch, epochs=4)
    assert made == [1]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_the_readable_pairs(dtype: str, shape: dict[str, Any]) -> None:
    allowed = tolerances.FAST_FLOAT64 if dtype == "float64" else tolerances.FORMS_FLOAT32
    assert max(kernel_errors(HostLauncher(dtype), DATA, dtype, **shape)) < allowed


def test_folds_train_side_by_side_as_each_alone() -> None:
    rng, quotient = np.random.default_rng(0), refine(DATA.graphs)
    table, settings = graph_table(quotient, DATA.y), Settings(batch_size=20)
    folds = [init_params(rng, DATA.num_features, 2, hidden=6, out=4) for _ in range(3)]
    orders = [rng.permutation(len(DATA))[:n] for n in (50, 33, 20)]

    def train(chosen: list[int]) -> list[Any]:
        card = Card(HostLauncher("float32"), [table], [folds[k] for k in chosen], 50, settings)
        card.load([folds[k] for k in chosen], [adam_init(folds[k]) for k in chosen])
        sums = [card.epoch([orders[k] for k in chosen]) for _ in range(2)]
        params, adam = card.read()
        return [(params[i], adam[i], [s[i].tolist() for s in sums]) for i in range(len(chosen))]

    together, alone = train([0, 1, 2]), [train([k])[0] for k in range(3)]
    assert [adam.step for _, adam, _ in together] == [6, 4, 2]
    for a, b in zip(together, alone, strict=True):
        assert tree_error(a[0], b[0]) < 1e-5
        assert tree_error(a[1].v, b[1].v) < 1e-4
        assert relative_error(np.array(a[2]), np.array(b[2])) < 1e-5


def test_a_model_from_a_card_is_used_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = ["--epochs", "2", "--hidden", "4", "--out", "2", "--folds", "0", "--quiet"]
    outcome = call(capsys, "train", *shape, "--device", "auto", "--run-dir", str(tmp_path / "run"), "--json")
    assert outcome.status == 0
    assert outcome.json["settings"]["device"] == "cuda"
    monkeypatch.setattr(minipinet._card, "card_problem", lambda: "the card is gone")
    model = PiNet.load(tmp_path / "run" / "model.safetensors")
    assert model.settings.device == "cuda"
    assert len(model.predict(DATA)) == len(DATA)
    resume = call(capsys, "train", *shape, "--device", "cuda", "--run-dir", str(tmp_path / "run"), "--resume")
    assert (resume.status, resume.err) == (
        2, "minipinet: error: --device: 'cuda' cannot be used here: the card is gone\n",
    )  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"bias": True, "l2": 1e-3}])
def test_a_step_asks_for_no_memory(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a captured step wrote to and gave back would be another's when the step is replayed."""
    chosen = Settings(**SMALL, **settings)
    params = init_params(np.random.default_rng(0), DATA.num_features, 2, hidden=6, out=4, bias=chosen.bias)
    launch, likes = HostLauncher("float32"), [params] * 2
    card = Card(launch, [graph_table(refine(DATA.graphs), DATA.y)], likes, len(DATA), chosen, captured=False)
    card.load(likes, [adam_init(params)] * 2)
    card.buffers.order[:] = launch.xp.arange(len(DATA))
    launch.xp = types.SimpleNamespace(finfo=np.finfo)  # and nothing that makes an array
    counted = count_operations(monkeypatch)
    card._step()
    assert counted == []
    assert card.buffers.steps.tolist() == [1, 1]


class Counting(HostLauncher):
    """Counts products too."""

    products = 0

    def product(self, *operands: Any, **turned: Any) -> None:
        self.products += 1
        super().product(*operands, **turned)


def test_a_step_is_37_operations() -> None:
    """As docs/gpu.md reckons with."""
    params, launch = init_params(np.random.default_rng(0), DATA.num_features, 2), Counting("float32")
    Card(launch, [graph_table(refine(DATA.graphs), DATA.y)], [params], len(DATA), Settings(), captured=False)._step()
    assert (len(launch.launched), launch.products) == (28, 9)


def test_train_pinet_keeps_the_device_that_auto_came_to() -> None:
    assert train_pinet(DATA, Settings(**SMALL, device="auto")).model.settings.device == "cuda"
