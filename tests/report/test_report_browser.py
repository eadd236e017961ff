"""The page in a real browser: readable by everybody, quiet on the network."""

import pytest

from snellen.report.html import html_report

pytestmark = pytest.mark.browser
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(bundle, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(html_report(bundle))
    return path.as_uri()


@pytest.fixture(
    scope="module",
    params=[("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)],
    ids=["light-1280", "dark-1280", "light-390", "dark-390"],
)
def opened(request, browser, address):
    """A page with everything unfolded, what it asked the network for, what it complained about."""
    scheme, width = request.param
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked, said = [], []
    page.on("request", lambda x: asked.append(x.url))
    page.on("console", lambda x: said.append(x.text))
    page.on("pageerror", lambda x: said.append(str(x)))
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(x => { x.open = true; })")
    yield page, asked, said
    page.close()


@pytest.mark.slow
def test_axe_finds_no_violation(opened):
    from axe_playwright_python.sync_playwright import Axe

    page, _, _ = opened
    found = Axe().run(page).response["violations"]
    assert [(x["id"], x["nodes"][0]["html"]) for x in found] == []


def test_the_page_asks_for_nothing_and_complains_of_nothing(opened, address):
    _, asked, said = opened
    assert {url for url in asked if url != "data:,"} == {address}
    assert said == []


def test_the_page_never_scrolls_sideways(opened):
    page, _, _ = opened
    over = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert over <= 0


def test_text_in_pictures_is_at_least_nine_pixels_high(opened):
    page, _, _ = opened
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('svg text')].map(text => {
            const svg = text.ownerSVGElement;
            return parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a;
        }))"""
    )
    assert smallest >= 9


def test_the_skip_link_is_the_first_stop_and_leads_to_the_report(browser, address):
    page = browser.new_page()
    page.goto(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.close()


def test_a_label_is_text_and_never_runs(browser, address):
    page = browser.new_page()
    dialogs = []
    page.on("dialog", lambda x: dialogs.append(x.message))
    page.goto(address)
    assert page.evaluate("document.scripts.length") == 0
    assert dialogs == []
    page.close()
