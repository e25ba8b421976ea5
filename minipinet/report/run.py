"""What the folder of a run holds, finished or not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet.errors import DataError, UsageError
from minipinet.predictor import PiNet
from minipinet.rundir import MODEL, RECORD, as_run_folder, read_log, record_in
from minipinet.settings import Settings
from minipinet.train import EpochRecord


class Training(NamedTuple):
    """One training of a run: that of a fold, or the only one."""

    split: dict[str, Array]  #: numbers of the graphs: train, test of a fold, validation where there is one
    history: tuple[EpochRecord, ...]  #: the epochs so far
    model: PiNet | None  #: None until the training is finished
    epoch: int  #: whose weights the model has, or would have now; 0 before the first

    @property
    def chosen(self) -> EpochRecord | None:
        """The record of that epoch, whose weights were chosen."""
        return self.history[self.epoch - 1] if self.epoch else None


class Run(NamedTuple):
    """A run of `minipinet.crossval.cross_validate` or `minipinet.runs.train_pinet`."""

    folder: Path
    settings: Settings
    data: dict[str, Any]  #: as :func:`minipinet.runs.describe_data` says it
    cross_validated: bool  #: whether the trainings are its folds; else there is one, on all graphs
    trainings: list[Training]
    results: dict[str, Any] | None  #: as ``run.json`` has them; None: the run is not finished
    versions: dict[str, str]


def read_run(run_dir: str | os.PathLike[str]) -> Run:
    """Read the folder of a run, which another process may still be writing; nothing in it is changed.

    Parameters
    ----------
    run_dir : path
        With its ``run.json``; logs and models are read as far as they are there.

    Returns
    -------
    Run

    Raises
    ------
    UsageError
        If there is no run in the folder.
    DataError
        If a file in it is not whole, or none that minipinet wrote.

    Examples
    --------
    >>> import tempfile
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.runs import train_pinet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train_pinet(load_dataset("MUTAG")[:20], Settings(epochs=2, hidden=4, out=2), run_dir=folder)
    ...     run = read_run(folder)
    >>> run.cross_validated, len(run.trainings[0].history), run.data["name"]
    (False, 2, 'MUTAG')
    """
    folder = as_run_folder(run_dir)
    record = record_in(folder)
    if record is None:
        raise UsageError(f"run_dir: there is no run in {folder}")
    try:
        settings = Settings.from_json(record["settings"])
        cross_validated = record["kind"] == "cross-validation"
        splits = record["splits"] if cross_validated else [record["split"]]
        data, results, versions = dict(record["data"]), record["results"], dict(record["versions"])
        epochs = [fold["epoch"] for fold in results["folds"]] if cross_validated and results else [None] * len(splits)
        if not cross_validated and results:
            epochs = [results["epoch"]]
        parts = [folder / f"fold-{k:02d}" for k in range(len(splits))] if cross_validated else [folder]
        trainings = [
            _training(part, split, epoch, settings) for part, split, epoch in zip(parts, splits, epochs, strict=True)
        ]
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{folder / RECORD}: is not the whole record of a run ({error!r})") from error
    return Run(folder, settings, data, cross_validated, trainings, results, versions)


def _training(folder: Path, split: Mapping[str, Any], epoch: int | None, settings: Settings) -> Training:
    index = {part: np.asarray(numbers, np.int64) for part, numbers in split.items()}
    history = read_log(folder)
    model = PiNet.load(folder / MODEL) if (folder / MODEL).exists() else None
    if epoch is None:
        epoch = len(history)
        if settings.patience is not None and history:
            # The lowest loss, the earliest among equals.
            epoch = min(history, key=lambda record: (record.validation_loss, record.epoch)).epoch
    if epoch > len(history):
        raise DataError(f"{folder}: the weights are of epoch {epoch}, but the log has {len(history)}")
    return Training(index, history, model, epoch)
