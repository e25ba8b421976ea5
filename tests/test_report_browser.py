"""A report in headless Chromium: it stands alone, its controls work, and it can be read on a phone and in the dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minipinet.report import write_report
from tests.browser import Visitor, contrast, overflow
from tests.small_reports import DATA, cross_validated, data_of, evil_data

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = cross_validated(tmp_path_factory.mktemp("run") / "folds")
    return write_report(run_dir, dataset=DATA, graphs=6)


@pytest.fixture
def page(visit: Visitor, report: Path) -> Any:
    return visit(report).page  # `visit` fails the test if anything from outside was asked for or an error was told


def test_all_parts_are_there(page: Any, report: Path) -> None:
    data = data_of(report.read_text(encoding="utf-8"))
    assert page.locator(".card").count() == len(data["graphs"]) == 6
    assert page.locator("svg").count() >= 6 + 2  # a drawing a graph, learning curves, paths
    for drawing in page.locator("svg").all():
        box = drawing.bounding_box()
        assert box["width"] > 50
        assert box["height"] > 50


def test_the_slider_shows_each_attention_column(page: Any, report: Path) -> None:
    data = data_of(report.read_text(encoding="utf-8"))
    graph = data["graphs"][0]
    card, slider = page.locator(".card").first, page.locator("#column")
    assert page.locator("#column-name").inner_text() == f"all {data['columns']}"
    texts = []
    for j in range(data["columns"] + 1):
        slider.fill(str(j))
        sizes = card.locator(".node").evaluate_all(
            "all => all.map(x => parseFloat(x.style.getPropertyValue('--size')))"
        )
        weights = [graph["weights"][graph["place"][i]][j] for i in range(len(sizes))]
        assert sizes == pytest.approx([(w / max(weights)) ** 0.5 for w in weights], rel=1e-6)
        texts.append(card.locator(".total").inner_text())
    assert len(set(texts)) == len(texts)
    slider.focus()
    page.keyboard.press("Home")
    assert page.locator("#column-name").inner_text() == f"all {data['columns']}"
    page.locator("#score").select_option("1")
    assert card.locator(".total").inner_text() != texts[0]


def test_the_button_renumbers_the_nodes_and_the_exact_score_stays(page: Any, report: Path) -> None:
    graph = data_of(report.read_text(encoding="utf-8"))["graphs"][0]
    card = page.locator(".card").first
    numbers, exact = card.locator(".node text"), card.locator(".exact .hex")
    first, bits = numbers.all_text_contents(), exact.all_text_contents()
    for k in range(1, len(graph["numberings"])):
        card.get_by_role("button").click()
        assert list(map(int, numbers.all_text_contents())) == graph["numberings"][k]
        assert numbers.all_text_contents() != first
        assert exact.all_text_contents() == bits
        assert set(card.locator(".exact .same").all_inner_texts()) == {"same"}
        said = card.locator(".numbering").inner_text()
        assert f"Random numbering {k} of" in said
        assert "keeps its bits" in said
    card.get_by_role("button").click()
    assert numbers.all_text_contents() == first
    assert page.locator(".card").nth(1).locator(".numbering").inner_text() == "Numbered as given."


def test_nodes_tell_their_numbers_to_pointer_and_keyboard(page: Any) -> None:
    card = page.locator(".card").first
    card.locator(".node").first.hover()
    told = card.locator(".node-text").inner_text()
    assert told.startswith("Node 0")
    assert "attention" in told
    page.mouse.move(0, 0)
    card.locator(".node").first.focus()
    page.keyboard.press("ArrowRight")
    assert card.locator(".node-text").inner_text().startswith("Node 1")
    page.keyboard.press("End")
    last = card.locator(".node").count() - 1
    assert card.locator(".node-text").inner_text().startswith(f"Node {last}")


@pytest.mark.parametrize("width", [375, 768, 1100, 1280])
def test_no_page_scrolls_sideways_and_nothing_lies_over_anything(visit: Visitor, report: Path, width: int) -> None:
    page = visit(report, width=width, height=800).page
    assert overflow(page) <= 0
    page.locator(".card button").first.click()
    for row in page.locator(".bits tbody tr").all()[:4]:
        spans = row.evaluate(
            """row => [...row.querySelectorAll("th, .digits, .hex, .same")].map(element => {
                const range = document.createRange();
                range.selectNodeContents(element);
                const box = range.getBoundingClientRect();
                return [box.left, box.right];
            })"""
        )
        name, digits, bits, same = spans
        assert name[1] < digits[0] == bits[0]
        assert max(digits[1], bits[1]) < same[0]
    slider = page.locator("#column").bounding_box()
    assert slider["width"] > 100  # wide enough for a finger


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_in_the_light_and_in_the_dark(visit: Visitor, report: Path, dark: bool) -> None:
    page = visit(report, dark=dark).page
    for selector in ("h1", ".verdict", ".total", ".badge", "caption", "dd", ".numbering", "button"):
        assert contrast(page, selector) >= 4.5, selector


def test_what_would_end_a_script_is_text(visit: Visitor, tmp_path: Path) -> None:
    data = evil_data()
    page = visit(write_report(cross_validated(tmp_path / "run", data), dataset=data)).page
    assert page.locator("b, i").count() == 0
    assert "</script><b>" in page.locator("h1").inner_text()
    assert page.locator(".card").count() > 0
