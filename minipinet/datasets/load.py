"""One door to every data set: by path, from a folder of sets, embedded, cached or downloaded."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from minipinet._files import as_path
from minipinet.datasets.archive import TUFiles, holds_set, is_zip, read_files, unzip
from minipinet.datasets.assemble import assemble, assemble_graphs
from minipinet.datasets.catalogue import DIGESTS, available, find_name, normalise, unknown_name
from minipinet.datasets.dataset import Dataset
from minipinet.datasets.download import obtain
from minipinet.datasets.encoder import FeatureEncoder, check_encoder, check_kind
from minipinet.datasets.tu import TUContent, parse_tu
from minipinet.errors import DataError, UsageError, notify
from minipinet.settings import truth
from minipinet.union import DisjointUnion


def load_dataset(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    features: str = "labels",
    keep_repeats: bool = False,
    directed: bool = False,
    encoder: FeatureEncoder | None = None,
    base_url: str | None = None,
    progress: bool = True,
) -> Dataset:
    """Load a graph-classification data set in the TU format.

    Looked for in this order: a folder or zip of this path; the folder `data_dir`, or else the one that the
    environment variable ``MINIPINET_DATA`` names; the MUTAG that comes with the package; the cache; the
    collection's site.
    Everything is read in memory and parsed anew each time, so a changed file is always seen.

    Parameters
    ----------
    name_or_path : str or path
        A name of the collection (case, ``-`` and ``_`` do not matter; see :func:`available`), or the path of a
        folder with ``NAME_A.txt`` and its companions, or of a zip that holds them.
    data_dir : path, optional
        A folder of such folders and zips. Where it is given, a name is looked for nowhere else.
    features : {"labels", "attributes", "both", "constant", "degree"}
        What X holds; see :class:`FeatureEncoder`. A set without node labels has ``"constant"`` instead of ``"labels"``.
    keep_repeats : bool
        False: an edge is 1 however often it is listed. True: it counts how often.
    directed : bool
        False: A is symmetric (the larger of both directions). True: a line "i, j" sets ``A[i, j]`` alone, with which
        node i takes in the state of node j.
    encoder : FeatureEncoder, optional
        Encode as another data set was, instead of `features`.
    base_url : str, optional
        Address to download NAME.zip from; else the environment variable ``MINIPINET_DATA_URL``, else the
        collection's site.
    progress : bool
        Show a progress bar while downloading, if standard error is a terminal.

    Returns
    -------
    Dataset
        Its notices are also issued as :class:`~minipinet.errors.Notice`.

    Raises
    ------
    UsageError
        If there is no such set, or it has not what `features` asks for.
    DataError
        If its files are malformed; the message names file and line.
    DownloadError
        If it cannot be fetched, or is not what this name stands for.

    Examples
    --------
    >>> ds = load_dataset("mutag")
    >>> len(ds), ds.num_features, ds.num_classes, ds.classes
    (188, 7, 2, (-1, 1))
    """
    if encoder is None:
        check_kind(features)
    else:
        check_encoder(encoder)
    keep_repeats, directed = truth("keep_repeats", keep_repeats), truth("directed", directed)
    content = _find(name_or_path, data_dir, base_url, progress, labelled=True)
    dataset = assemble(content, features, keep_repeats=keep_repeats, directed=directed, encoder=encoder)
    for text in dataset.notices:
        notify(text)
    return dataset


def load_graphs(
    name_or_path: str | os.PathLike[str],
    encoder: FeatureEncoder,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    keep_repeats: bool = False,
    directed: bool = False,
    base_url: str | None = None,
    progress: bool = True,
) -> DisjointUnion:
    """Load graphs in the TU format whose classes need not be known, as a model takes them to label them.

    Parameters
    ----------
    name_or_path
        As for :func:`load_dataset`, but there may be no file of graph labels. Where there is one, it says how many
        graphs there are; else the largest number in the graph indicator does.
    encoder : FeatureEncoder
        Makes X, as it did for the graphs that the model was trained on.
    data_dir, keep_repeats, directed, base_url, progress
        As for :func:`load_dataset`.

    Returns
    -------
    DisjointUnion
        The graphs in the order of their numbers; what was repaired or assumed is issued as
        :class:`~minipinet.errors.Notice`.

    Raises
    ------
    UsageError, DataError, DownloadError
        As for :func:`load_dataset`.

    Examples
    --------
    >>> encoder = load_dataset("MUTAG").encoder
    >>> load_graphs("MUTAG", encoder).X.shape
    (3371, 7)
    """
    check_encoder(encoder)
    keep_repeats, directed = truth("keep_repeats", keep_repeats), truth("directed", directed)
    content = _find(name_or_path, data_dir, base_url, progress, labelled=False)
    graphs, _, notices = assemble_graphs(
        content, encoder.kind, keep_repeats=keep_repeats, directed=directed, encoder=encoder
    )
    for text in notices:
        notify(text)
    return graphs


def read_tu(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: bool = True,
) -> TUContent:
    """Return what the files of a data set say, with or without classes; arguments as for :func:`load_dataset`.

    Examples
    --------
    >>> read_tu("MUTAG").ptr.size
    189
    """
    return _find(name_or_path, data_dir, base_url, progress, labelled=False)


def _find(
    name_or_path: str | os.PathLike[str],
    data_dir: str | os.PathLike[str] | None,
    base_url: str | None,
    progress: bool,
    *,
    labelled: bool,
) -> TUContent:
    """Find and parse the data set; what the collection has under a name is always labelled."""
    truth("progress", progress)
    path = as_path(name_or_path, "name_or_path", "a data set's name or path")
    name = str(name_or_path)
    given = None if data_dir is None else as_path(data_dir, "data_dir", "a folder of data sets")
    if _is_data(path, name):
        return parse_tu(read_files(path), labelled=labelled)
    if isinstance(name_or_path, os.PathLike) or "/" in name or os.sep in name or path.suffix.lower() == ".zip":
        raise UsageError(f"{path}: no such folder or zip")
    named = os.environ.get("MINIPINET_DATA")
    folder = given or (Path(named) if named else None)
    if folder is not None:
        found = _in_folder(name, folder, "MINIPINET_DATA" if given is None else "data_dir")
        if isinstance(found, Path):
            content = _parse(read_files(found), name, labelled=labelled)
            difference = _difference(content, name)
            return content._replace(notices=(*content.notices, f"{found}: {difference}")) if difference else content
        if given is not None:
            raise unknown_name(name, found, f"in the folder {str(data_dir)!r} that data_dir names")
    known = find_name(name, available())
    if known is None:
        raise unknown_name(
            name, available(), "known (`minipinet data list` shows what is), nor the path of a folder or zip"
        )
    if known == "MUTAG":
        return parse_tu(unzip((resources.files("minipinet.datasets") / "data" / "MUTAG.zip").read_bytes(), "MUTAG"))
    return obtain(known, lambda files: _parse_checked(files, known), base_url, progress)


def _is_data(path: Path, name: str) -> bool:
    """Return whether `path` is there and meant: a file or folder that only happens to be called MUTAG is not."""
    try:
        return holds_set(path) if find_name(name, available()) else path.exists()
    except OSError:  # not a possible path here
        return False


def _in_folder(name: str, folder: Path, source: str) -> Path | list[str]:
    """Return where in `folder` the data set is (a folder before a zip), or the names of the sets that are there."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if entry.is_dir() or is_zip(entry))
    except OSError as error:
        raise UsageError(f"{source}: expected a folder of data sets, got {str(folder)!r} ({error.strerror})") from error
    names = {entry: entry.name if entry.is_dir() else entry.stem for entry in entries}
    fits = [entry for entry in entries if normalise(names[entry]) == normalise(name)]
    # What holds a set first, then folders, then the very name before other spellings of it.
    fits.sort(key=lambda entry: (not holds_set(entry), not entry.is_dir(), names[entry] != name))
    return fits[0] if fits else sorted({name for entry, name in names.items() if holds_set(entry)})


def _parse(files: TUFiles, name: str, *, labelled: bool) -> TUContent:
    """Parse the files found under `name`, which must be those of that data set."""
    if normalise(files.name) != normalise(name):
        raise DataError(f"{files.where}: expected the files of {name}, got those of {files.name}")
    return parse_tu(files, labelled=labelled)


def _parse_checked(files: TUFiles, name: str) -> TUContent:
    """Parse files from the network or the cache: their content must be what is known for `name`, if it is."""
    content = _parse(files, name, labelled=True)
    difference = _difference(content, name)
    if difference:
        raise DataError(f"{files.where}: {difference}")
    return content


def _difference(content: TUContent, name: str) -> str:
    """Say in what the content is not that of the set known under `name`; empty if it is, or cannot be compared."""
    expected = DIGESTS.get(find_name(name, available()) or "")
    if expected is None or content.values is None:
        return ""
    digest = assemble(content, "constant", keep_repeats=False, directed=False, encoder=None).digest
    if digest == expected:
        return ""
    return f"the content is not the {name} known here (digest {digest[:12]}..., expected {expected[:12]}...)"
