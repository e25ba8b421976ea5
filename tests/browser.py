"""A page in headless Chromium, cut off from the network: the fixture `visit`, for files that a reader opens."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

#: What a page may ask for: files, and what stands in the page itself.
_LOCAL = re.compile(r"^(file|data|blob|about):")
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Visit(NamedTuple):
    """An open page, and what it should not have done: both lists grow while it is used."""

    page: Any  #: playwright.sync_api.Page
    errors: list[str]  #: errors and warnings on the console, exceptions that nothing caught
    outside: list[str]  #: addresses asked for that are no files; none of them was reached


#: ``visit(path, width=1280, height=900, dark=False)`` opens an HTML file and waits until it is loaded.
Visitor: TypeAlias = Callable[..., Visit]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start the system's Chromium for the tests of one file; skip without it or without Playwright.

    Not for the whole session: while Playwright runs, no other test could start an event loop of its own.
    """
    api = pytest.importorskip("playwright.sync_api", reason="playwright is in minipinet[browser]")
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None:
        pytest.skip("Chromium is not here (on Debian and Ubuntu: apt-get install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Visitor]:
    """Open pages; afterwards fail if one of them had an error or asked for anything from outside."""
    visits: list[tuple[Any, Visit]] = []

    def open_page(path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Visit:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )  # fmt: skip
        visited = Visit(context.new_page(), [], [])
        visits.append((context, visited))

        def stop(route: Any) -> None:
            visited.outside.append(route.request.url)
            route.abort()

        def listen(message: Any) -> None:
            if message.type in ("error", "warning"):
                visited.errors.append(message.text)

        context.route(lambda url: not _LOCAL.match(url), stop)
        visited.page.on("console", listen)
        visited.page.on("pageerror", lambda error: visited.errors.append(str(error)))
        visited.page.goto(path.resolve().as_uri())
        return visited

    yield open_page
    for context, _ in visits:
        context.close()
    assert [visited.outside for _, visited in visits if visited.outside] == []
    assert [visited.errors for _, visited in visits if visited.errors] == []


def overflow(page: Any) -> int:
    """Return by how many pixels the page is wider than its window: more than 0 is a page that scrolls sideways."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def contrast(page: Any, selector: str) -> float:
    """Return the contrast of the first such element's text with what is behind it, 1 to 21 (WCAG 2: 4.5 is readable).

    The background is the nearest ancestor's that has one, without transparency.
    """
    colours = page.locator(selector).first.evaluate(
        """element => {
            const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            const rgba = colour => {
                paint.clearRect(0, 0, 1, 1);
                paint.fillStyle = colour;
                paint.fillRect(0, 0, 1, 1);
                return [...paint.getImageData(0, 0, 1, 1).data];
            };
            const text = rgba(getComputedStyle(element).color);
            for (let at = element; at; at = at.parentElement) {
                const behind = rgba(getComputedStyle(at).backgroundColor);
                if (behind[3] === 255) return [text, behind];
            }
            return [text, [255, 255, 255, 255]];
        }"""
    )
    light, dark = sorted(map(_luminance, colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: list[int]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour[:3])]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
