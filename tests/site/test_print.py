"""The built site on paper: dark on white, whatever the theme, without code, and with where it is from."""

import re

import pytest

from tests.site.conftest import boxes, contrast, visits

# The pieces of text: what they stand in, their colour and that of the ground.
TEXTS = """() => {
  const ground = (box) => {
    const [r, g, b, alpha = 1] = getComputedStyle(box).backgroundColor.match(/[\\d.]+/g);
    if (alpha > 0.5) return `rgb(${r}, ${g}, ${b})`;
    return box.parentElement ? ground(box.parentElement) : "rgb(255, 255, 255)";
  };
  const texts = document.createTreeWalker(document.querySelector(".bd-article"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("mjx-assistive-mml, script, style")) continue;
    const { color, fill } = getComputedStyle(element);
    const ink = element.closest("svg") ? fill : color;
    found.push([`${element.tagName}.${element.className}`, ink, ground(element)]);
  }
  return found;
}"""
WHITE = "rgb(255, 255, 255)"
PAGES = [
    "index",
    "how_it_works",
    "sigmoidal_curves/closed_form",
    "early_alignment/alignment_time",
    "scorecard",
    "comparison",
    "errata",
    "papers/min2024",
]


@visits(*PAGES, devices=["phone"])
def test_a_dark_page_prints_dark_on_white(visited):
    page = visited
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    on_screen = page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(media="print")
    page.wait_for_function("document.documentElement.dataset.theme === 'light'")
    assert page.evaluate("getComputedStyle(document.body).color") != on_screen
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == WHITE
    texts = page.evaluate(TEXTS)
    assert len(texts) > 50
    assert {text for text in map(tuple, texts) if contrast(*text[1:]) < 4.5} == set()
    assert {text for text in map(tuple, texts) if contrast(text[2], WHITE) > 1.4} == set(), "in a dark box"
    page.emulate_media(media="screen")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")


CHAPTER = "early_alignment/alignment_time"
PAPER_WIDTH = 658  # pixels between the margins of A4


@pytest.fixture
def on_paper(visited):
    """A page of the book as it is printed on A4."""
    visited.set_viewport_size({"width": PAPER_WIDTH, "height": 900})
    visited.emulate_media(media="print")
    yield visited
    visited.emulate_media(media="screen")


@visits(CHAPTER, "gradient_starvation/coloured_digits", devices=["phone"])
def test_a_chapter_is_a_short_paper(visited):
    printed = visited.pdf(format="A4")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 24


@visits(CHAPTER, devices=["desktop"])
def test_paper_says_where_it_is_from(on_paper):
    page = on_paper
    imprint = page.locator(".imprint")
    assert imprint.is_visible()
    for said in (r"Chapter \d+ of Learning Dynamics, Executed", r"20\d\d-\d\d-\d\d", "commit ", "CC BY 4.0"):
        assert re.search(said, imprint.inner_text())
    rules = "[...document.styleSheets].flatMap(s => [...s.cssRules]).filter(r => r instanceof CSSPageRule)"
    heads = page.evaluate(f"{rules}.map(r => r.cssText).join(' ')")
    title = page.locator(".bd-article h1").evaluate("h1 => h1.childNodes[1].data")
    for said in ("Learning Dynamics, Executed", title, "CC BY 4.0", "commit ", "counter(page)"):
        assert said in heads


@visits(CHAPTER, devices=["desktop"])
def test_paper_has_the_title_and_the_text_without_what_serves_a_screen(on_paper):
    page = on_paper
    assert page.locator("h1:visible").count() == 1
    assert "Source Serif" in page.locator("h1:visible").evaluate("h => getComputedStyle(h).fontFamily")
    screen = ".cell_input, details.hide, .fold-switch, .chapter-foot, .chapter-actions, button"
    assert page.locator(f".bd-article :is({screen}):visible").count() == 0
    cards = page.locator("details.claim-card")
    assert cards.count() > 3 and cards.locator("dl:visible").count() == 0
    assert cards.locator(".claim-statement:visible").count() == cards.count()
    borders = "all => all.map(e => getComputedStyle(e).borderBottomStyle)"
    assert set(page.locator(".pasted-text").evaluate_all(borders)) == {"none"}


def test_the_switch_prints_code_and_checks(open_page, address):
    page = open_page(f"{address}/book/{CHAPTER}.html", width=PAPER_WIDTH)
    page.locator(".fold-switch").click()
    page.emulate_media(media="print")
    assert page.locator("div.cell_input:not(:visible)").count() == 0
    assert page.locator("details.claim-card dl:not(:visible)").count() == 0


@visits(*PAGES, "papers/boursier2022", "gradient_starvation/coloured_digits", devices=["desktop"])
def test_nothing_is_cut_at_the_edge_or_too_high_for_a_page(on_paper):
    framed = on_paper.locator(".bd-article :is(figure, table, pre, img, mjx-container):visible")
    assert [box for box in boxes(framed) if box["right"] > PAPER_WIDTH + 1] == []
    heights = [box["height"] / 96 * 25.4 for box in boxes(on_paper.locator(".bd-article figure"))]
    assert max([0, *heights]) < 180
