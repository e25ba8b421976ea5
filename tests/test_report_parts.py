"""A report on half a run, or without the data, is of what is there; what is no run is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.errors import DataError, UsageError
from minipinet.report import make_report
from tests.small_reports import (
    DATA,
    Page,
    copied,
    record_of,
    unfinished,
)

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")


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
        (row,) = [row for row in rows if row.startswith((f"{k}-", f"{k}{round(whole[k]['accuracy'] * 8)}/8"))]
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
