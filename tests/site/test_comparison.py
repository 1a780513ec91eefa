"""The page of the papers' numbers and ours, as a reader gets it."""

import pytest
from bs4 import BeautifulSoup
from paper_values import read_papers

VALUES = [value for paper in read_papers() for value in paper.values]


@pytest.fixture(scope="module")
def rows(site):
    soup = BeautifulSoup((site / "book" / "comparison.html").read_text(encoding="utf-8"), "html.parser")
    assert not soup.select("[data-claim]"), "a verdict was not filled in"
    found = soup.select("table.comparison tbody tr:not(.place)")
    assert len(found) == len(VALUES)
    return found


def test_every_number_has_the_verdicts_of_its_claims(records, rows):
    decided = {name: record["verdict"] for name, record in records.items()}
    shown = []
    for row in rows:
        badges = row.select(".verdict-badge")
        shown.append(tuple(badge["title"] for badge in badges))
        for badge in badges:
            assert badge.get_text() == decided.get(badge["title"], "not here")
            assert (badge.parent.name == "a") == (badge["title"] in decided)
    assert sorted(shown) == sorted(value.claims for value in VALUES)


def test_what_is_on_record_links_to_where_it_comes_from(rows):
    for row in rows:
        cell = row.select_one('td[data-label="Ours, recorded"]')
        links = cell.select("a[href^='#record-']")
        assert len(links) == len(cell.select("div")) or "none yet" in cell.get_text()


def test_one_click_opens_the_provenance_of_a_record(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/book/comparison.html")
    assert page.locator("details.record[open]").count() == 0
    link = page.locator("table.comparison a[href^='#record-']").first
    anchor = link.get_attribute("href")
    link.click()
    page.wait_for_selector(f"details.record[open] {anchor}", timeout=5000)
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_every_number_is_a_card_on_the_ground_of_the_page(browser, address, scheme):
    context = browser.new_context(viewport={"width": 390, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/book/comparison.html")
    displays = "[...new Set([...document.querySelectorAll('table.comparison td')].map(e => {}))]"
    assert page.evaluate(displays.format("getComputedStyle(e).display")) == ["block"]
    ground = (
        "[...document.querySelectorAll('.output.text_html')].filter(e => e.querySelector('table.comparison'))"
    )
    colours = page.evaluate(f"{ground}.map(e => getComputedStyle(e).backgroundColor)")
    assert len(colours) == 5 and set(colours) == {"rgba(0, 0, 0, 0)"}
    context.close()


def test_on_a_phone_the_chart_fits_at_about_the_size_it_was_drawn(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(f"{address}/book/comparison.html")
    figure = page.locator("figure#fig-comparison")
    assert figure.evaluate("figure => figure.scrollWidth - figure.clientWidth") == 0
    assert figure.locator("svg").evaluate("svg => svg.getScreenCTM().a") >= 1.2  # pixels for a point
    page.close()
