"""The built site, served on this machine, and a browser to open it with."""

import json
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

SITE = Path(__file__).parents[2] / "_build" / "html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


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
def soups(site):
    pages = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in pages}


@pytest.fixture(scope="session")
def live_pages(site, soups):
    """The pages of the site that have a live figure: its name -> the page, from the site's root."""
    found = {frame["data-live"]: path for path, soup in soups.items() for frame in soup.select("[data-live]")}
    return {name: path.relative_to(site).as_posix() for name, path in found.items()}


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
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail("no Chromium: install it with 'sudo apt-get install chromium'", pytrace=False)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


def lay_out_all(page):
    """Lay out what is far below the screen as well, with its fonts."""
    page.add_style_tag(content="* { content-visibility: visible !important; }")
    page.evaluate("[document.body.offsetHeight, document.fonts.ready][1]")


@pytest.fixture(scope="session")
def disk(site):
    return site.as_uri()


@pytest.fixture
def open_page(browser):
    """Open an address, by default on a desktop, and return the page when its fonts are there."""
    contexts = []

    def opened(url, width=1280, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        page = contexts[-1].new_page()
        page.errors = []
        page.on(
            "console", lambda message: page.errors.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(url, wait_until="load")
        page.evaluate("document.fonts.ready")
        return page

    yield opened
    for context in contexts:
        context.close()
