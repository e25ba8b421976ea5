"""Where data sets are looked for: what holds one counts, not what is only called so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from minipinet.datasets import load_dataset
from minipinet.datasets.catalogue import DIGESTS
from minipinet.datasets.encoder import FeatureEncoder
from minipinet.datasets.load import load_graphs
from minipinet.errors import DataError, UsageError
from tests.tu_files import toy_zip, write_folder

#: Another toy set, to tell which of two was loaded.
OTHER: dict[str, str | bytes | None] = {"graph_labels": "7\n8\n"}


def write_zip(path: Path, changes: dict[str, str | bytes | None] | None = None) -> None:
    path.write_bytes(toy_zip(changes))


@pytest.mark.parametrize("folder", ["TOY", "toy", "T_O-Y"])
@pytest.mark.parametrize("packed", ["TOY", "toy", "T-O_Y", "0", "Toy"])
def test_a_folder_comes_before_a_zip_in_any_spelling(tmp_path: Path, folder: str, packed: str) -> None:
    write_folder(tmp_path / folder, OTHER)
    write_zip(tmp_path / f"{packed}.zip")
    assert load_dataset("TOY", data_dir=tmp_path).classes == (7, 8)


@pytest.mark.parametrize("names", [("TOY", "toy"), ("toy", "TOY")])
def test_the_very_name_comes_before_another_spelling(tmp_path: Path, names: tuple[str, str]) -> None:
    for name, changes in zip(names, (OTHER, None), strict=True):
        write_folder(tmp_path / name, changes)
        write_zip(tmp_path / f"{name}.zip", changes)
    if len(list(tmp_path.iterdir())) < 4:
        pytest.skip("this file system takes both spellings for one")
    assert load_dataset(names[0], data_dir=tmp_path).classes == (7, 8)
    assert load_dataset(names[1], data_dir=tmp_path).classes == (-1, 1)


def test_what_holds_nothing_is_passed_over(tmp_path: Path) -> None:
    write_zip(tmp_path / "TOY.zip")
    (tmp_path / "TOY").mkdir()
    (tmp_path / "toy").mkdir(exist_ok=True)
    (tmp_path / "TOY" / "README.txt").write_text("no data here")
    (tmp_path / "T-OY.zip").write_bytes(b"no zip")
    os.mkfifo(tmp_path / "T_OY.zip")  # looking into it would wait for ever
    assert load_dataset("TOY", data_dir=tmp_path).classes == (-1, 1)
    (tmp_path / "TOY.zip").unlink()
    with pytest.raises(DataError, match=r"one NAME_A.txt; got none"):
        load_dataset("TOY", data_dir=tmp_path)


def test_a_known_name_is_a_path_only_where_a_data_set_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "MUTAG"

    def holds_the_known_set() -> bool:
        return load_dataset("MUTAG").digest == DIGESTS["MUTAG"]

    for content in (b"", b"notes", b"PK\x03\x04"):
        here.write_bytes(content)
        assert holds_the_known_set()
    here.unlink()
    os.mkfifo(here)
    assert holds_the_known_set()
    here.unlink()
    here.mkdir()
    assert holds_the_known_set()
    here.rmdir()
    write_zip(here)
    assert not holds_the_known_set()
    here.unlink()
    write_folder(here)
    assert not holds_the_known_set()


def test_what_is_named_by_a_path_or_not_known_is_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("MUTAG", "unheard-of"):
        (tmp_path / name).write_bytes(b"")
    for name in ("./MUTAG", str(tmp_path / "MUTAG"), "unheard-of"):
        with pytest.raises(DataError, match="expected a zip, got an empty file"):
            load_dataset(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data_dir": "a\0b"}, r"data_dir: expected a folder of data sets, got 'a\\x00b'"),
        ({"data_dir": 3}, "data_dir: expected a folder of data sets, got 3"),
        ({"data_dir": ""}, "data_dir: expected a folder of data sets, got ''"),
        ({"data_dir": b"x"}, "data_dir: expected a folder of data sets, got b'x'"),
        ({"data_dir": "x" * 5000}, "data_dir: expected a folder of data sets, got '?xxx.*name too long"),
        ({"name_or_path": "a\0b"}, r"name_or_path: expected a data set's name or path, got 'a\\x00b'"),
        ({"name_or_path": "MUTAG\0"}, r"name_or_path: expected a data set's name or path, got 'MUTAG\\x00'"),
        ({"name_or_path": 3}, "name_or_path: expected a data set's name or path, got 3"),
        ({"name_or_path": b"MUTAG"}, "name_or_path: expected a data set's name or path, got b'MUTAG'"),
        ({"name_or_path": "PTC_MR", "base_url": 3}, "base_url: expected an address that starts with .* got 3"),
        ({"name_or_path": "PTC_MR", "base_url": "http://["}, "base_url: expected an address .* got 'http://"),
        ({"encoder": "labels"}, "encoder: expected a FeatureEncoder, as a data set or model has, got 'labels'"),
        ({"encoder": ("labels", ((0, 1),), 0)}, "encoder: expected a FeatureEncoder"),
    ],
)
def test_arguments_that_name_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.setenv("MINIPINET_CACHE", str(tmp_path))
    monkeypatch.delenv("MINIPINET_DATA", raising=False)
    with pytest.raises(UsageError, match="^" + message):
        load_dataset(**{"name_or_path": "MUTAG", **options})
    with pytest.raises(UsageError, match="^" + message):
        load_graphs(**{"name_or_path": "MUTAG", "encoder": FeatureEncoder("constant"), **options})
