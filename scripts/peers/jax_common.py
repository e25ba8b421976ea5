"""What both JAX peers share: learned p and q, Adam, and one compiled step a shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from serve import Arrays, batches, device

Tree = Any
WEIGHTS = ("W_A0", "W_A1", "W_X0", "W_X1", "W_D", "p_raw", "q_raw")


def pq(params: Tree, k: int) -> tuple[Any, Any]:
    """Return p and q of layer k in the order A0, A1, X0, X1."""
    return jax.nn.sigmoid(4 * params["p_raw"][k]), jax.nn.sigmoid(4 * params["q_raw"][k])


def mean_cross_entropy(logits: Any, batch: Tree) -> Any:
    """Return the mean over the graphs whose weight is 1; graphs that only fill the shape have weight 0."""
    log_p = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(log_p, batch["y"][:, None], axis=1)[:, 0]
    return -(picked * batch["real"]).sum() / batch["real"].sum()


def adam(params: Tree, grads: Tree, state: Tree, lr: float) -> tuple[Tree, Tree]:
    step, m, v = state
    step = step + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    c1, c2 = 1 - 0.9**step, 1 - 0.999**step
    params = jax.tree.map(lambda w, m, v: w - lr * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), params, m, v)
    return params, (step, m, v)


def bucket(n: int, largest: int) -> int:
    """Round up to an eighth of the largest, so that there are at most eight shapes to compile."""
    step = -(-largest // 8)
    return -(-n // step) * step


def fill(array: np.ndarray, n: int, value: float = 0) -> np.ndarray:
    """Lengthen an array to n rows of a value."""
    out = np.full((n, *array.shape[1:]), value, array.dtype)
    out[: len(array)] = array
    return out


class Peer:
    """The batches of the first epoch made once and used in every epoch."""

    def __init__(
        self,
        arrays: Arrays,
        make: Callable[[Arrays, list[np.ndarray]], list[dict[str, np.ndarray]]],
        logits: Callable[[Tree, Tree], Any],
    ) -> None:
        if device() != "cpu":
            jax.config.update("jax_default_device", jax.devices(device())[0])  # an error where there is none
            jax.config.update("jax_default_matmul_precision", "highest")  # float32, as the others
        chosen = batches(arrays["orders"][0], int(arrays["batch_size"]))
        self.batches = [jax.tree.map(jnp.asarray, batch) for batch in make(arrays, chosen)]
        self.sizes = [len(graphs) for graphs in chosen]
        self.initial = {name: arrays[name] for name in WEIGHTS}
        self.restart()
        lr = float(arrays["lr"])

        def loss(params: Tree, batch: Tree) -> Any:
            return mean_cross_entropy(logits(params, batch), batch)

        @partial(jax.jit, donate_argnums=(0, 1))
        def train(params: Tree, state: Tree, batch: Tree) -> tuple[Any, Tree, Tree]:
            value, grads = jax.value_and_grad(loss)(params, batch)
            return value, *adam(params, grads, state, lr)

        self.first_loss, self.train = jax.jit(loss), train

    def restart(self) -> None:
        # Copies, as a step writes into what it is given.
        self.params = jax.tree.map(jnp.array, self.initial)
        self.state = (jnp.float32(0), *(jax.tree.map(jnp.zeros_like, self.params) for _ in "mv"))

    def loss(self) -> float:
        return float(self.first_loss(self.params, self.batches[0]))

    def epoch(self, order: np.ndarray) -> float:
        losses = []
        for batch in self.batches:
            value, self.params, self.state = self.train(self.params, self.state, batch)
            losses.append(value)
        return float(np.dot(jax.device_get(losses), self.sizes)) / len(order)
