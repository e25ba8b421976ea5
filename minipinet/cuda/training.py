"""Training on a card: data sets and the states of one or several folds live there, and an epoch is a row of replays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from minipinet._array import Array, to_host
from minipinet.cuda.buffers import Net, Rule, Shape, allocate
from minipinet.cuda.dataset import GraphTable, capacities, join_tables
from minipinet.cuda.launch import Launcher
from minipinet.cuda.parameters import ends, leaves_of, pack, unpack, widest
from minipinet.cuda.step import backward, forward, make_batch, update
from minipinet.optim import AdamState
from minipinet.params import PiNetParams
from minipinet.settings import Settings


class Card:
    """K folds in training, each with its own parameters, moments and order of graphs.

    Parameters
    ----------
    launch : Launcher
    tables : sequence of GraphTable
        The data set in each encoding that a fold has it in, on the host; moved to the card once. Graphs are counted
        through all of them.
    likes : sequence of K PiNetParams
        Of the shapes and dtype of each fold's parameters.
    n : int
        Number of training graphs of the largest fold.
    settings : Settings
        Read: batch_size, lr, l2, pq.
    captured : bool
        Whether a step is captured once and replayed, or each of its kernels launched every time.
    """

    def __init__(
        self,
        launch: Launcher,
        tables: Sequence[GraphTable],
        likes: Sequence[PiNetParams],
        n: int,
        settings: Settings,
        *,
        captured: bool = True,
    ) -> None:
        like, table, K = widest(likes), join_tables(tables), len(likes)
        xp, dtype = launch.xp, like.W_D.dtype.name
        self.launch, self.likes, self.rule = launch, likes, Rule(settings.lr, settings.l2)
        B, G = min(settings.batch_size, n), len(table.y)
        (d, F_0), F, C = like.W_A0.shape, like.W_A1.shape[1], like.W_D.shape[1]
        self.shape = Shape(K, B, n, G, d, F_0, F, C, *capacities([one.ptr for one in tables], B))
        self.buffers = allocate(xp, self.shape, dtype, like.b_A1 is not None)
        first, second = (type(layer)(*map(xp.asarray, layer)) for layer in table.layers)
        ptr, X, count, y = map(xp.asarray, (table.ptr, table.X, table.count, table.y))
        self.table = GraphTable(ptr, X, (first, second), count, y)
        size = K * sum(w.size for w in like if w is not None)
        state, gradient = xp.zeros((3, size), dtype), xp.zeros(size, dtype)
        views = leaves_of(state[0], like, K), leaves_of(gradient, like, K)
        self.net = Net(state, state[0], state[1], state[2], gradient, xp.asarray(ends(like, K)), *views)
        if settings.pairs is not None:
            self.buffers.pq[:] = xp.asarray(np.asarray(settings.pairs, dtype).reshape(2, 2, 2))
        self._to_capture = captured
        # Never a method of this object: such a circle would keep all that it has on the card until Python looks for
        # circles, for which memory on a card is no reason.
        self._replay: Callable[[], None] | None = None

    def load(self, params: Sequence[PiNetParams], adam: Sequence[AdamState]) -> None:
        """Move each fold's parameters and moments to the card."""
        xp = self.launch.xp
        rows = [pack(trees) for trees in (params, [a.m for a in adam], [a.v for a in adam])]
        self.net.state[:] = xp.asarray(np.stack(rows))
        self.buffers.steps[:] = xp.asarray(np.array([a.step for a in adam], np.int64))

    def read(self) -> tuple[list[PiNetParams], list[AdamState]]:
        """Return each fold's parameters and Adam state, on the host."""
        params, m, v = (unpack(row, self.likes) for row in to_host(self.net.state))
        steps = to_host(self.buffers.steps).tolist()
        return params, [AdamState(*parts) for parts in zip(steps, m, v, strict=True)]

    def epoch(self, orders: Sequence[Array]) -> Array:
        """Train every fold on its graphs in this order; return the sums of losses and of right answers, (K, 2).

        A fold without graphs stays as it is. Raises nothing of its own: a loss that is not finite is in the sums.
        """
        xp, b = self.launch.xp, self.buffers
        if self._to_capture:
            # With no graph in the batch a step changes nothing but the cursor: what a capture may run beforehand.
            self._to_capture, self._replay = False, self.launch.capture(self._step)
        step = self._replay or self._step
        order = np.full((self.shape.K, self.shape.n), -1, np.int32)
        for k, graphs in enumerate(orders):
            order[k, : len(graphs)] = graphs
        b.order[:] = xp.asarray(order)
        b.cursor[:] = 0
        b.sums[:] = 0
        for _ in range(-(-max(map(len, orders)) // self.shape.B)):
            step()
        return to_host(b.sums)

    def _step(self) -> None:
        launch, shape, net, buffers = self.launch, self.shape, self.net, self.buffers
        make_batch(launch, shape, self.table, buffers)
        forward(launch, shape, self.table.y, net, buffers)
        backward(launch, shape, net, buffers)
        update(launch, shape, self.rule, net, buffers)
