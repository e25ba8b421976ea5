"""Names from the data in a report: whatever they are, they are shown, and nothing more comes of them."""

from __future__ import annotations

import pytest

from minipinet.report import make_report
from minipinet.report.html import shown
from minipinet.report.picture import on_node
from tests.small_reports import EVIL, LABELS, NAMES, Page, cross_validated_evil, data_of

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> str:
    run_dir, data = cross_validated_evil(tmp_path_factory.mktemp("run") / "evil")
    return make_report(run_dir, dataset=data, graphs=12)


def test_what_comes_from_data_is_escaped(evil: str) -> None:
    page = Page(evil)  # which refuses elements that are not closed in order
    names = [name for name, _, _ in page.elements]
    assert "b" not in names
    assert names.count("script") == 2
    for _, attributes, _ in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert page.texts("h1") == [f"PiNet on {EVIL}{'n' * 80}: 10-fold cross-validation"]
    assert any(EVIL in verdict for verdict in page.texts("p", "verdict"))
    shown_data = data_of(evil)["graphs"]
    assert {name for graph in shown_data for name in graph["classes"]} <= set(map(shown, NAMES))
    assert {label for graph in shown_data for label in graph["labels"]} == set(map(shown, LABELS))


def test_a_label_cannot_leave_the_attribute_it_stands_in(evil: str) -> None:
    spoken = [attributes.get("aria-label") or "" for name, attributes, _ in Page(evil).elements if name == "g"]
    ends = {label.partition(", label ")[2] for label in spoken if label.startswith("Node ")}
    assert ends == set(map(shown, LABELS)), "whole, quotation marks and all"


def test_names_are_one_line_in_an_order_of_their_own_and_not_too_long(evil: str) -> None:
    for sign in "\u202e\x00":
        assert sign not in evil
    assert "line\\nbreak\\u202e\\x00." in evil
    assert "\u2068\u05e9\u05dc\u05d5\u05dd\u2069" in evil
    assert "m" * 121 not in evil
    assert shown("half \ud800 of a letter") == r"half \ud800 of a letter"
    assert shown("\U0001f469\u200d\U0001f52c") == "\U0001f469\u200d\U0001f52c", "what joins emoji stays"


def test_a_node_shows_its_label_as_far_as_it_fits(evil: str) -> None:
    for graph, written in zip(data_of(evil)["graphs"], _written(evil), strict=True):
        assert written == [on_node(label) for label in graph["labels"]]
    assert {"C", "Cl", "mm\u2026"} <= {text for texts in _written(evil) for text in texts}


def _written(html: str) -> list[list[str]]:
    """Return the texts on the nodes of each graph."""
    drawn: list[list[str]] = []
    for name, attributes, texts in Page(html).elements:
        if name == "svg" and attributes.get("class") == "drawing":
            drawn.append([])
        elif name == "text" and drawn:
            drawn[-1].append(texts[0])
    return drawn
