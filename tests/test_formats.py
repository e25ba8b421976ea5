"""Tables as text, Markdown, LaTeX and CSV: nothing in a name may change what the table is."""

from __future__ import annotations

import csv
import io
import re

from minipinet.cli.formats import to_csv, to_latex, to_markdown, to_text
from minipinet.results.table import Column, Count, Estimate, Key, Line, Table

NASTY = Table(
    Key("comparison", "paper", "labels", 0),
    "accuracy",
    "a_b & 100% |c|",
    ("model", "source"),
    [Column("x_y|z", "accuracy", "data set"), Column("p & q", signed=True)],
    [
        Line(("[50%] #1 {a} ~^\\ $--$", "*ours_"), [Estimate(1 / 3, 0.125, 9, 10, best=True), -0.25]),
        Line(("two\nlines", ""), [None, 0.5]),
    ],
    ["<b>_note_</b>\n100%"],
)


def test_text_is_aligned_with_every_line_whole() -> None:
    lines = to_text([NASTY]).splitlines()
    assert lines[0] == "a_b & 100% |c|"
    assert lines[2] == "model                  source                     x_y|z   p & q"
    assert lines[3] == r"[50%] #1 {a} ~^\ $--$  *ours_  0.333 ± 0.125* (9 of 10)  -0.250"
    assert lines[4].split() == ["two", "lines", "-", "+0.500"]
    assert lines[6] == "<b>_note_</b> 100%"


def test_markdown_escapes_what_would_end_a_cell_or_mark_it_up() -> None:
    title, _, header, marks, first, second, _, note = to_markdown([NASTY]).splitlines()
    assert title == r"### a_b \& 100% \|c\|"
    assert header == r"| model | source | x_y\|z | p \& q |"
    assert marks == "| --- | --- | ---: | ---: |"
    assert first == r"| \[50%\] #1 \{a\} \~^\\ \$--\$ | \*ours\_ | 0.333 ± 0.125\* (9 of 10) | -0.250 |"
    assert second == "| two lines |  | - | +0.500 |"
    assert note == r"- \<b\>\_note\_\</b\> 100%"
    for line in (header, marks, first, second):
        assert len(re.findall(r"(?<!\\)\|", line)) == 5


def test_latex_escapes_every_sign_that_it_reads() -> None:
    text = to_latex([NASTY])
    assert r"\caption{a\_b \& 100\% \textbar{}c\textbar{}}" in text
    assert r"    model & source & x\_y\textbar{}z & p \& q \\" in text
    first = (
        r"    {[}50\%{]} \#1 \{a\} \textasciitilde{}\textasciicircum{}\textbackslash{} \$-{}-\$ & {*}ours\_ & "
        r"0.333 $\pm$ 0.125{*} (9 of 10) & $-0.250$ \\"
    )
    assert first in text.splitlines()
    assert r"    two lines &  & - & $+0.500$ \\" in text.splitlines()
    assert r"  \textless{}b\textgreater{}\_note\_\textless{}/b\textgreater{} 100\%.\par" in text
    for line in text.splitlines():
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 3
    assert len(re.findall(r"(?<!\\)\{", text)) == len(re.findall(r"(?<!\\)\}", text))


def test_csv_has_every_number_on_its_line_with_all_digits() -> None:
    lines = list(csv.DictReader(io.StringIO(to_csv([NASTY]), newline="")))
    found = [(line["data set"], line["quantity"], line["value"]) for line in lines]
    assert found == [
        ("x_y|z", "accuracy mean", repr(1 / 3)),
        ("x_y|z", "accuracy sd", "0.125"),
        ("x_y|z", "accuracy n", "9"),
        ("x_y|z", "accuracy of", "10"),
        ("", "p & q", "-0.25"),
        ("x_y|z", "accuracy", ""),
        ("", "p & q", "0.5"),
    ]
    assert lines[-1]["model"] == "two\nlines"
    assert {line["table"] for line in lines} == {"accuracy"}


def test_csv_writes_counts_and_verdicts_as_numbers() -> None:
    table = NASTY._replace(columns=[Column("cells"), Column("within")], lines=[Line(("a", "b"), [Count(1, 2), True])])
    lines = list(csv.DictReader(io.StringIO(to_csv([table]))))
    assert [(line["quantity"], line["value"]) for line in lines] == [
        ("cells n", "1"), ("cells of", "2"), ("within", "1"),
    ]  # fmt: skip


def test_no_tables_are_no_text() -> None:
    assert [to([]) for to in (to_text, to_markdown, to_latex)] == ["", "", ""]
    assert to_csv([]).count("\n") == 1
