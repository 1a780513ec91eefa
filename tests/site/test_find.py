"""Things of the book are found while one types, over http and from the disk."""

import json
import re
from itertools import chain, groupby

import pytest

from tests.live.scripts import call
from tests.site.conftest import contrast

# What readers typed, and what the first hit is.
SEARCHES = {
    "spectral decoupling": "spectral_decoupling.html",
    "theorem 3.2": "combes2018-theorem-3-2",
    "min2024-lem-13": "claim-min2024-lem13",
    "alignment time": "alignment_time.html",
    "CelebA": "pezeshki2021-tab-2",
    "saddle": "two_plateaus.html",
    "erratum": "errata.html",
    "leaky relu": "leaky.html",
    "how to run": "run_it.html",
    "cite": "run_it.html#cite-it",
    "report an error": "run_it.html#correct-it",
    "coloured digits": "coloured_digits.html",
    "stable rank": "directions_and_rank.html",
    "starvation matrix": "starvation-matrix",
    "alignement": "alignment_time.html",
    "Boursier": "papers/boursier2022.html",
    "theorem 1 min": "min2024-theorem-1",
    "fig 7": "figure-7",
    "hard margin": "the_right_program.html",
    "hinge loss": "hinge.html",
    "whitening": "pezeshki2021-ours-whitened",
    "initialization": "saddle_to_saddle/scale.html",
    "saddel": "two_plateaus.html",
    "aligment": "alignment_time.html",
    "boursir": "papers/boursier2022.html",
    "pezeski": "papers/pezeshki2021.html",
    "orthoganal": "boundaries.html",
    "λ*": "saddle_to_saddle/scale.html",
    "A_i": "saddle_to_saddle/alignment.html",
    "κ": "saddle_to_saddle/alignment.html",
    "implicit bias": "least_norm.html",
    "lazy training": "rich_to_lazy.html",
    "class imbalance": "frequent_first.html",
    "weight decay": "who_starves_whom.html",
    "dead neuron": "phase_diagram.html",
    "control": "how_it_works.html",
    "refuted": "scorecard.html?verdict=refuted",
    "notebook": "run_it.html#run-it",
    "jupyterlab": "run_it.html#run-it",
    "where to start": "index.html#where-to-start",
    "student": "index.html#where-to-start",
    "learning rate": "finite_steps.html",
    "simplicity bias": "spectral_decoupling.html",
    "SGD": "sgd_reaches_any_loss.html",
    "Adam": "common_practices.html",
    "min2024-thm1.1-headline": "claim-min2024-thm1.1-headline",
    "sarussi2021-thm-4": "sarussi2021-thm-4.1",
    "Figure 3 pezeshki": "pezeshki2021-figure-3",
    "chapter 20": "early_alignment/alignment_time.html",
    "Theorem 20.1": "alignment_time.html#thm-alignment-time",
    "fig. 20.2": "alignment_time.html#fig-at-turn",
}
SPELLINGS = [("initialization", "initialisation"), ("colored MNIST", "coloured MNIST"), ("λ", "lambda")]


@pytest.fixture(scope="module")
def things(site):
    script = (site / "_static" / "things.js").read_text(encoding="utf-8")
    return json.loads(script.partition(" = ")[2].rstrip(";\n"))


def test_the_index_leads_to_what_is_there(things, site):
    places = sorted(re.sub(r"\?[^#]*", "", place).partition("#")[::2] for _, _, _, place, _ in things)
    for page, group in groupby(places, key=lambda place: place[0]):
        source = (site / page).read_text(encoding="utf-8")
        assert [anchor for _, anchor in group if anchor and f'id="{anchor}"' not in source] == [], page


@pytest.fixture(scope="module")
def hits(things):
    """What the site finds for each query, best first."""
    queries = ["alignment", *SEARCHES, *chain(*SPELLINGS)]
    ranked = "(things, queries) => queries.map((query) => m.ranked(things, query))"
    return dict(zip(queries, call("find/rank", ranked, things, queries), strict=True))


@pytest.mark.parametrize("query", SEARCHES)
def test_what_readers_typed_is_the_first_hit(hits, query):
    first = hits[query][0]
    assert SEARCHES[query] in first[3], first


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_two_spellings_find_the_same(hits, one, other):
    assert hits[one] == hits[other] != []


def test_names_of_the_library_come_last(hits):
    kinds = [kind for kind, *_ in hits["alignment"]]
    assert "lib" in kinds and all(kind == "lib" for kind in kinds[kinds.index("lib") :])


def typed(page, words):
    """Type words into the search box, and return the links that appear."""
    page.keyboard.press("Control+k")
    page.locator("dialog input[name=q]").press_sequentially(words)
    found = page.locator(".found-things a")
    found.last.wait_for()
    return found


def test_what_is_nowhere_leads_to_the_search_of_all_pages(open_page, disk):
    found = typed(open_page(f"{disk}/book/notation.html"), "dropout")
    assert found.last.get_attribute("href").endswith("search.html?q=dropout")


def test_hits_appear_while_one_types(open_page, anywhere):
    page = open_page(f"{anywhere}/book/saddle_to_saddle/scale.html")
    first = typed(page, "min2024-thm1.1a").first
    assert "min2024-thm1.1a" in first.inner_text()
    first.click()
    page.wait_for_load_state()
    assert "#claim-min2024-thm1.1a" in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1366])
def test_what_is_found_and_what_is_typed_can_be_read(open_page, disk, width, scheme):
    page = open_page(f"{disk}/book/index.html", width=width, color_scheme=scheme)
    found = typed(page, "saddle")
    ground = page.locator(".found-things").evaluate("one => getComputedStyle(one).backgroundColor")
    assert ground.startswith("rgb("), "the page shines through"
    for part in found.locator("strong, span").all():
        assert contrast(part.evaluate("one => getComputedStyle(one).color"), ground) >= 4.5
    icon = page.locator("dialog .fa-magnifying-glass").bounding_box()
    begins = "one => one.getBoundingClientRect().x + parseFloat(getComputedStyle(one).paddingLeft)"
    assert icon["x"] + icon["width"] <= page.locator("dialog input[name=q]").evaluate(begins)


def test_arrow_keys_lead_from_the_box_through_what_is_found_and_back(open_page, disk):
    page = open_page(f"{disk}/book/index.html")
    found = typed(page, "saddle")
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
        seen.append(found.evaluate_all("all => all.indexOf(document.activeElement)"))
    assert seen == [0, 1, 0, -1] and page.locator("dialog input[name=q]:focus").count() == 1


def test_enter_opens_the_first_hit_or_the_one_that_is_chosen(open_page, anywhere):
    for way in (["Enter"], ["ArrowDown", "ArrowDown", "Enter"]):
        page = open_page(f"{anywhere}/book/index.html")
        there = typed(page, "saddle").nth(max(0, len(way) - 2)).evaluate("link => link.href")
        for key in way:
            page.keyboard.press(key)
        page.wait_for_url(there)


def test_a_hit_on_the_same_page_is_not_covered_by_the_search(open_page, disk):
    page = open_page(f"{disk}/book/run_it.html")
    typed(page, "report an error")
    page.keyboard.press("Enter")
    page.wait_for_url("**/run_it.html#correct-it")
    assert page.locator("dialog[open]").count() == 0


def test_one_switch_opens_code_and_checks_and_is_remembered(open_page, anywhere):
    page = open_page(f"{anywhere}/book/saddle_to_saddle/scale.html")
    closed = page.locator("details.claim-card:not([open]), details.hide:not([open])")
    assert closed.count() > 3
    page.locator("button.fold-switch").click()
    assert closed.count() == 0
    page.goto(f"{anywhere}/book/saddle_to_saddle/two_points.html")
    assert closed.count() == 0
    page.locator("button.fold-switch").click()
    assert closed.count() > 3
