"""Verify the gradient of a layer of your own: a mean over the neighbours, gated by the node's own state.

    python scripts/examples/verify_layer.py

H = sigmoid(X W_g) * (S X W), S the row-normalised adjacency. A is not differentiated, so it is bound beforehand; it is
directed on purpose: on a symmetric matrix S^T and S may be taken for each other, and nobody notices.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from minipinet.verify import verify_pair


def gated_forward(X: Any, W: Any, W_g: Any, S: Any) -> tuple[Any, Any]:
    gate = 1 / (1 + np.exp(-X @ W_g))
    M = S @ X @ W
    return gate * M, (X, W, W_g, S, gate, M)


def gated_backward(dH: Any, cache: Any) -> dict[str, Any]:
    X, W, W_g, S, gate, M = cache
    # H = gate * M
    dgate, dM = dH * M, dH * gate
    # M = S X W
    dW, dX = (S @ X).T @ dM, S.T @ dM @ W.T
    # gate = sigmoid(X W_g)
    dlogit = dgate * gate * (1 - gate)
    return {"dX": dX + dlogit @ W_g.T, "dW": dW, "dW_g": X.T @ dlogit}


def wrong_backward(dH: Any, cache: Any) -> dict[str, Any]:
    """The same with S for its transpose."""
    _, W, _, S, gate, _ = cache
    right = gated_backward(dH, cache)
    return right | {"dX": right["dX"] + (S - S.T) @ (dH * gate) @ W.T}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print("usage: verify_layer.py, without arguments", file=sys.stderr)
        sys.exit(2)
    rng = np.random.default_rng(0)
    A = (rng.random((6, 6)) < 0.5).astype(float)
    S = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    inputs = {"X": rng.standard_normal((6, 3)), "W": rng.standard_normal((3, 4)), "W_g": rng.standard_normal((3, 4))}
    for backward in (gated_backward, wrong_backward):
        print(verify_pair(partial(gated_forward, S=S), backward, inputs, rng=rng, name=backward.__name__), end="\n\n")
