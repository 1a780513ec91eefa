"""The built site on paper: dark on white, whatever the theme, without code, and with where it is from."""

import re

import pytest

# Text whose contrast with the paper, or with the box it stands in, is below 4.5, and text in a dark box.
PALE = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let box = element; box; box = box.parentElement) {
      const colour = channels(getComputedStyle(box).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.querySelector(".bd-article"), NodeFilter.SHOW_TEXT);
  const pale = new Set();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("mjx-assistive-mml, script, style")) continue;
    const [ink, paper] = [getComputedStyle(element).color, ground(element)];
    const contrast = (luminance(paper) + 0.05) / (luminance(channels(ink)) + 0.05);
    if (contrast >= 4.5 && luminance(paper) >= 0.7) continue;
    pale.add(`${element.tagName}.${element.className}: ${ink} on ${paper}`);
  }
  return [...pale];
}"""
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


@pytest.mark.parametrize("name", PAGES)
def test_a_dark_page_prints_dark_on_white(open_page, address, name):
    page = open_page(f"{address}/book/{name}.html", color_scheme="dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    on_screen = page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") != on_screen
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(PALE) == []


CHAPTER = "early_alignment/alignment_time"
PAPER_WIDTH = 658  # pixels between the margins of A4


@pytest.fixture
def on_paper(open_page, address):
    """Open a page of the book as it is printed on A4."""

    def opened(name, **options):
        page = open_page(f"{address}/book/{name}.html", width=PAPER_WIDTH, **options)
        page.emulate_media(media="print")
        return page

    return opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [CHAPTER, "gradient_starvation/coloured_digits"])
def test_a_chapter_is_a_short_paper(open_page, address, name, scheme):
    page = open_page(f"{address}/book/{name}.html", color_scheme=scheme)
    printed = page.pdf(format="A4")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 24


def test_paper_says_where_it_is_from(on_paper):
    page = on_paper(CHAPTER)
    imprint = page.locator(".imprint")
    assert imprint.is_visible()
    for said in (r"Chapter \d+ of Learning Dynamics, Executed", r"20\d\d-\d\d-\d\d", "commit ", "CC BY 4.0"):
        assert re.search(said, imprint.inner_text())
    rules = "[...document.styleSheets].flatMap(s => [...s.cssRules]).filter(r => r instanceof CSSPageRule)"
    heads = page.evaluate(f"{rules}.map(r => r.cssText).join(' ')")
    title = page.locator(".bd-article h1").evaluate("h1 => h1.childNodes[1].data")
    for said in ("Learning Dynamics, Executed", title, "CC BY 4.0", "commit ", "counter(page)"):
        assert said in heads


def test_paper_has_the_title_and_the_text_without_what_serves_a_screen(on_paper):
    page = on_paper(CHAPTER)
    assert page.locator("h1:visible").count() == 1
    assert "Source Serif" in page.locator("h1:visible").evaluate("h => getComputedStyle(h).fontFamily")
    for unseen in (
        ".cell_input",
        "details.hide",
        ".fold-switch",
        ".chapter-foot",
        ".chapter-actions",
        "button",
    ):
        assert page.locator(f".bd-article {unseen}:visible").count() == 0, unseen
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


@pytest.mark.parametrize("name", [*PAGES, "papers/boursier2022", "gradient_starvation/coloured_digits"])
def test_nothing_is_cut_at_the_edge_or_too_high_for_a_page(on_paper, name):
    page = on_paper(name)
    boxes = ".bd-article :is(figure, table, pre, img, mjx-container)"
    cut = """([boxes, width]) => [...document.querySelectorAll(boxes)]
      .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > width + 1)
      .map(e => `${e.tagName} ${e.id} ${e.textContent.slice(0, 60)}`)"""
    assert page.evaluate(cut, [boxes, PAPER_WIDTH]) == []
    high = "all => all.map(e => e.getBoundingClientRect().height / 96 * 25.4)"
    assert max([0, *page.locator(".bd-article figure").evaluate_all(high)]) < 180
