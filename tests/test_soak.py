"""The seed of a run, the one profile of hypothesis, and the script that runs the suite with many seeds under load."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest

from tests import thinned
from tests.seeds import GIVEN

ROOT = Path(__file__).resolve().parent.parent
MARKED = "import os, time, pytest\npytestmark = pytest.mark.filterwarnings('ignore')\n@pytest.mark.gradient\n"


@contextmanager
def soak(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Start the script in a process group of its own, so that what it leaves behind is found, and ended here."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / "soak.py"), *words, "-q", "-p", "no:cacheprovider"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            if is_alive(process.pid):
                os.killpg(process.pid, signal.SIGKILL)


def is_alive(group: int) -> bool:
    """Tell whether a process group still has a member."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_row_a_seed_and_status_1_for_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_seed.py").write_text(
        f"{MARKED}def test_it():\n    assert os.environ['MINIPINET_SEED'] != '2'\n"
        "@pytest.mark.invariance\ndef test_too(): pass\ndef test_not_marked(): raise AssertionError\n"
    )
    with soak("--seeds", "2", "--load", "1", str(tmp_path / "test_seed.py")) as process:
        out, err = process.communicate(timeout=120)
        assert not is_alive(process.pid)
    assert process.returncode == 1, err
    cells = [[cell.strip() for cell in line.split("|")[1:4]] for line in out.splitlines()]
    assert cells[0] == ["seed", "passed", "failed"]
    assert cells[2:] == [["1", "2", "0"], ["2", "1", "1"]]


@pytest.mark.parametrize("text", ["def test_it(): pass\n", "def test_it() pass\n"])
def test_no_test_and_no_sound_file_are_failures_too(tmp_path: Path, text: str) -> None:
    (tmp_path / "test_none.py").write_text(text)
    with soak("--seeds", "1", "--load", "0", str(tmp_path / "test_none.py")) as process:
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert [cell.strip() for cell in out.splitlines()[-1].split("|")[1:4]] == ["1", "0", "1"]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_all_that_was_started(tmp_path: Path, sign: signal.Signals) -> None:
    started = tmp_path / "started"
    (tmp_path / "test_slow.py").write_text(
        f"{MARKED}def test_it():\n    open({str(started)!r}, 'w')\n    time.sleep(300)\n"
    )
    with soak("--seeds", "1", "--load", "1", str(tmp_path / "test_slow.py")) as process:
        end = time.monotonic() + 60
        while not started.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(sign)
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert not is_alive(process.pid)


def test_case_114_one_profile_without_time_limits() -> None:
    profile = hypothesis.settings()
    assert profile.deadline is None
    assert profile.max_examples == thinned.examples(40)
    assert profile.derandomize == (GIVEN is None)
    assert profile.database is None


def examples(value: str | None) -> str:
    """Return what hypothesis draws, and the seed of the test named 3, in a run with this MINIPINET_SEED."""
    code = """
import hypothesis
from hypothesis import strategies as st
from tests import seeds, thinned
drawn = []
@hypothesis.settings(database=None, deadline=None, derandomize=seeds.profile()["derandomize"])
@hypothesis.given(st.integers())
def test(number):
    drawn.append(number)
seeds.plant(test)
test()
print(seeds.shifted(3), drawn)
"""
    environment = {name: v for name, v in os.environ.items() if name != "MINIPINET_SEED"}
    environment |= {} if value is None else {"MINIPINET_SEED": value}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, text=True, capture_output=True, check=True
    )
    return done.stdout


def test_the_examples_of_a_run_are_repeatable_and_depend_on_the_seed() -> None:
    by_seed = {value: examples(value) for value in (None, "1", "2")}
    assert len(set(by_seed.values())) == 3
    assert all(examples(value) == drawn for value, drawn in by_seed.items())
    assert [int(drawn.split()[0]) for drawn in by_seed.values()] == [3, 1_000_003, 2_000_003]


def test_a_seed_that_is_no_number_is_named() -> None:
    code = "import tests.seeds"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "MINIPINET_SEED": "x"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "MINIPINET_SEED: expected a whole number, 0 or more, got 'x'" in done.stderr
