"""Tables of the isomorphism test: accuracy by size and by steps, and which rows belong to which."""

from __future__ import annotations

import math

import pytest

from minipinet.experiments import isomorphism
from minipinet.experiments.isomorphism import STEPS
from minipinet.results.table import Estimate
from tests.table_rows import by_name, line, trials


def test_isomorphism_by_size() -> None:
    rows = trials([0.25, 0.75]) + trials([1.0] * 10, size=2) + trials([0.2], "wl", size=2)
    table = by_name(rows)["sizes"]
    assert [column.title for column in table.columns] == list(isomorphism.MODELS)
    assert line(table, "1", "ours")["pinet"] == pytest.approx(Estimate(0.5, math.sqrt(1 / 8), 2, 10))
    assert line(table, "2", "ours")["pinet"] == Estimate(1.0, 0.0, 10, 10)
    assert line(table, "2", "ours")["wl"] == Estimate(0.2, None, 1, 10)
    assert line(table, "20", "ours") == dict.fromkeys(isomorphism.MODELS)
    assert line(table, "20", "published")["gcn-dense"] == 0.5
    assert ("1", "published") not in [found.labels for found in table.lines]
    assert table.notes[0] == f"unfinished: 13 of {6 * 11 * 10} cells are there"


def test_isomorphism_by_steps_has_other_epochs_only_there() -> None:
    rows = trials([0.25]) + trials([0.5], epochs=500) + trials([0.75], size=2) + trials([1.0], size=2, epochs=500)
    tables = by_name(rows)
    assert [found.labels[0] for found in tables["steps"].lines] == [str(n) for n in sorted({*STEPS, 200})]
    assert line(tables["steps"], "200")["pinet"].mean == 0.25
    assert line(tables["steps"], "500")["pinet"].mean == 0.5
    assert line(tables["steps"], "4000")["pinet"] is None
    assert line(tables["sizes"], "1", "ours")["pinet"] == Estimate(0.25, None, 1, 10)
    found = line(tables["sizes"], "2", "ours")
    assert (found["pinet"].mean, found["pinet batch_size=5, epochs=500"].mean) == (0.75, 1.0)
    assert line(tables["seconds"], "pinet") == {"cells": 3, "seconds a cell": 1.5, "seconds": 4.5}


def test_steps_are_shown_where_they_are_planned_or_there() -> None:
    assert "steps" in by_name(trials([0.5])), "constant features: planned"
    random = [made._replace(cell=made.cell._replace(features="random")) for made in trials([0.5])]
    assert "steps" not in by_name(random)


def test_steps_are_counted_in_batches() -> None:
    rows = [made._replace(settings={**made.settings, "batch_size": 2}) for made in trials([0.5], epochs=20)]
    steps = by_name([*rows, *trials([0.25], epochs=20)])["steps"]
    assert line(steps, "60")["pinet, was batch_size=2"].mean == 0.5
    assert line(steps, "20")["pinet"].mean == 0.25
