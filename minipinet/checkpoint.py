"""Checkpoints: arrays as safetensors, everything else as JSON in the same file. Loading one can run no code."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minipinet._array import Array
from minipinet._files import as_path, to_plain, write_whole
from minipinet._host import refuse_card
from minipinet.errors import DataError
from minipinet.optim import AdamState
from minipinet.params import LAYERS, PiNetParams
from minipinet.settings import Settings
from minipinet.train import Best, EpochRecord, TrainState

_T = TypeVar("_T")


class Checkpoint(NamedTuple):
    """What a checkpoint holds."""

    state: TrainState
    settings: Settings
    extra: dict[str, Any]  #: what the caller added: JSON values


def save_checkpoint(
    path: str | os.PathLike[str], state: TrainState, settings: Settings, extra: Mapping[str, Any] | None = None
) -> None:
    """Write everything that :func:`minipinet.train.fit` needs to go on, whole or not at all.

    Parameters
    ----------
    path : path
        One file, replaced if it exists; its folder must exist.
    state : TrainState
        Weights, Adam's moments and step, the generator, the history, the best weights so far.
    settings : Settings
    extra : mapping, optional
        JSON values to keep beside them.

    Raises
    ------
    MinipinetError
        When the file cannot be written; what was there before stays whole.
    """
    refuse_card("state", state)
    refuse_card("extra", extra)
    best = state.best
    description = {
        "settings": settings.to_json(),
        "epoch": state.epoch,
        "adam_step": state.adam.step,
        "generator": state.rng.bit_generator.state,
        "history": [list(record) for record in state.history],
        "best": None if best is None else {"epoch": best.epoch, "loss": best.loss},
        "extra": dict(extra or {}),
    }
    trees = {"params": state.params, "adam_m": state.adam.m, "adam_v": state.adam.v}
    if best is not None:
        trees["best"] = best.params
    save_described(path, "checkpoint", trees, description)


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read what :func:`save_checkpoint` wrote; training goes on with the bits of a run without a break.

    Raises
    ------
    DataError
        When the file is missing, cut short, changed, or no checkpoint of minipinet.
    """

    def build(arrays: Mapping[str, Array], description: Mapping[str, Any]) -> Checkpoint:
        settings = Settings.from_json(description["settings"])
        rng = np.random.default_rng()
        rng.bit_generator.state = description["generator"]
        best = description["best"]
        state = TrainState(
            read_params(arrays, "params", settings),
            AdamState(
                int(description["adam_step"]),
                read_params(arrays, "adam_m", settings),
                read_params(arrays, "adam_v", settings),
            ),
            int(description["epoch"]),
            rng,
            tuple(_record(values) for values in description["history"]),
            best and Best(int(best["epoch"]), float(best["loss"]), read_params(arrays, "best", settings)),
        )
        return Checkpoint(state, settings, dict(description["extra"]))

    return load_described(path, "checkpoint", build)


def save_described(
    path: str | os.PathLike[str], kind: str, trees: Mapping[str, PiNetParams], description: Mapping[str, Any]
) -> None:
    """Write trees of parameters and a JSON description to one safetensors file of the given kind."""
    from safetensors.numpy import save

    arrays = {
        f"{tree}.{name}": np.ascontiguousarray(array)
        for tree, params in trees.items()
        for name, array in params._asdict().items()
        if array is not None
    }
    text = json.dumps(to_plain(description), allow_nan=False)
    sealed = f"{_digest(arrays, text)} {text}"
    write_whole(path, save(arrays, metadata={f"minipinet {kind}": sealed}))


def load_described(
    path: str | os.PathLike[str], kind: str, build: Callable[[Mapping[str, Array], Mapping[str, Any]], _T]
) -> _T:
    """Read what :func:`save_described` wrote and build the object it describes; any flaw of it is one DataError."""
    from safetensors import SafetensorError, safe_open

    path = as_path(path)
    if path.is_dir():
        raise DataError(f"{path}: is a folder, expected the file of a minipinet {kind}")
    try:
        with safe_open(path, framework="numpy") as file:
            sealed = (file.metadata() or {}).get(f"minipinet {kind}")
            if sealed is None:
                raise DataError(f"{path}: expected a minipinet {kind}, got another safetensors file")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        digest, _, text = sealed.partition(" ")
        if digest != _digest(arrays, text):
            raise DataError(f"{path}: was changed since minipinet wrote it (its checksum differs)")
        return build(arrays, json.loads(text))
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (SafetensorError, LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"{path}: not a minipinet {kind}, or not a whole one") from error


def _digest(arrays: Mapping[str, Array], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def read_params(arrays: Mapping[str, Array], tree: str, settings: Settings) -> PiNetParams:
    """Take one tree of parameters out of the arrays of a file; a ValueError if it is not what `settings` ask for."""
    found = {name: arrays.get(f"{tree}.{name}") for name in PiNetParams._fields}
    d, C = arrays[f"{tree}.W_A0"].shape[0], arrays[f"{tree}.W_D"].shape[-1]
    hidden, out = settings.hidden, settings.out
    kernels = {"A0": (d, hidden), "A1": (hidden, out), "X0": (d, hidden), "X1": (hidden, out), "D": (out * out, C)}
    shapes: dict[str, tuple[int, ...]] = {f"W_{layer}": shape for layer, shape in kernels.items()}
    if settings.bias:
        shapes |= {f"b_{layer}": shape[1:] for layer, shape in kernels.items()}
    if settings.learned_pq:
        shapes |= {"p_raw": (len(LAYERS),), "q_raw": (len(LAYERS),)}
    for name, array in found.items():
        got = None if array is None else array.shape
        if got != shapes.get(name):
            raise ValueError(f"{tree}.{name}: expected shape {shapes.get(name)}, got {got}")
        if array is not None and array.dtype != settings.dtype:
            raise ValueError(f"{tree}.{name}: expected {settings.dtype}, got {array.dtype}")
    return PiNetParams(**found)


def _record(values: Iterable[Any]) -> EpochRecord:
    return EpochRecord._make(tuple(value) if isinstance(value, list) else value for value in values)
