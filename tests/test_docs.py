"""The pages for people: their Python runs, their links and paths lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(.+)$", re.MULTILINE)
#: Fences "```python torch": a page, and what has to be installed.
WITH_LIBRARY = sorted(
    {(page.relative_to(ROOT).as_posix(), library) for page in PAGES
     for library in re.findall(r"^```python (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)}
)  # fmt: skip
NO_FENCES = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    """Return a path as it is shown in the name of a test."""
    return path.relative_to(ROOT).as_posix()


def blocks(text: str, *languages: str) -> str:
    """Return the text with every line blank that is not inside a fence of these languages: line numbers stay."""
    kept, inside, fenced = [], False, False
    for line in text.splitlines():
        fence = line.startswith("```")
        kept.append(line if inside and not fence else "")
        if fence:
            inside = not fenced and line.removeprefix("```").strip() in languages
            fenced = not fenced
    assert not fenced, "a fence is left open"
    return "\n".join(kept) + "\n"


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", NO_FENCES.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_and_the_notation_are_among_the_pages() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/notation.md"} <= set(map(name_of, PAGES))


def run_python(page: Path, language: str) -> None:
    """Run the fences of one language as one session, whose shown output must be what comes out."""
    code = blocks(page.read_text(encoding="utf-8"), language)
    examples = doctest.DocTestParser().get_doctest(code, {}, name_of(page), str(page), 0)
    shown = [line for line in code.splitlines() if line.strip()]
    assert not shown or examples.examples, f"a ```{language} fence without >>> is never run"
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=report.append)
    assert not outcome.failed, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(page, "python")


@pytest.mark.parametrize(("page", "library"), WITH_LIBRARY, ids=str)
def test_the_python_that_needs_a_library_runs_where_it_is(
    page: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library, reason=f"{library} is no dependency: this block runs where it is installed")
    monkeypatch.chdir(tmp_path)
    run_python(ROOT / page, f"python {library}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_fence_is_of_a_kind_that_a_test_looks_at(page: Path) -> None:
    """Python runs here, bash in test_docs_commands.py; what a program printed, or a chart, is text."""
    found = set(FENCE.findall(page.read_text(encoding="utf-8")))
    assert {language for language in found if not language.startswith("python ")} <= {"python", "bash", "text"}
    assert all((name_of(page), language[7:]) in WITH_LIBRARY for language in found if language.startswith("python "))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = NO_FENCES.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", text):
        target, _, anchor = "".join(link).partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        path = page.parent / target if target else page
        assert path.exists(), f"no {target}"
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), f"no heading #{anchor} in {path}"


def test_the_readmes_table_names_what_is_there_and_all_of_it() -> None:
    rows = re.findall(r"^\| (`[^|]*) \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    named = {path.rstrip("/") for row in rows for path in re.findall(r"`([^`]+)`", row)}
    assert {path for path in named if not (ROOT / path).exists()} == set()
    parts = [*(ROOT / "minipinet").iterdir(), *(ROOT / "scripts").iterdir(), *(ROOT / "docs").iterdir()]
    parts = [part for part in parts if not part.name.startswith(("_", ".")) and part.suffix not in (".typed", ".svg")]
    assert named >= {name_of(part) for part in parts}


def test_an_example_that_is_wrong_is_found() -> None:
    code = blocks("text\n```python\n>>> 1 + 1\n3\n```\n```text\n>>> 1 / 0\n```\n", "python")
    examples = doctest.DocTestParser().get_doctest(code, {}, "page", None, 0)
    assert [(example.lineno, example.want) for example in examples.examples] == [(2, "3\n")]
    assert doctest.DocTestRunner().run(examples, out=lambda _: None).failed == 1


def test_anchors_are_githubs() -> None:
    assert anchors("# What is *where*?\n```\n# not one\n```\n## The q/p-term") == {"what-is-where", "the-qp-term"}
