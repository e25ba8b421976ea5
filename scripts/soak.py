"""Run the verification suite with several seeds while the processor is busy: no test may fail by luck or by load.

    python scripts/soak.py --seeds 5 --load 2 [pytest arguments]

Runs `pytest -m "gradient or invariance"` with MINIPINET_SEED = 1, 2, ... and MINIPINET_WHOLE = 1 while `--load`
processes compute without pause, and prints a row a seed; pytest's own output goes to the standard error stream. The
exit status is 1 if any test failed. Ctrl-C stops all that was started.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: Busy until its parent is gone, however that ended.
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(10**5))"


class Row(NamedTuple):
    """What one run of the suite did."""

    seed: int
    passed: int
    failed: int
    seconds: float


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep `processes` processes busy meanwhile."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def run_suite(seed: int, arguments: list[str], report: Path) -> Row:
    """Run the suite once; a run that reports no test counts as one failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gradient or invariance", f"--junitxml={report}", *arguments]
    began = time.perf_counter()
    report.unlink(missing_ok=True)
    environment = {**os.environ, "MINIPINET_SEED": str(seed), "MINIPINET_WHOLE": "1"}
    suite = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sys.stderr)
    try:
        status = suite.wait()
    except KeyboardInterrupt:
        stop(suite)
        raise
    passed, failed = count(report) if report.exists() else (0, 0)
    if failed == 0 and (status != 0 or passed == 0):
        failed = 1
    return Row(seed, passed, failed, time.perf_counter() - began)


def stop(suite: subprocess.Popen[bytes]) -> None:
    """Interrupt pytest, which then ends its own processes; do not wait for ever."""
    suite.send_signal(signal.SIGINT)
    try:
        suite.wait(timeout=20)
    except subprocess.TimeoutExpired:
        suite.kill()
        suite.wait()


def count(report: Path) -> tuple[int, int]:
    """Return how many tests passed, and how many failed or broke, in a JUnit report."""
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in ET.parse(report).getroot().iter("testsuite"):
        for name in totals:
            totals[name] += int(suite.get(name, 0))
    failed = totals["failures"] + totals["errors"]
    return totals["tests"] - failed - totals["skipped"], failed


def main() -> int:
    """Print the table; return 1 if a test failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds: 1, 2, ... (5)")
    parser.add_argument("--load", type=int, default=os.cpu_count() or 1, help="busy processes (one a core)")
    options, arguments = parser.parse_known_args()
    if options.seeds < 1 or options.load < 0:
        parser.error("expected --seeds of at least 1 and --load of at least 0")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell has it ignored
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rows = []
    print("| seed | passed | failed | seconds |\n|---|---|---|---|", flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder, load(options.load):
            for seed in range(1, options.seeds + 1):
                rows.append(run_suite(seed, arguments, Path(folder) / "report.xml"))
                print("| {} | {} | {} | {:.0f} |".format(*rows[-1]), flush=True)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    return int(any(row.failed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
