"""What the doors share: a library imported where it is used, tensors as arrays, graphs of every form as one union."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minipinet._words import counted
from minipinet.adjacency import as_features, as_float64, build_adjacency
from minipinet.datasets.dataset import Dataset
from minipinet.errors import DataError, UsageError, notify_changes
from minipinet.graphs import Graph
from minipinet.settings import DTYPES
from minipinet.union import DisjointUnion, disjoint_union, graph_at


def library(module: str, purpose: str, install: str) -> ModuleType:
    """Import an optional library, or say what to install.

    Examples
    --------
    >>> library("no_such", "to_nothing", "pip install nothing")
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: to_nothing needs no_such: pip install nothing (No module named 'no_such')
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:  # OSError: a compiled part that does not fit
        raise UsageError(f"{purpose} needs {module}: {install} ({error})") from error


def array_of(tensor: Any, place: str) -> NDArray[Any]:
    """Return a tensor of any library as a NumPy array of numbers, not of objects; it may share the tensor's memory.

    Parameters
    ----------
    tensor : tensor or array_like
        On any device; one that records gradients is read without them.
    place : str
        What to call it in messages.

    Raises
    ------
    DataError
        If it is no array of real numbers that NumPy knows.
    """
    try:
        host = tensor.detach().cpu() if hasattr(tensor, "detach") else tensor
        array = np.asarray(host.numpy() if hasattr(host, "numpy") else host)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{place}: expected a dense tensor of numbers, got {type(tensor).__name__} ({error})"
        ) from error
    if array.dtype.kind not in "buif":
        raise DataError(f"{place}: expected a dense tensor of real numbers, got dtype {array.dtype}")
    return array


def check_dtype(dtype: str) -> None:
    """Refuse any type of tensors but the two that models have."""
    if dtype not in DTYPES:
        raise UsageError(f"dtype: expected {' or '.join(map(repr, DTYPES))}, got {dtype!r:.80}")


def items_of(graphs: Any, argument: str, what: str, mark: str) -> list[Any]:
    """Return several objects of another library as a list; each must have the attribute `mark`."""
    if hasattr(graphs, mark):
        raise UsageError(
            f"{argument}: expected a sequence of {what}, got one {type(graphs).__name__}: put it in a list"
        )
    try:
        items = list(graphs)
    except TypeError as error:
        raise UsageError(f"{argument}: expected a sequence of {what}, got {type(graphs).__name__}") from error
    if not items:
        raise UsageError(f"{argument}: expected at least one graph, got none")
    for g, item in enumerate(items):
        if getattr(item, mark, None) is None:
            raise UsageError(f"{argument}: expected {what} with {mark}, got {type(item).__name__} as graph {g}")
    return items


class Member(NamedTuple):
    """One graph as tensor libraries hold it: a message goes from `source` to `target`."""

    source: Any  #: (E,) node numbers
    target: Any  #: (E,)
    weight: Any  #: (E,) or (E, 1), None where there is none
    X: Any  #: (N, d), (N,) or None: one feature, 1
    N: int


def join_members(
    members: Sequence[Member], argument: str, *, weight: str | None, usual: str, directed: bool
) -> list[Graph]:
    """Make graphs of members; what was changed on the way is said once for all.

    Parameters
    ----------
    members : sequence of Member
    argument : str
        What the caller's caller passed them as, for messages.
    weight : str or None
        Name of the weights in use. None: every edge has weight 1, however often it occurs.
    usual : str
        What weights are called there: where they are left out although they say something, a notice names it.
    directed : bool
        False: an edge joins both ends. True: the target takes in the state of the source, not the other way.

    Raises
    ------
    DataError
        Naming the graph and what in it is wrong.
    """
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
    given = weights if weight else np.ones(len(weights))
    adjacency = build_adjacency(target, source, given, int(ptr[-1]), weighted=weight is not None, directed=directed)
    ignored = 0 if weight else int(np.count_nonzero(weights != 1))
    repeats = 0 if weight else adjacency.repeats
    changes = [
        (ignored, f"{counted(ignored, 'edge')} with {usual} other than 1 taken as 1 (weight={usual!r} keeps it)"),
        (repeats, f"{counted(repeats, 'repeated edge')} counted once (weight= adds weights up)"),
        (
            adjacency.one_way,
            f"{counted(adjacency.one_way, 'entry', 'entries')} of A added or raised to make it symmetric "
            "(directed=True leaves it as it is)",
        ),
    ]
    notify_changes(argument, changes)
    union = DisjointUnion(adjacency.A, np.concatenate(features), ptr)
    return [graph_at(union, g) for g in range(len(members))]


def _features(member: Member, place: str) -> NDArray[np.float64]:
    if member.X is None:
        return np.ones((member.N, 1))
    try:
        return as_features(array_of(member.X, f"{place}: features"), member.N)
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


def union_of(graphs: Any) -> DisjointUnion:
    """Return the graphs of a Dataset, a DisjointUnion or a sequence of Graph as one union; anything else is refused.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> union_of(load_dataset("MUTAG")[:2]).ptr
    array([ 0, 17, 30])
    """
    if isinstance(graphs, Dataset):
        return graphs.graphs
    if isinstance(graphs, DisjointUnion):
        return graphs
    if not isinstance(graphs, Sequence) or isinstance(graphs, str):
        raise UsageError(f"graphs: expected a Dataset or a list of graphs, got {type(graphs).__name__}")
    return disjoint_union(graphs)


def graphs_and_weighted(graphs: Any) -> tuple[list[Graph], bool]:
    """Return the graphs of a Dataset, a DisjointUnion or a sequence of Graph one by one, and whether they have weights.

    They have if any edge of any of them has a weight other than 1.
    """
    union = union_of(graphs)
    weighted = bool((union.A.data != 1).any())
    if isinstance(graphs, Dataset | DisjointUnion):
        return [graph_at(union, g) for g in range(union.ptr.size - 1)], weighted
    return list(graphs), weighted
