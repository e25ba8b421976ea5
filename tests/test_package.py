"""The package as a whole: everything imports, little is imported too early, and the house rules hold in every file."""

from __future__ import annotations

import ast
import importlib
import importlib.resources
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import minipinet

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "minipinet"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MODULES = [module.name for module in pkgutil.walk_packages([str(PACKAGE)], "minipinet.")]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, LINE_LENGTH = SETTINGS["project"], SETTINGS["tool"]["ruff"]["line-length"]


def name_of(path: Path) -> str:
    """Return a path as it is shown in the name of a test."""
    return path.relative_to(ROOT).as_posix()


def project_files() -> list[Path]:
    """Return the project's own text files: those that git keeps or would keep, or all that are not made by tools."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode == 0:
        paths = [ROOT / line for line in listed.stdout.splitlines()]
    else:
        folders = ("minipinet", "tests", "scripts", "docs", ".ci")
        paths = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    return sorted(path for path in paths if path.is_file() and path.suffix not in (".zip", ".pyc", ".png", ".xz"))


def imports_of(path: Path) -> Iterator[str]:
    """Yield the full name of every module, and of everything in one, that a file imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls_of(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of a file with the text of what is called."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def run_python(code: str) -> str:
    """Run code in a new Python with every warning an error, and return what it prints."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_every_module_imports_whichever_comes_first() -> None:
    code = f"""
import importlib, sys
for module in {MODULES}:
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "minipinet"]:
        del sys.modules[loaded]
    importlib.import_module(module)
    print(module)
"""
    assert run_python(code).split() == MODULES


def test_importing_the_package_and_the_command_is_cheap() -> None:
    heavy = ["numpy", "scipy", "networkx", "sklearn", "tqdm", "joblib", "safetensors", "threadpoolctl", "cupy"]
    for module in ("minipinet", "minipinet.cli"):
        code = f"import sys, {module}; print(*[name for name in {heavy} if name in sys.modules])"
        assert run_python(code).split() == [], f"{module} imports them at once"


def test_training_imports_nothing_it_does_not_use() -> None:
    code = (
        "import sys, minipinet.train; print(*[m for m in ('networkx', 'sklearn', 'tqdm', 'cupy') if m in sys.modules])"
    )
    assert run_python(code).split() == []


def test_the_version_is_the_projects() -> None:
    assert minipinet.__version__ == PROJECT["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{PROJECT['version']}]" in changes or "## [Unreleased]" in changes
    with pytest.raises(AttributeError, match="no attribute 'verison'"):
        minipinet.verison  # noqa: B018


def test_the_command_and_the_data_files_are_declared() -> None:
    module, _, function = PROJECT["scripts"]["minipinet"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    assert importlib.resources.files("minipinet").joinpath("py.typed").is_file()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_file_is_long(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines < 300


# ruff holds the files in Python to the same.
@pytest.mark.parametrize("path", [p for p in project_files() if p.suffix in (".cu", ".h", ".cpp")], ids=name_of)
def test_no_line_of_a_kernel_is_long(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert {n: line for n, line in enumerate(lines, 1) if len(line) > LINE_LENGTH} == {}


@pytest.mark.parametrize("path", project_files(), ids=name_of)
def test_no_file_names_a_place_on_one_machine(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    # Put together here so that this file does not hold what it looks for.
    places = re.findall("|".join(["/" + folder for folder in (r"home/\w", r"Users/\w", "root/", "work/")]), text)
    assert not places, f"{path}: {places}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_nothing_is_unpickled(path: Path) -> None:
    modules = {name.partition(".")[0] for name in imports_of(path)}
    assert not modules & {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    for called, call in calls_of(path):
        allow = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == "allow_pickle"]
        assert "True" not in allow
        if called in ("np.load", "numpy.load"):
            assert allow == ["False"], f"line {call.lineno}: np.load without allow_pickle=False"
        assert called not in ("joblib.load", "torch.load", "pandas.read_pickle"), f"line {call.lineno}: {called}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_the_global_random_state_is_left_alone(path: Path) -> None:
    assert not {name for name in imports_of(path) if name == "random" or name.startswith("random.")}
    own_state = ("default_rng", "Generator", "SeedSequence", "BitGenerator", "PCG64", "Philox")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and re.fullmatch(r"(np|numpy|xp|cp)\.random", ast.unparse(node.value)):
            assert node.attr in own_state, f"line {node.lineno}: np.random.{node.attr}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_verification_imports_the_oracle(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0]
    if not part.startswith("verify"):
        assert "minipinet.reference" not in set(imports_of(path))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_one_file_names_cupy(path: Path) -> None:
    if path.name != "_array.py":
        assert "cupy" not in path.read_text(encoding="utf-8")
