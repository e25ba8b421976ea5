"""The book in docs/: its contents, the way from page to page, the tests it names, and its figures."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FIGURES = sorted((DOCS / "figures").iterdir())
PAGES = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md")) if path.name != "index.md"]
#: The pages in reading order.
CONTENTS = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
#: Pages that scripts write, or that end with tables of their own: they need not lead on.
RECORDS = re.compile(r"results.*")


def title_of(page: str) -> str:
    """Return the heading of a page, up to a colon."""
    return re.match(r"# ([^:\n]+)", (DOCS / page).read_text(encoding="utf-8"))[1]  # type: ignore[index]


def way_from(page: str) -> str:
    """Return the line at the end of a page: links to the page before, the contents and the page after."""
    at, up = CONTENTS.index(page), "../" * page.count("/")
    links = [f"[Previous: {title_of(CONTENTS[at - 1])}]({up}{CONTENTS[at - 1]})"] if at else []
    links.append(f"[Contents]({up}index.md)")
    if at + 1 < len(CONTENTS):
        links.append(f"[Next: {title_of(CONTENTS[at + 1])}]({up}{CONTENTS[at + 1]})")
    return " · ".join(links)


def test_the_contents_have_every_page_once() -> None:
    assert sorted(CONTENTS) == sorted(PAGES)


@pytest.mark.parametrize("page", CONTENTS)
def test_a_page_ends_with_the_way_on(page: str) -> None:
    last = (DOCS / page).read_text(encoding="utf-8").rstrip().rpartition("\n")[2]
    assert last == way_from(page) or (RECORDS.match(page) and "Contents](" not in last)


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """Return the names of all tests."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").glob("test_*.py")]
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_the_tests_that_a_page_names_exist(page: str, tests: set[str]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text)) - {"test_share", "test_index"}  # fields of records
    assert named - tests == set()
    for start in re.findall(r"`(test_\w+)\.\.\.`", text):
        assert any(name.startswith(start) for name in tests), start


CHAPTERS = [page for page in CONTENTS if not page.startswith("results/")]


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_says_why_and_where_it_lives_and_runs(page: str) -> None:
    """Its first paragraph says why it matters; it links to the code, and has a block that runs."""
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.split("\n\n")[1].startswith("Why care: ")
    assert re.search(r"[(`](?:\.\./)?minipinet/[\w/]", text)
    assert re.search(r"^```python$", text, re.MULTILINE)


def test_the_counts_of_planted_bugs_in_the_text_are_those_of_the_table() -> None:
    text = (DOCS / "planted-bugs.md").read_text(encoding="utf-8")
    total, ones = map(int, re.findall(r"^Caught of (\d+): ones (\d+),", text, re.MULTILINE)[0])
    said = re.search(r"does not see (\d+) of\s+the (\d+) faults below", text)
    assert said is not None
    assert (int(said[1]), int(said[2])) == (total - ones, total)
    gradient = re.findall(r"^\|[^|]+\| `(?:scaling|propagate|message_passing|relu)_backward` \|", text, re.MULTILINE)
    chapter = (DOCS / "message-passing-gradient.md").read_text(encoding="utf-8")
    assert f"{len(gradient)} sit in this\npage's lines" in chapter


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draw the figures anew and return their folder."""
    folder = tmp_path_factory.mktemp("figures")
    script = ROOT / "scripts" / "make_figures.py"
    subprocess.run([sys.executable, str(script), "--output", str(folder)], check=True, cwd=folder)
    return folder


def test_every_figure_is_drawn_and_shown(drawn: Path) -> None:
    assert [path.name for path in FIGURES] == sorted(path.name for path in drawn.iterdir())
    chapters = [page for page in PAGES if not page.startswith("results/")]  # those have figures of their own
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in chapters)
    assert {path.name for path in FIGURES} == set(re.findall(r"\]\(figures/([^)]+)\)", text))


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_a_figure_is_what_the_script_draws(path: Path, drawn: Path) -> None:
    assert path.read_text(encoding="utf-8") == (drawn / path.name).read_text(encoding="utf-8")


def test_the_figures_have_the_numbers_of_the_forward_pass() -> None:
    text = (DOCS / "forward.md").read_text(encoding="utf-8")
    printed = [[float(x) for x in re.findall(r"-?\d+\.\d*", text[at:].partition("]]")[0])] for at in
               (text.index("print(Z_A.round(4))"), text.index("print(P.round(4))"))]  # fmt: skip
    shown = set(re.findall(r">(\d\.\d\d)</text>", (DOCS / "figures" / "pooled.svg").read_text(encoding="utf-8")))
    assert len(printed[0]) == 8
    assert len(printed[1]) == 6
    assert {f"{x:.2f}" for numbers in printed for x in numbers} <= shown
