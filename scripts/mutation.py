"""Change the mathematics in every small way a tool knows, and see whether a test notices each change.

    python scripts/mutation.py [MODULE ...] [--only FUNCTION] [--jobs N] [--again] [--fresh]

Needs the extra `mutation` (pip install -e ".[mutation]"). The tool, mutmut, rewrites a copy of the project under
build/mutation, so that nothing here changes. Ctrl-C stops; the same command goes on where it was stopped. A run over
all modules writes docs/results/mutation.csv and docs/results/mutation.md, one over some only prints its table. Exit
status 1: a mutant survives for which scripts/mutation_reasons.toml has no reason, or the score is too low.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mutation_report import (
    KILLED,
    SURVIVED,
    TIMEOUT,
    UNCHECKED,
    Mutant,
    commit_of,
    export,
    read_mutants,
    read_reasons,
    score,
    selected,
    setting,
    survivors,
    table,
)  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutation"
RESULTS = ROOT / "docs" / "results"
REASONS = ROOT / "scripts" / "mutation_reasons.toml"

MODULES = (
    "propagation", "attention", "attention_readout", "readout", "model", "optim",
    "quotient", "colours", "pool", "batch", "matmul",
)  # fmt: skip
#: The mathematics' own tests. Tests that read source files or start processes would see the rewritten source or none.
TESTS = (
    "test_propagation", "test_pooling", "test_attention_readout", "test_optim", "test_loss_and_dtype", "test_quotient",
    "test_gradients", "test_oracle", "test_extremes", "test_widths", "test_mutants_*",
)  # fmt: skip
#: Left out: slow gradient checks that repeat what faster ones say, and a test that starts processes.
SLOW = "at_fixed_p_and_q or inside_the_square or at_the_corners or do_not_import_each_other"
LEAST_SCORE = 0.95
#: A mutant may loop for ever or ask for all memory: seconds of processor time a test, and bytes a process.
TEST_SECONDS = 10
PROCESS_BYTES = 6 << 30

#: Read by pytest in the copy: a test that fails is not made smaller, and one that does not end is a timeout.
CONFTEST = f"""
import os
import signal
import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile("mutation", deadline=None, max_examples=4, derandomize=True, database=None,
                          suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    signal.signal(signal.SIGVTALRM, lambda *_: os._exit(36))  # the tool's own status for a timeout
    signal.setitimer(signal.ITIMER_VIRTUAL, {TEST_SECONDS})
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
"""


def prepare(work: Path) -> None:
    """Bring the copy of package and tests up to date, and tell the tool what to do with it."""
    tests = [path for name in TESTS for path in (ROOT / "tests").glob(f"{name}.py")]
    helpers = [path for path in (ROOT / "tests").glob("*.py") if not path.name.startswith("test_")]
    sources = [path for path in (ROOT / "minipinet").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in sources + helpers + tests:
        write_if_new(work / path.relative_to(ROOT), path.read_bytes())
    for path in [*work.glob("tests/*.py"), *work.glob("mutants/tests/*.py")]:
        if path.name not in {path.name for path in helpers + tests}:
            path.unlink()
    section = {
        "source_paths": ["minipinet"],
        "only_mutate": [f"minipinet/{module}.py" for module in MODULES],
        "also_copy": ["conftest.py"],
        "pytest_add_cli_args_test_selection": ["tests"],
        "pytest_add_cli_args": ["-p", "no:cacheprovider", "--hypothesis-profile", "mutation", "-k", f"not ({SLOW})"],
        "timeout_multiplier": 3.0,
        "timeout_constant": 30.0,
        "use_git_change_detection": False,
        "track_dependencies": False,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in section.items()]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    write_if_new(work / "pyproject.toml", "\n".join([project, "[tool.mutmut]", *lines, ""]).encode())
    write_if_new(work / "conftest.py", CONFTEST.encode())


def write_if_new(path: Path, content: bytes) -> None:
    """Write a file unless it is there already: the tool goes by the time of change."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def run_tool(work: Path, jobs: int, names: Sequence[str]) -> None:
    """Test the mutants named (by patterns), or all that were not tested yet."""
    environment = {name: value for name, value in os.environ.items() if name != "MINIPINET_DATA"}
    # All that a test tries: a change that it could notice shall not be missed for time.
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MINIPINET_WHOLE"), "1")
    code = "import sys; from mutmut.__main__ import cli; sys.exit(cli())"
    subprocess.run(
        [sys.executable, "-c", code, "run", "--max-children", str(jobs), *names],
        cwd=work, check=True, env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (PROCESS_BYTES, PROCESS_BYTES)),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print the table, and export it if all modules were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="of " + ", ".join(MODULES) + " (all of them)")
    parser.add_argument("--only", metavar="FUNCTION", help="mutate one function (Class.method for a method)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutants tested at a time (1)")
    parser.add_argument(
        "--again", action="store_true", help="first test the survivors once more, as after adding a test"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what was tested before")
    options = parser.parse_args(arguments)
    modules = [Path(name).stem for name in options.modules] or list(MODULES)
    if unknown := sorted(set(modules) - set(MODULES)):
        parser.error(f"MODULE: expected names of {', '.join(MODULES)}, got {', '.join(unknown)}")
    if importlib.util.find_spec("mutmut") is None:
        parser.error('mutmut is not installed: pip install -e ".[mutation]" (the extra `mutation`)')
    if options.fresh:
        shutil.rmtree(WORK, ignore_errors=True)
    if options.again and not (WORK / "mutants").is_dir():
        parser.error("--again: nothing was tested before")
    prepare(WORK)
    commit = commit_of(ROOT)  # others may commit meanwhile
    whole = modules == list(MODULES) and options.only is None
    names: list[str] = []
    if options.again:
        names = [tool_name(m) for m in with_status(SURVIVED, modules, options.only)]
    elif not whole:
        names = [tool_name(Mutant(m, options.only or "*", "*", "", "", "", 0)) for m in modules]
    try:
        run_tool(WORK, options.jobs, names)
        if left := [tool_name(m) for m in with_status(UNCHECKED, modules, options.only)]:  # stopped in the middle once
            run_tool(WORK, options.jobs, left)
    except KeyboardInterrupt:
        print("\nstopped: the same command goes on from here", file=sys.stderr)
        return 130
    except subprocess.CalledProcessError as error:
        print(f"mutmut ended with status {error.returncode}, see above", file=sys.stderr)
        return 1
    mutants, reasons = selected(read_mutants(WORK, MODULES), modules, options.only), read_reasons(REASONS)
    print(*table(mutants, reasons), "", *survivors(mutants, reasons), sep="\n")
    if whole:
        export(mutants, reasons, RESULTS, setting(mutants, sys.argv[1:] if arguments is None else arguments, commit))
    unexplained = [m for m in mutants if m.status not in (KILLED, TIMEOUT) and m.key not in reasons]
    return int(bool(unexplained) or score(mutants, reasons) < LEAST_SCORE)


def with_status(status: str, modules: Sequence[str], only: str | None) -> list[Mutant]:
    """Return the mutants that were last seen with a status."""
    return [m for m in selected(read_mutants(WORK, MODULES), modules, only) if m.status == status]


def tool_name(mutant: Mutant) -> str:
    """Return the tool's own name of a mutant, or its pattern."""
    class_name, dot, name = mutant.function.rpartition(".")
    mangled = f"xǁ{class_name}ǁ{name}" if dot else f"x*{name}" if name == "*" else f"x_{name}"
    return f"minipinet.{mutant.module}.{mangled}__mutmut_{mutant.id}"


if __name__ == "__main__":
    sys.exit(main())
