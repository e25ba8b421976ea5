"""What the report of a card's benchmark says, with all that may not have been measured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu_scripts import FACTS, module, scripts

__all__ = ["scripts"]  # a fixture


def report(**captured: float) -> dict[str, Any]:
    """Return a report of data sets whose captured epoch takes so many seconds."""
    return {
        **FACTS, "processor": "Some CPU", "cpu_passes": "Numba", "commit": "1234567", "date": "2026-11-28",
        "folds": 10, "rounds": 2,
        "copy_bytes_per_second": 2e12,
        "cross_validation": {"folds": 10, "epochs": 200, "seconds": 4.5, "not_captured": None, "failed": None},
        "skipped": {"PROTEINS": "there is no --data-dir"}, "failed": [],
        "datasets": {
            name: {
                "batches": 4, "bytes": {"captured": 10**8, "folds": 10**9},
                "seconds": {
                    "cpu": [10 * own] * 2, "captured": [own] * 2, "folds": [5 * own] * 2, "pyg": [19 * own, 23 * own],
                },
            }
            for name, own in captured.items()
        },
    }  # fmt: skip


def test_the_report_says_what_was_aimed_at_and_found() -> None:
    text = module("report").markdown(report(MUTAG=8e-4, NCI1=0.0125))
    head, _, mutag, nci1, _, aims, _, *found = text.splitlines()
    assert head == (
        "| ms an epoch (a step) | CPU, one core, Numba | captured | 10 folds at once, each | PyTorch + PyG "
        "| PyG by captured | of the bandwidth |"
    )
    # A step is 0.2 ms: 1e8 bytes in it are 5e11 a second, a quarter of 2e12. PyG: 19 and 23 times as long.
    assert mutag == "| MUTAG | 8 (2) | 0.8 (0.2) | 0.4 (0.1) | 16.8 (4.2) | 21.0× | 25.0 % |"
    assert nci1.startswith("| NCI1 | 125 (31) | 12.5 (3.1) | 6.25 (1.6) | ")
    assert aims == "| aim | | found | met |"
    assert found[:5] == [
        "| an epoch of NCI1, captured | at most 12 ms | 12.5 ms | no |",
        "| an epoch of MUTAG, captured | at most 1 ms | 0.8 ms | yes |",
        "| PyG's epoch of MUTAG by a captured one | at least 20 times | 21 times | yes |",
        "| PyG's epoch of NCI1 by a captured one | at least 20 times | 21 times | yes |",
        "| 10 folds of MUTAG, 200 epochs | at most 5 s | 4.5 s | yes |",
    ]
    assert found[6] == "Not timed: PROTEINS: there is no --data-dir."
    assert found[7].startswith(
        "no card at all, 2000 GB/s copied, driver 0.0; Some CPU; CUDA 0.0; minipinet at 1234567,"
    )


@pytest.mark.parametrize(
    ("found", "least", "met"),
    [
        (20, True, "yes"),
        (19.9, True, "no"),
        (20, False, "yes"),
        (20.1, False, "no"),
        (None, True, "not measured"),
        (19.96, True, "yes"),
        (20.04, False, "yes"),  # shown as 20
    ],
)
def test_an_aim_is_met_if_the_shown_number_reaches_the_goal(found: float | None, least: bool, met: str) -> None:
    assert module("report").Target("aim", 20, found, "times", least).met == met


def test_what_was_not_measured_is_not_met() -> None:
    one = report(MUTAG=8e-4)
    del one["datasets"]["MUTAG"]["seconds"]["pyg"]
    met = {target.what: target.met for target in module("report").targets(one)}
    assert met["an epoch of NCI1, captured"] == "not measured"
    assert met["PyG's epoch of MUTAG by a captured one"] == "not measured"
    one["datasets"]["MUTAG"]["seconds"]["pyg"] = [19 * 8e-4, 20 * 8e-4]
    assert {target.what: target.met for target in module("report").targets(one)} == met | {
        "PyG's epoch of MUTAG by a captured one": "no"
    }


def test_a_step_of_all_folds_has_all_their_bytes() -> None:
    shares = [module("report").bandwidth_share(report(MUTAG=8e-4), "MUTAG", side) for side in ("captured", "folds")]
    # Ten times the bytes in five times the time.
    assert shares == pytest.approx([0.25, 0.5])


@pytest.mark.parametrize(
    ("side", "seconds", "row"),
    [
        ("captured", [0.0, 0.0], "| MUTAG | 8 (2) | – | 0.4 (0.1) | 16.8 (4.2) | – | – |"),
        ("captured", [], "| MUTAG | 8 (2) | – | 0.4 (0.1) | 16.8 (4.2) | – | – |"),
        ("captured", None, "| MUTAG | 8 (2) | 0.4 (0.1) | 16.8 (4.2) | – | – |"),
        ("pyg", [], "| MUTAG | 8 (2) | 0.8 (0.2) | 0.4 (0.1) | – | – | 25.0 % |"),
        ("pyg", [0.0], "| MUTAG | 8 (2) | 0.8 (0.2) | 0.4 (0.1) | – | – | 25.0 % |"),
        ("folds", [0.0, 0.0], "| MUTAG | 8 (2) | 0.8 (0.2) | – | 16.8 (4.2) | 21.0× | 25.0 % |"),
    ],
)
def test_what_has_no_time_is_a_dash(side: str, seconds: list[float] | None, row: str) -> None:
    one = report(MUTAG=8e-4)
    if seconds is None:
        del one["datasets"]["MUTAG"]["seconds"][side]
    else:
        one["datasets"]["MUTAG"]["seconds"][side] = seconds
    assert module("report").markdown(one).splitlines()[2] == row


def test_nothing_to_divide_by_is_a_dash() -> None:
    one = report(MUTAG=8e-4)
    one["datasets"]["MUTAG"]["batches"] = 0
    one["cross_validation"]["seconds"] = 0.0
    lines = module("report").markdown(one).splitlines()
    assert lines[2] == "| MUTAG | 8 (–) | 0.8 (–) | 0.4 (–) | 16.8 (–) | 21.0× | – |"
    assert "| 10 folds of MUTAG, 200 epochs | at most 5 s | – | not measured |" in lines
    one = report(MUTAG=8e-4)
    one["copy_bytes_per_second"] = 0.0
    assert module("report").markdown(one).splitlines()[2].endswith("| 21.0× | – |")
    assert module("report").bandwidth_share(one, "NCI1") is None
    one["datasets"] = {}
    assert module("report").markdown(one).startswith("| ms an epoch (a step) |")


def test_a_step_that_was_not_captured_is_no_captured_step() -> None:
    one = report(MUTAG=8e-4)
    reason = "a training step could not be captured, and is launched kernel by kernel (no)"
    del one["datasets"]["MUTAG"]["seconds"]["captured"]
    one["skipped"] = {"captured on MUTAG": reason}
    one["cross_validation"]["not_captured"] = reason
    lines = module("report").markdown(one).splitlines()
    assert lines[2] == "| MUTAG | 8 (2) | not captured | 0.4 (0.1) | 16.8 (4.2) | – | – |"
    assert "| an epoch of MUTAG, captured | at most 1 ms | not captured | no |" in lines
    assert "| PyG's epoch of MUTAG by a captured one | at least 20 times | not captured | no |" in lines
    assert "| an epoch of NCI1, captured | at most 12 ms | – | not measured |" in lines
    assert f"Not timed: captured on MUTAG: {reason}." in lines
    assert "| 10 folds of MUTAG, 200 epochs | at most 5 s | not captured | no |" in lines
    assert f"The folds of MUTAG: {reason}." in lines


def test_what_is_not_what_the_cpu_computes_has_no_time() -> None:
    one = report(MUTAG=8e-4)
    del one["datasets"]["MUTAG"]["seconds"]["captured"]
    one["skipped"] = {"captured on MUTAG": "captured: expected minipinet's loss 0.7, got 0.8"}
    one["failed"] = ["captured on MUTAG", "the folds of MUTAG"]
    one["cross_validation"] |= {"seconds": None, "failed": "fold 3: the loss is nan in epoch 2"}
    lines = module("report").markdown(one).splitlines()
    assert lines[2] == "| MUTAG | 8 (2) | wrong loss | 0.4 (0.1) | 16.8 (4.2) | – | – |"
    assert "| an epoch of MUTAG, captured | at most 1 ms | wrong loss | no |" in lines
    assert "| PyG's epoch of MUTAG by a captured one | at least 20 times | wrong loss | no |" in lines
    assert "| 10 folds of MUTAG, 200 epochs | at most 5 s | failed | no |" in lines
    assert "The folds of MUTAG: fold 3: the loss is nan in epoch 2." in lines
    assert "Not timed: captured on MUTAG: captured: expected minipinet's loss 0.7, got 0.8." in lines
