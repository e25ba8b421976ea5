"""What the doors share: arguments checked, tensors as arrays and back, graphs of every form as one union."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet._host import refuse_card
from minipinet._words import type_name
from minipinet.datasets.dataset import Dataset
from minipinet.errors import DataError, UsageError
from minipinet.graphs import Graph
from minipinet.settings import DTYPES
from minipinet.union import DisjointUnion, disjoint_union, graph_at


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
    refuse_card(place, tensor)
    try:
        host = tensor.detach().cpu() if hasattr(tensor, "detach") else tensor
        array = np.asarray(host.numpy() if hasattr(host, "numpy") else host)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise DataError(
            f"{place}: expected a dense tensor of numbers, got {type(tensor).__name__} ({error})"
        ) from error
    if array.dtype.kind not in "buif":
        raise DataError(f"{place}: expected a dense tensor of real numbers, got dtype {array.dtype}")
    if np.ma.is_masked(tensor):
        raise DataError(f"{place}: expected a tensor without masked entries")
    return array


def check_dtype(dtype: str) -> None:
    """Refuse any type of tensors but the two that models have."""
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise UsageError(f"dtype: expected {' or '.join(map(repr, DTYPES))}, got {dtype!r:.80}")


def check_model(model: Any, argument: str = "model") -> None:
    """Refuse what is no model; of an estimator, say which of its attributes is one."""
    from minipinet.predictor import PiNet

    if not isinstance(model, PiNet):
        hint = "; its model_ is one once it is fitted" if hasattr(model, "fit") else ""
        raise UsageError(f"{argument}: expected a minipinet.predictor.PiNet, got {type_name(model)}{hint}")


def items_of(graphs: Any, argument: str, what: str, *attributes: str) -> list[Any]:
    """Return several objects of another library as a list, at least one; each must have all of these attributes."""
    refuse_card(argument, graphs)
    if any(hasattr(graphs, attribute) for attribute in attributes[:1]):
        raise UsageError(f"{argument}: expected a sequence of {what}, got one {type_name(graphs)}: put it in a list")
    if isinstance(graphs, str | bytes | Mapping) or not isinstance(graphs, Iterable):
        raise UsageError(f"{argument}: expected a sequence of {what}, got {type_name(graphs)}")
    try:
        items = list(graphs)
    except TypeError as error:  # an array without dimensions
        raise UsageError(f"{argument}: expected a sequence of {what}, got {type_name(graphs)}") from error
    if not items:
        raise UsageError(f"{argument}: expected at least one graph, got none")
    for g, item in enumerate(items):
        for attribute in attributes:
            if getattr(item, attribute, None) is None:
                raise UsageError(f"{argument}: expected {what} with {attribute}, got {type_name(item)} as graph {g}")
    return items


def narrowed(values: NDArray[np.float64], dtype: str, what: str) -> NDArray[Any]:
    """Return finite numbers in the type of tensors; a DataError if that cannot hold them.

    Examples
    --------
    >>> narrowed(np.array([1e300]), "float32", "features")
    Traceback (most recent call last):
    ...
    minipinet.errors.DataError: graphs: expected features that float32 can hold (dtype='float64' takes all), got 1e+300
    """
    with np.errstate(over="ignore"):
        cast = values.astype(dtype)
    if not np.isfinite(cast).all():
        worst = values.flat[np.abs(values).argmax()]
        raise DataError(f"graphs: expected {what} that {dtype} can hold (dtype='float64' takes all), got {worst}")
    return cast


def union_of(graphs: Any) -> DisjointUnion:
    """Return the graphs of a Dataset, a DisjointUnion or a sequence of Graph as one union; anything else is refused.

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> union_of(load_dataset("MUTAG")[:2]).ptr
    array([ 0, 17, 30])
    """
    refuse_card("graphs", graphs)
    if isinstance(graphs, Dataset):
        return graphs.graphs
    if isinstance(graphs, DisjointUnion):
        return graphs
    if isinstance(graphs, Graph):
        raise UsageError("graphs: expected a Dataset or a list of graphs, got one Graph: put it in a list")
    if not isinstance(graphs, Sequence) or isinstance(graphs, str):
        raise UsageError(f"graphs: expected a Dataset or a list of graphs, got {type_name(graphs)}")
    for g, graph in enumerate(graphs):
        if not isinstance(graph, Graph):
            raise UsageError(
                f"graphs: expected a list of minipinet.graphs.Graph, got {type_name(graph)} as graph {g} "
                "(minipinet.conversions.from_networkx and minipinet.graphs.as_graph make them)"
            )
    return disjoint_union(graphs)


def graphs_and_weighted(graphs: Any) -> tuple[list[Graph], bool]:
    """Return the graphs of a Dataset, a DisjointUnion or a sequence of Graph one by one, and whether they have weights.

    They have if any edge of any of them has a weight other than 1, or if they are a Dataset that was read with weights.
    """
    union = union_of(graphs)
    read = isinstance(graphs, Dataset) and graphs.reading.weight is not None
    weighted = read or bool((union.A.data != 1).any())
    if isinstance(graphs, Dataset | DisjointUnion):
        return [graph_at(union, g) for g in range(union.ptr.size - 1)], weighted
    return list(graphs), weighted
