"""One training step of K folds on buffers of fixed size: batch, forward, backward, Adam, by kernels and GEMMs alone.

Nothing here asks the card for a number, and nothing is allocated or copied beside the buffers, so that a step can be
captured once and replayed: which graphs are in the batch, and how many, stands in arrays on the card.

Beyond a batch's last row the tables from K_0 to dX are zeros, which products and sums over rows go through. In Z_A and
in what is cut out of the data set stands what an earlier batch left. No entry leads there and `graph` is -1, so that
nothing reads it, but for X and `deg`: they are finite and meet a gradient of 0. Z_A may be NaN after a divergence.
"""

from __future__ import annotations

from math import log

from minipinet._array import Array
from minipinet.cuda.buffers import PARTS, Buffers, Net, Rule, Shape
from minipinet.cuda.dataset import TABLES, GraphTable
from minipinet.cuda.launch import Launcher


def make_batch(launch: Launcher, shape: Shape, table: GraphTable, buffers: Buffers) -> None:
    """Cut the batches at the cursor out of the data set."""
    K, B, n, G, d, *_, rows, entries = shape
    ptr, X, layers, count, _ = table
    id, off = buffers.id, buffers.off
    launch("batch_offsets", K * TABLES, buffers.order, buffers.cursor, ptr, id, off, K, B, n, G)
    launch("batch_features", K * rows[0] * d, X, ptr, id, off, buffers.X, K, B, rows[0], d)
    for i, (of_all, here) in enumerate(zip(layers, buffers.layers, strict=True)):
        launch(
            "batch_rows", K * (rows[i + 1] + 1), of_all.first, of_all.own, of_all.at_own, ptr, id, off,
            here.first, here.own, here.at_own, K, B, rows[i + 1], G, i,
        )  # fmt: skip
        launch(
            "batch_columns", K * (rows[i] + 1), of_all.deg, of_all.column_first, ptr, id, off,
            here.deg, here.column_first, K, B, rows[i], G, i,
        )  # fmt: skip
        launch(
            "batch_entries", K * entries[i], of_all.column, of_all.weight, of_all.row, of_all.entry, ptr, id, off,
            here.column, here.weight, here.row, here.entry, K, B, entries[i], G, i,
        )  # fmt: skip
    launch("batch_counts", K * rows[2], count, ptr, id, off, buffers.graph, buffers.count, K, B, rows[2], G)


def forward(launch: Launcher, shape: Shape, y: Array, net: Net, buffers: Buffers) -> None:
    """Fill the buffers from X to the loss and its cotangent."""
    K, B, *_, d, F_0, F, C, (n_0, n_1, n_2), entries = shape
    b, w, stride = buffers, net.w, TABLES * (B + 1)
    if w.raw is not None:
        # p = gate(p_raw), q = gate(q_raw)
        launch("gate_forward", w.raw.size, w.raw, b.pq, w.raw.size, float(launch.xp.finfo(w.raw.dtype).epsneg))
    # R = relu(A~ X W_0 + b_0)
    _propagate(launch, b.X, b.K_0, b, 0, (K, n_1, n_0, entries[0], d), shared=True)
    launch.product(b.K_0, w.W_0, b.R)
    launch("bias_relu", b.R.size, b.R, w.b_0, b.off[:, 1], b.R, K, B, n_1, F_0, stride, 1)
    # H_1 = A~ (R W_1) + b_1
    launch.product(b.R, w.W_1, b.U_1)
    _propagate(launch, b.U_1, b.V_1, b, 1, (K, n_2, n_1, entries[1], F), shared=False)
    if w.b_1 is not None:
        launch("bias_relu", b.H_1.size, b.V_1, w.b_1, b.off[:, 2], b.H_1, K, B, n_2, F, stride, 0)
    # Z_A = column_softmax(H_A1), P_g = Z_A,g^T relu(H_X1)_g
    launch("softmax_forward", K * B * F, b.H_1, b.count, b.off[:, 2], b.Z_A, K, B, n_2, F, stride)
    launch("pool_forward", b.P.size, b.Z_A, b.H_1, b.off[:, 2], b.P, K, B, n_2, F, stride)
    # logits = vec(P) W_D + b_D
    launch.product(b.P, w.W_D, b.logits)
    launch("cross_entropy", K * B, b.logits, w.b_D, y, b.id, b.dlogits, b.loss, b.right, K, B, C)


def backward(launch: Launcher, shape: Shape, net: Net, buffers: Buffers) -> None:
    """Fill the gradient: the forward pass read upwards."""
    K, B, *_, d, F_0, F, C, (n_0, n_1, n_2), entries = shape
    b, w, dw = buffers, net.w, net.dw
    # logits = vec(P) W_D + b_D
    if dw.b_D is not None:
        launch("logits_bias_backward", K * C, b.dlogits, dw.b_D, K, B, C)
    launch.product(b.P, b.dlogits, dw.W_D, turned="a")
    launch.product(b.dlogits, w.W_D, b.dP, turned="b")
    # P_g = Z_A,g^T relu(H_X1)_g, Z_A = column_softmax(H_A1)
    launch("transpose", b.dP.size, b.dP, b.turned_dP, K * B, F)
    launch("pool_backward", b.dH_1.size, b.dP, b.turned_dP, b.Z_A, b.H_1, b.graph, b.dH_1, K, B, n_2, F)
    launch("softmax_backward", K * B * F, b.Z_A, b.off[:, 2], b.dH_1, K, B, n_2, F, TABLES * (B + 1))
    # H_1 = A~ (R W_1) + b_1
    if dw.b_1 is not None:
        _bias_back(launch, b.dH_1, dw.b_1, b, (K * 2, n_2, F))
    _propagate_back(launch, b.dH_1, b.dU_1, b, 1, (K, n_2, n_1, entries[1], F))
    if dw.raw is not None:
        _pq_terms(launch, (b.dH_1, b.V_1, b.dU_1, b.U_1), b, 1, (K, n_2, n_1, F), shared=False)
    launch.product(b.R, b.dU_1, dw.W_1, turned="a")
    launch.product(b.dU_1, w.W_1, b.dR, turned="b")
    # R = relu(A~ X W_0 + b_0)
    launch("relu_backward", b.dR.size, b.dR, b.R, b.dR.size)
    if dw.b_0 is not None:
        _bias_back(launch, b.dR, dw.b_0, b, (K * 2, n_1, F_0))
    launch.product(b.K_0, b.dR, dw.W_0, turned="a")
    if dw.raw is not None:
        launch.product(b.dR, w.W_0, b.dK_0, turned="b")
        _propagate_back(launch, b.dK_0, b.dX, b, 0, (K, n_1, n_0, entries[0], d))
        _pq_terms(launch, (b.dK_0, b.K_0, b.dX, b.X), b, 0, (K, n_1, n_0, d), shared=True)
        # p = gate(p_raw), q = gate(q_raw)
        launch("sum_parts", K * 8 * PARTS, b.terms, b.part, K * 8, b.terms.shape[-1], 1, PARTS)
        launch("gate_backward", K * 8, b.part, b.pq, dw.raw, K * 8, PARTS)


def update(launch: Launcher, shape: Shape, rule: Rule, net: Net, buffers: Buffers) -> None:
    """Take Adam's step, add the losses up and go to the next batch."""
    K, B, b = shape.K, shape.B, buffers
    decayed = (net.w.W_0.size + net.w.W_1.size) if rule.l2 else 0
    launch(
        "adam", net.vector.size, net.vector, net.gradient, net.m, net.v, b.steps, b.id, net.ends, len(net.ends), K, B,
        decayed, *map(float, rule), log(rule.beta1), log(rule.beta2),
    )  # fmt: skip
    launch("next_batch", K, b.loss, b.right, b.id, b.sums, b.steps, b.cursor, K, B)


def _propagate(
    launch: Launcher, M: Array, H: Array, b: Buffers, layer: int, sizes: tuple[int, ...], shared: bool
) -> None:
    at = b.layers[layer]
    structure = at.first, at.column, at.weight, at.own, at.at_own, at.deg
    launch("propagate_forward", H.size, M, b.pq, *structure, H, *sizes, layer, int(shared))


def _propagate_back(launch: Launcher, dH: Array, dM: Array, b: Buffers, layer: int, sizes: tuple[int, ...]) -> None:
    at = b.layers[layer]
    structure = at.column_first, at.row, at.entry, at.weight, at.own, at.at_own, at.deg
    launch("propagate_backward", dM.size, dH, b.pq, *structure, dM, *sizes, layer)


def _pq_terms(
    launch: Launcher, tables: tuple[Array, ...], b: Buffers, layer: int, sizes: tuple[int, ...], shared: bool
) -> None:
    at, (K, rows, columns, _), n = b.layers[layer], sizes, b.terms.shape[-1]
    structure = b.pq, at.first, at.own, at.deg, b.terms
    launch("pq_terms", K * 2 * (rows + columns), *tables, *structure, *sizes, layer, int(shared), n)


def _bias_back(launch: Launcher, dH: Array, db: Array, b: Buffers, sizes: tuple[int, int, int]) -> None:
    stacks, _, F = sizes
    launch("sum_parts", stacks * PARTS * F, dH, b.part, *sizes, PARTS)
    launch("bias_backward", stacks * F, b.part, db, stacks, F, PARTS)
