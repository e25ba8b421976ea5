"""K-fold cross-validation: each graph is tested once, by a model that never saw it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from minipinet._processes import run_tasks
from minipinet._words import counted
from minipinet.datasets.dataset import Dataset
from minipinet.errors import UsageError
from minipinet.fold import Fold, FoldResult, run_at_once, run_fold
from minipinet.metrics import summary_of
from minipinet.rundir import open_run, write_results
from minipinet.runs import CHECKPOINT_SECONDS, describe_data, split_training
from minipinet.settings import Settings, real, whole
from minipinet.splits import check_classes, fold_seed, stratified_folds
from minipinet.train import TrainState


class CrossValidation(NamedTuple):
    """The folds, in order, and what they come to."""

    settings: Settings
    folds: tuple[FoldResult, ...]
    summary: dict[str, Any]

    def __repr__(self) -> str:
        mean, sd = self.summary["accuracy_mean"], self.summary["accuracy_sd"]
        return f"CrossValidation({counted(len(self.folds), 'fold')}: accuracy {mean:.3f} ± {sd:.3f})"


def cross_validate(
    dataset: Dataset,
    settings: Settings,
    folds: int = 10,
    *,
    jobs: int = 1,
    folds_at_once: int = 1,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    on_fold: Callable[[FoldResult], None] | None = None,
    on_epoch: Callable[[int, TrainState], None] | None = None,
) -> CrossValidation:
    """Train and test once for each fold.

    Node labels that no training graph of a fold holds have no feature column in that fold: its training features are
    what they would be without the test graphs.

    Parameters
    ----------
    dataset : Dataset
    settings : Settings
        `seed` decides the folds (see :func:`minipinet.splits.stratified_folds`) and, with the fold's number, the
        fold's own seed. `validation` holds out a part of each training part.
    folds : int
        From 2 to the number of graphs in the smallest class.
    jobs : int
        Processes, at least 1; no more are started than there are folds. The numbers do not depend on it, to the last
        bit.
    folds_at_once : int
        Folds that a card trains in one step, at least 1; more than 1 only with ``device="cuda"`` or ``"auto"`` and one
        job. Each has the seeds, orders and results that it has alone, but for rounding. Without a card, fold after
        fold.
    run_dir : path, optional
        Folder for ``run.json`` and, fold by fold, checkpoint, model and log. A killed run goes on from there:
        finished folds are kept, a broken-off one continues with the same bits.
    resume, overwrite : bool
        What to do with a run that is in the folder already; with neither, it is refused.
    checkpoint_seconds : float
        Least time between two checkpoints of a fold; 0 saves after each epoch.
    on_fold : callable, optional
        Called in this process with each FoldResult as it comes; with several jobs in any order.
    on_epoch : callable, optional
        Called with (fold, state) after each epoch; only with ``jobs=1``.

    Returns
    -------
    CrossValidation

    Raises
    ------
    UsageError
        For folds the data cannot give, graphs of a single class, and a run folder that cannot be used.
    DivergedError
        Naming fold and epoch. Folds that a card trains with it are finished first.
    DataError
        When a trained fold's scores of a test graph are not finite, naming both; likewise. With folds at once, one that
        diverged is told before.
    CardError
        When a card fails; of folds at once, those that had come to their end have been handed out.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> graphs = load_dataset("MUTAG")[:20]
    >>> result = cross_validate(graphs, Settings(epochs=1, hidden=4, out=2), folds=2)
    >>> len(result.folds), sum(len(fold.test_index) for fold in result.folds)
    (2, 20)
    """
    jobs = whole("jobs", jobs)
    check_folds_at_once(folds_at_once, jobs, settings.device)
    checkpoint_seconds = real("checkpoint_seconds", checkpoint_seconds, lambda x: x >= 0, "of at least 0")
    if jobs > 1 and on_epoch is not None:
        raise UsageError("on_epoch: expected None with several jobs; on_fold is called with any number")
    check_classes("dataset", dataset.labels)
    settings = settings.on_this_machine()
    own_settings, splits = [], []
    for fold, (train, test) in enumerate(stratified_folds(dataset.labels, folds, settings.seed)):
        own_settings.append(replace(settings, seed=fold_seed(settings.seed, fold)))
        splits.append({**split_training(dataset, train, own_settings[fold]), "test": test})
    asked = {
        "kind": "cross-validation",
        "settings": settings.to_json(),
        "data": describe_data(dataset),
        "folds": len(splits),
        "splits": splits,
    }
    with open_run(run_dir, asked, resume=resume, overwrite=overwrite) as folder:
        tasks = []
        for fold, (own, split) in enumerate(zip(own_settings, splits, strict=True)):
            fold_dir = None if folder is None else folder / f"fold-{fold:02d}"
            tasks.append(Fold(fold, dataset, own, split, fold_dir, checkpoint_seconds, os.getpid(), on_epoch))
        results = []
        at_once = folds_at_once > 1 and settings.device == "cuda"
        running = (
            run_at_once(tasks, folds_at_once)
            if at_once
            else run_tasks(run_fold, [(task,) for task in tasks], min(jobs, len(tasks)))
        )
        with closing(running) as finished:
            for result in finished:
                results.append(result)
                if on_fold is not None:
                    on_fold(result)
        results.sort(key=lambda result: result.fold)
        summary = _summary(dataset, results)
        if folder is not None:
            write_results(folder, {"summary": summary, "folds": [_figures(result) for result in results]})
    return CrossValidation(settings, tuple(results), summary)


def check_folds_at_once(folds_at_once: int, jobs: int, device: str) -> None:
    """Refuse several folds at once where there can be no card, or together with several processes.

    Examples
    --------
    >>> check_folds_at_once(10, 1, "auto")
    """
    if whole("folds_at_once", folds_at_once) == 1:
        return
    if device == "cpu":
        raise UsageError(
            f"folds_at_once: expected 1 on the CPU (a card is device 'cuda' or 'auto'), got {folds_at_once}"
        )
    if jobs > 1:
        raise UsageError(f"jobs: expected 1 where a card trains several folds at once, got {jobs}")


def _figures(result: FoldResult) -> dict[str, Any]:
    """Return what the run's record keeps of a fold; its graphs stand under `splits`, its epochs in the log."""
    kept = ("fold", "accuracy", "loss", "epoch", "p", "q", "seconds", "predictions")
    return {name: getattr(result, name) for name in kept}


def _summary(dataset: Dataset, folds: list[FoldResult]) -> dict[str, Any]:
    """Return the figures of all folds together, as JSON values."""
    predictions = np.empty(len(dataset), np.int64)
    for fold in folds:
        predictions[fold.test_index] = fold.predictions
    return {
        **summary_of(dataset.y, predictions, dataset.classes, [fold.accuracy for fold in folds]),
        "p": np.mean([fold.p for fold in folds], axis=0).tolist(),
        "q": np.mean([fold.q for fold in folds], axis=0).tolist(),
        "seconds": sum(fold.seconds for fold in folds),
    }
