"""The doors to a card: scores, validation scores and the commands, on a strict stand-in; and where there is no card."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import minipinet._array
import minipinet._card
from minipinet._array import to_card
from minipinet.batch import make_batch
from minipinet.datasets import Dataset, load_dataset
from minipinet.errors import Notice, UsageError
from minipinet.evaluation import evaluate, score
from minipinet.model import pinet_forward
from minipinet.predictor import PiNet
from minipinet.quotient import refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.train import fit
from tests.cli_calls import call
from tests.device_stand_in import Device, use_stand_in
from tests.kernels_on_host import use_host_card
from tests.small_data import same_bits
from tests.tolerances import FORMS_FLOAT32, FORMS_FLOAT64, relative_error

DATA = load_dataset("MUTAG")[::6]
SMALL = Settings(epochs=1, hidden=6, out=4, batch_size=20, dtype="float64")
NO_CARD = "'cuda' cannot be used here: there is no NVIDIA card"


@pytest.fixture(scope="module")
def models() -> dict[str, PiNet]:
    settings = {"float64": SMALL, "float32": replace(SMALL, dtype="float32", pq=(0.5, 1.0), bias=True)}
    return {name: train_pinet(DATA, chosen).model for name, chosen in settings.items()}


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for a card; return where each batch is scored, as it happens."""
    use_stand_in(monkeypatch)
    return watch(monkeypatch)


@pytest.fixture
def no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minipinet._card, "card_problem", lambda: "there is no NVIDIA card")


def watch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    where: list[str] = []

    def forward(params: Any, batch: Any, pq: Any = None) -> Any:
        where.append("cuda" if isinstance(batch.X, Device) and isinstance(params.W_D, Device) else "cpu")
        return pinet_forward(params, batch, pq)

    monkeypatch.setattr("minipinet.evaluation.pinet_forward", forward)
    return where


@pytest.mark.parametrize(("dtype", "allowed"), [("float64", FORMS_FLOAT64), ("float32", FORMS_FLOAT32)])
def test_case_099_scores_on_a_card_are_the_cpus_and_come_back(
    models: dict[str, PiNet], card: list[str], dtype: str, allowed: float
) -> None:
    model, quotient, index = models[dtype], refine(DATA.graphs), np.arange(len(DATA))
    arguments: dict[str, Any] = {
        "params": model.params,
        "pq": model.settings.pairs,
        "quotient": quotient,
        "index": index,
    }
    here, there = (score(**arguments, batch_size=10, device=device) for device in ("cpu", "cuda"))
    assert card == ["cpu"] * 4 + ["cuda"] * 4
    assert (type(there), there.dtype) == (np.ndarray, np.dtype(dtype))
    assert relative_error(there, here) < allowed
    rated = [evaluate(**arguments, y=DATA.y, device=device) for device in ("cpu", "cuda")]
    assert rated[1].accuracy == rated[0].accuracy
    assert type(rated[1].loss) is float
    assert relative_error(rated[1].loss, rated[0].loss) < allowed
    for scores in (model.logits, model.probabilities):
        assert relative_error(scores(DATA, device="cuda"), scores(DATA)) < allowed
    assert model.predict(DATA, device="auto").tolist() == model.predict(DATA).tolist()
    assert card[8:] == ["cpu", "cuda", "cuda", "cpu", "cuda", "cpu", "cuda", "cpu"]


@pytest.mark.usefixtures("card")
def test_a_batch_moves_once_and_shares_there_what_it_shares_here() -> None:
    batch = to_card(make_batch(refine(DATA.graphs), [0, 1]))
    step = batch.steps[0]
    assert np.shares_memory(step.A.indices.host, step.A_T.indices.host)
    again = to_card(batch)
    assert again.X is batch.X
    assert again.pool.counts is batch.pool.counts


@pytest.mark.usefixtures("no_card")
def test_without_a_card_cuda_is_refused_and_auto_falls_back(models: dict[str, PiNet]) -> None:
    model, quotient, index = models["float64"], refine(DATA.graphs), np.arange(len(DATA))
    refusals: list[Callable[[], Any]] = [
        lambda: model.predict(DATA, device="cuda"),
        lambda: score(model.params, None, quotient, index, device="cuda"),
        lambda: evaluate(model.params, None, quotient, DATA.y, index, device="cuda"),
    ]
    for refused in refusals:
        with pytest.raises(UsageError, match=f"^device: {NO_CARD}$"):
            refused()
    with pytest.warns(Notice, match="^device: 'auto' comes to 'cpu': there is no NVIDIA card$"):
        found = model.logits(DATA, device="auto")
    assert same_bits(found, model.logits(DATA))
    for device in ("gpu", None, 0):
        with pytest.raises(UsageError, match=r"^device: expected 'cpu', 'cuda' or 'auto', got "):
            model.predict(DATA, device=device)  # type: ignore[arg-type]


def test_scores_to_the_last_bit_are_the_cpus(models: dict[str, PiNet], card: list[str]) -> None:
    model = models["float64"]
    with pytest.raises(
        UsageError, match=r"^device: expected 'cpu' for scores to the last bit \(bitwise\), got 'cuda'$"
    ):
        model.logits(DATA, bitwise=True, device="cuda")
    with pytest.warns(Notice, match=r"^device: 'auto' comes to 'cpu': scores to the last bit"):
        found = model.logits(DATA, bitwise=True, device="auto")
    assert same_bits(found, model.logits(DATA, bitwise=True))
    with pytest.raises(UsageError, match=r"^device: expected 'cpu', 'cuda' or 'auto', got 'gpu'$"):
        model.logits(DATA, bitwise=True, device="gpu")
    assert card == []


def validated(data: Dataset, **changed: Any) -> Any:
    settings = replace(SMALL, validation=0.25, epochs=2, **changed)
    index = np.arange(len(data))
    return fit(refine(data.graphs), data.y, index[8:], settings, C=2, validation_index=index[:8])


def test_validation_scores_are_computed_where_training_is(monkeypatch: pytest.MonkeyPatch) -> None:
    here = validated(DATA)
    use_host_card(monkeypatch)
    where = watch(monkeypatch)
    moved: list[str] = []
    plain = minipinet._array.to_card

    def to_card(tree: Any) -> Any:
        moved.append(type(tree).__name__)
        return plain(tree)

    monkeypatch.setattr(minipinet._array, "to_card", to_card)
    there = validated(DATA, device="cuda")
    assert where == ["cuda", "cuda"]
    assert moved.count("GraphBatch") == 1, "the batches move once, not in each epoch"
    for a, b in zip(here.history, there.history, strict=True):
        assert relative_error(b.validation_loss, a.validation_loss) < 1e-9
        assert b.validation_accuracy == a.validation_accuracy


@pytest.fixture(scope="module")
def saved(models: dict[str, PiNet], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    models["float64"].save(folder / "model.safetensors")
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "C", "label")
    (folder / "path.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")), encoding="utf-8")
    return folder


@pytest.mark.parametrize("words", ["evaluate {0} MUTAG", "predict {0} MUTAG", "predict {0} {0}/path.json"])
def test_the_commands_score_on_a_card(
    words: str, saved: Path, card: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = words.format(saved).split()
    here, there, auto = (
        call(capsys, *asked, "--json", *device) for device in ([], ["--device", "cuda"], ["--device", "auto"])
    )
    assert (here.json.pop("device"), there.json["device"], auto.json["device"]) == ("cpu", "cuda", "cuda")
    assert card == ["cpu", "cuda", "cuda"]
    for name in ("labels", "accuracy", "confusion_matrix"):
        assert there.json.get(name) == here.json.get(name)
    name = "loss" if "evaluate" in words else "probabilities"
    assert relative_error(there.json[name], here.json[name]) < FORMS_FLOAT64


@pytest.mark.usefixtures("no_card")
@pytest.mark.parametrize("words", ["evaluate nowhere MUTAG", "predict nowhere MUTAG", "verify"])
def test_the_commands_refuse_a_card_that_is_not_there(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused = call(capsys, *words.split(), "--device", "cuda")
    assert (refused.status, refused.out, refused.err) == (2, "", f"minipinet: error: --device: {NO_CARD}\n")


@pytest.mark.usefixtures("no_card")
def test_the_commands_fall_back_with_a_note(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (f"evaluate {saved} MUTAG", f"predict {saved} MUTAG", "verify --pair gate"):
        outcome = call(capsys, *words.split(), "--device", "auto", "--json")
        assert (outcome.status, outcome.json["device"]) == (0, "cpu")
        assert outcome.err == "note: device: 'auto' comes to 'cpu': there is no NVIDIA card\n"


def test_the_command_refuses_a_card_to_the_last_bit(
    saved: Path, card: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    refused = call(capsys, "predict", saved, "MUTAG", "--bitwise", "--device", "cuda")
    expected = "minipinet: error: --device: expected 'cpu' for scores to the last bit (bitwise), got 'cuda'\n"
    assert (refused.status, refused.out, refused.err) == (2, "", expected)


@pytest.mark.usefixtures("card")
def test_the_checker_computes_on_a_card_by_command(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "verify", "--pair", "gate", "--pair", "dense", "--device", "auto", "--json")
    assert (outcome.status, outcome.json["ok"], outcome.json["device"]) == (0, True, "cuda")
    assert outcome.json["pairs"] == 2
    refused = call(capsys, "verify", "--pair", "fast.loss", "--device", "cuda")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("minipinet: error: --pair: expected names out of propagate, ")
