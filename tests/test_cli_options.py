"""The options: their defaults, where they arrive, their help."""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
from dataclasses import fields

import pytest

from minipinet.cli import build_parser, main
from minipinet.cli.train_options import parse_pq, settings_of
from minipinet.settings import Settings
from tests.cli_calls import ROOT, call


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["train"],
        ["evaluate"],
        ["predict"],
        ["data"],
        ["data", "list"],
        ["data", "info"],
        ["data", "fetch"],
        ["verify"],
    ],
    ids=" ".join,
)
def test_help_of_every_command(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    out, err = capsys.readouterr()
    assert (stop.value.code, err) == (0, "")
    assert out.startswith(f"usage: {' '.join(['minipinet', *words])} ")


def test_help_imports_nothing_that_takes_time() -> None:
    code = (
        "import sys, minipinet.cli\n"
        "try: minipinet.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'networkx', 'sklearn', 'joblib', 'tqdm', 'safetensors', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_defaults_of_the_options_are_those_of_settings() -> None:
    args = build_parser().parse_args(["train"])
    assert settings_of(args) == Settings()
    assert args.dataset == "MUTAG"
    assert args.folds == 10
    assert args.features == "labels"


def test_the_default_command_has_the_papers_hyper_parameters() -> None:
    settings = settings_of(build_parser().parse_args(["train"]))
    assert (settings.epochs, settings.batch_size, settings.lr) == (200, 50, 1e-3)
    assert (settings.hidden, settings.out, settings.pq) == (100, 64, "learned")


def test_every_option_reaches_its_setting() -> None:
    words = (
        "train --epochs 3 --batch-size 7 --lr 0.5 --hidden 11 --out 5 --pq 0.25,0.75 --bias --l2 0.125 "
        "--init orthogonal --seed 9 --dtype float64 --device cpu --validation 0.5 --patience 4 "
        "--steps-per-epoch 8"
    )
    changed = settings_of(build_parser().parse_args(words.split()))
    same = {field.name for field in fields(Settings) if getattr(changed, field.name) == getattr(Settings(), field.name)}
    assert same == {"device", "merge"}
    assert (changed.epochs, changed.batch_size, changed.lr, changed.hidden, changed.out) == (3, 7, 0.5, 11, 5)
    assert (changed.pq, changed.bias, changed.l2, changed.init) == (((0.25, 0.75),) * 4, True, 0.125, "orthogonal")
    assert (changed.seed, changed.dtype, changed.validation, changed.patience) == (9, "float64", 0.5, 4)
    assert changed.steps_per_epoch == 8


def test_pq_by_layer() -> None:
    assert parse_pq("0,0.5:1,0:0,1:1,1") == ((0.0, 0.5), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    with pytest.raises(argparse.ArgumentTypeError):
        parse_pq("0,0:1,1:0,0")


def test_help_tells_values_where_nothing_else_is_looked_at_and_what_resume_does_without_a_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (["train"], ["evaluate"], ["predict"], ["data", "info"]):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        out = " ".join(capsys.readouterr().out.split())
        assert "no other place is looked in then" in out
        if words == ["train"]:
            assert "where to train: cpu (the default), cuda (an NVIDIA card; not yet tried on one), or auto" in out
            assert "where there is none, begin it and say so" in out


def test_version(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"1.2.3 of {name}")
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert (stop.value.code, *capsys.readouterr()) == (0, "minipinet 1.2.3 of minipinet\n", "")


def test_version_of_a_source_tree_that_is_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    status, out, err = call(capsys, "--version")
    assert (status, out) == (1, "")
    assert err == "minipinet: error: version: it is not known, because the package is not installed\n"
