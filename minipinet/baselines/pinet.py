"""PiNet as one system among others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

from minipinet._array import Array
from minipinet._host import numbers_below
from minipinet.baselines.training import details_of, encoded_for, with_validation
from minipinet.datasets.dataset import Dataset
from minipinet.evaluation import score
from minipinet.params import PiNetParams
from minipinet.quotient import Quotient, refine
from minipinet.settings import LEARNED, Pairs, Settings
from minipinet.train import chosen_params, fit


@dataclass(frozen=True)
class PiNetSystem:
    """PiNet with the paper's settings; see :class:`minipinet.settings.Settings` for what each means.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.datasets import load_dataset
    >>> ds = load_dataset("MUTAG")
    >>> fitted = PiNetSystem(epochs=20).fit(ds, np.arange(0, 188, 2), seed=0)
    >>> float(np.mean(fitted.predict(np.arange(1, 188, 2)) == ds.y[1::2])) > 0.7
    True
    >>> len(fitted.details["history"]["loss"]), fitted.details["epoch"]
    (20, 20)
    """

    name: ClassVar[str] = "PiNet"
    epochs: int = 200
    batch_size: int = 50
    steps_per_epoch: int | None = None
    lr: float = 1e-3
    hidden: int = 100
    out: int = 64
    pq: str | Pairs | tuple[float, float] = LEARNED
    bias: bool = False
    l2: float = 0.0
    init: str = "he"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        checked = self._settings()
        for field in fields(self):
            object.__setattr__(self, field.name, getattr(checked, field.name))

    def _settings(self, **others: Any) -> Settings:
        return Settings(**{field.name: getattr(self, field.name) for field in fields(self)}, **others)

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting as a JSON value."""
        known = self._settings().to_json()
        return {field.name: known[field.name] for field in fields(self)}

    def grid(self) -> list[PiNetSystem]:
        """Return this one, learned p and q, and the paper's search over (p, q) in {0, 1} x {0, 1}."""
        others = [replace(self, pq=pq) for pq in (LEARNED, (1.0, 0.0), (1.0, 1.0), (0.0, 0.0), (0.0, 1.0))]
        return [self, *(other for other in others if other != self)]

    def fit(self, dataset: Dataset, train: Array, *, seed: int, validation: Array | None = None) -> FittedPiNet:
        """Train; with `validation` keep the epoch with the lowest loss on it, of equals the earliest.

        Parameters
        ----------
        dataset : Dataset
        train : (n,) int array
            The graphs to train on; node labels that none of them has get no feature column.
        seed : int
            0 to 2**32 - 1; of the initial weights and the order of the graphs.
        validation : (m,) int array, optional

        Raises
        ------
        DivergedError, UsageError
            As :func:`minipinet.train.fit` does.
        """
        train = numbers_below("train", train, len(dataset))
        settings = self._settings(seed=seed)
        if validation is not None:
            validation = numbers_below("validation", validation, len(dataset))
            settings = with_validation(settings, len(train), len(validation))
        quotient = refine(encoded_for(dataset, train).graphs, settings.merge)
        state = fit(quotient, dataset.y, train, settings, C=dataset.num_classes, validation_index=validation)
        return FittedPiNet(chosen_params(state)[0], settings.pairs, quotient, details_of(state))


class FittedPiNet(NamedTuple):
    """Weights, and the graphs they label."""

    params: PiNetParams
    pq: Array | None
    quotient: Quotient
    details: Mapping[str, Any]

    def predict(self, index: Array) -> Array:
        """Return the classes, (n,) int64, of some graphs of the data set."""
        return score(self.params, self.pq, self.quotient, index).argmax(axis=1)
