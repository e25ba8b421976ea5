"""A peer as the benchmark sees it: a process that stays alive and answers lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


#: minipinet itself, with all that it has and without Numba.
OURS = ("ours", "ours_numpy")


class PeerError(Exception):
    """A peer that failed or computes another loss."""


class PeerProcess:
    """One peer with one number of threads, on as many processors: some libraries count those and not the variables."""

    def __init__(self, peer: str, python: Path, problem: Path, threads: int, log: Path, device: str = "cpu") -> None:
        self.peer, self.threads, self.log = peer, threads, log
        env = {**os.environ, **dict.fromkeys(THREADS, str(threads)), "PYTHONUNBUFFERED": "1"}
        if peer in OURS:
            env["PYTHONPATH"] = os.pathsep.join([str(HERE.parent.parent), env.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        if device != "cpu":
            # JAX would take most of the card's memory from all others, and end its log with other words than its error.
            env |= {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_TRACEBACK_FILTERING": "off"}
        command = [str(python), str(HERE / f"{peer}.py"), str(problem), str(threads), device]
        with log.open("w", encoding="utf-8") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, env=env,
                preexec_fn=lambda: _take_processors(threads),
            )  # fmt: skip
        self.about = self._answer()

    def loss(self) -> float:
        """Return the loss of the current weights on the first batch of the first epoch."""
        return float(self._ask("loss")["loss"])

    def epochs(self, least: float) -> dict[str, Any]:
        """Train from the initial weights for an epoch, and go on until `least` seconds are over.

        Returns seconds (of an epoch), epochs, and loss (the mean of the last epoch).
        """
        return self._ask(f"epochs {least}")

    def close(self) -> None:
        """End the process: there are no more lines."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        self.process.wait()

    def _ask(self, line: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # what it had to say stands in its log
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.close()
            last = self.log.read_text(encoding="utf-8").strip().splitlines()[-1:]
            raise PeerError(f"{self.peer} ended: {' '.join(last)} (all of it: {self.log})")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _take_processors(threads: int) -> None:
    """Keep the process to as many processors as it shall have threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
