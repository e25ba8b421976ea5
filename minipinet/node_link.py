"""Graphs from node-link JSON, the form networkx writes with ``node_link_data``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipinet._files import as_path
from minipinet.errors import DataError, UsageError

if TYPE_CHECKING:
    import networkx as nx


def read_node_link(path: str | Path) -> list[nx.Graph]:
    """Read a JSON file of one node-link graph, or a list of them.

    A graph is ``{"nodes": [{"id": ..., ...}, ...], "edges": [{"source": ..., "target": ..., ...}, ...]}``; the
    edges may be called ``"links"``, as older networkx did. ``"directed"`` and ``"multigraph"`` (false where left
    out) choose the class. Everything else in a node or an edge is an attribute; other keys of a graph, a label
    among them, are not read.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    list of networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        In the order of the file; nodes in the order of their list.

    Raises
    ------
    UsageError
        If `path` is no path, or there is no such file.
    DataError
        If it holds anything else; names the file and the line, or the graph and the node or edge.
    """
    path = as_path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_refuse)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error})") from error
    graphs = content if isinstance(content, list) else [content]
    if not graphs:
        raise DataError(f"{path}: expected at least one graph, got an empty list")
    return [_graph(data, f"{path}, graph {g}") for g, data in enumerate(graphs)]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _graph(data: Any, place: str) -> nx.Graph:
    import networkx as nx

    fields = data if isinstance(data, dict) else {}
    nodes, edges = fields.get("nodes"), fields.get("edges", fields.get("links"))
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise DataError(f'{place}: expected an object with lists "nodes" and "edges" (or "links")')
    for flag in ("directed", "multigraph"):
        if not isinstance(fields.get(flag, False), bool):
            raise DataError(f'{place}: expected "{flag}" to be true or false, got {fields[flag]!r:.80}')
    kinds = (nx.Graph, nx.DiGraph), (nx.MultiGraph, nx.MultiDiGraph)
    G = kinds[fields.get("multigraph", False)][fields.get("directed", False)]()
    for k, node in enumerate(nodes):
        (name,), attributes = _split(node, ("id",), f"{place}: node {k}")
        if name in G:
            raise DataError(f"{place}: node {k} has id {name!r}, as an earlier one has")
        G.add_node(name)
        G.nodes[name].update(attributes)
    for k, edge in enumerate(edges):
        ends, attributes = _split(edge, ("source", "target"), f"{place}: edge {k}")
        for end in ends:
            if end not in G:
                raise DataError(f"{place}: edge {k} joins {end!r}, which is not among the nodes")
        if G.is_multigraph():
            ends.append(G.add_edge(*ends, key=_hashable(attributes.pop("key", None), f"{place}: edge {k}")))
        else:
            G.add_edge(*ends)
        G.edges[tuple(ends)].update(attributes)
    return G


def _split(item: Any, required: tuple[str, ...], place: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the ids that `item` must have, hashable, and everything else in it."""
    if not isinstance(item, dict) or any(item.get(field) is None for field in required):
        raise DataError(f"{place}: expected an object with " + " and ".join(f'"{field}"' for field in required))
    ids = [_hashable(item[field], place) for field in required]
    return ids, {field: value for field, value in item.items() if field not in required}


def _hashable(value: Any, place: str) -> Any:
    """Return an id as networkx has it: what JSON wrote as a list was a tuple."""
    if isinstance(value, dict):
        raise DataError(f"{place}: expected an id that is a string, a number or a list, got an object")
    return tuple(_hashable(item, place) for item in value) if isinstance(value, list) else value
