#!/usr/bin/env python3
"""Train the released code's variants of PiNet in the isomorphism test: which of its differences cost accuracy?

    python scripts/isomorphism_released.py [--variants NAME ...] [--labels NAME ...] [--sizes 2 8 20] [--trials 10]
    python scripts/isomorphism_released.py --lottery [--trials 10] [--steps 4000]

A variant is the package's own network with a pair (forward and backward) put in another's place, trained by the
package's own loop. The first prints a Markdown table, a line for each variant and kind of node labels: mean accuracy on
test and on training graphs in batches of five in a random order; on test graphs in batches drawn anew each time, as the
released code tests, class after class, and one by one; and over the trials of all sizes the standard deviation of the
first and the shares at 1.00 and below .50. Kinds of labels:

own       two, at random, drawn for each class;
shared    the same, but four of the five classes have them on the same nodes, as in the released generator;
constant  none.

--lottery follows PiNet with p = 1, q = 0 on constant features, and prints what its last steps do.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet import attention_readout, model, propagation
from minipinet.attention import column_softmax_backward, column_softmax_forward
from minipinet.datasets.realisations import draw_classes, draw_connected
from minipinet.evaluation import score
from minipinet.graphs import as_graph, permute_nodes
from minipinet.pool import sum_by_state
from minipinet.quotient import Quotient, refine
from minipinet.readout import (
    CrossEntropyCache,
    log_softmax,
    softmax_cross_entropy_backward,
    softmax_cross_entropy_forward,
)
from minipinet.settings import Settings
from minipinet.train import TrainState, fit
from minipinet.union import disjoint_union

N, C, P, BATCH = 50, 5, 0.15, 5
#: Graphs tested: ten of a class, ten batches.
TESTED = 50
#: Training steps at every size: 200 epochs of ceil(graphs tested / batch size) steps, the released code's slip.
STEPS = 2000
CLIP = 1e-7
Pair = tuple[Callable[..., Any], Callable[..., Any]]


def over_batch_forward(H: Any, pool: Any) -> Any:
    """Let the nodes at one place of all graphs of the batch share the attention; the graphs are of one size."""
    L = H[pool.state].reshape(len(pool.ptr) - 1, -1, H.shape[1])
    e = np.exp(L - L.real.max(axis=0))
    Z_A = e / e.sum(axis=0)
    return Z_A.reshape(-1, H.shape[1]), (Z_A, pool)


def over_batch_backward(dZ_A: Any, cache: Any) -> Any:
    Z_A, pool = cache
    # Z_A = e / e.sum(axis=0)
    dL = Z_A * dZ_A.reshape(Z_A.shape)
    dL -= Z_A * dL.sum(axis=0)
    # L = H[state]
    return sum_by_state(dL.reshape(dZ_A.shape), pool)


def after_relu(softmax: Pair) -> Pair:
    """Put a ReLU before a softmax."""

    def forward(H: Any, pool: Any) -> Any:
        R, mask = propagation.relu_forward(H)
        Z_A, cache = softmax[0](R, pool)
        return Z_A, (mask, cache)

    def backward(dZ_A: Any, cache: Any) -> Any:
        mask, softmax_cache = cache
        # Z_A = softmax(R), R = relu(H)
        return propagation.relu_backward(softmax[1](dZ_A, softmax_cache), mask)

    return forward, backward


def quarter_forward(deg: Any, p: Any) -> Any:
    """Return s = (p + (1-p) deg)^(-1/4) for a root, 0 where the base is 0."""
    base = p + (1 - p) * deg
    s = np.where(base == 0, 0, np.where(base == 0, 1, base) ** -0.25)
    return s, propagation.ScalingCache(s, deg)


def quarter_backward(ds: Any, cache: Any) -> Any:
    s, deg = cache
    # s = (p + (1-p) deg)^(-1/4)
    return np.vdot(ds, -0.25 * s**5 * (1 - deg))


class ClippedCache(NamedTuple):
    log_probabilities: Any
    y: Any
    inside: Any  #: (B,) bool, where clipping changes nothing


def clipped_forward(Z: Any, y: Any) -> Any:
    """Take the logarithm of probabilities clipped to [1e-7, 1 - 1e-7], as Keras did at the time."""
    log_probabilities = log_softmax(Z)
    right = np.exp(log_probabilities[np.arange(len(y)), y])
    inside = (right.real > CLIP) & (right.real < 1 - CLIP)
    loss = -np.log(np.where(inside, right, np.where(right.real > CLIP, 1 - CLIP, CLIP))).mean()
    return loss, ClippedCache(log_probabilities, y, inside)


def clipped_backward(dloss: Any, cache: ClippedCache) -> Any:
    log_probabilities, y, inside = cache
    # loss = cross_entropy, where nothing is clipped; elsewhere it is constant: no gradient
    return inside[:, None] * softmax_cross_entropy_backward(dloss, CrossEntropyCache(log_probabilities, y))


COLUMN: Pair = (column_softmax_forward, column_softmax_backward)
OVER_BATCH: Pair = (over_batch_forward, over_batch_backward)
ROOT: Pair = (propagation.scaling_forward, propagation.scaling_backward)
QUARTER: Pair = (quarter_forward, quarter_backward)
ENTROPY: Pair = (softmax_cross_entropy_forward, softmax_cross_entropy_backward)
CLIPPED: Pair = (clipped_forward, clipped_backward)


class Variant(NamedTuple):
    """Pairs in place of the package's own, and settings."""

    softmax: Pair = COLUMN
    scaling: Pair = ROOT
    pq: tuple[float, float] = (1, 0)
    loss: Pair = ENTROPY
    released: bool = True  #: 32 + 32 outputs, orthogonal start, biases, L2 5e-4; else the package's defaults


VARIANTS = {
    "package": Variant(released=False),
    "settings": Variant(),
    "relu": Variant(after_relu(COLUMN)),
    "over-batch": Variant(OVER_BATCH),
    "relu-over-batch": Variant(after_relu(OVER_BATCH)),
    "p0q0": Variant(pq=(0, 0)),
    "quarter-p0q0": Variant(COLUMN, QUARTER, (0, 0)),
    "clipped": Variant(loss=CLIPPED),
    **{f"all-p{p}q{q}": Variant(after_relu(OVER_BATCH), QUARTER, (p, q), CLIPPED) for p in (1, 0) for q in (0, 1)},
}
LABELS = ("own", "shared", "constant")


@contextmanager
def in_place(variant: Variant) -> Iterator[None]:
    """Make the package's network the variant."""
    softmax, scaling, loss = variant.softmax, variant.scaling, variant.loss
    names = ("softmax_cross_entropy_forward", "softmax_cross_entropy_backward")
    with (
        mock.patch.multiple(model, **dict(zip(names, loss, strict=True))),
        mock.patch.multiple(attention_readout, column_softmax_forward=softmax[0], column_softmax_backward=softmax[1]),
        mock.patch.multiple(propagation, scaling_forward=scaling[0], scaling_backward=scaling[1]),
    ):
        yield


def draw_data(rng: np.random.Generator, labels: str, copies: int, *, merge: bool) -> tuple[Quotient, Any]:
    """Draw five graphs of the same degrees at the same nodes, and of each so many copies with the nodes permuted."""
    prototypes = draw_classes(rng, draw_connected(rng, N, P), C)
    ones = rng.integers(2, size=(C, N))
    if labels == "shared":
        ones[2:] = ones[1]
    X = np.ones((C, N, 1)) if labels == "constant" else np.eye(2)[ones]
    classes = [as_graph(A.astype(float), x) for A, x in zip(prototypes, X, strict=True)]
    graphs = [permute_nodes(graph, rng.permutation(N)) for graph in classes for _ in range(copies)]
    return refine(disjoint_union(graphs), merge), np.repeat(np.arange(C), copies)


def train(variant: Variant, quotient: Quotient, y: Any, index: Any, steps: int, seed: int) -> tuple[TrainState, Any]:
    """Train on batches that are each drawn from all training graphs (epochs of one step); return state, p and q."""
    released: dict[str, Any] = {"out": 32, "init": "orthogonal", "bias": True, "l2": 5e-4} if variant.released else {}
    settings = Settings(epochs=steps, batch_size=BATCH, steps_per_epoch=1, pq=variant.pq, seed=seed, **released)
    with in_place(variant):
        return fit(quotient, y, index, settings, C=C), settings.pairs


def run_trial(variant: Variant, labels: str, size: int, steps: int, seed: int) -> list[float]:
    """Return accuracies: tested, trained, tested in drawn batches, class after class and one by one."""
    rng = np.random.default_rng([seed, size])
    copies = size + TESTED // C
    # Without the softmax over the batch a node's place is nothing: nodes of equal state share a row.
    quotient, y = draw_data(rng, labels, copies, merge=variant.softmax in (COLUMN, VARIANTS["relu"].softmax))
    tested = np.arange(len(y)) % copies >= size
    trained, tested = np.flatnonzero(~tested), np.flatnonzero(tested)
    state, pq = train(variant, quotient, y, trained, steps, seed)

    def accuracy(index: Any, batch: int = BATCH) -> float:
        logits = score(state.params, pq, quotient, index, batch_size=batch)
        return float(np.mean(logits.argmax(axis=1) == y[index]))

    drawn = np.concatenate([rng.choice(tested, BATCH, replace=False) for _ in range(TESTED // BATCH)])

    with in_place(variant):
        mixed = [accuracy(rng.permutation(index)) for index in (tested, trained)]
        return [*mixed, accuracy(drawn), accuracy(tested), accuracy(tested, 1)]


def print_table(args: argparse.Namespace) -> None:
    print("| variant | labels | " + " | ".join(f"{size}: test / train" for size in args.sizes), end=" | ")
    print("drawn | class by class | one by one | sd | at 1.00 | below .50 | seconds |")
    print("|---" * (9 + len(args.sizes)) + "|")
    for name in args.variants:
        for labels in args.labels:
            began = time.perf_counter()
            trials = [
                [run_trial(VARIANTS[name], labels, size, args.steps, seed) for seed in range(args.trials)]
                for size in args.sizes
            ]
            found = np.array(trials)
            cells = [f"{test:.2f} / {trained:.2f}" for test, trained, *_ in found.mean(axis=1)]
            test = found[..., 0]
            shares = [*found[..., 2:].mean(axis=(0, 1)), test.std(), np.mean(test == 1), np.mean(test < 0.5)]
            cells += [f"{share:.2f}" for share in shares] + [f"{time.perf_counter() - began:.0f}"]
            print(f"| {name} | {labels} | {' | '.join(cells)} |", flush=True)


def print_lottery(args: argparse.Namespace) -> None:
    marks = [step for step in (20, 100, 500, 1000, 2000, 4000) if step < args.steps]
    print("| trial | " + " | ".join(f"loss, accuracy at {step}" for step in [*marks, args.steps]), end=" | ")
    print("lowest and highest accuracy of the last 100 | share of them at 1.00 |")
    print("|---" * (4 + len(marks)) + "|")
    for trial in range(args.trials):
        quotient, y = draw_data(np.random.default_rng(trial), "constant", 1, merge=True)
        state, _ = train(VARIANTS["package"], quotient, y, np.arange(C), args.steps, trial)
        loss, accuracy = np.array([[record.loss, record.accuracy] for record in state.history]).T
        cells = [f"{loss[step - 1]:.2f}, {accuracy[step - 1]:.1f}" for step in [*marks, args.steps]]
        late = accuracy[-100:]
        cells += [f"{late.min():.1f} to {late.max():.1f}", f"{np.mean(late == 1):.2f}"]
        print(f"| {trial} | {' | '.join(cells)} |", flush=True)


def main(arguments: Any = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="NAME")
    parser.add_argument("--labels", nargs="+", choices=LABELS, default=list(LABELS), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=[2, 8, 20], metavar="N", help="training graphs a class")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--steps", type=int, help="default 2000, or 4000 for --lottery")
    parser.add_argument("--lottery", action="store_true")
    args = parser.parse_args(arguments)
    args.steps = args.steps or (4000 if args.lottery else STEPS)
    with threadpool_limits(limits=1):
        print_lottery(args) if args.lottery else print_table(args)


if __name__ == "__main__":
    main()
