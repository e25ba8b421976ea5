"""Weights as a PyTorch ``state_dict`` in a safetensors file, written and read without PyTorch.

Kernels are turned as ``torch.nn.Linear`` has them, (out, in), so that a module of Linear layers loads them by name:

==========================  ======================  ==========================================================
``attention.0.weight``      ``W_A0`` transposed     first layer of the attention stack, (F_A0, d)
``attention.1.weight``      ``W_A1`` transposed     second layer, (F_A, F_A0)
``features.0.weight``       ``W_X0`` transposed     first layer of the features stack, (F_X0, d)
``features.1.weight``       ``W_X1`` transposed     second layer, (F_X, F_X0)
``readout.weight``          ``W_D`` transposed      (C, F_A F_X), the pooled matrix row by row
``....bias``                ``b_A0`` ... ``b_D``    where the model has biases
``p_raw``, ``q_raw``        the same                (4,), learned: p = 1 / (1 + exp(-4 p_raw)); order A0, A1, X0, X1
``p``, ``q``                fixed (p, q)            (4,), in place of the two above
==========================  ======================  ==========================================================
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minipinet._array import Array
from minipinet._files import as_path, to_plain, write_whole
from minipinet._words import counted, listed, type_name
from minipinet.errors import DataError, UsageError
from minipinet.interop.common import array_of, check_model
from minipinet.params import LAYERS, PiNetParams
from minipinet.rundir import check_not_of_run
from minipinet.settings import DTYPES, LEARNED

if TYPE_CHECKING:
    from minipinet.predictor import PiNet

#: Our layer and PyTorch's name for it.
MODULES = {"A0": "attention.0", "A1": "attention.1", "X0": "features.0", "X1": "features.1", "D": "readout"}


def to_state_dict(model: PiNet) -> dict[str, Array]:
    """Return the weights of a model under the names of this module's table, in the model's dtype, as copies.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.runs import train_pinet
    >>> from minipinet.settings import Settings
    >>> model = train_pinet(load_dataset("MUTAG")[:20], Settings(epochs=1, hidden=4, out=2)).model
    >>> {name: array.shape for name, array in to_state_dict(model).items()}["attention.0.weight"]
    (4, 7)
    """
    check_model(model)
    params, dtype = model.params, model.params.W_D.dtype
    state = {}
    for layer, module in MODULES.items():
        state[f"{module}.weight"] = np.array(getattr(params, f"W_{layer}").T, order="C")
        if (b := getattr(params, f"b_{layer}")) is not None:
            state[f"{module}.bias"] = b.copy()
    if params.p_raw is None or params.q_raw is None:
        state["p"], state["q"] = np.array(model.settings.pairs, dtype).T.copy()
    else:
        state["p_raw"], state["q_raw"] = params.p_raw.copy(), params.q_raw.copy()
    return state


def from_state_dict(state: Mapping[str, Array], like: PiNet) -> PiNet:
    """Make a model of weights under the names of this module's table.

    Parameters
    ----------
    state : mapping of name to array
        float32 or float64, all alike; copied. Widths, biases and whether p and q are learned are read off it. Tensors
        of PyTorch will do, so what ``module.state_dict()`` returns.
    like : PiNet
        Gives everything that a ``state_dict`` does not hold: classes, features, how graphs are read, and how it was
        trained.

    Raises
    ------
    UsageError, DataError
        If an array is missing, not known, or of a shape or dtype that fits neither the others nor `like`; names it.
    """
    check_model(like, "like")
    if not isinstance(state, Mapping):
        raise UsageError(f"state: expected a mapping of names to arrays, got {type_name(state)}")
    if strange := [name for name in state if not isinstance(name, str)]:
        raise UsageError(f"state: expected strings as names, got {listed(strange)}")
    state = {name: array_of(array, f"state: {name}") for name, array in state.items()}
    learned = not {"p", "q"} & set(state)
    biased = f"{MODULES['D']}.bias" in state
    names = [f"{module}.weight" for module in MODULES.values()]
    names += [f"{module}.bias" for module in MODULES.values()] if biased else []
    names += ["p_raw", "q_raw"] if learned else ["p", "q"]
    if missing := [name for name in names if name not in state]:
        raise UsageError(f"state: expected {listed(missing)} in it, got {listed(sorted(state)) or 'nothing'}")
    if unknown := [name for name in state if name not in names]:
        raise UsageError(f"state: expected only {', '.join(names)}, got {listed(unknown)} too")
    first, second = state["attention.0.weight"], state["attention.1.weight"]
    for name, kernel in zip(names, (first, second), strict=False):
        if kernel.ndim != 2:
            raise UsageError(f"state: expected {name} of two dimensions, got shape {kernel.shape}")
    dtype, hidden, out = first.dtype, len(first), len(second)
    d, C = like.params.W_A0.shape[0], len(like.classes)
    fans = {"A0": (hidden, d), "A1": (out, hidden), "X0": (hidden, d), "X1": (out, hidden), "D": (C, out * out)}
    shapes: dict[str, tuple[int, ...]] = {f"{MODULES[layer]}.weight": fan for layer, fan in fans.items()}
    shapes |= {f"{MODULES[layer]}.bias": fan[:1] for layer, fan in fans.items()}
    for name in names:
        array, shape = state[name], shapes.get(name, (len(LAYERS),))
        if array.dtype != dtype or str(dtype) not in DTYPES:
            raise UsageError(f"state: expected all arrays of float32 or all of float64, got {name} of {array.dtype}")
        if array.shape != shape:
            model = f"{counted(d, 'feature')}, {counted(C, 'class', 'classes')} and widths {hidden} and {out}"
            raise UsageError(f"state: expected {name} of shape {shape} for {model}, got {array.shape}")
        if not np.isfinite(array).all():
            raise UsageError(f"state: expected finite numbers, got others in {name}")
    kernels = {f"W_{layer}": np.array(state[f"{module}.weight"].T, order="C") for layer, module in MODULES.items()}
    biases = {f"b_{layer}": np.array(state[f"{module}.bias"]) if biased else None for layer, module in MODULES.items()}
    raw = {name: np.array(state[name]) if learned else None for name in ("p_raw", "q_raw")}
    # A number of float32 is read as the shortest decimal that it stands for: 0.1 comes back as 0.1.
    pairs = (
        LEARNED
        if learned
        else tuple((float(str(p)), float(str(q))) for p, q in zip(state["p"], state["q"], strict=True))
    )
    settings = dataclasses.replace(like.settings, hidden=hidden, out=out, bias=biased, pq=pairs, dtype=str(dtype))
    return dataclasses.replace(like, params=PiNetParams(**kernels, **biases, **raw), settings=settings)


def write_state_dict(model: PiNet, path: str | os.PathLike[str]) -> None:
    """Write the weights of a model as one safetensors file, whole or not at all.

    ``safetensors.torch.load_file`` returns it as a ``state_dict``; its metadata hold the classes, as JSON.

    Parameters
    ----------
    model : PiNet
    path : path
        One file, replaced if it exists; none that a run is made of.

    Raises
    ------
    UsageError
        If `model` is no PiNet or `path` no such path.
    MinipinetError
        When the file cannot be written.
    """
    from safetensors.numpy import save

    check_model(model)
    path = as_path(path)
    check_not_of_run(path)
    metadata = {"format": "pt", "classes": json.dumps(to_plain(list(model.classes)))}
    write_whole(path, save(to_state_dict(model), metadata=metadata))


def read_state_dict(path: str | os.PathLike[str], like: PiNet) -> PiNet:
    """Make a model of a safetensors file of weights, which PyTorch or :func:`write_state_dict` wrote.

    Loading runs no code from the file; ``torch.save`` files, which would, are not read.

    Parameters
    ----------
    path : path
        What ``safetensors.torch.save_file(module.state_dict(), path)`` wrote.
    like : PiNet
        As for :func:`from_state_dict`.

    Raises
    ------
    UsageError
        If `like` is no PiNet or `path` no path.
    DataError
        If the file is missing, no safetensors file, or holds other weights; names it.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    check_model(like, "like")
    path = as_path(path)
    try:
        arrays: dict[str, Any] = load(path.read_bytes())
        return from_state_dict(arrays, like)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (UsageError, DataError) as error:
        raise DataError(f"{path}: {error}") from error
    except (SafetensorError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path}: expected a safetensors file of weights ({error})") from error
