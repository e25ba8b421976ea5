"""Links from pages to files of the project: in the repository they are paths, in the site pages of highlighted source.

A link `[...](../minipinet/propagation.py)` leads to that file, and so does its name in code type. A module of the API
reference has such a page from `sphinx.ext.viewcode`; pages for other files, and lists of folders, are made here.
"""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).resolve().parent.parent.parent
#: Files that are shown, by the ends of their names.
LANGUAGES = {
    ".py": "python",
    ".sh": "bash",
    "": "bash",
    ".toml": "toml",
    ".md": "markdown",
    ".csv": "text",
    ".cu": "cpp",
    ".h": "cpp",
}


def page_of(env: Any, path: str) -> str | None:
    """Return the page that shows a path of the project, None if nothing is there."""
    if path == "README.md":
        return "index"
    document = path.removesuffix(".md")
    if path.endswith(".md") and document in env.found_docs:
        return document
    if not path or path.startswith(("..", ".git", "/")) or not (ROOT / path).exists():
        return None
    if (ROOT / path).is_file() and Path(path).suffix not in LANGUAGES:
        return None
    module = path.removesuffix(".py").replace("/", ".")
    if (ROOT / path).is_dir() and f"api/{module}" in env.found_docs:
        return f"api/{module}"
    if path.endswith(".py") and getattr(env, "_viewcode_modules", {}).get(module):
        return f"_modules/{path.removesuffix('.py')}"
    env.shown_sources |= {path}
    return f"source/{path}"


class SourceLinks(SphinxPostTransform):
    """Lead links and names of files to their pages."""

    default_priority = 8  # before MyST's, which knows no such page

    def run(self, **_: Any) -> None:
        """Replace what names a file of the project; anything else stays for others to find, or to warn of."""
        docname = self.env.docname
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node["reftype"] == "myst":
                path, _, anchor = node["reftarget"].partition("#")
                self.lead(node, posixpath.normpath(posixpath.join(posixpath.dirname(docname), path)), anchor)
        for literal in list(self.document.findall(nodes.literal)):
            path = literal.astext()
            linked = isinstance(literal.parent, (nodes.reference, addnodes.pending_xref))
            if not linked and ("/" in path or path.endswith(".md")):
                self.lead(literal, posixpath.normpath(path))

    def lead(self, node: nodes.Element, path: str, anchor: str = "") -> None:
        """Put a link to a path of the project in the node's place, if there is such a path."""
        page = page_of(self.env, path)
        if page is not None and page != self.env.docname:
            uri = self.app.builder.get_relative_uri(self.env.docname, page) + (anchor and f"#{anchor}")
            content = node.children if isinstance(node, addnodes.pending_xref) else [node.deepcopy()]
            node.replace_self(nodes.reference("", "", *content, refuri=uri, internal=True))


def source_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file that a page has linked to, and for each folder with the files in it."""
    waiting, done = set(app.env.shown_sources), set()
    while waiting:
        path = waiting.pop()
        done.add(path)
        if (ROOT / path).is_dir():
            paths = [f"{path}/{entry.name}" for entry in sorted((ROOT / path).iterdir()) if entry.suffix in LANGUAGES]
            pages = {entry: page_of(app.env, entry) for entry in paths}
            links = {p: app.builder.get_relative_uri(f"source/{path}", page) for p, page in pages.items() if page}
            body = "".join(f'<li><a href="{uri}">{html.escape(entry)}</a></li>' for entry, uri in links.items())
            body = f"<ul>{body}</ul>"
            waiting |= app.env.shown_sources - done
        else:
            language = LANGUAGES[Path(path).suffix]
            text = (ROOT / path).read_text(encoding="utf-8")
            body = app.builder.highlighter.highlight_block(text, language, force=True, linenos=False)
        yield f"source/{path}", {"title": path, "body": f"<h1>{html.escape(path)}</h1>{body}"}, "page.html"


def share_contents(app: Any, page: str, _template: str, context: dict[str, Any], _document: Any) -> None:
    """Work out the contents at the side once for all pages of source in folders of one depth: they are the same."""
    kind, depth = page.partition("/")[0], page.count("/")
    if kind in ("_modules", "source") and "toctree" in context:
        make, made = context["toctree"], app.contents_by_depth
        context["toctree"] = lambda **options: made[depth] if depth in made else made.setdefault(depth, make(**options))


def start(_app: Any, env: Any, _docnames: list[str]) -> None:
    """Know of no file yet."""
    env.shown_sources = set()


def setup(app: Any) -> dict[str, bool]:
    """Connect."""
    app.connect("env-before-read-docs", start)
    app.contents_by_depth = {}
    app.connect("html-page-context", share_contents, priority=400)  # before the theme asks for it
    app.add_post_transform(SourceLinks)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
