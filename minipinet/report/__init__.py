"""One HTML file on a run: its figures, its learning curves, and graphs with what the model attends to in them.

`write_report` makes it. The way there: `run` reads the folder of a run, `scores` has each training's graphs labelled,
`gallery` works out what is shown of a graph, `layout` where its nodes lie, `figures` draws curves and paths; `sections`
and `cards` say it in HTML, and `page` puts it into the files of ``assets/``. The page itself computes nothing about a
model, and asks for no other file.
"""

from minipinet.report.page import make_report, write_report

__all__ = ["make_report", "write_report"]
