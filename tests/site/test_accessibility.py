"""What axe finds serious, on a phone and on a desktop, in the light and in the dark."""

import functools
from importlib import resources

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
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@functools.cache
def axe():
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@visits(*PAGES, *CHAPTERS)
def test_nothing_is_a_serious_obstacle(visited):
    lay_out_all(visited)
    visited.wait_for_function(REACHED)
    visited.evaluate(axe())
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found = visited.evaluate("options => axe.run(options)", options)["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []
