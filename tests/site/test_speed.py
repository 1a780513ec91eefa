"""What a page costs: bytes, requests, what moves while it loads, and the work that it gives a browser.

Work is counted, in elements styled and boxes laid out until the page is quiet, and not timed: the counts are
the same on a busy machine.  A page on which every element is styled once and laid out once would count 2.
"""

import re
from urllib.parse import urlsplit

import pytest

MIB = 2**20
CHAPTER = 1.5 * MIB
FRAME = 0.6 * MIB  # of a chapter: all that is not its page and its pictures
REQUESTS = 48  # without pictures
CHAPTERS = ["sigmoidal_curves/closed_form", "early_alignment/alignment_time"]
PAGES = ["index", "papers/min2024", *CHAPTERS]
PICTURE = re.compile(r'<img [^>]*src="([^"]*_images/[^"]*)"[^>]*>')
SHIFTS = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shift += entry.hadRecentInput ? 0 : entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


class Load:
    """A page loaded with an empty cache by a machine four times as slow as this one, and what that took."""

    def __init__(self, browser, url, width=1280):
        context = browser.new_context(viewport={"width": width, "height": 900})
        page, requests, traced = context.new_page(), {}, []
        session = context.new_cdp_session(page)
        self.bytes, self.events = {}, []
        session.on(
            "Network.requestWillBeSent", lambda e: requests.update({e["requestId"]: e["request"]["url"]})
        )
        session.on("Network.loadingFinished", lambda e: self.count(requests[e["requestId"]], e))
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

    def count(self, url, event):
        self.bytes[urlsplit(url).path.lstrip("/")] = event["encodedDataLength"]

    @property
    def work(self):
        """How often an element of the page is styled or laid out."""
        styled = sum(e["args"].get("elementCount", 0) for e in self.events if e["name"] == "UpdateLayoutTree")
        starts = [e["args"].get("beginData", {}) for e in self.events if e["name"] == "Layout"]
        return (styled + sum(start.get("dirtyObjects", 0) for start in starts)) / self.nodes


@pytest.fixture(scope="module")
def load(browser, address):
    loads = {}

    def loaded(name, width=1280):
        if (name, width) not in loads:
            loads[name, width] = Load(browser, f"{address}/book/{name}.html", width)
        return loads[name, width]

    return loaded


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_frame_of_a_chapter_is_light(load, name):
    own = (f"book/{name}.html", "_images/")
    frame = {path: size for path, size in load(name).bytes.items() if not path.startswith(own)}
    assert sum(frame.values()) <= FRAME, sorted(frame.items(), key=lambda item: -item[1])
    assert len(frame) <= REQUESTS, sorted(frame)


def test_every_chapter_weighs_little(site):
    weights = {}
    for path in site.glob("book/*/*.html"):
        page = path.read_text(encoding="utf-8")
        if "btn-download-notebook-button" in page:
            pictures = {(path.parent / picture[1]).resolve() for picture in PICTURE.finditer(page)}
            weights[path.stem] = FRAME + sum(file.stat().st_size for file in (path, *pictures))
    assert len(weights) > 50
    assert {name: weight for name, weight in weights.items() if weight > CHAPTER} == {}


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_moves_while_a_page_loads(load, name, width):
    assert load(name, width).shift < 0.1


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_is_far_below_waits_and_nothing_is_drawn_twice(load, name):
    assert load(name).work < 2


@pytest.mark.parametrize("width", [390, 1280])
def test_a_link_into_a_page_lands_exactly(browser, address, width):
    """What lies above the card is not laid out, and the card is where it should be all the same."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    name = f"{address}/book/early_alignment/alignment_time.html"
    page.goto(name)
    targets = page.evaluate("[...document.querySelectorAll('.claim-card')].map(card => card.id)")
    assert len(targets) > 2
    for target in (targets[0], targets[-1]):
        page.goto("about:blank")
        page.goto(f"{name}#{target}")
        page.wait_for_timeout(500)
        card = page.locator(f"[id='{target}']")
        top = card.evaluate(
            "e => e.getBoundingClientRect().top - parseFloat(getComputedStyle(e).scrollMarginTop)"
        )
        padding = page.evaluate(
            "parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0"
        )
        at_end = page.evaluate("Math.abs(scrollY + innerHeight - document.documentElement.scrollHeight) < 2")
        assert abs(top - padding) < 2 or (at_end and top > 0)
    page.close()


def test_pictures_have_their_size_and_wait(site):
    pages = [path.read_text(encoding="utf-8") for path in site.glob("book/**/*.html")]
    pictures = [picture[0] for page in pages for picture in PICTURE.finditer(page)]
    assert len(pictures) > 50
    for picture in pictures:
        assert re.search(r' width="[1-9]\d*" height="[1-9]\d*" ', picture) and ' loading="lazy"' in picture


def test_no_source_maps_are_left(site):
    assert [path for path in site.rglob("*.map")] == []
