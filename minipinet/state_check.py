"""Whether the state of a training fits what it is to go on with, and is still finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from minipinet._array import Array
from minipinet.errors import DivergedError, UsageError
from minipinet.network import Params
from minipinet.optim import AdamState
from minipinet.params import PiNetParams
from minipinet.settings import Settings


def check_state(params: PiNetParams, adam: AdamState, settings: Settings, C: int) -> None:
    """Refuse a state of another dtype than that of the settings, or for another number of classes."""
    for name, values in named_arrays(params, adam):
        if values.dtype != settings.dtype:
            raise UsageError(f"state: expected {settings.dtype}, as settings.dtype is, got {values.dtype} in {name}")
    if params.W_D.shape[1] != C:
        raise UsageError(f"state: expected weights for C = {C} classes, got weights for {params.W_D.shape[1]}")


def check_finite(what: str, values: Any, epoch: int, settings: Settings) -> None:
    """Tell a training that has diverged, by the epoch and the first that is infinite or not a number."""
    if not np.isfinite(values).all():
        raise DivergedError(
            f"training diverged in epoch {epoch}: {what} is no longer finite; try an lr below {settings.lr:g}"
        )


def named_arrays(params: Params, adam: AdamState) -> list[tuple[str, Array]]:
    """Return the weights and Adam's moments, with names that a message can show."""
    trees = {"": params, "Adam's m of ": adam.m, "Adam's v of ": adam.v}
    named = [(label + name, leaf) for label, tree in trees.items() for name, leaf in tree._asdict().items()]
    return [(name, leaf) for name, leaf in named if leaf is not None]
