"""minipinet's own training, step by step as `minipinet.train` does it; batches are cut anew in each epoch."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from serve import Arrays, serve
from threadpoolctl import threadpool_limits

from minipinet.fast.training import (
    adam_step,
    compiled_form,
    loss_backward,
    loss_forward,
    make_fast_batches,
    training_threads,
)
from minipinet.optim import adam_init
from minipinet.params import PiNetParams
from minipinet.quotient import refine
from minipinet.union import DisjointUnion

VERSIONS = ["minipinet", "numpy", "scipy", "numba"]


class Ours:
    """Minipinet, in the form that this environment has."""

    def __init__(self, arrays: Arrays, threads: int) -> None:
        if compiled_form() is None:
            threadpool_limits(threads)
        else:
            self.threads = training_threads(threads)  # held as long as the process
            self.threads.__enter__()
        N, size = int(arrays["ptr"][-1]), int(arrays["batch_size"])
        A = scipy.sparse.csr_array((arrays["weight"].astype(float), arrays["indices"], arrays["indptr"]), shape=(N, N))
        self.quotient = refine(DisjointUnion(A, arrays["X"].astype(float), arrays["ptr"]))
        self.y, self.size, self.lr, self.first = arrays["y"], size, float(arrays["lr"]), arrays["orders"][0, :size]
        self.initial = PiNetParams(*(arrays.get(name) for name in PiNetParams._fields))
        self.restart()

    def restart(self) -> None:
        self.params, self.adam = self.initial, adam_init(self.initial)

    def loss(self) -> float:
        batch = next(make_fast_batches(self.quotient, self.first, self.size))
        return float(loss_forward(self.params, batch, self.y[self.first])[0])

    def epoch(self, order: np.ndarray) -> float:
        params, adam, total = self.params, self.adam, 0.0
        batches = make_fast_batches(self.quotient, order, self.size)
        with np.errstate(over="ignore", invalid="ignore"):
            for at, batch in zip(range(0, len(order), self.size), batches, strict=True):
                chosen = order[at : at + self.size]
                loss, cache = loss_forward(params, batch, self.y[chosen])
                total += float(loss) * len(chosen)
                params, adam = adam_step(params, loss_backward(1.0, cache), adam, self.lr)
        self.params, self.adam = params, adam
        return total / len(order)


if __name__ == "__main__":
    serve(Ours, VERSIONS)
