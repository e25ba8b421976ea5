"""``minipinet export``: a saved model for other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from minipinet.cli import main
from minipinet.cli.export import FORMATS
from minipinet.errors import UsageError
from minipinet.interop.onnx import export_onnx
from minipinet.interop.state_dict import read_state_dict, write_state_dict
from minipinet.predictor import PiNet
from tests.cli_calls import call
from tests.small_data import same_bits
from tests.small_doors import hide, mutag_model

#: The files that a run is made of, and what writes each format.
RUN_FILES = ("run.json", "log.jsonl", "checkpoint.safetensors", "model.safetensors", ".lock")
WRITERS = {"state-dict": write_state_dict, "onnx": export_onnx}

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the folder of a saved model."""
    (tmp_path / "run").mkdir()
    mutag_model().save(tmp_path / "run" / "model.safetensors")
    return tmp_path / "run"


def test_weights_for_pytorch(capsys: Capture, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    outcome = call(capsys, "export", model, "--format", "state-dict", "--output", file)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == f"{file}: {mutag_model()!r} as state-dict\n"
    assert same_bits(read_state_dict(file, PiNet.load(model / "model.safetensors")).params, mutag_model().params)


def test_a_model_for_onnx_runtimes(capsys: Capture, model: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is in minipinet[onnx]")
    file = tmp_path / "model.onnx"
    assert call(capsys, "export", model / "model.safetensors", "--format=onnx", f"--output={file}").status == 0
    onnx.checker.check_model(str(file), full_check=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "x"], "error: the following arguments are required: --format"),
        (["--format", "onnx"], "error: the following arguments are required: --output"),
        (["--format", "onnx", "--output", ""], "error: --output: expected the name of a file, got ''"),
        (["--format", "onnx", "--output", "."], "error: --output: expected the name of a file, got '.'"),
        (["--format", "state-dict", "--output="], "error: --output: expected the name of a file, got ''"),
        (
            ["--format", "onx", "--output", "x"],
            "error: --format: expected state-dict or onnx, got 'onx'; did you mean onn",
        ),
    ],
)
def test_bad_use(capsys: Capture, model: Path, words: list[str], message: str) -> None:
    outcome = call(capsys, "export", model, *words)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"minipinet: {message}")
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_the_model_itself_is_not_written_over(capsys: Capture, model: Path, name: str) -> None:
    file = model / "model.safetensors"
    before = file.read_bytes()
    outcome = call(capsys, "export", model, "--format", name, "--output", file)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f"minipinet: error: --output: expected another file than the model, got '{file}'\n"
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("file", RUN_FILES)
def test_no_file_of_a_run_is_written_over(capsys: Capture, model: Path, tmp_path: Path, name: str, file: str) -> None:
    for place in (tmp_path / "other" / file, tmp_path / "other" / "fold-00" / file):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"kept")
    (tmp_path / "other" / "run.json").write_bytes(b"kept")
    (tmp_path / "link").symlink_to(tmp_path / "other" / file)
    (tmp_path / "folder").symlink_to(tmp_path / "other")
    for output in (f"other/{file}", f"other/fold-00/{file}", "link", f"folder/{file}", f"folder/fold-00/../{file}"):
        outcome = call(capsys, "export", model, "--format", name, "--output", tmp_path / output)
        assert (outcome.status, outcome.out) == (2, "")
        assert f"--output: expected another file than those of the run in {tmp_path / 'other'}, got '" in outcome.err
        with pytest.raises(UsageError, match=r"^path: expected another file than those of the run in "):
            WRITERS[name](mutag_model(), tmp_path / output)
    kept = [path for path in (tmp_path / "other").rglob("*") if path.is_file()]
    assert len(kept) >= 2
    assert all(path.read_bytes() == b"kept" for path in kept)
    # Other names in a run are free, and so are these where no run is.
    assert call(capsys, "export", model, "--format", name, "--output", tmp_path / "other" / "model.onnx").status == 0
    assert call(capsys, "export", model, "--format", name, "--output", tmp_path / file).status == 0


def test_help(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["export", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert all(f"  {name}  " in out for name in FORMATS)


def test_no_model(capsys: Capture, tmp_path: Path) -> None:
    outcome = call(capsys, "export", tmp_path / "none", "--format", "onnx", "--output", tmp_path / "x")
    assert (outcome.status, outcome.err) == (2, f"minipinet: error: MODEL: there is no file {tmp_path / 'none'}\n")


def test_no_place_for_the_file(capsys: Capture, model: Path, tmp_path: Path) -> None:
    outcome = call(capsys, "export", model, "--format", "state-dict", "--output", tmp_path / "no" / "x")
    assert outcome.status == 1
    assert "cannot be written: No such file or directory" in outcome.err


def test_without_onnx(capsys: Capture, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "onnx")
    outcome = call(capsys, "export", model, "--format", "onnx", "--output", tmp_path / "x")
    assert outcome.status == 2
    assert "export_onnx needs onnx: pip install 'minipinet[onnx]'" in outcome.err
    assert not (tmp_path / "x").exists()
