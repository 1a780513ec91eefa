"""What a link leads to, on its page or on another, and what a symbol means show themselves."""

import json
import posixpath
import re

import pytest
from bs4 import BeautifulSoup

ELSEWHERE = {
    "citation": ("early_alignment/alignment_time", "a[href*='references.html#']", "arxiv.org"),
    "theorem": ("early_alignment/how_small", "a[href*='alignment_time.html#thm']", "Theorem 18.1"),
    "equation": ("early_alignment/how_small", "a[href*='alignment_time.html#equation']", "(18.3)"),
    "card": ("papers/min2024", "a.verdict-link", "measured"),
    "erratum": ("papers/min2024", "a[href*='errata.html#erratum']", "Printed"),
    "chapter": (
        "sigmoidal_curves/phase_diagram",
        "a[href$='closed_form.html']",
        "one neuron has a closed form",
    ),
}


@pytest.fixture(scope="module")
def fragments(site):
    """The HTML that is stored for links to other pages: page -> anchor -> HTML."""
    folder = site / "_static" / "fragments"
    scripts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.js"))
    parts = (re.fullmatch(r'\(window.fragments \?\?= \{\}\)\["(.*?)"\] = (.*);\n', text) for text in scripts)
    return {part[1]: json.loads(part[2]) for part in parts}


def doubled(page):
    """Ids that two elements of a page have, but for those that the theorems come with."""
    return page.evaluate(
        """() => {
        const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
        return ids.filter((id, k) => id !== "proof-content" && ids.indexOf(id) < k);
    }"""
    )


@pytest.mark.parametrize("kind", ["equation-eq", "thm", "fig"])
def test_what_a_link_points_to_shows_itself_and_goes(open_page, disk, kind):
    page = open_page(f"{disk}/book/gradient_starvation/tangent_features.html")
    link = page.locator(f".bd-article a.internal[href^='#{kind}']").last
    link.scroll_into_view_if_needed()
    link.hover()
    preview = page.locator(".preview")
    preview.wait_for()
    assert preview.locator("mjx-container, svg").count() > 0 and doubled(page) == []
    box = preview.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280
    page.keyboard.press("Escape")
    assert preview.is_hidden()
    link.focus()
    preview.wait_for()
    assert link.get_attribute("aria-describedby") == "preview"
    page.evaluate("document.activeElement.blur()")
    assert preview.is_hidden() and page.errors == []


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_what_stands_on_another_page_shows_itself(open_page, disk, kind):
    name, selector, expected = ELSEWHERE[kind]
    page = open_page(f"{disk}/book/{name}.html")
    page.evaluate("document.querySelectorAll('.bd-article details').forEach((one) => (one.open = true))")
    link = page.locator(f".bd-article {selector}").first
    link.scroll_into_view_if_needed()
    link.hover()
    preview = page.locator(".preview")
    preview.wait_for()
    assert expected in preview.inner_text() and doubled(page) == []
    preview.hover()
    page.wait_for_timeout(400)
    assert preview.is_visible(), "the pointer cannot move into the preview"
    page.mouse.move(1, 1)
    preview.wait_for(state="hidden")
    assert page.errors == []


def test_previews_come_over_http_too_and_by_the_keyboard(open_page, address):
    name, selector, expected = ELSEWHERE["theorem"]
    page = open_page(f"{address}/book/{name}.html")
    page.keyboard.press("Tab")
    page.locator(f".bd-article {selector}").first.focus()
    preview = page.locator(".preview")
    preview.wait_for()
    assert expected in preview.inner_text()
    page.keyboard.press("Escape")
    assert preview.is_hidden() and page.errors == []


def test_a_finger_follows_a_link_at_the_first_tap(open_page, disk):
    name, selector, _ = ELSEWHERE["chapter"]
    page = open_page(f"{disk}/book/{name}.html", width=390, has_touch=True)
    page.locator(f".bd-article {selector}").first.tap()
    page.wait_for_url("**/closed_form.html")


def test_a_symbol_shows_its_row_of_the_notation(open_page, disk):
    page = open_page(f"{disk}/book/gradient_starvation/who_starves_whom.html")
    page.locator(".bd-article .math[class*='symbol-starvation']").first.hover()
    preview = page.locator(".preview")
    preview.wait_for()
    assert "strength" in preview.inner_text() and page.errors == []
    assert page.locator(".bd-article .math[class*='symbol-'][tabindex]").count() == 0


def test_a_symbol_has_the_meaning_of_its_own_part(site):
    sections = {
        "sigmoidal_curves": "single-neuron",
        "saddle_to_saddle": "saddle-to-saddle",
        "early_alignment": "early-alignment",
        "neuron_clustering": "clustering",
        "gradient_starvation": "starvation",
    }
    notation = (site / "book" / "notation.html").read_text(encoding="utf-8")
    rows = set(re.findall(r'<tr [^>]*id="(symbol-[^"]*)"', notation))
    marked = 0
    for path in (site / "book").rglob("*.html"):
        for anchor in re.findall(r'class="(symbol-[\w-]+) math', path.read_text(encoding="utf-8")):
            common = anchor.startswith(("symbol-networks-and-data-", "symbol-training-"))
            assert anchor in rows and (common or anchor.startswith(f"symbol-{sections[path.parent.name]}"))
            marked += 1
    assert marked > 500


def test_what_quotes_a_paper_shows_no_symbols_of_ours(site):
    page = site / "book" / "early_alignment" / "alignment_time.html"
    article = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").article
    assert article.select(".math[class*='symbol-']")
    assert article.select(":is(aside, table, details.claim-card, a) .math[class*='symbol-']") == []


def test_every_page_has_its_fragments_and_they_lead_to_what_is_there(fragments, site):
    pages = {path.relative_to(site).as_posix() for path in (site / "book").rglob("*.html")}
    assert {f"{name}.html" for name in fragments} == pages
    for name, parts in fragments.items():
        for anchor, html in parts.items():
            assert all(found.startswith("preview-") for found in re.findall(r' id="([^"]*)"', html)), name
            for target in re.findall(r' (?:href|src)="([^"#]*)', html):
                if not re.match(r"[a-z]+:", target):
                    inside = posixpath.normpath(posixpath.join("fragments", target))
                    assert (site / inside).exists(), f"{name}#{anchor}: {target}"
