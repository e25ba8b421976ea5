"""Pieces of HTML: everything that comes from data is escaped here, and the page's own files are read."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

#: Of a longer name the middle is left out: so many characters of its beginning and of its end stay.
_BEGINNING, _END = 120, 40
#: What draws nothing, or changes the order of what stands beside it; marks that join emoji and letters are left alone.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"


def shown(value: Any) -> str:
    r"""Return a name from the data as a reader can see it: one line, of a bounded length, in an order of its own.

    Line breaks, control characters, marks of direction and halves of characters are written as Python writes them. A
    name with letters that run from right to left is set apart (U+2068, U+2069), so that the text around it stays in
    order. This is no HTML yet.

    Examples
    --------
    >>> shown("a\nb\u202ec"), shown(-1), len(shown("x" * 1000))
    ('a\\nb\\u202ec', '-1', 161)
    """
    whole = "".join(
        repr(c)[1:-1] if unicodedata.category(c) in _UNSEEN and c not in _JOINERS else c for c in str(value)
    )
    if len(whole) > _BEGINNING + _END + 1:
        whole = f"{whole[:_BEGINNING]}\u2026{whole[-_END:]}"
    backwards = any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in whole)
    return f"\u2068{whole}\u2069" if backwards else whole


def text(value: Any) -> str:
    """Return `value` as HTML that shows its ``str``, inside an element or a quoted attribute.

    Examples
    --------
    >>> text("</script><b>"), text('"')
    ('&lt;/script&gt;&lt;b&gt;', '&quot;')
    """
    return escape(str(value))


def asset(name: str) -> str:
    """Return a file of the folder ``assets``."""
    return resources.files("minipinet.report").joinpath("assets", name).read_text(encoding="utf-8")


def fill(name: str, **pieces: Any) -> str:
    """Return a file of the folder ``assets`` with these pieces in the places ``$piece``; they must be HTML already."""
    return Template(asset(name)).substitute(pieces)


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], kind: str = "") -> str:
    """Return a table whose rows begin with their names; it scrolls sideways by itself where it is too wide."""
    head = "".join(f'<th scope="col">{text(title)}</th>' for title in header)
    lines = []
    for name, *cells in rows:
        values = "".join(f"<td>{text(cell)}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row">{text(name)}</th>{values}</tr>')
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    return _table(caption, top, lines, kind)


def confusion(classes: Sequence[Any], matrix: Sequence[Sequence[int]]) -> str:
    """Return a confusion matrix, a row a true class: numbers, and shares of their row as shades too."""
    head = "".join(f'<th scope="col">{text(shown(name))}</th>' for name in classes)
    lines = []
    for i, (name, counts) in enumerate(zip(classes, matrix, strict=True)):
        cells = []
        for j, count in enumerate(counts):
            share = count / (sum(counts) or 1)
            hit = ' class="hit"' if i == j else ""
            cells.append(f'<td{hit} style="--share: {share:.3f}">{count}<small>{share:.0%}</small></td>')
        lines.append(f'<tr><th scope="row">{text(shown(name))}</th>{"".join(cells)}</tr>')
    top = f'<thead><tr><th scope="col">true \\ predicted</th>{head}</tr></thead>'
    return _table(
        "Confusion matrix: a row for each true class, a column for each predicted one", top, lines, "confusion"
    )


def _table(caption: str, top: str, lines: Sequence[str], kind: str) -> str:
    """Return a table in a box that scrolls sideways, also by the keyboard."""
    body = f"<caption>{text(caption)}</caption>{top}<tbody>{''.join(lines)}</tbody>"
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">'
    return f'{box}<table class="{kind}">{body}</table></div>'


def tiles(figures: Iterable[tuple[str, str, str]]) -> str:
    """Return figures that are seen first: name, value, and what it is."""
    entries = (
        f"<div><dt>{text(name)}</dt><dd>{text(value)}<small>{text(what)}</small></dd></div>"
        for name, value, what in figures
    )
    return f'<dl class="tiles">{"".join(entries)}</dl>'
