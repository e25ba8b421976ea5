"""Bugs in Adam."""

from __future__ import annotations

from minipinet.verify.planted.rows import Row, bugs_in

ADAM_BUGS = (
    *bugs_in(
        "optim",
        "adam_step",
        Row(
            "Adam", "bias correction lost",
            "c1, c2 = 1 - beta1**step, 1 - beta2**step",
            "c1, c2 = 1.0, 1.0",
            "the first steps are three times too long",
        ),
        Row(
            "Adam", "step counted from 2",
            "step = state.step + 1",
            "step = state.step + 2",
            "the correction of the step after",
        ),
        Row(
            "Adam", "moments kept in each other's place",
            "return unflatten(w, params), AdamState(step, unflatten(m, params), unflatten(v, params))",
            "return unflatten(w, params), AdamState(step, unflatten(v, params), unflatten(m, params))",
            "two trees of the same shape",
        ),
        Row(
            "Adam", "eps inside the root",
            "w -= lr * (m / c1) / (xp_of(w).sqrt(v / c2) + eps)",
            "w -= lr * (m / c1) / xp_of(w).sqrt(v / c2 + eps)",
            "another optimiser; unseen while gradients are much larger than 1e-4",
        ),
        Row(
            "Adam", "decay rates exchanged",
            "m = beta1 * m + (1 - beta1) * g",
            "m = beta2 * m + (1 - beta2) * g",
            "0.999 for 0.9 in the first moment",
        ),
        Row(
            "Adam", "gradient not squared",
            "v = beta2 * v + (1 - beta2) * (g * g)",
            "v = beta2 * v + (1 - beta2) * abs(g)",
            "the second moment is that of the square",
        ),
    ),
)  # fmt: skip
