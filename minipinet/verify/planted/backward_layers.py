"""Bugs in the backward passes of message passing and of the maps to p and q, one at least for every line."""

from __future__ import annotations

from minipinet.verify.planted.rows import Row, bugs_in

SCALING = bugs_in(
    "propagation",
    "scaling_backward",
    Row(
        "backward line", "degree counts the node itself",
        "s, deg = cache",
        "s, deg = cache.s, cache.deg + 1",
        "D = d(A + I) is Kipf's degree; the paper's is d(A)",
    ),
    Row(
        "dp dropped", "dp dropped",
        "return xp_of(s).vdot(ds, -0.5 * s * s * s * (1 - deg))",
        "return 0.0 * xp_of(s).vdot(ds, s)",
        "p acts through degrees and a root only: a forgotten path still trains",
    ),
    Row(
        "backward line", "power of s",
        "return xp_of(s).vdot(ds, -0.5 * s * s * s * (1 - deg))",
        "return xp_of(s).vdot(ds, -0.5 * s * s * (1 - deg))",
        "(x^(-1/2))' is -1/2 x^(-3/2), the cube of s",
    ),
    Row(
        "0.01 % scale error", "ds/dp 0.01 % off",
        "return xp_of(s).vdot(ds, -0.5 * s * s * s * (1 - deg))",
        "return xp_of(s).vdot(ds, -0.50005 * s * s * s * (1 - deg))",
        "the mildest error a checker of this kind should see",
    ),
)  # fmt: skip

PROPAGATE = bugs_in(
    "propagation",
    "propagate_backward",
    Row(
        "backward line", "M and U exchanged",
        "M, U, V, A_q, s_r, scaling, step = cache",
        "U, M, V, A_q, s_r, scaling, step = cache",
        "a cache of seven fields, unpacked in another order",
    ),
    Row(
        "backward line", "root of s_c",
        "s_c, xp = scaling.s, xp_of(M)",
        "s_c, xp = xp_of(M).sqrt(scaling.s), xp_of(M)",
        "s is the inverse root already",
    ),
    Row(
        "backward line", "dV without s_r",
        "dV = s_r[:, None] * dH",
        "dV = 1.0 * dH",
        "one of the two scalings forgotten",
    ),
    Row(
        "backward line", "ds_r from dV",
        'ds_r = xp.einsum("if,if->i", dH, V)',
        'ds_r = xp.einsum("if,if->i", dV, V)',
        "the cotangent after the scaling in place of the one before it",
    ),
    Row(
        "A for A^T", "A for A^T",
        "dU = with_data(step.A_T, A_q) @ dV",
        "dU = with_data(step.A, A_q) @ dV",
        "on undirected graphs nobody can tell, and tests are made of undirected graphs",
    ),
    Row(
        "self-loop lost", "self-loop lost",
        "dU = with_data(step.A_T, A_q) @ dV",
        "dU = step.A_T @ dV",
        "A^T in place of (A + qI)^T",
    ),
    Row(
        "dq doubled", "dq doubled",
        "dq = xp.vdot(dV, U[step.own])",
        "dq = 2 * xp.vdot(dV, U[step.own])",
        "q counted for the row and for the column",
    ),
    Row(
        "backward line", "dq from M",
        "dq = xp.vdot(dV, U[step.own])",
        "dq = xp.vdot(dV, M[step.own])",
        "the state before its scaling",
    ),
    Row(
        "quotient form", "dq of the wrong column",
        "dq = xp.vdot(dV, U[step.own])",
        "dq = xp.vdot(dV, U[step.A.indices[step.A.indptr[:-1]]])",
        "each row's first entry in place of its own",
    ),
    Row(
        "backward line", "dM without s_c",
        "dM = s_c[:, None] * dU",
        "dM = 1.0 * dU",
        "the other scaling forgotten",
    ),
    Row(
        "backward line", "ds_c from U",
        'ds_c = xp.einsum("jf,jf->j", dU, M)',
        'ds_c = xp.einsum("jf,jf->j", dU, U)',
        "the state after its scaling",
    ),
    Row(
        "s differentiated on one side only", "s of the rows not differentiated",
        "dp = scaling_backward(ds_r, ScalingCache(s_r, scaling.deg[step.own]))",
        "dp = 0.0",
        "S stands on both sides of A~",
    ),
    Row(
        "s differentiated on one side only", "s of the columns not differentiated",
        "dp = dp + scaling_backward(ds_c, scaling)",
        "dp = dp + 0.0",
        "S stands on both sides of A~",
    ),
    Row(
        "backward line", "dp and dq exchanged",
        "return PropagateGrads(dM, dp, dq)",
        "return PropagateGrads(dM, dq, dp)",
        "two scalars: no shape tells them apart",
    ),
)  # fmt: skip

MESSAGE_PASSING = bugs_in(
    "propagation",
    "message_passing_backward",
    Row(
        "backward line", "K before A~",
        "K, W, b, propagate = cache",
        "K, W, b, propagate = cache.propagate.M, *cache[1:]",
        "the input of the layer in place of the input of the product with W",
    ),
    Row(
        "backward line", "db averaged over the rows",
        "db = None if b is None else dH.sum(axis=0)",
        "db = None if b is None else dH.mean(axis=0)",
        "the bias is added to every row, so its gradient is a sum",
    ),
    Row(
        "backward line", "order of the products exchanged",
        "if W.shape[0] < W.shape[1]:",
        "if W.shape[0] > W.shape[1]:",
        "the backward must take the way that the forward took; any check that runs it sees it crash",
    ),
    Row(
        "backward line", "dW averaged (A first)",
        "dW = K.T @ dH",
        "dW = K.T @ dH / len(dH)",
        "a mean where the forward has no mean",
    ),
    Row(
        "backward line", "dp and dq exchanged (A first)",
        "dM, dp, dq = propagate_backward(dH @ W.T, propagate)",
        "dM, dq, dp = propagate_backward(dH @ W.T, propagate)",
        "two scalars: no shape tells them apart",
    ),
    Row(
        "0.01 % scale error", "dH 0.01 % off (W first)",
        "dMW, dp, dq = propagate_backward(dH, propagate)",
        "dMW, dp, dq = propagate_backward(1.0001 * dH, propagate)",
        "the mildest error a checker of this kind should see",
    ),
    Row(
        "backward line", "dW without A~ (W first)",
        "dW = K.T @ dMW",
        "dW = K.T @ dH",
        "the cotangent has not yet been taken back through A~",
    ),
    Row(
        "backward line", "dM without A~ (W first)",
        "dM = dMW @ W.T",
        "dM = dH @ W.T",
        "the cotangent has not yet been taken back through A~",
    ),
    Row(
        "backward line", "gradients in another order",
        "return MessagePassingGrads(dM, dW, db, dp, dq)",
        "return MessagePassingGrads(dM, dW, db, dq, dp)",
        "two scalars: no shape tells them apart",
    ),
)  # fmt: skip

RELU = bugs_in(
    "propagation",
    "relu_backward",
    Row(
        "ReLU mask lost", "ReLU mask lost",
        "return dZ * mask",
        "return 1.0 * dZ",
        "the activation forgotten on the way back",
    ),
    Row(
        "backward line", "leaky on the way back",
        "return dZ * mask",
        "return dZ * (mask + 0.01 * ~mask)",
        "the derivative of another activation",
    ),
    Row(
        "not linear", "cotangent rectified too",
        "return dZ * mask",
        "return dZ * mask * (dZ > 0)",
        "guided backpropagation draws prettier pictures; it is no gradient, and not linear in the cotangent",
    ),
)  # fmt: skip

GATE = bugs_in(
    "params",
    "gate_backward",
    Row(
        "backward line", "slope of the usual sigmoid",
        "return 4 * dp * p * (1 - p)",
        "return dp * p * (1 - p)",
        "the gate is sigmoid(4 raw)",
    ),
    Row(
        "backward line", "factor 1 - p lost",
        "return 4 * dp * p * (1 - p)",
        "return 4 * dp * p",
        "half of the sigmoid's derivative",
    ),
)  # fmt: skip

LAYER_BUGS = SCALING + PROPAGATE + MESSAGE_PASSING + RELU + GATE
