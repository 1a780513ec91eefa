"""The built site opened from the disk, without a server: what moves and what finds works there too."""

import pytest

LIVE = ["explorer", "neuron_orbits", "one_point", "starving", "two_clocks", "two_logistics"]


def test_no_page_asks_for_a_module(soups):
    assert {str(path) for path, soup in soups.items() if soup.select("script[type=module]")} == set()


def test_the_scorecard_filters(open_page, disk):
    page = open_page(f"{disk}/book/scorecard.html")
    visible = "document.querySelectorAll('tr.scorecard-row:not([hidden])').length"
    everything = page.evaluate(visible)
    page.select_option("select[name=paper]", "min2024")
    of_one_paper = page.evaluate(visible)
    page.fill("input[name=words]", "theorem 1")
    assert everything > of_one_paper > page.evaluate(visible) > 0
    assert page.errors == []


def test_there_are_no_other_live_figures(live_pages):
    assert sorted(live_pages) == LIVE


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_live_figure_moves_in_the_place_of_its_picture(open_page, disk, live_pages, name, width):
    page = open_page(f"{disk}/{live_pages[name]}", width=width)
    figure = page.locator("figure", has=page.locator(f"[data-live={name}]"))
    assert len(figure.locator("figcaption").inner_text()) > 40
    assert not figure.locator(".drawing").is_visible()
    assert page.locator(".output script[src*=live]").count() == 0, "an empty box is left where it stood"
    drawn = "lines => lines.map((line) => line.getAttribute('d')).join()"
    lines, outcome = figure.locator("path.live-line"), figure.locator(".live-outcome")
    before, words = lines.evaluate_all(drawn), outcome.inner_text()
    figure.locator("input").first.press("Home")
    assert lines.evaluate_all(drawn) != before and outcome.inner_text() != words
    size = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width * 12"
    assert figure.locator(".live-figure svg").last.evaluate(size) >= 9, "the labels are too small"
    assert page.errors == []


@pytest.mark.parametrize("how", ["without scripts", "in print"])
@pytest.mark.parametrize("name", LIVE)
def test_under_a_live_figure_lies_a_picture(open_page, disk, live_pages, name, how):
    page = open_page(f"{disk}/{live_pages[name]}", java_script_enabled=how == "in print")
    page.emulate_media(media="print" if how == "in print" else "screen")
    frame = page.locator(f"[data-live={name}]")
    assert frame.count() == 1 and not frame.is_visible()
    picture = page.locator(f"figure#fig-live-{name.replace('_', '-')} .drawing")
    assert picture.is_visible() and picture.bounding_box()["height"] > 150


def test_search_gives_hits_without_errors(open_page, disk):
    page = open_page(f"{disk}/search.html?q=alignment")
    page.wait_for_function("Search.title.innerText === 'Search Results'", timeout=20_000)
    hits = page.locator("ul.search li a")
    assert hits.count() >= 10
    hits.filter(has_text="alignment").first.click()
    page.wait_for_selector(".bd-article h1")
    assert page.url.startswith(f"{disk}/book/") and page.errors == []
