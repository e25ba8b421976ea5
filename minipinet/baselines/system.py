"""What every system of a comparison is: settings with defaults, a fit, and predictions, all on the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Protocol

from minipinet._array import Array
from minipinet._words import nearest
from minipinet.datasets.dataset import Dataset
from minipinet.errors import UsageError

#: Where the class behind each short name is; it is imported when it is asked for.
SYSTEMS = {
    "pinet": ("minipinet.baselines.pinet", "PiNetSystem"),
    "gcn-sum": ("minipinet.baselines.gcn", "GCNSum"),
    "gcn-dense": ("minipinet.baselines.gcn", "GCNDense"),
    "wl": ("minipinet.baselines.weisfeiler_lehman", "WeisfeilerLehman"),
    "patchy-san": ("minipinet.baselines.patchy_san", "PatchySan"),
}


class Fitted(Protocol):
    """A system that has been trained on some graphs of a data set."""

    @property
    def details(self) -> Mapping[str, Any]:
        """What was chosen on the way, as JSON values.

        ``"seconds"`` always; of a network ``"epoch"`` and ``"history"`` (lists with a value an epoch: loss, accuracy,
        of PiNet p and q too); with validation graphs ``"validation_accuracy"``.
        """

    def predict(self, index: Array) -> Array:
        """Return the classes, (n,) int64 from 0 to C - 1, of graphs of the data set by their numbers (n,)."""


class System(Protocol):
    """A way to classify graphs; implementations are frozen dataclasses whose fields, with defaults, are settings."""

    name: ClassVar[str]  #: as the paper calls it

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting, defaults filled in, as JSON values."""

    def fit(self, dataset: Dataset, train: Array, *, seed: int, validation: Array | None = None) -> Fitted:
        """Train on the graphs `train`.

        Only labels of `train` and `validation` are looked at, and vocabularies, kernels, scalers and sizes are those of
        `train` alone. With `validation` the epoch, or whatever else is chosen, is the best on these graphs. All that is
        random comes from `seed`.
        """

    def grid(self) -> Sequence[System]:
        """Return the settings to choose among where the protocol chooses, these first."""


def system_named(short: str, /, **settings: Any) -> System:
    """Return a system by its short name, with some settings other than the defaults.

    Parameters
    ----------
    short : str
        One of `SYSTEMS`.
    **settings
        JSON values, as :attr:`System.settings` has them.

    Raises
    ------
    UsageError
        For an unknown name, an unknown setting (both with the nearest one) and a wrong value.

    Examples
    --------
    >>> system_named("pinet", epochs=5).settings["epochs"]
    5
    >>> system_named("pinnet")
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: 'pinnet': is none of pinet, gcn-sum, gcn-dense, wl, patchy-san; did you mean pinet?
    """
    if not isinstance(short, str) or short not in SYSTEMS:
        raise UsageError(f"{short!r:.80}: is none of {', '.join(SYSTEMS)}{nearest(str(short), SYSTEMS)}")
    module, name = SYSTEMS[short]
    cls = getattr(importlib.import_module(module), name)
    known = [field.name for field in fields(cls)]
    for setting in settings:
        if setting not in known:
            raise UsageError(
                f"{setting}: is no setting of {short}, which has {', '.join(known)}{nearest(setting, known)}"
            )
    system: System = cls(**settings)
    return system


def several(name: str, values: Any) -> tuple[Any, ...]:
    """Return the values that a setting names to choose from; a UsageError for none, and for what is no list of values.

    Examples
    --------
    >>> several("rounds", [0, 1])
    (0, 1)
    >>> several("rounds", 5)
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: rounds: expected a list of values to choose from, got 5
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable) or not (found := tuple(values)):
        raise UsageError(f"{name}: expected a list of values to choose from, got {values!r:.80}")
    return found
