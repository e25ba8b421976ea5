"""The text format of the repositories powerful-gnns (GIN) and pytorch_DGCNN: one file a data set.

The first line is the number of graphs. Each graph begins with a line ``n l``, its number of nodes and its class; then,
for each of its nodes, a line ``t m j_1 ... j_m a_1 ... a_k``: tag, number of neighbours, their numbers within the graph
from 0, and perhaps attributes. Numbers are separated by blanks.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from minipinet._files import as_path, write_whole
from minipinet._words import counted, type_name
from minipinet.datasets.assemble import assemble
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.encoder import FeatureEncoder, check_encoder, check_kind
from minipinet.datasets.tables import read_text
from minipinet.datasets.tu import TUContent
from minipinet.errors import DataError, UsageError, notify
from minipinet.settings import truth

#: Whole numbers of this size and more are taken for slips: int64 would hold them, float64 not.
_TOO_LARGE = 2**53


def read_gin(
    path: str | os.PathLike[str],
    *,
    features: str = "labels",
    directed: bool = False,
    encoder: FeatureEncoder | None = None,
) -> Dataset:
    """Read a data set in the text format of GIN and DGCNN: tags are node labels, numbers behind neighbours attributes.

    Parameters
    ----------
    path : path
        One file, such as ``dataset/MUTAG/MUTAG.txt``.
    features, directed, encoder
        As for :func:`minipinet.datasets.load_dataset`. A neighbour j in the line of node i is the entry ``A[i, j]``.

    Returns
    -------
    Dataset
        Tags and classes as written, not renumbered as both repositories do. Its notices are also issued as
        :class:`~minipinet.errors.Notice`.

    Raises
    ------
    UsageError
        If an argument is of the wrong kind, there is no such file, or it has not what `features` asks for.
    DataError
        If it is malformed; names file and line.
    """
    path, directed = as_path(path), truth("directed", directed)
    if encoder is None:
        check_kind(features)
    else:
        check_encoder(encoder)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    lines = read_text(raw, str(path)).split("\n")
    dataset = assemble(_parse(lines, path), features, keep_repeats=False, directed=directed, encoder=encoder)
    for text in dataset.notices:
        notify(text)
    return dataset


def write_gin(path: str | os.PathLike[str], dataset: Dataset) -> None:
    """Write a data set in the text format of GIN and DGCNN, whole or not at all.

    Parameters
    ----------
    path : path
        One file, replaced if it exists.
    dataset : Dataset
        Undirected and without weights, since the format has no place for them. Tags are its node labels if these are
        whole numbers, the place of each in the sorted labels if they are not, and 0 without labels; classes likewise.
        Attributes follow with all their digits.

    Raises
    ------
    UsageError
        If `path` is no path; if `dataset` is none, or has no graph, directions, weights, several labels a node, or
        labels or classes of 2^53 and more, which :func:`read_gin` takes for slips.
    MinipinetError
        When the file cannot be written.
    """
    path = as_path(path)
    if not isinstance(dataset, Dataset):
        raise UsageError(f"dataset: expected a Dataset, got {type_name(dataset)}")
    if not len(dataset):
        raise UsageError("dataset: expected at least one graph, since readers of the format do, got none")
    A, _, ptr = dataset.graphs
    if (A.data != 1).any():
        raise UsageError("dataset: expected edges of weight 1, since the format holds no weights, got others")
    if (A != A.T).nnz:
        raise UsageError("dataset: expected undirected graphs, since readers of the format join every edge both ways")
    tags = [0] * int(ptr[-1])
    if dataset.node_labels is not None:
        if dataset.node_labels.shape[1] != 1:
            raise UsageError(f"dataset: expected one label a node, got {dataset.node_labels.shape[1]}")
        tags = _whole(dataset.node_labels[:, 0].tolist(), "node labels")
    classes = _whole(dataset.labels.tolist(), "classes")
    numbers = [""] * len(tags)
    if dataset.attributes is not None:
        numbers = ["".join(f" {x!r}" for x in row) for row in dataset.attributes.tolist()]
    lines = [str(len(dataset))]
    for g, label in enumerate(classes):
        first, end = int(ptr[g]), int(ptr[g + 1])
        lines.append(f"{end - first} {label}")
        for i in range(first, end):
            neighbours = (A.indices[A.indptr[i] : A.indptr[i + 1]] - first).tolist()
            lines.append(" ".join(map(str, [tags[i], len(neighbours), *neighbours])) + numbers[i])
    write_whole(path, ("\n".join(lines) + "\n").encode())


def _whole(values: list[object], what: str) -> list[int]:
    """Return labels as whole numbers: themselves if they are, else their places among the sorted ones."""
    if all(isinstance(value, int) for value in values):
        numbers = [int(value) for value in values]  # type: ignore[call-overload]
        if large := [number for number in numbers if abs(number) >= _TOO_LARGE]:
            raise UsageError(f"dataset: expected {what} between -2^53 and 2^53, as read_gin does, got {large[0]}")
        return numbers
    place = {value: k for k, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    return [place[value] for value in values]


def _parse(lines: list[str], path: Path) -> TUContent:
    """Check the lines one by one, and return what they say as arrays."""
    reader = _Lines(lines, path)
    (B,) = reader.whole(reader.words("the number of graphs", 1))
    if B < 1:
        raise reader.fault("a number of graphs of at least 1", B)
    sizes: list[int] = []
    classes: list[int] = []
    tags: list[int] = []
    rows: list[int] = []
    cols: list[int] = []
    attributes: list[list[float]] = []
    for _ in range(B):
        n, label = reader.whole(reader.words("the number of nodes and the class of a graph", 2))
        if n < 0:
            raise reader.fault("a number of nodes of at least 0", n)
        first, head = len(tags), reader.at
        for i in range(n):
            what = f"tag, number of neighbours and neighbours of node {i} of the graph in line {head}"
            words = reader.words(what)
            tag, m = reader.whole(words[:2]) if len(words) > 1 else (0, -1)
            if m < 0 or len(words) < 2 + m:
                raise reader.fault(what, " ".join(words))
            neighbours = reader.whole(words[2 : 2 + m])
            if strange := [j for j in neighbours if not 0 <= j < n]:
                raise reader.fault(f"neighbours from 0 to {n - 1}, the nodes of the graph in line {head}", strange[0])
            tags.append(tag)
            rows += [first + i] * m
            cols += [first + j for j in neighbours]
            attributes.append(reader.finite(words[2 + m :]))
            if len(attributes[-1]) != len(attributes[0]):
                expected = counted(len(attributes[0]), "attribute")
                raise reader.fault(f"{expected} behind the neighbours, as the first node has", len(attributes[-1]))
        sizes.append(n)
        classes.append(label)
    reader.end()
    N = len(tags)
    given = np.array([rows, cols], dtype=np.int64).T
    arcs = np.unique(given, axis=0)
    repeats = len(given) - len(arcs)
    notices = [f"{path.stem}: {counted(repeats, 'neighbour')} named more than once in a line, counted once"] * bool(
        repeats
    )
    numbers = np.array(attributes, dtype=np.float64).reshape(N, -1) if N else np.zeros((0, 0))
    return TUContent(
        path.stem,
        arcs,
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        np.array(classes, dtype=np.int64),
        np.array(tags, dtype=np.int64)[:, None],
        numbers if numbers.shape[1] else None,
        tuple(notices),
    )


class _Lines:
    """The lines of a file, taken one after the other; `at` is the number of the last, from 1."""

    def __init__(self, lines: list[str], path: Path) -> None:
        self.lines, self.path, self.at = lines, path, 0

    def fault(self, expected: str, got: object) -> DataError:
        return DataError(f"{self.path}, line {self.at}: expected {expected}, got {got!r:.80}")

    def words(self, what: str, count: int | None = None) -> list[str]:
        """Return the next line's words, `count` of them if given; plain ASCII, so that int() reads digits alone."""
        self.at += 1
        if self.at > len(self.lines):
            raise DataError(f"{self.path}: expected {what} in line {self.at}, got the end of the file")
        line = self.lines[self.at - 1]
        words = line.split()
        if not line.isascii() or "_" in line or (count is not None and len(words) != count):
            raise self.fault(what, line)
        return words

    def whole(self, words: list[str]) -> list[int]:
        numbers = []
        for word in words:
            try:
                number = int(word)
            except ValueError:
                raise self.fault("a whole number", word) from None
            if abs(number) >= _TOO_LARGE:
                raise self.fault("a whole number between -2^53 and 2^53", word)
            numbers.append(number)
        return numbers

    def finite(self, words: list[str]) -> list[float]:
        numbers = []
        for word in words:
            try:
                number = float(word)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise self.fault("a finite number as attribute", word)
            numbers.append(number)
        return numbers

    def end(self) -> None:
        if self.at < len(self.lines):
            self.at += 1
            raise self.fault("the end of the file after the last graph", self.lines[self.at - 1])
