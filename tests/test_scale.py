"""The script that measures growth: what it makes, that it goes on from its rows, and table and plot."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.datasets import load_dataset
from minipinet.quotient import refine

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("scale")


@pytest.mark.filterwarnings("ignore::minipinet.errors.Notice")  # loops and repeated edges: what is random is so
def test_a_point_is_the_set_that_it_says(script: Any, tmp_path: Path) -> None:
    point = script.Point("nodes", graphs=40, nodes=25, edges=50, features=8, batch=32)
    script.write_set(point, tmp_path / "SET.zip", np.random.default_rng(0))
    data = load_dataset(tmp_path / "SET.zip")
    assert (len(data), len(data.graphs.X), data.num_features, data.num_classes) == (40, 1000, 8, 2)
    assert (np.diff(data.graphs.ptr) == 25).all()
    assert 0.9 * 40 * 100 < data.graphs.A.nnz <= 40 * 100  # a few edges came twice, or from a node to itself
    # Hardly two nodes are alike.
    assert len(refine(data.graphs).levels[1].own) > 0.95 * 1000


def test_every_series_grows_and_stays_within_its_bounds(script: Any) -> None:
    for series in script.AXES:
        sizes = [script.size(point) for point in script.points(series, 1e7)]
        assert len(sizes) >= 4
        assert sizes == sorted(set(sizes))
        assert len(script.points(series, 1e5)) < len(sizes) or series in ("features", "graphs", "edges")
    assert max(map(script.size, script.points("nodes", 1e7))) == 10_000_000
    assert script.points("graph", 1e7)[-1][2:4] == (1_000_000, 4_000_000)


def test_it_measures_goes_on_and_shows(script: Any, tmp_path: Path) -> None:
    def run(*words: str) -> list[str]:
        command = [sys.executable, str(ROOT / "scripts" / "scale.py"), *words]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=tmp_path)
        return done.stdout.splitlines()

    rows = tmp_path / "scale.csv"
    words = ["--series", "nodes", "graph", "--output", str(rows)]
    assert len(run(*words, "--most", "5000")) == 1
    assert len(run(*words, "--most", "15000")) == 2  # without the point that was there
    first, second, third = script.read_rows(rows)
    assert [row.nodes for row in (first, second, third)] == [1000, 25, 3000]
    for row in (first, second, third):
        assert min(row.load, row.refine, row.step, row.load_mb) > 0
        assert row.load_mb <= row.refine_mb <= row.step_mb
    before = rows.read_bytes()
    assert run("--show", str(rows)) == []
    assert rows.read_bytes() == before
    assert (tmp_path / "scale.svg").read_text(encoding="utf-8").startswith("<?xml")
    table = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert "| 1,000 |" in table
    assert "| 10,000 |" in table
