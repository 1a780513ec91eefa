"""The built site, served on this machine, and a browser to open it with."""

import json
import os
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

from tests.site.browser import MISSING, find_browser

SITE = Path(__file__).parents[2] / "_build" / "html"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.glob("book/**/*.html"))
CHAPTERS = [page for page in PAGES if page.count("/") == 2 and page.split("/")[1] not in ("api", "papers")]
FORMULA = re.compile(r"<mjx-container.*?</mjx-container>", re.S)
DRAWN = re.compile(r"(<svg\b[^>]*>).*?(</svg>)", re.S)
# Two pages of the browser's own, in every window, take as long as a page of the site; the others are of the
# list that Playwright turns off, which this one replaces.
OFF = """
WebUIOmniboxPopup WebUIOmniboxAimPopup AimEnabled DestroyProfileOnBrowserClose HttpsUpgrades LensOverlay
MediaRouter OptimizationHints PaintHolding PreconnectToSearch
"""
DEVICES = {"desktop": ((1280, 820, 1440), "light"), "phone": ((390, 360), "dark")}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Say nothing: a page asks for dozens of files."""

    def send_error(self, code, message=None, explain=None):
        """Answer a miss with the site's own page, as servers of static sites do."""
        self.error_message_format = Path(self.directory, "404.html").read_text().replace("%", "%%")
        super().send_error(code, message, explain)


@pytest.fixture(scope="session")
def site():
    if not (SITE / "book" / "index.html").exists():
        pytest.fail("the site is not built; run: make book", pytrace=False)
    return SITE


@pytest.fixture(scope="session")
def sources(site):
    """The HTML of all pages of the site, by their paths from its root; formulas are left out."""
    return {
        path.relative_to(site).as_posix(): FORMULA.sub("", path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }


@pytest.fixture(scope="session")
def soups(sources):
    """All pages of the site, by their paths; what is inside of drawings is left out too."""
    return {
        page: BeautifulSoup(DRAWN.sub(r"\1\2", source), "html.parser") for page, source in sources.items()
    }


@pytest.fixture(scope="session")
def records(site):
    """The records of the claims that a cell has decided, by their ids."""
    listed = json.loads((site / "claims.json").read_text())["claims"]
    return {entry["claim"]["id"]: entry for entry in listed if entry["comparison"]}


@pytest.fixture(scope="session")
def address(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser():
    if (path := find_browser()) is None:
        pytest.fail(MISSING, pytrace=False) if os.environ.get("CI") else pytest.skip(MISSING)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        options.append(f"--disable-features={','.join(OFF.split())}")
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were left out for want of a browser, and how to have one."""
    skipped = terminalreporter.stats.get("skipped", ())
    if count := sum(MISSING in str(report.longrepr) for report in skipped):
        terminalreporter.section("the browser")
        terminalreporter.line(f"{count} tests of the site were left out: {MISSING}")


@pytest.fixture(scope="session")
def disk(site):
    return site.as_uri()


@pytest.fixture(params=["address", "disk"])
def anywhere(request):
    """Where the site is: on a server, or opened from the disk."""
    return request.getfixturevalue(request.param)


def opened(browser, url, width=1280, **options):
    """Open an address in a context of its own, and return the page when its fonts are there.

    Its ``errors`` are what it complains of, and what it asks of another host.
    """
    page = blank(browser, viewport={"width": width, "height": 900}, **options)
    go(page, url)
    return page


def blank(browser, **options):
    """An empty page in a context of its own, which notes its ``errors``."""
    page = browser.new_context(**options).new_page()
    page.errors = []

    def asked(request):
        if urlsplit(request.url).hostname not in (None, "127.0.0.1"):
            page.errors.append(f"asked for {request.url}")

    page.on("console", lambda message: message.type == "error" and page.errors.append(message.text))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", asked)
    return page


def go(page, url):
    """Lead a page to an address, and wait for its fonts."""
    page.goto(url, wait_until="load")
    page.evaluate("document.fonts.ready")


@pytest.fixture
def open_page(browser):
    """Open an address, by default on a desktop; an error until the test is over fails it."""
    pages = []

    def open_one(url, width=1280, **options):
        pages.append(opened(browser, url, width, **options))
        return pages[-1]

    yield open_one
    for page in pages:
        page.context.close()
    assert [error for page in pages for error in page.errors] == []


def visits(*names, devices=DEVICES):
    """Give a test the fixture ``visited``, for pages of the book, by their names, on devices."""
    visited = [(f"book/{name}.html", device) for name in names for device in devices]
    return pytest.mark.parametrize("visit", visited, indirect=True, ids="-".join)


@pytest.fixture(scope="session")
def visitor(browser):
    """The one tab of all visits: a page opens in half of the time that it takes in a new one."""
    page = blank(browser)
    yield page
    page.context.close()


@pytest.fixture(scope="session")
def visit(request, visitor, address):
    """A page on a device, opened once: pytest lets the tests that look at it follow each other."""
    name, device = request.param
    widths, scheme = DEVICES[device]
    visitor.set_viewport_size({"width": widths[0], "height": 900})
    visitor.emulate_media(media="null", color_scheme=scheme)
    go(visitor, f"{address}/{name}")
    return visitor


@pytest.fixture
def visited(visit):
    """The page of a visit, to be left as it is but for what is laid out and unfolded; no error is allowed."""
    size = visit.viewport_size
    yield visit
    visit.set_viewport_size(size)
    assert forget_errors(visit) == []


def forget_errors(page):
    """What a page that several tests share has complained of since the last one."""
    errors, page.errors[:] = page.errors[:], []
    return errors


def unfold(page):
    """Open what is folded, and lay out what is far below the screen as well, with its fonts."""
    page.evaluate("document.querySelectorAll('.bd-article details').forEach((one) => (one.open = true))")
    lay_out_all(page)


def lay_out_all(page):
    """Lay out what is far below the screen as well, with its fonts."""
    page.add_style_tag(content="* { content-visibility: visible !important; }")
    page.evaluate("[document.body.offsetHeight, document.fonts.ready][1]")


def beyond(page):
    """By how many pixels a page is wider than its screen."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def boxes(locator):
    """The places of all that is meant on the screen, with their sides."""
    return locator.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")


def contrast(one, other):
    """The contrast of two colours, as a browser writes them: from 1 to 21."""

    def luminance(colour):
        channels = [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(c * share for c, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))

    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)
