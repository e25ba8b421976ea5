"""The fixture of the browser tests: what it is to find, it finds."""

from __future__ import annotations

from pathlib import Path

from tests.browser import Visit, Visitor, contrast, overflow


def made(visit: Visitor, path: Path, body: str, width: int = 1280, dark: bool = False) -> Visit:
    """Open a page of that body."""
    path.write_text(f"<!doctype html><meta charset=utf-8><title>Page</title><body>{body}", encoding="utf-8")
    return visit(path, width=width, dark=dark)


def test_requests_for_anything_but_files_are_told_and_stopped(visit: Visitor, tmp_path: Path) -> None:
    image = '<img src="https://example.org/a.png"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><p>here</p>'
    visited = made(visit, tmp_path / "page.html", image)
    assert visited.page.inner_text("p") == "here"
    assert visited.outside == ["https://example.org/a.png"]
    assert len(visited.errors) == 1, "a request that was stopped is an error on the console too"
    visited.outside.clear()  # or the fixture itself fails this test, as it should others
    visited.errors.clear()


def test_errors_are_told(visit: Visitor, tmp_path: Path) -> None:
    script = "<script>console.error('first'); console.log('fine'); throw new Error('second')</script>"
    visited = made(visit, tmp_path / "page.html", script)
    assert len(visited.errors) == 2
    assert "first" in visited.errors[0]
    assert "second" in visited.errors[1]
    visited.errors.clear()


def test_overflow_is_measured(visit: Visitor, tmp_path: Path) -> None:
    body = '<div style="width: 400px; height: 9px; margin: -8px">'
    assert overflow(made(visit, tmp_path / "page.html", body, width=375).page) == 25
    assert overflow(made(visit, tmp_path / "page.html", body, width=500).page) == 0


def test_contrast_is_that_of_wcag(visit: Visitor, tmp_path: Path) -> None:
    style = "<style>body {background: #fff} @media (prefers-color-scheme: dark) {body {background: #000}}</style>"
    page = made(visit, tmp_path / "page.html", style + '<p style="color: #000">a</p><i style="color: #777">b</i>').page
    assert (contrast(page, "p"), round(contrast(page, "i"), 2)) == (21, 4.48)
    assert contrast(made(visit, tmp_path / "page.html", style + '<p style="color: #000">', dark=True).page, "p") == 1
