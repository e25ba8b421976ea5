"""What the API reference needs beside autodoc: names that lead to what they name, and a list of a page's objects."""

from __future__ import annotations

import pydoc
from itertools import accumulate
from typing import Any

from docutils import nodes
from sphinx import addnodes


def take_exactly(_app: Any, document: nodes.document) -> None:
    """Look names up as Python would: Sphinx would also take any object of the project that ends in such a name."""
    for node in document.findall(addnodes.pending_xref):
        node.attributes.pop("refspecific", None)


def find(app: Any, env: Any, node: Any, content: nodes.Node) -> nodes.Node | None:
    """Find what is named as a module sees it, or a package of its, or as an error; leave what is no object as code.

    `check_pair` and `minipinet.verify.check_pair` lead to `minipinet.verify.check.check_pair`, where it is documented.
    """
    if node.get("refdomain") != "py":
        return None
    target, module = node["reftarget"], node.get("py:module") or ""
    scopes = [*accumulate(module.split("."), "{}.{}".format), "minipinet.errors"]
    for name in (target, *(f"{scope}.{target}" for scope in reversed(scopes))):
        found = pydoc.locate(name) if name.startswith("minipinet.") else None
        full = f"{getattr(found, '__module__', '')}.{getattr(found, '__qualname__', '')}"
        if full.startswith("minipinet.") and full != target:
            python = env.get_domain("py")
            link = python.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], full, node, content)
            if link is not None:
                return link
    # Code that is no name, classes of other projects, and types that the reference leaves out.
    other = not target.startswith("minipinet.") or "._" in target
    return content if node["reftype"] == "obj" or (node["reftype"] == "class" and other) else None


def leave_fields(_app: Any, what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Drop what Python says of a field that says nothing of itself, and let no text before a colon be a type."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    elif what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def list_objects(app: Any, page: str, _template: str, context: dict[str, Any], _document: Any) -> None:
    """List the functions and classes of a module at the side of its page.

    Sphinx would do so by `toc_object_entries`, but would then copy every object of the project for every page.
    """
    objects = app.env.get_domain("py").objects.items()
    names = [name for name, at in objects if at.docname == page and at.objtype in ("function", "class", "exception")]
    if names and page.startswith("api/"):
        item = '<li><a class="reference internal" href="#{}">{}</a>'
        below = "".join(item.format(name, name.rpartition(".")[2]) for name in names)
        context["furo_hide_toc"] = False
        context["toc"] = f"<ul>{item.format('', context['title'])}<ul>{below}</ul></ul>"


def setup(app: Any) -> dict[str, bool]:
    """Connect."""
    app.connect("doctree-read", take_exactly)
    app.connect("missing-reference", find)
    app.connect("autodoc-process-docstring", leave_fields, priority=400)  # before napoleon
    app.connect("html-page-context", list_objects, priority=600)  # after the theme, which would hide the list
    return {"parallel_read_safe": True, "parallel_write_safe": True}
