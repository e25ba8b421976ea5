"""The kernels' gradient of a batch against the readable pairs' on NumPy arrays, wherever the kernels run."""

from __future__ import annotations

from typing import Any

import numpy as np

from minipinet._array import to_host
from minipinet.batch import make_batch
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import Launcher
from minipinet.cuda.parameters import unpack
from minipinet.cuda.step import backward, forward
from minipinet.cuda.step import make_batch as make_card_batch
from minipinet.cuda.training import Card
from minipinet.datasets import Dataset
from minipinet.model import loss_backward, loss_forward
from minipinet.optim import adam_init
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.verify.pairs import draw
from tests.tolerances import relative_error, tree_error

#: Networks to try: with p and q to learn and without, with biases and without.
SHAPES: list[dict[str, Any]] = [{}, {"bias": True}, {"pq": (0.5, 0.25), "bias": True}]


def kernel_errors(launch: Launcher, data: Dataset, dtype: str, **shape: Any) -> tuple[float, float]:
    """Return the greatest relative errors of the losses and of the gradients of two folds, batch by batch."""
    settings = Settings(batch_size=50, dtype=dtype, **shape)
    rng, quotient, pq = np.random.default_rng(0), refine(data.graphs), settings.pairs
    options: dict[str, Any] = {"hidden": 20, "out": 8, "bias": settings.bias, "learned_pq": pq is None}
    like = init_params(rng, data.num_features, data.num_classes, dtype=dtype, **options)
    folds = [PiNetParams(*(w if w is None else (draw(rng, *w.shape) / 4).astype(dtype) for w in like)) for _ in "ab"]
    orders = [rng.permutation(len(data)), rng.permutation(len(data))[: len(data) // 2]]
    card = Card(launch, [graph_table(quotient, data.y, dtype)], folds, len(data), settings, captured=False)
    card.load(folds, [adam_init(params) for params in folds])
    order = np.full((2, len(data)), -1, np.int32)
    for k, graphs in enumerate(orders):
        order[k, : len(graphs)] = graphs
    card.buffers.order[:] = launch.xp.asarray(order)
    errors = []
    for at in range(0, len(data), 50):
        card.buffers.cursor[:] = at // 50
        make_card_batch(launch, card.shape, card.table, card.buffers)
        forward(launch, card.shape, card.table.y, card.net, card.buffers)
        backward(launch, card.shape, card.net, card.buffers)
        losses, found = to_host(card.buffers.loss), unpack(to_host(card.net.gradient), folds)
        for k, params in enumerate(folds):
            chosen = orders[k][at : at + 50]
            if len(chosen):
                batch = make_batch(quotient, chosen, dtype)
                loss, cache = loss_forward(params, batch, data.y[chosen], pq)
                expected = loss_backward(1.0, cache)
                errors.append((relative_error(losses[k].sum() / len(chosen), loss), tree_error(found[k], expected)))
    of_losses, of_gradients = zip(*errors, strict=True)
    return max(of_losses), max(of_gradients)
