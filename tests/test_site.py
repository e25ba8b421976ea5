"""The static site: it is built without a warning, every link in it leads somewhere, and it opens in a browser."""

from __future__ import annotations

import fcntl
import html
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest

from tests.browser import Visitor, contrast, overflow
from tests.thinned import thinned

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
needs_docs = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("sphinx", "myst_parser", "furo", "latex2mathml", "ziamath"))),
    reason="Sphinx and what it needs are in minipinet[docs]",
)
pytestmark = [pytest.mark.slow, needs_docs]

CHAPTERS = re.findall(r"\]\(([^)#]+)\.md\)", (DOCS / "index.md").read_text(encoding="utf-8"))
PAGES = ["index", "search", "api/index", "api/minipinet.propagation", "api/minipinet.verify", "CHANGELOG"]
PAGES += ["_modules/minipinet/propagation", "docs/index", *(f"docs/{chapter}" for chapter in CHAPTERS)]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, once for all test processes; MINIPINET_SITE names one that is built already."""
    if "MINIPINET_SITE" in os.environ:
        return Path(os.environ["MINIPINET_SITE"])
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "site").is_dir():
            command = [sys.executable, str(ROOT / "scripts" / "make_site.py"), "--output", str(shared / "site")]
            outcome = subprocess.run(command, capture_output=True, text=True, check=False)
            assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return shared / "site"


@pytest.fixture(scope="module")
def mathml() -> ModuleType:
    """Return the extension that converts formulas."""
    spec = importlib.util.spec_from_file_location("mathml", DOCS / "_ext" / "mathml.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def attributes(page: str, *names: str) -> set[str]:
    """Return the values of these attributes in a page's text."""
    return {html.unescape(value) for _, value in re.findall(rf'\s({"|".join(names)})="([^"]*)"', page)}


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_outside(site: Path) -> None:
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    anchors = {path: attributes(text, "id", "name") for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        loaded = {value for tag in re.findall(r"<(?:link|script|img|source|iframe)\b[^>]*>", text)
                  for value in attributes(tag, "href", "src", "srcset")}  # fmt: skip
        assert [address for address in loaded if "//" in address] == [], path
        for link in attributes(text, "href", "src"):
            target, _, anchor = unquote(link).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = (path.parent / target.partition("?")[0]).resolve() if target else path
            if not file.exists() or (anchor and file in anchors and anchor not in anchors[file]):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    assert broken == []
    assert len(texts) > 200


def test_every_public_module_is_in_the_reference(site: Path) -> None:
    modules = {module.name for module in pkgutil.walk_packages([str(ROOT / "minipinet")], "minipinet.")}
    public = {name for name in modules if not re.search(r"\._|__", name)}
    assert {path.stem for path in (site / "api").glob("minipinet.*.html")} == public


def test_no_formula_is_left_as_it_is_written(site: Path) -> None:
    for name in ("index", *(f"docs/{chapter}" for chapter in CHAPTERS)):
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        shown = re.sub(r"<(pre|code|script|style)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
        assert re.findall(r".{0,20}(?:\$|\\[a-z{]|&amp;#).{0,20}", shown) == [], name


@pytest.mark.parametrize(
    "latex",
    [
        r"\foo", r"x + \unknown{y}", r"\frac{1}", "x^", "a_b_c", "{", "}", r"\left(x", r"\begin{x}a\end{x}",
        "a & b", r"a \\ b", r"\text{a $x$}", r"\label{a} x", "", r"\mathcal +",
    ],
)  # fmt: skip
def test_a_formula_that_cannot_be_converted_is_refused(latex: str, mathml: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"."):
        mathml.mathml(latex)


def test_formulas_become_mathml(mathml: ModuleType) -> None:
    converted = mathml.mathml(r"\tilde A = S (A + qI) S")
    assert re.sub(r"<[^>]*>", "", converted) == "A~=S(A+qI)S"
    assert converted.count("<mover>") == 1
    assert '<mo form="prefix">\u2212</mo><mi>ln</mi><mspace width="0.167em"' in mathml.mathml(r"L = -\ln Z_y")
    assert 'form="prefix"' not in mathml.mathml("(a) - b, [a] + b, |a| - b")
    assert "mspace" not in mathml.mathml(r"\ln (Z)")
    assert 'lspace="0"' in mathml.mathml("1 / 2")
    assert 'mathvariant="normal"' in mathml.mathml(r"\mathrm{Var}(x)")
    # Characters of their own: a browser shows <mi mathvariant="script"> as any other <mi>.
    assert [re.sub(r"<[^>]*>", "", mathml.mathml(latex)) for latex in (r"\mathcal G", r"\mathcal L", r"\mathbf 1")] == [
        "\N{MATHEMATICAL SCRIPT CAPITAL G}", "\N{SCRIPT CAPITAL L}", "\N{MATHEMATICAL BOLD DIGIT ONE}"
    ]  # fmt: skip
    assert "<mtable" in mathml.mathml(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "block")


def test_what_is_broken_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Page\n\n$\\foo$, [gone](nowhere.md), [gone](#part), [here](LICENSE)\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-c", str(DOCS)]
    command += [str(tmp_path), str(tmp_path / "built")]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 1
    warnings = re.findall(r"WARNING: (.*)", outcome.stderr)
    assert len(warnings) == 3
    assert all(part in outcome.stderr for part in (r"no MathML for \foo", "nowhere.md", "'part'"))


def test_the_front_page_is_the_readme_with_the_chapters_in_order(site: Path, visit: Visitor) -> None:
    page = visit(site / "index.html").page
    assert page.inner_text("h1").startswith("minipinet")
    links = page.locator(".sidebar-tree a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    chapters = [link for link in links if link.startswith("docs/")]
    assert chapters == [f"docs/{name}.html" for name in ("index", *CHAPTERS)]
    assert page.evaluate("document.querySelector('article img').naturalWidth") > 100


def test_mathematics_is_set(site: Path, visit: Visitor) -> None:
    page = visit(site / "docs" / "message-passing.html").page
    sizes = page.locator("math").evaluate_all(
        "all => all.map(math => [math.getBoundingClientRect().width, math.getBoundingClientRect().height])"
    )
    assert len(sizes) >= 5
    assert all(width > 4 and height > 4 for width, height in sizes)
    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px \"STIX Two Math\"')")
    assert page.evaluate("[...document.fonts].map(font => font.status)") == ["loaded"]


def follow(page: Any, link: Any) -> None:
    """Click on a link, and wait until the page that it leads to is all there: a part of it can be read before."""
    with page.expect_navigation():
        link.click()


def test_search_finds_the_chapter(site: Path, visit: Visitor) -> None:
    page = visit(site / "index.html").page
    page.fill(".sidebar-search", "softmax")
    page.press(".sidebar-search", "Enter")
    page.get_by_text("Search finished").wait_for()
    results = page.locator("ul.search a")
    names = results.all_inner_texts()
    assert "The gradient of the column softmax" in names[:3]
    assert any("column_softmax_forward" in name for name in names)
    follow(page, results.get_by_text("The gradient of the column softmax"))
    assert page.inner_text("h1").startswith("The gradient of the column softmax")


def test_files_of_the_project_are_a_click_away(site: Path, visit: Visitor) -> None:
    page = visit(site / "docs" / "message-passing.html").page
    follow(page, page.locator("article a >> text=minipinet/propagation.py").first)
    assert "def propagate_forward" in page.inner_text("article pre")
    follow(page, page.locator("#propagate_forward .viewcode-back"))
    entry = page.locator("dl:has(> dt[id='minipinet.propagation.propagate_forward'])")
    assert "Multiply by the preprocessed adjacency matrix" in entry.inner_text()
    assert ">>> H, _ = propagate_forward" in entry.inner_text()


@pytest.mark.parametrize("width", [375, 1280])
def test_no_page_scrolls_sideways(site: Path, visit: Visitor, width: int) -> None:
    """Nor does the part with the text, which would on narrow screens."""
    page: Any = visit(site / "index.html", width=width).page
    wide = {}
    for name in thinned(PAGES):
        page.goto((site / f"{name}.html").resolve().as_uri())
        text = page.locator(".content").evaluate("text => text.scrollWidth - text.clientWidth")
        wide[name] = max(overflow(page), text)
    assert {name: by for name, by in wide.items() if by} == {}


@pytest.mark.parametrize("dark", [False, True])
def test_pages_are_readable_by_day_and_by_night(site: Path, visit: Visitor, dark: bool) -> None:
    page = visit(site / "docs" / "message-passing.html", dark=dark).page
    for part in ("article p", "article a", "article math", "article pre span", ".sidebar-tree a"):
        assert contrast(page, part) >= 4.5, part
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light is not dark
