"""The book in docs/: its contents, the way from page to page, the tests it names, and its figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FIGURES = sorted((DOCS / "figures").iterdir())


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draw the figures anew and return their folder."""
    folder = tmp_path_factory.mktemp("figures")
    script = ROOT / "scripts" / "make_figures.py"
    subprocess.run([sys.executable, str(script), "--output", str(folder)], check=True, cwd=folder)
    return folder


def test_every_figure_is_drawn(drawn: Path) -> None:
    assert [path.name for path in FIGURES] == sorted(path.name for path in drawn.iterdir())


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_a_figure_is_what_the_script_draws(path: Path, drawn: Path) -> None:
    assert path.read_text(encoding="utf-8") == (drawn / path.name).read_text(encoding="utf-8")
