"""One order of a graph's nodes that does not depend on how they are numbered: nauty's canonical labelling."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np

from minipinet._array import Array, Sparse
from minipinet._host import host_array
from minipinet.errors import UsageError


def canonical_order(A: Sparse, colours: Any) -> Array:
    """Order the nodes by colour, and the nodes of one colour so that isomorphic graphs come out as one.

    For two graphs with an isomorphism between them that keeps colours, ``A[order][:, order]`` and ``colours[order]``
    are the same. Where several orders would do (nodes that an automorphism exchanges), which of them is taken may
    depend on the numbering, but nothing that is read off the graph in this order does.

    Parameters
    ----------
    A : csr_array of shape (N, N)
        An entry is an edge, whatever its weight; from i to j, unless A is symmetric.
    colours : array_like of shape (N,) or (N, k)
        Numbers, or rows of numbers that are compared from the left. Their values count: a node of colour 0 comes before
        one of colour 5 as before one of colour 1, but a graph with the colours 0 and 5 is not one with 0 and 1.

    Returns
    -------
    ndarray of shape (N,), int64
        The node at each place.

    Raises
    ------
    UsageError
        Without pynauty; if there is not one colour a node.

    Notes
    -----
    nauty is exponential for special graphs; molecules of a hundred nodes take well below a millisecond.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("pynauty")
    >>> from minipinet.graphs import as_graph
    >>> path = as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> int(canonical_order(path.A, [6, 8, 8])[0])  # carbon before oxygen
    0

    Source
    ------
    McKay and Piperno, "Practical graph isomorphism, II", 2014; the program nauty by way of pynauty.
    """
    pynauty = _pynauty()
    table = host_array("colours", colours, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    N = A.shape[0]
    if table.ndim != 2 or len(table) != N:
        raise UsageError(f"colours: expected shape ({N},) or ({N}, k), got {np.shape(colours)}")
    if not N:
        return np.empty(0, np.int64)
    _, colour = np.unique(table, axis=0, return_inverse=True)
    by_colour = np.argsort(colour, kind="stable")
    cells = np.split(by_colour, np.flatnonzero(np.diff(colour[by_colour])) + 1)
    indptr, indices = A.indptr.tolist(), A.indices.tolist()
    graph = pynauty.Graph(
        N,
        directed=True,  # undirected, nauty would join j to i for every edge from i to j
        adjacency_dict={i: indices[indptr[i] : indptr[i + 1]] for i in range(N)},
        vertex_coloring=[set(cell.tolist()) for cell in cells],
    )
    return np.array(pynauty.canon_label(graph), np.int64)


def _pynauty() -> ModuleType:
    try:
        return importlib.import_module("pynauty")
    except ImportError as error:
        raise UsageError(
            f"PATCHY-SAN needs the package pynauty: pip install 'minipinet[kernels]' ({error}); "
            "where it has to be built, that takes a C compiler"
        ) from error
