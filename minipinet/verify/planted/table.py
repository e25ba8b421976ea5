"""The table "which check catches which bug": written, read back, and put into a page between two markers."""

from __future__ import annotations

from collections.abc import Mapping

from minipinet.errors import UsageError
from minipinet.verify.planted.checks import BLIND, CAUGHT, CHECKS, CRASH, NOT_RUN, caught_by_default
from minipinet.verify.planted.library import BUGS, PARTS
from minipinet.verify.planted.plant import PlantedBug

#: Around the table in the page.
BEGIN, END = "<!-- bug table: written by scripts/bug_table.py -->", "<!-- end of the bug table -->"
TITLES = tuple(check.title for check in CHECKS)


def row(bug: PlantedBug, verdict: Mapping[str, str]) -> str:
    """Return the line of one bug."""
    return f"| {bug.name} | `{bug.function}` | {' | '.join(verdict[title] for title in TITLES)} |"


def render(verdicts: Mapping[str, Mapping[str, str]]) -> str:
    """Return a table for each part of the library, and how many bugs each check catches.

    Parameters
    ----------
    verdicts : mapping from name of a bug to what `minipinet.verify.planted.checks.verdicts` returns
        Of any of the bugs.
    """
    head = [f"| planted bug | in | {' | '.join(TITLES)} |", "|---|---|" + "---|" * len(TITLES)]
    lines = []
    for title, bugs in PARTS.items():
        rows = [row(bug, verdicts[bug.name]) for bug in bugs if bug.name in verdicts]
        lines += [f"**{title}**", "", *head, *rows, ""] if rows else []
    caught = [f"{title} {sum(v[title] in (CAUGHT, CRASH) for v in verdicts.values())}" for title in TITLES]
    by_default = sum(caught_by_default(v) for v in verdicts.values())
    return "\n".join(
        [*lines, f"Caught of {len(verdicts)}: {', '.join(caught)}; the default checks together {by_default}."]
    )


def read(text: str) -> dict[str, dict[str, str]]:
    """Return the verdicts of a rendered table by name of bug."""
    found = {}
    names = {bug.name for bug in BUGS}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in names and set(cells[2:]) <= {CAUGHT, CRASH, BLIND, NOT_RUN}:
            found[cells[0]] = dict(zip(TITLES, cells[2:], strict=True))
    return found


def table_of(page: str) -> str:
    """Return what stands between the markers of a page.

    Raises
    ------
    UsageError
        If the markers are not there, once each and in order.
    """
    before, begin, rest = page.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not (begin and end) or any(marker in before + table + after for marker in (BEGIN, END)):
        raise UsageError(f"page: expected one {BEGIN!r} and then one {END!r}")
    return table.strip("\n")


def with_table(page: str, table: str) -> str:
    r"""Return a page with another table between its markers; errors as in `table_of`.

    Examples
    --------
    >>> print(with_table(f"Before\n{BEGIN}\nold\n{END}\n", "new").replace(BEGIN, "(").replace(END, ")"))
    Before
    (
    <BLANKLINE>
    new
    <BLANKLINE>
    )
    <BLANKLINE>
    """
    table_of(page)
    return f"{page.partition(BEGIN)[0]}{BEGIN}\n\n{table}\n\n{END}{page.partition(END)[2]}"
