"""Which data of networkx graphs are read: what a model has to remember to read others in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from minipinet.errors import DataError, UsageError


class Reading(NamedTuple):
    """How networkx graphs are read; the defaults are for models whose training graphs were none.

    Attributes
    ----------
    node_label : tuple of str
        Node attributes that hold a label, in the order of the encoder's vocabularies.
    node_attributes : tuple of str
        Node attributes that hold numbers, in the order of their columns.
    weight : str or None
        Edge attribute that holds the weight; None: every edge has weight 1.
    directed : bool
        Whether arcs keep their direction.

    Examples
    --------
    >>> reading = as_reading("atom", ["mass"], weight="bond")
    >>> reading
    Reading(node_label=('atom',), node_attributes=('mass',), weight='bond', directed=False)
    >>> Reading.from_json(reading.to_json()) == reading
    True
    """

    node_label: tuple[str, ...] = ("label",)
    node_attributes: tuple[str, ...] = ()
    weight: str | None = None
    directed: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the names as plain data for strict JSON."""
        return {
            **self._asdict(),
            "node_label": list(self.node_label),
            "node_attributes": list(self.node_attributes),
        }

    @classmethod
    def from_json(cls, record: Any) -> Reading:
        """Make again what :meth:`to_json` returned.

        Raises
        ------
        DataError
            If `record` is not of that form.
        """
        try:
            return as_reading(**record)
        except (TypeError, UsageError) as error:
            raise DataError(f"reading: expected {', '.join(cls._fields)} ({error})") from error


def as_reading(node_label: Any, node_attributes: Any, weight: Any = None, directed: Any = False) -> Reading:
    """Check options that say what to read; one name may stand for a sequence of one, None for a sequence of none.

    Raises
    ------
    UsageError
        If a name is no string, or `directed` no truth value; names the argument.
    """
    if weight is not None and not isinstance(weight, str):
        raise UsageError(f"weight: expected the name of an edge attribute or None, got {weight!r:.80}")
    if not isinstance(directed, bool | np.bool_):
        raise UsageError(f"directed: expected True or False, got {directed!r:.80}")
    labels, attributes = _names(node_label, "node_label"), _names(node_attributes, "node_attributes")
    return Reading(labels, attributes, weight, bool(directed))


def _names(names: Any, argument: str) -> tuple[str, ...]:
    if isinstance(names, str):
        return (names,)
    several = isinstance(names, Iterable) and not (isinstance(names, np.ndarray) and names.ndim == 0)
    found = () if names is None else tuple(names) if several else (names,)
    if not all(isinstance(name, str) for name in found):
        raise UsageError(f"{argument}: expected the name of a node attribute or a sequence of them, got {names!r:.80}")
    return found
