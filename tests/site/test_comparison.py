"""The page of the papers' numbers and ours, as a reader gets it."""

import pytest

from executable_claims.configuration import find_book
from experiments.side_by_side import read_papers

PAPERS = read_papers(find_book().root / "book" / "paper_values")
VALUES = [value for paper in PAPERS for value in paper.values]


@pytest.fixture(scope="module")
def rows(soups):
    soup = soups["book/comparison.html"]
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


def test_one_click_opens_the_provenance_of_a_record(open_page, address):
    page = open_page(f"{address}/book/comparison.html")
    assert page.locator("details.record[open]").count() == 0
    link = page.locator("table.comparison a[href^='#record-']").first
    link.click()
    page.wait_for_selector(f"details.record[open] {link.get_attribute('href')}", timeout=5000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_numbers_are_cards_on_the_ground_of_the_page_and_the_chart_fits(
    open_page, address, scheme
):
    page = open_page(f"{address}/book/comparison.html", width=390, color_scheme=scheme)
    styles = "all => all.map(e => getComputedStyle(e)).map(({ display, backgroundColor }) => KEY)"
    cells = page.locator("table.comparison td")
    assert set(cells.evaluate_all(styles.replace("KEY", "display"))) == {"block"}
    tables = page.locator(".output.text_html", has=page.locator("table.comparison"))
    assert tables.evaluate_all(styles.replace("KEY", "backgroundColor")) == ["rgba(0, 0, 0, 0)"] * 5
    figure = page.locator("figure#fig-comparison")
    assert figure.evaluate("figure => figure.scrollWidth - figure.clientWidth") == 0
    assert figure.locator("svg").evaluate("svg => svg.getScreenCTM().a") >= 1.2  # pixels for a point
