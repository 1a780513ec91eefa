"""Cards on the built pages: one line that opens, without a script."""

import os
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.site.conftest import visits

CUT = """all => all.filter(
  (e) => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1
).length"""


@pytest.fixture(scope="session")
def cards(soups):
    return {card["id"]: card for soup in soups.values() for card in soup.select("details.claim-card")}


def test_every_verdict_has_a_card_with_its_hypotheses_and_its_control(cards, records):
    assert set(cards) == {f"claim-{name}" for name in records}
    for name, record in records.items():
        card = cards[f"claim-{name}"]
        assert card.find("summary", recursive=False).select_one(".verdict-badge").text == record["verdict"]
        names = [term.text for term in card.select("dt")]
        assert ("Hypotheses" in names) == bool(record["claim"]["hypotheses"])
        assert {"Claim", "Measured", "Tolerance", "Resolution", "Control", "Entry"} <= set(names)
        links = [link.text for link in card.select("a.claim-page")]
        assert "erratum" in links or not record["claim"]["wrong"]


def test_the_source_of_a_check_is_folded(soups):
    cells = [cell for soup in soups.values() for cell in soup.select("div.cell:has(.claim-card)")]
    assert cells
    for cell in cells:
        folded = cell.select("details.hide > div.cell_input, details.hide div.highlight")
        assert bool(folded) != ("tag_show-source" in cell["class"])


def test_a_card_opens_without_a_script(open_page, address):
    page = open_page(f"{address}/book/how_it_works.html", java_script_enabled=False)
    card = page.locator("details.claim-card").first
    closed = card.bounding_box()["height"]
    assert closed < 130
    card.locator("summary").click()
    assert card.bounding_box()["height"] > 2 * closed


def test_a_card_has_its_address_and_a_way_to_say_that_it_is_wrong(cards):
    repository = os.environ.get("BOOK_REPOSITORY")
    for name, card in cards.items():
        claim = name.removeprefix("claim-")
        # Before its own address stand those of neighbours that decide a clause.
        assert card.select("a.claim-address")[-1]["href"].endswith(f"/c/{claim}.html")
        [report] = card.select("a.claim-report")
        if repository:
            assert report["href"].startswith(f"{repository}/issues/new?")
            asked = parse_qs(urlsplit(report["href"]).query)
            assert claim in asked["title"][0] and f"Claim: {claim}\n" in asked["body"][0]
            assert re.search(r"Commit: [0-9a-f]{12}", asked["body"][0])
        else:
            assert report["href"].endswith(f"/c/{claim}.html#report")


def test_a_closed_card_says_the_claim_in_words(cards, records):
    for name, record in records.items():
        said = cards[f"claim-{name}"].summary.select_one(".claim-statement")
        assert said.text.replace("’", "'") == record["claim"]["in_words"] and not said.select("mjx-container")
        numbers = [one.text for one in cards[f"claim-{name}"].summary.select(".claim-numbers > span")]
        sharp = numbers[1] if record["others"] else numbers[2]
        assert len(numbers) == (2 if record["others"] else 4)
        assert re.match(r"would notice|the data come|room|a target of zero", sharp)


@visits("early_alignment/alignment_time")
def test_what_a_closed_card_says_is_all_to_be_seen(visited):
    said = visited.locator("details.claim-card > summary > .claim-statement")
    assert said.count() > 3 and said.evaluate_all(CUT) == 0


def test_several_small_claims_are_one_table(soups):
    tables = [table for soup in soups.values() for table in soup.select(".claim-table")]
    assert tables and all(len(table.select("details.claim-card")) > 1 for table in tables)
