"""The letters of the book's formulas: each is explained once, and the tables of names agree with them and the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NOTATION = (DOCS / "notation.md").read_text(encoding="utf-8")
CHAPTERS = sorted(path for path in DOCS.glob("*.md") if path.name != "index.md")
ACCENTS = r"\\(?:tilde|hat|bar|mathcal)"
GREEK = "alpha beta gamma delta theta lambda eta pi rho sigma omega varepsilon varphi Pi Delta"
#: Symbols whose names in the code are others than they read.
NAMES = {
    r"\Pi": {"permutation"}, "E": {"own", "at_own"}, "D": {"deg"}, "Y": {"y"}, "z": {"logits", "Z"}, "z_{cf}": {"R"},
    "F_A^{(0)}": {"F_0"}, "s": {"s", "s_r", "s_c"},
    "A": {"A", "A_T", "weight", "indptr", "indices", "data"}, "A^T": {"A_T"}, "R_1": {"Z"},
    "(p, q)": {"pq"}, r"\hat D": set(), "Z_A": {"Z_A", "weights"}, "b_D": {"b_D", "bias"}, "W_D": {"W_D", "W"},
}  # fmt: skip
#: Numbers of equations as docstrings give them: "eq. 1 to 4", "Equation (paper, 3)", "(paper, eq. 2 and 5)".
CITED = re.compile(r"(?:\beqs?\.|[Ee]quations?)(?: \(paper,)?\s+((?:\d+(?:\s*(?:,|and|to)\s*)?)+)")


def formulas(text: str) -> list[str]:
    """Return the formulas of a page."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    return ["".join(pair) for pair in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", text, re.DOTALL)]


def letters(formula: str, words: set[str]) -> Iterator[str]:
    """Yield what a formula is about: letters with their accents and the `words` among them, without d for gradients."""
    formula = re.sub(r"\\(?:mathrm|text)\{[^}]*\}", " ", formula)
    for accent, found in re.findall(rf"(?:({ACCENTS})[ {{]*)?(\\[A-Za-z]+|[A-Za-z]+)", formula):
        if accent:
            yield f"{accent} {found[0] if found[0] != chr(92) else found}"
            found = "" if found[0] == "\\" else found[1:]
        if found.startswith("\\"):
            if found[1:] in GREEK.split():
                yield found
        elif found in words or (found[:1] == "d" and found[1:] in words):
            yield found if found in words else found[1:]
        elif found not in ("raw", "in", "test", "train", "analytic", "numeric"):
            yield from found


def explained() -> list[str]:
    """Return the letters of the first table of the notation, in its order."""
    table = NOTATION.partition("\n## Letters\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\$.*?) \| ", table, re.MULTILINE)
    symbols = re.findall(r"\$([^$]+)\$", " ".join(rows))
    return [letter for symbol in symbols for letter in letters(symbol, {symbol})]


EXPLAINED = explained()
WORDS = {letter for letter in EXPLAINED if re.fullmatch(r"[a-z]{2,}", letter)}


def test_every_letter_is_explained_once_and_used() -> None:
    assert len(EXPLAINED) > 60
    assert len(EXPLAINED) == len(set(EXPLAINED))
    body = NOTATION.partition("\n## Sizes\n")[2]
    others = [path.read_text(encoding="utf-8") for path in CHAPTERS if path.stem != "notation"]
    used = {letter for text in (body, *others) for formula in formulas(text) for letter in letters(formula, WORDS)}
    assert set(EXPLAINED) - used == set()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.name)
def test_the_letters_of_a_chapter_are_explained(chapter: Path) -> None:
    found = {
        letter: formula
        for formula in formulas(chapter.read_text(encoding="utf-8"))
        for letter in letters(formula, WORDS)
        if letter not in EXPLAINED
    }
    assert found == {}


def test_letters_are_read_off_formulas() -> None:
    assert list(letters(r"d\tilde A_{ij} = \langle dH_i, M_j \rangle", set())) == [
        "d", r"\tilde A", "i", "j", "d", "H", "i", "M", "j"
    ]  # fmt: skip
    assert list(letters(r"\mathrm{vec}(P) + ddeg_{own(i)} \hat\sigma^2 \max qE", {"deg", "own"})) == [
        "P", "deg", "own", "i", r"\hat \sigma", "q", "E"
    ]  # fmt: skip
    assert formulas("a $b$ `$c$`\n```\n$d$\n```\n$$e\nf$$") == ["b", "e\nf"]


class Named(NamedTuple):
    """A row of a table of names."""

    symbol: str
    codes: tuple[str, ...]
    places: tuple[str, ...]
    equations: str
    paper: bool  #: whether equation numbers are those of PiNet's paper


def named_rows() -> list[Named]:
    """Return the rows of the tables of names."""
    rows, paper = [], False
    for line in NOTATION.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| Symbol"):
            paper = "Paper" in cells
        elif line.startswith("| ") and len(cells) == 7:
            codes, places = (tuple(re.findall(r"`([^`]+)`", cell)) for cell in cells[1:3])
            rows.append(Named(cells[0], codes, places, cells[5], paper))
    return rows


ROWS = named_rows()


def code_of(symbol: str) -> str | None:
    """Return the name that a single symbol reads as: W_A^{(0)} as W_A0, one with an accent as A_tilde."""
    found = re.fullmatch(r"(?:\\(tilde) )?([A-Za-z]+(?:_[A-Za-z])?)(?:\^\{\((\d)\)\})?", symbol)
    if not found:
        return None
    accent, name, layer = found.groups(default="")
    apart = "_" if layer and "_" not in name else ""
    return f"{name}_{accent}" if accent else f"{name}{apart}{layer}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.symbol != "–"], ids=lambda row: f"{row.symbol} {row.codes}")
def test_a_symbol_has_the_name_that_it_reads_as(row: Named) -> None:
    """And a symbol that is no formula of several stands for the same equations wherever it is."""
    symbol = row.symbol.strip("$").partition(" =")[0]
    if symbol in NAMES or code_of(symbol):
        assert set(row.codes) <= NAMES.get(symbol, {code_of(symbol)})
    alike = {other.equations for other in ROWS if other.symbol.strip("$").partition(" =")[0] == symbol}
    assert alike == {row.equations}


def cited(text: str) -> set[int]:
    """Return the numbers of the equations that a docstring names.

    >>> sorted(cited("paper, eq. 1 to 3 and 5"))
    [1, 2, 3, 5]
    """
    numbers = set()
    for found in CITED.findall(text):
        for first, last in re.findall(r"(\d+)\s*to\s*(\d+)", found):
            numbers |= set(range(int(first), int(last) + 1))
        numbers |= {int(number) for number in re.findall(r"\d+", found)}
    return numbers


def docstrings() -> dict[str, set[int]]:
    """Return the equations that each function, class or file names; a function without any has those of its file."""
    found: dict[str, set[int]] = {}
    for path in sorted((ROOT / "minipinet").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found[path.name] = found.get(path.name, set()) | cited(text)
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                own = cited(ast.get_docstring(node) or "")
                found[node.name] = found.get(node.name, set()) | (own or cited(text))
    return found


def test_the_equations_of_the_tables_are_those_of_the_docstrings() -> None:
    known, checked = docstrings(), 0
    for row in ROWS:
        numbers = {int(number) for number in re.findall(r"\d+", row.equations)}
        for place in row.places if row.paper and "table" not in row.equations else ():
            if numbers and known[place]:
                assert numbers <= known[place], f"{row.codes} at {place}: eq. {row.equations}"
                checked += 1
    assert checked > 40
