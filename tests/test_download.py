"""Names, folders, cache and downloads, against a server on this machine that also does everything wrong."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from minipinet.datasets import available, cache_dir, load_dataset
from minipinet.datasets.catalogue import DIGESTS
from minipinet.datasets.download import BASE_URL, download_url, fetch
from minipinet.errors import DataError, DownloadError, MinipinetError, Notice, UsageError
from tests.tu_files import toy_zip, write_folder

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """What the test server answers, by path, and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.stop = threading.Event()  # ends answers that stall, so that no thread outlives its test
        self.url = ""

    def send(self, path: str, body: bytes, *, status: int = 200, kind: str = "application/zip") -> None:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)

        self.answers[path] = answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """Serve on 127.0.0.1, and point cache and downloads of this test there and nowhere else."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            if self.path in state.answers:
                state.answers[self.path](self)
            else:
                self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("MINIPINET_DATA_URL", state.url)
    monkeypatch.setenv("MINIPINET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MINIPINET_DATA", raising=False)
    yield state
    state.stop.set()
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    """Make the toy set the known content of DD, and return its zip."""
    folder = write_folder(tmp_path / "known", name="DD")
    monkeypatch.setitem(DIGESTS, "DD", load_dataset(folder).digest)
    return toy_zip(name="DD")


def cached(tmp_path: Path) -> list[str]:
    return sorted(file.name for file in (tmp_path / "cache").rglob("*"))


def test_download_once_then_from_the_cache(server: Server, checked: bytes, tmp_path: Path) -> None:
    server.send("/DD.zip", checked)
    first = load_dataset("dd")
    assert (tmp_path / "cache" / "DD.zip").read_bytes() == checked
    again = load_dataset("DD", features="degree")
    assert server.asked == ["/DD.zip"]
    assert first.digest == again.digest
    assert (first.name, first.notices, cached(tmp_path)) == ("DD", (), ["DD.zip"])


def test_content_is_checked_not_the_zip(server: Server, checked: bytes) -> None:
    windows = toy_zip({"graph_labels": "1\r\n-1\r\n", "edge_labels": "0\n" * 6}, name="DD")
    assert windows != checked
    server.send("/DD.zip", windows)
    assert len(load_dataset("DD")) == 2


def test_an_unchecked_set_is_taken_as_it_is(server: Server, tmp_path: Path) -> None:
    server.send("/COX2.zip", toy_zip(name="COX2"))
    assert len(load_dataset("cox-2")) == 2
    assert cached(tmp_path) == ["COX2.zip"]


def half(request: BaseHTTPRequestHandler) -> None:
    body = toy_zip(name="DD")
    request.send_response(200)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body[: len(body) // 2])


def half_of_unknown_length(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    request.wfile.write(toy_zip(name="DD")[:200])


def no_answer(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True


def nonsense_length(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "many")
    request.end_headers()


def round_and_round(request: BaseHTTPRequestHandler) -> None:
    request.send_response(302)
    request.send_header("Location", request.path)
    request.end_headers()


def to_a_file(request: BaseHTTPRequestHandler) -> None:
    request.send_response(302)
    request.send_header("Location", "file:///etc/hostname")
    request.end_headers()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (half, r"the connection ended after \d+ of \d+ bytes; try again"),
        (half_of_unknown_length, "the zip is cut short or damaged"),
        (no_answer, "cannot be fetched: .*without response"),
        (nonsense_length, "cannot be fetched: "),
        (round_and_round, "cannot be fetched: .*infinite loop"),
        (to_a_file, "cannot be fetched: .*not allowed"),
    ],
)
def test_case_017_downloads_that_fail(
    server: Server, checked: bytes, tmp_path: Path, answer: Answer, message: str
) -> None:
    server.answers["/DD.zip"] = answer
    with pytest.raises(DownloadError, match=f"^{server.url}/DD.zip: {message}") as error:
        load_dataset("DD")
    assert "\n" not in str(error.value)
    assert cached(tmp_path) == []
    server.send("/DD.zip", checked)
    assert len(load_dataset("DD")) == 2


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"<html>moved</html>", 200, "expected a zip, got a web page"),
        (b"<html>gone</html>", 404, "cannot be fetched: HTTP Error 404: Not Found"),
        (b"", 500, "cannot be fetched: HTTP Error 500"),
        (b"", 200, "expected a zip, got an empty file"),
        (toy_zip(name="COX2"), 200, "expected the files of DD, got those of COX2"),
        (toy_zip({"graph_labels": "1\n1\n"}, name="DD"), 200, "the content is not the DD known here .digest"),
        (toy_zip({"node_labels": "0\n1\n2\n0\n0\n"}, name="DD"), 200, "the content is not the DD known here"),
        (toy_zip({"A": "1, 2\n2, 1\n"}, name="DD"), 200, "the content is not the DD known here"),
        (toy_zip({"A": "1, 4\n"}, name="DD"), 200, "DD_A.txt, line 1: the edge 1, 4 joins"),
    ],
)
def test_case_017_answers_that_are_not_the_set(
    server: Server, checked: bytes, tmp_path: Path, body: bytes, status: int, message: str
) -> None:
    server.send("/DD.zip", body, status=status)
    with pytest.raises(DownloadError, match=f"^{server.url}/DD.zip.*{message}"):
        load_dataset("DD")
    assert cached(tmp_path) == []
    server.send("/DD.zip", checked)
    assert len(load_dataset("DD")) == 2


def test_redirects_are_followed(server: Server, checked: bytes) -> None:
    def moved(request: BaseHTTPRequestHandler) -> None:
        request.send_response(301)
        request.send_header("Location", "/new/home.zip")
        request.end_headers()

    server.answers["/DD.zip"] = moved
    server.send("/new/home.zip", checked)
    assert len(load_dataset("DD")) == 2
    assert server.asked == ["/DD.zip", "/new/home.zip"]


def test_too_big(server: Server) -> None:
    server.send("/x.zip", b"x" * 1000)
    assert len(fetch(f"{server.url}/x.zip", max_bytes=1000)) == 1000
    with pytest.raises(DownloadError, match=r"x.zip: cannot be fetched: expected at most 999 bytes, got 1000"):
        fetch(f"{server.url}/x.zip", max_bytes=999)


def test_too_big_without_saying_so(server: Server) -> None:
    sent = []

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            for _ in range(500):  # bounded, should nobody hang up
                request.wfile.write(b"x" * 10**5)
                sent.append(10**5)
        except OSError:
            request.close_connection = True

    server.answers["/x.zip"] = endless
    with pytest.raises(DownloadError, match=r"x.zip: cannot be fetched: expected at most 1000 bytes, got more"):
        fetch(f"{server.url}/x.zip", max_bytes=1000)


def test_a_server_that_stalls(server: Server) -> None:
    def stall(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        request.wfile.write(b"x")
        request.wfile.flush()
        server.stop.wait(20)

    server.answers["/x.zip"] = stall
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"x.zip: cannot be fetched: timed out"):
        fetch(f"{server.url}/x.zip", stall_s=0.2)
    assert time.monotonic() - start < 10


def test_a_server_that_trickles(server: Server) -> None:
    def trickle(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        for _ in range(1000):
            if server.stop.wait(0.02):
                return
            try:
                request.wfile.write(b"x")
            except OSError:
                return

    server.answers["/x.zip"] = trickle
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"x.zip: cannot be fetched: not done within 0.3 seconds"):
        fetch(f"{server.url}/x.zip", stall_s=5, total_s=0.3)
    assert time.monotonic() - start < 10


def test_nobody_there(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"^http://127.0.0.1:9/DD.zip: cannot be fetched: .*refused"):
        load_dataset("DD", base_url="http://127.0.0.1:9")
    assert server.asked == []
    assert cached(tmp_path) == []


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut", b"<html>", toy_zip({"graph_labels": "1\n1\n"}, name="DD")])
def test_case_017_a_damaged_cache_is_replaced(server: Server, checked: bytes, tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "DD.zip").write_bytes(damage)
    server.send("/DD.zip", checked)
    with pytest.warns(Notice, match=r"cache/DD.zip: .*; fetched anew"):
        assert len(load_dataset("DD")) == 2
    assert (tmp_path / "cache" / "DD.zip").read_bytes() == checked


def test_case_017_a_cache_that_cannot_be_made(server: Server, checked: bytes, tmp_path: Path) -> None:
    server.send("/DD.zip", checked)
    (tmp_path / "cache").write_bytes(b"a file")
    with pytest.raises(DownloadError, match=rf"^cache folder {tmp_path}/cache: cannot be written: .*MINIPINET_CACHE"):
        load_dataset("DD")
    assert server.asked == []


def test_case_017_a_read_only_cache(
    server: Server, checked: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.send("/DD.zip", checked)
    (tmp_path / "cache").mkdir(mode=0o500)
    if os.geteuid() == 0:  # root may write everywhere
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(DownloadError, match=r"cache: cannot be written: Permission denied .MINIPINET_CACHE names"):
        load_dataset("DD")
    assert (server.asked, cached(tmp_path)) == ([], [])


def test_case_017_a_cache_file_that_cannot_be_written(server: Server, checked: bytes, tmp_path: Path) -> None:
    server.send("/DD.zip", checked)
    (tmp_path / "cache" / "DD.zip").mkdir(parents=True)
    with pytest.raises(MinipinetError, match=rf"^{tmp_path}/cache/DD.zip: cannot be written"):
        load_dataset("DD")
    assert cached(tmp_path) == ["DD.zip"]


def test_progress_bar(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    server.send("/x.zip", b"x" * 10**5)
    for progress in (True, False):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        fetch(f"{server.url}/x.zip", progress=progress)
        assert ("x.zip: 100%" in screen.getvalue()) is progress


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIPINET_DATA_URL", raising=False)
    assert download_url("DD") == f"{BASE_URL}/DD.zip"
    monkeypatch.setenv("MINIPINET_DATA_URL", "http://one/")
    assert download_url("DD") == "http://one/DD.zip"
    assert download_url("DD", "https://two/sets") == "https://two/sets/DD.zip"
    for wrong in ("file:///tmp", "ftp://host", "host/path", "http://"):
        with pytest.raises(UsageError, match="base_url: expected an address that starts with http"):
            download_url("DD", wrong)


def test_cache_folder_of_each_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MINIPINET_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_dir() == tmp_path / ".cache" / "minipinet"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == tmp_path / ".cache" / "minipinet"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_dir() == Path("/xdg/minipinet")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_dir() == tmp_path / "Library" / "Caches" / "minipinet"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert cache_dir() == Path("/local/minipinet/cache")
    monkeypatch.setenv("MINIPINET_CACHE", "/mine")
    assert cache_dir() == Path("/mine")


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MINIPINET_CACHE", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(UsageError, match="MINIPINET_CACHE: expected a folder for downloads"):
        cache_dir()


# Names and folders


@pytest.mark.data
@pytest.mark.parametrize("name", ["ptc_mr", "PTC-MR", "PTC_MR", "ptcmr", "Ptc Mr"])
def test_case_109_spellings(data_dir: Path, name: str) -> None:
    dataset = load_dataset(name, data_dir=data_dir)
    assert (dataset.name, len(dataset)) == ("PTC_MR", 344)


@pytest.mark.data
def test_case_109_more_spellings_and_paths(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_dataset("NCI-1", data_dir=str(data_dir)).name == "NCI1"
    assert load_dataset(str(data_dir / "MUTAG.zip")).name == "MUTAG"
    monkeypatch.setenv("MINIPINET_DATA", str(data_dir))
    assert load_dataset("proteins").name == "PROTEINS"


@pytest.mark.parametrize("name", ["MUTAG", "mutag", "Mu-Tag"])
def test_case_109_mutag_needs_no_file_and_no_network(server: Server, name: str) -> None:
    assert load_dataset(name).name == "MUTAG"
    assert server.asked == []


@pytest.mark.parametrize(
    ("name", "near"),
    [("MUTAGG", "MUTAG"), ("NCI2", "NCI1 or NCI109"), ("PROTEIN", "PROTEINS or PROTEINS_full")],
)
def test_case_109_unknown_names(server: Server, name: str, near: str) -> None:
    with pytest.raises(UsageError, match=rf"data set '{name}': not known.*did you mean ({near})\?") as error:
        load_dataset(name)
    assert error.value.__notes__ == [f"There are: {', '.join(available())}"]
    assert server.asked == []


def test_case_109_nothing_like_it(server: Server) -> None:
    with pytest.raises(UsageError, match=r"'qqqqqqqq': not known .*nor the path of a folder or zip\nThere are: AIDS"):
        load_dataset("qqqqqqqq")


@pytest.mark.parametrize("name", ["PTC", "ptc"])
def test_case_109_ptc_is_four_sets(server: Server, name: str) -> None:
    with pytest.raises(UsageError, match="PTC is four data sets: PTC_FM, PTC_FR, PTC_MM and PTC_MR"):
        load_dataset(name)


@pytest.mark.parametrize("name", ["../x", "a/b", "/no/such/folder", "x.zip", "./MUTAG", Path("MUTAG"), "../MUTAG"])
def test_case_113_paths_that_are_not_there(
    server: Server, tmp_path: Path, name: str | Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")  # wherever the tests are started, there may be such a folder
    for data_dir in (None, tmp_path):
        with pytest.raises(UsageError, match="no such folder or zip"):
            load_dataset(name, data_dir=data_dir)
    assert server.asked == []


@pytest.mark.parametrize("name", ["", None, 3, b"MUTAG", ["MUTAG"]])
def test_case_113_what_is_no_name(name: object) -> None:
    with pytest.raises(UsageError, match="name_or_path: expected a data set's name or path, got"):
        load_dataset(name)  # type: ignore[arg-type]


def test_names_never_leave_the_folder(server: Server, tmp_path: Path) -> None:
    write_folder(tmp_path / "secret", name="secret")
    inner = tmp_path / "sets"
    inner.mkdir()
    for name in ("../secret", "sets/../../secret", "..\\secret", "~secret", "secret\0"):
        with pytest.raises(UsageError):
            load_dataset(name, data_dir=inner)
    assert server.asked == []


def test_a_folder_of_sets(server: Server, tmp_path: Path) -> None:
    write_folder(tmp_path / "My-Set", name="MY_SET")
    (tmp_path / "Other.zip").write_bytes(toy_zip(name="OTHER"))
    (tmp_path / "notes.txt").write_text("not a set")
    assert load_dataset("my_set", data_dir=tmp_path).name == "MY_SET"
    assert load_dataset("other", data_dir=str(tmp_path)).name == "OTHER"
    with pytest.raises(UsageError, match=r"'Othr': not in the folder '.*' that data_dir names; did you mean Other\?"):
        load_dataset("Othr", data_dir=tmp_path)
    with pytest.raises(UsageError, match=r"'MUTAG': not in the folder"):  # neither embedded nor downloaded instead
        load_dataset("MUTAG", data_dir=tmp_path)
    with pytest.raises(UsageError, match="PTC is four data sets"):
        load_dataset("PTC", data_dir=tmp_path)
    (tmp_path / "Wrong.zip").write_bytes(toy_zip(name="OTHER"))
    with pytest.raises(DataError, match=r"Wrong.zip: expected the files of wrong, got those of OTHER"):
        load_dataset("wrong", data_dir=tmp_path)
    assert server.asked == []


def test_a_folder_before_a_zip(tmp_path: Path) -> None:
    (tmp_path / "TOY.zip").write_bytes(toy_zip())
    write_folder(tmp_path / "TOY", {"graph_labels": "1\n1\n"})
    assert load_dataset("toy", data_dir=tmp_path).classes == (1,)


def test_a_folder_named_by_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bytes
) -> None:
    sets = tmp_path / "sets"
    write_folder(sets / "TOY")
    monkeypatch.setenv("MINIPINET_DATA", str(sets))
    assert load_dataset("toy").name == "TOY"
    assert load_dataset("MUTAG").name == "MUTAG"  # what is not there comes from elsewhere
    server.send("/DD.zip", checked)
    assert load_dataset("DD").name == "DD"
    monkeypatch.setenv("MINIPINET_DATA", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match=r"MINIPINET_DATA: expected a folder of data sets, got .*gone. .No such file"):
        load_dataset("MUTAG")
    with pytest.raises(UsageError, match=r"data_dir: expected a folder of data sets, got .*Not a directory"):
        load_dataset("MUTAG", data_dir=sets / "TOY" / "TOY_A.txt")


def test_a_folder_whose_content_is_not_the_known_one(tmp_path: Path, checked: bytes) -> None:
    write_folder(tmp_path / "sets" / "DD", {"graph_labels": "1\n1\n"}, name="DD")
    with pytest.warns(Notice, match=r"sets/DD: the content is not the DD known here"):
        dataset = load_dataset("DD", data_dir=tmp_path / "sets")
    assert dataset.classes == (1,)


def test_a_folder_that_happens_to_be_called_mutag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MUTAG").mkdir()
    (tmp_path / "MUTAG" / "results.json").write_text("{}")
    assert len(load_dataset("MUTAG")) == 188
    write_folder(tmp_path / "MUTAG")
    assert len(load_dataset("MUTAG")) == 2
    (tmp_path / "runs").mkdir()
    with pytest.raises(DataError, match="expected the files of one TU data set"):
        load_dataset("runs")


def test_available_is_sorted_and_complete() -> None:
    names = available()
    assert names == sorted(names, key=str.lower)
    assert set(DIGESTS) < set(names)
    assert len(set(names)) == len(names)
