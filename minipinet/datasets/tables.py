"""Tables of numbers out of text files: lines of comma-separated values, with errors that name file and line."""

from __future__ import annotations

import codecs
import io
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet.errors import DataError

#: From here on a float64 no longer holds every whole number.
_TOO_LARGE = 2.0**53
_BLANK_LINE = re.compile(r"^[ \t]*$", re.MULTILINE)


def read_text(raw: bytes, where: str) -> str:
    r"""Decode a text file, whatever the system it was written on.

    Parameters
    ----------
    raw : bytes
        UTF-8 (or UTF-16 with its mark), with or without a byte-order mark; lines end in LF, CRLF or CR; the
        last one need not end at all, and blank lines and DOS's end-of-file mark (Ctrl-Z) may follow it.
    where : str
        Name of the file in messages.

    Returns
    -------
    str
        Its lines, with ``\n`` between them.

    Raises
    ------
    DataError
        If a blank line stands before the last line: it would shift every line behind it.

    Examples
    --------
    >>> read_text(b"1\r\n2\r\n\r\n", "some.txt")
    '1\n2'
    """
    utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = raw.decode("utf-16" if utf16 else "utf-8-sig", errors="replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n\x1a")
    blank = _BLANK_LINE.search(text)
    if blank and text:
        line = text.count("\n", 0, blank.start()) + 1
        raise DataError(f"{where}, line {line}: expected values, got a blank line with more lines after it")
    return text


def count_lines(raw: bytes, where: str) -> int:
    """Return the number of lines of a text file; see :func:`read_text`."""
    text = read_text(raw, where)
    return text.count("\n") + 1 if text else 0


def read_table(raw: bytes, where: str, *, columns: int | None = None, whole: bool = True) -> NDArray[Any]:
    r"""Read a table of finite numbers, the same number in each line, separated by commas.

    Parameters
    ----------
    raw : bytes
        Content of the file; see :func:`read_text`. Blanks and tabs around a number mean nothing.
    where : str
        Name of the file in messages.
    columns : int, optional
        Values a line must hold; left out: as many as the first line holds.
    whole : bool
        True: whole numbers only (``1.0`` is one), of less than 2^53 in size.

    Returns
    -------
    ndarray of shape (lines, columns), int64 if `whole`, else float64
        Always two-dimensional, also with one line or none.

    Raises
    ------
    DataError
        Naming the first line that is ragged or holds something else.

    Examples
    --------
    >>> read_table(b"12, 345\n12 ,\t7  ", "some_A.txt", columns=2)
    array([[ 12, 345],
           [ 12,   7]])
    """
    text = read_text(raw, where)
    dtype = np.int64 if whole else np.float64
    if not text:
        return np.zeros((0, columns or 0), dtype)
    try:
        table = np.loadtxt(io.StringIO(text), dtype=np.float64, delimiter=",", comments=None, ndmin=2)
    except ValueError as error:
        raise _first_fault(text.split("\n"), where, columns, whole, str(error)) from None
    bad = ~np.isfinite(table)
    if whole:
        bad |= (table != np.rint(table)) | (np.abs(table) >= _TOO_LARGE)
    if bad.any() or table.shape[1] != (columns or table.shape[1]):
        raise _first_fault(text.split("\n"), where, columns, whole, "not a table of numbers")
    return table.astype(dtype)


def _first_fault(lines: list[str], where: str, columns: int | None, whole: bool, otherwise: str) -> DataError:
    """Find the first bad line, slowly and exactly; the fast path only knows that there is one."""
    width = columns or lines[0].count(",") + 1
    for number, line in enumerate(lines, start=1):
        values = line.split(",")
        if len(values) != width:
            expected = f"{width} value{'s' * (width > 1)}{'' if columns else ' as in line 1'}"
            return DataError(f"{where}, line {number}: expected {expected}, got {len(values)} ({line!r:.80})")
        for value in values:
            if not _is_number(value, whole):
                expected = "a whole number" if whole else "a finite number"
                return DataError(f"{where}, line {number}: expected {expected}, got {value.strip()!r:.80}")
    return DataError(f"{where}: {otherwise}")


def _is_number(text: str, whole: bool) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    if "_" in text or not text.strip().isascii() or not np.isfinite(value):  # float() reads more than files may hold
        return False
    return not whole or (value.is_integer() and abs(value) < _TOO_LARGE)
