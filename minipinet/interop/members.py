"""Graphs as tensor libraries hold them, edges by their sources and targets, made into ours: for PyG and DGL alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minipinet._words import counted
from minipinet.adjacency import as_features, as_float64, build_adjacency
from minipinet.errors import DataError, UsageError, notify_changes
from minipinet.graphs import Graph
from minipinet.interop.common import array_of
from minipinet.settings import whole
from minipinet.union import DisjointUnion, graph_at


class Member(NamedTuple):
    """One graph as tensor libraries hold it: a message goes from `source` to `target`."""

    source: Any  #: (E,) node numbers
    target: Any  #: (E,)
    weight: Any  #: (E,) or (E, 1), None where there is none
    X: Any  #: (N, d), (N,) or None: one feature, 1
    N: Any  #: number of nodes


def join_members(
    members: Sequence[Member], argument: str, *, weight: str | None, weight_name: str, directed: bool, keep: str = ""
) -> list[Graph]:
    """Make graphs of members; what was changed on the way is said once for all.

    Parameters
    ----------
    members : sequence of Member
    argument : str
        What the caller's caller passed them as, for messages.
    weight : str or None
        Name of the weights in use. None: every edge has weight 1, however often it occurs.
    weight_name : str
        What weights are called there: where they are left out although they say something, a notice names it.
    directed : bool
        False: an edge joins both ends. True: the target takes in the state of the source, not the other way.
    keep : str
        What to say there to have weights; left out: ``weight=`` with their name.

    Raises
    ------
    DataError
        Naming the graph and what in it is wrong.
    """
    members = [member._replace(N=_count(member.N, f"{argument}: graph {g}")) for g, member in enumerate(members)]
    features = [_features(member, f"{argument}: graph {g}") for g, member in enumerate(members)]
    for g, X in enumerate(features):
        if X.shape[1] != features[0].shape[1]:
            width, first = counted(X.shape[1], "feature"), features[0].shape[1]
            raise DataError(f"{argument}: graph {g} has {width} a node, graph 0 has {first}: they must agree")
    ptr = np.concatenate([[0], np.cumsum([member.N for member in members], dtype=np.int64)])
    arcs = [_arcs(member, f"{argument}: graph {g}", weight) for g, member in enumerate(members)]
    source = np.concatenate([source + first for (source, _, _), first in zip(arcs, ptr[:-1], strict=True)])
    target = np.concatenate([target + first for (_, target, _), first in zip(arcs, ptr[:-1], strict=True)])
    weights = np.concatenate([weights for _, _, weights in arcs])
    # Weights that are not asked for do not decide what is an edge.
    kept = weight is not None
    given = weights if kept else np.ones(len(weights))
    adjacency = build_adjacency(target, source, given, int(ptr[-1]), weighted=kept, directed=directed)
    ignored = 0 if kept else int(np.count_nonzero(weights != 1))
    repeats = 0 if kept else adjacency.repeats
    changes = [
        (
            ignored,
            f"{counted(ignored, 'edge')} with {weight_name} other than 1 taken as 1 "
            f"({keep or f'weight={weight_name!r}'} keeps it)",
        ),
        (repeats, f"{counted(repeats, 'repeated edge')} counted once ({keep or 'weight='} adds weights up)"),
        (
            adjacency.one_way,
            f"{counted(adjacency.one_way, 'entry', 'entries')} of A added or raised to make it symmetric "
            "(directed=True leaves it as it is)",
        ),
    ]
    notify_changes(argument, changes)
    union = DisjointUnion(adjacency.A, np.concatenate(features), ptr)
    return [graph_at(union, g) for g in range(len(members))]


def _count(N: Any, place: str) -> int:
    try:
        return whole("num_nodes", N, 0)
    except UsageError as error:
        raise DataError(f"{place}: {error}") from error


def _features(member: Member, place: str) -> NDArray[np.float64]:
    if member.X is None:
        return np.ones((member.N, 1))
    X = array_of(member.X, f"{place}: features")
    try:
        return as_features(X, member.N)
    except (UsageError, DataError) as error:
        raise DataError(f"{place}: {error}") from error


def _arcs(
    member: Member, place: str, name: str | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    ends = []
    for what, tensor in (("source", member.source), ("target", member.target)):
        end = array_of(tensor, f"{place}: {what}s of edges")
        if end.ndim != 1 or end.dtype.kind not in "iu":
            raise DataError(f"{place}: expected node numbers as {what}s of edges, got {end.dtype} of shape {end.shape}")
        outside = end[(end < 0) | (end >= member.N)]
        if outside.size:
            known = f"0 to {member.N - 1}" if member.N else "none, as there is no node"
            raise DataError(f"{place}: expected node numbers ({known}) as {what}s of edges, got {outside[0]}")
        ends.append(end.astype(np.int64))
    source, target = ends
    if len(source) != len(target):
        raise DataError(f"{place}: expected as many sources as targets of edges, got {len(source)} and {len(target)}")
    if member.weight is None:
        return source, target, np.ones(len(source))
    weights = as_float64(array_of(member.weight, f"{place}: {name or 'weights'}"), str(name))
    if name is None:  # not asked for: only looked at for the notice
        return source, target, weights.ravel() if weights.size == len(source) else np.ones(len(source))
    if weights.shape not in ((len(source),), (len(source), 1)):
        raise DataError(f"{place}: expected {name} of shape ({len(source)},), one for each edge, got {weights.shape}")
    weights = weights.ravel()
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        i, j = source[bad[0]], target[bad[0]]
        raise DataError(
            f"{place}: expected finite {name} that is not negative, got {weights[bad[0]]} for the edge {i} to {j}"
        )
    return source, target, weights
