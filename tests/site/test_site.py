"""The built site, as a reader gets it: complete offline, readable on a phone and in the dark."""

from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import nbformat
import numpy as np
import pytest

from lib.claims.ledger import read_ledger
from lib.flow import gradient_flow
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC

SITE = Path(__file__).parents[2] / "_build" / "html"
PAGES = sorted(str(path.relative_to(SITE)) for path in SITE.glob("book/**/*.html"))
CHAPTERS = [page for page in PAGES if page.count("/") == 2 and page.split("/")[1] not in ("api", "papers")]
WIDTHS = {"desktop": ((1280, 820, 1440), "light"), "phone": ((390, 360), "dark")}


def test_there_is_a_site():
    assert len(CHAPTERS) >= 5


@pytest.mark.parametrize("device", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_error_and_asks_only_this_site(browser, address, name, device):
    widths, scheme = WIDTHS[device]
    context = browser.new_context(viewport={"width": widths[0], "height": 900}, color_scheme=scheme)
    page = context.new_page()
    errors, requests = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.on(
        "response",
        lambda answer: errors.append(f"{answer.status} {answer.url}") if answer.status > 399 else None,
    )
    page.goto(f"{address}/{name}", wait_until="load")
    outside = [url for url in requests if not url.startswith((address, "data:", "blob:"))]
    assert (errors, outside) == ([], [])
    raw = "[...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))"
    assert page.evaluate(f"{raw}.map(e => e.textContent)") == []
    assert (
        page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)") == []
    )
    beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(beyond) <= 1, f"the page is wider than the screen of {width} px"
    context.close()


def test_links_and_files_exist(soups, site):
    missing = []
    anchors = {path: anchors_of(soup) for path, soup in soups.items()}
    for path, soup in soups.items():
        base = path.relative_to(site).as_posix()
        for tag, attribute in (
            ("a", "href"),
            ("img", "src"),
            ("script", "src"),
            ("link", "href"),
            ("source", "src"),
        ):
            for element in soup.find_all(tag, **{attribute: True}):
                if "canonical" in element.get("rel", ()):
                    continue
                target = element[attribute]
                external = target.startswith(("http:", "https:", "//"))
                if external and tag != "a":
                    missing.append(f"{base}: {tag} from the network: {target}")
                if external or target.startswith(("mailto:", "data:", "javascript:")):
                    continue
                address, anchor = urldefrag(urljoin(f"/{base}", target))
                found = site / unquote(address.split("?")[0]).lstrip("/")
                found = found / "index.html" if found.is_dir() else found
                if not found.exists():
                    missing.append(f"{base}: {target}")
                elif anchor and found in anchors and unquote(anchor) not in anchors[found]:
                    missing.append(f"{base}: no anchor {target}")
    assert missing == []


def anchors_of(soup):
    return {element[key] for key in ("id", "name") for element in soup.find_all(attrs={key: True})}


def test_pages_are_numbered_and_sections_are_not(soups, site):
    def numbers(heading):
        return [
            number.get_text().strip()
            for soup in chapters
            for number in soup.select(f"{heading} .section-number")
        ]

    chapters = [soups[site / name] for name in CHAPTERS]
    found = [tuple(map(int, number.strip(".").split("."))) for number in numbers(".bd-article h1")]
    below = {number[0]: sorted(n[1] for n in found if len(n) == 2 and n[0] == number[0]) for number in found}
    assert sorted(number[0] for number in found if len(number) == 1) == list(range(1, len(below) + 1))
    assert all(pages == list(range(1, len(pages) + 1)) for pages in below.values())
    assert len(found) == len(set(found)) == len(CHAPTERS) and numbers(".bd-article h2") == []


def test_figures_have_descriptions(soups, site):
    for name in PAGES:
        for image in soups[site / name].select(".bd-article :is(img, .drawing)"):
            assert len(image.get("alt") or image.get("aria-label", "")) > 20, f"{name}: {image}"


def test_nothing_unresolved_is_left_in_the_text(soups, site):
    for path, soup in soups.items():
        article = soup.select_one(".bd-article")
        if article is None or "_modules" in str(path):
            continue
        text = "".join(
            part for part in article.find_all(string=True) if not part.find_parent(("pre", "code"))
        )
        for trace in ("{glue:", "{measured}", "{tally}", "not yet measured", "$$", "{ref}", "{eq}", "{cite"):
            assert trace not in text, f"{path}: {trace}"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_downloads_as_a_notebook_with_outputs(soups, site, name):
    links = [a["href"] for a in soups[site / name].select("a.btn-download-notebook-button")]
    assert len(links) == 1
    path = site / urljoin(f"/{name}", links[0]).lstrip("/")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(bool(output) for output in outputs) >= 2  # a figure and a card, at least
    assert "make lab" in notebook.cells[0].source and "import lib" in notebook.cells[1].source
    prose = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "{glue" not in prose and "```{" not in prose


def test_the_scorecard_shows_every_claim_and_only_verdicts_that_cells_produced(soups, site, records):
    soup = soups[site / "book" / "scorecard.html"]
    rows = soup.select("tr.scorecard-row")
    claims = [claim for paper in read_ledger() for claim in paper.claims]
    assert [row.select_one("code").get_text() for row in rows] == [claim.id for claim in claims]
    assert len(records) >= 60
    for row, claim in zip(rows, claims, strict=True):
        shown = row.select_one(".verdict-badge").get_text()
        undecided = "not here" if claim.expected == "not here" else "not yet"
        assert shown == (records[claim.id]["verdict"] if claim.id in records else undecided)
        link = row.select_one("a.verdict-link")
        assert (link is not None) == (claim.id in records)
        assert link is None or link["href"].endswith(f"#claim-{claim.id}")


def test_the_scorecard_filters(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/book/scorecard.html")
    visible = "document.querySelectorAll('tr.scorecard-row:not([hidden])').length"
    everything = page.evaluate(visible)
    page.select_option("select[name=paper]", "min2024")
    of_one_paper = page.evaluate(visible)
    page.select_option("select[name=verdict]", "verified")
    verified = page.evaluate(visible)
    assert everything > of_one_paper > verified > 0
    page.reload()
    assert page.evaluate(visible) == verified, "the choice is kept in the address"
    page.fill("input[name=words]", "no claim says this")
    assert page.evaluate(visible) == 0
    assert "0 of" in page.inner_text(".scorecard-filter output")
    page.close()


def test_formulas_are_no_tab_stops(open_page, address):
    page = open_page(f"{address}/book/sigmoidal_curves/competition.html")
    assert page.locator("mjx-container").count() > 100
    assert page.locator("mjx-container").evaluate_all("all => all.filter(e => e.tabIndex >= 0).length") == 0
    page.locator(".bd-article h1 a").focus()
    stops = []
    for _ in range(100):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.closest('.math')?.textContent ?? ''"))
    assert "".join(stops) == ""


def test_search_finds_a_chapter(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=alignment")
    page.wait_for_selector("ul.search li a", timeout=20_000)
    assert "alignment" in page.inner_text("ul.search").lower()
    page.close()


def test_the_live_orbits_are_the_library_s(browser, address, live_pages):
    page = browser.new_page()
    page.goto(f"{address}/{live_pages['neuron_orbits']}")
    for h, a in ((0.4, -0.2), (0.4, 0.9), (0.3, -0.5)):
        script = f"import('/_static/live/neuron_orbits.js').then(m => m.orbit({h}, {a}, 10, 0.01))"
        orbit = np.array(page.evaluate(script))
        start = TwoLayer([[h]], [a])
        flow = gradient_flow(start, [[1.0]], [1], LOGISTIC, until=orbit[-1, 0]).at(orbit[:, 0])
        ours = np.exp(flow.log_norms[:, 0]), (flow.signs * np.exp(flow.log_outputs))[:, 0]
        alive = ours[0] > 0.02
        np.testing.assert_allclose(orbit[alive, 1], ours[0][alive], rtol=1e-7)
        np.testing.assert_allclose(orbit[alive, 2], ours[1][alive], rtol=1e-7, atol=1e-9)
    page.locator("[data-live=neuron_orbits] input").first.fill("0.5")
    assert "learns" in page.inner_text("[data-live=neuron_orbits] .live-outcome")
    page.close()
