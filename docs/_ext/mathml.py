"""Formulas of the site as MathML, made once when it is built: a page needs no script for them, and no network.

MathML is text of the page: it has the page's size and colour, can be searched, and is read aloud. Browsers set it with
a font for mathematics, which not every system has, so STIX Two comes with the site. What cannot be converted is a
warning, and warnings fail the build.
"""

from __future__ import annotations

import html
import re
import unicodedata
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.util import logging

#: What the converter can arrange in rows and columns: it shows other environments as if they were not there.
ENVIRONMENTS = ("array", "cases", "matrix", "pmatrix", "bmatrix", "vmatrix", "align*", "split")
FUNCTIONS = ("exp", "ln", "log", "sin", "cos", "tan", "tanh", "arg", "det", "dim")
#: Elements that would be shown wrongly with fewer children, and how many they need.
CHILDREN = dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2)
CHILDREN |= dict.fromkeys(("msubsup", "munderover"), 3)


def mathml(latex: str, display: str = "inline") -> str:
    """Convert a formula; ValueError says what is wrong with it, where the converter would guess."""
    latex = latex.strip().replace("{aligned}", "{align*}")
    unknown = set(re.findall(r"\\begin\{(.*?)\}", latex)) - {*ENVIRONMENTS}
    if unknown:
        raise ValueError(f"environment {min(unknown)}")
    try:
        math = convert_to_element(latex, display=display)
    except Exception as error:
        raise ValueError(f"{type(error).__name__} {error}".strip()) from error
    for element in math.iter():
        element.text = text = html.unescape(element.text or "")
        if re.search(r"[\\$]", text) or (element.tag == "mi" and text in ("&", "{", "}")):
            raise ValueError(f"what is {text}?")
        if len(element) < CHILDREN.get(element.tag, 0):
            raise ValueError(f"{element.tag} needs {CHILDREN[element.tag]} parts")
        if element.tag == "mspace" and element.get("linebreak"):
            raise ValueError("a new line outside a table")
        if element.get("mathvariant", "normal") != "normal":  # browsers know no other
            element.text = styled(text, element.attrib.pop("mathvariant"))
    for row in list(math.iter()):
        space(row)
    return ET.tostring(math, encoding="unicode")


def styled(text: str, style: str) -> str:
    """Return one letter or digit as the character of Unicode that has a style, "script" or "bold"."""
    kind = unicodedata.name(text).replace("LATIN ", "").replace(" LETTER", "") if len(text) == 1 else text
    for name in (f"MATHEMATICAL {style.upper()} {kind}", f"{style.upper()} {kind}"):  # some are older than the others
        try:
            return unicodedata.lookup(name)
        except KeyError:
            pass
    raise ValueError(f"{text} in the style {style}")


def space(row: ET.Element) -> None:
    """Space a row as TeX does: a sign that follows an operator, a slash, and a function before its argument."""
    for at, (left, right) in reversed(list(enumerate(pairwise(row)))):
        if (
            left.tag == right.tag == "mo"
            and right.text in ("+", "\u2212")
            and left.text not in tuple(")]}|\u2016\u27e9")
        ):
            right.set("form", "prefix")
        if left.tag == "mi" and left.text in FUNCTIONS and right.tag != "mo" and row.tag == "mrow":
            row.insert(at + 1, ET.Element("mspace", width="0.167em"))
    for slash in row.findall("mo"):
        if slash.text == "/":
            slash.attrib.update(lspace="0", rspace="0")


def visit_math(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write an inline formula, or one on lines of its own."""
    display, tag = ("block", "div") if isinstance(node, nodes.math_block) else ("inline", "span")
    try:
        converted = mathml(node.astext(), display)
    except ValueError as error:
        logging.getLogger(__name__).warning("no MathML for %s: %s", node.astext(), error, location=node)
        converted = ""
    translator.body.append(f'<{tag} class="math">{converted}</{tag}>')
    raise nodes.SkipNode


def copy_font(app: Any, error: Exception | None) -> None:
    """Copy the font out of the package that has it."""
    if error is None:
        font = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
        Path(app.outdir, "_static", "STIXTwoMath-Regular.ttf").write_bytes(font.read_bytes())


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer, which `html_math_renderer` chooses."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("build-finished", copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
