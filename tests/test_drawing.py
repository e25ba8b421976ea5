"""What is on the figures: marks at the means, and texts that can be read."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from minipinet.experiments.records import to_variant
from minipinet.results.isomorphism_tables import CONSTANT
from tests.drawn_figures import NAMES, drawn, some_rows
from tests.table_rows import PLAIN, folds, made, trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")


@pytest.fixture(scope="module")
def all_drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    return drawn(some_rows(), tmp_path_factory.mktemp("figures"))


def panels(figure: Figure) -> dict[str, Any]:
    return {ax.get_title(): ax for ax in figure.axes}


def line_of(ax: Any, label: str, n: int = 0) -> tuple[list[float], list[float]]:
    """Return what the n-th line with this label is drawn through."""
    line = [line for line in ax.lines if line.get_label() == label][n]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def test_curves_go_through_the_means(all_drawn: dict[str, Figure]) -> None:
    axes = panels(all_drawn["isomorphism-sizes"])
    assert list(axes) == ["random labels", "constant features"]
    assert line_of(axes["constant features"], "PiNet, learned") == ([1, 2], [0.5, 1.0])
    assert line_of(axes["constant features"], "chance")[1] == [0.2, 0.2]
    (band,) = axes["constant features"].collections
    half = math.sqrt(1 / 8)
    heights = band.get_paths()[0].vertices[:, 1].tolist()
    assert sorted(set(heights)) == pytest.approx([0.5 - half, 0.5 + half, 1.0])
    assert line_of(axes["random labels"], "WL kernel") == ([4], [1.0])
    dashed = [
        line for line in axes["random labels"].lines if line.is_dashed() and len(np.asarray(line.get_xdata())) == 10
    ]
    assert sorted(np.asarray(line.get_ydata())[0] for line in dashed) == [0.21, 0.25, 0.27, 0.39, 0.70]
    steps = panels(all_drawn["isomorphism-steps"])["constant features"]
    assert line_of(steps, "PiNet, learned") == ([200, 500], [0.5, 0.5])
    assert steps.get_xscale() == "log"


def test_bars_reach_from_the_majority_class_to_the_means(all_drawn: dict[str, Figure]) -> None:
    axes = panels(all_drawn["message-passing-paper"])
    bars = {round(bar.get_x() + bar.get_width() / 2): bar for bar in axes["MUTAG"].patches}
    ends = {place: (bar.get_y(), bar.get_y() + bar.get_height()) for place, bar in bars.items()}
    assert ends == {k + 1: pytest.approx((2 / 3, 0.5 + k / 8)) for k in range(4)}, "the first is missing"
    assert line_of(axes["MUTAG"], "mean of the four fixed")[1] == [0.6875, 0.6875]
    assert line_of(axes["MUTAG"], "majority class")[1] == [2 / 3, 2 / 3]
    published = [line_of(axes["MUTAG"], "published", k) for k in range(5)]
    assert published == [([k], [mean]) for k, mean in enumerate((0.879, 0.868, 0.852, 0.845, 0.846))]
    with pytest.raises(IndexError):
        line_of(axes["NCI1"], "mean of the four fixed")
    (segments,) = [bar[0].get_segments() for bar in [axes["NCI1"].containers[1].lines[2]]]
    assert segments[0][:, 1] == pytest.approx([0.875 - math.sqrt(1 / 32), 0.875 + math.sqrt(1 / 32)])


def test_dots_stand_at_the_means(all_drawn: dict[str, Figure]) -> None:
    axes = panels(all_drawn["comparison-paper"])
    assert list(axes) == ["MUTAG", "NCI1", "PTC"], "the parts of PTC are behind its mean"
    order = [label.get_text() for label in axes["MUTAG"].get_yticklabels()]
    assert order == ["PiNet, learned", "PiNet, manual", "GCN + Sum", "GCN + Dense", "WL kernel", "PATCHY-SAN"]
    found = {}
    for container in axes["MUTAG"].containers:
        (x,), (y,) = (np.asarray(data).tolist() for data in container.lines[0].get_data())
        (bar,) = container.lines[2][0].get_segments()
        found[container.get_label(), order[round(y)]] = [x, (bar[1, 0] - bar[0, 0]) / 2]
    ours = {name: values for (source, name), values in found.items() if source == "ours"}
    assert ours == {
        "PiNet, learned": pytest.approx([0.5, 0.0]),
        "WL kernel": pytest.approx([0.8, math.sqrt(1 / 200)]),
    }
    assert found["published", "WL kernel"] == pytest.approx([0.684, 0.0])
    assert found["published", "PATCHY-SAN"] == pytest.approx([0.85, 0.06])
    assert line_of(axes["MUTAG"], "majority class")[0] == [2 / 3, 2 / 3]


def test_paths_have_p_to_the_right_and_q_upwards(all_drawn: dict[str, Figure]) -> None:
    axes = list(panels(all_drawn["paths-paper-MUTAG"]).values())
    for layer, ax in enumerate(axes):
        for fold in range(3):
            p, q = line_of(ax, "one training", fold)
            assert p == pytest.approx([0.5] + [0.6 + fold / 100 + layer / 8] * 2)
            assert q == pytest.approx([0.5] + [0.4 + layer / 8] * 2)
            assert line_of(ax, "start", fold) == ([0.5], [0.5])
            assert line_of(ax, "end", fold) == ([p[-1]], [q[-1]])
        corners = {text.get_text(): text.get_position() for text in ax.texts}
        assert {name: (x, round(y)) for name, (x, y) in corners.items()} == {
            "A": (1, 0), "A + I": (1, 1), "sym norm A": (0, 0), "sym norm A + I": (0, 1)
        }  # fmt: skip


def test_the_caption_of_curves_says_what_is_not_alike(tmp_path: Path, all_drawn: dict[str, Figure]) -> None:
    def caption(figure: Figure) -> str:
        return " ".join(figure.get_supxlabel().split())

    for name in ("isomorphism-sizes", "isomorphism-steps"):
        assert CONSTANT in caption(all_drawn[name])
    published = "published: of random labels, their PiNet with p = 1, q = 0"
    assert published in caption(all_drawn["isomorphism-sizes"])
    assert published not in caption(all_drawn["isomorphism-steps"]), "no curve there is published"
    random = [row._replace(cell=row.cell._replace(features="random")) for row in trials([0.5])]
    found = caption(drawn(random, tmp_path)["isomorphism-sizes"])
    assert published in found
    assert CONSTANT not in found
    found = caption(drawn(trials([0.5]), tmp_path)["isomorphism-sizes"])
    assert published not in found


def texts_of(figure: Figure) -> Iterator[Text]:
    """Yield the texts that can be seen."""
    for ax in figure.axes:
        yield from (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            for tick in axis.get_major_ticks():
                if min(limits) <= tick.get_loc() <= max(limits):
                    yield tick.label1
    for legend in figure.legends:
        yield from legend.get_texts()
    yield from figure.texts


def assert_readable(figure: Figure) -> None:
    """Check that no two texts overlap, and that none reaches beyond the figure."""
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    agg.FigureCanvasAgg(figure).draw()
    texts = [text for text in texts_of(figure) if text.get_visible() and text.get_text()]
    assert len(texts) > 10
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for text, box in boxes:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.width + 1, text
        assert box.y1 <= figure.bbox.height + 1, text
    for (one, first), (two, second) in combinations(boxes, 2):
        assert not first.padded(-0.5).overlaps(second.padded(-0.5)), f"{one!r} on {two!r}"


@pytest.mark.parametrize("name", NAMES)
def test_no_text_lies_on_another(name: str, all_drawn: dict[str, Figure]) -> None:
    assert_readable(all_drawn[name])


def test_odd_models_are_drawn_readably_too(tmp_path: Path) -> None:
    variants = [{"hidden": 10 + k, "epochs": 3, "init": "glorot", "lr": 0.002} for k in range(9)]
    cells = [
        PLAIN._replace(system="pinet", variant=to_variant(**settings), fold=k) for k, settings in enumerate(variants)
    ]
    rows = [made(cell, 0.5) for cell in cells] + folds([0.75, 1.0], quick=True)
    rows += [row._replace(cell=row.cell._replace(experiment="message-passing")) for row in rows]
    found = drawn([row._replace(details={}) for row in rows], tmp_path)
    assert list(found) == ["comparison-paper", "message-passing-paper"]
    for figure in found.values():
        assert_readable(figure)
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in found["message-passing-paper"].axes[0].patches}
    assert len(looks) == 10, "no two models look alike"
