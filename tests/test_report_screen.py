"""A report on screens of every width, in the light and in the dark, with names as odd as can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minipinet.report import write_report
from tests.browser import Visitor, contrast, overflow
from tests.small_reports import EVIL, cross_validated_evil, data_of

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")

#: Sizes in pixels of all text that can be seen, wherever it stands, with where.
_SIZES = """[...document.querySelectorAll("body *")].filter(element =>
    [...element.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.textContent.trim())
    && element.getClientRects().length && !element.closest("script, style, .skip")
).map(element => {
    const scale = element.getScreenCTM ? Math.hypot(element.getScreenCTM().a, element.getScreenCTM().b) : 1;
    return [parseFloat(getComputedStyle(element).fontSize) * scale, `${element.tagName} ${element.textContent}`];
})"""


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report on ten folds and five classes, of names of 80 characters without a space among them."""
    run_dir, data = cross_validated_evil(tmp_path_factory.mktemp("run") / "evil")
    return write_report(run_dir, dataset=data, graphs=6)


@pytest.mark.parametrize("width", [320, 375, 768, 1100, 1280])
def test_no_page_scrolls_sideways_and_nothing_lies_over_anything(visit: Visitor, evil: Path, width: int) -> None:
    page = visit(evil, width=width, height=812).page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert overflow(page) <= 0
    page.locator(".card button").first.click()
    for row in page.locator(".bits tbody tr").all()[:4]:
        name, digits, bits, same = row.evaluate(
            """row => [...row.querySelectorAll("th, .digits, .hex, .same")].map(element => {
                const range = document.createRange();
                range.selectNodeContents(element);
                const box = range.getBoundingClientRect();
                return [box.left, box.right, box.top, box.bottom];
            })"""
        )
        assert name[1] < digits[0] == bits[0] or name[3] <= digits[2]
        assert max(digits[1], bits[1]) < same[0]
    assert page.locator("#column").bounding_box()["width"] > 60  # wide enough for a finger


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_tables_are_not_cut_and_fit_their_boxes(visit: Visitor, evil: Path, width: int) -> None:
    page = visit(evil, width=width, height=812).page
    cut = page.locator(".tables .scroll").evaluate_all(
        "all => all.map(x => [x.ariaLabel, x.scrollWidth - x.clientWidth])"
    )
    assert len(cut) == 3
    for name, beyond in cut:
        assert beyond <= 0 or (width == 320 and name.startswith("Confusion")), name


@pytest.mark.parametrize("width", [375, 1280])
def test_no_text_is_smaller_than_11_pixels(visit: Visitor, evil: Path, width: int) -> None:
    sizes = visit(evil, width=width, height=812).page.evaluate(_SIZES)
    assert any(where.startswith("text") for _, where in sizes), "text in drawings and figures is among it"
    assert [where for size, where in sizes if size < 10.99] == []


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_the_legend_of_a_figure_stands_above_it(visit: Visitor, evil: Path, width: int) -> None:
    page = visit(evil, width=width, height=812).page
    for figure in page.locator("figure").all():
        legend, drawing = figure.locator(".marks").bounding_box(), figure.locator("> svg").bounding_box()
        assert legend["y"] + legend["height"] <= drawing["y"]
        assert figure.locator(".marks li").count() >= 2
    # Texts of a figure do not lie over each other either.
    boxes: list[list[Any]] = page.locator("#paths figure > svg text").evaluate_all(
        """all => all.map(text => {
            const box = text.getBoundingClientRect();
            return [box.left, box.right, box.top, box.bottom, text.textContent];
        })"""
    )
    for k, a in enumerate(boxes):
        for b in boxes[k + 1 :]:
            across, down = min(a[1], b[1]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[2], b[2])
            assert across <= 0 or down <= 4, (a[4], b[4])  # a line's box is higher than its letters


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_in_the_light_and_in_the_dark(visit: Visitor, evil: Path, dark: bool) -> None:
    page = visit(evil, dark=dark).page
    for selector in (
        "h1",
        ".verdict",
        ".total",
        ".badge",
        "caption",
        "dd",
        ".numbering",
        "button",
        ".marks li",
        "summary",
    ):
        assert contrast(page, selector) >= 4.5, selector


def test_what_would_end_a_script_is_text(visit: Visitor, evil: Path) -> None:
    page = visit(evil).page
    assert page.locator("b, main i, header i, img").count() == 0
    assert EVIL in page.locator("h1").inner_text()
    assert page.locator(".card").count() == 6
    for k, graph in enumerate(data_of(evil.read_text(encoding="utf-8"))["graphs"]):
        nodes = page.locator(".card").nth(k).locator(".node")
        for i, label in enumerate(graph["labels"]):
            assert f", label {label}: attention" in str(nodes.nth(i).get_attribute("aria-label"))


def test_nodes_show_labels_or_numbers_and_a_graph_renumbered_its_numbers(visit: Visitor, evil: Path) -> None:
    page, graph = visit(evil).page, data_of(evil.read_text(encoding="utf-8"))["graphs"][0]
    texts, choice = page.locator(".card").first.locator(".node text"), page.locator("#on-nodes")
    labels, numbers = texts.all_text_contents(), [str(i) for i in range(len(graph["labels"]))]
    assert labels != numbers
    choice.select_option("number")
    assert texts.all_text_contents() == numbers
    choice.select_option("label")
    assert texts.all_text_contents() == labels
    button = page.locator(".card button").first
    button.click()
    assert texts.all_text_contents() == list(map(str, graph["numberings"][1]))
    for _ in graph["numberings"][1:]:
        button.click()
    assert texts.all_text_contents() == labels
