"""What the networks among the systems share: the encoder of their training graphs, validation, what training did."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

from minipinet._array import Array
from minipinet.datasets.dataset import Dataset, refit_encoder
from minipinet.errors import Notice
from minipinet.settings import Settings
from minipinet.train import EpochRecord, TrainState, chosen_params

#: Digits of the numbers in a history, and how many epochs it has at most (one more, if the last is an odd one out).
DIGITS, EPOCHS = 6, 200


def encoded_for(dataset: Dataset, train: Array) -> Dataset:
    """Return the data set with a feature column for each node label that the training graphs have, without notices."""
    with warnings.catch_warnings():
        # Labels that only other graphs have are what a split is about; they need no notice.
        warnings.simplefilter("ignore", Notice)
        return refit_encoder(dataset, train)


def with_validation(settings: Settings, n: int, m: int) -> Settings:
    """Return the settings of a training on n graphs that keeps the best epoch on m others: patient to the end.

    Examples
    --------
    >>> with_validation(Settings(epochs=7), 30, 10).validation, with_validation(Settings(epochs=7), 30, 10).patience
    (0.25, 7)
    """
    return replace(settings, validation=m / (n + m), patience=settings.epochs)


def details_of(state: TrainState) -> dict[str, Any]:
    """Return the epoch that is kept, the seconds of all, its accuracy on validation graphs if any, and the history."""
    _, epoch = chosen_params(state)
    record = state.history[epoch - 1]
    found: dict[str, Any] = {"epoch": epoch, "seconds": sum(record.seconds for record in state.history)}
    if record.validation_accuracy is not None:
        found["validation_accuracy"] = record.validation_accuracy
    return found | {"history": histories(state.history)}


def histories(records: tuple[EpochRecord, ...]) -> dict[str, list[Any]]:
    """Return what epochs did as one list for each quantity that was taken, of six significant digits.

    Up to 200 epochs are kept, of a longer training every second, every third, ..., and the last.

    Examples
    --------
    >>> histories((EpochRecord(1, 0.5, 1.0, (0.5,), (1 / 3,), 0.1),))
    {'epoch': [1], 'loss': [0.5], 'accuracy': [1.0], 'p': [[0.5]], 'q': [[0.333333]]}
    """
    step = math.ceil(len(records) / EPOCHS)
    kept = [record for record in records if record.epoch % step == 0 or record is records[-1]]
    taken = ("loss", "accuracy", "validation_loss", "validation_accuracy", "p", "q")
    columns = {name: [_short(getattr(record, name)) for record in kept] for name in taken}
    # A network without p and q has empty ones.
    found = {name: column for name, column in columns.items() if column[0] not in (None, [])}
    return {"epoch": [record.epoch for record in kept], **found}


def _short(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_short(entry) for entry in value]
    return None if value is None else float(f"{value:.{DIGITS}g}")
