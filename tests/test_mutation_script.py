"""scripts/mutation.py: its parts, its committed results and, with the extra `mutation`, a run on two functions."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = "<!-- setting -->\nold\n<!-- end of setting -->\n<!-- table -->\n<!-- end of table -->\nText\n"
PAGE += "<!-- survivors -->\n<!-- end of survivors -->\nEnd\n"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("mutation")


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("mutation_report")


@pytest.fixture
def rows(report: Any) -> list[Any]:
    """Return four mutants of two modules, one of each status but one."""
    statuses = [report.KILLED, report.SURVIVED, report.TIMEOUT, report.SURVIVED]
    changes = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "")]
    return [
        report.Mutant(f"m{k // 2}", "f", str(k), *change, status, 1.0)
        for k, (change, status) in enumerate(zip(changes, statuses, strict=True))
    ]


def test_a_change_is_told_by_its_lines(report: Any) -> None:
    original = "def x_f__mutmut_orig(a):\n    b = a\n    return a + b\n"
    assert report.changed_lines(original, original.replace("+", "-").replace("_orig", "_1")) == (
        "return a + b",
        "return a - b",
    )
    assert report.changed_lines("def x_f__mutmut_orig():\n  a\n  b\n", "def x_f__mutmut_2():\n  b\n") == ("a", "")


def test_scores_count_what_is_noticed_and_leave_out_what_is_equivalent(report: Any, rows: list[Any]) -> None:
    reasons = {"m0.f: c -> d": "The same."}
    assert report.score(rows, {}) == 2 / 4
    assert report.score(rows, reasons) == 2 / 3
    assert report.table(rows, reasons)[2:] == [
        "| m0 | 2 | 1 | 0 | 1 | 1 | 100.0% | 50.0% |",
        "| m1 | 2 | 0 | 1 | 1 | 0 | 50.0% | 50.0% |",
        "| all | 4 | 1 | 1 | 2 | 1 | 66.7% | 50.0% |",
    ]
    text = "\n".join(report.survivors(rows, reasons))
    assert "The same.\n\n- `m0.f` 1: `` c `` became `` d ``" in text
    assert "No reason known: a test is missing.\n\n- `m1.f` 3: `` g `` became `` (nothing) ``" in text


def test_results_are_written_whole_into_their_places(report: Any, rows: list[Any], tmp_path: Path) -> None:
    (tmp_path / "mutation.md").write_text(PAGE, encoding="utf-8")
    for _ in range(2):  # the second time over what the first has written
        report.export(rows, {"m0.f: c -> d": "The same."}, tmp_path, "under test")
        text = (tmp_path / "mutation.md").read_text(encoding="utf-8")
        assert "old" not in text
        assert text.count("| all | 4 |") == text.count("The same.") == text.count("under test") == 1
        assert text.endswith("<!-- end of survivors -->\nEnd\n")
    with (tmp_path / "mutation.csv").open(encoding="utf-8", newline="") as file:
        assert [tuple(row) for row in csv.reader(file)] == [report.Mutant._fields, *(tuple(map(str, m)) for m in rows)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mutation.csv", "mutation.md"]


def test_an_unknown_module_and_a_missing_tool_are_named(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        script.main(["pooling"])
    assert "MODULE: expected names of propagation, " in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="2"):
        script.main(["pool"])
    assert "the extra `mutation`" in capsys.readouterr().err


def test_every_survivor_of_the_committed_run_has_its_reason_and_every_reason_its_survivor(
    script: Any, report: Any
) -> None:
    with (ROOT / "docs" / "results" / "mutation.csv").open(encoding="utf-8", newline="") as file:
        rows = [report.Mutant(**row)._replace(seconds=float(row["seconds"])) for row in csv.DictReader(file)]
    reasons = report.read_reasons(script.REASONS)
    survived = {m.key for m in rows if m.status == report.SURVIVED}
    assert survived == set(reasons)
    assert {m.module for m in rows} == set(script.MODULES)
    assert report.score(rows, reasons) >= script.LEAST_SCORE
    page = (ROOT / "docs" / "results" / "mutation.md").read_text(encoding="utf-8")
    assert "\n".join(report.table(rows, reasons)) in page
    assert "\n".join(report.survivors(rows, reasons)).strip() in page


@pytest.mark.slow
def test_a_run_tells_a_tested_function_from_one_that_is_not(
    script: Any, report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mutmut", reason='mutmut is not installed: pip install -e ".[mutation]"')
    files = {
        "minipinet/__init__.py": "",
        "minipinet/small.py": "def twice(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n",
        "tests/test_small.py": "from minipinet.small import half, twice\n\n\n"
        "def test_twice():\n    assert twice(3) == 6\n    assert half(0) == 0\n",
        "pyproject.toml": (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
        "docs/results/mutation.md": PAGE,
        "scripts/mutation_reasons.toml": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    places: dict[str, Any] = {"ROOT": tmp_path, "WORK": tmp_path / "build", "RESULTS": tmp_path / "docs" / "results"}
    places |= {"REASONS": tmp_path / "scripts" / "mutation_reasons.toml", "MODULES": ("small",), "TESTS": ("test_s*",)}
    for name, value in places.items():
        monkeypatch.setattr(script, name, value)
    home = Path.cwd()
    assert script.main([]) == 1
    assert Path.cwd() == home
    mutants = report.read_mutants(tmp_path / "build", script.MODULES)
    assert {m.status for m in mutants if m.function == "twice"} == {report.KILLED}
    survivors = [m for m in mutants if m.status == report.SURVIVED]
    assert "small.half: return x / 2 -> return x / 3" in {m.key for m in survivors}

    # With a test for the other function and a reason for nothing, all are killed; the run goes on from the last one.
    test = tmp_path / "tests" / "test_small.py"
    test.write_text(test.read_text(encoding="utf-8") + "    assert half(6) == 3\n", encoding="utf-8")
    assert script.main(["--again"]) == 0
    assert "| all | " in (tmp_path / "docs" / "results" / "mutation.md").read_text(encoding="utf-8")
    assert (tmp_path / "minipinet" / "small.py").read_text(encoding="utf-8") == files["minipinet/small.py"]
