"""One training run, from a data set to a model, with a folder to go on from if it is stopped."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array
from minipinet._card import found_before
from minipinet._files import make_folder
from minipinet._host import numbers_below
from minipinet.checkpoint import load_checkpoint, save_checkpoint
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import FeatureEncoder
from minipinet.errors import UsageError
from minipinet.evaluation import check_width
from minipinet.lockstep import Training, alone
from minipinet.pinet_network import pinet_network
from minipinet.predictor import PiNet
from minipinet.quotient import Quotient, refine
from minipinet.reading import Reading
from minipinet.rundir import CHECKPOINT, MODEL, open_run, write_log, write_results
from minipinet.settings import Settings, real
from minipinet.splits import check_classes, hold_out
from minipinet.train import OnEpoch, TrainState, chosen_params, training

#: At most one checkpoint in this time, and one at the end.
CHECKPOINT_SECONDS = 5.0


class Part(NamedTuple):
    """Everything one training needs."""

    quotient: Quotient
    y: Array
    classes: tuple[Any, ...]
    encoder: FeatureEncoder
    reading: Reading
    settings: Settings
    train_index: Array
    validation_index: Array | None
    digest: str  #: of the data set


class Trained(NamedTuple):
    """What training gave."""

    model: PiNet
    state: TrainState
    epoch: int  #: the epoch whose weights the model has

    def __repr__(self) -> str:
        return f"Trained({self.model!r}, weights of epoch {self.epoch} of {self.state.epoch})"


def train_pinet(
    dataset: Dataset,
    settings: Settings,
    *,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    on_epoch: OnEpoch | None = None,
) -> Trained:
    """Train one model on a data set (less the validation part that `settings` may ask for).

    Parameters
    ----------
    dataset : Dataset
    settings : Settings
    run_dir : path, optional
        Folder for ``run.json``, the checkpoint, the model and the log; a killed run goes on from there.
    resume, overwrite : bool
        What to do with a run that is in the folder already; with neither, it is refused.
    checkpoint_seconds : float
        Least time between two checkpoints; 0 saves after each epoch.
    on_epoch : callable, optional
        Called with the state after each epoch.

    Returns
    -------
    Trained

    Raises
    ------
    DivergedError
        When a NaN or an infinity appears.
    CardError
        When a card fails.
    UsageError
        For a run folder that cannot be used, graphs of a single class, and a validation part that cannot be had.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> graphs = load_dataset("MUTAG")[:20]
    >>> train_pinet(graphs, Settings(epochs=2, hidden=4, out=2)).epoch
    2
    """
    checkpoint_seconds = real("checkpoint_seconds", checkpoint_seconds, lambda x: x >= 0, "of at least 0")
    settings = settings.on_this_machine()
    split = split_training(dataset, np.arange(len(dataset)), settings)
    part = make_part(dataset, refine(dataset.graphs, settings.merge), settings, split)
    asked = {"kind": "train", "settings": settings.to_json(), "data": describe_data(dataset), "split": split}
    with open_run(run_dir, asked, resume=resume, overwrite=overwrite) as folder:
        trained = alone(train_part(part, folder, checkpoint_seconds, on_epoch))
        if folder is not None:
            write_results(folder, {"epoch": trained.epoch, "last_epoch": trained.state.history[-1]})
    return trained


def make_part(dataset: Dataset, quotient: Quotient, settings: Settings, split: dict[str, Array]) -> Part:
    """Put together what one training needs."""
    return Part(
        quotient,
        dataset.y,
        dataset.classes,
        dataset.encoder,
        dataset.reading,
        settings,
        split["train"],
        split.get("validation"),
        dataset.digest,
    )


def split_training(dataset: Dataset, index: Array, settings: Settings) -> dict[str, Array]:
    """Return ``{"train": ..., "validation": ...}``, the second only if `settings` hold some of `index` out."""
    index = numbers_below("index", index, len(dataset))
    check_classes("dataset", dataset.labels[index])
    if settings.validation == 0:
        return {"train": index}
    train, validation = hold_out(dataset.labels, index, settings.validation, settings.seed)
    return {"train": train, "validation": validation}


def describe_data(dataset: Dataset) -> dict[str, Any]:
    """Return what a run's record says of its data."""
    return {
        "name": dataset.name,
        "graphs": len(dataset),
        "classes": dataset.classes,
        "digest": dataset.digest,
        "encoder": dataset.encoder.to_json(),
        "reading": dataset.reading.to_json(),
    }


def train_part(
    part: Part, folder: Path | None = None, seconds: float = CHECKPOINT_SECONDS, on_epoch: OnEpoch | None = None
) -> Training[Trained]:
    """Train, going on from the checkpoint in `folder` if there is one, and leave checkpoint, log and model there.

    New, broken-off and finished trainings take one path: of a finished one nothing is left to train, and what of its
    model and log was lost or changed is written again. A generator that `minipinet.lockstep` runs.
    """
    if folder is None:
        return _trained(part, (yield from _training(part, None, on_epoch)))
    make_folder(folder)
    found = _state_in(folder / CHECKPOINT, part)

    def save(state: TrainState) -> None:
        save_checkpoint(folder / CHECKPOINT, state, part.settings, {"data": part.digest})
        write_log(folder, state)

    keep = now_and_then(save, seconds)

    def after_epoch(state: TrainState) -> None:
        if on_epoch is not None:
            on_epoch(state)
        keep(state)

    state = yield from _training(part, found, after_epoch)
    trained = _trained(part, state)
    save(state)
    trained.model.save(folder / MODEL)
    return trained


def now_and_then(save: OnEpoch, seconds: float) -> OnEpoch:
    """Return an `on_epoch` that calls `save` when `seconds` have passed since the last time, or always if 0.

    A slow disk lengthens the time, so that saving takes no more than about a fiftieth of it.
    """
    last, pause = time.monotonic(), seconds

    def on_epoch(state: TrainState) -> None:
        nonlocal last, pause
        began = time.monotonic()
        if began - last >= pause:
            save(state)
            last = time.monotonic()
            pause = seconds and max(seconds, 50 * (last - began))

    return on_epoch


def _training(part: Part, state: TrainState | None, on_epoch: OnEpoch | None) -> Training[TrainState]:
    with found_before():  # `settings` are those on this machine
        network = pinet_network(part.quotient, part.settings, len(part.classes))
    return training(network, part.y, part.train_index, part.settings, state, part.validation_index, on_epoch)


def _trained(part: Part, state: TrainState) -> Trained:
    params, epoch = chosen_params(state)
    return Trained(PiNet(params, part.settings, part.classes, part.encoder, part.reading), state, epoch)


def _state_in(path: Path, part: Part) -> TrainState | None:
    if not path.exists():
        return None
    checkpoint = load_checkpoint(path)
    if (checkpoint.settings, checkpoint.extra) != (part.settings, {"data": part.digest}):
        raise UsageError(f"{path}: is the checkpoint of another run; name another folder or overwrite the run")
    check_width(checkpoint.state.params, part.quotient)
    return checkpoint.state
