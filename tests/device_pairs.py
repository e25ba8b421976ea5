"""The readable pairs, and an epoch of the readable network: on the card that a stand-in stands for, and here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minipinet.optim
from minipinet._array import to_card
from minipinet._tree import named_leaves, with_leaves
from minipinet.batch import make_batches
from minipinet.datasets import load_dataset
from minipinet.model import loss_backward, loss_forward
from minipinet.optim import AdamState, adam_init
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.verify.card import bound_on_card
from minipinet.verify.pairs import Pair, layer_pairs, model_pairs
from tests.device_stand_in import Device, brought_back, host_leaves
from tests.small_pairs import generator

#: What a pair asks a card for, forwards and backwards: a way to take (bool), a size (int), where graphs start (tolist).
WAITS = {
    "pool": ["tolist"] * 2,
    "readout.stepwise": ["tolist"] * 2,
    "readout.partly_fused": ["bool"] * 3 + ["int"] * 6 + ["tolist"] * 2,
    "pinet": ["bool"] + ["tolist"] * 2,
    "pinet.fixed_pq": ["bool"] * 3,
    "loss": ["bool"] * 3,
}
#: The shapes of what a pair copies to a card, once its arguments are there: p and q of the four layers.
UPLOADS = {"pinet.fixed_pq": ["(4, 2)"]}
#: How many arrays an epoch copies there: the 7 parameters once, the 18 of each of three batches, and its classes.
EPOCH = 7 + 3 * (18 + 1)
#: And scoring three batches: p and q are two of the parameters if learned; if fixed, a table with each batch.
SCORES = {"learned": 7 + 3 * 18, "fixed": 5 + 3 * (18 + 1)}


def readable_pairs(dtype: str = "float64") -> list[Pair]:
    return layer_pairs(generator(), dtype) + model_pairs(generator(), dtype)


def moved(pair: Pair) -> Pair:
    """Return a pair whose arguments are on the card."""
    return pair._replace(forward=bound_on_card(pair.forward), inputs=to_card(dict(pair.inputs)))


def run_on_card(pair: Pair) -> tuple[Any, Any]:
    """Return what a pair that has moved gives, of which nothing may be on the host: its out and its gradients."""
    out, cache = pair.forward(**pair.inputs)
    assert host_leaves(cache) == []
    dout = with_leaves(out, iter([Device(np.ones(v.shape, v.dtype)) for _, v in named_leaves(out)]))
    return brought_back(out), brought_back(pair.backward(dout, cache))


def run_here(pair: Pair) -> tuple[Any, Any]:
    out, cache = pair.forward(**pair.inputs)
    dout = with_leaves(out, iter([np.ones(np.shape(v), v.dtype) for _, v in named_leaves(out)]))
    return out, pair.backward(dout, cache)


def epoch(
    params: PiNetParams, move: Callable[[Any], Any], adam_step: Any = minipinet.optim.adam_step
) -> tuple[PiNetParams, AdamState]:
    """Take Adam's step for each of three batches of an epoch, where `move` leads."""
    data, params = load_dataset("MUTAG")[::9], move(params)
    adam = adam_init(params)
    for batch, y in zip(
        make_batches(refine(data.graphs), range(len(data)), 8, "float64"), np.split(data.y, [8, 16]), strict=True
    ):
        _, cache = loss_forward(params, move(batch), move(y), l2=0.01)
        params, adam = adam_step(params, loss_backward(1.0, cache), adam, lr=0.01)
    return params, adam
