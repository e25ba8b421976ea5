"""How near an epoch is to the least time that its work takes on this machine.

    python scripts/floor.py [--data-dir DIR] [--datasets MUTAG NCI1 ...] [--rounds 7] [--markdown FILE]

Counted for the quotient form as training computes it (minipinet/fast), over the batches of an epoch: the operations of
the dense products, at the fastest rate that large products reach here; exponentials, at NumPy's rate; and the memory
traffic between steps that no ordering of them saves, at the rate of a copy of a table of the batch's size. Their sum is
the floor; beside it the epoch as measured, with one thread, the time of the products when each has the shape that it
has, and the shares of the parts of a step. What calling NumPy costs, products too small for the peak, temporaries, and
the gradients of p and q are in the epoch and not in the floor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from peers.problem import BATCH_SIZE, DATASETS, load
from threadpoolctl import threadpool_limits

from minipinet.datasets import Dataset
from minipinet.fast.batch import FastBatch
from minipinet.fast.training import adam_step, loss_backward, loss_forward, make_fast_batches
from minipinet.optim import adam_init
from minipinet.params import PiNetParams, init_params
from minipinet.quotient import Quotient, refine

PARTS = ("batches", "forward", "backward", "Adam")


class Work(NamedTuple):
    """What cannot be left out."""

    flops: float  #: of dense products, a multiplication and an addition being two
    exps: float
    bytes: float  #: read and written between steps


class Rates(NamedTuple):
    """What this machine does in a second with one thread."""

    flops: float
    exps: float
    bytes: float


class Product(NamedTuple):
    """(m, k) times (k, n), so many times."""

    times: int
    m: int
    k: int
    n: int


def products(batch: FastBatch, params: PiNetParams) -> list[Product]:
    """Return the dense products of a training step: forward, then for W, and for the input where that has a use."""
    (d, h), (o, C) = params.W_A0.shape, (params.W_A1.shape[1], params.W_D.shape[1])
    n_0, n_1, n_2 = len(batch.X), *(len(layer.at_own) for layer in batch.layers)
    K, E = len(batch.entries.ptr) - 1, len(batch.entries.count)
    found = [Product(2, n_1, h, o), Product(2, h, n_1, o), Product(2, n_1, o, h)]
    if d < h:  # (A~ X) W, whose input has p and q in it
        found += [Product(2, n_1, d, h), Product(2, d, n_1, h), Product(2, n_1, h, d)]
    else:
        found += [Product(2, n_0, d, h), Product(2, d, n_0, h)]
    if C == 2:  # one score a state
        return [*found, Product(2, n_2, o, o), Product(1, o, n_2, o)]
    size = round(E / max(K, 1))  # states of a graph, whose pooled matrix is formed
    found += [Product(K, o, size, o + 1), Product(K, size, o + 1, o), Product(K, size, o, o)]
    return [*found, Product(1, K, o * o, C), Product(1, K, C, o * o), Product(1, o * o, K, C)]


def work(batch: FastBatch, params: PiNetParams) -> Work:
    """Count a training step on a batch: forward, backward and Adam."""
    (d, h), (o, C) = params.W_A0.shape, (params.W_A1.shape[1], params.W_D.shape[1])
    first, second = batch.layers
    n_0, n_1, n_2 = len(batch.X), len(first.at_own), len(second.at_own)
    nnz_1, nnz_2 = len(first.data), len(second.data)
    K, E = len(batch.entries.ptr) - 1, len(batch.entries.count)
    flops = sum(2 * times * m * k * n for times, m, k, n in products(batch, params))

    # Sparse products, both stacks, forward and backward: a row read for each entry, the result written.
    F = min(d, h)
    numbers = 2 * F * (2 * nnz_1 + n_1 + n_0) + 2 * o * (2 * nnz_2 + n_2 + n_1)
    # ReLU reads and writes; backward it reads two and writes one.
    numbers += 5 * (2 * n_1 * h + n_2 * o)
    if C == 2:
        # e T; sums by graph of e and e T; backward dY by state, and with e and T to dH and dT.
        numbers += 3 * n_2 * o + 2 * 2 * (E + K) * o + 2 * n_2 * o + 6 * n_2 * o
    else:
        # softmax reads and writes; backward it reads two and writes one; sums by state of dH and dZ_X.
        numbers += 5 * E * o + 2 * (E + n_2) * o
    # The batch, written and read; the parameters, their gradients and both moments read, all but the gradients written.
    numbers += 2 * (n_0 * d + 3 * (nnz_1 + nnz_2 + E))
    numbers += 7 * sum(w.size for w in params if w is not None)
    return Work(flops, (n_2 if C == 2 else E) * o, 4 * numbers)


def total(works: Iterable[Work]) -> Work:
    """Add up."""
    return Work(*map(sum, zip(*works, strict=True)))


def seconds(done: Work, rates: Rates) -> Work:
    """Return the least time of each kind of work."""
    return Work(*(amount / rate for amount, rate in zip(done, rates, strict=True)))


def fastest(call: Callable[[], object], least: float = 0.3) -> float:
    """Return the shortest time of a call among those that fit into `least` seconds."""
    best, end = np.inf, time.perf_counter() + least
    while (began := time.perf_counter()) < end:
        call()
        best = min(best, time.perf_counter() - began)
    return best


def time_product(product: Product) -> float:
    """Return the shortest time of these products, each into the same array."""
    rng, (times, m, k, n) = np.random.default_rng(0), product
    A, B, out = rng.random((m, k), np.float32), rng.random((k, n), np.float32), np.empty((m, n), np.float32)
    return times * fastest(lambda: np.matmul(A, B, out=out), 0.05)


def measure_rates(table: int) -> Rates:
    """Measure this machine; `table` is the number of float32 numbers that is copied."""
    rng = np.random.default_rng(0)
    flops = max(2 * n**3 / time_product(Product(1, n, n, n)) for n in (256, 512, 1024))
    x, y = rng.random(table, np.float32), np.empty(table, np.float32)
    return Rates(flops, table / fastest(lambda: np.exp(x, out=y)), 2 * 4 * table / fastest(lambda: np.copyto(y, x)))


def epoch(
    quotient: Quotient, y: np.ndarray, params: PiNetParams, rng: np.random.Generator, rounds: int
) -> tuple[np.ndarray, list[FastBatch]]:
    """Train for an epoch to warm up and `rounds` more: median seconds of each part, the batches of the last epoch."""
    adam, taken, last = adam_init(params), np.zeros((rounds + 1, len(PARTS))), []
    for k in range(rounds + 1):
        order = rng.permutation(len(y))
        at, mark = 0, time.perf_counter()
        for batch in make_fast_batches(quotient, order, BATCH_SIZE):
            chosen = order[at : at + BATCH_SIZE]
            marks = [time.perf_counter()]
            _, cache = loss_forward(params, batch, y[chosen])
            marks.append(time.perf_counter())
            grads = loss_backward(1.0, cache)
            marks.append(time.perf_counter())
            params, adam = adam_step(params, grads, adam)
            marks.append(time.perf_counter())
            taken[k] += np.diff([mark, *marks])
            if k == rounds:
                last.append(batch)
            at, mark = at + BATCH_SIZE, time.perf_counter()
    return np.median(taken[1:], axis=0), last


def line(name: str, dataset: Dataset, rounds: int) -> tuple[str, Rates]:
    """Return a row of the table, and the rates it was computed with."""
    rng = np.random.default_rng(0)
    params = init_params(rng, dataset.num_features, dataset.num_classes)
    parts, batches = epoch(refine(dataset.graphs), dataset.y, params, rng, rounds)
    done = total(work(batch, params) for batch in batches)
    rates = measure_rates(int(np.mean([2 * len(batch.layers[0].at_own) for batch in batches])) * params.W_A0.shape[1])
    least = seconds(done, rates)
    # The products of one batch as they are shaped, and as many more as the epoch has operations.
    typical = batches[len(batches) // 2]
    shaped = sum(map(time_product, products(typical, params))) * done.flops / work(typical, params).flops
    floor, measured = 1e3 * sum(least), 1e3 * parts.sum()
    cells = [
        name,
        *(f"{1e3 * part:.2f}" for part in least),
        f"{floor:.2f}",
        f"{measured:.2f}",
        f"{measured / floor:.1f}",
        f"{1e3 * shaped:.2f}",
        *(f"{part:.0%}" for part in parts / parts.sum()),
    ]
    return "| " + " | ".join(cells) + " |", rates


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="folder of TU zips (MUTAG and the isomorphism test need none)")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=list(DATASETS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    titles = ["data set", "products, ms", "exp, ms", "traffic, ms", "floor, ms", "epoch, ms", "epoch / floor"]
    titles += ["products as shaped, ms", *PARTS]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    print(*lines, sep="\n", flush=True)
    with threadpool_limits(1):
        for name in options.datasets:
            row, rates = line(name, load(name, options.data_dir), options.rounds)
            lines.append(row)
            print(row, flush=True)
    lines += [
        "",
        f"One thread, float32, batches of {BATCH_SIZE}; products {rates.flops / 1e9:.0f} GFLOP/s, "
        f"exponentials {rates.exps / 1e9:.2f} a nanosecond, copies (last set) {rates.bytes / 1e9:.0f} GB/s.",
    ]
    print(*lines[-2:], sep="\n")
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
