"""The folder of a run: what was asked, the state on the way, what came out; a killed run goes on from it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from minipinet._files import (
    as_path,
    make_folder,
    read_json,
    remove_file,
    remove_partials,
    sole_writer,
    to_plain,
    write_json,
    write_whole,
)
from minipinet.errors import DataError, MinipinetError, UsageError, notify
from minipinet.fast.training import compiled_form
from minipinet.train import EpochRecord, TrainState

FORMAT = "minipinet run 1"
RECORD, CHECKPOINT, MODEL, LOG = "run.json", "checkpoint.safetensors", "model.safetensors", "log.jsonl"
_FOLD = r"fold-\d{2,}"
_LONG = 60  # letters of a value that is not worth a reader's while
_PACKAGES = ("minipinet", "numpy", "scipy", "numba", "scikit-learn")


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
    DataError
        When a ``run.json`` is in it that minipinet did not write, or that cannot be read.

    Notes
    -----
    Nothing in the folder is touched before it is known to be empty or to hold a run. When an error ends a run that
    began here before it has kept anything, it goes again, and so does the folder if it was made for it.
    """
    if resume and overwrite:
        raise UsageError("resume and overwrite: expected at most one of them")
    if run_dir is None:
        if resume or overwrite:
            raise UsageError("run_dir: expected a folder to resume or overwrite, got None")
        yield None
        return
    folder = as_run_folder(run_dir)
    record_in(folder)
    made = not folder.exists()
    make_folder(folder)
    with sole_writer(folder):
        found = record_in(folder)  # once more: another process may have begun a run in the meantime
        if found is not None and not (resume or overwrite):
            raise UsageError(f"{folder}: holds a run already; resume it, overwrite it, or name another folder")
        if found is not None and resume:
            _check_same(found, to_plain(dict(asked)), folder)
        for part in _parts(folder):
            remove_partials(part, (RECORD, CHECKPOINT, MODEL, LOG))
        if overwrite:
            _remove_run(folder)
        try:
            if found is None or overwrite:
                write_json(folder / RECORD, {"format": FORMAT, **asked, **_surroundings(), "results": None})
            yield folder
        except Exception:
            if found is None and not any((part / CHECKPOINT).exists() for part in _parts(folder)):
                _remove_begun(folder, made)
            raise


def as_run_folder(run_dir: Any) -> Path:
    """Return the path of a run folder; a UsageError if it can be none.

    Examples
    --------
    >>> as_run_folder("")
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: run_dir: expected the path of a folder, got ''
    """
    return as_path(run_dir, "run_dir", "the path of a folder")


def check_not_of_run(path: Path, argument: str = "path") -> None:
    """Refuse a path that names a file which a run is made of, itself or by a link; files beside these are free.

    Examples
    --------
    >>> check_not_of_run(Path("report.html"))
    """
    named = Path(os.path.realpath(path.parent)) / path.name
    for file in (named, Path(os.path.realpath(path))):
        folder = file.parent.parent if re.fullmatch(_FOLD, file.parent.name) else file.parent
        if file.name in (RECORD, CHECKPOINT, MODEL, LOG, ".lock") and os.access(folder / RECORD, os.F_OK):
            raise UsageError(f"{argument}: expected another file than those of the run in {folder}, got {str(path)!r}")


def record_in(folder: Path) -> dict[str, Any] | None:
    """Return the record of the run in a folder, None if the folder is absent or empty; an error in all other cases.

    Reads and writes nothing else, so that it is safe in any folder.
    """
    try:
        names = {entry.name for entry in folder.iterdir()}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MinipinetError(f"{folder}: cannot be used as a run folder: {error.strerror}") from error
    if RECORD in names:
        record = read_json(folder / RECORD)
        if record.get("format") != FORMAT:
            raise DataError(
                f"{folder / RECORD}: expected format {FORMAT!r}, got {record.get('format')!r}; name another folder"
            )
        return record
    # A run that was killed while it wrote its record leaves these.
    if any(name != ".lock" and not re.fullmatch(rf"\.{re.escape(RECORD)}\.\d+\.partial", name) for name in names):
        raise UsageError(f"{folder}: is not empty and holds no run of minipinet; name another folder")
    return None


def write_results(folder: Path, results: Mapping[str, Any]) -> None:
    """Put the results into the run's ``run.json``."""
    write_json(folder / RECORD, {**read_json(folder / RECORD), "results": results})


def write_log(folder: Path, state: TrainState) -> None:
    """Write one JSON line for each epoch done: the whole log, so that it never disagrees with the checkpoint."""
    lines = (json.dumps(to_plain(record), allow_nan=False) + "\n" for record in state.history)
    write_whole(folder / LOG, "".join(lines).encode())


def read_log(folder: Path) -> tuple[EpochRecord, ...]:
    """Return the epochs that :func:`write_log` wrote into `folder`, none without a log; a DataError if it is no log."""
    path = folder / LOG
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        records = [EpochRecord(**json.loads(line)) for line in lines]
    except (OSError, TypeError, ValueError) as error:
        raise DataError(f"{path}: expected a record of an epoch in each line ({error})") from error
    return tuple(record._replace(p=tuple(record.p), q=tuple(record.q)) for record in records)


def _surroundings() -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # an extra, or a source tree that was not installed
            versions[package] = "unknown"
    if compiled_form() is None:
        versions["numba"] = "not used"
    return {"versions": versions, "machine": platform.platform(), "command": sys.argv}


def _check_same(found: Mapping[str, Any], asked: Mapping[str, Any], folder: Path) -> None:
    # Which graph is in which part follows from the rest, and is a long list: it is told if nothing else differs.
    lists = {"split", "splits"} & asked.keys()
    for keys in (asked.keys() - lists, lists):
        differences = list(_differences({key: found.get(key) for key in keys}, {key: asked[key] for key in keys}))
        if differences:
            raise UsageError(f"{folder}: cannot be resumed, the run in it differs: {'; '.join(differences)}")
    versions = _surroundings()["versions"]
    if found.get("versions") != versions:
        changed = "; ".join(_differences(found.get("versions"), versions))
        notify(f"{folder}: begun with other versions, the last bits may differ: {changed}")


def _differences(then: Any, now: Any, name: str = "") -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            yield from _differences(then.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif then != now:
        texts = json.dumps(then), json.dumps(now)
        if max(map(len, texts)) > _LONG:
            yield f"{name}: not the same"
        else:
            yield f"{name} was {texts[0]} and is now {texts[1]}"


def _parts(folder: Path) -> list[Path]:
    """Return the folders that a run writes to, as far as they are there."""
    folds = (entry for entry in folder.iterdir() if re.fullmatch(_FOLD, entry.name) and entry.is_dir())
    return [folder, *folds]


def _remove_run(folder: Path) -> None:
    """Remove what a run writes, except run.json, which is replaced: so a kill on the way leaves a run."""
    for part in _parts(folder):
        for name in (CHECKPOINT, MODEL, LOG):
            remove_file(part / name)
        if part != folder:
            with contextlib.suppress(OSError):  # someone put a file of their own there
                part.rmdir()


def _remove_begun(folder: Path, made: bool) -> None:
    """Remove a run that has kept nothing, and the folder that was `made` for it; what cannot be removed stays."""
    with contextlib.suppress(OSError, MinipinetError):
        for part in _parts(folder):
            remove_partials(part, (RECORD, CHECKPOINT, MODEL, LOG))
        _remove_run(folder)
        remove_file(folder / RECORD)
        remove_file(folder / ".lock")
        if made:
            folder.rmdir()
