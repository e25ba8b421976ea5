"""Running cells: in processes of this machine or on a Dask cluster, each finished one kept at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from minipinet._processes import ProcessLostError, run_tasks
from minipinet._words import counted
from minipinet.errors import DataError, DivergedError, Notice, UsageError, notify
from minipinet.experiments.cells import differences, run_cell, versions
from minipinet.experiments.cluster import cluster_at, run_on_cluster
from minipinet.experiments.records import Cell, Row
from minipinet.experiments.store import Store, cells_in, insert, open_store, rows
from minipinet.settings import whole

#: How often in a row processes may be lost without a finished cell in between.
LOSSES = 3


class Failure(NamedTuple):
    """A cell that has no result."""

    cell: Cell
    reason: str


class Ran(NamedTuple):
    """What became of the cells that were asked for."""

    found: int  #: were in the store already
    added: int  #: are new in it
    others: int  #: are new in it too, put there by another process meanwhile
    failures: list[Failure]


def run_cells(
    cells: Iterable[Cell],
    path: str | os.PathLike[str],
    *,
    data_dir: str | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    on_cell: Callable[[int, Row | Failure], None] | None = None,
) -> Ran:
    """Run the cells that a store does not have yet, and put each into it as it comes.

    Parameters
    ----------
    cells : iterable of Cell
    path : path
        Of the store, made if it is not there. What is killed goes on from it.
    data_dir : str, optional
        Folder of data sets, under this name, made absolute, on every machine that takes part.
    jobs : int
        Processes of this machine; the results do not depend on it. A cell whose process is ended from outside is run
        again.
    scheduler : str, optional
        Address of a Dask cluster to run on instead, such as ``"tcp://10.0.0.1:8786"``.
    on_cell : callable, optional
        Called in this process with how many of the cells are done and what was just finished.

    Returns
    -------
    Ran
        With the cells whose training diverged or whose data are malformed; the others are run nevertheless.

    Raises
    ------
    UsageError
        When a row in the store, or from the cluster, is not what its cell would be here, naming both; and whatever
        :func:`minipinet.experiments.cells.run_cell` raises for a wrong argument.
    MinipinetError
        When processes are ended from outside again and again.
    """
    jobs = whole("jobs", jobs)
    wanted = list(dict.fromkeys(cells))
    failures: list[Failure] = []
    # The cluster is reached first, so that no store is made for one that is not there.
    reached = nullcontext() if scheduler is None else cluster_at(scheduler)
    with reached as client, open_store(path) as store:
        present = _sources(store, wanted)
        missing = [cell for cell in wanted if cell not in present]
        made_with, copies = [], []
        for cell, source in present.items():
            row = _check(next(rows(store, key=source.key)), data_dir, str(path))
            made_with.append(row.versions)
            if cell != source:
                copies.append(row._replace(cell=cell))
        for copy in copies:  # once all fit: a run that is refused changes nothing
            insert(store, copy)
        run = _run_here(missing, data_dir, jobs) if scheduler is None else _run_away(missing, data_dir, client)
        added = others = 0
        with closing(run) as finished:
            for result in finished:
                if isinstance(result, Failure):
                    failures.append(result)
                else:
                    made_with.append(_check(result, data_dir, "a worker").versions)
                    new = insert(store, result)
                    added, others = added + new, others + (not new)
                if on_cell is not None:
                    on_cell(len(present) + added + others + len(failures), result)
    _tell_versions(path, made_with)
    return Ran(len(present), added, others, failures)


def attempt(cell: Cell, data_dir: str | None) -> Row | Failure:
    """Run a cell; what is wrong with this one alone is no reason to stop the others."""
    try:
        return run_cell(cell, data_dir)
    except (DivergedError, DataError) as error:
        return Failure(cell, str(error))


def _run_here(cells: Sequence[Cell], data_dir: str | None, jobs: int) -> Generator[Row | Failure, None, None]:
    """Yield what the cells become; after a loss the processes begin anew with what is left."""
    left, losses = dict.fromkeys(cells), 0
    while left:
        tasks = [(cell, data_dir) for cell in left]
        try:
            with closing(run_tasks(attempt, tasks, min(jobs, len(tasks)))) as results:
                for result in results:
                    del left[result.cell]
                    losses = 0
                    yield result
        except ProcessLostError:
            losses += 1
            if losses == LOSSES:
                raise


def _run_away(cells: Sequence[Cell], data_dir: str | None, client: Any) -> Generator[Row | Failure, None, None]:
    # A worker has a folder of its own that relative names begin in.
    folder = None if data_dir is None else str(Path(data_dir).absolute())
    for result in run_on_cluster(attempt, [(cell, folder) for cell in cells], client):
        yield result._replace(reason=f"{result.reason} (on a worker)") if isinstance(result, Failure) else result


def _check(row: Row, data_dir: str | None, where: str) -> Row:
    """Return a row that is what its cell would become here; a UsageError for any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        found = differences(row, data_dir)
    if found:
        raise UsageError(
            f"{where}: {row.cell.key} is not what would be made now: {'; '.join(found)}; name another store"
        )
    return row


def _tell_versions(path: str | os.PathLike[str], made_with: Sequence[dict[str, str]]) -> None:
    """Tell of rows that were made with other versions than those here: their last bits may differ."""
    here = versions()
    changed = [[name for name in here | then if here.get(name) != then.get(name)] for then in made_with if then != here]
    if changed:
        names = ", ".join(sorted({name for names in changed for name in names}))
        text = f"{path}: {counted(len(changed), 'row')} of this experiment made with other versions than here ({names})"
        notify(f"{text}; the last bits may differ")


def _sources(store: Store, wanted: Sequence[Cell]) -> dict[Cell, Cell]:
    """Return for each cell the one in the store whose row it has, or may copy: another experiment's very same work."""
    have = {cell: cell for cell in cells_in(store)}
    twins = {cell._replace(experiment=""): cell for cell in have}
    found = ((cell, have.get(cell) or twins.get(cell._replace(experiment=""))) for cell in wanted)
    return {cell: source for cell, source in found if source is not None}
