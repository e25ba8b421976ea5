"""Tables of experiments as aligned text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from minipinet._words import number, spread
from minipinet.cli.tables import table

if TYPE_CHECKING:
    from minipinet.results.table import Column, Table, Value

#: Titles of columns that say what a line is of, all that there are.
LABELS = ("data set", "model", "source", "size", "steps")

#: Letters of a line of notes, in text.
_WIDTH = 110

#: What LaTeX takes for something else, or prints as something else; the brackets and the star after a line's end.
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "[": "{[}", "]": "{]}", "*": "{*}",
    "`": r"\textasciigrave{}", "±": r"$\pm$",
}  # fmt: skip


def to_text(tables: Sequence[Table]) -> str:
    """Return tables as aligned text, each under its title and above its notes."""
    return _joined("\n\n".join([one.title, _text_grid(one), *_paragraph(one.notes)]) for one in tables)


def to_markdown(tables: Sequence[Table]) -> str:
    """Return tables in GitHub's Markdown, a section each."""
    return _joined(map(_markdown, tables))


def to_latex(tables: Sequence[Table]) -> str:
    """Return tables in LaTeX, a float each, for the packages booktabs and textcomp; any name is escaped."""
    first = "% needs \\usepackage{booktabs} and, for the sign of quotation, \\usepackage[T1]{fontenc}"
    return _joined([first, *map(_latex, tables)]) if tables else ""


def to_csv(tables: Sequence[Table]) -> str:
    """Return every number on a line of its own, with all its digits; missing ones have an empty value.

    A mean makes four lines: mean, standard deviation, how many values, and how many there are to be. Columns: the
    experiment, its protocol, features and shuffled; the table; what the number is of; which quantity; the value.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["experiment", "protocol", "features", "shuffled", "table", *LABELS, "quantity", "value"])
    for one in tables:
        for line in one.lines:
            for column, value in zip(one.columns, line.values, strict=True):
                of = dict(zip(one.labels, line.labels, strict=True))
                of |= {column.across: column.title} if column.across else {}
                for part, single in _numbers(value):
                    quantity = f"{column.quantity or column.title} {part}".strip()
                    writer.writerow([*one.key, one.name, *(of.get(name, "") for name in LABELS), quantity, single])
    return file.getvalue()


#: By the name that the command line has for each.
FORMATS: dict[str, Callable[[Sequence[Table]], str]] = {
    "text": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
}


def shown(value: Value, column: Column) -> str:
    """Return what a reader sees of a value.

    Examples
    --------
    >>> from minipinet.results.table import Column, Count, Estimate
    >>> shown(Estimate(0.8514, 0.066, 9, 10, best=True), Column("MUTAG"))
    '0.851 ± 0.066* (9 of 10)'
    >>> shown(Count(9, 10), Column("cells")), shown(True, Column("within")), shown(None, Column("Welch"))
    ('9 of 10', 'yes', '-')
    >>> shown(1e-9, Column("Welch")), shown(0.0, Column("Welch")), shown(0.25, Column("difference", signed=True))
    ('<0.001', '0.000', '+0.250')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, str | int):
        return "-" if value is None else str(value)
    if isinstance(value, float):
        least = 10.0**-column.digits
        if column.signed:
            return f"{value:+.{column.digits}f}"
        return f"<{least:.{column.digits}f}" if 0 < value < least / 2 else number(value, column.digits)
    if len(value) == 2:
        return f"{value.n} of {value.of}"
    text = spread(value.mean, value.sd, column.digits) + "*" * value.best
    return text if value.n >= value.of else f"{text} ({value.n} of {value.of})"


def _numbers(value: Value) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a value with what each of them is, in all digits."""
    if isinstance(value, tuple):
        for part, single in value._asdict().items():
            if part != "best":
                yield part, "" if single is None else repr(single)
    elif not isinstance(value, str):
        yield "", "" if value is None else repr(int(value) if isinstance(value, bool) else value)


def _cells(one: Table) -> tuple[list[str], list[list[str]]]:
    """Return header and lines as texts without line breaks."""
    header = [*one.labels, *(column.title for column in one.columns)]
    lines = [[*line.labels, *map(shown, line.values, one.columns)] for line in one.lines]
    return [_one_line(cell) for cell in header], [[_one_line(cell) for cell in line] for line in lines]


def _text_grid(one: Table) -> str:
    header, lines = _cells(one)
    return table(header, lines, left=range(len(one.labels)))


def _markdown(one: Table) -> str:
    header, lines = _cells(one)
    marks = ["---"] * len(one.labels) + ["---:"] * len(one.columns)
    rows = [map(_escape_markdown, header), marks, *(map(_escape_markdown, line) for line in lines)]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = ["\n".join(f"- {_escape_markdown(_one_line(note))}" for note in one.notes)] if one.notes else []
    return "\n\n".join([f"### {_escape_markdown(_one_line(one.title))}", body, *notes])


def _latex(one: Table) -> str:
    header, lines = _cells(one)
    rows = [" & ".join(map(_escape_latex, row)) + r" \\" for row in (header, *lines)]
    notes = [r"  \par\footnotesize", *(f"  {_escape_latex(_one_line(note))}.\\par" for note in one.notes)]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{_escape_latex(_one_line(one.title))}}}",
            f"  \\begin{{tabular}}{{{'l' * len(one.labels)}{'r' * len(one.columns)}}}",
            r"    \toprule",
            f"    {rows[0]}",
            r"    \midrule",
            *(f"    {row}" for row in rows[1:]),
            r"    \bottomrule",
            r"  \end{tabular}",
            *(notes if one.notes else []),
            r"\end{table}",
        ]
    )


def _escape_latex(text: str) -> str:
    if re.fullmatch(r"[+-][\d.]+", text):
        return f"${text}$"
    escaped = "".join(_LATEX.get(letter, letter) for letter in text)
    return re.sub("-(?=-)", "-{}", escaped)  # two hyphens would become a dash


def _escape_markdown(text: str) -> str:
    """Escape what Markdown takes for something else; not an underscore inside a word, which it leaves alone."""
    return re.sub(r"([\\`*{}\[\]<>|~&$])|(?<!\w)(_)|(_)(?!\w)", r"\\\1\2\3", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _paragraph(notes: Sequence[str]) -> list[str]:
    return (
        ["\n".join(textwrap.fill(_one_line(note), _WIDTH, subsequent_indent="  ") for note in notes)] if notes else []
    )


def _joined(pieces: Iterable[str]) -> str:
    return "".join(piece + "\n\n" for piece in pieces)[:-1]
