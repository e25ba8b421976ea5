"""The set-up behind scripts/train and scripts/test, with a stand-in for Python: nothing is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = [ROOT / "scripts" / name for name in ("setup.sh", "train", "test", "experiments.sh")] + [ROOT / ".ci" / "run"]

# Answers as Python does to what setup.sh asks, and writes each request to calls.log; "venv" copies it into place.
# A file "break" beside the log holds the request that is to fail; the lock is left to the true Python.
FAKE_PYTHON = r"""
case "$*" in
    *sys.version_info*) exec "$true_python" -c "import sys; sys.version_info = $version; $2" ;;
    *"import ensurepip, venv"*) exit $bare ;;
    *fcntl*) exec "$true_python" "$@" ;;
esac
echo "$*" >>"$tools/calls.log"
if [[ -e $tools/break && "$*" == *"$(cat "$tools/break")"* ]]; then exit 1; fi
case "$2" in
    venv)
        for folder; do :; done
        rm -rf -- "$folder"
        mkdir -p -- "$folder/bin"
        echo "prompt = 'minipinet'" >"$folder/pyvenv.cfg"
        cp -- "$0" "$folder/bin/python"
        printf '#!/bin/sh\necho minipinet "$@"\n' >"$folder/bin/minipinet"
        chmod +x "$folder/bin/minipinet" ;;
    pip) sleep 0.2 ;;
esac
"""


def put_python(folder: Path, name: str, *, old: bool = False, bare: bool = False) -> None:
    """Write a stand-in for Python called `name`, perhaps too `old`, or `bare` of the venv module."""
    folder.mkdir(exist_ok=True)
    version = (3, 10, 19) if old else (3, 11, 0)
    facts = f"tools='{folder}' true_python='{sys.executable}' version='{version}' bare={int(bare)}"
    (folder / name).write_text(f"#!/bin/bash\n{facts}\n{FAKE_PYTHON}")
    (folder / name).chmod(0o755)


def find_python(path: Path) -> subprocess.CompletedProcess[str]:
    """Run the finder with nothing but `path` on the PATH."""
    command = 'set -euo pipefail; source "$0"; PATH="$1"; hash -r; found=$(find_python); echo "$found"'
    return subprocess.run(
        ["bash", "-c", command, str(ROOT / "scripts" / "setup.sh"), str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


class Project:
    """A copy of the scripts in a folder of its own, with a stand-in for Python on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a project"
        self.tools = folder / "tools"
        self.root.mkdir()
        shutil.copytree(ROOT / "scripts", self.root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", self.root)
        put_python(self.tools, "python3.13")

    def start(self, script: str, *args: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """Start a script of the project, by default from a folder outside it."""
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        return subprocess.Popen(
            [str(self.root / "scripts" / script), *args], env=environment, cwd=cwd or self.tools, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, script: str, *args: str, status: int = 0, cwd: Path | None = None) -> tuple[str, str]:
        """Run a script, check its exit status and return its standard output and standard error."""
        process = self.start(script, *args, cwd=cwd)
        out, err = process.communicate(timeout=60)
        assert process.returncode == status, err
        return out, err

    def calls(self) -> list[str]:
        """Return the kinds of request made of Python since the last call, such as "pip .[sklearn,test]"."""
        log = self.tools / "calls.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [
            f"pip {line.split()[-1]}" if " pip " in line else "venv" if " venv " in line else line.removeprefix("-m ")
            for line in lines
        ]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_scripts_are_sound_bash(script: Path) -> None:
    subprocess.run(["bash", "-n", str(script)], check=True)
    if script.name != "setup.sh":
        assert os.access(script, os.X_OK)
        assert "set -euo pipefail" in script.read_text()


@pytest.mark.parametrize("name", ["python3.13", "python3.12", "python3.11", "python3"])
def test_any_new_python_is_found(tmp_path: Path, name: str) -> None:
    put_python(tmp_path / "bin", name)
    assert find_python(tmp_path / "bin").stdout.strip() == str(tmp_path / "bin" / name)


def test_a_python_that_is_old_or_bare_or_only_a_shim_is_passed_over(tmp_path: Path) -> None:
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/bash\nexit 127\n")
    shim.chmod(0o755)
    put_python(tmp_path, "python3.12", bare=True)
    put_python(tmp_path, "python3.11", old=True)
    put_python(tmp_path, "python3")
    assert find_python(tmp_path).stdout.strip() == str(tmp_path / "python3")


@pytest.mark.parametrize("old", [True, None])
def test_no_new_python_is_one_sentence(tmp_path: Path, old: bool | None) -> None:
    if old:
        put_python(tmp_path, "python3", old=True)
    result = find_python(tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "minipinet: Python 3.11 or newer is needed, and none of python3.13, python3.12, python3.11, python3 "
        "on the PATH is one\n"
    )


def test_a_missing_venv_module_is_one_sentence(tmp_path: Path) -> None:
    put_python(tmp_path, "python3", bare=True)
    result = find_python(tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("minipinet: python3 has no venv or ensurepip module: install them")
    assert result.stderr.count("\n") == 1


def test_the_first_use_sets_up_and_the_second_only_runs(project: Project) -> None:
    out, err = project.run("train", "--epochs", "3", "two words")
    assert project.calls() == ["venv", "pip .[sklearn]"]
    assert out == "minipinet train --epochs 3 two words\n"
    assert err.count("\n") == 1
    assert "setting up" in err
    assert "done in" in err

    assert project.run("train") == ("minipinet train\n", "")
    assert project.calls() == []


def test_tests_run_in_the_project_and_training_where_the_user_is(project: Project) -> None:
    project.run("test", "-q", "-k", "softmax")
    assert project.calls() == ["venv", "pip .[sklearn,test]", "pytest -q -k softmax"]
    (project.root / ".venv" / "bin" / "minipinet").write_text("#!/bin/sh\npwd\n")
    assert project.run("train", cwd=project.tools)[0] == f"{project.tools}\n"
    (project.root / ".venv" / "bin" / "python").write_text("#!/bin/sh\npwd\n")
    assert project.run("test")[0] == f"{project.root}\n"


def test_an_extra_is_added_to_what_is_there_and_nothing_is_installed_twice(project: Project) -> None:
    (project.root / "scripts" / "lint").write_text('#!/bin/bash\nsource "${0%/*}/setup.sh"; set_up lint\n')
    (project.root / "scripts" / "lint").chmod(0o755)
    for script, expected in [
        ("test", ["venv", "pip .[sklearn,test]", "pytest"]),
        ("train", []),
        ("lint", ["pip .[sklearn,lint]"]),
        ("test", ["pytest"]),
        ("lint", []),
    ]:
        project.run(script)
        assert project.calls() == expected


def test_extras_that_are_added_together_are_each_there(project: Project) -> None:
    script = project.root / "scripts" / "several"
    script.write_text('#!/bin/bash\nsource "${0%/*}/setup.sh"; set_up "$1"\n')
    script.chmod(0o755)
    for script_name, extras, expected in [
        ("several", ["lint,test"], ["venv", "pip .[sklearn,lint,test]"]),
        ("test", [], ["pytest"]),
        ("several", ["lint"], []),
        ("several", ["test,docs"], ["pip .[sklearn,test,docs]"]),
        ("several", ["docs,lint,test"], []),
        ("train", [], []),
    ]:
        project.run(script_name, *extras)
        assert project.calls() == expected


def test_an_extra_is_added_after_training(project: Project) -> None:
    steps = [("train", ["venv", "pip .[sklearn]"]), ("test", ["pip .[sklearn,test]", "pytest"]), ("train", [])]
    for script, expected in steps:
        project.run(script)
        assert project.calls() == expected


def test_a_changed_pyproject_is_installed_again_for_every_extra(project: Project) -> None:
    project.run("test")
    with (project.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    project.calls()
    project.run("train")
    assert project.calls() == ["pip .[sklearn]"]
    project.run("test")
    assert project.calls() == ["pip .[sklearn,test]", "pytest"]


def test_a_moved_project_is_installed_again(project: Project) -> None:
    project.run("train")
    project.calls()
    project.root = project.root.rename(project.root.with_name("elsewhere"))
    project.run("train")
    assert project.calls() == ["pip .[sklearn]"]


@pytest.mark.parametrize("step", ["venv", "pip"])
def test_an_interrupted_set_up_does_not_count(project: Project, step: str) -> None:
    (project.tools / "break").write_text(f"-m {step}")
    out, err = project.run("train", status=1)
    assert out == ""
    assert err.splitlines()[-1].startswith("minipinet: ")
    project.calls()

    (project.tools / "break").unlink()
    assert project.run("train")[0] == "minipinet train\n"
    assert project.calls() == ["venv", "pip .[sklearn]"]


def test_an_interrupted_reinstall_does_not_count(project: Project) -> None:
    project.run("train")
    (project.tools / "break").write_text("-m pip")
    project.run("test", status=1)
    project.calls()
    (project.tools / "break").unlink()
    project.run("train")
    assert project.calls() == ["venv", "pip .[sklearn]"]


def test_an_environment_made_by_hand_is_kept(project: Project) -> None:
    put_python(project.tools, "python")
    subprocess.run([project.tools / "python", "-m", "venv", project.root / ".venv"], check=True)
    (project.root / ".venv" / "pyvenv.cfg").write_text("version = 3.11.0\n")
    project.calls()
    project.run("train")
    assert project.calls() == ["pip .[sklearn]"]


def test_an_environment_whose_python_is_gone_is_made_anew(project: Project) -> None:
    project.run("train")
    project.calls()
    (project.root / ".venv" / "bin" / "python").unlink()
    project.run("train")
    assert project.calls() == ["venv", "pip .[sklearn]"]


def test_two_first_uses_at_once_set_up_once(project: Project) -> None:
    runs = [project.start("train") for _ in range(3)]
    for process in runs:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "minipinet train\n"), err
    assert project.calls() == ["venv", "pip .[sklearn]"]


def test_the_experiments_start_from_the_rows_and_write_rows_tables_and_figures(tmp_path: Path) -> None:
    for name in ("minipinet", "python"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path}/calls.log\necho "### a table"\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "data").mkdir()
    results = tmp_path / "project" / "docs" / "results"
    (results / "rows").mkdir(parents=True)
    (results / "rows" / "comparison-paper-MUTAG.csv.xz").touch()
    (tmp_path / "project" / "scripts").mkdir()
    script = shutil.copy(ROOT / "scripts" / "experiments.sh", tmp_path / "project" / "scripts")
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([script, "data", "s.sqlite"], cwd=tmp_path, env={**os.environ, **path}, check=True)
    calls = (tmp_path / "calls.log").read_text().splitlines()
    store, names = f"{tmp_path}/s.sqlite", ["comparison", "message-passing", "isomorphism"]
    assert calls[0] == f"minipinet results {store} --import docs/results/rows/comparison-paper-MUTAG.csv.xz"
    assert calls[-4:] == [
        *(f"minipinet results {store} --experiment {name} --format markdown" for name in names),
        f"minipinet results {store} --figures docs/results/figures",
    ]
    ran, wrote = calls[1:-4:2], calls[2:-4:2]
    assert {call.split()[2] for call in ran} == set(names)
    assert all(call.endswith(f"--data-dir {tmp_path}/data --store {store}") for call in ran)
    assert set(wrote) == {f"python scripts/export_rows.py {store} docs/results/rows"}
    assert len(wrote) == len(ran)
    for name in names:
        lines = (results / f"{name}.md").read_text().splitlines()
        assert lines[0].endswith(": all numbers")
        assert lines[-1] == "## a table"
    assert sorted(path.name for path in results.iterdir()) == sorted([*(f"{name}.md" for name in names), "rows"])


def test_the_experiments_say_how_they_are_called() -> None:
    outcome = subprocess.run([ROOT / "scripts" / "experiments.sh"], capture_output=True, text=True, check=False)
    assert outcome.returncode != 0
    assert "usage: scripts/experiments.sh DATA_DIR [STORE]" in outcome.stderr
