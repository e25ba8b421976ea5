"""Bugs that only a batch of colours can have: in its making, and in the sums over its entries."""

from __future__ import annotations

from minipinet.verify.planted.rows import Row, bugs_in

QUOTIENT_BUGS = (
    *bugs_in(
        "pool",
        "make_pool",
        Row(
            "quotient form", "matrix of counts without counts",
            "counts = csr(count[:, 0], state, ptr, (B, n))",
            "counts = csr(0 * count[:, 0] + 1, state, ptr, (B, n))",
            "who stands in a graph, and not how often",
        ),
    ),
    *bugs_in(
        "pool",
        "sum_by_state",
        Row(
            "quotient form", "last entry of a state wins",
            "return csc(ones, pool.state, columns, (pool.counts.shape[1], E)) @ x",
            "out = xp_of(x).zeros((pool.counts.shape[1], *x.shape[1:]), x.dtype)\n"
            "out[pool.state] = x\n"
            "return out",
            "dX[index] += g adds up only where no index comes twice; here, not even that",
        ),
    ),
    *bugs_in(
        "batch",
        "_step",
        Row(
            "quotient form", "own column wrong",
            "return Step(A, A.indices[rows.at_own], rows.at_own, rows.deg, A.T)",
            "return Step(A, A.indices[rows.indptr[:-1]], rows.indptr[:-1], rows.deg, A.T)",
            "each row's first entry in place of its own",
        ),
    ),
    *bugs_in(
        "quotient",
        "refine",
        Row(
            "quotient form", "degree left out of the colour",
            "first, colour, content = group(hash_rows(X, deg), EqualRows(np.column_stack([X, deg])))",
            "first, colour, content = group(hash_rows(X, 0 * deg), EqualRows(X))",
            "a hub and a leaf of equal features share a row, and a scaling",
        ),
    ),
)  # fmt: skip
