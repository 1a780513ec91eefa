"""The built site on paper: dark on white, whatever the theme on the screen."""

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
