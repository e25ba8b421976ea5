"""What became of the mutants of scripts/mutation.py: read from the tool's files, counted, and written for people."""

from __future__ import annotations

import csv
import importlib.metadata
import io
import json
import os
import platform
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

KILLED, SURVIVED, TIMEOUT, UNCHECKED = "killed", "survived", "timeout", "not checked"
#: By the tool's exit status; any other is a failed test or a process that died, which is noticed too.
STATUS: dict[int | None, str] = dict.fromkeys((0, 5, 33), SURVIVED)
STATUS |= dict.fromkeys((36, -24, 152), TIMEOUT) | dict.fromkeys((None, 2, -2, -15), UNCHECKED)


class Mutant(NamedTuple):
    """One change and what became of it; a row of mutation.csv."""

    module: str
    function: str
    id: str
    before: str  #: the changed lines, joined
    after: str
    status: str
    seconds: float

    @property
    def key(self) -> str:
        """Name the change itself: numbers move when a function is edited."""
        return f"{self.module}.{self.function}: {self.before} -> {self.after}"


def read_mutants(work: Path, modules: Sequence[str]) -> list[Mutant]:
    """Read what the tool has left in the copy."""
    from mutmut.mutation.data import MutantLineSpans

    mutants = []
    home = Path.cwd()
    os.chdir(work)  # the tool's paths are relative
    try:
        for module in modules:
            path = f"minipinet/{module}.py"
            meta = json.loads(Path(f"mutants/{path}.meta").read_text(encoding="utf-8"))
            spans = MutantLineSpans.load(path)
            for name, code in meta["exit_code_by_key"].items():
                mangled = name.rpartition(".")[2]
                function, _, number = mangled.partition("__mutmut_")
                original, mutated = spans.read_function_sources([f"{function}__mutmut_orig", mangled])
                before, after = changed_lines(original, mutated)
                readable = function.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
                seconds = round(meta["durations_by_key"].get(name, 0.0), 1)
                mutants.append(Mutant(module, readable, number, before, after, STATUS.get(code, KILLED), seconds))
    finally:
        os.chdir(home)
    return mutants


def changed_lines(original: str, mutated: str) -> tuple[str, str]:
    """Return the lines that differ between two functions, from the first to the last, without their names."""
    pair = [original.split("\n"), mutated.split("\n")]
    pair = [[line.partition("__mutmut_")[0] if "def x" in line else line.strip() for line in lines] for lines in pair]
    for end in (0, -1):
        while pair[0] and pair[1] and pair[0][end] == pair[1][end]:
            del pair[0][end], pair[1][end]
    before, after = (" ".join(lines) for lines in pair)
    return before, after


def read_reasons(path: Path) -> dict[str, str]:
    """Return why each mutant of the table cannot be told from the original, by its key."""
    groups = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {key.strip(): group["why"] for group in groups for key in group["mutants"]}


def selected(mutants: Iterable[Mutant], modules: Sequence[str], only: str | None) -> list[Mutant]:
    """Keep the mutants of some modules, and of one function if it is named."""
    return [m for m in mutants if m.module in modules and only in (None, m.function)]


def table(mutants: Sequence[Mutant], reasons: dict[str, str]) -> list[str]:
    """Return the summary as lines of Markdown: a row a module, and one for all."""
    lines = [
        "| module | mutants | killed | timeout | survived | of these equivalent | score | killed of all |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for module in [*dict.fromkeys(m.module for m in mutants), "all"]:
        rows = [m for m in mutants if module in (m.module, "all")]
        count = Counter(m.status for m in rows)
        same = sum(m.status == SURVIVED and m.key in reasons for m in rows)
        detected = count[KILLED] + count[TIMEOUT]
        numbers = [len(rows), count[KILLED], count[TIMEOUT], count[SURVIVED], same]
        scores = [f"{score(rows, reasons):.1%}", f"{detected / len(rows):.1%}"]
        lines.append("| " + " | ".join([module, *map(str, numbers), *scores]) + " |")
    return lines


def score(mutants: Sequence[Mutant], reasons: dict[str, str]) -> float:
    """Return the share of killed mutants among those not proven equivalent; a test that never ends kills too."""
    detected = sum(m.status in (KILLED, TIMEOUT) for m in mutants)
    same = sum(m.status == SURVIVED and m.key in reasons for m in mutants)
    return detected / max(1, len(mutants) - same)


def survivors(mutants: Sequence[Mutant], reasons: dict[str, str]) -> list[str]:
    """Return the survivors as lines of Markdown, under the reason that they share."""
    groups: dict[str, list[Mutant]] = {}
    for m in mutants:
        if m.status == SURVIVED:
            groups.setdefault(reasons.get(m.key, "No reason known: a test is missing."), []).append(m)
    lines = []
    for why, group in groups.items():
        lines += [why, ""]
        lines += [
            f"- `{m.module}.{m.function}` {m.id}: `` {m.before} `` became `` {m.after or '(nothing)'} ``" for m in group
        ]
        lines.append("")
    return lines


def commit_of(root: Path) -> str:
    """Return the commit that a folder is at, with -dirty for changes that are not committed."""
    git = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def setting(mutants: Sequence[Mutant], arguments: Sequence[str], commit: str) -> str:
    """Say what was run, on what, with which versions, and how long it took."""
    names = ("mutmut", "pytest", "hypothesis", "numpy", "scipy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    command = " ".join(["python scripts/mutation.py", *arguments])
    return (
        f"`{command}` at commit {commit}; {platform.machine()}, {os.cpu_count()} shared cores; Python "
        f"{platform.python_version()}, {versions}; {sum(m.seconds for m in mutants) / 60:.0f} minutes of one process."
    )


def export(mutants: Sequence[Mutant], reasons: dict[str, str], folder: Path, line: str) -> None:
    """Write mutation.csv, and put setting, table and survivors into their places in mutation.md."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(Mutant._fields)
    writer.writerows(mutants)
    page = (folder / "mutation.md").read_text(encoding="utf-8")
    parts = {"setting": [line], "table": table(mutants, reasons), "survivors": survivors(mutants, reasons)}
    for name, lines in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = "\n".join([before + begin, "", "\n".join(lines).strip(), "", end]) + rest.partition(end)[2]
    for name, text in (("mutation.csv", buffer.getvalue()), ("mutation.md", page)):
        new = folder / f".{name}.new"
        new.write_text(text, encoding="utf-8")
        new.replace(folder / name)
