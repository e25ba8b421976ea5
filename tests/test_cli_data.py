"""``minipinet data``: which sets there are, what is in one, fetching one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from minipinet.datasets import available, load_dataset
from tests.cli_calls import call
from tests.tu_files import toy_zip, write_folder

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("MINIPINET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MINIPINET_DATA", raising=False)
    monkeypatch.delenv("MINIPINET_DATA_URL", raising=False)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which its files are served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    folder = tmp_path / "served"
    folder.mkdir()
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield folder, f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()
    thread.join()


def at_hand(capsys: Capture) -> dict[str, str | None]:
    rows = call(capsys, "data", "list", "--json").json["datasets"]
    return {row["name"]: row["at_hand"] for row in rows}


def test_list_names_every_set_once_and_says_which_are_checked(capsys: Capture) -> None:
    rows = call(capsys, "data", "list", "--json").json["datasets"]
    assert [row["name"] for row in rows] == available()
    checked = {row["name"]: row["checked"] for row in rows}
    assert (checked["NCI1"], checked["DD"]) == (True, False)
    lines = call(capsys, "data", "list").out.splitlines()
    assert lines[0].split() == ["name", "checked", "at", "hand"]
    assert len(lines) == 1 + len(available())
    assert next(line for line in lines if line.startswith("MUTAG ")).split() == ["MUTAG", "yes", "the", "package"]


def test_list_tells_where_a_set_is_at_hand(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert {name for name, place in at_hand(capsys).items() if place} == {"MUTAG"}
    write_folder(tmp_path / "sets" / "ptc-fr", name="PTC_FR")
    (tmp_path / "sets" / "NCI1.zip").write_bytes(b"")
    monkeypatch.setenv("MINIPINET_DATA", str(tmp_path / "sets"))
    places = at_hand(capsys)
    assert {name for name, place in places.items() if place == str(tmp_path / "sets")} == {"PTC_FR", "NCI1"}
    assert places["MUTAG"] == "the package"
    assert places["NCI109"] is None


def test_info_of_mutag(capsys: Capture) -> None:
    info = call(capsys, "data", "info", "MUTAG", "--json").json
    data = load_dataset("MUTAG")
    assert info["name"] == "MUTAG"
    assert (info["graphs"], info["nodes"], info["edges"]) == (188, 3371, 3721)
    assert info["classes"] == {"-1": 63, "1": 125}
    assert (info["features"], info["features_from"], info["node_label_values"]) == (7, "labels", [7])
    assert (info["node_attributes"], info["isolated_nodes"], info["loops"]) == (0, 0, 0)
    biggest = info["biggest_graph"]
    assert biggest["nodes"] == data[biggest["graph"]].N == 28
    assert info["nodes_per_graph"] == pytest.approx(3371 / 188)
    assert (info["digest"], info["checked"]) == (data.digest, True)
    assert "TUDataset" in info["citation"]
    assert info["address"].endswith("/MUTAG.zip")
    assert "Licence" in Path(info["about"]).read_text()


def test_info_of_a_set_with_loops_lone_nodes_and_attributes(capsys: Capture) -> None:
    changes: dict[str, str | bytes | None] = {
        "A": "1, 2\n2, 1\n1, 1\n4, 5\n5, 4\n",
        "graph_labels": "4\n4\n",
        "node_labels": "0, 7\n1, 7\n2, 7\n0, 8\n1, 8\n",
        "node_attributes": "0.5, 1, 2\n" * 5,
    }
    write_folder(Path("TOY"), changes)
    outcome = call(capsys, "data", "info", "./TOY", "--json")
    info = outcome.json
    assert outcome.err == ""
    assert (info["edges"], info["loops"], info["isolated_nodes"]) == (3, 1, 1)
    assert (info["node_label_values"], info["node_attributes"], info["features"]) == ([3, 2], 3, 5)
    assert info["classes"] == {"4": 2}
    assert info["biggest_graph"] == {"graph": 0, "nodes": 3}
    assert (info["checked"], info["address"], info["about"]) == (None, None, None)
    out = call(capsys, "data", "info", "./TOY").out
    rows = {line[:17].strip(): line[19:] for line in out.splitlines()[1:]}
    assert rows["edges"] == "3, 1 of them loops"
    assert rows["node label values"] == "3, 2"
    assert rows["biggest graph"] == "number 0, 3 nodes"
    assert rows["digest"] == f"{info['digest']} (no other is known under this name)"


def test_info_says_when_the_content_is_not_what_the_name_stands_for(capsys: Capture) -> None:
    write_folder(Path("sets") / "MUTAG", name="MUTAG")
    outcome = call(capsys, "data", "info", "MUTAG", "--data-dir", "sets")
    assert "note: " in outcome.err
    assert "(NOT the known one)" in outcome.out
    assert call(capsys, "data", "info", "MUTAG", "--data-dir", "sets", "--json").json["checked"] is False


def test_info_keeps_the_notices_in_the_document(capsys: Capture) -> None:
    write_folder(Path("TOY"), {"A": "1, 2\n1, 2\n2, 1\n"})
    outcome = call(capsys, "data", "info", "./TOY", "--json")
    assert [f"note: {text}" for text in outcome.json["notices"]] == outcome.err.splitlines() != []


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "graphs", "lone", "nodes"), [("NCI-1", 4110, 428, 111), ("enzymes", 600, 106, 126), ("ptc_fm", 349, 0, 64)]
)
def test_info_of_the_benchmark_sets(
    capsys: Capture, data_dir: Path, name: str, graphs: int, lone: int, nodes: int
) -> None:
    info = call(capsys, "data", "info", name, "--data-dir", data_dir, "--json").json
    assert (info["graphs"], info["isolated_nodes"], info["biggest_graph"]["nodes"]) == (graphs, lone, nodes)
    assert info["checked"] is True


@pytest.mark.parametrize("spelling", ["mutag", "MUTAG", "Mutag", "MU-TAG"])
def test_case_109_names_are_met_half_way(capsys: Capture, spelling: str) -> None:
    assert call(capsys, "data", "info", spelling, "--json").json["name"] == "MUTAG"


@pytest.mark.parametrize("path", ["./TOY", "TOY.zip", "{here}/TOY", "{here}/TOY.zip"])
def test_case_109_paths_of_folders_and_zips(capsys: Capture, path: str) -> None:
    write_folder(Path("TOY"))
    Path("TOY.zip").write_bytes(toy_zip())
    document = call(capsys, "data", "info", path.format(here=Path.cwd()), "--json").json
    assert (document["name"], document["graphs"]) == ("TOY", 2)


@pytest.mark.parametrize("command", [["train", "--dataset"], ["data", "info"], ["data", "fetch"]])
@pytest.mark.parametrize(("name", "nearest"), [("MUTAGG", "MUTAG"), ("NCI11", "NCI1"), ("protein", "PROTEINS")])
def test_case_109_an_unknown_name_gets_the_nearest_and_the_list(
    capsys: Capture, command: list[str], name: str, nearest: str
) -> None:
    status, out, err = call(capsys, *command, name)
    assert (status, out) == (2, "")
    sentence, names = err.splitlines()
    assert f"; did you mean {nearest}" in sentence
    assert "`minipinet data list`" in sentence
    assert names == f"There are: {', '.join(available())}"


def test_case_109_no_more_than_three_names_are_near_and_none_where_none_is(capsys: Capture) -> None:
    hints = [call(capsys, "data", "info", name).err.splitlines()[0] for name in ("imdb", "m", "qqqqqqqq")]
    assert hints[0].endswith("; did you mean IMDB-BINARY or IMDB-MULTI?")
    assert hints[1].count(" or ") == 3, "one of them is of the sentence"
    assert hints[2].endswith("nor the path of a folder or zip")


def test_a_folder_given_is_the_only_place_and_only_its_data_sets_are_named(capsys: Capture) -> None:
    write_folder(Path("TOY"))
    Path("BZR.zip").write_bytes(toy_zip(name="BZR"))
    Path("notes").mkdir()
    Path("notes.zip").write_bytes(b"no zip")
    for command in (["train", "--dataset"], ["data", "info"]):
        status, out, err = call(capsys, *command, "MUTAG", "--data-dir", ".")
        assert (status, out) == (2, "")
        assert err.splitlines() == [
            "minipinet: error: data set 'MUTAG': not in the folder '.' that data_dir names",
            "There are: BZR, TOY",
        ]


def test_info_of_graphs_without_labels_shows_what_there_is(capsys: Capture) -> None:
    write_folder(Path("TOY"), {"graph_labels": None})
    outcome = call(capsys, "data", "info", "./TOY", "--json")
    info = outcome.json
    assert (outcome.status, info["graphs"], info["nodes"]) == (0, 2, 5)
    assert (info["classes"], info["digest"], info["checked"]) == (None, None, None)
    lines = call(capsys, "data", "info", "./TOY").out.splitlines()
    assert next(line for line in lines if line.startswith("classes ")).split(maxsplit=1)[1] == "no graph labels"


def test_case_109_ptc_is_told_to_be_four_sets(capsys: Capture) -> None:
    status, _, err = call(capsys, "train", "--dataset", "PTC")
    assert status == 2
    assert all(name in err for name in ("PTC_FM", "PTC_FR", "PTC_MM", "PTC_MR"))


def test_fetch_brings_a_set_into_the_cache_once(capsys: Capture, served: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = served
    (folder / "BZR.zip").write_bytes(toy_zip(name="BZR"))
    document = call(capsys, "data", "fetch", "bzr", "--base-url", url, "--json").json
    assert (document["name"], document["graphs"], document["at_hand"]) == ("BZR", 2, str(tmp_path / "cache"))
    assert document["address"] == f"{url}/BZR.zip"
    assert (tmp_path / "cache" / "BZR.zip").read_bytes() == (folder / "BZR.zip").read_bytes()
    assert at_hand(capsys)["BZR"] == str(tmp_path / "cache")
    (folder / "BZR.zip").unlink()
    outcome = call(capsys, "data", "fetch", "BZR", "--base-url", url)
    assert outcome.status == 0
    assert outcome.out.splitlines()[-1].split() == ["now", "in", str(tmp_path / "cache")]


def test_fetch_keeps_nothing_that_is_not_the_set(capsys: Capture, served: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = served
    (folder / "NCI1.zip").write_bytes(toy_zip(name="NCI1"))
    (folder / "DD.zip").write_bytes(b"<html>gone</html>")
    for name in ("NCI1", "DD", "BZR"):
        status, out, err = call(capsys, "data", "fetch", name, "--base-url", url)
        assert (status, out) == (1, "")
        assert f"{url}/{name}.zip" in err
    assert list((tmp_path / "cache").glob("*.zip")) == []
