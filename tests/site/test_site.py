"""The built site, as a reader gets it: complete offline, readable on a phone and in the dark."""

import re
from itertools import pairwise
from urllib.parse import unquote, urldefrag, urljoin

import nbformat
import pytest

from executable_claims.claims.ledger import read_ledger
from tests.site.conftest import CHAPTERS, DEVICES, PAGES, beyond, boxes, unfold, visits

# Formulas that are not typeset, and images that are not there.
MISSING = """() => [
  ...[...document.querySelectorAll(".math:not(:has(mjx-container))")].map((formula) => formula.textContent),
  ...[...document.images].filter((image) => image.complete && !image.naturalWidth).map((image) => image.src),
]"""
# Formulas whose ink lies beyond the first ancestor that hides overflow, and those in text or in the ledger
# that lie beyond one that lets it be scrolled to, but for a table, which scrolls as a whole.
CUT = """() => [...document.querySelectorAll("mjx-math")].filter((formula) => {
  const ink = formula.getBoundingClientRect();
  for (let box = formula.parentElement; ink.width && box; box = box.parentElement) {
    const { overflowX } = getComputedStyle(box);
    if (overflowX === "visible") continue;
    if (box.matches(".pst-scrollable-table-container")) return false;
    const { left, right } = box.getBoundingClientRect();
    const scrolls = overflowX === "auto" || overflowX === "scroll";
    const mustFit = formula.closest("span.math, .claim-card, .erratum, .scorecard, .verdict-line") !== null;
    if (Math.max(left - ink.left, ink.right - right) > 1) return mustFit || !scrolls;
    if (scrolls) return false;
  }
  return false;
}).map((formula) => formula.nextElementSibling.textContent)"""
NUMBER = re.compile(r"(\d+(?:-[a-z])?\.\d+)")
UNRESOLVED = re.compile(
    r"\{(glue:|measured\}|tally\}|ref\}|eq\}|cite)|not yet measured|\$\$|\\[A-Za-z]+|<Figure size"
)


NAMES = [page.removeprefix("book/").removesuffix(".html") for page in PAGES]


@visits(*NAMES)
def test_a_page_opens_complete_and_fits_the_screen(request, visited):
    assert visited.evaluate(MISSING) == []
    widths, _ = DEVICES[request.node.callspec.params["visit"][1]]
    for width in widths:
        visited.set_viewport_size({"width": width, "height": 900})
        assert beyond(visited) <= 1, f"the page is wider than the screen of {width} px"


def test_no_document_holds_the_environment_of_the_build(site):
    """It would be read with the document, in every build."""
    documents = list((site.parent / ".doctrees").rglob("*.doctree"))
    assert len(documents) >= len(PAGES)
    assert [path.stem for path in documents if b"BuildEnvironment" in path.read_bytes()] == []


def test_a_formula_that_is_cut_is_found(open_page, address):
    page = open_page(f"{address}/book/notation.html", width=360)
    page.add_style_tag(content=".math { overflow: hidden !important; max-width: 1rem !important; }")
    assert len(page.evaluate(CUT)) > 50


@visits("run_it")
def test_commands_and_the_entry_for_a_bibliography_are_whole(visited):
    cut = "all => all.filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.innerText)"
    boxes = visited.locator(".bd-article pre")
    assert boxes.count() >= 3 and boxes.evaluate_all(cut) == []


CELLS = {"book/index.html": "table.map td", "book/scorecard.html": "table.scoreboard td a"}


@visits("index", "scorecard", devices=["phone"])
def test_on_a_phone_what_is_said_of_the_papers_is_whole(request, visited):
    shown = visited.locator(CELLS[request.node.callspec.params["visit"][0]])
    assert shown.count() >= 5 and all(len(text.strip()) > 6 for text in shown.all_inner_texts())
    for width in (360, 390, 599):
        visited.set_viewport_size({"width": width, "height": 900})
        edge = visited.locator(".bd-article h1").bounding_box()
        assert max(box["right"] for box in boxes(shown)) <= edge["x"] + edge["width"] + 1


# What unfolds a page comes after what looks at it as it is.


@visits(*NAMES, devices=["phone"])
def test_on_a_phone_no_formula_is_cut(visited):
    unfold(visited)
    for width in DEVICES["phone"][0]:
        visited.set_viewport_size({"width": width, "height": 900})
        assert visited.evaluate(CUT) == [], "a long formula is a display"


@visits("early_alignment/alignment_time", devices=["phone"])
def test_formulas_that_fit_do_not_scroll_and_are_no_tab_stops(visited):
    unfold(visited)
    formulas = visited.locator("span.math")
    scrolling = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    assert formulas.count() > 100 and formulas.evaluate_all(scrolling) == []
    assert visited.locator("span.math:is([tabindex], :has([tabindex]))").count() == 0


@visits("early_alignment/how_small", "sigmoidal_curves/closed_form", "index", devices=["desktop"])
def test_prose_and_figures_have_one_right_edge(visited):
    visited.set_viewport_size({"width": 1366, "height": 900})
    unfold(visited)
    parts = ".bd-article section:not(.proof section) > :is(p, figure, .cell)"
    rights = [box["right"] for box in boxes(visited.locator(f":is({parts}):visible"))]
    assert len(rights) > 5 and max(rights) - min(rights) < 3


@pytest.mark.parametrize("name", ["early_alignment/how_small", "saddle_to_saddle/best_scale", "scorecard"])
def test_the_menu_of_a_phone_fits_its_screen_and_shows_the_entry_of_the_page(open_page, address, name):
    page = open_page(f"{address}/book/{name}.html", width=390)
    page.locator(".primary-toggle").click()
    entry = page.locator("dialog[open] .bd-links a.current").last
    entry.wait_for()
    page.wait_for_timeout(200)
    assert 0 < entry.bounding_box()["y"] < 860
    assert page.locator("dialog[open] .bd-links").bounding_box()["height"] < 900


def test_the_menu_opens_the_part_of_the_page_and_no_other(soups):
    for path in PAGES:
        parts = soups[path].select("nav.bd-links details.menu-part")
        opened = [part for part in parts if part.has_attr("open")]
        assert len(opened) == 1 and len(parts) >= 8, path
        current = soups[path].select("nav.bd-links a.current")
        assert path == "book/index.html" or current[-1].find_parent("details", "menu-part") is opened[0], path


def test_the_number_of_a_theorem_a_figure_or_an_equation_begins_with_that_of_its_page(soups):
    seen = 0
    for path in CHAPTERS:
        page = soups[path].select_one(".bd-article h1 .section-number").text.strip().rstrip(".")
        captions = [one.text for one in soups[path].select("figure .caption-number")]
        boxes = [one.text for one in soups[path].select("div.proof > p.admonition-title .caption-number")]
        formulas = [one.text for one in soups[path].select("span.eqno")]
        numbers = [found[1] for text in captions + boxes + formulas if (found := NUMBER.search(text))]
        assert [one for one in numbers if one.rpartition(".")[0] != page] == [], path
        seen += len(numbers)
    assert seen > 300


def test_links_and_files_exist(soups, site):
    anchors = {
        path: {element.get(key) for element in soup.find_all(True) for key in ("id", "name")}
        for path, soup in soups.items()
    }
    missing = []
    for path, soup in soups.items():
        for element in soup.find_all(["a", "img", "script", "link", "source"]):
            target = element.get("href") or element.get("src") or ""
            external = target.startswith(("http:", "https:", "//"))
            if external and element.name != "a" and "canonical" not in element.get("rel", ()):
                missing.append(f"{path}: {element.name} from the network: {target}")
            if element.get("type") == "module":
                missing.append(f"{path}: a module, which the disk would refuse: {target}")
            if external or target.startswith(("mailto:", "data:", "javascript:")):
                continue
            address, anchor = urldefrag(urljoin(f"/{path}", target))
            found = unquote(address.split("?")[0]).lstrip("/")
            if (site / found).is_dir():
                found = urljoin(f"{found}/", "index.html")
            if not (site / found).exists():
                missing.append(f"{path}: {target}")
            elif anchor and found in anchors and unquote(anchor) not in anchors[found]:
                missing.append(f"{path}: no anchor {target}")
    assert missing == []


def test_pages_are_numbered_and_sections_are_not(soups):
    def numbers(heading):
        selected = (soups[name].select(f".bd-article {heading} .section-number") for name in CHAPTERS)
        return [number.get_text().strip() for found in selected for number in found]

    found = [number.strip(".") for number in numbers("h1")]
    chapters = sorted(int(number) for number in found if number.isdigit())
    assert chapters == list(range(1, len(chapters) + 1))
    below = [sorted(number for number in found if number.startswith(f"{chapter}-")) for chapter in chapters]
    for chapter, pages in zip(chapters, below, strict=True):
        assert pages == [f"{chapter}-{letter}" for letter in "abcdefghi"[: len(pages)]]
    assert len(found) == len(set(found)) == len(CHAPTERS) and numbers("h2") == [] and any(below)


def test_no_role_no_raw_formula_and_no_name_of_an_object_is_left_in_the_text(soups):
    left = [
        f"{path}: {text}"
        for path, soup in soups.items()
        for text in soup.find_all(string=UNRESOLVED)
        if not text.find_parent(("pre", "code", "script", "style"))
    ]
    assert left == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_downloads_as_a_notebook_with_outputs(soups, site, name):
    [link] = soups[name].select("a.btn-download-notebook-button")
    notebook = nbformat.read(site / urljoin(f"/{name}", link["href"]).lstrip("/"), as_version=4)
    nbformat.validate(notebook)
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(bool(output) for output in outputs) >= 2  # a figure and a card, at least
    assert "The next cell installs the book's code" in notebook.cells[0].source
    assert "%pip install" in notebook.cells[1].source


def test_the_scorecard_shows_every_claim_and_only_verdicts_that_cells_produced(soups, records):
    rows = soups["book/scorecard.html"].select("tr.scorecard-row")
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


def test_the_scorecard_filters(open_page, anywhere):
    page = open_page(f"{anywhere}/book/scorecard.html")
    visible = page.locator("tr.scorecard-row:not([hidden])")
    counts = [visible.count()]
    page.select_option("select[name=paper]", "min2024")
    counts.append(visible.count())
    page.select_option("select[name=verdict]", "verified")
    counts.append(visible.count())
    if anywhere.startswith("http"):
        page.reload()
        assert visible.count() == counts[-1], "the choice is kept in the address"
    page.fill("input[name=words]", "theorem 1")
    counts.append(visible.count())
    page.fill("input[name=words]", "no claim says this")
    counts.append(visible.count())
    assert all(more > fewer for more, fewer in pairwise(counts)) and counts[-1] == 0
    assert "0 of" in page.inner_text(".scorecard-filter output")


def test_search_finds_a_chapter(open_page, anywhere):
    page = open_page(f"{anywhere}/search.html?q=alignment")
    page.wait_for_function("Search.title.innerText === 'Search Results'", timeout=20_000)
    hits = page.locator("ul.search li a")
    assert hits.count() >= 10
    hits.filter(has_text="alignment").first.click()
    page.wait_for_selector(".bd-article h1")
    assert page.url.startswith(f"{anywhere}/book/")
