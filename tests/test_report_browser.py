"""The controls of a report in headless Chromium: what they show is what `model.attention` says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.attention_shares import Attention
from minipinet.predictor import PiNet
from minipinet.report import write_report
from tests.browser import Visitor
from tests.small_reports import DATA, cross_validated, data_of

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")

#: What a browser computed for every node of a drawing.
_LOOKS = """all => all.map(node => {
    const disc = getComputedStyle(node.querySelector(".disc"));
    const own = name => parseFloat(node.style.getPropertyValue(name));
    return {size: own("--size"), plus: own("--plus"), minus: own("--minus"), r: parseFloat(disc.r), fill: disc.fill,
            dashed: disc.strokeDasharray !== "none", said: node.getAttribute("aria-label")};
})"""


class First(NamedTuple):
    """The first graph of a report, as its model sees it."""

    attention: Attention
    scored: list[int]  #: the class predicted and its rival, by their places


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = cross_validated(tmp_path_factory.mktemp("run") / "folds")
    return write_report(run_dir, dataset=DATA, graphs=6)


@pytest.fixture(scope="module")
def first(report: Path) -> First:
    html = report.read_text(encoding="utf-8")
    number = int(re.findall(r'id="graph-(\d+)"', html)[0])
    fold = int(re.findall(r"; fold (\d+)<", html)[0])
    model = PiNet.load(report.parent / f"fold-{fold:02d}" / "model.safetensors")
    classes = data_of(html)["graphs"][0]["classes"]
    return First(model.attention(DATA[number]), [model.classes.index(name) for name in classes])


@pytest.fixture
def page(visit: Visitor, report: Path) -> Any:
    return visit(report).page  # `visit` fails the test if anything from outside was asked for or an error was told


def colour_of(text: str) -> list[float]:
    """Return red, green and blue, from 0 to 1, of a colour as CSS writes it."""
    channels = [float(x) for x in re.findall(r"[\d.e-]+", text.removeprefix("color(srgb "))[:3]]
    return channels if text.startswith("color(srgb") else [x / 255 for x in channels]


def properties(page: Any, *names: str) -> list[Array]:
    """Return colours that the page's style sheet has names for, written there as #rrggbb."""
    values = [page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{x}')") for x in names]
    return [np.array([int(value.strip()[i : i + 2], 16) / 255 for i in (1, 3, 5)]) for value in values]


def test_all_parts_are_there(page: Any, report: Path) -> None:
    data = data_of(report.read_text(encoding="utf-8"))
    assert page.locator(".card").count() == len(data["graphs"]) == 6
    assert page.locator("figure > svg").count() == 2  # learning curves, paths
    for drawing in page.locator("svg.drawing, figure > svg").all():
        box = drawing.bounding_box()
        assert box["width"] > 50
        assert box["height"] > 50


@pytest.mark.parametrize("score", [0, 1])
def test_size_colour_and_text_of_nodes_are_those_of_the_models_attention(page: Any, first: First, score: int) -> None:
    """Column j of the slider is ``weights[:, j]``, and -1 all columns together."""
    found, c = first.attention, first.scored[score]
    neutral, adds, takes = properties(page, "neutral", "for", "against")
    card, slider = page.locator(".card").first, page.locator("#column")
    page.locator("#score").select_option(str(score))
    seen = set()
    for j in range(-1, found.weights.shape[1]):
        slider.fill(str(j))
        weights = found.weights.mean(axis=1) if j < 0 else found.weights[:, j]
        shares = found.shares[:, :, c].sum(axis=1) if j < 0 else found.shares[:, j, c]
        sizes, tones = np.sqrt(weights / weights.max()), shares / abs(shares).max()
        looks = card.locator(".node").evaluate_all(_LOOKS)
        assert len(looks) == len(weights)
        long = float(card.locator(".drawing").evaluate("x => parseFloat(x.style.getPropertyValue('--long'))"))
        for i, look in enumerate(looks):
            # Three digits of each number are in the page.
            assert look["size"] == pytest.approx(sizes[i], rel=2e-2)
            assert look["plus"] == pytest.approx(max(tones[i], 0), abs=2e-2)
            assert look["minus"] == pytest.approx(max(-tones[i], 0), abs=2e-2)
            assert look["r"] == pytest.approx(long * (0.16 + 0.22 * sizes[i]), rel=2e-2)
            colour = neutral + (adds - neutral) * max(tones[i], 0)
            colour = colour + (takes - colour) * max(-tones[i], 0)
            assert colour_of(look["fill"]) == pytest.approx(colour.tolist(), abs=2e-2)
            assert look["dashed"] == (shares[i] < 0)
            number, attention, share = re.findall(r"[+\u2212]?\d[\d.e+-]*", look["said"])[:3]
            assert int(number) == i
            assert float(attention) == pytest.approx(weights[i], rel=1e-2)
            assert float(share.replace("\u2212", "-")) == pytest.approx(shares[i], rel=1e-2)
        seen.add(str([look["fill"] for look in looks]))
        assert page.locator("#column-name").inner_text() == (str(j) if j >= 0 else f"all {found.weights.shape[1]}")
        total = re.search(r"adds? ([+\u2212][\d.e+-]+) to the score", card.locator(".total").inner_text())
        assert total is not None
        assert float(total[1].replace("\u2212", "-")) == pytest.approx(shares.sum(), rel=1e-2, abs=1e-6)
    assert len(seen) > 2, "the columns look different"


def test_the_slider_goes_by_keyboard_to_all_columns_together(page: Any) -> None:
    slider = page.locator("#column")
    slider.fill("2")
    slider.focus()
    page.keyboard.press("Home")
    assert (slider.input_value(), page.locator("#column-name").inner_text()) == ("-1", "all 4")
    page.keyboard.press("ArrowRight")
    assert (slider.input_value(), page.locator("#column-name").inner_text()) == ("0", "0")
    assert slider.get_attribute("aria-valuetext") == "column 0"


def test_the_button_renumbers_the_nodes_and_says_of_each_row_whether_it_changed(page: Any, report: Path) -> None:
    changed = 0
    for k, graph in enumerate(data_of(report.read_text(encoding="utf-8"))["graphs"]):
        card = page.locator(".card").nth(k)
        rows, numbers = card.locator(".bits tbody tr"), card.locator(".node text")
        first = numbers.all_text_contents()
        for n in range(1, len(graph["numberings"])):
            card.get_by_role("button").click()
            assert list(map(int, numbers.all_text_contents())) == graph["numberings"][n] != first
            for r, (digits, bits) in enumerate(graph["bits"][n]):
                row, same = rows.nth(r), bits == graph["bits"][0][r][1]
                exact = "exact" in str(row.get_attribute("class"))
                assert row.locator(".hex").inner_text() == bits
                assert row.locator(".digits").inner_text() == digits
                assert same or not exact, "exact sums keep their bits"
                mark = row.locator(".same")
                assert mark.inner_text() == ("same" if same else "changed")
                assert mark.get_attribute("class") == ("same kept" if same else "same changed")
                changed += not same
            said = card.locator(".numbering").inner_text()
            assert f"Random numbering {n} of" in said
            assert "keeps its bits" in said
        card.get_by_role("button").click()
        assert numbers.all_text_contents() == first
        assert set(card.locator(".same").all_inner_texts()) == {""}
    assert changed, "among so many sums node by node some change"


def test_one_card_is_renumbered_alone(page: Any) -> None:
    page.locator(".card button").first.click()
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
