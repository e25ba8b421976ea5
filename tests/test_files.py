"""Writing files: a pipe, a device and a stream are written to where they stand, and never replaced by a file."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from minipinet._files import write_whole
from minipinet.errors import MinipinetError
from tests.small_data import ROOT, command, environment, files


def read_from(pipe: Path, got: list[bytes]) -> threading.Thread:
    """Start to read all that comes through a pipe."""
    thread = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("name", ["pipe", "link"])
@pytest.mark.parametrize("content", [b"", b"content"])
def test_a_pipe_stays_one_and_gets_the_content(name: str, content: bytes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    got: list[bytes] = []
    reader = read_from(tmp_path / "pipe", got)
    write_whole(tmp_path / name, content)
    reader.join(timeout=30)
    assert got == [content]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "link").is_symlink()
    assert files(tmp_path) == ["link", "pipe"]


def test_a_device_is_written_to(tmp_path: Path) -> None:
    """A pseudo-terminal stands for every device: it is private, and nothing else would be harmed."""
    ours, theirs = os.openpty()
    try:
        device = os.ttyname(theirs)
        (tmp_path / "device").symlink_to(device)
        before = Path(device).stat()
        write_whole(tmp_path / "device", b"content")
        assert os.read(ours, 100) == b"content"
        after = Path(device).stat()
        assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)
    finally:
        os.close(ours)
        os.close(theirs)
    assert files(tmp_path) == ["device"]


STREAM = """
import os, sys
from minipinet._files import write_whole
os.write(1, b"before ")
write_whole(sys.argv[1], b"content ")
os.write(1, b"after")
"""


@pytest.mark.parametrize("name", ["/proc/self/fd/1", "link"])
def test_standard_output_that_is_a_file_goes_on_where_it_was(name: str, tmp_path: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("there is no folder of open files here")
    (tmp_path / "out").write_bytes(b"older ")
    (tmp_path / "link").symlink_to("/proc/self/fd/1")
    with (tmp_path / "out").open("ab") as out:
        words = command(STREAM, tmp_path / name)
        subprocess.run(words, cwd=ROOT, env=environment(), stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"older before content after"
    assert files(tmp_path) == ["link", "out"]


def test_a_link_to_nothing_gets_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"content"


def test_a_pipe_whose_reader_is_gone_is_one_sentence(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    (tmp_path / "link").symlink_to(f"/dev/fd/{writing}")
    try:
        with pytest.raises(MinipinetError, match="link: cannot be written: Broken pipe"):
            write_whole(tmp_path / "link", b"content")
        os.fstat(writing)  # ours, so left open
    finally:
        os.close(writing)
