"""The examples in scripts/examples and in the README run as they are shown, each in a process of its own."""

from __future__ import annotations

import doctest
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_data import environment

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "scripts" / "examples").glob("*.py"))

#: What each is run with, one after the other, and lines that it prints (a regular expression).
RUNS: dict[str, list[tuple[list[str], str]]] = {
    "own_graphs.py": [
        (["train", "model"], r"accuracy 1\.00 on the training graphs, saved as model"),
        (["predict", "model"], r"C{29}O: alcohol .*\nC{10}OC{19}: ether "),
    ],
    "grid_search.py": [(["2"], r"best: \{'lr': .*\}\ntest accuracy 0\.\d{3} \(always the larger class: 0\.660\)")],
    "new_molecules.py": [
        ([], r"c34: mutagenic \(0\.\d\d\)\nO=.*\nc1ccc2sccc2c1: "),
        (["CCO"], r"^CCO: (mutagenic|not) \(0\.\d\d\)\n$"),
    ],
    "verify_layer.py": [([], r"gated_backward: ok(.*\n)*\nwrong_backward: FAILED")],
    "pq_study.py": [(["2"], r"   0\.\d{3}  \(1, 0\)    A\n(.*\n){5}layer   p      q .*\nA0 +0\.\d")],
}


def start(path: Path | str, *args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a new process to its end."""
    return subprocess.run(
        [sys.executable, str(path), *args], cwd=folder, env=environment(), text=True, capture_output=True, timeout=300,
        check=False,
    )  # fmt: skip


def run(path: Path | str, *args: str, folder: Path) -> str:
    """Run a script in a new process and return what it prints."""
    done = start(path, *args, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run() -> None:
    assert set(RUNS) == {path.name for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_short_and_say_how_they_are_run(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert f"    python scripts/examples/{path.name}" in text


@pytest.mark.parametrize("name", RUNS)
def test_an_example_prints_what_it_should(name: str, tmp_path: Path) -> None:
    if name == "new_molecules.py":
        pytest.importorskip("rdkit")
    for args, expected in RUNS[name]:
        printed = run(ROOT / "scripts" / "examples" / name, *args, folder=tmp_path)
        assert re.search(expected, printed), f"{name} {args} printed\n{printed}"


USAGE = "usage: {} [EPOCHS], a whole number from 1 to 999999"


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("own_graphs.py", [], "usage: own_graphs.py {train,predict} MODEL"),
        ("own_graphs.py", ["trian", "model"], "usage: own_graphs.py {train,predict} MODEL"),
        ("own_graphs.py", ["predict", "model"], "own_graphs.py: model: no such file"),
        ("own_graphs.py", ["predict", "."], "own_graphs.py: .: is a folder"),
        ("own_graphs.py", ["train", "none/model"], "own_graphs.py: "),
        *[("grid_search.py", args, USAGE.format("grid_search.py")) for args in (["0"], ["9" * 12], ["2", "3"])],
        ("pq_study.py", ["many"], USAGE.format("pq_study.py")),
        ("new_molecules.py", ["CCO", "C1CC"], "new_molecules.py: smiles: entry 1: expected SMILES, got 'C1CC'"),
        ("new_molecules.py", ["CCO", "CC(C)(C)(C)C"], "new_molecules.py: smiles: entry 1: 'CC(C)(C)(C)C' is no"),
        ("verify_layer.py", ["--help"], "usage: verify_layer.py, without arguments"),
    ],
)
def test_a_wrong_command_is_told_in_one_line(
    name: str,
    args: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name == "new_molecules.py":
        pytest.importorskip("rdkit")
    # In this process: each would take seconds to import the same libraries.
    path = str(ROOT / "scripts" / "examples" / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [path, *args])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(path, run_name="__main__")
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(message)


def test_molecules_without_rdkit_are_told_before_training(tmp_path: Path) -> None:
    code = "import runpy, sys; sys.modules['rdkit'] = None; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    done = start("-c", code, str(ROOT / "scripts" / "examples" / "new_molecules.py"), folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "from_smiles needs rdkit.Chem: pip install 'minipinet[smiles]'" in done.stderr


def test_the_readmes_ten_lines_work_in_two_processes(tmp_path: Path) -> None:
    """From networkx graphs and labels to a saved model, and to predictions elsewhere, just as they stand there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("### Your own graphs, with scikit-learn")[2].partition("\n## ")[0]
    fences = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    training, predicting = [doctest.DocTestParser().get_examples(fence) for fence in fences]
    assert len(training) + len(predicting) < 10
    code = "".join(example.source for example in training)
    assert run("-c", code, folder=tmp_path) == ""
    *first, last = predicting
    code = "".join(example.source for example in first) + f"print(repr({last.source.strip()}))"
    assert run("-c", code, folder=tmp_path) == last.want
