"""JAX, compiled: a batch is one graph, summed along its edges and over its nodes by segments, in a few shapes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_common import Peer, Tree, bucket, fill, pq
from serve import Arrays, serve, union


def make(arrays: Arrays, chosen: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Fill each batch up with nodes and edges of a graph that does not count, the last."""
    unions = [union(arrays, graphs) for graphs in chosen]
    most_nodes, most_edges = (max(len(one[key]) for one in unions) + 1 for key in ("X", "row"))
    made = []
    for one in unions:
        n, nnz = bucket(len(one["X"]) + 1, most_nodes), bucket(len(one["row"]), most_edges)
        B = int(arrays["batch_size"])
        made.append(
            {
                "X": fill(one["X"], n),
                "deg": fill(one["deg"], n, 1),
                "row": fill(one["row"], nnz, n - 1).astype(np.int32),
                "column": fill(one["column"], nnz, n - 1).astype(np.int32),
                "weight": fill(one["weight"], nnz),
                "graph": fill(one["graph"], n, B).astype(np.int32),
                "y": fill(one["y"], B),
                "real": fill(np.ones(len(one["y"]), np.float32), B),
                "place": fill(one["place"], n).astype(np.int32),
                "slots": np.empty((bucket(int(one["place"].max()) + 1, int(np.diff(arrays["ptr"]).max())), 0)),
            }
        )
    return made


def layer(M: Any, W: Any, p: Any, q: Any, batch: Tree) -> Any:
    s = ((p + (1 - p) * batch["deg"]) ** -0.5)[:, None]
    narrow = W.shape[0] < W.shape[1]
    M = s * (M if narrow else M @ W)
    terms = batch["weight"][:, None] * M[batch["column"]]
    H = jax.ops.segment_sum(terms, batch["row"], len(M), indices_are_sorted=True)
    H = s * (H + q * M)
    return H @ W if narrow else H


def logits(params: Tree, batch: Tree) -> Any:
    relu, graph, B = jax.nn.relu, batch["graph"], len(batch["y"]) + 1
    H = layer(relu(layer(batch["X"], params["W_A0"], *pq(params, 0), batch)), params["W_A1"], *pq(params, 1), batch)
    Z_X = relu(layer(batch["X"], params["W_X0"], *pq(params, 2), batch))
    Z_X = relu(layer(Z_X, params["W_X1"], *pq(params, 3), batch))
    # softmax over the nodes of each graph
    top = jax.lax.stop_gradient(jax.ops.segment_max(H, graph, B, indices_are_sorted=True))
    e = jnp.exp(H - top[graph])
    Z_A = e / jax.ops.segment_sum(e, graph, B, indices_are_sorted=True)[graph]
    F, C = Z_X.shape[1], params["W_D"].shape[1]
    if C == 2:
        # Each node's share in the logits, summed by graph: the pooled matrix is not formed.
        W = params["W_D"].reshape(-1, F, C).transpose(1, 2, 0).reshape(F, -1)
        shares = ((Z_X @ W).reshape(len(H), C, -1) * Z_A[:, None]).sum(axis=2)
        return jax.ops.segment_sum(shares, graph, B, indices_are_sorted=True)[:-1]
    # P_g = Z_A^T Z_X, padded to the largest graph of the batch: cheaper with more classes.
    N = len(batch["slots"])
    table = jnp.zeros((B, N, 2, Z_A.shape[1]), Z_A.dtype)
    table = table.at[graph, batch["place"]].set(jnp.stack([Z_A, Z_X], axis=1), mode="drop")[:-1]
    P = jnp.einsum("bnf,bng->bfg", table[:, :, 0], table[:, :, 1])
    return P.reshape(B - 1, -1) @ params["W_D"]


if __name__ == "__main__":
    serve(lambda arrays, threads: Peer(arrays, make, logits), ["jax", "jaxlib", "numpy"])
