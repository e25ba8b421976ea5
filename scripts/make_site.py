#!/usr/bin/env python3
"""Build the static site of the documentation.

    python scripts/make_site.py [--output build/site]

The pages are README.md, CONTRIBUTING.md, CHANGELOG.md, and those below docs/, in the order of docs/index.md, and one
for each public module, in the order of the README's table. All are laid out in a temporary folder as they are in the
project, and made into HTML by Sphinx with docs/conf.py. Nothing is fetched, and any warning is an error. The extra
`docs` has what this needs; `scripts/site` sets it up.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Part(NamedTuple):
    """A row of the README's table about modules."""

    modules: list[str]
    what: str


def parts() -> list[Part]:
    """Read the README's table."""
    rows = re.findall(r"^\| (`minipinet/[^|]*) \| (.*) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    return [Part([dotted(Path(path)) for path in re.findall("`([^`]+)`", paths)], what) for paths, what in rows]


def dotted(path: Path) -> str:
    """Return the dotted name of a module's file or of a package's folder."""
    return ".".join(path.with_suffix("").parts)


def children(module: str) -> Iterator[str]:
    """Yield the public modules directly below a package, in alphabetical order."""
    folder = ROOT / module.replace(".", "/")
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if not path.name.startswith("_") and (path.suffix == ".py" or (path / "__init__.py").is_file()):
            yield dotted(path.relative_to(ROOT))


def headline(module: str) -> str:
    """Return the first line of a module's docstring."""
    path = ROOT / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def table(rows: list[tuple[str, str]]) -> str:
    """Return a table of two columns."""
    lines = [".. list-table::", "   :class: modules", ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return "\n".join(lines) + "\n"


def toctree(pages: list[str], caption: str = "") -> str:
    """Return directives that put pages into the list at the side."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", ".. toctree::", *(f"   {line}" for line in [*options, "", *pages]), ""])


def write_reference(folder: Path) -> None:
    """Write a page for each module, and one that lists them."""
    folder.mkdir()
    waiting = [module for part in parts() for module in part.modules]
    rows = [(", ".join(short(module) for module in part.modules), rst(part.what)) for part in parts()]
    text = "API reference\n=============\n\nEvery public module, from its docstrings, by what it is for.\n\n"
    (folder / "index.rst").write_text(text + table(rows) + toctree(waiting), encoding="utf-8")
    while waiting:
        module = waiting.pop()
        below = list(children(module))
        text = f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n"
        if below:
            text += "   :no-members:\n\n" + table([(short(name), rst(headline(name))) for name in below])
            text += toctree(below)
        (folder / f"{module}.rst").write_text(text, encoding="utf-8")
        waiting += below


def short(module: str) -> str:
    """Return a link to a module's page, without the name of the whole."""
    return f":doc:`{module.removeprefix('minipinet.')} <{module}>`"


def rst(text: str) -> str:
    """Return a line of Markdown or of a docstring as reStructuredText: code is all there is to convert."""
    return re.sub("`+([^`]+)`+", r"``\1``", text)


def contents() -> Iterator[tuple[str, list[str]]]:
    """Yield the headings of docs/index.md, each with the pages linked below it."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    heading, pages = "Contents", ["docs/index"]
    for title, link in re.findall(r"^##+ +(.*)$|\]\(([^)#]+)\.md\)", text, re.M):
        if title:
            yield heading, pages
            heading, pages = title, []
        elif (ROOT / "docs" / f"{link}.md").is_file() and not link.startswith("../"):
            pages.append(f"docs/{link}")
    yield heading, pages


def lay_out(folder: Path) -> None:
    """Copy the pages, with the list of contents at the end of the front page, and write the reference."""
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    shutil.copy(ROOT / "README.md", folder / "index.md")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("_*", "conf.py"))
    for page in (folder / "docs").rglob("*.md"):  # a page of the site has its own way to the page before and the next
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"\n.*\[Contents\]\(\S*index\.md\).*\s*$", "\n", text), encoding="utf-8")
    trees = "".join(toctree(pages, heading) for heading, pages in contents() if pages)
    trees += toctree(["api/index"], "Reference") + toctree(["CONTRIBUTING", "CHANGELOG"], "The project")
    with (folder / "index.md").open("a", encoding="utf-8") as front:
        front.write(f"\n```{{eval-rst}}\n{trees}```\n")
    write_reference(folder / "api")


def main() -> int:
    """Build; the exit status is Sphinx's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site", help="folder, made anew")
    output = parser.parse_args().output
    from sphinx.cmd.build import main as sphinx

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        source.mkdir()
        lay_out(source)
        built = Path(folder, "site")
        options = ["-q", "-W", "--keep-going", "-n", "-c", str(ROOT / "docs"), "-d", str(Path(folder, "trees"))]
        status = sphinx([*options, str(source), str(built)])
        if status == 0:
            shutil.rmtree(output, ignore_errors=True)
            shutil.copytree(built, output)
            print(f"The site is in {output}: open {output / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
