"""Bugs in the backward passes of the two ways from the stacks to the scores, one at least for every line."""

from __future__ import annotations

from minipinet.verify.planted.rows import Row, bugs_in

STEPWISE = bugs_in(
    "attention_readout",
    "stepwise_backward",
    Row(
        "backward line", "graphs in reverse",
        "dP, dW_D, db_D = dense_backward(dlogits, cache.dense)",
        "dP, dW_D, db_D = dense_backward(dlogits[::-1], cache.dense)",
        "a batch sorted by size and not sorted back",
    ),
    Row(
        "backward line", "F_A and F_X exchanged",
        "F_A, F_X = cache.pool.Z_A.shape[1], cache.pool.Y.shape[1]",
        "F_X, F_A = cache.pool.Z_A.shape[1], cache.pool.Y.shape[1]",
        "unseen where both widths are 64, as in the paper; a crash where they differ",
    ),
    Row(
        "backward line", "vec(P) column by column",
        "dZ_A, dZ_X = pool_backward(dP.reshape(-1, F_A, F_X), cache.pool)",
        "dZ_A, dZ_X = pool_backward(dP.reshape(-1, F_X, F_A).transpose(0, 2, 1), cache.pool)",
        "vec lists columns in most books, rows in NumPy",
    ),
    Row(
        "backward line", "attention stack detached",
        "return ReadoutGrads(column_softmax_backward(dZ_A, cache.softmax), dZ_X, dW_D, db_D)",
        "return ReadoutGrads(0.0 * column_softmax_backward(dZ_A, cache.softmax), dZ_X, dW_D, db_D)",
        "as if the weights were constants",
    ),
)  # fmt: skip

FUSED = bugs_in(
    "attention_readout",
    "fused_backward",
    Row(
        "backward line", "R not divided",
        "Z_X, W, b_D, e, T, den, R, pool = cache",
        "Z_X, W, b_D, e, T, den, R, pool = cache._replace(R=cache.R * cache.den)",
        "the sums in place of their quotient",
    ),
    Row(
        "backward line", "dlogits in half precision (fused)",
        "xp = xp_of(e)",
        'xp, dlogits = xp_of(e), dlogits.astype("float16")',
        "where the array library is chosen, dtypes get lost",
    ),
    Row(
        "backward line", "C and F_A exchanged",
        "(B, C, F_A), (n, F_X) = R.shape, Z_X.shape",
        "(B, F_A, C), (n, F_X) = R.shape, Z_X.shape",
        "a crash where they differ",
    ),
    Row(
        "backward line", "db_D averaged over the graphs",
        "db_D = None if b_D is None else dlogits.sum(axis=0)",
        "db_D = None if b_D is None else dlogits.mean(axis=0)",
        "the mean over graphs is in the loss, once",
    ),
    Row(
        "backward line", "dsums in half precision",
        "dsums = xp.empty((B, 1 + C, F_A), e.dtype)",
        'dsums = xp.empty((B, 1 + C, F_A), "float16")',
        "a buffer of another dtype; in single precision the differences would not see it, the complex step would",
    ),
    Row(
        "backward line", "multiplied by den",
        "xp.divide(dlogits[:, :, None], den, out=dsums[:, 1:])",
        "xp.multiply(dlogits[:, :, None], den, out=dsums[:, 1:])",
        "the forward's operation in place of its derivative",
    ),
    Row(
        "softmax backward without its inner sum", "denominator held constant",
        "dsums[:, 0] = -(dsums[:, 1:] * R).sum(axis=1)",
        "dsums[:, 0] = 0.0",
        "the inner sum of the softmax, in the fused form",
    ),
    Row(
        "quotient form", "counts ignored in dY",
        "dY = (pool.counts.T @ dsums.reshape(B, -1)).reshape(n, 1 + C, F_A)",
        "dY = ((pool.counts != 0).T @ dsums.reshape(B, -1)).reshape(n, 1 + C, F_A)",
        "who stands in a graph, and not how often",
    ),
    Row(
        "backward line", "dT without e",
        "dT = dY[:, 1:] * e[:, None]",
        "dT = 1.0 * dY[:, 1:]",
        "a factor of a product forgotten",
    ),
    Row(
        "backward line", "dY without T",
        "dY[:, 1:] *= T",
        "dY[:, 1:] *= 1.0",
        "the other factor forgotten",
    ),
    Row(
        "backward line", "e only where it weighs",
        "dH = dY.sum(axis=1) * e",
        "dH = dY[:, 1:].sum(axis=1) * e",
        "e stands in the denominator too",
    ),
    Row(
        "backward line", "columns of dT mixed up",
        "dZ_X = dT.reshape(n, C * F_A) @ W.T",
        "dZ_X = dT.transpose(0, 2, 1).reshape(n, C * F_A) @ W.T",
        "class first here, attention column first there: the shape is the same",
    ),
    Row(
        "backward line", "rows of dW_D by feature",
        "dW_D = (Z_X.T @ dT.reshape(n, C * F_A)).reshape(F_X, C, F_A).transpose(2, 0, 1).reshape(F_A * F_X, C)",
        "dW_D = (Z_X.T @ dT.reshape(n, C * F_A)).reshape(F_X, C, F_A).transpose(0, 2, 1).reshape(F_A * F_X, C)",
        "vec(P) lists it by attention column",
    ),
    Row(
        "not linear", "dH clipped",
        "return ReadoutGrads(dH, dZ_X, dW_D, db_D)",
        "return ReadoutGrads(dH.clip(-0.01, 0.01), dZ_X, dW_D, db_D)",
        "clipping belongs into the optimiser: in a backward it is no gradient, and not linear in the cotangent",
    ),
)  # fmt: skip

ATTENTION_READOUT = bugs_in(
    "attention_readout",
    "attention_readout_backward",
    Row(
        "backward line", "calm graphs in reverse",
        "calm, fused, stepwise = cache",
        "calm, fused, stepwise = cache.calm[::-1], cache.fused, cache.stepwise",
        "seen only where a batch has graphs of both ways",
    ),
    Row(
        "backward line", "stepwise part counted twice",
        "parts = []",
        "parts = [] if stepwise is None else [stepwise_backward(dlogits[~calm], stepwise)]",
        "a list that starts with what is appended later",
    ),
    Row(
        "backward line", "fused part lost in mixed batches",
        "if fused is not None:",
        "if fused is not None and stepwise is None:",
        "seen only where a batch has graphs of both ways",
    ),
    Row(
        "backward line", "fused graphs in reverse",
        "parts.append(fused_backward(dlogits[calm], fused))",
        "parts.append(fused_backward(dlogits[calm][::-1], fused))",
        "each graph with another one's cotangent",
    ),
    Row(
        "backward line", "stepwise part lost in mixed batches",
        "if stepwise is not None:",
        "if stepwise is not None and fused is None:",
        "seen only where a batch has graphs of both ways",
    ),
    Row(
        "backward line", "stepwise part 1 % off",
        "parts.append(stepwise_backward(dlogits[~calm], stepwise))",
        "parts.append(stepwise_backward(1.01 * dlogits[~calm], stepwise))",
        "one of two ways wrong",
    ),
    Row(
        "backward line", "only the first part kept",
        "return ReadoutGrads("
        "*(None if leaf[0] is None else sum(leaf[1:], leaf[0]) for leaf in zip(*parts, strict=True)))",
        "return ReadoutGrads(*(None if leaf[0] is None else leaf[0] for leaf in zip(*parts, strict=True)))",
        "seen only where a batch has graphs of both ways",
    ),
)  # fmt: skip

READOUT_BUGS = STEPWISE + FUSED + ATTENTION_READOUT
