"""Running one cell: a pure function from what a cell says to the row that it becomes."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import warnings
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._files import to_plain
from minipinet.baselines.system import system_named
from minipinet.datasets import Dataset
from minipinet.errors import Notice, UsageError
from minipinet.experiments.data import ISOMORPHISM, TESTED, TRAINED, load_cell_data
from minipinet.experiments.protocols import Split, candidates, count_duplicates, run_split, splits
from minipinet.experiments.records import Cell, Row
from minipinet.fast.training import compiled_form
from minipinet.splits import fold_seed

_PACKAGES = ("minipinet", "numpy", "scipy", "numba", "scikit-learn", "pynauty")


def run_cell(cell: Cell, data_dir: str | None = None) -> Row:
    """Train and test what a cell says.

    Parameters
    ----------
    cell : Cell
    data_dir : str, optional
        Folder of data sets, as for :func:`minipinet.datasets.load_dataset`.

    Returns
    -------
    Row
        The same in every process and on every machine with these versions, seconds aside.

    Raises
    ------
    UsageError, DataError, DivergedError
        From loading, splitting and training.

    Examples
    --------
    >>> from minipinet.experiments.records import to_variant
    >>> row = run_cell(Cell("comparison", "paper", "pinet", "MUTAG", variant=to_variant(epochs=1, hidden=4, out=2)))
    >>> len(row.train_index), len(row.test_index), row.settings["epochs"]
    (169, 19, 1)
    """
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        # Whoever lists the cells loads the data too, and tells what there is to tell.
        warnings.simplefilter("ignore", Notice)
        data = load_cell_data(cell, data_dir)
        dataset, split = data.dataset, split_of(cell, data.dataset)
        seed = fold_seed(cell.repeat, cell.fold)
        began = time.perf_counter()
        outcome = run_split(cell.protocol, system_of(cell), dataset, split, seed)
        seconds = time.perf_counter() - began
    truth = dataset.y[split.test]
    row = Row(
        cell=cell,
        settings=outcome.settings,
        versions=versions(),
        seed=seed,
        digest=data.digest,
        train_index=outcome.train.tolist(),
        validation_index=None if outcome.validation is None else outcome.validation.tolist(),
        test_index=split.test.tolist(),
        truth=truth.tolist(),
        predictions=outcome.predictions.tolist(),
        accuracy=float(np.mean(outcome.predictions == truth)),
        duplicates=count_duplicates(data.copies, dataset.y, split),
        details=outcome.details,
        seconds=seconds,
    )
    return Row(cell, *to_plain(list(row[1:])))


def system_of(cell: Cell) -> Any:
    """Return the system of a cell with its settings."""
    return system_named(cell.system, **json.loads(cell.variant))


def split_of(cell: Cell, dataset: Dataset) -> Split:
    """Return who trains and who tests in a cell.

    In the isomorphism test the graphs of a class are permutations of one: the first `cell.size` of each class train,
    the last 80 test, in every size the same.

    Raises
    ------
    UsageError
        For a fold that there is not, and a size out of its range.

    Examples
    --------
    >>> cell = Cell("isomorphism", "paper", "wl", "isomorphism", features="constant", size=2)
    >>> split = split_of(cell, load_cell_data(cell).dataset)
    >>> split.train.tolist(), len(split.test)
    ([0, 1, 100, 101, 200, 201, 300, 301, 400, 401], 400)
    """
    if cell.dataset != ISOMORPHISM:
        found = _splits(cell.protocol, tuple(dataset.labels.tolist()), cell.repeat)
        if not 0 <= cell.fold < len(found):
            raise UsageError(f"fold: expected 0 to {len(found) - 1}, got {cell.fold}")
        return found[cell.fold]
    if not 1 <= cell.size <= TRAINED:
        raise UsageError(f"size: expected 1 to {TRAINED} training graphs of each class, got {cell.size}")
    place = np.arange(len(dataset)) % (TRAINED + TESTED)
    return Split(np.flatnonzero(place < cell.size), np.flatnonzero(place >= TRAINED))


def differences(row: Row, data_dir: str | None = None) -> list[str]:
    """Return in what a row is not what its cell would become now, in words; its results are not looked at.

    Compared are settings, seed, data and the graphs tested. Other versions count for nothing here: they may change the
    last bits.
    """
    data = load_cell_data(row.cell, data_dir)
    test = split_of(row.cell, data.dataset).test
    possible = [system.settings for system in candidates(row.cell.protocol, system_of(row.cell), len(test))]
    found = []
    if row.settings not in possible:
        was, now = row.settings, possible[0]
        changed = [
            f"{k} was {was.get(k)!r} and is now {now.get(k)!r}" for k in sorted(was | now) if was.get(k) != now.get(k)
        ]
        found += changed or ["settings"]
    if row.seed != fold_seed(row.cell.repeat, row.cell.fold):
        found.append("another seed")
    if row.digest != data.digest:
        found.append(f"other data (digest {row.digest[:12]}..., here {data.digest[:12]}...)")
    elif row.test_index != test.tolist():
        found.append("other test graphs")
    return found


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers come from, and a hash of this package's source.

    Examples
    --------
    >>> sorted(versions())[:4]
    ['minipinet', 'numba', 'numpy', 'pynauty']
    """
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    if compiled_form() is None:
        found["numba"] = "none"
    digest = hashlib.sha256()
    folder = Path(__file__).resolve().parent.parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return {**found, "source": digest.hexdigest()[:12]}


@lru_cache(maxsize=3)
def _splits(protocol: str, labels: tuple[Any, ...], repeat: int) -> list[Split]:
    return splits(protocol, labels, repeat)
