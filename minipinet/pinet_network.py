"""PiNet on the graphs of a data set as the training loop sees it: what it is made of, here or on a card."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from minipinet._array import Array
from minipinet._host import refuse_card
from minipinet.batch import make_batches
from minipinet.evaluation import SMALLER_WHILE_TRAINING, pinet_scores, placed_on
from minipinet.fast.training import loss_backward, loss_forward, make_fast_batches
from minipinet.network import Batch, Network, Params
from minipinet.params import init_params, pq_values
from minipinet.quotient import Quotient
from minipinet.settings import Settings, whole


def pinet_network(quotient: Quotient, settings: Settings, C: int) -> Network:
    """Return PiNet on the graphs of a quotient, as the training loop sees it."""
    refuse_card("quotient", quotient)
    pairs, C, device = settings.pairs, whole("C", C), settings.on_this_machine().device
    placed = placed_on(device, SMALLER_WHILE_TRAINING)

    def batches(index: Array, batch_size: int, rng: np.random.Generator | None) -> Iterable[Batch]:
        # To score, the form in which a graph's scores have the same bits in every batch; to train, the faster one.
        if rng is None:
            return map(placed, make_batches(quotient, index, batch_size, settings.dtype))
        return make_fast_batches(quotient, index, batch_size, settings.dtype)

    epoch = None
    if device == "cuda":
        from minipinet.cuda.folds import card_epoch

        epoch = card_epoch(quotient, settings)

    return Network(
        G=quotient.counts.shape[0],
        C=C,
        init=partial(init_pinet, settings=settings, d=quotient.X.shape[1], C=C),
        batches=batches,
        loss_forward=lambda params, batch, y: loss_forward(params, batch, y, pairs, settings.l2),
        loss_backward=loss_backward,
        scores=pinet_scores(pairs, device, SMALLER_WHILE_TRAINING),
        placed=placed,
        epoch=epoch,
        pq=lambda params: pq_values(params, pairs),
    )


def init_pinet(rng: np.random.Generator, settings: Settings, d: int, C: int) -> Params:
    """Draw the initial parameters that `settings` ask for."""
    taken = ("hidden", "out", "bias", "learned_pq", "init", "dtype")
    return init_params(rng, d, C, **{name: getattr(settings, name) for name in taken})
