"""The folder of a run: what was asked, the state on the way, what came out; a killed run goes on from it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from minipinet._files import read_json, remove_partials, sole_writer, to_plain, write_json, write_whole
from minipinet.errors import DataError, MinipinetError, Notice, UsageError
from minipinet.train import TrainState

FORMAT = "minipinet run 1"
CHECKPOINT, MODEL, LOG = "checkpoint.safetensors", "model.safetensors", "log.jsonl"
_PACKAGES = ("minipinet", "numpy", "scipy", "scikit-learn")


@contextlib.contextmanager
def open_run(
    run_dir: str | os.PathLike[str] | None, asked: Mapping[str, Any], *, resume: bool = False, overwrite: bool = False
) -> Iterator[Path | None]:
    """Begin a run in a folder, or go on with the one that is there, holding the folder against other processes.

    Parameters
    ----------
    run_dir : path or None
        Made if it is absent. None: nothing is kept, and there is no folder.
    asked : mapping
        JSON values that decide every number of the run: settings, data, folds. Written to ``run.json``.
    resume : bool
        Go on with the run in the folder, which must have asked for the same; begin if the folder is empty.
    overwrite : bool
        Remove the run in the folder first. Files that no run writes are never touched.

    Raises
    ------
    UsageError
        When the folder is not empty and neither flag is given; when it holds something else than a run; when another
        process is writing it; when the run in it asked for something else, naming what.
    """
    if resume and overwrite:
        raise UsageError("resume and overwrite: expected at most one of them")
    if run_dir is None:
        if resume or overwrite:
            raise UsageError("run_dir: expected a folder to resume or overwrite, got None")
        yield None
        return
    folder = Path(run_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MinipinetError(f"{folder}: cannot be made: {error.strerror}") from error
    with sole_writer(folder):
        record = folder / "run.json"
        remove_partials(folder)
        if record.exists():
            if not (resume or overwrite):
                raise UsageError(f"{folder}: holds a run already; resume it, overwrite it, or name another folder")
            if resume:
                _check_same(read_json(record), to_plain(dict(asked)), folder)
            else:
                _remove_run(folder)
        elif any(entry.name != ".lock" for entry in folder.iterdir()):
            raise UsageError(f"{folder}: is not empty and holds no run of minipinet; name another folder")
        if not (resume and record.exists()):
            write_json(record, {"format": FORMAT, **asked, **_surroundings(), "results": None})
        yield folder


def write_results(folder: Path, results: Mapping[str, Any]) -> None:
    """Put the results into the run's ``run.json``."""
    write_json(folder / "run.json", {**read_json(folder / "run.json"), "results": results})


def write_log(folder: Path, state: TrainState) -> None:
    """Write one JSON line for each epoch done: the whole log, so that it never disagrees with the checkpoint."""
    lines = (json.dumps(to_plain(record), allow_nan=False) + "\n" for record in state.history)
    write_whole(folder / LOG, "".join(lines).encode())


def _surroundings() -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that was not installed
            versions[package] = "unknown"
    return {"versions": versions, "machine": platform.platform(), "command": sys.argv}


def _check_same(found: Mapping[str, Any], asked: Mapping[str, Any], folder: Path) -> None:
    if found.get("format") != FORMAT:
        raise DataError(f"{folder / 'run.json'}: expected format {FORMAT!r}, got {found.get('format')!r}")
    differences = list(_differences({key: found.get(key) for key in asked}, asked))
    if differences:
        raise UsageError(f"{folder}: cannot be resumed, the run in it differs: {'; '.join(differences)}")
    versions = _surroundings()["versions"]
    if found.get("versions") != versions:
        changed = "; ".join(_differences(found.get("versions"), versions))
        warnings.warn(f"{folder}: begun with other versions, the last bits may differ: {changed}", Notice, stacklevel=4)


def _differences(then: Any, now: Any, name: str = "") -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            yield from _differences(then.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif then != now:
        yield f"{name} was {_short(then)} and is now {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _remove_run(folder: Path) -> None:
    """Remove what a run writes, except run.json, which is replaced: so a kill on the way leaves a run."""
    parts = [entry for entry in folder.iterdir() if entry.is_dir() and re.fullmatch(r"fold-\d+", entry.name)]
    for part in [folder, *parts]:
        for name in (CHECKPOINT, MODEL, LOG):
            (part / name).unlink(missing_ok=True)
    for part in parts:
        with contextlib.suppress(OSError):  # someone put a file of their own there
            part.rmdir()
