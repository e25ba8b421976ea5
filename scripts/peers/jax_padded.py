"""JAX, compiled: dense matrices, padded to one of eight sizes that holds the largest graph of the batch."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_common import Peer, Tree, bucket, fill, pq
from serve import Arrays, padded, serve


def make(arrays: Arrays, chosen: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
    sizes, B = np.diff(arrays["ptr"]), int(arrays["batch_size"])
    made = []
    for graphs in chosen:
        batch = padded(arrays, graphs, bucket(int(sizes[graphs].max()), int(sizes.max())))
        batch["real"] = np.ones(len(graphs), np.float32)
        batch = {key: fill(array, B) for key, array in batch.items()}
        batch["mask"][len(graphs) :] = 1  # a softmax over no node would be 0 / 0
        made.append(batch)
    return made


def layer(M: Any, W: Any, p: Any, q: Any, batch: Tree) -> Any:
    base = p + (1 - p) * batch["A"].sum(axis=2)
    s = (base**-0.5)[:, :, None]
    narrow = W.shape[0] < W.shape[1]
    M = s * (M if narrow else M @ W)
    H = s * (batch["A"] @ M + q * M)
    return H @ W if narrow else H


def logits(params: Tree, batch: Tree) -> Any:
    relu, B = jax.nn.relu, len(batch["y"])
    H = layer(relu(layer(batch["X"], params["W_A0"], *pq(params, 0), batch)), params["W_A1"], *pq(params, 1), batch)
    Z_X = relu(layer(batch["X"], params["W_X0"], *pq(params, 2), batch))
    Z_X = relu(layer(Z_X, params["W_X1"], *pq(params, 3), batch))
    Z_A = jax.nn.softmax(jnp.where(batch["mask"][:, :, None] > 0, H, -jnp.inf), axis=1)
    return jnp.einsum("bnf,bng->bfg", Z_A, Z_X).reshape(B, -1) @ params["W_D"]


if __name__ == "__main__":
    serve(lambda arrays, threads: Peer(arrays, make, logits), ["jax", "jaxlib", "numpy"])
