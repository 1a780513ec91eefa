"""What axe finds serious, on a phone and on a desktop, in the light and in the dark."""

import functools
from importlib import resources

import pytest

from tests.site.conftest import lay_out_all, visits

PAGES = [
    "index",
    "explorer",
    "moving",
    "by_question",
    "run_it",
    "how_it_works",
    "errata",
    "comparison",
    "notation",
    "reference",
    "references",
    "benchmarks",
    "experiments",
    "../404",
    "../search",
    "scorecard",
    "api/flow",
    "papers/min2024",
    "../c/min2024-thm1.1-headline",
    "../c/boursier2022-fig-4gd",
]
CHAPTERS = [
    "sigmoidal_curves/closed_form",
    "saddle_to_saddle/two_plateaus",
    "early_alignment/stragglers",
    "neuron_clustering/the_right_program",
    "neuron_clustering/agreement_regimes",
    "gradient_starvation/two_moons",
]
# What scrolls gets its place in the order of the keyboard box by box, soon after the page is there.
REACHED = """() =>
  [...document.querySelectorAll(".bd-article :is(pre, figure, .output, div.math > *)")].every(
  (box) => box.scrollWidth <= box.clientWidth || box.tabIndex >= 0 || box.closest("details:not([open])")
  || !/auto|scroll/.test(getComputedStyle(box).overflowX))"""
# Colours take most of axe's time on a long page, so they are looked at once in each kind of text: that whose
# ancestors, one by one, are alike in name, classes, colours and size.
MARK_THE_FIRST_OF_EACH_KIND = """() => {
  const STYLES = ["color", "backgroundColor", "backgroundImage", "opacity", "fontSize", "fontWeight"];
  const numbers = new Map(), kinds = new Map(), seen = new Set();
  const number = (key) => numbers.get(key) ?? (numbers.set(key, numbers.size), numbers.size - 1);
  const kind = (one) => {
    if (one && !kinds.has(one)) {
      const computed = getComputedStyle(one), styles = STYLES.map((name) => computed[name]);
      const own = [one.localName, one.getAttribute("class"), ...styles];
      kinds.set(one, number([kind(one.parentElement), ...own].join("|")));
    }
    return kinds.get(one);
  };
  const hasWords = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  for (const one of [...document.body.querySelectorAll("*")].filter(hasWords)) {
    one.toggleAttribute("data-first", !seen.has(kind(one)));
    seen.add(kind(one));
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-first]" }] });
}"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@functools.cache
def axe():
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def serious(page):
    """What axe finds serious on a page, all of it laid out: the rule that is broken, and where."""
    lay_out_all(page)
    page.wait_for_function(REACHED)
    page.evaluate(axe())
    page.evaluate(MARK_THE_FIRST_OF_EACH_KIND)
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    hard = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in hard]


@visits(*PAGES, *CHAPTERS)
def test_nothing_is_a_serious_obstacle(visited):
    assert serious(visited) == []


@pytest.mark.parametrize(
    ("last", "style"),
    [
        (".bd-article p", "color: #aaa"),
        (".bd-article p", "opacity: 0.3"),
        (".bd-article section", "background: #666"),
        (".bd-article td", "background: #777; color: #666"),
    ],
)
def test_what_cannot_be_read_is_found_in_the_last_of_many(open_page, address, last, style):
    page = open_page(f"{address}/book/how_it_works.html")
    assert page.locator(last).count() > 1
    page.locator(last).last.evaluate("(one, style) => { one.style = style; }", style)
    assert [rule for rule, _ in serious(page)] == ["color-contrast"]
