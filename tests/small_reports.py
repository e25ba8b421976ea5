"""Reports on small runs, and what stands in them: shared by the tests of reports."""

from __future__ import annotations

import json
import re
from dataclasses import replace
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
#: Names of classes: such ones, long ones, from right to left, and of pictures; none has a space to break a line at.
NAMES = (EVIL, "W" * 80, "line\nbreak\u202e\x00.", "\u05e9\u05dc\u05d5\u05dd", "\U0001f9ea" * 80)
#: Labels of nodes, likewise.
LABELS = ("C", "Cl", f'{EVIL}" onfocus="alert(1)', "$size ${x} $$", "m" * 5000, "\u05e9\u05dc\u05d5\u05dd", "a\nb")

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


def cross_validated_evil(folder: Path) -> tuple[Path, Dataset]:
    """Cross-validate five classes of such names in ten folds; return the run, and the data."""
    graphs = [make(n) for n in range(4, 14) for make in (nx.cycle_graph, nx.path_graph, nx.star_graph, nx.path_graph,
                                                         nx.wheel_graph)]  # fmt: skip
    for g, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {node: LABELS[(g + node) % len(LABELS)] for node in graph}, "atom")
    data = dataset_from_networkx(graphs, list(NAMES) * 10, node_label="atom", name=EVIL + "n" * 80)
    cross_validate(data, replace(SMALL, epochs=2), folds=10, run_dir=folder)
    return folder, data


def copied(run_dir: Path, folder: Path) -> Path:
    """Return a copy of a run."""
    for path in run_dir.rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(run_dir)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return folder


def record_of(run_dir: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((run_dir / "run.json").read_text(encoding="utf-8"))
    return record


def unfinished(run_dir: Path, folder: Path, *, done: int, begun: int) -> Path:
    """Return a run as it is when some folds are done and some have begun."""
    copied(run_dir, folder)
    (folder / "run.json").write_text(json.dumps({**record_of(run_dir), "results": None}), encoding="utf-8")
    for k in range(done, 3):
        (folder / f"fold-{k:02d}" / "model.safetensors").unlink()
        log = folder / f"fold-{k:02d}" / "log.jsonl"
        if k < done + begun:
            log.write_text("".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
        else:
            log.unlink()
    return folder
