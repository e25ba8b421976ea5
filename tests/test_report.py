"""The report on a run: its numbers are those of the run, everything from data is escaped, and half a run is enough."""

from __future__ import annotations

import json
import math
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.datasets import Dataset, dataset_from_graphs, load_dataset
from minipinet.errors import DataError, UsageError
from minipinet.graphs import as_graph, permute_nodes
from minipinet.predictor import PiNet
from minipinet.report import make_report, write_report
from minipinet.report.gallery import MOST_NODES
from minipinet.report.run import read_run
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_reports import DATA, EVIL, SMALL, Page, cross_validated, data_of, evil_data

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cross_validated(tmp_path_factory.mktemp("run") / "folds")


@pytest.fixture(scope="module")
def html(run_dir: Path) -> str:
    return make_report(run_dir, dataset=DATA, graphs=8)


def copied(run_dir: Path, folder: Path) -> Path:
    """Return a copy of a run."""
    for path in run_dir.rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(run_dir)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return folder


def record_of(run_dir: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((run_dir / "run.json").read_text(encoding="utf-8"))
    return record


def unfinished(run_dir: Path, folder: Path, *, done: int, begun: int) -> Path:
    """Return a run as it is when some folds are done and some have begun."""
    copied(run_dir, folder)
    (folder / "run.json").write_text(json.dumps({**record_of(run_dir), "results": None}), encoding="utf-8")
    for k in range(done, 3):
        (folder / f"fold-{k:02d}" / "model.safetensors").unlink()
        log = folder / f"fold-{k:02d}" / "log.jsonl"
        if k < done + begun:
            log.write_text("".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
        else:
            log.unlink()
    return folder


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
        line = f"{k}{right} of {tested}{fold['accuracy']:.3f}{fold['loss']:.3f}4{fold['seconds']:.1f}"
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


def test_wrong_graphs_come_first_and_of_either_kind_the_surest(run_dir: Path) -> None:
    page = Page(make_report(run_dir, dataset=DATA, graphs=24))
    badges, verdicts = page.texts("span", "badge"), page.texts("p", "verdict")
    matrix = np.array(record_of(run_dir)["results"]["summary"]["confusion_matrix"])
    wrong = int(matrix.sum() - matrix.trace())
    assert 0 < wrong < 24
    assert badges == ["wrong"] * wrong + ["right"] * (24 - wrong)
    certain = [float(verdict.split("probability ")[1].split(";")[0]) for verdict in verdicts]
    assert certain[:wrong] == sorted(certain[:wrong], reverse=True)
    assert certain[wrong:] == sorted(certain[wrong:], reverse=True)
    numbers = [int(title.split()[1]) for title in page.texts("h3")]
    assert sorted(numbers) == list(range(24))
    splits = record_of(run_dir)["splits"]
    folds = [int(verdict.rpartition("fold ")[2]) for verdict in verdicts]
    assert all(number in splits[fold]["test"] for number, fold in zip(numbers, folds, strict=True))
    few = Page(make_report(run_dir, dataset=DATA, graphs=4)).texts("span", "badge")
    assert few == ["wrong"] * min(wrong, 3) + ["right"] * (4 - min(wrong, 3))


def test_the_numbers_of_a_graph_are_those_of_its_model(run_dir: Path, html: str) -> None:
    page, data = Page(html), data_of(html)
    assert data["columns"] == 4
    for title, verdict, shown in zip(page.texts("h3"), page.texts("p", "verdict"), data["graphs"], strict=True):
        model = PiNet.load(run_dir / f"fold-{int(verdict.rpartition('fold ')[2]):02d}" / "model.safetensors")
        graph = DATA[int(title.split()[1])]
        found = model.attention(graph)
        classes = [model.classes.index(name) for name in shown["classes"]]
        assert shown["classes"][0] == model.predict([graph])[0]
        for i, row in enumerate(shown["place"]):
            assert shown["weights"][row][1:] == [float(f"{w:.4g}") for w in found.weights[i]]
            for s, c in enumerate(classes):
                assert [share[s] for share in shown["shares"][row][1:]] == [
                    float(f"{x:.4g}") for x in found.shares[i, :, c]
                ]
        assert shown["scores"] == [float(f"{found.logits[c]:.4g}") for c in classes]
        for j in range(4):
            totals = [float(f"{math.fsum(found.shares[:, j, c]):.4g}") for c in classes]
            assert shown["totals"][j + 1] == totals
        assert shown["totals"][0] == shown["scores"], "there is no bias"
        assert shown["numberings"][0] == list(range(graph.N))
        assert len(shown["numberings"]) == len(shown["bits"]) == 6
        for numbering, bits in zip(shown["numberings"], shown["bits"], strict=True):
            exact = model.logits([permute_nodes(graph, numbering)], bitwise=True)[0]
            assert [struct.unpack(">d", bytes.fromhex(hexadecimal))[0] for _, hexadecimal in bits[:2]] == [
                exact[c] for c in classes
            ]
            assert [float(digits) for digits, _ in bits[:2]] == [exact[c] for c in classes]
            ordinary = [np.float32(digits) for digits, _ in bits[2:]]
            assert [struct.unpack(">f", bytes.fromhex(hexadecimal))[0] for _, hexadecimal in bits[2:]] == ordinary
            assert ordinary == pytest.approx([exact[c] for c in classes], rel=1e-4, abs=1e-4)
        assert set(shown["predictions"]) == {shown["classes"][0]}


def test_exact_scores_keep_their_bits_and_ordinary_ones_do_not() -> None:
    from minipinet.report.gallery import scores_in_numberings

    mutag = load_dataset("MUTAG")
    model = train_pinet(mutag, Settings(epochs=3, hidden=32, out=16)).model
    changed = 0
    for g in range(10):
        scores = scores_in_numberings(model, mutag[g], g)
        assert len({row.tobytes() for row in scores.exact}) == 1
        assert (np.sort(scores.numberings) == np.arange(mutag[g].N)).all()
        assert len({row.tobytes() for row in scores.numberings}) == 6
        changed += len({row.tobytes() for row in scores.ordinary}) > 1
    assert changed >= 5


def test_what_comes_from_data_is_escaped(tmp_path: Path) -> None:
    data = evil_data()
    html = make_report(cross_validated(tmp_path / "evil", data), dataset=data)
    page = Page(html)  # which refuses elements that are not closed in order
    names = [name for name, _, _ in page.elements]
    assert not {"b", "i"} & set(names)
    assert names.count("script") == 2
    assert f"PiNet on {EVIL}: 3-fold cross-validation" in page.texts("h1")
    assert any(EVIL in verdict for verdict in page.texts("p", "verdict"))
    shown = data_of(html)["graphs"]
    assert {name for graph in shown for name in graph["classes"]} == {EVIL, "<i>plain</i>"}
    assert {label for graph in shown for label in graph["labels"]} == {EVIL, "C"}
    for _, attributes, _ in page.elements:
        assert not [name for name in attributes if name.startswith("on")]


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


@pytest.mark.parametrize(("done", "begun"), [(1, 1), (0, 1), (0, 0), (2, 0)])
def test_of_a_run_that_is_not_finished_is_shown_what_is_there(
    run_dir: Path, tmp_path: Path, done: int, begun: int
) -> None:
    folder = unfinished(run_dir, tmp_path / "half", done=done, begun=begun)
    html = make_report(folder, dataset=DATA)
    page = Page(html)
    assert f"{done} of 3 folds are done, {begun} more have begun." in html
    whole = record_of(run_dir)["results"]["folds"]
    rows = page.texts("tr")
    for k in range(3):
        (row,) = [row for row in rows if row.startswith((f"{k}-", f"{k}{round(whole[k]['accuracy'] * 8)} of"))]
        if k < done:
            assert f"{whole[k]['accuracy']:.3f}{whole[k]['loss']:.3f}4" in row
        else:
            assert ("2 of 4, unfinished" if k < done + begun else "not begun") in row
    assert len(page.texts("article")) == 8 * done
    if done:
        accuracy = np.mean([fold["accuracy"] for fold in whole[:done]])
        assert page.tiles()["Accuracy"].startswith(f"{accuracy:.3f}")
        assert ("±" in page.tiles()["Accuracy"]) == (done > 1)
    else:
        assert "no training is finished" in html
    assert ("No epoch is done yet." in html) == (done + begun == 0)
    assert ("<figure>" in html) == (done + begun > 0)


def test_a_finished_run_says_nothing_of_being_unfinished(html: str) -> None:
    assert "not finished" not in html


def test_without_the_data_all_but_the_graphs_is_there(run_dir: Path, html: str) -> None:
    page = Page(make_report(run_dir))
    assert page.tiles() == Page(html).tiles()
    assert page.texts("article") == []
    assert "the data of the run were not at hand" in " ".join(page.texts("p"))


def test_other_data_are_refused(run_dir: Path) -> None:
    with pytest.raises(DataError, match=r"two kinds: is not what the run in .* is of: its digest begins with"):
        make_report(run_dir, dataset=DATA[:23])


@pytest.mark.parametrize("graphs", [-1, 1.5, True, "3"])
def test_a_number_of_graphs_that_is_none_is_refused(run_dir: Path, graphs: Any) -> None:
    with pytest.raises(UsageError, match="graphs: expected a whole number of at least 0"):
        make_report(run_dir, dataset=DATA, graphs=graphs)


def test_none_are_drawn_if_none_are_asked_for(run_dir: Path) -> None:
    assert "none were asked for" in make_report(run_dir, dataset=DATA, graphs=0)


def test_fixed_p_and_q_have_a_table_and_no_paths(tmp_path: Path) -> None:
    html = make_report(cross_validated(tmp_path, settings=replace(SMALL, pq=(1, 0), bias=True)), dataset=DATA)
    page = Page(html)
    assert "They were fixed in this run" in html
    assert "A01.0000.000" in page.texts("tr")
    assert any(any(graph["bias"]) for graph in data_of(html)["graphs"])
    assert html.count("<figure>") == 1


def test_large_graphs_and_those_without_nodes_are_left_out(tmp_path: Path) -> None:
    path = [as_graph(np.eye(n, k=1) + np.eye(n, k=-1)) for n in (3, MOST_NODES, MOST_NODES + 1, 4)]
    data = dataset_from_graphs(path * 3, ["a", "b", "a", "b"] * 3, name="paths")
    html = make_report(cross_validated(tmp_path / "large", data), dataset=data)
    assert sorted(int(title.split()[1]) % 4 for title in Page(html).texts("h3")) == [0] * 3 + [1] * 3 + [3] * 3
    assert "9 of 12 graphs" in html
    assert f"3 graphs of more than {MOST_NODES} nodes are left out" in html


def test_of_several_classes_the_rival_is_the_true_one_or_the_next_best(tmp_path: Path) -> None:
    data = dataset_from_graphs(list(DATA), np.array(["a", "b", "c"])[np.arange(24) % 3], name="three")
    html = make_report(cross_validated(tmp_path, data), dataset=data)
    page = Page(html)
    numbers = [int(title.split()[1]) for title in page.texts("h3")]
    assert len(numbers) == 24
    for graph, number, badge in zip(data_of(html)["graphs"], numbers, page.texts("span", "badge"), strict=True):
        predicted, rival = graph["classes"]
        truth = data.labels[number]
        assert predicted != rival
        assert truth == (predicted if badge == "right" else rival)


def test_the_file_is_written_whole(run_dir: Path, tmp_path: Path, html: str) -> None:
    assert write_report(run_dir, tmp_path / "a.html", dataset=DATA, graphs=8) == tmp_path / "a.html"
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == html
    mine = copied(run_dir, tmp_path / "run")
    assert write_report(mine, dataset=DATA, graphs=8) == mine / "report.html"
    assert [path.name for path in mine.iterdir() if "partial" in path.name] == []


def test_without_matplotlib_the_extra_is_named(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'minipinet\[figures\]'"):
        make_report(run_dir, dataset=DATA)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda record: record.pop("settings"), "run.json: is not the whole record of a run"),
        (lambda record: record["results"].update(folds=[]), "run.json: is not the whole record of a run"),
        (lambda record: record["results"]["folds"][0].update(epoch=9), "the weights are of epoch 9, but the log has 4"),
        (lambda record: record.update(format="other"), "expected format"),
    ],
)
def test_a_record_that_is_not_whole_is_refused(run_dir: Path, tmp_path: Path, change: Any, reason: str) -> None:
    record = record_of(run_dir)
    change(record)
    folder = copied(run_dir, tmp_path / "run")
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(DataError, match=reason):
        make_report(folder, dataset=DATA)


def test_a_log_that_is_none_is_refused(run_dir: Path, tmp_path: Path) -> None:
    folder = copied(run_dir, tmp_path / "run")
    (folder / "fold-01" / "log.jsonl").write_text('{"epoch": 1}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"fold-01.log\.jsonl: expected a record of an epoch in each line"):
        make_report(folder, dataset=DATA)


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
