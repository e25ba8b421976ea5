"""``minipinet verify``: the table of checks, and a wrong gradient told."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minipinet.cli import main
from minipinet.cli.verify import PAIRS
from minipinet.fast.training import compiled_form
from minipinet.verify import Row
from minipinet.verify.fast_pairs import fast_pairs
from minipinet.verify.pairs import layer_pairs, model_pairs
from tests.cli_calls import call

Capture = pytest.CaptureFixture[str]


def test_verify_prints_one_row_a_check(capsys: Capture) -> None:
    status, out, err = call(capsys, "verify", "--pair", "pool", "--pair", "dense")
    assert (status, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["pair", "method", "rate", "worst", "error", "allowed", "seconds"]
    assert rows[-2] == []
    assert [" ".join(row[:2]) for row in rows[1:-2]] == [
        f"{pair} {method}" for pair in ("pool", "dense") for method in ("linear", "adjoint", "central", "complex")
    ]
    assert {row[-1] for row in rows[1:-2]} == {"ok"}
    assert re.fullmatch(r"2 pairs, 8 checks, \d+\.\d seconds: all ok", out.splitlines()[-1])


def test_help_names_every_pair(capsys: Capture) -> None:
    rng = np.random.default_rng(0)
    names = [pair.name for pairs in (layer_pairs, model_pairs, fast_pairs) for pair in pairs(rng)]
    assert names == [name for name in PAIRS if compiled_form() or not name.startswith("compiled.")]
    assert all(re.fullmatch(r"[A-Za-z_.]+", name) for name in PAIRS), "a shell would need quotes"
    with pytest.raises(SystemExit):
        main(["verify", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert f"one of {', '.join(PAIRS)}" in out


def test_verify_with_and_without_the_whole_model(capsys: Capture) -> None:
    whole, layers = (call(capsys, "verify", *words, "--json").json for words in ([], ["--no-model"]))
    assert {check["pair"] for check in whole["checks"]} > {check["pair"] for check in layers["checks"]}
    assert whole["ok"] is layers["ok"] is True
    rates = {check["method"]: check["rate"] for check in whole["checks"]}
    assert rates["central"] is None, "NaN has no place in JSON"
    assert rates["taylor"] == pytest.approx(3, abs=0.1)


def test_verify_hands_dtype_and_seed_on(capsys: Capture) -> None:
    single = call(capsys, "verify", "--pair", "dense", "--dtype", "float32", "--json").json
    assert [check["method"] for check in single["checks"]] == ["linear", "adjoint", "central", "complex", "float32"]
    worst = [
        call(capsys, "verify", "--pair", "dense", "--seed", seed, "--json").json["checks"][0]["worst"]
        for seed in (1, 1, 2)
    ]
    assert worst[0] == worst[1] != worst[2]


def test_verify_with_a_wrong_gradient_is_status_1_and_shows_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        Row("pool", "central", np.nan, 1e-9, 1e-6, True, 0, 0.1, "all is well"),
        Row("dense", "taylor", 1.25, 0.5, 2.9, False, 0, 0.1, "dW[0, 1] is wrong"),
    ]
    monkeypatch.setattr("minipinet.verify.verify_all", lambda *_, **__: rows)
    status, out, err = call(capsys, "verify")
    assert (status, err) == (1, "minipinet: error: 1 of 2 checks failed\n")
    assert [line.split()[:5] for line in out.splitlines()[1:3]] == [
        ["pool", "central", "-", "1.0e-09", "1e-06"],
        ["dense", "taylor", "1.25", "5.0e-01", "2.9"],
    ]
    assert out.endswith("WRONG\n\n2 pairs, 2 checks, 0.2 seconds: 1 WRONG\n\ndW[0, 1] is wrong\n")
    assert "all is well" not in out
    outcome = call(capsys, "verify", "--json")
    assert (outcome.status, outcome.err) == (1, "minipinet: error: 1 of 2 checks failed\n")
    assert outcome.json["ok"] is False
    assert (outcome.json["pairs"], outcome.json["seconds"]) == (2, pytest.approx(0.2))


def test_verify_takes_the_device_by_name(capsys: Capture) -> None:
    assert call(capsys, "verify", "--pair", "gate", "--device", "cpu", "--json").json["device"] == "cpu"
    status, out, err = call(capsys, "verify", "--device", "gpu")
    assert (status, out) == (2, "")
    assert err == "minipinet: error: --device: expected 'cpu', 'cuda' or 'auto', got 'gpu'\n"


def test_verify_shows_what_was_refused_and_what_is_left_out(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = call(capsys, "verify", "--pair", "pinet", "--no-model")
    assert (status, out) == (2, "")
    assert "--pair: 'pinet' is part of the whole network, which --no-model leaves out" in err
    rows = [Row("pool", "central", np.nan, np.nan, 1e-6, False, 0, 0.1, "cannot be checked")]
    monkeypatch.setattr("minipinet.verify.verify_all", lambda *_, **__: rows)
    status, out, _ = call(capsys, "verify")
    assert status == 1
    assert out.splitlines()[1].split()[:4] == ["pool", "central", "-", "-"]
    assert "\n1 pair, 1 check, 0.1 seconds: 1 WRONG\n" in out
    assert call(capsys, "verify", "--json").json["checks"][0]["worst"] is None
