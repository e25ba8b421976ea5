"""What the fields of a stored row may hold: checked wherever a row is read, since anybody may have edited it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from minipinet.baselines.system import SYSTEMS, system_named
from minipinet.errors import DataError, UsageError
from minipinet.experiments.records import EXPERIMENTS, MOST_FOLDS, MOST_REPEATS, PROTOCOLS, Cell, Row

#: What SQLite keeps whole; graph numbers, classes and seeds are far below it.
_LARGEST = 2**63 - 1
#: Lists in lists that a row may hold: ours reach six, and recursion ends at some hundreds.
_DEEPEST = 20


def parse_json(text: Any) -> Any:
    """Return the value of strict JSON text; a ValueError for anything else, however deep."""
    if not isinstance(text, str):
        raise ValueError(f"expected text, got {_shown(text)}")
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level, depth = [value], 0
    while level := [entry for outer in level if isinstance(outer, list | dict) for entry in _entries(outer)]:
        depth += 1
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
    return value


def check_cell(cell: Cell) -> Cell:
    """Return a cell whose fields can be those of one; a DataError names the first that cannot."""
    for name, expected, fits in _CELL_RULES:
        _require(fits(getattr(cell, name)), name, expected, getattr(cell, name))
    if (wrong := _find_wrong_setting(cell.system, cell.variant)) is not None:
        raise DataError(f"variant: {wrong}")
    return cell


def check_row(row: Row) -> Row:
    """Return a row whose fields agree with their types, their ranges and each other.

    The accuracy must be that of the predictions, and no graph be both trained or chosen on and tested.

    Raises
    ------
    DataError
        Naming the first field that is wrong, what it may be and what it is; the caller says where the row stands.

    Examples
    --------
    >>> row = Row(Cell("comparison", "paper", "wl", "MUTAG"), {}, {}, 0, "0d65", [0], None, [1, 2], [0, 1], [[0, 0]],
    ...           0.5, {"test": 0, "other_class": 0}, {}, 3.5)
    >>> check_row(row) == row
    True
    >>> check_row(row._replace(accuracy=2.0))
    Traceback (most recent call last):
    minipinet.errors.DataError: accuracy: expected 0.5, the share of right predictions, got 2.0
    """
    check_cell(row.cell)
    for name, expected, fits in _ROW_RULES:
        _require(fits(getattr(row, name)), name, expected, getattr(row, name))
    tested = len(row.test_index)
    seen = {*row.train_index, *(row.validation_index or ())}
    _require(seen.isdisjoint(row.test_index), "test_index", "graphs that were not trained or chosen on", row.test_index)
    _require(len(row.truth) == tested, "truth", f"a class for each of {tested} test graphs", row.truth)
    for predicted in row.predictions:
        _require(len(predicted) == tested, "predictions", f"a class for each of {tested} test graphs", predicted)
    right = sum(a == b for predicted in row.predictions for a, b in zip(predicted, row.truth, strict=True))
    share = right / (tested * len(row.predictions))
    _require(row.accuracy == share, "accuracy", f"{share}, the share of right predictions", row.accuracy)
    counts = row.duplicates
    possible = counts["other_class"] <= counts["test"] <= tested
    _require(possible, "duplicates", f"other_class <= test <= {tested}", counts)
    return row


@lru_cache(maxsize=256)
def _find_wrong_setting(system: str, variant: str) -> str | None:
    """Return what is wrong with the settings of a system, which may be those of another version; None for nothing."""
    try:
        system_named(system, **parse_json(variant))
    except UsageError as error:
        return str(error)
    return None


def _require(fits: bool, name: str, expected: str, value: Any) -> None:
    if not fits:
        raise DataError(f"{name}: expected {expected}, got {_shown(value)}")


def _shown(value: Any) -> str:
    """Return the beginning of a value as Python writes it, which for numbers beyond 4300 digits it does not."""
    try:
        text = repr(value)
    except ValueError:
        return "a huge number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not strict JSON")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is beyond the range of numbers")
    return value


def _entries(outer: list[Any] | dict[str, Any]) -> Any:
    return outer.values() if isinstance(outer, dict) else outer


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(value.encode())
    except UnicodeError:
        return False


def _is_name(value: Any) -> bool:
    """Return whether this can be the name of one file or folder: scripts and figures call files after it."""
    return _is_text(value) and not value.startswith(".") and not {"/", "\\", "\0"} & {*value}


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_object(text: Any) -> bool:
    try:
        return isinstance(parse_json(text), dict)
    except ValueError:
        return False


def _are_whole(value: Any) -> bool:
    """Return whether this is a list of numbers, in three passes that run in C: rows hold thousands."""
    return isinstance(value, list) and {*map(type, value)} == {int} and min(value) >= 0 and max(value) <= _LARGEST


def _are_graphs(value: Any) -> bool:
    return _are_whole(value) and len(set(value)) == len(value)


def _is_training(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("history", {}), dict)


def _are_details(value: Any) -> bool:
    trainings = value.get("trainings", []) if _is_training(value) else None
    return isinstance(trainings, list) and all(map(_is_training, trainings))


def _one_of(name: str, known: Any) -> tuple[str, str, Callable[[Any], bool]]:
    return name, f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known


def _below(name: str, end: int) -> tuple[str, str, Callable[[Any], bool]]:
    return name, f"a whole number from 0 to {end - 1}", lambda value: _is_whole(value) and value < end


_NAME = 'a name, without "/", "\\" and NUL and with no "." in front'
_WHOLE = "a whole number from 0 to 2**63 - 1"
_GRAPHS = "a list of different whole numbers"
#: The field, what it may be in words, and whether a value is that.
_CELL_RULES: list[tuple[str, str, Callable[[Any], bool]]] = [
    _one_of("experiment", EXPERIMENTS),
    _one_of("protocol", PROTOCOLS),
    _one_of("system", SYSTEMS),
    ("dataset", _NAME, _is_name),
    ("variant", "settings as a JSON object", _is_object),
    ("features", _NAME, _is_name),
    ("shuffled", "0 or 1", lambda value: type(value) is int and value in (0, 1)),
    ("size", _WHOLE, _is_whole),
    _below("repeat", MOST_REPEATS),
    _below("fold", MOST_FOLDS),
]
_ROW_RULES: list[tuple[str, str, Callable[[Any], bool]]] = [
    ("settings", "a JSON object", lambda value: isinstance(value, dict)),
    ("versions", "a JSON object of texts",
     lambda value: isinstance(value, dict) and all(isinstance(text, str) for text in value.values())),
    ("seed", _WHOLE, _is_whole),
    ("digest", "a text", _is_text),
    ("train_index", _GRAPHS, _are_graphs),
    ("validation_index", f"null or {_GRAPHS}", lambda value: value is None or _are_graphs(value)),
    ("test_index", _GRAPHS, _are_graphs),
    ("truth", "a list of whole numbers", _are_whole),
    ("predictions", "a list of lists of whole numbers",
     lambda value: isinstance(value, list) and bool(value) and all(map(_are_whole, value))),
    ("accuracy", "a number from 0 to 1", lambda value: isinstance(value, float)),
    ("duplicates", "the numbers test and other_class",
     lambda value: isinstance(value, dict) and value.keys() == {"test", "other_class"}
     and all(map(_is_whole, value.values()))),
    ("details", "a JSON object, in which a training is one and its history", _are_details),
    ("seconds", "a number of at least 0", lambda value: isinstance(value, float) and 0 <= value < math.inf),
]  # fmt: skip
