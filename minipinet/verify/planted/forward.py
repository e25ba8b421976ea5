"""Bugs in forward passes, those of the authors' released code among them.

Where a fault has `also`, or leaves a backward right by itself, forward and backward are wrong together: the gradient
is the true gradient of the wrong model, and no gradient check can say anything.
"""

from __future__ import annotations

from minipinet.verify.planted.plant import Edit
from minipinet.verify.planted.rows import Row, bugs_in

MASS = "pool = pool._replace(ptr=pool.ptr[[0, -1]], graph=0 * pool.graph, counts=pool.counts[:1])"
SAME_PLACE = "at = xp_of({0}).arange(len({0})) - pool.ptr[pool.graph]\nsame_place = 1.0 * (at[:, None] == at)"

SOFTMAX = bugs_in(
    "attention",
    "column_softmax_forward",
    Row(
        "softmax over the wrong axis", "softmax over the features of one node",
        "Z_A = e / sum_by_graph(e, pool)[pool.graph]",
        "Z_A = e / e.sum(axis=1, keepdims=True)",
        "the formula printed in the paper's proof",
        (
            Edit("column_softmax_forward", "L -= max_by_graph(L.real, pool)[pool.graph]",
                 "L -= L.real.max(axis=1, keepdims=True)"),
            Edit("column_softmax_backward", "dL -= Z_A * sum_by_graph(dL, pool)[pool.graph]",
                 "dL -= Z_A * dL.sum(axis=1, keepdims=True)"),
        ),
    ),
    Row(
        "softmax over the whole batch", "softmax over the whole batch",
        "L = H[pool.state]",
        MASS + "\nL = H[pool.state]",
        "one softmax call on the table of all nodes",
    ),
    Row(
        "released code", "softmax over the batch, place by place",
        "Z_A = e / sum_by_graph(e, pool)[pool.graph]",
        SAME_PLACE.format("e") + "\nZ_A = e / (same_place @ e)",
        "a (batch, node, feature) tensor transposed completely has the batch last, and softmax takes the last axis",
        (
            Edit("column_softmax_forward", "L -= max_by_graph(L.real, pool)[pool.graph]",
                 "L -= L.real.max(axis=0, initial=-1e300)"),
            Edit("column_softmax_backward", "dL -= Z_A * sum_by_graph(dL, pool)[pool.graph]",
                 SAME_PLACE.format("dL") + "\ndL -= Z_A * (same_place @ dL)"),
        ),
    ),
    Row(
        "forward depends on the node index", "attention grows with a node's place in its graph",
        "L = H[pool.state]",
        "L = H[pool.state] + 0.01 * (xp.arange(len(pool.state)) - pool.ptr[pool.graph])[:, None]",
        "a positional encoding, as sequences have; a constant to the gradient",
    ),
    Row(
        "forward", "one maximum for the whole batch",
        "L -= max_by_graph(L.real, pool)[pool.graph]",
        "L -= L.real.max(axis=0, initial=-1e300)",
        "the same on paper; a calm graph beside a wild one loses its bits, and at worst is 0/0",
    ),
    Row(
        "quotient form", "counts ignored in the softmax",
        "e = pool.count * xp.exp(L)",
        "e = xp.exp(L)",
        "every state weighs as if one node had it",
    ),
)  # fmt: skip

PROPAGATION = (
    *bugs_in(
        "propagation",
        "scaling_forward",
        Row(
            "released code", "k^(-1/4) for k^(-1/2)",
            "base = p + (1 - p) * deg",
            "base = xp.sqrt(p + (1 - p) * deg)",
            "pow(sqrt(k), -1/2) is k^(-1/4)",
            (
                Edit("scaling_backward", "return xp_of(s).vdot(ds, -0.5 * s * s * s * (1 - deg))",
                     "return xp_of(s).vdot(ds, -0.25 * s**5 * (1 - deg))"),
            ),
        ),
    ),
    *bugs_in(
        "propagation",
        "propagate_forward",
        Row(
            "degree to the power -1/4", "degree to the power -1/4",
            "s_c, scaling = scaling_forward(step.deg, p)",
            "s_c, scaling = scaling_forward(xp_of(M).sqrt(step.deg), p)",
            "the root of the degree taken once before and once inside",
        ),
        Row(
            "forward", "rows not scaled",
            "H = s_r[:, None] * V",
            "H = 1.0 * V",
            "S^2 A for S A S, and a backward that is right",
        ),
        Row(
            "quotient form", "row scaling of the wrong colour",
            "s_r = s_c[step.own]",
            "s_r = s_c[step.own[::-1]]",
            "rows and columns are numbered apart, which the plain form does not show",
            (
                Edit("propagate_backward", "dp = scaling_backward(ds_r, ScalingCache(s_r, scaling.deg[step.own]))",
                     "dp = scaling_backward(ds_r, ScalingCache(s_r, scaling.deg[step.own[::-1]]))"),
            ),
        ),
    ),
    *bugs_in(
        "propagation",
        "add_own",
        Row(
            "self-loop lost", "self-loop lost in the forward",
            "data[step.at_own] += q",
            "data[step.at_own] += 0 * q",
            "A for A + qI; the backward still has a dq",
        ),
        Row(
            "quotient form", "q on the first entry of each row",
            "data[step.at_own] += q",
            "data[step.A.indptr[:-1]] += q",
            "the own column stands where its hash puts it",
        ),
    ),
    *bugs_in(
        "propagation",
        "message_passing_forward",
        Row(
            "forward", "bias forgotten",
            "H += b",
            "H += 0 * b",
            "the backward still has a db",
        ),
    ),
)  # fmt: skip

NETWORK = (
    *bugs_in(
        "model",
        "pinet_forward",
        Row(
            "forward depends on the node index", "features grow with the row",
            "X, (first, second), pool = batch",
            "X, (first, second), pool = batch\nX = X + 0.01 * xp_of(X).arange(len(X))[:, None]",
            "an index among the features; a constant to the gradient",
        ),
        Row(
            "quotient form", "second layer on the first layer's matrix",
            "H_X1, cache_X1 = message_passing_forward(R_X0, params.W_X1, params.b_X1, p[3], q[3], second)",
            "H_X1, cache_X1 = message_passing_forward(R_X0, params.W_X1, params.b_X1, p[3], q[3], first)",
            "in the plain form both layers have one matrix",
        ),
        Row(
            "released code", "ReLU before the softmax",
            "H_A1, cache_A1 = message_passing_forward(R_A0, params.W_A1, params.b_A1, p[1], q[1], second)",
            "H_A1, cache_A1 = message_passing_forward(R_A0, params.W_A1, params.b_A1, p[1], q[1], second)\n"
            "H_A1, relu_A1 = relu_forward(H_A1)\n"
            "cache_A1 = cache_A1, relu_A1",
            "eq. 2 has none; all nodes with negative attention become alike",
            (
                Edit(
                    "pinet_backward",
                    "dR_A0, dW_A1, db_A1, dp_A1, dq_A1 = message_passing_backward(dH_A1, cache.A1)",
                    "layer, relu_A1 = cache.A1\n"
                    "dR_A0, dW_A1, db_A1, dp_A1, dq_A1 = message_passing_backward(\n"
                    "    relu_backward(dH_A1, relu_A1), layer\n"
                    ")",
                ),
            ),
        ),
    ),
    *bugs_in(
        "params",
        "pq_values",
        Row(
            "forward", "p and q exchanged",
            "return gate_forward(xp_of(params.p_raw).stack([params.p_raw, params.q_raw], axis=1))[0]",
            "return gate_forward(xp_of(params.p_raw).stack([params.q_raw, params.p_raw], axis=1))[0]",
            "both start at 1/2",
        ),
    ),
    *bugs_in(
        "readout",
        "softmax_cross_entropy_forward",
        Row(
            "released code", "softmax taken twice",
            "log_probabilities = log_softmax(Z)",
            "log_probabilities = log_softmax(xp_of(Z).exp(log_softmax(Z)))",
            "probabilities passed where logits are meant; training still moves, only worse",
            (
                Edit(
                    "softmax_cross_entropy_backward",
                    "return dZ * (dloss / len(y))",
                    "P = log_probabilities - log_probabilities.mean(axis=1, keepdims=True)\n"
                    "P = P + 1 / P.shape[1]\n"
                    "dZ = P * (dZ - (P * dZ).sum(axis=1, keepdims=True))\n"
                    "return dZ * (dloss / len(y))",
                ),
            ),
        ),
        Row(
            "forward", "sum over the graphs for their mean",
            "loss = -log_probabilities[xp_of(Z).arange(len(y)), y].mean()",
            "loss = -log_probabilities[xp_of(Z).arange(len(y)), y].sum()",
            "the step size then depends on the batch",
            (Edit("softmax_cross_entropy_backward", "return dZ * (dloss / len(y))", "return dZ * dloss"),),
        ),
    ),
    *bugs_in(
        "attention_readout",
        "attention_readout_forward",
        Row(
            "forward", "way chosen for the whole batch",
            "calm = pool.counts @ rough_state.astype(pool.count.dtype) == 0",
            "calm = xp.zeros(len(pool.ptr) - 1, bool)",
            "both ways give the same numbers, but not the same bits",
        ),
    ),
)  # fmt: skip

FORWARD_BUGS = SOFTMAX + PROPAGATION + NETWORK
