"""Message passing with p and q (paper, eq. 1 to 4): the matrix A~, one layer, and the ReLU between layers."""

from __future__ import annotations

from typing import NamedTuple

from minipinet._array import Array, Sparse, with_data, xp_of
from minipinet.matmul import matmul_rows


class Step(NamedTuple):
    """One layer's view of a batch: a table of n_in states becomes a table of n_out states.

    Row i stands for all nodes of one colour after the layer; column j for all nodes of one colour before it. In the
    plain form every node is its own colour and A is the block-diagonal adjacency matrix of the batch.
    """

    A: Sparse  #: (n_out, n_in) CSR, weights a row's node gives to each colour before; holds an entry, maybe 0, at `own`
    own: Array  #: (n_out,) int, column of each row's own state before the layer (the matrix E of the q term)
    at_own: Array  #: (n_out,) int, position of entry (i, own[i]) in A.data
    deg: Array  #: (n_in,) degree of each column; nodes of one colour share it, so row i's is deg[own[i]]
    A_T: Sparse  #: A transposed, in CSC: the same three arrays


class ScalingCache(NamedTuple):
    """What `scaling_backward` needs."""

    s: Array  #: (n,)
    deg: Array  #: (n,)


def scaling_forward(deg: Array, p: Array) -> tuple[Array, ScalingCache]:
    """Return s = (p + (1-p) deg)^(-1/2), the diagonal of S in eq. 3; 0 where the base is 0 (lone node, p = 0).

    Examples
    --------
    >>> import numpy as np
    >>> scaling_forward(np.array([0.0, 1.0, 4.0]), np.float64(0))[0].tolist()
    [0.0, 1.0, 0.5]
    """
    xp = xp_of(deg)
    base = p + (1 - p) * deg
    lone = base == 0
    s = xp.where(lone, 0, 1 / xp.sqrt(xp.where(lone, 1, base)))
    return s, ScalingCache(s, deg)


def scaling_backward(ds: Array, cache: ScalingCache) -> Array:
    """Return dp for a cotangent ds; where s = 0 by the rule for lone nodes its derivative is 0."""
    s, deg = cache
    # s = (p + (1-p) deg)^(-1/2)
    return xp_of(s).vdot(ds, -0.5 * s * s * s * (1 - deg))


def add_own(step: Step, q: Array) -> Array:
    """Return the entries of A + q E, in the order of A.data."""
    data = step.A.data.astype(xp_of(step.own).result_type(step.A.data, q))
    data[step.at_own] += q
    return data


class PropagateCache(NamedTuple):
    """What `propagate_backward` needs: three tables of states, the entries of A + qE, and the scalings."""

    M: Array
    U: Array
    V: Array
    A_q: Array
    s_r: Array
    scaling: ScalingCache
    step: Step


class PropagateGrads(NamedTuple):
    """Gradients of `propagate_forward`'s arguments."""

    dM: Array
    dp: Array
    dq: Array


def propagate_forward(M: Array, p: Array, q: Array, step: Step) -> tuple[Array, PropagateCache]:
    """Multiply by the preprocessed adjacency matrix: H = A~ M, without forming A~.

    Equation (paper, 3): A~ = S (A + qI) S with S = diag((p + (1-p) deg)^(-1/2)). On a batch whose rows and columns
    are colours: H = S_r (A + qE) S_c M.

    Parameters
    ----------
    M : (n_in, F) array
        States before the layer.
    p, q : scalars in [0, 1]
        p = 1 leaves A as it is, p = 0 normalises symmetrically; q is the weight of a node's own state.
    step : Step
        The layer's matrix; `deg` does not count q.

    Returns
    -------
    H : (n_out, F) array
    cache : PropagateCache
        n_in F + n_out F numbers beyond M and H.

    Notes
    -----
    O(nnz(A) F). A node without neighbours has s = p^(-1/2), so its diagonal entry q/p grows without bound as p
    falls to 0, and is 0 at p = 0. Sums run in the order of A's columns: deterministic.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.union import disjoint_union
    >>> from minipinet.batch import make_batch
    >>> from minipinet.quotient import refine
    >>> path = as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.eye(3))
    >>> batch = make_batch(refine(disjoint_union([path])), [0], "float64")
    >>> H, _ = propagate_forward(batch.X, np.float64(0), np.float64(1), batch.steps[0])
    >>> np.round(np.sort(H.sum(1)), 4).tolist()
    [1.7071, 1.7071, 1.9142]
    """
    s_c, scaling = scaling_forward(step.deg, p)
    s_r = s_c[step.own]
    A_q = add_own(step, q)
    U = s_c[:, None] * M
    V = with_data(step.A, A_q) @ U
    H = s_r[:, None] * V
    return H, PropagateCache(M, U, V, A_q, s_r, scaling, step)


def propagate_backward(dH: Array, cache: PropagateCache) -> PropagateGrads:
    """Return the gradients of M, p and q for a cotangent dH of H; the forward line stands above each."""
    M, U, V, A_q, s_r, scaling, step = cache
    s_c, xp = scaling.s, xp_of(M)
    # H = s_r[:, None] * V
    dV = s_r[:, None] * dH
    ds_r = xp.einsum("if,if->i", dH, V)
    # V = (A + q E) @ U
    dU = with_data(step.A_T, A_q) @ dV
    dq = xp.vdot(dV, U[step.own])
    # U = s_c[:, None] * M
    dM = s_c[:, None] * dU
    ds_c = xp.einsum("jf,jf->j", dU, M)
    # s_r = s_c[own], which is the scaling of deg[own]
    dp = scaling_backward(ds_r, ScalingCache(s_r, scaling.deg[step.own]))
    # s_c = scaling(deg, p)
    dp = dp + scaling_backward(ds_c, scaling)
    return PropagateGrads(dM, dp, dq)


class MessagePassingCache(NamedTuple):
    """What `message_passing_backward` needs: the input of the product with W, and the propagation's cache."""

    K: Array  #: A~ M if A~ was applied first, else M
    W: Array
    b: Array | None
    propagate: PropagateCache


class MessagePassingGrads(NamedTuple):
    """Gradients of `message_passing_forward`'s arguments; db is None without a bias."""

    dM: Array
    dW: Array
    db: Array | None
    dp: Array
    dq: Array


def message_passing_forward(
    M: Array, W: Array, b: Array | None, p: Array, q: Array, step: Step
) -> tuple[Array, MessagePassingCache]:
    """Apply one message-passing layer before its activation: H = A~ M W (+ b).

    Equation (paper, 1 and 2): A~ X W^(0) and A~ sigma_R(...) W^(1). The paper has no bias; the authors' code has one.

    Parameters
    ----------
    M : (n_in, F_in) array
    W : (F_in, F) array
    b : (F,) array or None
    p, q : scalars in [0, 1]
    step : Step

    Returns
    -------
    H : (n_out, F) array
    cache : MessagePassingCache

    Notes
    -----
    The product is associative; the sparse factor goes to the narrower side. The choice looks at W alone, so that it is
    the same for every batch. O(nnz(A) min(F_in, F) + n F_in F) with n the rows of the side W is on.

    Examples
    --------
    >>> import numpy as np
    >>> from minipinet.graphs import as_graph
    >>> from minipinet.batch import make_batch
    >>> from minipinet.quotient import refine
    >>> from minipinet.union import disjoint_union
    >>> edge = as_graph([[0, 1], [1, 0]], [[1.0], [1.0]])
    >>> batch = make_batch(refine(disjoint_union([edge])), [0], "float64")
    >>> one = np.float64(1)
    >>> H, _ = message_passing_forward(batch.X, np.array([[2.0, -3.0]]), np.array([0.5, 0.5]), one, one, batch.steps[0])
    >>> H.tolist()
    [[4.5, -5.5]]
    """
    if W.shape[0] < W.shape[1]:
        K, cache = propagate_forward(M, p, q, step)
        H = matmul_rows(K, W)
    else:
        K = M
        H, cache = propagate_forward(matmul_rows(M, W), p, q, step)
    if b is not None:
        H += b
    return H, MessagePassingCache(K, W, b, cache)


def message_passing_backward(dH: Array, cache: MessagePassingCache) -> MessagePassingGrads:
    """Return the gradients of M, W, b, p and q for a cotangent dH of H."""
    K, W, b, propagate = cache
    # H += b
    db = None if b is None else dH.sum(axis=0)
    if W.shape[0] < W.shape[1]:
        # H = K W, K = A~ M
        dW = K.T @ dH
        dM, dp, dq = propagate_backward(dH @ W.T, propagate)
    else:
        # H = A~ (M W), K = M
        dMW, dp, dq = propagate_backward(dH, propagate)
        dW = K.T @ dMW
        dM = dMW @ W.T
    return MessagePassingGrads(dM, dW, db, dp, dq)


def relu_forward(H: Array) -> tuple[Array, Array]:
    """Return sigma_R(H) = max(H, 0), and the mask H > 0 that its backward needs (and that tells of a kink).

    Source: paper, eq. 1 and 2. A NaN stays one.

    Examples
    --------
    >>> import numpy as np
    >>> [a.tolist() for a in relu_forward(np.array([-1.0, 0.0, 2.0]))]
    [[0.0, 0.0, 2.0], [False, False, True]]
    """
    return xp_of(H).maximum(H, 0), H > 0


def relu_backward(dZ: Array, mask: Array) -> Array:
    """Return dH for a cotangent dZ; at H = 0 the derivative taken is 0."""
    # Z = max(H, 0)
    return dZ * mask
