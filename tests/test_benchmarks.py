"""The benchmark scripts run, at their smallest, and write the table they print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_forms_are_timed_side_by_side(tmp_path: Path) -> None:
    table = tmp_path / "forms.md"
    words = ["--datasets", "MUTAG", "isomorphism", "--rounds", "1", "--least", "0", "--markdown", str(table)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "bench_forms.py"), *words],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == table.read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert [row[0].strip() for row in rows] == ["MUTAG", "isomorphism"]
    for row in rows:
        quotient, plain = (float(cell.split()[0]) for cell in row[4:6])
        assert quotient > 0
        assert plain > 0
        assert float(row[6]) > 0


def test_exact_sums_are_counted_and_timed_beside_ordinary_ones(tmp_path: Path) -> None:
    words = ["--datasets", "MUTAG", "--models", "2", "--graphs", "30", "--rounds", "1"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "bench_bitwise.py"), *words],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
    )  # fmt: skip
    *_, row, total = ([cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines())
    assert row[:3] == ["MUTAG", "28", "60"]
    assert int(row[3]) > 30
    assert int(row[4]) == 0
    assert float(row[5]) < 1e-5
    assert total[:5] == ["all", "", "60", row[3], "0"]
