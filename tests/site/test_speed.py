"""What a page costs: bytes, requests, what moves while it loads, and the work that it gives a browser.

Work is counted, in elements styled and boxes laid out until the page is quiet, and not timed: a busy machine
changes it only where a frame falls between two scripts, so the least of three loads counts.  A page on which
every element is styled once and laid out once would count 2; a half more is for the figure on the first
screen that moves, drawn where its picture was.
"""

import re
from functools import cache
from urllib.parse import urlsplit

import pytest

from tests.site import conftest

MIB = 2**20
CHAPTER = 1.2 * MIB
FRAME = 0.55 * MIB  # of a chapter: all that is not its page and its pictures, still or moving
REQUESTS = 48  # without pictures
CHAPTERS = ["sigmoidal_curves/closed_form", "early_alignment/alignment_time"]
PAGES = ["index", "papers/min2024", *CHAPTERS]
PICTURE = re.compile(r'<img [^>]*src="([^"]*_images/[^"]*)"[^>]*>')
MOVING = re.compile(r'src="([^"]*_static/live/[^"]*)"')
SHIFTS = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shift += entry.hadRecentInput ? 0 : entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


class Load:
    """A page loaded with an empty cache by a machine four times as slow as this one, and what that took."""

    def __init__(self, browser, url, width=1280):
        # A film is work of another kind.
        context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
        page, traced = context.new_page(), []
        session = context.new_cdp_session(page)
        urls, self.bytes, self.events = {}, {}, []

        def count(event):
            path = urlsplit(urls[event["requestId"]]).path
            self.bytes[path.lstrip("/")] = event["encodedDataLength"]

        session.on("Network.requestWillBeSent", lambda e: urls.update({e["requestId"]: e["request"]["url"]}))
        session.on("Network.loadingFinished", count)
        session.on("Tracing.dataCollected", lambda e: self.events.extend(e["value"]))
        session.on("Tracing.tracingComplete", lambda e: traced.append(e))
        session.send("Network.enable")
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        session.send("Tracing.start", {"traceConfig": {"includedCategories": ["devtools.timeline"]}})
        page.add_init_script(SHIFTS)
        page.goto(url, wait_until="load", timeout=120_000)
        page.evaluate("document.fonts.ready")
        page.wait_for_timeout(1500)
        session.send("Tracing.end")
        while not traced:
            page.wait_for_timeout(50)
        self.shift = page.evaluate("window.shift")
        self.nodes = page.evaluate("document.querySelectorAll('*').length")
        context.close()

    @property
    def work(self):
        """How often an element of the page is styled or laid out."""
        styled = sum(e["args"].get("elementCount", 0) for e in self.events if e["name"] == "UpdateLayoutTree")
        starts = [e["args"].get("beginData", {}) for e in self.events if e["name"] == "Layout"]
        return (styled + sum(start.get("dirtyObjects", 0) for start in starts)) / self.nodes


@pytest.fixture(scope="module")
def load(browser, address):
    """Each page is loaded once for all that is asked of it."""
    return cache(lambda name, width=1280, attempt=0: Load(browser, f"{address}/book/{name}.html", width))


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_frame_of_a_chapter_is_light(load, name):
    own = (f"book/{name}.html", "_images/", "_static/live/")
    frame = {path: size for path, size in load(name).bytes.items() if not path.startswith(own)}
    assert sum(frame.values()) <= FRAME, sorted(frame.items(), key=lambda item: -item[1])
    assert len(frame) <= REQUESTS, sorted(frame)


def test_every_chapter_weighs_little(site):
    for name in conftest.CHAPTERS:
        path = site / name
        text = path.read_text(encoding="utf-8")
        pictures = {(path.parent / src).resolve() for src in PICTURE.findall(text) + MOVING.findall(text)}
        assert FRAME + sum(file.stat().st_size for file in (path, *pictures)) <= CHAPTER, name


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_moves_while_a_page_loads(load, name, width):
    assert load(name, width).shift < 0.1


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_is_far_below_waits_and_nothing_is_drawn_twice(load, name):
    assert any(load(name, attempt=attempt).work < 2.5 for attempt in range(3))


@pytest.mark.parametrize("width", [390, 1280])
def test_a_link_into_a_page_lands_exactly(open_page, address, width):
    """What lies above the card is not laid out, and the card is where it should be all the same."""
    name = f"{address}/book/early_alignment/alignment_time.html"
    cards = open_page(name, width=width).locator(".claim-card")
    for target in (cards.first.get_attribute("id"), cards.last.get_attribute("id")):
        page = open_page(f"{name}#{target}", width=width)
        page.wait_for_timeout(500)
        card = page.locator(f"[id='{target}']")
        top = card.evaluate(
            "e => e.getBoundingClientRect().top - parseFloat(getComputedStyle(e).scrollMarginTop)"
        )
        root = "document.documentElement"
        padding = page.evaluate(f"parseFloat(getComputedStyle({root}).scrollPaddingTop) || 0")
        at_end = page.evaluate(f"Math.abs(scrollY + innerHeight - {root}.scrollHeight) < 2")
        assert abs(top - padding) < 2 or (at_end and top > 0)


def test_pictures_wait_until_they_are_near(site):
    pages = ((site / name).read_text(encoding="utf-8") for name in conftest.PAGES)
    pictures = [picture[0] for page in pages for picture in PICTURE.finditer(page)]
    assert len(pictures) > 50 and all(' loading="lazy"' in picture for picture in pictures)


def test_no_source_maps_are_left(site):
    assert [path for path in site.rglob("*.map")] == []
