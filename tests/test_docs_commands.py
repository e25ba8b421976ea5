"""The commands on the pages for people: short ones run, long ones at least parse, and none is unknown."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from minipinet.cli import build_parser
from minipinet.errors import UsageError
from tests.small_data import environment
from tests.test_docs import PAGES, ROOT, name_of

#: Blocks that are not run, by page and first command: the reason. Their commands are parsed.
LONG = {
    ("README.md", "scripts/train"): "sets up an environment and trains for ten seconds; CI runs it",
    ("README.md", "scripts/test"): "runs this test",
    ("CONTRIBUTING.md", 'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]"'): "installs; CI runs the same",
    ("docs/report.md", "scripts/train --run-dir runs/mutag"): "installs",
    ("docs/experiments.md", "minipinet experiment isomorphism --jobs 2 --store results.sqlite"): "hours",
    ("docs/experiments.md", "dask scheduler"): "several machines",
    ("docs/invariance.md", "python scripts/soak.py --seeds 5 --load 2"): "an hour",
    ("docs/isomorphism.md", "python scripts/isomorphism_released.py --trials 5 --sizes 2 20"): "hours",
    ("docs/isomorphism.md", "python scripts/isomorphism_released.py --lottery --trials 10"): "20 minutes",
    ("docs/performance.md", "python scripts/bench_forms.py --datasets MUTAG --rounds 7"): "times an idle machine",
    ("docs/performance.md", "python scripts/peers/bench.py --data-dir DATA_DIR"): "downloads, and times a machine",
    ("docs/planted-bugs.md", "python scripts/bug_table.py softmax"): "20 seconds",
    ("docs/verification.md", "minipinet verify"): "a minute; tests/test_cli_verify.py runs the same",
    ("docs/statistics.md", "python scripts/significance.py --comparisons 1000"): "minutes",
    ("docs/results/README.md", "scripts/experiments.sh DATA_DIR results.sqlite"): "days",
    ("docs/results/mutation.md", 'pip install -e ".[mutation]"'): "hours",
}
#: What a block needs besides the package: a module for a word in it.
NEEDS = {"--format onnx": "onnxruntime", "--figures": "matplotlib"}
#: Programs of others, whose arguments are not looked at.
OTHERS = {"source", "dask", ".venv/bin/ruff", ".venv/bin/mypy"}

# Parses its arguments as the script would and stops there: status 0 if they parse, 3 if nothing was parsed.
PARSE_ONLY = """
import argparse, os, runpy, sys
parse_args, parse_known_args = argparse.ArgumentParser.parse_args, argparse.ArgumentParser.parse_known_args
def all_args(parser, args=None, namespace=None):
    argparse.ArgumentParser.parse_known_args = parse_known_args  # which the other calls
    parse_args(parser, args, namespace)
    sys.exit(0)
def known_args(parser, args=None, namespace=None):
    parse_known_args(parser, args, namespace)
    sys.exit(0)
argparse.ArgumentParser.parse_args, argparse.ArgumentParser.parse_known_args = all_args, known_args
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
sys.exit(3)
"""


class Block(NamedTuple):
    """A ```bash fence."""

    page: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines, put together where they go on, without comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in lines) if line]

    @property
    def key(self) -> tuple[str, str]:
        """Its page and its first command."""
        return self.page, self.commands[0]


def bash_blocks() -> Iterator[Block]:
    """Yield the ```bash fences of all pages."""
    for page in PAGES:
        for text in re.findall(r"^```bash\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            yield Block(name_of(page), text)


BLOCKS = list(bash_blocks())
SHORT = [block for block in BLOCKS if block.key not in LONG]


def fault(command: str) -> str:
    """Return what is wrong with a command that is not run, "" for nothing."""
    words = shlex.split(command)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    program, *rest = words
    if program == "scripts/train":
        program, rest = "minipinet", ["train", *rest]
    if program == "minipinet":
        build_parser().parse_args(rest)
        return ""
    if program == "python":
        done = subprocess.run([sys.executable, "-c", PARSE_ONLY, *rest], cwd=ROOT, env=environment(), text=True,
                              capture_output=True, timeout=60, check=False)  # fmt: skip
        return "" if done.returncode == 0 else done.stderr or f"nothing is parsed: {command}"
    if program.endswith("pip") or rest[:2] == ["-m", "venv"]:
        known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        asked = {extra for extras in re.findall(r"\[([\w,]+)\]", command) for extra in extras.split(",")}
        return "" if asked <= set(known) else f"no extra {asked - set(known)}"
    if program.startswith("scripts/"):
        return "" if os.access(ROOT / program, os.X_OK) else f"{program} cannot be run"
    return "" if program in OTHERS else f"{program} is a program that no test knows"


def test_the_blocks_that_are_not_run_are_there() -> None:
    assert set(LONG) == {block.key for block in BLOCKS} & set(LONG)
    assert len(SHORT) >= 6


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.key in LONG], ids=lambda b: " ".join(b.key))
def test_the_commands_of_a_long_block_parse(block: Block) -> None:
    commands = [part for command in block.commands for part in command.split(" && ")]
    assert [found for found in map(fault, commands) if found] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", dict.fromkeys(block.page for block in SHORT))
def test_the_short_blocks_of_a_page_run(page: str, tmp_path: Path) -> None:
    """One after the other in a folder, with a stand-in for the environment that a reader has made there."""
    for block in SHORT:
        if block.page == page:
            for word, module in NEEDS.items():
                if word in block.text:
                    pytest.importorskip(module)
            run_block(block.text, tmp_path)


def run_block(text: str, folder: Path) -> str:
    """Run lines of bash, each of which must succeed, and return what they print."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "activate").touch()
    for name, start in {"python": "", "minipinet": " -m minipinet"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{start} "$@"\n')
        (programs / name).chmod(0o755)
    (folder / "graphs.json").write_text(GRAPHS)
    env = {**environment(), "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=env, text=True,
                          capture_output=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


#: What the reader of a page has already: graphs to label.
GRAPHS = '[{"nodes": [{"id": 0, "label": 0}, {"id": 1, "label": 2}], "edges": [{"source": 0, "target": 1}]}]'


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    for command in ("minipinet verify --no-such-option", "scripts/train --no-such-option"):
        with pytest.raises(UsageError):
            fault(command)
    assert "unrecognized arguments" in fault("python scripts/significance.py --no-such-option")
    assert "invalid int value" in fault("python scripts/soak.py --seeds many")
    assert "No such file" in fault("python scripts/no_such_script.py")
    assert fault("pip install '.[figures,no_such_extra]'") == "no extra {'no_such_extra'}"
    assert fault("scripts/no_such_script") == "scripts/no_such_script cannot be run"
    assert fault("curl somewhere") == "curl is a program that no test knows"
    assert run_block("minipinet --version", tmp_path / "right").startswith("minipinet ")
    with pytest.raises(AssertionError, match="no_such_run"):
        run_block("minipinet predict no_such_run MUTAG | cat\necho done", tmp_path / "wrong")
