"""The report on a run: its figures are those of the run, in one file that asks for no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minipinet.datasets import Dataset, load_dataset
from minipinet.report import make_report, write_report
from minipinet.report.run import read_run
from minipinet.runs import train_pinet
from tests.small_reports import (
    DATA,
    SMALL,
    Page,
    copied,
    cross_validated,
    data_of,
    record_of,
)

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")


def test_the_figures_are_those_of_the_run(run_dir: Path, html: str) -> None:
    page, summary = Page(html), record_of(run_dir)["results"]["summary"]
    tiles = page.tiles()
    assert tiles["Accuracy"].startswith(f"{summary['accuracy_mean']:.3f} ± {summary['accuracy_sd']:.3f}")
    assert tiles["Balanced accuracy"].startswith(f"{summary['balanced_accuracy']:.3f}")
    assert tiles["Majority class"].startswith("0.500")
    matrix = np.array(summary["confusion_matrix"])
    assert tiles["Wrongly labelled"].startswith(f"{matrix.sum() - matrix.trace()} of 24")
    assert page.texts("td")[:4] == [f"{n}{n / sum(row):.0%}" for row in matrix.tolist() for n in row]
    table = page.texts("tr")
    for k, fold in enumerate(record_of(run_dir)["results"]["folds"]):
        right, tested = round(fold["accuracy"] * 8), len(fold["predictions"])
        line = f"{k}{right}/{tested}{fold['accuracy']:.3f}{fold['loss']:.3f}4{fold['seconds']:.1f}"
        assert line in table
    assert "PiNet on two kinds: 3-fold cross-validation" in page.texts("h1")


def test_a_model_on_all_graphs_has_the_figures_of_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli_calls import call

    mutag = load_dataset("MUTAG")
    train_pinet(mutag, replace(SMALL, validation=0.2, epochs=20, patience=15), run_dir=tmp_path / "all")
    evaluated = call(capsys, "evaluate", tmp_path / "all", "MUTAG", "--json").json
    html = make_report(tmp_path / "all", dataset=mutag, graphs=20)
    page = Page(html)
    tiles = page.tiles()
    assert tiles["Accuracy of the model"].startswith(f"{evaluated['accuracy']:.3f}on all graphs: no estimate")
    assert tiles["Balanced accuracy"].startswith(f"{evaluated['balanced_accuracy']:.3f}")
    cells = [f"{n}{n / sum(row):.0%}" for row in evaluated["confusion_matrix"] for n in row]
    assert page.texts("td")[:4] == cells
    record = record_of(tmp_path / "all")["results"]
    history = read_run(tmp_path / "all").trainings[0].history
    kept = history[record["epoch"] - 1]
    assert tiles["Accuracy in training"].startswith(f"{kept.accuracy:.3f}in epoch {kept.epoch}")
    assert tiles["Accuracy in validation"].startswith(f"{kept.validation_accuracy:.3f}on 38 graphs held out")
    verdicts = page.texts("p", "verdict")
    held_out = {int(g) for g in record_of(tmp_path / "all")["split"]["validation"]}
    numbers = [int(title.split()[1]) for title in page.texts("h3")]
    assert [verdict.endswith("held out") for verdict in verdicts] == [g in held_out for g in numbers]
    assert any(verdict.endswith("trained on") for verdict in verdicts)
    assert "There is no test part" in html


def test_a_page_is_one_file_whose_policy_lets_nothing_else_in(html: str) -> None:
    page = Page(html)
    for name, attributes, _ in page.elements:
        assert name not in ("link", "img", "iframe", "object")
        for attribute in ("src", "href", "xlink:href", "action", "data"):
            assert (attributes.get(attribute) or "#").startswith("#"), (name, attributes)
    (policy,) = [a["content"] for _, a, _ in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "@import" not in html
    assert "url(http" not in html
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes, _ in page.elements:
        for attribute in ("aria-labelledby", "for"):
            assert attributes.get(attribute, ids[0]) in ids
        if (attributes.get("href") or "").startswith("#"):
            assert str(attributes["href"])[1:] in ids


def test_the_same_run_has_the_same_page(run_dir: Path, html: str) -> None:
    assert make_report(run_dir, dataset=DATA, graphs=8) == html


def test_fixed_p_and_q_have_a_table_and_no_paths(tmp_path: Path) -> None:
    html = make_report(cross_validated(tmp_path, settings=replace(SMALL, pq=(1, 0), bias=True)), dataset=DATA)
    page = Page(html)
    assert "They were fixed in this run" in html
    assert "A01.0000.000" in page.texts("tr")
    assert any(any(graph["bias"]) for graph in data_of(html)["graphs"])
    assert html.count("<figure>") == 1


def test_the_file_is_written_whole(run_dir: Path, tmp_path: Path, html: str) -> None:
    assert write_report(run_dir, tmp_path / "a.html", dataset=DATA, graphs=8) == tmp_path / "a.html"
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == html
    mine = copied(run_dir, tmp_path / "run")
    assert write_report(mine, dataset=DATA, graphs=8) == mine / "report.html"
    assert [path.name for path in mine.iterdir() if "partial" in path.name] == []


def test_nothing_in_the_run_is_changed(run_dir: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    write_report(run_dir, tmp_path / "page.html", dataset=DATA)
    assert {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()} == before


def test_the_data_are_not_changed(run_dir: Path) -> None:
    data: Dataset = DATA[:]
    X, A = data.graphs.X.copy(), data.graphs.A.copy()
    make_report(run_dir, dataset=data)
    assert (data.graphs.X == X).all()
    assert (data.graphs.A != A).nnz == 0
