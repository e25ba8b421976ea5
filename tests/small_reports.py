"""Reports on small runs, and what stands in them: shared by the tests of reports."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx

from minipinet.crossval import cross_validate
from minipinet.datasets import Dataset
from minipinet.datasets.from_networkx import dataset_from_networkx
from minipinet.settings import Settings
from tests.small_data import two_kinds

SMALL = Settings(epochs=4, batch_size=7, hidden=6, out=4, lr=1e-2)
DATA = two_kinds(24)
#: What would end a script, begin an element, or leave an attribute, were it not escaped.
EVIL = "</script><b>\"'&"

_VOID = {"meta", "input", "br", "img", "link", "path", "use", "circle", "rect"}


class Page(HTMLParser):
    """The elements of a page: their names, attributes and texts, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = (tag, dict(attrs), [""])
        self.elements.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open[-1][0] == tag, f"</{tag}> ends {self.open[-1][:2]}"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for _, _, texts in self.open:
            texts[0] += data

    def texts(self, tag: str, kind: str = "") -> list[str]:
        """Return the text of every element with this name, and of this class if one is given."""
        return [
            " ".join(texts[0].split())
            for name, attributes, texts in self.elements
            if name == tag and (not kind or kind in (attributes.get("class") or "").split())
        ]

    def tiles(self) -> dict[str, str]:
        """Return the figures that are seen first, by name."""
        return dict(zip(self.texts("dt"), self.texts("dd"), strict=True))


def data_of(html: str) -> dict[str, Any]:
    """Return the numbers that the page's script shows."""
    found = re.search(r'<script type="application/json" id="gallery-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    record = json.loads(found[1])
    assert isinstance(record, dict)
    return record


def cross_validated(folder: Path, data: Dataset = DATA, settings: Settings = SMALL) -> Path:
    """Cross-validate in a folder, three folds."""
    cross_validate(data, settings, folds=3, run_dir=folder)
    return folder


def evil_data() -> Dataset:
    """Return graphs whose name, classes and node labels are to be escaped."""
    graphs = [make(n) for n in range(4, 10) for make in (nx.cycle_graph, nx.path_graph)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: EVIL if node % 2 else "C" for node in graph}, "atom")
    return dataset_from_networkx(graphs, [EVIL, "<i>plain</i>"] * 6, node_label="atom", name=EVIL)
