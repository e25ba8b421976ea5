"""What scripts/gpu_check asks first: whether its command line is right, and whether all is there that it needs."""

from __future__ import annotations

import importlib.util
import shutil
import sys

from commandline import parse

#: What the tests and minipinet import, all of which the extra `test` installs.
IMPORTED = (
    "numpy",
    "scipy",
    "networkx",
    "safetensors",
    "tqdm",
    "threadpoolctl",
    "joblib",
    "sklearn",
    "pytest",
    "hypothesis",
)


def missing() -> list[str]:
    """Return what is missing here, a part of a sentence each."""
    found = []
    if lacking := [name for name in IMPORTED if importlib.util.find_spec(name) is None]:
        found.append(
            f"not installed: {', '.join(lacking)} (pip install '.[test,cuda13]' in the project's folder, or cuda12)"
        )
    if shutil.which("g++") is None:
        found.append("there is no g++ to compile the kernels with")
    if not lacking:
        from minipinet._card import card_problem  # which needs what was looked for

        found += [problem for problem in [card_problem()] if problem]
    elif importlib.util.find_spec("cupy") is None:
        found.append("CuPy is not installed either")
    return found


def main(words: list[str] | None = None) -> int:
    """Say what is missing, in one line; return 1 if anything is."""
    parse(words, "gpu_check", "Prove training on this machine's card by the tests that need one, and time it.")
    found = missing()
    if found:
        print(f"gpu_check: {'; '.join(found)}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
