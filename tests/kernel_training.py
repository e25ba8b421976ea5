"""Folds in training by the kernels on the host, step by step, beside the pairs of minipinet.fast."""

from __future__ import annotations

from typing import Any

import numpy as np

from minipinet._array import Array, to_host
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.parameters import unpack
from minipinet.cuda.step import backward, forward, make_batch, update
from minipinet.cuda.training import Card
from minipinet.fast.batch import make_fast_batches
from minipinet.fast.model import loss_backward, loss_forward
from minipinet.model import MESSAGE_KERNELS
from minipinet.optim import AdamState, adam_init, adam_step
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import Quotient
from minipinet.settings import LEARNED, Settings
from minipinet.verify.pairs import draw
from tests.fences import Fenced
from tests.kernels_on_host import HostLauncher
from tests.tolerances import relative_error, tree_error


class Training(Card):
    """Folds on the host's "card", step by step."""

    def __init__(
        self,
        quotient: Quotient,
        y: Array,
        folds: list[PiNetParams],
        orders: list[Array],
        B: int,
        *,
        pq: Array | None = None,
        l2: float = 0.0,
        kernels: dict[str, Any] | None = None,
        launcher: type[HostLauncher] = Fenced,
    ) -> None:
        dtype, n = folds[0].W_D.dtype.name, max(map(len, orders))
        fixed: Any = LEARNED if pq is None else tuple(map(tuple, pq.tolist()))
        self.host, chosen = launcher(dtype, kernels), Settings(batch_size=B, l2=l2, pq=fixed)
        super().__init__(self.host, [graph_table(quotient, y, dtype)], folds, n, chosen)
        self.load(folds, [adam_init(params) for params in folds])
        for k, order in enumerate(orders):
            self.buffers.order[k, : len(order)] = self.launch.xp.asarray(order)

    def gradients(self) -> list[PiNetParams]:
        """Fill everything from the batch to the gradient, without the step."""
        make_batch(self.launch, self.shape, self.table, self.buffers)
        forward(self.launch, self.shape, self.table.y, self.net, self.buffers)
        backward(self.launch, self.shape, self.net, self.buffers)
        return unpack(to_host(self.net.gradient), self.likes)

    def update(self) -> list[PiNetParams]:
        update(self.launch, self.shape, self.rule, self.net, self.buffers)
        return unpack(to_host(self.net.vector), self.likes)


def worst_of_an_epoch(
    quotient: Quotient,
    y: Array,
    folds: list[PiNetParams],
    orders: list[Array],
    B: int,
    pq: Array | None = None,
    l2: float = 0.0,
    kernels: dict[str, Any] | None = None,
) -> float:
    """Train every fold by kernels and by the pairs, and return the greatest relative error of losses and gradients."""
    training = Training(quotient, y, folds, orders, B, pq=pq, l2=l2, kernels=kernels)
    states: list[tuple[PiNetParams, AdamState]] = [(params, adam_init(params)) for params in folds]
    errors, dtype, sums = [], folds[0].W_D.dtype.name, np.zeros((len(folds), 2))
    for at in range(0, max(map(len, orders)), B):
        found = training.gradients()
        losses, answers = to_host((training.buffers.loss, training.buffers.right))
        for k, order in enumerate(orders):
            chosen = order[at : at + B]
            if not len(chosen):
                continue
            params, adam = states[k]
            batch = next(make_fast_batches(quotient, chosen, B, dtype))
            loss, cache = loss_forward(params, batch, y[chosen], pq)
            expected, log_probabilities = loss_backward(1.0, cache), cache.cross_entropy.log_probabilities
            errors += [relative_error(losses[k].sum() / len(chosen), loss), tree_error(found[k], expected)]
            sums[k] += len(chosen) * loss, answers[k].sum()
            # Where two classes are as good as even, rounding may choose; of one class, its answer is right.
            clear = (abs(np.diff(np.sort(log_probabilities)[:, -2:], axis=1)) > 1e-4).all(axis=1)
            right = (log_probabilities.argmax(axis=1) == y[chosen])[clear]
            assert (answers[k, : len(chosen)][clear] == right).all()
            # The step itself, from the kernels' own gradient: one that is 0 but for rounding has a sign of its own.
            penalised = {name: getattr(found[k], name) + 2 * l2 * getattr(params, name) for name in MESSAGE_KERNELS}
            states[k] = adam_step(params, found[k]._replace(**penalised), adam)
        after = training.update()
        errors += [tree_error(after[k], states[k][0]) for k in range(len(folds))]
        states = [(after[k], adam) for k, (_, adam) in enumerate(states)]
    errors.append(relative_error(to_host(training.buffers.sums), sums))
    assert training.buffers.steps.tolist() == [-(-len(order) // B) for order in orders]
    return max(errors)


def drawn(
    rng: np.random.Generator,
    d: int,
    C: int,
    *,
    bias: bool,
    learned: bool,
    hidden: int = 5,
    out: int = 4,
    dtype: str = "float64",
) -> PiNetParams:
    params = init_params(rng, d, C, hidden=hidden, out=out, bias=bias, learned_pq=learned, dtype=dtype)
    return PiNetParams(*(w if w is None else (draw(rng, *w.shape) / 2).astype(dtype) for w in params))
