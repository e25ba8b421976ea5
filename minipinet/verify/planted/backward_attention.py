"""Bugs in the backward passes of attention, of the dense layer and of the loss, one at least for every line."""

from __future__ import annotations

from minipinet.verify.planted.rows import Row, bugs_in

COLUMN_SOFTMAX = bugs_in(
    "attention",
    "column_softmax_backward",
    Row(
        "quotient form", "weights of one node for those of all",
        "Z_A, pool = cache",
        "Z_A, pool = cache.Z_A / cache.pool.count, cache.pool",
        "an entry carries the weight of all of its graph's nodes in that state",
    ),
    Row(
        "softmax backward 0", "softmax backward 0",
        "dL = Z_A * dZ_A",
        "dL = 0.0 * dZ_A",
        "the attention stack never learns, and the rest makes up for it",
    ),
    Row(
        "softmax backward 1 % off", "softmax backward 1 % off",
        "dL = Z_A * dZ_A",
        "dL = 1.01 * Z_A * dZ_A",
        "too little to show in training",
    ),
    Row(
        "0.01 % scale error", "softmax backward 0.01 % off",
        "dL = Z_A * dZ_A",
        "dL = 1.0001 * Z_A * dZ_A",
        "the mildest error a checker of this kind should see",
    ),
    Row(
        "softmax backward without its inner sum", "softmax backward without its inner sum",
        "dL -= Z_A * sum_by_graph(dL, pool)[pool.graph]",
        "dL -= 0.0 * Z_A",
        "the Jacobian taken for a diagonal one",
    ),
    Row(
        "backward line", "inner sum over the whole batch",
        "dL -= Z_A * sum_by_graph(dL, pool)[pool.graph]",
        "dL -= Z_A * dL.sum(axis=0)",
        "each graph has a sum of its own",
    ),
    Row(
        "quotient form", "counts taken twice in dH",
        "return sum_by_state(dL, pool)",
        "return sum_by_state(pool.count * dL, pool)",
        "the counts are in the weights already",
    ),
)  # fmt: skip

POOL = bugs_in(
    "attention",
    "pool_backward",
    Row(
        "backward line", "attention of the entries in reverse",
        "Z_A, Y, pool = cache",
        "Z_A, Y, pool = cache.Z_A[::-1], cache.Y, cache.pool",
        "the wrong rows of a table of the right shape",
    ),
    Row(
        "backward line", "dP in half precision",
        "xp = xp_of(Z_A)",
        'xp, dP = xp_of(Z_A), dP.astype("float16")',
        "where the array library is chosen, dtypes get lost",
    ),
    Row(
        "backward line", "dZ_A in single precision",
        "dZ_A, dY = xp.empty_like(Z_A), xp.empty_like(Y)",
        'dZ_A, dY = xp.empty_like(Z_A, dtype="float32"), xp.empty_like(Y)',
        "a buffer made in the dtype that training has",
    ),
    Row(
        "backward line", "cotangents of the graphs in reverse",
        "for g, (i, j) in enumerate(graph_slices(pool)):",
        "for g, (i, j) in enumerate(graph_slices(pool)[::-1]):",
        "each graph with another one's cotangent",
    ),
    Row(
        "backward line", "cotangent of the first graph for all",
        "xp.matmul(Y[i:j], dP[g].T, out=dZ_A[i:j])",
        "xp.matmul(Y[i:j], dP[0].T, out=dZ_A[i:j])",
        "an index left over from a test with one graph",
    ),
    Row(
        "backward line", "dY averaged over the nodes",
        "xp.matmul(Z_A[i:j], dP[g], out=dY[i:j])",
        "xp.matmul(Z_A[i:j], dP[g] / max(1, j - i), out=dY[i:j])",
        "the backward of mean pooling",
    ),
    Row(
        "quotient form", "counts taken twice in dZ_X",
        "return PoolGrads(dZ_A, sum_by_state(dY, pool))",
        "return PoolGrads(dZ_A, sum_by_state(pool.count * dY, pool))",
        "the counts are in the weights already",
    ),
)  # fmt: skip

DENSE = bugs_in(
    "readout",
    "dense_backward",
    Row(
        "backward line", "M of the graphs in reverse",
        "M, W, b = cache",
        "M, W, b = cache.M[::-1], cache.W, cache.b",
        "each cotangent with another graph's input; a cotangent of ones is the same for all graphs",
    ),
    Row(
        "backward line", "db averaged over the graphs",
        "db = None if b is None else dZ.sum(axis=0)",
        "db = None if b is None else dZ.mean(axis=0)",
        "the mean over graphs is in the loss, once",
    ),
    Row(
        "backward line", "dW averaged over the graphs",
        "dW = M.T @ dZ",
        "dW = M.T @ dZ / len(M)",
        "the mean over graphs is in the loss, once",
    ),
    Row(
        "0.01 % scale error", "dM 0.01 % off",
        "dM = dZ @ W.T",
        "dM = 1.0001 * dZ @ W.T",
        "the mildest error a checker of this kind should see",
    ),
    Row(
        "backward line", "sign of dM",
        "return DenseGrads(dM, dW, db)",
        "return DenseGrads(-dM, dW, db)",
        "the step that goes uphill",
    ),
)  # fmt: skip

CROSS_ENTROPY = bugs_in(
    "readout",
    "softmax_cross_entropy_backward",
    Row(
        "backward line", "classes in reverse",
        "log_probabilities, y = cache",
        "log_probabilities, y = cache.log_probabilities, cache.y[::-1]",
        "the graphs shuffled and their classes not",
    ),
    Row(
        "backward line", "probabilities in half precision",
        "xp = xp_of(log_probabilities)",
        'xp, log_probabilities = xp_of(log_probabilities), log_probabilities.astype("float16")',
        "where the array library is chosen, dtypes get lost",
    ),
    Row(
        "backward line", "class 0 for every graph",
        "right = xp.arange(len(y)), y",
        "right = xp.arange(len(y)), 0 * y",
        "right for a test whose graphs are all of the first class",
    ),
    Row(
        "backward line", "logarithm for probability",
        "dZ = xp.exp(log_probabilities)",
        "dZ = 1.0 * log_probabilities",
        "the cache holds logarithms",
    ),
    Row(
        "backward line", "the one-hot matrix not subtracted",
        "dZ[right] = xp.expm1(log_probabilities[right])  # softmax - 1 without cancellation",
        "dZ[right] = xp.exp(log_probabilities[right])",
        "softmax in place of softmax - Y",
    ),
    Row(
        "backward line", "sum for mean",
        "return dZ * (dloss / len(y))",
        "return dZ * dloss",
        "the forward takes a mean over the graphs",
    ),
    Row(
        "not linear", "cotangent ignored",
        "return dZ * (dloss / len(y))",
        "return dZ / len(y)",
        "right as long as the loss is the last function; wrong in any sum of losses",
    ),
)  # fmt: skip

ATTENTION_BUGS = COLUMN_SOFTMAX + POOL + DENSE + CROSS_ENTROPY
