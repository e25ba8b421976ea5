"""One fold of a cross-validation: trained and tested alone, or with others on a card."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

from minipinet._array import Array
from minipinet._card import found_before
from minipinet._words import counted
from minipinet.datasets.dataset import Dataset, refit_encoder
from minipinet.datasets.encoder import FeatureEncoder
from minipinet.errors import DataError, DivergedError, Notice
from minipinet.evaluation import evaluate
from minipinet.lockstep import Training, alone, together
from minipinet.predictor import PiNet
from minipinet.quotient import Quotient, refine
from minipinet.runs import Part, make_part, train_part
from minipinet.settings import Settings
from minipinet.train import EpochRecord, TrainState


class Fold(NamedTuple):
    """All that one fold is made of."""

    number: int
    dataset: Dataset
    settings: Settings
    split: dict[str, Array]
    folder: Path | None
    checkpoint_seconds: float
    owner: int  #: the process that waits for it: the one that trains it, or its parent
    on_epoch: Callable[[int, TrainState], None] | None


class FoldResult(NamedTuple):
    """One fold: who was in which part, and how the model did on the test part."""

    fold: int  #: from 0
    train_index: Array
    validation_index: Array | None  #: held out of the training part; None without early stopping or validation
    test_index: Array
    predictions: Array  #: (n_test,) classes 0 to C - 1, in the order of test_index
    accuracy: float  #: on the test part
    loss: float  #: on the test part, mean cross-entropy in nats
    epoch: int  #: the epoch whose weights were tested: chosen without a look at the test part
    p: tuple[float, ...]  #: at that epoch, in the order A0, A1, X0, X1
    q: tuple[float, ...]
    seconds: float  #: of training
    history: tuple[EpochRecord, ...]
    model: PiNet

    def __repr__(self) -> str:
        tested = counted(len(self.test_index), "graph")
        return f"FoldResult(fold {self.fold}: accuracy {self.accuracy:.3f} on {tested}, {self.model!r})"


def run_fold(fold: Fold) -> FoldResult:
    """Train and test one fold."""
    return alone(_training(fold, _part_of(fold, {})))


def run_at_once(folds: list[Fold], at_once: int) -> Generator[FoldResult, None, None]:
    """Train and test so many folds at a time on a card, and give their results as they come."""
    from minipinet.cuda.folds import FoldsOnCard

    for at in range(0, len(folds), at_once):
        chosen, quotients = folds[at : at + at_once], dict[FeatureEncoder, Quotient]()
        parts = [_part_of(fold, quotients) for fold in chosen]
        card = FoldsOnCard([part.quotient for part in parts], parts[0].y, parts[0].settings)
        yield from together(list(map(_training, chosen, parts)), card)


def _part_of(fold: Fold, quotients: dict[FeatureEncoder, Quotient]) -> Part:
    """Encode and refine the data set as the fold's training graphs have it, unless a fold before had it so."""
    with warnings.catch_warnings():
        # Labels that only the other parts have are what a fold is about; they need no notice.
        warnings.simplefilter("ignore", Notice)
        encoded = refit_encoder(fold.dataset, fold.split["train"])
    if encoded.encoder not in quotients:
        quotients[encoded.encoder] = refine(encoded.graphs, fold.settings.merge)
    return make_part(encoded, quotients[encoded.encoder], fold.settings, fold.split)


def _training(fold: Fold, part: Part) -> Training[FoldResult]:
    """Train and test one fold."""

    def after_epoch(state: TrainState) -> None:
        if fold.owner not in (os.getpid(), os.getppid()):
            # The caller was killed: nobody waits for this fold, and the next run may want its folder. An exception
            # would leave this process waiting for more work.
            os._exit(1)
        if fold.on_epoch is not None:
            fold.on_epoch(fold.number, state)

    try:
        model, state, epoch = yield from train_part(part, fold.folder, fold.checkpoint_seconds, after_epoch)
    except DivergedError as error:
        raise DivergedError(f"fold {fold.number}: {error}") from None
    try:
        with found_before():
            tested = evaluate(
                model.params,
                part.settings.pairs,
                part.quotient,
                part.y,
                fold.split["test"],
                device=part.settings.device,
            )
    except DataError as error:
        raise DataError(f"fold {fold.number}: {error}") from None
    record = state.history[epoch - 1]
    return FoldResult(
        fold.number,
        part.train_index,
        part.validation_index,
        fold.split["test"],
        tested.predictions,
        tested.accuracy,
        tested.loss,
        epoch,
        record.p,
        record.q,
        sum(record.seconds for record in state.history),
        state.history,
        model,
    )
