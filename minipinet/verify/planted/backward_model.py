"""Bugs in the backward pass of the whole network and of its loss, one at least for every line."""

from __future__ import annotations

from minipinet.verify.planted.rows import Row, bugs_in

PINET = bugs_in(
    "model",
    "pinet_backward",
    Row(
        "backward line", "dlogits in half precision",
        "xp = xp_of(dlogits)",
        'xp, dlogits = xp_of(dlogits), dlogits.astype("float16")',
        "where the array library is chosen, dtypes get lost",
    ),
    Row(
        "0.01 % scale error", "dlogits 0.01 % off",
        "dH_A1, dZ_X, dW_D, db_D = attention_readout_backward(dlogits, cache.readout)",
        "dH_A1, dZ_X, dW_D, db_D = attention_readout_backward(1.0001 * dlogits, cache.readout)",
        "the mildest error a checker of this kind should see; the one-sided Taylor remainder misses it",
    ),
    Row(
        "ReLU mask lost", "ReLU mask lost after the features stack",
        "dH_X1 = relu_backward(dZ_X, cache.relu_X1)",
        "dH_X1 = 1.0 * dZ_X",
        "the attention stack has no ReLU there, this one has",
    ),
    Row(
        "backward line", "cache of the attention stack in X1",
        "dR_X0, dW_X1, db_X1, dp_X1, dq_X1 = message_passing_backward(dH_X1, cache.X1)",
        "dR_X0, dW_X1, db_X1, dp_X1, dq_X1 = message_passing_backward(dH_X1, cache.A1)",
        "two stacks of the same widths: copy, paste, and one letter",
    ),
    Row(
        "backward line", "mask of the attention stack in X0",
        "dH_X0 = relu_backward(dR_X0, cache.relu_X0)",
        "dH_X0 = relu_backward(dR_X0, cache.relu_A0)",
        "two stacks of the same widths: copy, paste, and one letter",
    ),
    Row(
        "backward line", "cache of the attention stack in X0",
        "dX_X, dW_X0, db_X0, dp_X0, dq_X0 = message_passing_backward(dH_X0, cache.X0)",
        "dX_X, dW_X0, db_X0, dp_X0, dq_X0 = message_passing_backward(dH_X0, cache.A0)",
        "both have the same K, since both have the same X, but not the same W, p and q",
    ),
    Row(
        "backward line", "cache of the features stack in A1",
        "dR_A0, dW_A1, db_A1, dp_A1, dq_A1 = message_passing_backward(dH_A1, cache.A1)",
        "dR_A0, dW_A1, db_A1, dp_A1, dq_A1 = message_passing_backward(dH_A1, cache.X1)",
        "two stacks of the same widths: copy, paste, and one letter",
    ),
    Row(
        "ReLU mask lost", "ReLU mask lost in the attention stack",
        "dH_A0 = relu_backward(dR_A0, cache.relu_A0)",
        "dH_A0 = 1.0 * dR_A0",
        "the activation forgotten on the way back",
    ),
    Row(
        "backward line", "dH_A0 1 % off",
        "dX_A, dW_A0, db_A0, dp_A0, dq_A0 = message_passing_backward(dH_A0, cache.A0)",
        "dX_A, dW_A0, db_A0, dp_A0, dq_A0 = message_passing_backward(0.99 * dH_A0, cache.A0)",
        "too little to show in training",
    ),
    Row(
        "backward line", "no default for fixed p and q",
        "dp_raw = dq_raw = None",
        "pass",
        "a crash, but only where p and q are fixed",
    ),
    Row(
        "backward line", "learned and fixed p and q exchanged",
        "if cache.learned:",
        "if not cache.learned:",
        "no gradient for the p and q that are learned",
    ),
    Row(
        "backward line", "dp of the stacks exchanged",
        "dp_raw = gate_backward(xp.stack([dp_A0, dp_A1, dp_X0, dp_X1]), cache.p)",
        "dp_raw = gate_backward(xp.stack([dp_X0, dp_X1, dp_A0, dp_A1]), cache.p)",
        "features first is as natural an order as attention first",
    ),
    Row(
        "backward line", "p in the gate of q",
        "dq_raw = gate_backward(xp.stack([dq_A0, dq_A1, dq_X0, dq_X1]), cache.q)",
        "dq_raw = gate_backward(xp.stack([dq_A0, dq_A1, dq_X0, dq_X1]), cache.p)",
        "unseen at the start of training, where p = q",
    ),
    Row(
        "backward line", "biases of the stacks exchanged",
        "dparams = PiNetParams(\n"
        "    dW_A0, dW_A1, dW_X0, dW_X1, dW_D, db_A0, db_A1, db_X0, db_X1, db_D, dp_raw, dq_raw\n"
        ")  # fmt: skip",
        "dparams = PiNetParams(\n"
        "    dW_A0, dW_A1, dW_X0, dW_X1, dW_D, db_X0, db_X1, db_A0, db_A1, db_D, dp_raw, dq_raw\n"
        ")",
        "twelve arguments by position",
    ),
    Row(
        "backward line", "dX of one stack only",
        "return PiNetGrads(dparams, dX_A + dX_X)",
        "return PiNetGrads(dparams, 1.0 * dX_X)",
        "X feeds both stacks, so its gradient is a sum",
    ),
)  # fmt: skip

LOSS = bugs_in(
    "model",
    "loss_backward",
    Row(
        "backward line", "half of l2",
        "params, pinet, cross_entropy, l2 = cache",
        "params, pinet, cross_entropy, l2 = cache._replace(l2=cache.l2 / 2)",
        "l2 or l2 / 2: both conventions are in use",
    ),
    Row(
        "not linear", "cotangent taken for 1",
        "dlogits = softmax_cross_entropy_backward(dloss, cross_entropy)",
        "dlogits = softmax_cross_entropy_backward(1.0, cross_entropy)",
        "right as long as the loss is the last function; wrong in any sum of losses",
    ),
    Row(
        "backward line", "mean over graphs taken twice",
        "grads = pinet_backward(dlogits, pinet).dparams",
        "grads = pinet_backward(dlogits / len(dlogits), pinet).dparams",
        "the loss is a mean already",
    ),
    Row(
        "backward line", "l2 below 1 ignored",
        "if l2:",
        "if l2 > 1:",
        "a guard that is too narrow: 5e-4 is the usual value",
    ),
    Row(
        "backward line", "factor 2 of the square lost",
        "decay = {name: getattr(grads, name) + 2 * l2 * dloss * getattr(params, name) for name in MESSAGE_KERNELS}",
        "decay = {name: getattr(grads, name) + l2 * dloss * getattr(params, name) for name in MESSAGE_KERNELS}",
        "(W^2)' is 2 W",
    ),
    Row(
        "not linear", "cotangent ignored in l2",
        "decay = {name: getattr(grads, name) + 2 * l2 * dloss * getattr(params, name) for name in MESSAGE_KERNELS}",
        "decay = {name: getattr(grads, name) + 2 * l2 * getattr(params, name) for name in MESSAGE_KERNELS}",
        "a zero cotangent gives a gradient that is not zero",
    ),
    Row(
        "backward line", "l2 on one kernel only",
        "grads = grads._replace(**decay)",
        'grads = grads._replace(W_A0=decay["W_A0"])',
        "the forward adds up four",
    ),
    Row(
        "backward line", "sign of dW_D",
        "return grads",
        "return grads._replace(W_D=-grads.W_D)",
        "the step that goes uphill",
    ),
)  # fmt: skip

MODEL_BUGS = PINET + LOSS
