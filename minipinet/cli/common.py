"""What several sub-commands share: options, loading a model, printing JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipinet.errors import UsageError

if TYPE_CHECKING:
    from minipinet.predictor import PiNet


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument MODEL."""
    parser.add_argument("model", metavar="MODEL", help="a model.safetensors that train wrote, or the folder it is in")


def add_data_dir_option(parser: argparse._ActionsContainer) -> None:
    """Add ``--data-dir``."""
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder of TU folders and zips to take named data sets from; no other place is looked in then",
    )


def add_device_option(parser: argparse._ActionsContainer, what: str) -> None:
    """Add ``--device``, where `what` is done."""
    parser.add_argument(
        "--device",
        default="cpu",
        metavar="NAME",
        help=f"where to {what}: cpu (the default), cuda (an NVIDIA card; not yet tried on one), or auto",
    )


def whole_number(text: str) -> int | str:
    """Return a whole number, or the text as it is: what checks the number also says what is wrong with the text.

    Examples
    --------
    >>> whole_number("12"), whole_number("two")
    (12, 'two')
    """
    try:
        return int(text)
    except ValueError:
        return text


def real_number(text: str) -> float | str:
    """Return a number, or the text as it is, as `whole_number` does."""
    try:
        return float(text)
    except ValueError:
        return text


def add_json_option(parser: argparse._ActionsContainer) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one strict JSON document instead of tables")


def check_output(path: str) -> None:
    """Refuse what ``--output`` gives if it can be no file or is one that a run is made of, before any work is done."""
    from minipinet.rundir import check_not_of_run

    if path == "" or Path(path).is_dir():
        raise UsageError(f"--output: expected the name of a file, got {path!r}")
    check_not_of_run(Path(path), "--output")


def load_model(path: str) -> PiNet:
    """Load a model, or the one in a folder.

    Raises
    ------
    UsageError
        If there is no such file.
    DataError
        If it is no model.
    """
    from minipinet.predictor import PiNet

    return PiNet.load(model_file(path))


def model_file(path: str) -> Path:
    """Return the file of a model, or of the one in a folder; a UsageError if there is none."""
    from minipinet.rundir import MODEL

    file = Path(path) / MODEL if Path(path).is_dir() else Path(path)
    if not file.is_file():
        folds = sorted(file.parent.glob("fold-*/" + MODEL))
        hint = f"; a cross-validation keeps one model a fold, such as {folds[0]}" if folds else ""
        raise UsageError(f"MODEL: there is no file {file}{hint}")
    return file


def print_json(record: dict[str, Any]) -> None:
    """Print one strict JSON object on one line: null for NaN, and ASCII only, so that any terminal can carry it."""
    from minipinet._files import to_plain

    print(json.dumps(to_plain(record), allow_nan=False))
