"""The files of the figures: sound, the same bytes for the same rows, and nothing global touched."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from minipinet.errors import MinipinetError, Notice, UsageError
from minipinet.results.figures import draw_figures
from tests.drawn_figures import NAMES, some_rows
from tests.table_rows import folds
from tests.test_figure_data import learned

pytest.importorskip("matplotlib", reason="matplotlib is in minipinet[figures]")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return draw_figures(some_rows(), tmp_path_factory.mktemp("figures") / "new" / "folder")


def test_each_figure_is_a_png_and_an_svg(paths: list[Path]) -> None:
    assert [path.name for path in paths] == [f"{name}.{form}" for name in NAMES for form in ("png", "svg")]
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(path.name for path in paths)


@pytest.mark.parametrize("name", NAMES)
def test_pngs_are_pictures_of_a_columns_width(name: str, paths: list[Path]) -> None:
    image = importlib.import_module("PIL.Image")
    (path,) = [path for path in paths if path.name == f"{name}.png"]
    with image.open(path) as picture:
        picture.load()  # decodes all of it
        assert picture.format == "PNG"
        assert picture.width == 1050, "3.5 inches at 300 dots an inch"
        assert 500 < picture.height < 2500
        assert len(set(np.asarray(picture.convert("RGB")).reshape(-1, 3)[:, 0].tolist())) > 10, "empty"
        assert set(picture.info) <= {"dpi"}, "no date, no program"


TEXTS = {
    "isomorphism-sizes": [
        "random labels", "constant features", "PiNet, learned", "WL kernel", "chance", "published", "accuracy (share)",
        "training graphs of each class",
        "isomorphism, protocol paper: 7 rows; random, unfinished: 2 of 660 cells are there; constant, unfinished: 5 of "
        "660 cells are there",
    ],
    "isomorphism-steps": ["training steps, one training graph of each class", "500", "protocol paper: 3 rows;"],
    "comparison-paper": [
        "MUTAG", "NCI1", "PTC", "PiNet, manual", "PATCHY-SAN", "ours", "published", "majority class",
        "accuracy (share)", "comparison, protocol paper: 14 rows; unfinished: 14 of 480 cells are there",
    ],
    "message-passing-paper": [
        "MUTAG", "learned p, q", "A", "A + I", "sym norm A", "sym norm A + I", "published", "mean of the four fixed",
        "message-passing, protocol paper: 42 rows; unfinished: 42 of 400 cells are there",
    ],
    "paths-paper-MUTAG": [
        "attention, layer 1", "attention, layer 2", "features, layer 1", "features, layer 2", "A", "A + I",
        "sym norm A", "sym norm A + I", "p (0 to 1)", "q (0 to 1)", "start", "end",
        "paths, protocol paper: MUTAG, 3 rows; unfinished: 3 of 10 cells are there",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_svgs_hold_their_texts_as_text(name: str, paths: list[Path]) -> None:
    (path,) = [path for path in paths if path.name == f"{name}.svg"]
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("width") == "252pt"
    texts = ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for text in TEXTS[name]:
        assert text in texts or (len(text) > 12 and text in " ".join(texts)), text
    assert b"Matplotlib v" not in path.read_bytes()
    assert not [element for element in root.iter() if element.tag.endswith("}date")]


@pytest.fixture
def names_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of figures without drawing them."""
    monkeypatch.setattr("minipinet.results.figures.render", lambda _: {"png": b"", "svg": b""})


@pytest.mark.usefixtures("names_alone")
def test_a_figure_of_its_own_for_what_is_never_mixed(tmp_path: Path) -> None:
    rows = (
        learned(1) + learned(1, features="degrees", shuffled=1) + learned(1, protocol="fair") + learned(1, quick=True)
    )
    assert [path.stem for path in draw_figures(rows, tmp_path)[::2]] == [
        "comparison-fair", "comparison-paper-degrees-shuffled", "comparison-paper", "paths-fair-MUTAG",
        "paths-paper-MUTAG-degrees-shuffled", "paths-paper-MUTAG", "paths-paper-MUTAG-pinet-quick",
    ]  # fmt: skip


@pytest.mark.usefixtures("names_alone")
def test_no_two_figures_have_one_name(tmp_path: Path) -> None:
    names = ["my-set", "my set", "my  set", "MY-SET", "x" * 200, "x" * 201, "a-shuffled"]
    rows = [row for name in names for row in learned(1, dataset=name)] + learned(1, dataset="a", shuffled=1)
    paths = draw_figures(rows, tmp_path)
    stems = [path.stem for path in paths if path.stem.startswith("paths") and path.suffix == ".png"]
    assert len({stem.casefold() for stem in stems}) == len(names) + 1
    assert len(list(tmp_path.iterdir())) == len(paths)
    assert {"paths-paper-MY-SET", "paths-paper-a-shuffled"} < set(stems)
    alone = draw_figures(learned(1, dataset="my set"), tmp_path / "alone")
    assert alone[-1].stem in stems, "the name does not depend on what else is drawn"


def test_letters_that_the_font_lacks_are_one_notice(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        paths = draw_figures(learned(1, dataset="数据"), tmp_path)
    assert {warning.category for warning in caught} == {Notice}
    text = "figures: matplotlib's font lacks '据', '数', which a PNG has boxes for"
    assert {str(warning.message) for warning in caught} == {text}
    assert "数据" in paths[-1].read_text(encoding="utf-8")
    assert paths[-1].name.isascii()


# --- the same bytes, and nothing else


def digests(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_the_same_rows_give_the_same_bytes_in_any_order_and_process(tmp_path: Path, paths: list[Path]) -> None:
    code = (
        "import json, sys; from pathlib import Path\n"
        "from tests.test_figures import digests, draw_figures, some_rows\n"
        f"print(json.dumps(digests(draw_figures(some_rows()[::-1], Path({str(tmp_path)!r})))))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    settings = tmp_path / "matplotlibrc"
    settings.write_text("font.size: 20\nsvg.fonttype: path\nsavefig.dpi: 50\naxes.facecolor: black\n")
    environment = {**os.environ, "PYTHONHASHSEED": "1", "MATPLOTLIBRC": str(settings), "SOURCE_DATE_EPOCH": "0"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == digests(paths)


def test_nothing_global_is_changed(tmp_path: Path) -> None:
    matplotlib = importlib.import_module("matplotlib")
    with matplotlib.rc_context({"font.size": 30.0, "svg.hashsalt": "mine", "savefig.dpi": 50.0}):
        before = dict(matplotlib.rcParams)
        state = repr(np.random.get_state())  # noqa: NPY002 - it is what must not change
        draw_figures(learned(1), tmp_path)
        assert dict(matplotlib.rcParams) == before
        assert repr(np.random.get_state()) == state  # noqa: NPY002


def test_rows_are_left_as_they_are(tmp_path: Path) -> None:
    rows = learned(1)
    draw_figures(iter(rows), tmp_path)
    assert rows == learned(1)


def test_no_rows_are_no_figures_with_or_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert draw_figures([], tmp_path / "figures") == []
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert draw_figures([], tmp_path / "figures") == []
    assert not (tmp_path / "figures").exists()


def test_missing_matplotlib_is_an_error_that_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"^figures need matplotlib: pip install 'minipinet\[figures\]' \("):
        draw_figures(folds([0.5]), tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MinipinetError, match=r"file: cannot be made: "):
        draw_figures(folds([0.5]), tmp_path / "file")
