"""The report in a real browser: light, dark, on a phone and on paper; it loads nothing and complains of nothing."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.image import imread

from cofit.report.cost import forecast_cost
from cofit.report.page import ReportInput, render_report
from unit.cli.study_models import model_of
from unit.report.models import DESCENTS, FORECAST, descended, planned, released
from unit.report.test_page import TABLE
from unit.study.studies import study_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NAMES = ("age", "<script>document.title = 'taken over'</script>", "dose" * 40, "<img src=http://example.org/x>", "e")
MISSING = "no chromium, chromium-browser or google-chrome is installed"

RATIO = """
(selector) => {
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const rgb = (colour) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    return [...document.querySelectorAll(selector)].filter(e => e.getClientRects().length).map(element => {
        let behind = element;
        while (behind.parentElement && rgb(getComputedStyle(behind).backgroundColor)[3] === 0)
            behind = behind.parentElement;
        const style = getComputedStyle(element);
        const ink = element instanceof SVGElement ? style.fill : style.color;
        const [a, b] = [luminance(rgb(ink)), luminance(rgb(getComputedStyle(behind).backgroundColor))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });
}
"""
"""The contrast of the text of each element against what is behind it, by WCAG 2."""
CUT = """
() => {
    const outside = (inner, outer) => inner.width > 0 && (inner.left < outer.left - 1 || inner.right > outer.right + 1);
    const page = {left: 0, right: document.documentElement.clientWidth};
    const lines = element => {
        const range = document.createRange();
        range.selectNodeContents(element);
        return [...range.getClientRects()];
    };
    const cut = [...document.querySelectorAll("caption, figcaption, .legend li, h1, h2, h3, p, dt, dd, summary")]
        .filter(element => lines(element).some(line => outside(line, page)));
    const labels = [...document.querySelectorAll("svg.plot text")]
        .filter(text => outside(text.getBoundingClientRect(), text.closest("svg").getBoundingClientRect()));
    return [...cut, ...labels].map(element => `${element.tagName}: ${element.textContent.slice(0, 80)}`);
}
"""
"""Captions, headings and texts that reach beyond the screen, and labels beyond their plot."""
READ = ("p", "li", "a", "h1", "h2", "h3", "th", "td", "figcaption", "dt", "dd", "summary", ".label", ".unguaranteed",
        "small", "svg.plot text")  # fmt: skip


@dataclass
class Visit:
    """A loaded page, and everything that went wrong or over the network."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def installed(path: str | None) -> str:
    """Return the path of a browser; without one skip the test, or fail it where COFIT_REQUIRE_BROWSER is 1."""
    if path is None and os.environ.get("COFIT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"COFIT_REQUIRE_BROWSER is 1, and {MISSING}.")
    return path or pytest.skip(MISSING)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; without one tests are skipped, or fail where COFIT_REQUIRE_BROWSER is 1, as in CI."""
    path = installed(CHROMIUM)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = released(planned(), names=NAMES, signal=1.5)
    path = tmp_path_factory.mktemp("report") / "report.html"
    given = ReportInput(model, FORECAST, forecast_cost(model), experiments=(TABLE,))
    path.write_text(render_report(given), encoding="utf-8")
    return path


def visit(browser: Browser, report: Path, width: int, scheme: Any = "light", media: Any = "screen") -> Visit:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen = Visit(context.new_page())
    page = seen.page
    page.on("console", lambda message: seen.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("requestfailed", lambda request: seen.complaints.append(f"failed: {request.url}"))
    page.on("request", lambda request: seen.requests.append(request.url))
    page.emulate_media(media=media, color_scheme=scheme)
    page.goto(report.as_uri())
    return seen


def pixels(png: bytes) -> npt.NDArray[np.float64]:
    return np.asarray(imread(io.BytesIO(png), format="png"), dtype=np.float64)[..., :3]


def background(page: Page, part: float = 0.5) -> float:
    """The median brightness of the page's margin, as it is drawn; ``part``: another quantile of it."""
    return float(np.quantile(pixels(page.screenshot(clip={"x": 0, "y": 0, "width": 12, "height": 400})), part))


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light")])
def test_it_is_readable(browser: Browser, report: Path, width: int, scheme: str) -> None:
    seen = visit(browser, report, width, scheme)
    page = seen.page
    assert seen.requests == [report.as_uri()]
    assert page.title() == "Logistic regression of clinic-a and clinic-b: report on a private model"
    assert (background(page) > 0.9) if scheme == "light" else (background(page) < 0.2)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    for selector in READ:
        ratios = page.evaluate(RATIO, selector)
        assert ratios, selector
        assert min(ratios) >= 4.5, selector
    for text in (
        "The published model limits what can be learned",
        "Who took part",
        "Forecast cost by phase",
        "Epsilons of several releases add up",
        "✓",
    ):
        assert page.get_by_text(text).first.is_visible(), text
    assert page.get_by_text("<script>document.title").first.is_visible()
    plots = page.locator("svg.plot")
    assert plots.count() == 4
    for i in range(plots.count()):
        box = plots.nth(i).bounding_box()
        assert box is not None
        assert box["width"] > 0.8 * min(width, 520)
        assert box["height"] > 60
        drawn = pixels(plots.nth(i).screenshot())
        paper = drawn[0, 0]
        assert (np.abs(drawn - paper).max(axis=2) > 0.25).mean() > 0.01  # ink
        assert len(np.unique(np.round(drawn.reshape(-1, 3), 1), axis=0)) > 8  # of several colours
    assert seen.complaints == []
    page.context.close()


def test_wide_tables_scroll_inside_and_the_certificate_opens(browser: Browser, report: Path) -> None:
    seen = visit(browser, report, 390)
    page = seen.page
    table = page.get_by_role("region", name="Table of the largest weights")
    assert table.evaluate("e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === 'auto'")
    certificate = page.locator("details pre")
    assert not certificate.is_visible()
    page.get_by_text("Show the certificate").click()
    assert certificate.is_visible()
    assert "Hash of the plan:" in certificate.inner_text()
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert seen.complaints == []
    page.context.close()


@pytest.mark.parametrize("width", [320, pytest.param(360, marks=pytest.mark.slow)])
def test_nothing_but_the_cells_of_tables_is_cut_on_a_small_phone(
    browser: Browser, report: Path, tmp_path: Path, width: int
) -> None:
    study = study_of(data__features=[{"name": NAMES[2], "type": "number", "lower": -1e9, "upper": 1e9}])
    of_study = model_of(study, {})
    longest = replace(TABLE, title="A title of a table " * 12, data="data " * 50, columns=TABLE.columns * 4, rows=())
    pages = {
        "descent": ReportInput(descended(**DESCENTS["level, centred"]), FORECAST),
        "study": ReportInput(of_study, FORECAST, forecast_cost(of_study), study=study),
        "wide": ReportInput(released(planned(), names=NAMES), FORECAST, experiments=(longest,)),
    }
    files = [report]
    for name, given in pages.items():
        files.append(tmp_path / f"{name}.html")
        files[-1].write_text(render_report(given), encoding="utf-8")
    for file in files:
        seen = visit(browser, file, width)
        assert seen.page.evaluate(CUT) == [], file.name
        assert seen.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), file.name
        seen.page.context.close()


def test_on_paper(browser: Browser, report: Path) -> None:
    """Light whatever the screen is, the certificate in full without a click, several pages."""
    seen = visit(browser, report, 800, "dark", "print")
    page = seen.page
    assert background(page, 0.7) > 0.97, "but for the box of the statement, which is tinted"
    assert page.locator("pre.on-paper").is_visible()
    assert not page.locator("details").is_visible()
    assert not page.locator("nav").is_visible()
    for selector in ("p", "td", "svg.plot text", "pre.on-paper"):
        assert min(page.evaluate(RATIO, selector)) >= 4.5, selector
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 20
    assert seen.complaints == []
    page.context.close()


def test_scripts_that_get_into_the_page_would_not_run(browser: Browser, report: Path, tmp_path: Path) -> None:
    """The second line of defence: the page's own policy."""
    attacked = tmp_path / "attacked.html"
    attack = "<script>document.title = 'taken over'</script><img src='https://example.org/x.png'></main>"
    attacked.write_text(report.read_text(encoding="utf-8").replace("</main>", attack), encoding="utf-8")
    seen = visit(browser, attacked, 800)
    assert "taken over" not in seen.page.title()
    assert any("Content Security Policy" in complaint for complaint in seen.complaints)
    seen.page.context.close()


@pytest.mark.parametrize(("required", "outcome"), [("1", pytest.fail.Exception), ("0", pytest.skip.Exception)])
def test_without_a_browser(monkeypatch: pytest.MonkeyPatch, required: str, outcome: type[BaseException]) -> None:
    """Skipped, and where a browser is required a failure."""
    monkeypatch.setenv("COFIT_REQUIRE_BROWSER", required)
    with pytest.raises(outcome, match=MISSING):
        installed(None)
