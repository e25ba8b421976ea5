"""How node labels and attributes become the feature matrix X, kept so that new graphs get the same columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minipinet._host import host_array
from minipinet._words import counted, have, listed
from minipinet.adjacency import as_features, as_float64
from minipinet.datasets.values import as_array, as_values
from minipinet.errors import DataError, UsageError, notify

#: The choices of `features`; what each needs of (node labels, attributes).
KINDS = {
    "labels": (True, False),
    "attributes": (False, True),
    "both": (True, True),
    "constant": (False, False),
    "degree": (False, False),
}
#: X may have this many entries; they take 4 GiB.
MAX_ENTRIES = 2**29


class FeatureEncoder(NamedTuple):
    """The columns of X and what they stand for.

    Attributes
    ----------
    kind : str
        ``"labels"``: one-hot node labels, column after column; ``"attributes"``: the numbers as given;
        ``"both"``: labels, then attributes; ``"constant"``: 1; ``"degree"``: one-hot degrees.
    vocabularies : tuple of tuples
        The sorted values of each label column (of the degrees, for ``"degree"``).
    num_attributes : int
        Number of attribute columns.

    Examples
    --------
    >>> encoder = fit_encoder("labels", node_labels=[["C"], ["O"]], attributes=None, deg=[1, 1])
    >>> encoder.encode([["O"], ["O"], ["C"]], None, [1, 2, 1])
    array([[0., 1.],
           [0., 1.],
           [1., 0.]])
    >>> FeatureEncoder.from_json(encoder.to_json()) == encoder
    True
    """

    kind: str
    vocabularies: tuple[tuple[Any, ...], ...] = ()
    num_attributes: int = 0

    @property
    def num_features(self) -> int:
        """Number of columns of X."""
        return 1 if self.kind == "constant" else sum(map(len, self.vocabularies)) + self.num_attributes

    def encode(self, node_labels: Any, attributes: Any, deg: Any) -> NDArray[np.float64]:
        """Make the feature matrix of N nodes.

        Parameters
        ----------
        node_labels : array_like of shape (N, k) or (N,), or None
            Numbers or strings, one kind in each column; needed for ``"labels"`` and ``"both"``.
        attributes : array_like of shape (N, a) or (N,), or None
            Finite numbers; needed for ``"attributes"`` and ``"both"``.
        deg : array_like of shape (N,)
            Degrees; they also say how many nodes there are.

        Returns
        -------
        ndarray of shape (N, num_features), float64, C-contiguous
            A value that is not in its vocabulary has zeros in its columns; one :class:`Notice` names such values
            and the vocabulary.

        Raises
        ------
        UsageError
            If something needed is missing or has another shape than the encoder was fitted on.
        DataError
            If X would have more than 2^29 entries.
        """
        X, notices = self.encode_quietly(node_labels, attributes, deg)
        for text in notices:
            notify(text)
        return X

    def encode_quietly(
        self, node_labels: Any, attributes: Any, deg: Any
    ) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """Do what :meth:`encode` does, but return its notices instead of issuing them."""
        deg = as_float64(deg, "deg")
        if not deg.size:  # without nodes there is nothing to look at, and labels or attributes may have any width
            return np.zeros((0, self.num_features)), ()
        columns = _label_columns(self.kind, node_labels, deg)
        numbers = _attribute_columns(self.kind, attributes, deg.size)
        for name, expected, got in (
            ("node_labels", len(self.vocabularies), len(columns)),
            ("attributes", self.num_attributes, numbers.shape[1]),
        ):
            if expected != got:
                raise UsageError(
                    f"{name}: expected {counted(expected, 'column')} a node, as in the training data, got {got}"
                )
        if self.kind == "constant":
            return np.ones((deg.size, 1)), ()
        self._check_size(deg.size)
        X = np.zeros((deg.size, self.num_features))
        X[:, self.num_features - self.num_attributes :] = numbers
        notices = []
        first = 0
        for k, (vocabulary, column) in enumerate(zip(self.vocabularies, columns, strict=True)):
            known, place = _look_up(as_values(vocabulary, "vocabularies"), column)
            X[np.flatnonzero(known), first + place[known]] = 1.0
            first += len(vocabulary)
            if not known.all():
                which = f" (column {k + 1})" if len(columns) > 1 else ""
                what = "degree" if self.kind == "degree" else f"node label{which}"
                notices.append(_name_unseen(what, column, known, vocabulary))
        return X, tuple(notices)

    def _check_size(self, N: int) -> None:
        """Refuse one-hot columns that memory cannot be expected to hold, before they are made."""
        if self.vocabularies and N * self.num_features > MAX_ENTRIES:
            what = "degrees" if self.kind == "degree" else "node labels"
            others = [repr(kind) for kind in ("attributes", "degree", "constant") if kind != self.kind]
            raise DataError(
                f"features: {sum(map(len, self.vocabularies))} distinct {what} make X too large for {N} nodes: "
                f"expected at most {MAX_ENTRIES} entries, got {N} x {self.num_features} "
                f"(features={' or '.join(others)} may do)"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the encoder as plain data for strict JSON."""
        return {
            "kind": self.kind,
            "vocabularies": [list(vocabulary) for vocabulary in self.vocabularies],
            "num_attributes": self.num_attributes,
        }

    @classmethod
    def from_json(cls, record: Any) -> FeatureEncoder:
        """Make the encoder again from what :meth:`to_json` returned.

        Raises
        ------
        DataError
            If `record` is not of that form.
        """
        try:
            vocabularies = tuple(tuple(vocabulary) for vocabulary in record["vocabularies"])
            encoder = cls(record["kind"], vocabularies, int(record["num_attributes"]))
            check_kind(encoder.kind)
            for vocabulary in vocabularies:
                as_values(vocabulary, "vocabularies")
        except (KeyError, TypeError, ValueError) as error:  # a UsageError is a ValueError
            raise DataError(f"encoder: expected kind, vocabularies and num_attributes ({error})") from error
        return encoder


def fit_encoder(kind: str, node_labels: Any, attributes: Any, deg: Any) -> FeatureEncoder:
    """Fit an encoder to some nodes: the vocabularies are the values that occur.

    Where that makes no column, as without any node, the encoder is one of kind ``"constant"``, with a
    :class:`~minipinet.errors.Notice`: X has at least one column.

    Parameters
    ----------
    kind : {"labels", "attributes", "both", "constant", "degree"}
        See :class:`FeatureEncoder`.
    node_labels, attributes, deg
        As for :meth:`FeatureEncoder.encode`.

    Raises
    ------
    UsageError
        If `kind` is not one of these, or what it needs is not there.
    """
    check_kind(kind)
    deg = as_float64(deg, "deg")
    columns = _label_columns(kind, node_labels, deg)
    vocabularies = tuple(tuple(np.unique(column).tolist()) for column in columns)
    encoder = FeatureEncoder(kind, vocabularies, _attribute_columns(kind, attributes, deg.size).shape[1])
    if encoder.num_features:
        return encoder
    text = f"features: {kind!r} of {counted(deg.size, 'node')} makes no column, so every node has the one feature 1"
    notify(text)
    return FeatureEncoder("constant")


def check_kind(kind: str) -> None:
    """Refuse a kind of features that does not exist."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise UsageError(f"features: expected one of {', '.join(map(repr, KINDS))}, got {kind!r:.80}")


def check_encoder(encoder: object) -> None:
    """Refuse what is no encoder."""
    if not isinstance(encoder, FeatureEncoder):
        raise UsageError(f"encoder: expected a FeatureEncoder, as a data set or model has, got {encoder!r:.80}")


def _label_columns(kind: str, node_labels: Any, deg: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return the columns to be one-hot encoded."""
    if kind == "degree":
        return [as_values(deg, "deg")]
    if not KINDS[kind][0]:
        return []
    if node_labels is None:
        raise UsageError(f"features: {kind!r} needs node labels, and there are none")
    table = as_array(node_labels, "node_labels")
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != deg.size:
        raise UsageError(f"node_labels: expected shape ({deg.size}, k), got {table.shape}")
    return [as_values(column, "node_labels") for column in table.T]


def _attribute_columns(kind: str, attributes: Any, N: int) -> NDArray[np.float64]:
    if not KINDS[kind][1]:
        return np.zeros((N, 0))
    if attributes is None:
        raise UsageError(f"features: {kind!r} needs node attributes, and there are none")
    table = host_array("attributes", attributes)
    if table.shape == (0, 0) and not N:  # a file without a line: it could have had any number of columns
        return np.zeros((0, 0))
    return as_features(attributes, N)


def _look_up(vocabulary: NDArray[Any], column: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which values of `column` are in `vocabulary`, and where there."""
    if not vocabulary.size or (vocabulary.dtype.kind == "U") != (column.dtype.kind == "U"):
        return np.zeros(column.size, dtype=np.bool_), np.zeros(column.size, dtype=np.intp)
    order = np.argsort(vocabulary)
    place = order[np.minimum(np.searchsorted(vocabulary, column, sorter=order), vocabulary.size - 1)]
    return vocabulary[place] == column, place


def _name_unseen(what: str, column: NDArray[Any], known: NDArray[np.bool_], vocabulary: tuple[Any, ...]) -> str:
    """Say which values of a column are not in its vocabulary, and what follows."""
    unseen = np.unique(column[~known]).tolist()
    values = f"{listed(unseen)} (known: {listed(vocabulary) or 'none'}{_another_type(unseen, vocabulary)})"
    if not known.any():
        return f"no node has a known {what}: got {values}; the features, and so the scores, say nothing about it"
    n = int(np.count_nonzero(~known))
    their = "its" if n == 1 else "their"
    return f"{counted(n, 'node')} {have(n)} an unknown {what}: {values}; {their} features leave it out"


def _another_type(unseen: list[Any], vocabulary: tuple[Any, ...]) -> str:
    """Return a hint where a value reads like one of the vocabulary, but one is text and the other a number."""
    known = {_text(value): value for value in vocabulary}
    for value in unseen:
        twin = known.get(_text(value), value)
        if isinstance(twin, str) != isinstance(value, str):
            return f"; {twin!r} is {_type_of(twin)}, but {value!r} is {_type_of(value)}"
    return ""


def _text(value: Any) -> str:
    return str(value).removesuffix(".0")  # a column with a half in it holds floats


def _type_of(value: Any) -> str:
    return "text" if isinstance(value, str) else "a number"
