"""The command line as a whole: exit status, and what goes to which stream."""

from __future__ import annotations

import os
import resource
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minipinet.cli import main, verify
from minipinet.errors import Notice
from tests.cli_calls import TINY, call, finish, start
from tests.tu_files import toy_zip, write_folder

pytestmark = pytest.mark.usefixtures("_in_empty_folder")


@pytest.fixture
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("MINIPINET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MINIPINET_DATA", raising=False)
    monkeypatch.delenv("MINIPINET_DATA_URL", raising=False)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("trian", "unknown command 'trian'; did you mean train? (see minipinet --help)"),
        ("xyz", "unknown command 'xyz' (see minipinet --help)"),
        ("data lst", "unknown command 'lst'; did you mean list? (see minipinet data --help)"),
        ("--versio", "unknown option --versio; did you mean --version? (see minipinet --help)"),
        ("evaluate --jsn", "unknown option --jsn; did you mean --json? (see minipinet evaluate --help)"),
        ("train --bogus 3", "unknown option --bogus (see minipinet train --help)"),
        ("train --epoch 3", "unknown option --epoch; did you mean --epochs? (see minipinet train --help)"),
        ("train extra", "unexpected: extra (see minipinet train --help)"),
        ("train --epochs 0", ": --epochs: expected a whole number of at least 1, got 0"),
        ("train --epochs=two", ": --epochs: expected a whole number of at least 1, got 'two'"),
        ("train --epochs 1.5", ": --epochs: expected a whole number of at least 1, got '1.5'"),
        ("train --batch-size 0", ": --batch-size: expected a whole number of at least 1, got 0"),
        ("train --folds 1", "folds: expected 2 or more, or 0 for one model on all graphs, got 1"),
        ("train --folds two", ": --folds: expected 2 or more, or 0 for one model on all graphs, got 'two'"),
        ("train --folds -3", "got -3"),
        (
            "train --folds 64",
            "--folds: expected 2 to 63, as the smallest class has 63 graphs (graphs by class: -1: 63, 1: 125)",
        ),
        ("train --jobs 0", ": --jobs: expected a whole number of at least 1, got 0"),
        ("train --jobs many", ": --jobs: expected a whole number of at least 1, got 'many'"),
        ("train --hidden 9999999999", ": --hidden: expected a whole number from 1 to 1048576, got 9999999999"),
        ("train --folds 0 --jobs 0", "jobs: expected a whole number of at least 1, got 0"),
        ("train --lr fast", ": --lr: expected a finite number above 0, got 'fast'"),
        ("train --lr nan", "lr: expected a finite number above 0, got nan"),
        ("train --lr -1", "lr: expected a finite number above 0, got -1.0"),
        ("train --seed -1", "seed: expected a whole number of at least 0, got -1"),
        ("train --pq 1", ": --pq: expected learned, P,Q or P,Q:P,Q:P,Q:P,Q; got '1'"),
        ("train --pq 1,2,3", ": --pq: expected learned"),
        ("train --pq 0,0:1,1", ": --pq: expected learned"),
        ("train --pq 0.5,1.5", "pq: expected 'learned', a pair (p, q) in [0, 1]"),
        ("train --init zero", "init: expected 'he', 'glorot' or 'orthogonal', got 'zero'"),
        ("train --dtype float16", "dtype: expected 'float32' or 'float64', got 'float16'"),
        ("train --device gpu", "device: expected 'cpu', 'cuda' or 'auto', got 'gpu'"),
        ("train --patience 5", "patience: early stopping needs a validation part"),
        ("train --features smell", "features: expected one of"),
        ("train --features attributes", "'attributes' needs node attributes, and there are none"),
        ("train --data-dir nowhere", ": --data-dir: expected a folder of data sets, got 'nowhere'"),
        ("train --dataset ./nowhere", "nowhere: no such folder or zip"),
        ("train --dataset nowhere.zip", "nowhere.zip: no such folder or zip"),
        ("train --resume", ": --resume: expected --run-dir DIR"),
        ("train --overwrite", ": --overwrite: expected --run-dir DIR"),
        ("train --resume --overwrite --run-dir r", "not allowed with argument"),
        ("evaluate", "the following arguments are required: MODEL, DATA"),
        ("evaluate nowhere MUTAG", "MODEL: there is no file nowhere"),
        ("predict . MUTAG", "MODEL: there is no file model.safetensors"),
        ("data", "the following arguments are required: COMMAND"),
        ("data info", "the following arguments are required: NAME|PATH"),
        ("data info MUTAG --data-dir nowhere", ": --data-dir: expected a folder of data sets"),
        ("data fetch", "the following arguments are required: NAME"),
        ("data fetch NCI1 --base-url ftp://host", ": --base-url: expected an address that starts with http"),
        ("verify --pair nonesuch", ": --pair: expected names out of propagate"),
        ("verify --dtype float16", "dtype: expected float64 or float32, got 'float16'"),
        ("verify --seed x", ": --seed: expected a whole number of at least 0, got 'x'"),
    ],
)
def test_case_113_bad_use_is_status_2_and_one_line(
    capsys: pytest.CaptureFixture[str], command: str, reason: str
) -> None:
    status, out, err = call(capsys, *command.split())
    assert (status, out) == (2, "")
    assert err.startswith("minipinet: error: ")
    assert reason in err
    assert err.count("\n") == 1
    leftovers = [path for path in Path.cwd().rglob("*") if path.name != "runs"]
    assert not leftovers


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("train --dataset cut.zip", "cut.zip: the zip is cut short or damaged"),
        ("data info page.zip", "page.zip: expected a zip, got a web page"),
        ("data fetch NCI1 --base-url http://127.0.0.1:9", "http://127.0.0.1:9/NCI1.zip: cannot be fetched"),
        ("evaluate cut.zip MUTAG", "cut.zip: not a minipinet model, or not a whole one\n"),
        ("train --lr 1e30 --folds 2 --epochs 3 --hidden 4 --out 2 --jobs 1", "fold 0: training diverged in epoch 1"),
        ("train --hidden 1000000 --out 100000 --folds 0", "error: not enough memory (Unable to allocate"),
        ("train --hidden 1000000 --out 100000 --folds 2 --jobs 2", "error: not enough memory (Unable to allocate"),
        ("train --lr 1e30 --folds 0 --epochs 3 --hidden 4 --out 2", "training diverged in epoch 1"),
    ],
)
def test_case_113_failure_is_status_1_and_one_line(
    capsys: pytest.CaptureFixture[str], command: str, reason: str
) -> None:
    Path("cut.zip").write_bytes(toy_zip()[:200])
    Path("page.zip").write_text("<html>404</html>")
    status, out, err = call(capsys, *command.split())
    assert (status, out) == (1, "")
    assert err.startswith("minipinet: error: ")
    assert reason in err
    assert err.count("\n") == 1


@contextmanager
def small_files_only() -> Iterator[None]:
    """Let no file grow beyond a page, which looks like a full disk to the program, but not to pytest's own output."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("folds", [0, 2])
def test_case_113_disk_full_is_status_1(capsys: pytest.CaptureFixture[str], folds: int) -> None:
    with small_files_only():
        status, out, err = call(capsys, "train", *TINY, "--folds", folds, "--run-dir", "run", "--quiet")
    assert (status, out) == (1, "")
    assert err == f"minipinet: error: {Path('run/run.json')}: cannot be written: File too large\n"


def test_case_113_success_is_status_0_with_nothing_but_progress_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = call(capsys, "train", *TINY, "--folds", 2)
    assert status == 0
    assert "accuracy" in out
    assert err.splitlines() == [line for line in err.splitlines() if " of 4 epochs: fold " in line]
    status, out, err = call(capsys, "train", *TINY, "--folds", 2, "--quiet")
    assert (status, err) == (0, "")


def test_an_unforeseen_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(verify, "run", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["verify"])


def test_an_interrupt_outside_of_training_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "run", interrupted)
    assert call(capsys, "verify") == (130, "", "minipinet: interrupted\n")


def test_an_error_of_several_lines_is_printed_as_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise OSError(5, "Input/output\nerror", "some\nfile")

    monkeypatch.setattr(verify, "run", failing)
    assert call(capsys, "verify") == (1, "", "minipinet: error: some file: Input/output error\n")


def test_notices_are_notes_on_standard_error_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    write_folder(Path("TOY"), {"A": "1, 2\n2, 3\n2, 3\n4, 5\n"})
    for _ in range(2):
        status, out, err = call(capsys, "data", "info", "./TOY", "--json")
        assert status == 0
        assert [line[:6] for line in err.splitlines()] == ["note: ", "note: "]
        assert "an earlier one" in err
        assert "note" not in out


def test_other_warnings_are_left_to_python(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def warning(*_: object) -> None:
        warnings.warn("odd", RuntimeWarning, stacklevel=1)

    monkeypatch.setattr(verify, "run", warning)
    with pytest.warns(RuntimeWarning, match="odd"):
        assert call(capsys, "verify") == (0, "", "")


def test_the_callers_warning_filters_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "data", "list")
    with pytest.raises(Notice):
        warnings.warn("an error again", Notice, stacklevel=1)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_status_1(unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        outcome = finish(start("data", "list", cwd=Path.cwd(), stdout=full, env={"PYTHONUNBUFFERED": unbuffered}))
    assert (outcome.status, outcome.err) == (1, "minipinet: error: No space left on device\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_met_in_silence(unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    outcome = finish(start("data", "list", cwd=Path.cwd(), stdout=writer, env={"PYTHONUNBUFFERED": unbuffered}))
    os.close(writer)
    assert (outcome.status, outcome.err) == (141, "")


def test_a_terminal_without_plus_minus_does_not_cost_the_results() -> None:
    outcome = finish(start("train", *TINY, "--folds", 2, cwd=Path.cwd(), env={"PYTHONIOENCODING": "ascii"}))
    assert outcome.status == 0, outcome.err
    assert r"\xb1" in outcome.out
