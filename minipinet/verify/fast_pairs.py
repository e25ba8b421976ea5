"""The pairs of `minipinet.fast`, each with an input to verify it at."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minipinet._array import Array
from minipinet.attention_readout import FUSED_RANGE
from minipinet.fast import model
from minipinet.fast.batch import FastBatch, make_fast_batches
from minipinet.fast.pooled import pooled_backward, pooled_forward
from minipinet.fast.propagation import (
    message_passing_backward,
    message_passing_forward,
    propagate_backward,
    propagate_forward,
)
from minipinet.fast.readout import two_class_backward, two_class_forward
from minipinet.fast.training import compiled_form
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.union import DisjointUnion
from minipinet.verify.pairs import SMOOTH, WHOLE, Pair, cast, draw, example_params, example_union


def example_fast_batch(union: DisjointUnion, dtype: str = "float64", *, merge: bool = True) -> FastBatch:
    """Return all graphs of `union` as one batch."""
    G = len(union.ptr) - 1
    return next(make_fast_batches(refine(union, merge=merge), np.arange(G), G, dtype))


def fast_pairs(rng: np.random.Generator, dtype: str = "float64", *, whole: bool = True) -> list[Pair]:
    """Return the pairs that training is made of and, with `whole`, its loss, at inputs drawn from `rng`.

    The loss of the compiled form too, where Numba is installed.

    Examples
    --------
    >>> [pair.name for pair in fast_pairs(np.random.default_rng(0))][:2]
    ['fast.propagate', 'fast.message_passing.A_first']
    """
    batch = example_fast_batch(example_union(rng), dtype)
    rows = batch.layers[0]
    n_in, n = len(rows.deg), len(batch.layers[1].at_own)
    p, q = np.array([0.375, 0.625]), np.array([0.75, 0.25])
    propagate = partial(propagate_forward, rows=rows), propagate_backward
    message_passing = partial(message_passing_forward, rows=rows), message_passing_backward
    two_class = partial(two_class_forward, entries=batch.entries), two_class_backward
    pooled = partial(pooled_forward, entries=batch.entries), pooled_backward

    def weights(F_in: int, F: int) -> dict[str, Any]:
        return {"M": draw(rng, 2, n_in, F_in), "W": draw(rng, 2, F_in, F), "b": draw(rng, 2, F), "p": p, "q": q}

    def stacks(C: int, constant: float = 0.0) -> dict[str, Any]:
        H = draw(rng, n, 3) + constant
        return {"H": H, "Z_X": draw(rng, n, 2), "W_D": draw(rng, 6, C), "b_D": draw(rng, C)}

    beyond = 2 * FUSED_RANGE  # where each graph's maximum is subtracted
    pairs = [
        Pair("fast.propagate", *propagate, {"M": draw(rng, 2, n_in, 3), "p": p, "q": q}, SMOOTH),
        Pair("fast.message_passing.A_first", *message_passing, weights(2, 4), SMOOTH),
        Pair("fast.message_passing.W_first", *message_passing, weights(4, 2), SMOOTH),
        Pair("fast.message_passing.square", *message_passing, weights(3, 3), SMOOTH),
        Pair("fast.two_class", *two_class, stacks(2), SMOOTH),
        Pair("fast.two_class.wide", *two_class, stacks(2, beyond), SMOOTH),
        Pair("fast.pooled", *pooled, stacks(3), SMOOTH),
        Pair("fast.pooled.wide", *pooled, stacks(3, beyond), SMOOTH),
    ]
    if whole:
        pairs += _losses(rng, batch)
    return [pair._replace(inputs=cast(pair.inputs, dtype)) for pair in pairs]


def _losses(rng: np.random.Generator, batch: FastBatch) -> list[Pair]:
    pq = np.array([[0.375, 0.75], [0.75, 0.25], [1.0, 0.0], [0.5, 1.0]])
    two = example_params(rng, 2, bias=True, learned_pq=True)
    three = example_params(rng, 3, bias=True, learned_pq=True)
    fixed = example_params(rng, 2, bias=False, learned_pq=False)
    wide = two._replace(b_A1=np.full(two.W_A1.shape[1], 2 * FUSED_RANGE))

    def losses(form: Any, name: str) -> list[Pair]:
        def loss(params: PiNetParams, pq: Array | None = None, C: int = 2) -> tuple[Array, Any]:
            result: tuple[Array, Any] = form.loss_forward(params, batch, np.arange(len(batch.kind)) % C, pq, l2=0.25)
            return result

        return [
            Pair(name, loss, form.loss_backward, {"params": two}, WHOLE),
            Pair(f"{name}.fixed_pq", partial(loss, pq=pq), form.loss_backward, {"params": fixed}, WHOLE),
            Pair(f"{name}.wide", loss, form.loss_backward, {"params": wide}, WHOLE),
            Pair(f"{name}.three_classes", partial(loss, C=3), form.loss_backward, {"params": three}, WHOLE),
        ]

    compiled = compiled_form()
    return losses(model, "fast.loss") + (losses(compiled["model"], "compiled.loss") if compiled else [])
