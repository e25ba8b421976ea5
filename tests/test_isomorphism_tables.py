"""Tables of the isomorphism test: accuracy by size and by steps, and which rows belong to which."""

from __future__ import annotations

import math

import pytest

from minipinet.experiments import isomorphism
from minipinet.experiments.isomorphism import STEPS
from minipinet.experiments.records import Row
from minipinet.results.isomorphism_tables import CONSTANT
from minipinet.results.published import ISOMORPHISM_FAULTS
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
    assert table.notes[0] == f"unfinished: 13 of {6 * 11 * 10} cells are there"


def of_features(kind: str, rows: list[Row]) -> list[Row]:
    return [row._replace(cell=row.cell._replace(features=kind)) for row in rows]


def test_published_numbers_and_faults_stand_beside_random_labels_alone() -> None:
    table = by_name(of_features("random", trials([0.5])))["sizes"]
    assert line(table, "20", "published") == {
        "pinet": None, "pinet-p1q0": 0.75, "gcn-sum": 0.31, "gcn-dense": 0.5, "wl": 0.18, "patchy-san": 0.31,
    }  # fmt: skip
    assert [found.labels[0] for found in table.lines if found.labels[1] == "published"] == [
        str(size) for size in range(2, 21, 2)
    ]
    faults = [f"{system}, {text}" for system, text in ISOMORPHISM_FAULTS.items()]
    assert [note for note in table.notes if "published" in note] == faults
    assert any(note.startswith("wl, published: every node has one and the same label") for note in faults)
    assert any(note.startswith("pinet-p1q0, published: attention normalised over the batch") for note in faults)
    others = (
        of_features("balanced", trials([0.5])),
        trials([0.5]),
        of_features("random", trials([0.5], hidden=3)),  # no model of the paper
    )
    for rows in others:
        sizes = by_name(rows)["sizes"]
        assert "published" not in " ".join([*sizes.notes, *(found.labels[1] for found in sizes.lines)])


def test_constant_features_are_not_alike_for_all_and_the_tables_say_so() -> None:
    rows = trials([0.5, 0.75]) + trials([0.5], epochs=500) + trials([0.25, 0.5], "wl")
    tables = by_name(rows)
    for name in ("sizes", "steps", "tests"):
        assert CONSTANT in tables[name].notes
        assert CONSTANT not in by_name(of_features("random", rows))[name].notes


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
    assert "steps" not in by_name(of_features("random", trials([0.5])))


def test_steps_are_counted_in_batches() -> None:
    rows = [made._replace(settings={**made.settings, "batch_size": 2}) for made in trials([0.5], epochs=20)]
    steps = by_name([*rows, *trials([0.25], epochs=20)])["steps"]
    assert line(steps, "60")["pinet, was batch_size=2"].mean == 0.5
    assert line(steps, "20")["pinet"].mean == 0.25
