"""The kernels with faults planted into them, and an epoch to see the faults by."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from minipinet.cuda.launch import SOURCES, names, source
from minipinet.datasets import load_dataset
from minipinet.quotient import refine
from tests.kernel_training import drawn, worst_of_an_epoch
from tests.kernels_on_host import compile_sources, kernels_of
from tests.planted import with_fault

#: A function, what stands in it, once, and what shall stand there.
Fault: TypeAlias = tuple[str, str, str]


def body_of(function: str, file: str) -> str:
    """Return a function from its name to its last brace."""
    _, name, rest = source(file).partition(f" {function}(")
    body, end, _ = rest.partition("\n}\n")
    return name + body + end


def file_with_fault(file: str, function: str, right: str, wrong: str) -> dict[str, str]:
    """Return a file's text, by its name, with a fault in one of its functions."""
    body = body_of(function, file)
    return {file: source(file).replace(body, with_fault(body, function, right, wrong))}


@lru_cache
def kernels_with(*faults: Fault) -> list[dict[str, Any]]:
    """Return the kernels with each of some faults, every one in a copy of its kernel: so they are compiled at once."""
    texts: dict[str, str] = {}
    for i, (kernel, right, wrong) in enumerate(faults):
        (file,) = (file for file in SOURCES if kernel in names(file))
        copy = with_fault(body_of(kernel, file), kernel, right, wrong)
        copy = copy.replace(f" {kernel}(", f'extern "C" __global__ void {kernel}_{i}(')
        texts[file] = texts.get(file, source(file)) + copy
    compiled = compile_sources(texts, "float64")
    return [kernels_of("float64") | {kernel: compiled[f"{kernel}_{i}"]} for i, (kernel, *_) in enumerate(faults)]


def error_of_an_epoch(kernels: dict[str, Any]) -> float:
    """Train two folds by kernels and by the pairs; return the greatest relative error."""
    data, rng = load_dataset("MUTAG")[:12], np.random.default_rng(0)
    first, second = (drawn(rng, data.num_features, 2, bias=True, learned=True) for _ in range(2))
    # Every other graph's features are zeros: what goes into the second fold's ReLUs there is exactly 0, in the pool's
    # ReLU where there is no bias.
    X = data.graphs.X * (np.arange(12) % 2).repeat(np.diff(data.graphs.ptr))[:, None]
    folds = [first, second._replace(b_X0=np.zeros(5), b_X1=np.tile([0.0, 0.5], 2))]
    # The first fold has two batches, the second four; none has the last graph, so that a row too far is a row of it.
    orders = [rng.permutation(11)[:5], rng.permutation(11)]
    return worst_of_an_epoch(refine(data.graphs._replace(X=X)), data.y, folds, orders, 3, kernels=kernels)
