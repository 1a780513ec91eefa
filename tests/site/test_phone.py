"""The built site on a phone: nothing that a reader needs is cut off or hidden."""

from pathlib import Path

import pytest

from tests.site.conftest import lay_out_all

SITE = Path(__file__).parents[2] / "_build" / "html"
PAGES = sorted(
    str(path.relative_to(SITE))
    for path in SITE.glob("book/**/*.html")
    if 'class="math ' in path.read_text(encoding="utf-8")
)
OPEN_ALL = "document.querySelectorAll('.bd-article details').forEach((one) => (one.open = true))"
# What of a formula's ink lies beyond the first ancestor that hides overflow, or lets it be scrolled to.
BEYOND = """() => [...document.querySelectorAll("mjx-math")].flatMap((formula) => {
  const ink = formula.getBoundingClientRect();
  for (let box = formula.parentElement; ink.width && box; box = box.parentElement) {
    const { overflowX } = getComputedStyle(box);
    if (overflowX === "visible") continue;
    const { left, right } = box.getBoundingClientRect();
    const beyond = Math.max(left - ink.left, ink.right - right);
    const mustFit = formula.closest("span.math, .claim-card, .erratum, .scorecard, .verdict-line") !== null;
    const read = formula.nextElementSibling.textContent;
    if (beyond > 1) return [{ overflowX, mustFit, read, beyond: Math.round(beyond) }];
    if (overflowX === "auto" || overflowX === "scroll") return [];
  }
  return [];
})"""


@pytest.mark.parametrize("name", PAGES)
def test_no_formula_is_cut_and_those_in_text_and_ledger_fit(open_page, address, name):
    page = open_page(f"{address}/{name}", width=390)
    page.evaluate(OPEN_ALL)
    lay_out_all(page)
    for width in (390, 360):
        page.set_viewport_size({"width": width, "height": 900})
        beyond = page.evaluate(BEYOND)
        assert [formula for formula in beyond if formula["overflowX"] in ("hidden", "clip")] == []
        assert [formula for formula in beyond if formula["mustFit"]] == [], "a long formula is a display"


def test_a_formula_that_is_cut_is_found(open_page, address):
    page = open_page(f"{address}/book/notation.html", width=360)
    page.add_style_tag(content=".math { overflow: hidden !important; max-width: 1rem !important; }")
    assert {formula["overflowX"] for formula in page.evaluate(BEYOND)} == {"hidden"}


def test_a_formula_that_fits_does_not_scroll(open_page, address):
    page = open_page(f"{address}/book/early_alignment/alignment_time.html", width=390)
    page.evaluate(OPEN_ALL)
    lay_out_all(page)
    formulas = page.locator("span.math")
    scrolling = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    assert formulas.count() > 100 and formulas.evaluate_all(scrolling) == []


@pytest.mark.parametrize("name", ["index", "scorecard"])
def test_the_papers_links_are_there(open_page, address, name):
    page = open_page(f"{address}/book/{name}.html", width=360)
    links = page.locator("table.scoreboard td a")
    assert links.count() == 5
    for link in links.all():
        assert link.is_visible() and len(link.inner_text().strip()) >= len("min2024")
