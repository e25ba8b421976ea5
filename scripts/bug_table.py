"""Show every planted bug to every check, print which check catches which bug, and keep docs/planted-bugs.md up to date.

    python scripts/bug_table.py                   # all bugs, about a minute on one core
    python scripts/bug_table.py softmax relu      # those with one of these words in their name or function
    python scripts/bug_table.py --write           # all, and into docs/planted-bugs.md

The exit status is 1 if a bug gets past the default checks.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from minipinet.verify.planted.checks import caught_by_default, verdicts
from minipinet.verify.planted.library import BUGS
from minipinet.verify.planted.table import render, with_table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "planted-bugs.md"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only bugs with one of these words in their name or function")
    parser.add_argument("--write", action="store_true", help="write the table into docs/planted-bugs.md")
    parser.add_argument("--seed", type=int, default=0, help="for the examples (default 0, that of the page)")
    args = parser.parse_args(argv)
    if args.write and (args.words or args.seed):
        parser.error("--write needs all bugs and seed 0")
    chosen = [bug for bug in BUGS if not args.words or any(w in f"{bug.name} {bug.function}" for w in args.words)]
    if not chosen:
        parser.error(f"words: expected a word in the name or function of a bug, got {' '.join(args.words)}")
    found = {}
    for k, bug in enumerate(chosen, start=1):
        if sys.stderr.isatty():
            print(f"\r{k}/{len(chosen)} ", end="", file=sys.stderr, flush=True)
        found[bug.name] = verdicts(bug, args.seed)
    table = render(found)
    print(table)
    if args.write:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
    missed = [name for name, verdict in found.items() if not caught_by_default(verdict)]
    if missed:
        print(f"not caught by the default checks: {', '.join(missed)}", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    raise SystemExit(main())
