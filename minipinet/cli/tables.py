"""Results as aligned text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, left: Sequence[int] = ()) -> str:
    """Return rows of cells under a header, in columns two blanks apart.

    Parameters
    ----------
    header
        The titles of the columns.
    rows
        One sequence of cells per row, each as long as the header; a cell is shown as ``str`` shows it.
    left
        Numbers of the columns that are aligned to the left; the others are aligned to the right.

    Returns
    -------
    str
        Lines without blanks at their ends and without a final newline.

    Examples
    --------
    >>> print(table(["layer", "p"], [["A0", "0.51"], ["X1", "1"]], left=[0]))
    layer     p
    A0     0.51
    X1        1
    """
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        aligned = [
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def pairs(rows: Sequence[tuple[str, Any]]) -> str:
    """Return lines "title  value" with the values in one column.

    Examples
    --------
    >>> print(pairs([("accuracy", 0.86), ("run", "runs/a")]))
    accuracy  0.86
    run       runs/a
    """
    width = max(len(title) for title, _ in rows)
    return "\n".join(f"{title.ljust(width)}  {value}".rstrip() for title, value in rows)


def confusion_table(classes: Sequence[Any], matrix: Sequence[Sequence[int]]) -> str:
    r"""Return a confusion matrix: a row for each true class, a column for each predicted one.

    Examples
    --------
    >>> print(confusion_table([-1, 1], [[50, 13], [9, 116]]))
    true \ predicted  -1    1
    -1                50   13
    1                  9  116
    """
    rows = [[name, *counts] for name, counts in zip(classes, matrix, strict=True)]
    return table(["true \\ predicted", *map(str, classes)], rows, left=[0])
