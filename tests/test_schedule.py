"""Running cells: kept as they come, gone on with after any kill, and the same wherever they run."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._processes import ProcessLostError, run_tasks
from minipinet.errors import DivergedError, MinipinetError, Notice, UsageError
from minipinet.experiments import schedule
from minipinet.experiments.cells import run_cell
from minipinet.experiments.records import Cell, Row, to_variant, without_timings
from minipinet.experiments.schedule import Failure, run_cells
from minipinet.experiments.store import insert, open_store, rows
from tests.small_data import ROOT, command, environment

SMALL = to_variant(epochs=1, hidden=4, out=2)
CELLS = [Cell("comparison", "paper", "pinet", "MUTAG", SMALL, fold=fold) for fold in range(6)]


def content(path: Path) -> list[Row]:
    with open_store(path, read_only=True) as store:
        return [without_timings(row) for row in rows(store)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("undisturbed") / "s"
    run_cells(CELLS, path)
    return content(path)


def test_each_cell_is_run_once_and_kept_at_once(tmp_path: Path, undisturbed: list[Row]) -> None:
    path, seen = tmp_path / "s", []

    def on_cell(done: int, result: Row | Failure) -> None:
        assert isinstance(result, Row)
        seen.append((done, len(content(path)), result.cell))

    assert run_cells([*CELLS, CELLS[0]], path, on_cell=on_cell) == (0, 6, 0, [])
    assert seen == [(n + 1, n + 1, cell) for n, cell in enumerate(CELLS)]
    assert run_cells(CELLS, path, on_cell=on_cell) == (6, 0, 0, [])
    assert len(seen) == 6
    assert content(path) == undisturbed
    assert [row.cell for row in undisturbed] == CELLS


def test_processes_give_the_same_store(tmp_path: Path, undisturbed: list[Row]) -> None:
    run_cells(CELLS, tmp_path / "s", jobs=2)
    assert content(tmp_path / "s") == undisturbed


def test_a_row_of_the_same_work_is_copied_from_another_experiment(
    tmp_path: Path, undisturbed: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s"
    run_cells(CELLS[:2], path)
    monkeypatch.delattr(schedule, "run_cell")
    twins = [cell._replace(experiment="message-passing") for cell in CELLS[:2]]
    assert run_cells(twins, path) == (2, 0, 0, [])
    assert content(path) == [
        *undisturbed[:2],
        *(row._replace(cell=row.cell._replace(experiment="message-passing")) for row in undisturbed[:2]),
    ]


def test_a_copy_that_does_not_fit_is_refused_before_any_is_made(tmp_path: Path) -> None:
    path = tmp_path / "s"
    run_cells(CELLS[:2], path)
    with open_store(path) as store:
        store.execute("UPDATE results SET digest = 'abc' WHERE fold = 1")
    before = content(path)
    twins = [cell._replace(experiment="message-passing") for cell in CELLS[:3]]
    with pytest.raises(UsageError, match=r"/s: comparison/paper/pinet.*/fold 1 is not what .* other data \(digest abc"):
        run_cells(twins, path)
    assert content(path) == before


def test_rows_that_another_process_adds_meanwhile_are_counted(tmp_path: Path) -> None:
    path, counts = tmp_path / "s", []

    def other(done: int, _: Row | Failure) -> None:
        counts.append(done)
        if done == 1:
            run_cells(CELLS[2:4], path)

    assert run_cells(CELLS, path, on_cell=other) == (0, 4, 2, [])
    assert counts == [1, 2, 3, 4, 5, 6]


def edited(path: Path, **fields: Any) -> None:
    """Write a store whose one row is not what its cell would become."""
    row = run_cell(CELLS[0])
    with open_store(path) as store:
        insert(store, row._replace(**fields))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"settings": {"epochs": 3}}, r"batch_size was None and is now 50"),
        ({"digest": "abc"}, r"other data \(digest abc"),
        ({"seed": 1}, "another seed"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_name(fields: dict[str, Any], text: str, tmp_path: Path) -> None:
    edited(tmp_path / "s", **fields)
    with pytest.raises(
        UsageError, match=rf"/s: comparison/paper/pinet.*/fold 0 is not what would be made now: .*{text}"
    ):
        run_cells(CELLS, tmp_path / "s")
    assert len(content(tmp_path / "s")) == 1


def test_a_row_of_other_versions_is_kept_with_a_notice(tmp_path: Path) -> None:
    edited(tmp_path / "s", versions={"python": "3.9"})
    with pytest.warns(
        Notice, match=r"/s: 1 row of this experiment made with other versions than here \(minipinet, .*python"
    ):
        assert run_cells(CELLS[:2], tmp_path / "s").found == 1


def diverges(cell: Cell, data_dir: str | None = None) -> Row:
    if cell.fold == 1:
        raise DivergedError("training diverged in epoch 1")
    return run_cell(cell, data_dir)


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "run_cell", diverges)
    ran = run_cells(CELLS[:4], tmp_path / "s")
    assert ran == (0, 3, 0, [Failure(CELLS[1], "training diverged in epoch 1")])
    assert [row.cell.fold for row in content(tmp_path / "s")] == [0, 2, 3]


def test_a_wrong_argument_stops_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^epoch: is no setting of pinet"):
        run_cells([CELLS[0], CELLS[1]._replace(variant='{"epoch":1}')], tmp_path / "s")
    assert len(content(tmp_path / "s")) == 1


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path, undisturbed: list[Row]) -> None:
    def stop(done: int, _: Row | Failure) -> None:
        if done == 3:
            raise KeyboardInterrupt

    for jobs in (1, 2):
        path = tmp_path / f"s{jobs}"
        with pytest.raises(KeyboardInterrupt):
            run_cells(CELLS, path, jobs=jobs, on_cell=stop)
        assert len(content(path)) == 3
        assert run_cells(CELLS, path).found == 3
        assert content(path) == undisturbed


def killed_once(function: Callable[..., Any], tasks: list[Any], jobs: int) -> Iterator[Any]:
    """Run tasks in processes, of which one ends itself at the third task the first time it meets it."""
    yield from run_tasks(end_or, [(function, *task) for task in tasks], jobs)


def end_or(function: Callable[..., Any], cell: Cell, data_dir: str | None) -> Any:
    mark = Path(os.environ["MINIPINET_TEST_MARK"])
    if cell.fold == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(cell, data_dir)


def test_a_cell_whose_process_is_killed_is_run_again(
    tmp_path: Path, undisturbed: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIPINET_TEST_MARK", str(tmp_path / "mark"))
    monkeypatch.setattr(schedule, "run_tasks", killed_once)
    assert run_cells(CELLS, tmp_path / "s", jobs=2) == (0, 6, 0, [])
    assert (tmp_path / "mark").exists()
    assert content(tmp_path / "s") == undisturbed


def test_processes_that_are_lost_again_and_again_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def lost(*_: Any) -> Iterator[Any]:
        asked.append(1)
        raise ProcessLostError("jobs: one of the processes was ended from outside")
        yield

    monkeypatch.setattr(schedule, "run_tasks", lost)
    with pytest.raises(MinipinetError, match=r"^jobs: one of the processes was ended"):
        run_cells(CELLS, tmp_path / "s", jobs=2)
    assert len(asked) == 3


DRIVER = """
import sys, time
from minipinet.experiments.schedule import run_cells
from tests.test_schedule import CELLS
if __name__ == "__main__":
    run_cells(CELLS, sys.argv[1], jobs=int(sys.argv[2]), on_cell=lambda *_: time.sleep(0.05))
    time.sleep(60)
"""


def kill_after(path: Path, seconds: float, jobs: int) -> None:
    """Start a driver, and kill it some time after its store is there."""
    with subprocess.Popen(command(DRIVER, path, jobs), cwd=ROOT, env=environment(), stderr=subprocess.PIPE) as process:
        while not path.exists():
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)  # standard error ends when the last process that has it does
        assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_a_driver_killed_at_random_moments_leaves_what_an_undisturbed_one_does(
    kills: int, tmp_path: Path, undisturbed: list[Row]
) -> None:
    path, rng = tmp_path / "s", np.random.default_rng(kills)
    for kill in range(kills):
        # The first dies as it begins, while the store is made; the others wherever they are.
        kill_after(path, rng.uniform(0, 1.5) if kill else 0.0, jobs=1 + kill % 2)
        with open_store(path) as store:
            assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            found = [without_timings(row) for row in rows(store)]
            assert all(row in undisturbed for row in found)
            assert len({row.cell for row in found}) == len(found)
            if len(found) == len(CELLS):  # there would be nothing left to kill
                store.execute("DELETE FROM results WHERE fold > 1")
    run_cells(CELLS, path)
    assert content(path) == undisturbed


def test_the_store_is_not_held_while_cells_run(tmp_path: Path) -> None:
    def write(*_: Any) -> None:
        with closing(sqlite3.connect(tmp_path / "s", timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("COMMIT")

    run_cells(CELLS[:2], tmp_path / "s", on_cell=write)
