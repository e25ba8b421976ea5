"""``minipinet train``: what it prints and what it records."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.cli.progress import progress
from minipinet.crossval import cross_validate
from minipinet.datasets import load_dataset
from minipinet.metrics import Report, report
from minipinet.predictor import PiNet
from minipinet.settings import Settings
from tests.cli_calls import TINY, Outcome, call, figures
from tests.tu_files import write_folder

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINIPINET_DATA", raising=False)


def test_case_123_a_cross_validation_is_reported_whole(capsys: Capture) -> None:
    status, out, _ = call(capsys, "train", *TINY, "--folds", 3, "--run-dir", "run")
    assert status == 0
    summary = json.loads(Path("run/run.json").read_text())["results"]["summary"]
    lines = out.splitlines()
    assert lines[0] == "MUTAG: 188 graphs, 2 classes (-1: 63, 1: 125), 7 features a node from labels"
    at = lines.index("fold  test graphs  accuracy   loss  epoch  seconds")
    assert [line.split()[:2] for line in lines[at + 1 : at + 4]] == [["0", "63"], ["1", "63"], ["2", "62"]]
    mean, sd = summary["accuracy_mean"], summary["accuracy_sd"]
    assert f"accuracy             {mean:.3f} ± {sd:.3f} (mean and standard deviation over 3 folds)" in lines
    assert f"balanced accuracy    {summary['balanced_accuracy']:.3f}" in lines
    assert "majority-class rate  0.665" in lines
    matrix = summary["confusion_matrix"]
    rows = [line.split() for line in lines if line.startswith(("-1 ", "1 "))]
    assert rows == [["-1", *map(str, matrix[0])], ["1", *map(str, matrix[1])]]
    assert np.sum(matrix) == 188
    layers = [line.split()[0] for line in lines[lines.index("learned p and q") + 2 :][:4]]
    assert layers == ["A0", "A1", "X0", "X1"]
    assert lines[-1] == "saved in run"


def test_learned_p_and_q_are_shown_with_their_spread_and_fixed_ones_without(capsys: Capture) -> None:
    _, out, _ = call(capsys, "train", *TINY, "--folds", 2, "--lr", 0.05, "--run-dir", "a")
    folds = json.loads(Path("a/run.json").read_text())["results"]["folds"]
    p = [fold["p"][3] for fold in folds]
    row = next(line for line in out.splitlines() if line.startswith("X1"))
    assert np.std(p, ddof=1) > 0.002, "too small a spread to see"
    assert row.split()[1:4] == [f"{np.mean(p):.3f}", "±", f"{np.std(p, ddof=1):.3f}"]
    _, out, _ = call(capsys, "train", *TINY, "--folds", 2, "--pq", "0,0.5:1,0:0.25,1:1,1")
    at = out.splitlines().index("p and q, fixed")
    assert [line.split() for line in out.splitlines()[at + 2 : at + 6]] == [
        ["A0", "0.000", "0.500"],
        ["A1", "1.000", "0.000"],
        ["X0", "0.250", "1.000"],
        ["X1", "1.000", "1.000"],
    ]


def test_case_106_json_is_one_strict_document_equal_to_the_record(capsys: Capture) -> None:
    status, out, err = call(
        capsys, "train", *TINY[2:], "--epochs", 1, "--folds", 2, "--json", "--quiet", "--run-dir", "r"
    )
    assert (status, err) == (0, "")
    document = Outcome(status, out, err).json
    assert document.pop("run_dir") == "r"
    assert document == json.loads(Path("r/run.json").read_text())


def test_case_106_a_missing_figure_is_null_in_json_and_a_dash_in_tables(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report_without_balance(*args: Any) -> Report:
        return report(*args)._replace(balanced_accuracy=float("nan"))

    monkeypatch.setattr("minipinet.metrics.report", report_without_balance)
    words = ["train", *TINY, "--folds", 2]
    assert call(capsys, *words, "--json").json["results"]["summary"]["balanced_accuracy"] is None
    assert "balanced accuracy    -" in call(capsys, *words).out.splitlines()


def test_case_106_a_model_trained_without_validation_has_null_validation_figures(capsys: Capture) -> None:
    last = call(capsys, "train", *TINY, "--folds", 0, "--json").json["results"]["last_epoch"]
    assert (last["epoch"], last["validation_loss"], last["validation_accuracy"]) == (2, None, None)


def test_case_111_the_record_redoes_the_run(capsys: Capture) -> None:
    words = ["--seed", 5, "--bias", "--lr", 0.01, "--dtype", "float64", "--batch-size", 20]
    first = call(capsys, "train", *TINY, "--folds", 2, *words, "--json").json
    assert (
        first["settings"]
        == Settings(epochs=2, hidden=4, out=2, seed=5, bias=True, lr=0.01, dtype="float64", batch_size=20).to_json()
    )
    assert first["data"]["digest"] == load_dataset("MUTAG").digest
    tests = [split["test"] for split in first["splits"]]
    assert sorted(graph for test in tests for graph in test) == list(range(188))
    assert {"python", "numpy", "scipy", "minipinet"} <= set(first["versions"])
    assert first["settings"]["device"] == "cpu"
    again = call(capsys, "train", *TINY, "--folds", 2, *words, "--json").json
    assert figures(again) == figures(first)
    assert again["run_dir"] != first["run_dir"]
    other = call(capsys, "train", *TINY, "--folds", 2, *words, "--seed", 6, "--json").json
    assert other["results"]["summary"] != first["results"]["summary"]


def test_the_command_and_the_library_give_the_same_numbers(capsys: Capture) -> None:
    told = call(capsys, "train", *TINY, "--folds", 3, "--json").json["results"]["summary"]
    result = cross_validate(load_dataset("MUTAG"), Settings(epochs=2, hidden=4, out=2), 3)
    assert figures(told) == figures(result.summary)


def test_results_do_not_depend_on_the_number_of_processes(capsys: Capture) -> None:
    one, two = (call(capsys, "train", *TINY[:-2], "--folds", 3, "--jobs", n, "--json").json for n in (1, 2))
    assert figures(one) == figures(two)


@pytest.mark.parametrize(("cores", "folds", "expected"), [(2, 10, 2), (16, 10, 10), (8, 3, 3), (1, 10, 1)])
def test_the_default_is_one_process_a_core_but_no_more_than_folds(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, cores: int, folds: int, expected: int
) -> None:
    asked = []

    def spy(*_: Any, jobs: int, **__: Any) -> Any:
        asked.append(jobs)
        raise KeyboardInterrupt

    monkeypatch.setattr("joblib.cpu_count", lambda: cores)
    monkeypatch.setattr("minipinet.crossval.cross_validate", spy)
    call(capsys, "train", "--folds", folds)
    call(capsys, "train", "--folds", folds, "--jobs", 4)
    assert asked == [expected, min(4, folds)]


def test_folds_0_trains_one_model_on_all_graphs(capsys: Capture) -> None:
    status, out, _ = call(capsys, "train", *TINY, "--folds", 0, "--run-dir", "run")
    assert status == 0
    assert PiNet.load("run/model.safetensors").classes == (-1, 1)
    record = json.loads(Path("run/run.json").read_text())
    assert record["split"]["train"] == list(range(188))
    lines = out.splitlines()
    assert "epoch                2 of 2" in lines
    assert any(line.startswith("training accuracy    0.") for line in lines)
    assert "majority-class rate  0.665" in lines
    assert lines[-1] == "saved in run"


def test_early_stopping_reports_the_epoch_it_kept(capsys: Capture) -> None:
    words = ["--epochs", 40, "--hidden", 4, "--out", 2, "--lr", 0.3, "--validation", 0.2, "--patience", 2]
    document = call(capsys, "train", *words, "--folds", 0, "--run-dir", "run", "--json").json
    log = [json.loads(line) for line in Path("run/log.jsonl").read_text().splitlines()]
    losses = [record["validation_loss"] for record in log]
    best = int(np.argmin(losses)) + 1
    assert document["results"]["epoch"] == best < len(log) < 40
    out = call(capsys, "train", *words, "--folds", 0, "--run-dir", "run", "--resume").out
    assert f"epoch                {best} of {len(log)}" in out
    assert f"validation loss      {losses[best - 1]:.3f}" in out
    assert f"training loss        {log[best - 1]['loss']:.3f}" in out
    assert "majority-class rate  0.665" in out


def test_a_folder_of_ones_own_with_other_features(capsys: Capture) -> None:
    graphs = 12
    changes: dict[str, str | bytes | None] = {
        "A": "".join(f"{2 * g + 1}, {2 * g + 2}\n{2 * g + 2}, {2 * g + 1}\n" for g in range(graphs)),
        "graph_indicator": "".join(f"{g + 1}\n{g + 1}\n" for g in range(graphs)),
        "graph_labels": "".join(f"{3 * (g % 2)}\n" for g in range(graphs)),
        "node_labels": None,
        "node_attributes": "".join(f"0.5, {g % 2}.0\n1.5, 2.0\n" for g in range(graphs)),
    }
    write_folder(Path("mine"), changes, name="MINE")
    words = ["train", *TINY, "--folds", 2, "--dataset", "./mine"]
    document = call(capsys, *words, "--features", "attributes", "--json").json
    assert document["data"]["classes"] == [0, 3]
    assert document["data"]["encoder"]["num_attributes"] == 2
    assert document["run_dir"].startswith("runs/MINE-")
    outcome = call(capsys, *words)
    assert "note: MINE: there are no node labels" in outcome.err
    assert "1 feature a node from constant" in outcome.out


def test_progress_on_a_terminal_is_a_bar_and_elsewhere_at_most_ten_lines(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(quiet: bool) -> str:
        with progress(1000, "epoch", quiet=quiet) as show:
            for done in range(1, 1001):
                show(done, f"loss {done}")
        return capsys.readouterr().err

    lines = run(quiet=False).splitlines()
    assert len(lines) == 10
    assert lines[0] == "100 of 1000 epochs: loss 100"
    assert lines[-1] == "1000 of 1000 epochs: loss 1000"
    assert run(quiet=True) == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = run(quiet=False)
    assert "1000/1000" in bar
    assert "loss 1000" in bar
